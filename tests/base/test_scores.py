"""Losses of rows, their standard errors, the one-standard-error rule, the baseline."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, get_scorer, hamming_loss, r2_score

from tamis.base.scores import (
    ZERO_SUMS,
    add_losses,
    baseline_losses,
    baseline_prediction,
    default_scoring,
    mean_with_error,
    one_standard_error,
    one_standard_error_of_folds,
    paired_difference,
    row_losses,
    summarize_losses,
    update_baseline,
)
from tamis.base.targets import ClassTargets, NumberTargets

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
N = 200
WEIGHTS = RNG.integers(0, 4, N).astype(float)
NUMBERS = RNG.normal(size=N)
CLASSES = np.array(["pear", "apple", "fig"])[RNG.integers(0, 3, N)]


class Fixed(BaseEstimator):
    """A model that predicts what it was given."""

    def __init__(self, predicted):
        self.predicted = predicted

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.predicted


# --------------------------------------------------------------------------- losses of rows
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_mean_losses_are_those_of_scikit_learns_scorers(weights):
    score = get_scorer("accuracy")(
        Fixed(np.roll(CLASSES, 1)), np.zeros((N, 1)), CLASSES, sample_weight=weights
    )
    losses = row_losses(CLASSES, np.roll(CLASSES, 1), "accuracy")
    assert np.average(losses, weights=weights) == pytest.approx(1.0 - score)
    for y in (NUMBERS, np.c_[NUMBERS, NUMBERS**2]):
        score = get_scorer("neg_mean_squared_error")(
            Fixed(np.roll(y, 1, axis=0)), np.zeros((N, 1)), y, sample_weight=weights
        )
        losses = row_losses(y, np.roll(y, 1, axis=0), "neg_mean_squared_error")
        assert np.average(losses, weights=weights) == pytest.approx(-score)
    labels = RNG.integers(0, 2, (N, 3))
    wrong = row_losses(labels, labels[::-1], "accuracy")
    assert np.average(wrong, weights=weights) == pytest.approx(
        hamming_loss(labels, labels[::-1], sample_weight=weights)
    )
    assert [default_scoring(classes) for classes in (True, False)] == [
        "accuracy",
        "neg_mean_squared_error",
    ]


def test_missing_targets_have_no_loss_and_other_scorers_no_rows():
    y = np.array([1.0, np.nan, 0.0])
    for scoring in ("accuracy", "neg_mean_squared_error"):
        assert np.isnan(row_losses(y, np.ones(3), scoring)).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="roc_auc"):
        row_losses(y, np.ones(3), "roc_auc")


def test_whole_numbers_do_not_overflow():
    y, predicted = np.array([200], np.uint8), np.array([1], np.uint8)
    assert row_losses(y, predicted, "neg_mean_squared_error").tolist() == [199.0**2]


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["plain", "weighted"])
def test_scores_of_held_out_rows_are_those_of_scikit_learn(weights):
    """Accuracy and R2 of encoded targets, as early stopping looks at them after every pass."""
    for y in (CLASSES, CLASSES == "fig"):
        scores = RNG.normal(size=(N, 3 if y is CLASSES else 1))
        targets, coded = ClassTargets.encode(y, N, SimpleNamespace())
        expected = accuracy_score(y, targets.predict(scores), sample_weight=weights)
        assert targets.score(scores, coded.columns, weights) == pytest.approx(expected)
    y = np.c_[NUMBERS, 3.0 * NUMBERS**2]
    scores = y + RNG.normal(size=(N, 2))
    targets, coded = NumberTargets.encode(y, N, SimpleNamespace())
    expected = r2_score(y, scores, sample_weight=weights, multioutput="variance_weighted")
    assert targets.score(scores, coded.columns, weights) == pytest.approx(expected)


# --------------------------------------------------------------------------- standard errors
def test_the_standard_error_is_that_of_scipy():
    for ddof in (0, 1):
        mean, error = mean_with_error(NUMBERS, ddof=ddof)
        assert mean == NUMBERS.mean()
        assert error == pytest.approx(stats.sem(NUMBERS, ddof=ddof))
        assert mean_with_error(NUMBERS, np.full(N, 3.0), ddof) == pytest.approx((mean, error))
    assert mean_with_error(NUMBERS[:1])[1] == np.inf
    assert mean_with_error(NUMBERS[:1], WEIGHTS[:1] + 1.0)[1] == np.inf


def test_weights_count():
    """A weighted mean of n numbers of one variance has that variance times sum w^2 / (sum w)^2."""
    weights = np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    values = np.array([1.0, -1.0, 2.0, 0.0, 9.0])
    mean, error = mean_with_error(values, weights)
    assert mean == pytest.approx((1.0 - 2.0 + 6.0) / 10.0)
    variance = (weights @ (values - mean) ** 2) / 10.0
    effective = 100.0 / 30.0
    assert error == pytest.approx(np.sqrt(variance / (effective - 1.0)))
    assert mean_with_error(values[:4], weights[:4]) == pytest.approx((mean, error))  # 0 is no row
    draws = np.random.default_rng(1).normal(size=(20_000, N))
    shares = WEIGHTS / WEIGHTS.sum()
    errors = [mean_with_error(row, WEIGHTS)[1] for row in draws[:200]]
    assert np.mean(errors) == pytest.approx((draws @ shares).std(), rel=0.03)


def test_the_paired_error_is_that_of_the_difference():
    """Var(a - b) = Var(a) + Var(b) - 2 Cov(a, b): what both find hard does not count."""
    hard = 10.0 * RNG.normal(size=N)
    first, second = hard + RNG.normal(size=N) + 0.5, hard + RNG.normal(size=N)
    difference, error = paired_difference(first, second)
    covariance = np.cov(first, second)
    closed = np.sqrt((covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]) / N)
    assert difference == pytest.approx(first.mean() - second.mean())
    assert error == pytest.approx(closed)
    assert error == pytest.approx(stats.ttest_rel(first, second).statistic ** -1 * difference)
    unpaired = np.hypot(mean_with_error(first)[1], mean_with_error(second)[1])
    assert error < unpaired / 5
    assert paired_difference(first, first, WEIGHTS) == (0.0, 0.0)


# --------------------------------------------------------------------------- one standard error
LOSSES = np.array([[3.0, 3.2], [1.2, 1.0], [0.8, 1.2], [1.0, 1.1]])  # means 3.1, 1.1, 1.0, 1.05


def test_the_first_of_a_path_within_the_limit():
    index, limit = one_standard_error_of_folds(LOSSES)
    assert limit == pytest.approx(1.0 + np.std([0.8, 1.2], ddof=1) / np.sqrt(2))
    assert index == 1
    assert one_standard_error_of_folds(LOSSES, se=0.0) == (2, pytest.approx(1.0))
    assert one_standard_error_of_folds(LOSSES[:, :1])[0] == 2  # one fold says nothing of an error


def test_the_sparsest_of_settings_and_of_equals_the_better():
    def chosen(sizes):
        return one_standard_error_of_folds(LOSSES, np.array(sizes))[0]

    assert chosen([1, 9, 7, 4]) == 3
    assert chosen([1, 4, 7, 4]) == 3
    assert chosen([1, 0, 7, 4]) == 3  # an empty one is none
    assert chosen([1, 0, 0, 4]) == 2


def test_an_empty_setting_where_it_is_allowed():
    means, sizes = np.array([1.1, 1.0]), np.array([0, 4])
    assert one_standard_error(means, 0.2, sizes)[0] == 1
    assert one_standard_error(means, 0.2, sizes, allow_empty=True) == (0, pytest.approx(1.2))
    assert one_standard_error(means, 0.2, sizes, 0.25, allow_empty=True)[0] == 1


# --------------------------------------------------------------------------- baseline
def known(y, classes, weights=None, parts=1):
    state = []
    for rows in np.array_split(np.arange(y.shape[0]), parts):
        update_baseline(state, y[rows], None if weights is None else weights[rows], classes)
    return state


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_baseline_is_that_of_scikit_learn(weights, parts):
    X = np.zeros((N, 1))
    peer = DummyClassifier(strategy="most_frequent").fit(X, CLASSES, weights)
    state = known(CLASSES, True, weights, parts)
    assert baseline_prediction(state, True, False) == peer.predict(X)[0]
    assert baseline_losses(state, CLASSES, True).mean() == pytest.approx(1 - peer.score(X, CLASSES))
    for y in (NUMBERS, np.c_[NUMBERS, NUMBERS**2]):
        peer = DummyRegressor().fit(X, y, weights)
        state = known(y, False, weights, parts)
        assert baseline_prediction(state, False, y.ndim > 1) == pytest.approx(peer.predict(X)[0])
        squares = ((peer.predict(X) - y) ** 2).reshape(N, -1).mean(axis=1)
        assert baseline_losses(state, y, False) == pytest.approx(squares)


def test_of_classes_equally_frequent_the_lowest_is_predicted():
    state = known(np.repeat(["apple", "pear"], [5, 3]), True, parts=2)  # the last say pear
    assert baseline_prediction(state, True, False) == "apple"
    state = known(np.array(["pear", "apple"]), True)
    assert baseline_losses(state, np.array(["apple", "pear"]), True).tolist() == [0.0, 1.0]
    assert np.isnan(baseline_losses([], np.ones(2), True)).all()


def test_labels_are_predicted_one_by_one():
    labels = (RNG.random((N, 3)) < [0.1, 0.4, 0.9]).astype(int)
    state = known(sp.csr_array(labels), True, parts=3)
    wrong = (labels != (labels.mean(axis=0) > 0.5)).mean(axis=1)
    assert np.array_equal(baseline_losses(state, labels, True), wrong)


# --------------------------------------------------------------------------- streams
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_sums_over_chunks_give_the_errors_of_all_rows(weights):
    losses, baseline = RNG.random(N), RNG.random(N) + 0.3
    sums = list(ZERO_SUMS)
    for rows in np.array_split(np.arange(N), 9):
        chunk = None if weights is None else weights[rows]
        add_losses(sums, losses[rows], baseline[rows], chunk)
    found = summarize_losses(sums)
    error, standard_error = mean_with_error(losses, weights)
    assert found["error"] == pytest.approx(error)
    assert found["standard_error"] == pytest.approx(standard_error)
    gain, gain_error = paired_difference(baseline, losses, weights)
    assert found["baseline_error"] - found["error"] == pytest.approx(gain)
    assert found["gain_error"] == pytest.approx(gain_error)
    assert found["judged"] == (N if weights is None else np.count_nonzero(weights))
    assert summarize_losses(list(ZERO_SUMS)) == {}
