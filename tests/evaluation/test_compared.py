"""Checks of a comparison, each by itself: the best error beside guessing, units, strong columns."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import SieveClassifier
from tamis.evaluation.checks import LEAKS_LOOKED_AT, Found
from tamis.evaluation.comparison_checks import _best, _hangs_on_units, _strongest
from tamis.evaluation.summary import SURE


def guessing(error, rows=100, classes=True, standard_error=0.0):
    return SimpleNamespace(
        error=error,
        rows=rows,
        classes=classes,
        standard_error=standard_error,
        told=lambda value: f"{value:.3f}",
        baseline="always 1",
    )


def row(model, error):
    return {"model": model, "error": error}


def test_the_best_error_is_beside_guessing_by_the_errors_of_both():
    spread = math.sqrt((0.3 * 0.7 + 0.45 * 0.55) / 100)
    baseline, rows = 0.45, [row("a", 0.45), row("b", 0.3), row("c", 0.5)]
    said = _best(guessing(baseline, 1000), rows)
    assert said == "the best error, 0.300 (b), beside 0.450 (always 1); not better: a, c."
    # As near as chance takes it, a little less and a little more.
    for share, good in ((0.97, False), (1.03, True)):
        count = (SURE * spread / 0.15) ** 2 * 100 * share
        assert isinstance(_best(guessing(baseline, count), rows), str) == good
    assert _best(guessing(0.9), rows).endswith("0.900 (always 1).")


def test_numbers_are_compared_in_units_of_their_own_error():
    good = _best(guessing(2.0, classes=False, standard_error=0.2), [row("a", 1.0)])
    assert good == "the best error, 1.000 (a), beside 2.000 (always 1)."
    found = _best(guessing(2.0, classes=False, standard_error=0.9), [row("a", 1.0)])
    assert isinstance(found, Found)
    assert "no method is better than guessing" in found.said


@pytest.mark.parametrize(
    ("model", "hangs"),
    [
        (LogisticRegression(), True),
        (SieveClassifier(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
    ],
)
def test_units_matter_to_models_that_take_columns_as_they_are(model, hangs):
    assert _hangs_on_units(model) is hangs


def test_the_columns_that_go_with_the_targets_most_come_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, LEAKS_LOOKED_AT + 5))
    rest = X[:, 4] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=300)
    evidence = SimpleNamespace(
        rows=sp.csr_array(X),
        moments=(X.mean(axis=0), X.std(axis=0), np.ones(X.shape[1])),
        rests_of_guessing=[rest],
    )
    found = _strongest(evidence)
    assert found[:2].tolist() == [4, 2]
    assert len(found) == LEAKS_LOOKED_AT
    assert _strongest(SimpleNamespace(rows=None, moments=None)).tolist() == []
