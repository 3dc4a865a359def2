"""Unusual inputs that no paper has but users have, each as (X, y, sample_weight)."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import tiny
from registry import small
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from tamis import SDist, SparseFourierFeatures

N, P = 24, 6


class Odd(NamedTuple):
    """Rows, classes, numbers, and weights or None."""

    X: object
    classes: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray | None = None

    def targets(self, model):
        """The targets that suit a model."""
        return self.classes if takes_classes(model) else self.numbers


PLAIN = tiny.matrix(N, P)
CLASSES = (tiny.signs(PLAIN) > 0).astype(int)
NUMBERS = tiny.numbers(PLAIN)
FULL = np.random.default_rng(5).normal(size=(N, P))


def _input(X, classes=CLASSES, numbers=NUMBERS, weights=None):
    n = X.shape[0]
    return Odd(X, classes[:n], numbers[:n], weights)


def _with_value(X, at, value):
    X = X.copy()
    X[at] = value
    return X


def _signed(value):
    """Columns of plus and minus one large number."""
    return np.where(FULL > 0, value, -value)


def _one_weight(value):
    return _with_value(np.ones(N), 3, value)


INPUTS = {
    "constant columns": _input(np.full((N, P), 3.0)),
    "constant rows": _input(np.repeat(np.arange(P)[None] - 1.5, N, axis=0)),
    "one row": _input(FULL[:1]),
    "two rows": _input(FULL[:2], np.array([0, 1]), np.array([0.5, -1.25])),
    "two sparse rows": _input(sp.csr_array(PLAIN[:2]), np.array([0, 1]), np.array([0.5, -1.25])),
    "three rows": _input(FULL[:3], np.array([0, 1, 0]), np.array([0.5, -1.25, 3.0])),
    "all zero": _input(np.zeros((N, P))),
    "all zero, sparse": _input(sp.csr_array((N, P))),
    "one class, one number": _input(FULL, np.zeros(N, dtype=int), np.full(N, 2.5)),
    "numbers of zero": _input(FULL, CLASSES, np.zeros(N)),
    "as many classes as rows": _input(FULL, np.arange(N), np.arange(N) * 1.0),
    "two columns, ten classes": _input(FULL[:20, :2], np.arange(20) % 10, np.arange(20) % 10 * 1.0),
    "one column": _input(FULL[:, :1]),
    "one column of ones": _input(np.ones((N, 1))),
    "one row, often": _input(np.repeat(FULL[:1], N, axis=0)),
    "two rows, often": _input(
        np.repeat(FULL[:2], N // 2, axis=0),
        np.repeat([0, 1], N // 2),
        np.repeat([0.5, -1.25], N // 2),
    ),
    "twice the same column": _input(np.repeat(FULL[:, :3], 2, axis=1)),
    "one row of a class": _input(FULL, (np.arange(N) == 7).astype(int), (np.arange(N) == 7) * 1.0),
    "one cell": _input(sp.csr_array(_with_value(np.zeros((N, P)), (3, 2), 2.0))),
    "times 1e160": _input(PLAIN * 1e160),
    "times 1e160, sparse": _input(sp.csr_array(PLAIN * 1e160)),
    "times 1e-160": _input(PLAIN * 1e-160),
    "times 1e-160, sparse": _input(sp.csc_array(PLAIN * 1e-160)),
    "times 1e45": _input(PLAIN * 1e45),
    "times 1e-45": _input(PLAIN * 1e-45),
    "columns of 1e-45 to 1e45": _input(PLAIN * np.logspace(-45, 45, P)),
    "plus and minus 1e308": _input(_signed(1e308)),
    "float32, plus and minus 1e36": _input(_signed(1e36).astype(np.float32)),
    "float32, times 1e-40": _input((PLAIN * 1e-40).astype(np.float32)),
    "denormals": _input(_signed(5e-324)),
    "one denormal": _input(_with_value(FULL, (2, 1), 5e-324)),
    "one denormal, sparse": _input(sp.csr_array(_with_value(PLAIN, (2, 1), 5e-324))),
    "one cell of 1e300": _input(_with_value(FULL, (2, 1), -1e300)),
    "one cell of 1e45": _input(_with_value(FULL, (2, 1), 1e45)),
    "classes of 1e300": _input(FULL, CLASSES * 1e300, CLASSES * 1.0),
    "numbers of 1e300": _input(FULL, CLASSES, NUMBERS * 1e300),
    "numbers of 1e45": _input(FULL, CLASSES, NUMBERS * 1e45),
    "numbers of 1e-45": _input(FULL, CLASSES, NUMBERS * 1e-45),
    "numbers of 1e-300": _input(FULL, CLASSES, NUMBERS * 1e-300),
    "weights of 1e300": _input(FULL, weights=np.full(N, 1e300)),
    "one weight of 1e300": _input(FULL, weights=_one_weight(1e300)),
    "weights of 1e-300": _input(FULL, weights=np.full(N, 1e-300)),
    "weights of 1e45": _input(FULL, weights=np.full(N, 1e45)),
    "weights of 1e-45": _input(FULL, weights=np.full(N, 1e-45)),
    "one weight of 1e45": _input(FULL, weights=_one_weight(1e45)),
    "one row has a weight": _input(FULL, weights=_with_value(np.zeros(N), 3, 1.0)),
}

# Numbers that may be infinite, with the reason.
EXPLAINED = {
    "rel_gap": "ThresholdedClassifier: a share of a bound that is 0, where one class is left",
    "apriori_rel": "the same",
}

# Searches and resampling with few repeats; the rest with what they are given.
_FEW_FITS = {
    "eta_factors": (1.0,),
    "burn_ins": (1.0,),
    "rejections": (0.7,),
    "purges": (0.5, 0.9),
    "cv": 2,
}
QUICK = {
    "StabilizedSGDClassifierCV": _FEW_FITS,
    "StabilizedSGDRegressorCV": _FEW_FITS,
    "StabilitySelector": {"n_pairs": 4},
    "SparseFourierFeatures": {"max_iter": 120},
}


def takes_classes(model) -> bool:
    """Whether a model learns from classes; metrics do, too."""
    return is_classifier(model) or isinstance(model, SDist | SparseFourierFeatures)


def takes_weights(cls) -> bool:
    """Whether a fit takes weights of the rows."""
    return has_fit_parameter(cls(), "sample_weight")


def reaches(name: str, cls) -> bool:
    """Return whether the unusual part of an input reaches a model."""
    if INPUTS[name].weights is not None:
        return takes_weights(cls)
    return not name.startswith("numbers" if takes_classes(cls()) else "classes")


def quick(cls):
    """Return a model with a fast fit on a few rows."""
    model = small(cls)
    known = model.get_params(deep=False)
    parameters = {
        "max_iter": 20,
        "n_paths": 4,
        "random_state": 0,
        **QUICK.get(cls.__name__, {}),
    }
    return model.set_params(**{name: value for name, value in parameters.items() if name in known})
