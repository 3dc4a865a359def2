"""The closed tables of what a model file may name: estimators, terms, generators, sparse matrices.

A name found in a file is only ever looked up here. It is never imported, so a file can make nothing
run.
"""

import functools
import importlib
import inspect
import pkgutil

import numpy as np
import scipy.sparse

BIT_GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
SPARSE = {
    c.__name__: c
    for c in (
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_matrix,
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
    )
}

# Classes of tamis that models are made of, saved like them by their attributes: name -> module.
PARTS = {
    "ClassTargets": "tamis.base.targets",
    "NumberTargets": "tamis.base.targets",
    "Belief": "tamis.methods.batch_confidence.belief",
    "BlockBelief": "tamis.methods.batch_confidence.blocks",
    "Bundle": "tamis.methods.stabilized.paths",
    "ConfidenceEngine": "tamis.methods.confidence.state",
    "Engine": "tamis.solvers.first_order.state",
    "GroupEngine": "tamis.solvers.online_blocks.state",
    "Kernel": "tamis.methods.kernels.matrices.kinds",
    "KernelRows": "tamis.methods.kernels.rows",
    "Result": "tamis.methods.sieve.result",
    "Scaling": "tamis.methods.metric.candidates",
    "SieveStream": "tamis.methods.sieve.stream",
    "StabilizedEngine": "tamis.methods.stabilized.paths",
    "TaskEngine": "tamis.methods.tasks.state",
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
    """The class of a model's part, or None."""
    return getattr(importlib.import_module(PARTS[name]), name) if name in PARTS else None


def parameters(cls) -> dict[str, inspect.Parameter]:
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


def is_term_class(thing) -> bool:
    """Whether this is the class of a term."""
    return (
        isinstance(thing, type)
        and issubclass(thing, tuple)
        and getattr(thing, "is_tamis_term", False)
    )


def digest(cls: type) -> str:
    """Digest of a term's code, which `tamis.base.jit.term` appends to its name."""
    return cls.__name__.rpartition("_")[2]


def users_terms(terms) -> dict[tuple[str, str], type]:
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
