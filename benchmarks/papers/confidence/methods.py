"""The contestants of table 2 with their grids, and of figure 1 with how each comes to a wanted
number of features.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

import tamis
from benchmarks.papers.confidence.spardca import SparDCA
from tamis import BCWClassifier, SparseBCWClassifier

COSTS = [2.0**k for k in (-4, -2, 0, 2, 4, 6)]
STEPS = [2.0**k for k in (-4, -2, 0, 2, 4)]
LEVELS = [0.55, 0.65, 0.75, 0.85, 0.95]


class Method(NamedTuple):
    """Makes a model of parameters; `grid` is tried on a part of the training rows; `orders` says
    whether the rows' order matters.
    """

    make: Callable
    grid: dict
    orders: bool = True
    paper: str = ""  # its name in the paper's table


def _online(name: str, grid: dict, **fixed):
    """A model of the online family where this version of tamis has it."""
    cls = getattr(tamis, name, None)
    if cls is None:
        return None
    known = cls().get_params()
    usual = {
        "fit_intercept": False,
        "max_iter": 1,
        "tol": None,
        "shuffle": True,
        "covariance": "full",
    }
    given = {
        **{k: v for k, v in usual.items() if k in known},
        **{k: v for k, v in fixed.items() if k in known},
    }
    return Method(lambda **own: cls(**given, **own), {k: v for k, v in grid.items() if k in known})


def table_methods() -> dict[str, Method]:
    """All methods of table 2 that are there."""
    bare = {"fit_intercept": False}
    found = {
        "PA": _online("PAClassifier", {}, variant="PA"),
        "PA-I": _online("PAClassifier", {"C": STEPS}, variant="PA-I"),
        "SOP": _online("SecondOrderPerceptron", {"a": STEPS}),
        "CW, variance": _online("CWClassifier", {"confidence": LEVELS}, form="variance"),
        "CW, deviation": _online("CWClassifier", {"confidence": LEVELS}, form="std"),
        "AROW": _online("AROWClassifier", {"r": STEPS}),
        "NAROW": _online("NAROWClassifier", {"b": STEPS}),
        "SCW-I": _online("SCWClassifier", {"C": STEPS, "confidence": LEVELS[2:]}, variant="I"),
        "SCW-II": _online("SCWClassifier", {"C": STEPS, "confidence": LEVELS[2:]}, variant="II"),
        "SGD": Method(
            lambda **own: SGDClassifier(**bare, **own), {"alpha": [1e-5, 1e-4, 1e-3, 1e-2]}
        ),
        "DCD, hinge": Method(
            lambda **own: LinearSVC(loss="hinge", dual=True, tol=1e-3, **bare, **own),
            {"C": COSTS},
            False,
        ),
        "DCD, squared": Method(
            lambda **own: LinearSVC(dual=True, tol=1e-3, **bare, **own), {"C": COSTS}, False
        ),
        "ridge": Method(
            lambda **own: RidgeClassifier(**bare, **own), {"alpha": [1.0 / C for C in COSTS]}, False
        ),
        "LDA": Method(lambda **own: LinearDiscriminantAnalysis(**own), {}, False),
    }
    for loss, word in (("hinge", "hinge"), ("squared_hinge", "squared")):
        found[f"BCW, {word}"] = Method(
            lambda loss=loss, **own: BCWClassifier(loss=loss, **bare, **own), {"C": COSTS}
        )
        found[f"BCW, {word}, solved"] = Method(
            lambda loss=loss, **own: BCWClassifier(loss=loss, max_iter=200, **bare, **own),
            {"C": COSTS},
        )
    found["BCW, squared, C/100"] = Method(_accurate, {"C": COSTS})
    return {name: method for name, method in found.items() if method is not None}


def _accurate(C):
    return BCWClassifier(
        C=C, cov_C=C / 100, loss="squared_hinge", max_iter=200, fit_intercept=False
    )


# --------------------------------------------------------------------------- figure 1
def selector_methods() -> dict[str, Callable]:
    """Functions (X, y, number of features, C) -> fitted model."""

    def sbcw(**own):
        def make(X, y, size, C):
            given = {name: value(C) if callable(value) else value for name, value in own.items()}
            return SparseBCWClassifier(
                n_features_to_select=size, C=C, fit_intercept=False, random_state=0, **given
            ).fit(X, y)

        return make

    found = {
        "SBCW": sbcw(),
        "SBCW, score cov": sbcw(criterion="cov"),
        "SBCW, cov_C = C": sbcw(cov_C=lambda C: C),
        "SBCW as printed": sbcw(cov_C=lambda C: C, loss="hinge", solver="online", sigma=0.01),
        "FGM": sbcw(covariance="identity"),
        "L1-SVM": lambda X, y, size, C: _sized(lambda s: _l1_svm(s).fit(X, y), X, y, size, 1.0),
        "sparDCA": lambda X, y, size, C: _sized(lambda s: SparDCA(C=s).fit(X, y), X, y, size, 1.0),
    }
    if hasattr(tamis, "SOFSClassifier"):
        found["SOFS"] = lambda X, y, size, C: tamis.SOFSClassifier(
            n_features_to_select=size, fit_intercept=False, random_state=0
        ).fit(X, y)
    return found


def _l1_svm(strength):
    return LinearSVC(penalty="l1", dual=False, C=strength, fit_intercept=False, tol=1e-3)


TUNED = ("SBCW", "SBCW, score cov", "SBCW, cov_C = C", "SBCW as printed", "FGM")


def _sized(fit, X, y, size: int, scale: float):
    """The model whose number of features is nearest to `size`: its strength is bisected, from where
    nothing is kept.

    The model's `seconds_` is the time of its own fit, the search left out.
    """
    low = 1.0 / (2.0 * scale * np.abs(X.T @ np.where(y > 0, 1.0, -1.0)).max())
    high, model = 2.0 * low, _counted(fit, 2.0 * low)
    while model.kept_ < size and high < 1e5 * low:
        low, high, model = high, 2.0 * high, _counted(fit, 2.0 * high)
    best = model
    for _ in range(8):
        if abs(best.kept_ - size) <= 0.03 * size:
            break
        middle = np.sqrt(low * high)
        model = _counted(fit, middle)
        low, high = (middle, high) if model.kept_ < size else (low, middle)
        best = min(best, model, key=lambda m: abs(m.kept_ - size))
    return best


def _counted(fit, strength: float):
    """A fitted model with its number of features and its time."""
    begin = time.process_time()
    model = fit(strength)
    model.seconds_, model.kept_ = time.process_time() - begin, int(np.count_nonzero(model.coef_))
    return model
