"""Held-out scores: the line that sets them right, and their errors."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from tamis.methods.sieve.held_out_errors import (
    ROWS,
    Held,
    baseline_rows,
    error_of,
    line_of,
    prior_line,
    rows_of,
)
from tamis.numerics.csr import NOTHING
from tamis.terms import Huber, Logistic, Squared

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
N = 3000


def of_classes(targets, outputs=1, weights=NOTHING, intercept=True):
    return Held(
        np.reshape(targets, (len(targets), -1)), weights, outputs, True, Logistic(), intercept
    )


def of_numbers(targets, loss=Squared(), weights=NOTHING):
    return Held(np.reshape(targets, (len(targets), -1)), weights, 1, False, loss, True)


def drawn(odds):
    return np.where(RNG.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)


def test_the_line_is_that_of_a_logistic_regression():
    scores = 3.0 * RNG.normal(size=(N, 1))
    y = drawn(0.5 * scores[:, 0] + 1.5)
    slope, offset = line_of(scores, of_classes(y))[0]
    peer = LogisticRegression(C=np.inf).fit(scores, y)
    assert slope == pytest.approx(peer.coef_[0, 0], rel=0.01)
    assert offset == pytest.approx(peer.intercept_[0], rel=0.02)


def test_an_offset_that_chance_explains_is_left_at_0():
    scores = RNG.normal(size=(N, 1))
    y = drawn(2.0 * scores[:, 0])
    held = of_classes(y)
    slope, offset = line_of(scores, held)[0]
    peer = LogisticRegression(C=np.inf).fit(scores, y)
    assert abs(offset) <= abs(peer.intercept_[0])
    assert line_of(scores, held._replace(intercept=False))[0, 1] == 0.0
    assert slope > 1.5


def test_scores_that_mislead_leave_the_prior():
    scores = RNG.normal(size=(N, 1))
    y = drawn(-scores[:, 0] + 1.0)
    held = of_classes(y)
    assert line_of(scores, held) == pytest.approx(prior_line(held))
    share = (y > 0).mean()
    assert prior_line(held)[0] == pytest.approx([0.0, np.log(share / (1 - share))], abs=1e-3)


def test_other_classes_negate_the_offset_to_the_bit():
    scores = RNG.normal(size=(N, 1))
    y = drawn(scores[:, 0] + 1.0)
    slope, offset = line_of(scores, of_classes(y))[0]
    assert np.array_equal(line_of(-scores, of_classes(-y))[0], [slope, -offset])


@pytest.mark.parametrize("loss", [Squared(), Huber(1.0)], ids=["squared", "huber"])
def test_the_line_of_numbers_is_without_bias(loss):
    scores = RNG.normal(size=(N, 1))
    y = 2.0 * scores[:, 0] + 1.0 + 0.1 * RNG.normal(size=N)
    found = line_of(scores, of_numbers(y, loss))[0]
    peer = LinearRegression().fit(scores, y)
    assert found == pytest.approx([peer.coef_[0], peer.intercept_], rel=0.01)


def test_errors_of_two_classes():
    scores, y = np.array([[2.0], [-1.0], [0.0], [0.0]]), np.array([1.0, 1.0, 1.0, -1.0])
    rows = rows_of(scores, np.array([[1.0, 0.0]]), of_classes(y))
    heat = 0.25 * 0.75
    soft = 1.0 / (1.0 + np.exp(np.array([2.0, -1.0, 0.0, 0.0]) / heat))
    assert rows.soft.mean() == pytest.approx((soft[:3].mean() + soft[3]) / 2)
    assert rows.off.mean() == pytest.approx(0.0)
    hot = rows_of(1e6 * scores, np.array([[1.0, 0.0]]), of_classes(y))
    assert hot.soft == pytest.approx(rows.soft)
    assert rows.plain.tolist() == [0.0, 1.0, 1.0, 0.0]  # a score of 0 predicts the first class
    assert rows.surprise == pytest.approx(np.log1p(np.exp([-2.0, 1.0, 0.0, 0.0])))


def test_errors_of_several_classes_and_of_labels():
    scores = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 5.0]])
    unit = np.tile([1.0, 0.0], (3, 1))
    rows = rows_of(scores, unit, of_classes([1.0, 0.0], 3))
    likely = 1.0 / (1.0 + np.exp(-scores))
    likely /= likely.sum(axis=1, keepdims=True)
    assert rows.plain.tolist() == [0.0, 1.0]
    assert rows.surprise == pytest.approx(-np.log(likely[[0, 1], [1, 0]]))
    soft = 1.0 / (1.0 + np.exp(np.array([1.0, -5.0]) / (0.25 * 3.0)))
    assert rows.soft.mean() == pytest.approx(soft.mean())
    labels = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    rows = rows_of(scores, unit, of_classes(labels, 3))
    assert rows.plain == pytest.approx([1 / 3, 2 / 3])


def test_the_error_of_numbers_is_the_share_left_unexplained():
    y = RNG.normal(size=N) * 5.0 + 2.0
    scores = (y + RNG.normal(size=N))[:, None]
    held = of_numbers(y)
    rows = rows_of(scores, np.array([[1.0, 0.0]]), held)
    error = error_of(rows, rows.surprise, held)
    assert error.plain == pytest.approx(
        ((scores[:, 0] - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    )


def test_weights_count_rows():
    scores, y = RNG.normal(size=(50, 1)), drawn(RNG.normal(size=50))
    weights = RNG.integers(1, 4, 50).astype(float)
    many = np.repeat(np.arange(50), weights.astype(int))
    held, long = of_classes(y, weights=weights), of_classes(y[many])
    line, longer = line_of(scores, held), line_of(scores[many], long)
    assert line == pytest.approx(longer, rel=1e-6)
    prior = rows_of(0 * scores, prior_line(held), held).surprise
    one, other = (
        error_of(rows_of(s, line, h), p, h)
        for s, h, p in ((scores, held, prior), (scores[many], long, prior[many]))
    )
    assert (one.soft, one.plain) == pytest.approx((other.soft, other.plain))


def test_a_gain_over_the_prior_is_in_standard_errors():
    scores = RNG.normal(size=(N, 1))
    for y, low, high in ((drawn(2 * scores[:, 0]), 10, 99), (drawn(0 * scores[:, 0]), -3, 2)):
        held = of_classes(y)
        prior = rows_of(0 * scores, prior_line(held), held).surprise
        assert low < error_of(rows_of(scores, line_of(scores, held), held), prior, held).gain < high


def test_the_rows_kept_one_by_one_are_few():
    many = ROWS + 10
    held = of_classes(np.tile([1.0, -1.0], many // 2))
    rows = rows_of(np.zeros((many, 1)), np.array([[1.0, 0.0]]), held)
    assert len(error_of(rows, rows.surprise, held).soft_rows) == ROWS


def test_guessing_is_half_wrong_where_no_class_leads():
    folds = np.arange(100) % 5
    even = of_classes(np.tile([1.0, -1.0], 50))
    assert baseline_rows(even, folds).mean() == pytest.approx(0.5)
    lead = of_classes(np.where(np.arange(100) % 4, 1.0, -1.0))
    assert baseline_rows(lead, folds).mean() == pytest.approx(0.25)
    three = of_classes(np.arange(99) % 3, 3)
    assert baseline_rows(three, np.arange(99) % 5).mean() == pytest.approx(2 / 3)
    assert (baseline_rows(of_numbers(np.arange(9.0)), folds[:9]) == 1.0).all()
