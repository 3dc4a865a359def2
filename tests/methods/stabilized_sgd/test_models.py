"""The four estimators: scikit-learn's checks, several classes and targets, weights, tuning."""

import numpy as np
import pytest
import tiny
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tiny import quiet

import tamis
from tamis import (
    StabilizedSGDClassifier,
    StabilizedSGDClassifierCV,
    StabilizedSGDRegressor,
    StabilizedSGDRegressorCV,
)
from tamis.testing import expected_failed_checks

X = tiny.matrix(90, 10)
Y, THREE = (tiny.signs(X) > 0).astype(int), tiny.classes(90)
SMALL = {"n_paths": 3, "max_iter": 3, "random_state": 0}
GRIDS = {
    "eta_factors": (1.0,),
    "burn_ins": (1.0,),
    "rejections": (0.5, 0.9),
    "purges": (0.5, 0.9),
    "cv": 3,
}
FEW = {**GRIDS, "rejections": (0.5,), "cv": 2}
MODELS = [
    StabilizedSGDClassifier(),
    StabilizedSGDRegressor(),
    StabilizedSGDClassifierCV(**FEW),
    StabilizedSGDRegressorCV(**FEW),
]


@parametrize_with_checks(MODELS, expected_failed_checks=expected_failed_checks)
@pytest.mark.filterwarnings("ignore")
def test_common_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_parameter_is_described():
    for model in MODELS:
        for name in model.get_params():
            assert f"\n    {name} : " in type(model).__doc__, (type(model).__name__, name)


# --------------------------------------------------------------------------- outputs
def test_each_class_is_a_binary_model():
    multiclass = quiet(StabilizedSGDClassifier(**SMALL).fit, X, THREE)
    for c in range(3):
        single = quiet(StabilizedSGDClassifier(**SMALL).fit, X, c == THREE)
        assert np.array_equal(multiclass.coef_[c], single.coef_[0])
        assert np.array_equal(
            multiclass.selection_probability_[c], single.selection_probability_[0]
        )
        assert np.array_equal(multiclass.paths_[:, c], single.paths_[:, 0])
        assert multiclass.intercept_[c] == single.intercept_[0]
    assert multiclass.coef_.shape == multiclass.selection_probability_.shape == (3, 10)
    assert np.array_equal(multiclass.predict(X), multiclass.decision_function(X).argmax(axis=1))
    assert {h["output"] for h in multiclass.history_} == {0, 1, 2}


def test_labels_and_several_targets():
    labels = np.c_[Y, THREE > 0]
    model = quiet(StabilizedSGDClassifier(**SMALL).fit, X, labels)
    assert np.array_equal(
        model.coef_[0], quiet(StabilizedSGDClassifier(**SMALL).fit, X, Y).coef_[0]
    )
    assert model.predict(X).shape == (90, 2)
    targets = tiny.numbers(X, 2)
    model = quiet(StabilizedSGDRegressor(**SMALL).fit, X, targets)
    single = quiet(StabilizedSGDRegressor(**SMALL).fit, X, targets[:, 1])
    assert np.array_equal(model.coef_[1], single.coef_)
    assert single.coef_.shape == single.selection_probability_.shape == (10,)


def test_class_weights_are_row_weights():
    weights = np.where(Y, 3.0, 0.5)
    a = quiet(StabilizedSGDClassifier(**SMALL, class_weight={0: 0.5, 1: 3.0}).fit, X, Y)
    b = quiet(StabilizedSGDClassifier(**SMALL).fit, X, Y, sample_weight=weights)
    assert np.array_equal(a.coef_, b.coef_)
    c = quiet(StabilizedSGDClassifier(**SMALL, class_weight="balanced").fit, X, Y)
    d = quiet(
        StabilizedSGDClassifier(**SMALL).fit, X, Y, sample_weight=90 / (2 * np.bincount(Y))[Y]
    )
    assert np.array_equal(c.coef_, d.coef_)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "epsilon_insensitive"])
def test_regression_finds_the_planted_weights(loss):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 100))
    y = 3 * rows[:, 0] - 2 * rows[:, 1] + 0.1 * rng.normal(size=500) + 1.0
    model = quiet(StabilizedSGDRegressor(loss=loss, random_state=0).fit, rows, y)
    assert model.coef_[:2] == pytest.approx([3.0, -2.0], abs=0.3)
    assert model.intercept_[0] == pytest.approx(1.0, abs=0.3)
    assert len(model.support_) < 60


