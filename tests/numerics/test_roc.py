"""The area under the ROC curve, against scikit-learn's and against all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tamis.numerics.roc import area_under_curve, fraction_below

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30)


@given(ROWS)
def test_area_is_that_of_scikit_learn(rows):
    scores, positive = (np.array(column) for column in zip(*rows, strict=True))
    area = area_under_curve(scores / 3.0, positive)
    if positive.all() or not positive.any():
        assert math.isnan(area)
    else:
        assert area == pytest.approx(roc_auc_score(positive, scores), rel=1e-14)


@given(ROWS, st.data())
def test_fractions_are_those_of_all_pairs(rows, data):
    scores = np.array([score for score, _ in rows], dtype=float)
    others = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=1, max_size=10)), dtype=float)
    weights = 0.5 + np.arange(len(others)) % 3
    wins = (others < scores[:, None]) + 0.5 * (others == scores[:, None])
    assert fraction_below(scores, others, weights) == pytest.approx(wins @ weights / weights.sum())
    assert fraction_below(scores, others) == pytest.approx(wins.mean(axis=1))


def test_a_perfect_order_has_area_1_exactly():
    assert area_under_curve(np.arange(7.0), np.arange(7) >= 4) == 1.0
    assert area_under_curve(np.zeros(7), np.arange(7) >= 4) == 0.5
