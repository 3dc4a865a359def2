"""Weights of kernels whose bounds do not meet: machines that fail, bounds that stay, values that
are no numbers.
"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import GMKLClassifier
from tamis.methods.multiple_kernels import fit
from tamis.methods.multiple_kernels.level.method import (
    FAILED,
    STALLED,
    Cut,
    level_method,
    norm_method,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

pytestmark = pytest.mark.usefixtures("bounded")
METHODS = {
    "level": lambda evaluate: level_method(evaluate, WeightSet(0.5), 3, 1e-6, 10_000),
    "norm": lambda evaluate: norm_method(evaluate, 2.0, 3, 1e-6, 10_000),
}


def machine(slack=0.0, settled=True):
    """A machine whose forms change from call to call, and that is off by `slack` each time."""
    calls = []

    def evaluate(theta, tol):
        calls.append(theta)
        forms = 1.0 + np.random.default_rng(len(calls)).random(3)
        return Cut(10.0, forms, slack, object(), settled)

    return evaluate, calls


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_machines_that_do_not_converge_end_the_search(method):
    evaluate, calls = machine(slack=5.0, settled=False)
    found = method(evaluate)
    assert len(calls) <= FAILED
    assert not found.converged
    assert found.gap > 0.1


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_bounds_that_stay_apart_end_the_search(method):
    evaluate, calls = machine(slack=5.0)
    found = method(evaluate)
    assert len(calls) <= 2 * STALLED
    assert not found.converged
    assert found.gap > 0.1


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_values_that_are_no_numbers_are_an_error(method):
    with pytest.raises(FloatingPointError, match=r"infinite or nan.*Scale"):
        method(lambda theta, tol: Cut(np.nan, np.ones(3), 0.0, object()))


def test_machines_behind_the_probabilities_are_told(monkeypatch):
    real = fit.solve_svm
    monkeypatch.setattr(
        fit,
        "solve_svm",
        lambda *entries, **options: real(*entries, **options)._replace(converged=False, gap=7.0),
    )
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(ConvergenceWarning, match=r"5 machines .*GMKLClassifier .* 7\. .*C\b"):
        GMKLClassifier(probability=True, random_state=0).fit(X, X[:, 0] > 0.0)
