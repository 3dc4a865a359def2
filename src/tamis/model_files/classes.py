"""The closed tables of the classes that a model file may name: estimators, nested objects, terms,
sparse matrices.

A file names classes without their modules. A name in a file is only looked up here; it is never
imported, so that a file cannot run code.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse

from tamis.system.schema import NESTED_CLASSES

BIT_GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
SPARSE_CLASSES = {
    name: getattr(scipy.sparse, name)
    for name in ("csr_matrix", "csc_matrix", "csr_array", "csc_array")
}


# --------------------------------------------------------------------------- estimators
def model_class(name: str) -> type | None:
    """Return the public estimator of that name, or None."""
    from sklearn.base import BaseEstimator

    import tamis

    module_name = tamis._HOMES.get(name)
    if module_name is None:
        return None
    cls = getattr(importlib.import_module(module_name), name)
    is_estimator = isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls.__name__ == name
    return cls if is_estimator else None


def is_public(cls: type) -> bool:
    """Return whether `load` finds the class of an estimator."""
    return model_class(cls.__name__) is cls


def nested_class(name: str) -> type | None:
    """Return the class of a nested object, or None. The class of the model, which is looked up
    first, declares it.
    """
    return NESTED_CLASSES.get(name)


def parameters(cls: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of the constructor."""
    arguments = inspect.signature(cls).parameters
    return {name: arguments[name] for name in cls._get_param_names()}


def versions() -> dict[str, str]:
    """Return the versions of tamis, its dependencies and Python."""
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
    """Return all terms of tamis by name, from every module of `tamis.terms`."""
    import tamis.terms

    terms_by_name: dict = {}
    for module_info in pkgutil.iter_modules(tamis.terms.__path__):
        module = importlib.import_module(f"tamis.terms.{module_info.name}")
        terms_by_name |= {
            cls.__qualname__: cls
            for cls in vars(module).values()
            if is_term_class(cls) and cls.__module__ == module.__name__
        }
    return terms_by_name


def is_term_class(obj: object) -> bool:
    """Return whether an object is the class of a term."""
    is_tuple_class = isinstance(obj, type) and issubclass(obj, tuple)
    return is_tuple_class and getattr(obj, "is_tamis_term", False)


def digest(cls: type) -> str:
    """Return the digest of a term's code, which `tamis.numerics.numba.term` appends to its name."""
    return cls.__name__.rpartition("_")[2]


def user_terms(terms: Iterable[type]) -> dict[tuple[str, str], type]:
    """Return the classes of the argument `terms` of `load`, by name and digest."""
    terms_by_name: dict = {}
    for cls in terms:
        if not is_term_class(cls):
            raise TypeError(
                f"load: terms holds {cls!r}, which is not the class of a term. Pass classes, as in "
                "terms=[MyLoss]."
            )
        terms_by_name[cls.__qualname__, digest(cls)] = cls
    return terms_by_name
