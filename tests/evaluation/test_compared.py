"""Checks of a comparison, each by itself: the best error beside guessing, units, strong columns."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import SieveClassifier
from tamis.evaluation.checks import MAX_LEAK_COLUMNS, Issue
from tamis.evaluation.comparison_checks import _best_model, _depends_on_scale, _most_correlated
from tamis.evaluation.summary import MIN_GAIN_Z


def guessing(losses):
    return SimpleNamespace(
        error=losses.mean(), format_error=lambda value: f"{value:.3f}", baseline="always 1"
    )


def best_of(baseline, **losses):
    rows = [{"model": model, "error": values.mean()} for model, values in losses.items()]
    return _best_model(guessing(baseline), baseline, rows, list(losses.values()))


def test_the_best_error_is_beside_guessing():
    baseline = np.repeat([1.0, 0.0], [450, 550])
    best, worse = np.repeat([1.0, 0.0], [300, 700]), np.repeat([1.0, 0.0], [500, 500])
    said = best_of(baseline, a=baseline, b=best, c=worse)
    assert re.search(r"0\.300 \(b\), .* 0\.450 \(always 1\); not better: a, c\.$", said)
    assert best_of(baseline, b=best).endswith("0.450 (always 1).")
    actual = best_of(baseline, a=baseline)
    assert isinstance(actual, Issue)
    assert "no method is better than guessing" in actual.said


def test_better_than_guessing_is_by_differences_row_by_row():
    """What is hard for both counts for nothing: the gain may be small beside both errors."""
    rng = np.random.default_rng(0)
    hard = 100.0 * rng.random(400)
    gains = rng.normal(size=400)
    gains -= gains.mean()
    spread = gains.std(ddof=1) / math.sqrt(400)
    for factor, good in ((0.97, False), (1.03, True)):
        said = best_of(hard + gains + factor * MIN_GAIN_Z * spread, a=hard)
        assert isinstance(said, str) == good
    assert isinstance(best_of(hard[:1] + 1.0, a=hard[:1]), Issue)  # one row says nothing
    assert isinstance(best_of(hard, a=hard + 1.0), Issue)


@pytest.mark.parametrize(
    ("model", "hangs"),
    [
        (LogisticRegression(), True),
        (SieveClassifier(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
    ],
)
def test_units_matter_to_models_that_take_columns_as_they_are(model, hangs):
    assert _depends_on_scale(model) is hangs


def test_the_columns_that_go_with_the_targets_most_come_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, MAX_LEAK_COLUMNS + 5))
    rest = X[:, 4] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=300)
    evidence = SimpleNamespace(
        rows=sp.csr_array(X),
        moments=(X.mean(axis=0), X.std(axis=0), np.ones(X.shape[1])),
        baseline_residuals=[rest],
    )
    actual = _most_correlated(evidence)
    assert actual[:2].tolist() == [4, 2]
    assert len(actual) == MAX_LEAK_COLUMNS
    assert _most_correlated(SimpleNamespace(rows=None, moments=None)).tolist() == []
