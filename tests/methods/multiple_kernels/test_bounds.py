"""Weights of kernels whose bounds do not meet: machines that fail, bounds that stay, values that
are no numbers.
"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import GMKLClassifier
from tamis.methods.multiple_kernels import fit
from tamis.methods.multiple_kernels.level.method import (
    MAX_FAILED_MACHINES,
    STALL_ITERATIONS,
    CuttingPlane,
    level_method,
    norm_method,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

pytestmark = pytest.mark.usefixtures("bounded")
METHODS = {
    "level": lambda evaluate: level_method(evaluate, WeightSet(0.5), 3, 1e-6, 10_000),
    "norm": lambda evaluate: norm_method(evaluate, 2.0, 3, 1e-6, 10_000),
}


def machine(svm_gap=0.0, converged=True):
    """A machine whose forms change from call to call, and that is off by `svm_gap` each time."""
    calls = []

    def evaluate(theta, tol):
        calls.append(theta)
        forms = 1.0 + np.random.default_rng(len(calls)).random(3)
        return CuttingPlane(10.0, forms, svm_gap, object(), converged)

    return evaluate, calls


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_machines_that_do_not_converge_end_the_search(method):
    evaluate, calls = machine(svm_gap=5.0, converged=False)
    solution = method(evaluate)
    assert len(calls) <= MAX_FAILED_MACHINES
    assert not solution.converged
    assert solution.gap > 0.1


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_bounds_that_stay_apart_end_the_search(method):
    evaluate, calls = machine(svm_gap=5.0)
    solution = method(evaluate)
    assert len(calls) <= 2 * STALL_ITERATIONS
    assert not solution.converged
    assert solution.gap > 0.1


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_values_that_are_not_finite_are_an_error(method):
    with pytest.raises(FloatingPointError, match=r"infinite or nan.*Scale"):
        method(lambda theta, tol: CuttingPlane(np.nan, np.ones(3), 0.0, object()))


def test_machines_of_probabilities_that_do_not_converge_warn(monkeypatch):
    original = fit.solve_svm
    monkeypatch.setattr(
        fit,
        "solve_svm",
        lambda *args, **options: original(*args, **options)._replace(converged=False, gap=7.0),
    )
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(ConvergenceWarning, match=r"5 machines .*GMKLClassifier .* 7\. .*C\b"):
        GMKLClassifier(probability=True, random_state=0).fit(X, X[:, 0] > 0.0)
