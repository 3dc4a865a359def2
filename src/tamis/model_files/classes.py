"""The closed tables of what a model file may name: estimators, parts, terms, sparse matrices.

A file names classes by their own names, never by the modules they lie in. A name found in a file is
only ever looked up here; it is never imported, so a file can make nothing run.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse

from tamis.system.schema import PARTS

BIT_GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
SPARSE = {
    name: getattr(scipy.sparse, name)
    for name in ("csr_matrix", "csc_matrix", "csr_array", "csc_array")
}


# --------------------------------------------------------------------------- estimators
def model_class(name: str) -> type | None:
    """The public estimator of that name, or None."""
    from sklearn.base import BaseEstimator

    import tamis

    home = tamis._HOMES.get(name)
    if home is None:
        return None
    cls = getattr(importlib.import_module(home), name)
    known = isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls.__name__ == name
    return cls if known else None


def is_public(cls: type) -> bool:
    """Whether the class is an estimator that `load` will find."""
    return model_class(cls.__name__) is cls


def part_class(name: str) -> type | None:
    """The class of a model's part, or None; the model's own class, found first, declared it."""
    return PARTS.get(name)


def parameters(cls: Any) -> dict[str, inspect.Parameter]:
    """The constructor's parameters."""
    arguments = inspect.signature(cls).parameters
    return {name: arguments[name] for name in cls._get_param_names()}


def versions() -> dict[str, str]:
    """Versions of all that had a hand in a model."""
    import platform

    import scipy
    import sklearn

    import tamis

    return {
        "tamis": tamis.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


# --------------------------------------------------------------------------- terms
@functools.cache
def shipped_terms() -> dict[str, type]:
    """All terms of tamis by name, from every module of `tamis.terms`."""
    import tamis.terms

    found: dict = {}
    for place in pkgutil.iter_modules(tamis.terms.__path__):
        module = importlib.import_module(f"tamis.terms.{place.name}")
        found |= {
            cls.__qualname__: cls
            for cls in vars(module).values()
            if is_term_class(cls) and cls.__module__ == module.__name__
        }
    return found


def is_term_class(thing: object) -> bool:
    """Whether this is the class of a term."""
    tuples = isinstance(thing, type) and issubclass(thing, tuple)
    return tuples and getattr(thing, "is_tamis_term", False)


def digest(cls: type) -> str:
    """Digest of a term's code, which `tamis.numerics.numba.term` appends to its name."""
    return cls.__name__.rpartition("_")[2]


def users_terms(terms: Iterable[type]) -> dict[tuple[str, str], type]:
    """The classes handed to `load`, by name and digest."""
    found: dict = {}
    for cls in terms:
        if not is_term_class(cls):
            raise TypeError(
                f"load: terms holds {cls!r}, which is not the class of a term. Pass classes, as in "
                "terms=[MyLoss]."
            )
        found[cls.__qualname__, digest(cls)] = cls
    return found
