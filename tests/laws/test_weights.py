"""Row weights multiply the gradient; a row of weight 0 changes nothing, not even the step count."""

import numpy as np
import pytest
import tiny
from registry import STREAMS
from sklearn.base import is_classifier
from tiny import one_pass, quiet

from tamis import FOBOSClassifier, OnlineClassifier, OnlineRegressor, TruncatedGradientClassifier

N = 40
X = tiny.matrix(N, 7)
W = tiny.weights(N)
HAS_WEIGHT = W > 0
SETTINGS = [
    {"average": True},
    {"penalty": "elasticnet", "alpha": 0.05, "average": True},
    {"optimizer": "dual_averaging"},
    {"optimizer": "adagrad"},
    {"optimizer": "ftrl", "penalty": "l2"},
    {"penalty": None, "loss": "hinge", "learning_rate": "pa1"},
]


def targets(model, multi_output):
    if is_classifier(model):
        return tiny.classes(N) if multi_output else (tiny.signs(X) > 0).astype(int)
    return tiny.numbers(X, 3 if multi_output else 1)


# --------------------------------------------------------------------------- nothing
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_rows_of_weight_0_are_exactly_nothing(cls, multi_output):
    y = targets(cls(), multi_output)
    model = quiet(one_pass(cls, max_iter=3).fit, X, y, sample_weight=W)
    without = quiet(
        one_pass(cls, max_iter=3).fit, X[HAS_WEIGHT], y[HAS_WEIGHT], sample_weight=W[HAS_WEIGHT]
    )
    tiny.assert_same(without, model, X)
    assert model.t_ == without.t_ == 3 * HAS_WEIGHT.sum()
    assert model.history_ == without.history_
    assert model.resolved_params_ == without.resolved_params_


@pytest.mark.parametrize("parameters", SETTINGS, ids=repr)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_rows_of_weight_0_under_every_setting(interpreted, parameters, multi_output):
    y = targets(OnlineClassifier(), multi_output)
    model = quiet(one_pass(OnlineClassifier, **parameters).fit, X, y, sample_weight=W)
    tiny.assert_same(
        quiet(
            one_pass(OnlineClassifier, **parameters).fit,
            X[HAS_WEIGHT],
            y[HAS_WEIGHT],
            sample_weight=W[HAS_WEIGHT],
        ),
        model,
        X,
    )


@pytest.mark.parametrize("multi_output", [False, True], ids=["two", "three"])
def test_rows_of_weight_0_do_not_count_as_rows_of_their_class(interpreted, multi_output):
    y = targets(FOBOSClassifier(), multi_output)
    options = {"class_weight": "balanced"}
    streamed = quiet(
        FOBOSClassifier(**options).partial_fit, X, y, classes=np.unique(y), sample_weight=W
    )
    without = quiet(
        FOBOSClassifier(**options).partial_fit,
        X[HAS_WEIGHT],
        y[HAS_WEIGHT],
        classes=np.unique(y),
        sample_weight=W[HAS_WEIGHT],
    )
    tiny.assert_same(without, streamed, X)
    fitted = quiet(one_pass(FOBOSClassifier, **options).fit, X, y, sample_weight=W)
    tiny.assert_same(
        quiet(
            one_pass(FOBOSClassifier, **options).fit,
            X[HAS_WEIGHT],
            y[HAS_WEIGHT],
            sample_weight=W[HAS_WEIGHT],
        ),
        fitted,
        X,
    )


def test_a_whole_chunk_of_weight_0_is_nothing(interpreted):
    y = targets(FOBOSClassifier(), False)
    model = quiet(FOBOSClassifier().partial_fit, X, y, classes=[0, 1])
    again = quiet(FOBOSClassifier().partial_fit, X[:20], y[:20], classes=[0, 1])
    before = (again._solver_state.lazy, again._solver_state.stats)
    quiet(again.partial_fit, X[20:], y[20:], sample_weight=np.zeros(20))
    assert (again._solver_state.lazy, again._solver_state.stats) == before
    quiet(again.partial_fit, X[20:], y[20:])
    tiny.assert_same(model, again, X)


# --------------------------------------------------------------------------- something
@pytest.mark.parametrize("cls", STREAMS)
def test_unit_weights_are_no_weights(cls):
    y = targets(cls(), False)
    plain = quiet(one_pass(cls).fit, X, y)
    for ones in (np.ones(N), np.ones(N, dtype=np.int32), [1.0] * N, 1.0):
        tiny.assert_same(plain, quiet(one_pass(cls).fit, X, y, sample_weight=ones), X)


