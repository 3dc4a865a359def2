"""Held-out scores: their calibration and their errors."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from tamis.methods.sieve.held_out_errors import (
    MAX_ROW_ERRORS,
    HeldOutTargets,
    baseline_row_errors,
    fit_calibration,
    mean_error,
    prior_calibration,
    row_errors,
)
from tamis.numerics.csr import EMPTY
from tamis.terms import Huber, Logistic, Squared

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
N = 3000


def class_targets(targets, outputs=1, weights=EMPTY, intercept=True):
    return HeldOutTargets(
        np.reshape(targets, (len(targets), -1)), weights, outputs, True, Logistic(), intercept
    )


def numeric_targets(targets, loss=Squared(), weights=EMPTY):
    return HeldOutTargets(np.reshape(targets, (len(targets), -1)), weights, 1, False, loss, True)


def draw_classes(odds):
    return np.where(RNG.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)


def test_the_calibration_of_classes_is_a_logistic_regression():
    scores = 3.0 * RNG.normal(size=(N, 1))
    y = draw_classes(0.5 * scores[:, 0] + 1.5)
    slope, offset = fit_calibration(scores, class_targets(y))[0]
    reference = LogisticRegression(C=np.inf).fit(scores, y)
    assert slope == pytest.approx(reference.coef_[0, 0], rel=0.01)
    assert offset == pytest.approx(reference.intercept_[0], rel=0.02)


def test_an_insignificant_offset_is_0():
    scores = RNG.normal(size=(N, 1))
    y = draw_classes(2.0 * scores[:, 0])
    held_out = class_targets(y)
    slope, offset = fit_calibration(scores, held_out)[0]
    reference = LogisticRegression(C=np.inf).fit(scores, y)
    assert abs(offset) <= abs(reference.intercept_[0])
    assert fit_calibration(scores, held_out._replace(intercept=False))[0, 1] == 0.0
    assert slope > 1.5


def test_scores_with_a_negative_slope_leave_the_prior():
    scores = RNG.normal(size=(N, 1))
    y = draw_classes(-scores[:, 0] + 1.0)
    held_out = class_targets(y)
    assert fit_calibration(scores, held_out) == pytest.approx(prior_calibration(held_out))
    fraction = (y > 0).mean()
    assert prior_calibration(held_out)[0] == pytest.approx(
        [0.0, np.log(fraction / (1 - fraction))], abs=1e-3
    )


def test_swapped_classes_negate_the_offset_exactly():
    scores = RNG.normal(size=(N, 1))
    y = draw_classes(scores[:, 0] + 1.0)
    slope, offset = fit_calibration(scores, class_targets(y))[0]
    assert np.array_equal(fit_calibration(-scores, class_targets(-y))[0], [slope, -offset])


@pytest.mark.parametrize("loss", [Squared(), Huber(1.0)], ids=["squared", "huber"])
def test_the_calibration_of_numbers_is_unbiased(loss):
    scores = RNG.normal(size=(N, 1))
    y = 2.0 * scores[:, 0] + 1.0 + 0.1 * RNG.normal(size=N)
    calibration = fit_calibration(scores, numeric_targets(y, loss))[0]
    reference = LinearRegression().fit(scores, y)
    assert calibration == pytest.approx([reference.coef_[0], reference.intercept_], rel=0.01)


def test_errors_of_two_classes():
    scores, y = np.array([[2.0], [-1.0], [0.0], [0.0]]), np.array([1.0, 1.0, 1.0, -1.0])
    rows = row_errors(scores, np.array([[1.0, 0.0]]), class_targets(y))
    temperature = 0.25 * 0.75
    soft = 1.0 / (1.0 + np.exp(np.array([2.0, -1.0, 0.0, 0.0]) / temperature))
    assert rows.soft.mean() == pytest.approx((soft[:3].mean() + soft[3]) / 2)
    assert rows.soft_deviation.mean() == pytest.approx(0.0)
    scaled = row_errors(1e6 * scores, np.array([[1.0, 0.0]]), class_targets(y))
    assert scaled.soft == pytest.approx(rows.soft)
    assert rows.plain.tolist() == [0.0, 1.0, 1.0, 0.0]  # a score of 0 predicts the first class
    assert rows.log_loss == pytest.approx(np.log1p(np.exp([-2.0, 1.0, 0.0, 0.0])))


def test_errors_of_several_classes_and_of_labels():
    scores = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 5.0]])
    identity = np.tile([1.0, 0.0], (3, 1))
    rows = row_errors(scores, identity, class_targets([1.0, 0.0], 3))
    probabilities = 1.0 / (1.0 + np.exp(-scores))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    assert rows.plain.tolist() == [0.0, 1.0]
    assert rows.log_loss == pytest.approx(-np.log(probabilities[[0, 1], [1, 0]]))
    soft = 1.0 / (1.0 + np.exp(np.array([1.0, -5.0]) / (0.25 * 3.0)))
    assert rows.soft.mean() == pytest.approx(soft.mean())
    labels = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    rows = row_errors(scores, identity, class_targets(labels, 3))
    assert rows.plain == pytest.approx([1 / 3, 2 / 3])


def test_the_error_of_numbers_is_the_unexplained_fraction_of_the_variance():
    y = RNG.normal(size=N) * 5.0 + 2.0
    scores = (y + RNG.normal(size=N))[:, None]
    held_out = numeric_targets(y)
    rows = row_errors(scores, np.array([[1.0, 0.0]]), held_out)
    error = mean_error(rows, rows.log_loss, held_out)
    assert error.plain == pytest.approx(
        ((scores[:, 0] - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    )


def test_weights_count_rows():
    scores, y = RNG.normal(size=(50, 1)), draw_classes(RNG.normal(size=50))
    weights = RNG.integers(1, 4, 50).astype(float)
    row_indices = np.repeat(np.arange(50), weights.astype(int))
    held_out, repeated = class_targets(y, weights=weights), class_targets(y[row_indices])
    calibration, repeated_calibration = (
        fit_calibration(scores, held_out),
        fit_calibration(scores[row_indices], repeated),
    )
    assert calibration == pytest.approx(repeated_calibration, rel=1e-6)
    prior = row_errors(0 * scores, prior_calibration(held_out), held_out).log_loss
    weighted, unweighted = (
        mean_error(row_errors(s, calibration, h), p, h)
        for s, h, p in (
            (scores, held_out, prior),
            (scores[row_indices], repeated, prior[row_indices]),
        )
    )
    assert (weighted.soft, weighted.plain) == pytest.approx((unweighted.soft, unweighted.plain))


def test_a_gain_over_the_prior_is_in_standard_errors():
    scores = RNG.normal(size=(N, 1))
    for y, low, high in (
        (draw_classes(2 * scores[:, 0]), 10, 99),
        (draw_classes(0 * scores[:, 0]), -3, 2),
    ):
        held_out = class_targets(y)
        prior = row_errors(0 * scores, prior_calibration(held_out), held_out).log_loss
        assert (
            low
            < mean_error(
                row_errors(scores, fit_calibration(scores, held_out), held_out), prior, held_out
            ).gain_z
            < high
        )


def test_the_number_of_stored_row_errors_is_limited():
    n_rows = MAX_ROW_ERRORS + 10
    held_out = class_targets(np.tile([1.0, -1.0], n_rows // 2))
    rows = row_errors(np.zeros((n_rows, 1)), np.array([[1.0, 0.0]]), held_out)
    assert len(mean_error(rows, rows.log_loss, held_out).soft_by_row) == MAX_ROW_ERRORS


def test_baseline_errors():
    folds = np.arange(100) % 5
    equal = class_targets(np.tile([1.0, -1.0], 50))
    assert baseline_row_errors(equal, folds).mean() == pytest.approx(0.5)
    unequal = class_targets(np.where(np.arange(100) % 4, 1.0, -1.0))
    assert baseline_row_errors(unequal, folds).mean() == pytest.approx(0.25)
    three = class_targets(np.arange(99) % 3, 3)
    assert baseline_row_errors(three, np.arange(99) % 5).mean() == pytest.approx(2 / 3)
    assert (baseline_row_errors(numeric_targets(np.arange(9.0)), folds[:9]) == 1.0).all()
