"""Rivals from other packages, with their own words for what they do; those that are not installed
are named on the page.
"""

import contextlib
import importlib.util
import io
import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.guarantees.methods import Q

IPSS2, IPSS3 = "ipss, L1, quadratic", "ipss, L1, cubic"
TREX, KNOCKOFFS = "trexselector", "knockpy, second order"
PACKAGES = {IPSS2: "ipss", IPSS3: "ipss", TREX: "trexselector", KNOCKOFFS: "knockpy"}
# Rivals of numbers alone: the method stands on least angle regression.
NUMBERS_ALONE = {TREX}


def _ipss(function: str):
    def select(X, y, classes: bool, seed: int):
        from ipss.main import ipss

        np.random.seed(seed)  # noqa: NPY002 - the package draws from the global generator
        found = ipss(
            X.copy(), y.astype(float), selector="l1", preselect=False, B=50,
            ipss_function=function, target_fdr=Q,
        )  # fmt: skip
        return found["selected_features"]

    return select


def _trex(X, y, classes: bool, seed: int):
    from trexselector import trex

    return trex(X, y.astype(float), tFDR=Q, seed=seed + 1, verbose=False)["selected_var"]


def _knockoffs(X, y, classes: bool, seed: int):
    from knockpy import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002 - the package draws from the global generator
    chosen = KnockoffFilter(
        ksampler="gaussian", fstat="lasso", knockoff_kwargs={"method": "equicorrelated"}
    )
    return np.flatnonzero(chosen.forward(X, y.astype(float), fdr=Q, shrinkage="ledoitwolf"))


def _quiet(select):
    """Without what a package prints, and on dense rows."""

    def called(X, y, classes: bool, seed: int):
        X = X.toarray() if sp.issparse(X) else X
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return np.asarray(select(X, y, classes, seed), dtype=int)

    return called


RIVALS = {
    IPSS2: _quiet(_ipss("h2")),
    IPSS3: _quiet(_ipss("h3")),
    TREX: _quiet(_trex),
    KNOCKOFFS: _quiet(_knockoffs),
}


def there() -> dict:
    """The rivals that are installed."""
    return {
        name: select
        for name, select in RIVALS.items()
        if importlib.util.find_spec(PACKAGES[name]) is not None
    }


def said() -> str:
    """Which packages took part, in which versions, and which are not installed."""
    found, absent = [], []
    for package in dict.fromkeys(PACKAGES.values()):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            absent.append(package)
    words = f"Rivals: {', '.join(found)}." if found else "No rival is installed here."
    return words + (f" Not installed here: {', '.join(absent)}." if found and absent else "")