def test_losses_of_margins_are_refused_by_the_regressor():
    with pytest.raises(ValueError, match="loss of classes"):
        StabilizedSGDRegressor(loss="hinge").fit(X, tiny.numbers(X))


def test_too_long_steps_raise_an_error():
    with pytest.raises(FloatingPointError, match="steps are too long"), np.errstate(all="ignore"):
        StabilizedSGDRegressor(eta=1e3, max_iter=50, tol=None).fit(X, tiny.numbers(X))


def test_tol_ends_a_fit_that_has_converged():
    """With the hinge on separable rows, nothing changes once all rows are beyond the margin."""
    rows = np.vstack([np.eye(4), -np.eye(4)] * 10)
    y = np.tile(np.r_[np.ones(4), -np.ones(4)], 10)
    model = quiet(StabilizedSGDClassifier(loss="hinge", max_iter=50, random_state=0).fit, rows, y)
    assert model.n_iter_ < 20
    assert (
        quiet(
            StabilizedSGDClassifier(loss="hinge", max_iter=30, tol=None, random_state=0).fit,
            rows,
            y,
        ).n_iter_
        == 30
    )


# --------------------------------------------------------------------------- tuning
def test_the_sparsest_setting_within_a_standard_error_is_chosen():
    model = quiet(StabilizedSGDClassifierCV(**GRIDS, **SMALL).fit, X, Y)
    results = model.cv_results_
    mean_losses, n_features = results["mean_test_loss"], results["mean_kept"]
    lowest = mean_losses.argmin()
    limit = mean_losses[lowest] + results["split_test_loss"][lowest].std(ddof=1) / np.sqrt(3)
    assert results["limit"] == pytest.approx(limit)
    allowed = np.flatnonzero((mean_losses <= limit) & (n_features > 0))
    assert n_features[model.best_index_] == n_features[allowed].min()
    assert model.best_params_ == results["params"][model.best_index_]
    params = {name: value for name, value in model.best_params_.items() if name != "eta_factor"}
    assert np.array_equal(
        model.coef_, quiet(StabilizedSGDClassifier(**SMALL, **params).fit, X, Y).coef_
    )
    exact = quiet(clone(model).set_params(se=0.0).fit, X, Y)
    assert exact.cv_results_["mean_test_loss"][exact.best_index_] == mean_losses.min()


def test_tuning_does_not_depend_on_jobs_and_survives_saving(tmp_path):
    model = quiet(
        StabilizedSGDClassifierCV(**GRIDS, **SMALL).fit, X, THREE, sample_weight=tiny.weights(90)
    )
    other = quiet(
        StabilizedSGDClassifierCV(**GRIDS, **SMALL, n_jobs=2).fit,
        X,
        THREE,
        sample_weight=tiny.weights(90),
    )
    assert np.array_equal(model.coef_, other.coef_)
    tamis.save(model, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    assert again.best_params_ == model.best_params_
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_tuning_ignores_rows_of_weight_0(numbers):
    cls = StabilizedSGDRegressorCV if numbers else StabilizedSGDClassifierCV
    y, weights = tiny.numbers(X) if numbers else THREE, tiny.weights(90)
    is_positive = weights > 0.0
    model = quiet(cls(**GRIDS, **SMALL).fit, X, y, sample_weight=weights)
    other = quiet(
        cls(**GRIDS, **SMALL).fit,
        X[is_positive],
        y[is_positive],
        sample_weight=weights[is_positive],
    )
    losses = [single.cv_results_["split_test_loss"] for single in (model, other)]
    assert not is_positive.all()
    assert np.array_equal(*losses)
    assert np.array_equal(model.coef_, other.coef_)


def test_tuning_a_regressor():
    model = quiet(StabilizedSGDRegressorCV(**GRIDS, **SMALL).fit, X, tiny.numbers(X))
    assert model.score(X, tiny.numbers(X)) > 0.5
    assert set(model.best_params_) == {"eta_factor", "burn_in", "rejection", "purge"}
