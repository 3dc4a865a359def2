"""The promise of StabilitySelector, kept over repeated problems; the benchmark of the papers
repeats it 200 times.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Lasso

from tamis import StabilitySelector

MAX_DUPLICATE_FRACTION, ROWS, WIDTH, PLANTED = 25, 80, 120, 4


class Blind(RegressorMixin, BaseEstimator):
    """Draws q features without a look at the data."""

    def __init__(self, q=6, random_state=None):
        self.q = q
        self.random_state = random_state

    def fit(self, X, y):
        self.support_ = np.random.RandomState(self.random_state).choice(
            X.shape[1], self.q, replace=False
        )
        return self


def problem(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, WIDTH))
    return X, X[:, :PLANTED] @ np.full(PLANTED, 1.0) + 2.0 * random.normal(size=ROWS)


@pytest.mark.parametrize(
    ("threshold", "assumption"), [(0.6, "none"), (0.6, "r-concave"), (0.9, "r-concave")]
)
def test_false_selections_stay_below_the_bound(threshold, assumption):
    """The tightest bound comes nearest to the truth; the promise is one of means, so a bit of noise
    is allowed for.
    """
    false, true, bounds = [], [], []
    for seed in range(MAX_DUPLICATE_FRACTION):
        X, y = problem(seed)
        selector = StabilitySelector(
            Lasso(),
            threshold=threshold,
            max_false=1.0,
            assumption=assumption,
            n_pairs=10,
            param_values=6,
            random_state=seed,
        )
        selector.fit(X, y)
        false.append((selector.support_ >= PLANTED).sum())
        true.append((selector.support_ < PLANTED).sum())
        bounds.append(selector.expected_false_selections_)
    assert max(bounds) <= 1.0
    assert np.mean(false) <= np.mean(bounds) + 2 * np.std(false) / np.sqrt(MAX_DUPLICATE_FRACTION)
    assert np.mean(true) > 1.0  # a selector that keeps nothing is no use


def test_blind_drawing_in_pairs_is_the_equality():
    """One pair, threshold 1: E(V) = q^2 / p exactly."""
    X, y = problem(0)
    selectors = (
        StabilitySelector(Blind(), threshold=1.0, n_selected=6, n_pairs=1, random_state=seed)
        for seed in range(400)
    )
    actual = [len(selector.fit(X, y).support_) for selector in selectors]
    assert StabilitySelector(Blind(), threshold=1.0, n_selected=6, n_pairs=1).fit(
        X, y
    ).expected_false_selections_ == pytest.approx(0.3)
    assert np.mean(actual) == pytest.approx(0.3, abs=0.09)