def test_a_weight_multiplies_the_slope(interpreted):
    """One row, plain SGD: the weights move by weight * eta * slope * x, and the intercept by weight
    * eta * slope.
    """
    row, y = np.array([[1.0, -2.0, 0.0]]), [1.5]
    for weight in (0.5, 1.0, 3.0):
        model = OnlineRegressor(penalty=None, learning_rate="constant", eta=0.1).partial_fit(
            row, y, sample_weight=[weight]
        )
        assert model.coef_ == pytest.approx(weight * 0.1 * 1.5 * row[0])
        assert model.intercept_ == pytest.approx(weight * 0.1 * 1.5)


def test_a_weight_does_not_multiply_the_penalty_or_the_clock(interpreted):
    row = np.array([[1.0, -2.0, 0.0]])
    model = OnlineRegressor(
        penalty="l1", alpha=0.2, learning_rate="constant", eta=0.1, fit_intercept=False
    )
    model.partial_fit(row, [1.5], sample_weight=[3.0])
    assert model.coef_ == pytest.approx([0.45 - 0.02, -0.9 + 0.02, 0.0])
    assert model.t_ == 1


def test_an_integer_weight_is_one_step_of_that_many_slopes(interpreted):
    """Not that many steps: this is why scikit-learn's weight-equivalence checks are expected to
    fail.
    """
    y = targets(OnlineClassifier(), False)
    plain = {"penalty": None, "learning_rate": "constant", "eta": 0.1, "loss": "squared_error"}
    weighed = quiet(one_pass(OnlineClassifier, **plain).fit, X, y, sample_weight=np.full(N, 2))
    longer = quiet(one_pass(OnlineClassifier, **{**plain, "eta": 0.2}).fit, X, y)
    assert weighed.coef_ == pytest.approx(longer.coef_, rel=1e-12)
    repeated = quiet(
        one_pass(OnlineClassifier, **plain).fit, np.repeat(X, 2, axis=0), np.repeat(y, 2)
    )
    assert abs(weighed.coef_ - repeated.coef_).max() > 1e-4


def test_class_weights_multiply_the_row_weights(interpreted):
    y = targets(FOBOSClassifier(), True)
    factors = {0: 0.5, 2: 4.0}
    model = quiet(one_pass(FOBOSClassifier, class_weight=factors).fit, X, y, sample_weight=W)
    by_hand = W * np.array([factors.get(c, 1.0) for c in y])
    tiny.assert_same(quiet(one_pass(FOBOSClassifier).fit, X, y, sample_weight=by_hand), model, X)
    streamed = quiet(
        FOBOSClassifier(class_weight=factors).partial_fit, X, y, classes=[0, 1, 2], sample_weight=W
    )
    tiny.assert_same(model, streamed, X)


def test_balanced_fit_uses_the_counts_of_the_whole_y(interpreted):
    y = (np.arange(N) % 4 == 0).astype(int)
    model = quiet(one_pass(FOBOSClassifier, class_weight="balanced").fit, X, y)
    by_hand = np.where(y == 1, N / (2 * 10), N / (2 * 30))
    tiny.assert_same(quiet(one_pass(FOBOSClassifier).fit, X, y, sample_weight=by_hand), model, X)


def test_class_weights_name_known_classes():
    y = targets(FOBOSClassifier(), False)
    with pytest.raises(ValueError, match=r"class_weight names \[7\]"):
        FOBOSClassifier(class_weight={7: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight .*labels"):
        FOBOSClassifier(class_weight="balanced").fit(X, np.c_[y, 1 - y])


# --------------------------------------------------------------------------- bad weights
@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.full(N, -1.0), "sample_weight .*-1 at row 0"),
        (np.r_[np.ones(N - 1), np.nan], "sample_weight.*NaN"),
        (np.r_[np.ones(N - 1), np.inf], "sample_weight.*infinity"),
        (np.ones(N - 1), r"sample_weight.shape == \(39,\), expected \(40,\)"),
        (np.ones((N, 2)), "Sample weights must be 1D"),
        (np.zeros(N), "at least one non-zero"),
    ],
)
def test_bad_weights_are_refused(weights, reason):
    with pytest.raises(ValueError, match=reason):
        TruncatedGradientClassifier().fit(
            X, targets(FOBOSClassifier(), False), sample_weight=weights
        )
