"""Iteration limits: every batch solver that stops early warns once, with its gap and advice.

All solvers also end on constant data.
"""

import re
import warnings

import numpy as np
import pytest
import tiny
from registry import ESTIMATORS, STREAMS, small
from sklearn.exceptions import ConvergenceWarning

# Resampled paths are no batch solvers: their steps keep their size, and `tol` is about what they
# purge.
BATCH = [
    cls
    for cls in ESTIMATORS
    if cls not in STREAMS
    and not cls.__name__.startswith("Stabil")
    and {"max_iter", "tol"} <= set(cls().get_params())
]
SWEEPS = {"BCWClassifier": 2}  # one sweep is the algorithm itself, not a limit
pytestmark = pytest.mark.usefixtures("bounded")


def convergence_warnings(model, X, y):
    """Messages of a fit that say that it did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ConvergenceWarning)
    ]


def targets_for(model, X):
    """Targets that suit the model; some rows have no label where that is what a model is for."""
    y = tiny.targets_for(model, X)
    if type(model).__name__ == "TriClassSVC":
        y = np.where(np.arange(len(y)) % 3, -1, y)
    return y


@pytest.mark.parametrize("cls", BATCH, ids=lambda cls: cls.__name__)
def test_a_bound_that_is_met_is_told_once_with_the_gap(cls):
    X = np.random.default_rng(0).normal(size=(60, 12))
    model = small(cls).set_params(max_iter=SWEEPS.get(cls.__name__, 1), tol=1e-13)
    (message,) = convergence_warnings(model, X, targets_for(model, X))
    assert cls.__name__ in message
    assert re.search(r"gap\D*\d", message), message
    assert re.search(r"Raise .*max_iter.* or", message), message


@pytest.mark.parametrize("cls", BATCH, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("kind", ["constant", "nearly constant", "equal"])
def test_columns_that_hold_nothing_new_end_quietly(cls, kind):
    rng = np.random.default_rng(0)
    X = {
        "constant": np.full((80, 10), 3.0),
        "nearly constant": 3.0 + 1e-14 * rng.normal(size=(80, 10)),
        "equal": np.repeat(rng.normal(size=(80, 1)), 10, 1),
    }[kind]
    model = small(cls)
    y = targets_for(model, rng.normal(size=(80, 10)))
    assert not convergence_warnings(model, X, y)
    assert np.isfinite(model.predict(X).astype(float)).all()
