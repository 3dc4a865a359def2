"""The whole use of the robust models: worst-case scores, classes, files, errors, and the gain by
robustness.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import tamis
from tamis import RobustRegressor, RobustSVC

RNG = np.random.default_rng(0)
N, D = 90, 6
X = RNG.normal(size=(N, D))
Y = np.where(X[:, 0] + 0.7 * X[:, 1] + 0.4 * RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [-0.5, 0.5])
T = X @ RNG.normal(size=D) + 0.3 * RNG.normal(size=N)
RADII = {
    "l1": 0.3,
    "l2": 0.2,
    "linf": 0.1,
    "ellipsoid": 0.2,
    "deletion": 1,
    "labels": 4,
    "spectral": 0.8,
}


def attacks(kind, radius, model, rows, truth, rng, tries=300):
    """Yield rows with random errors of the largest size in the set, and with those along the
    weights, which are the worst ones.
    """
    directions = [
        *(model.coef_ if len(model.coef_) == 1 else np.diff(model.coef_[[0, 1, 2, 0]], axis=0)),
        *rng.normal(size=(tries, D)),
    ]
    for direction in directions:
        for sign in (1.0, -1.0):
            v = sign * direction
            if kind == "l2":
                yield rows + radius * v / np.linalg.norm(v)
            elif kind == "linf":
                yield rows + radius * np.sign(v)
            elif kind == "l1":
                yield rows + radius * np.sign(v) * (np.abs(v) == np.abs(v).max())
            elif kind == "ellipsoid":
                yield rows + radius * X.var(axis=0) * v / np.sqrt(v**2 @ X.var(axis=0))
            else:
                attacked = rows.copy()
                attacked[np.arange(len(rows)), rng.integers(0, D, len(rows)) if tries else 0] = 0.0
                yield attacked


@pytest.mark.parametrize("kind", ["l1", "l2", "linf", "ellipsoid", "deletion"])
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_no_attack_beats_the_worst_case(kind, y):
    model = RobustSVC(kind, radius=RADII[kind]).fit(X, y)
    worst, rng = model.score(X, y, worst_case=True), np.random.default_rng(1)
    is_correct = np.ones(N, dtype=bool)
    for attacked in attacks(kind, RADII[kind], model, X, y, rng):
        is_correct &= model.predict(attacked) == y
    assert worst <= is_correct.mean() + 1e-12
    if kind != "deletion":
        # Errors along the weights are among them.
        assert worst == pytest.approx(is_correct.mean(), abs=1e-12)
    else:
        for j in range(D):
            deleted = X.copy()
            deleted[:, j] = 0.0
            is_correct &= model.predict(deleted) == y
        assert worst == pytest.approx(is_correct.mean(), abs=1e-12)


def test_the_worst_case_of_labels_and_of_spectral_errors():
    model = RobustSVC("labels", radius=4).fit(X, Y)
    assert model.score(X, Y, worst_case=True) == pytest.approx(model.score(X, Y) - 4 / N)
    model = RobustSVC("spectral", radius=0.8).fit(X, Y)
    margins = np.where(Y == "yes", 1, -1) * model.decision_function(X)
    costs = np.sort(margins[margins > 0] ** 2).cumsum()
    flipped = np.count_nonzero(costs <= (0.8 * np.linalg.norm(model.coef_)) ** 2)
    assert flipped > 0
    assert model.score(X, Y, worst_case=True) == pytest.approx(model.score(X, Y) - flipped / N)
    assert RobustSVC("spectral", radius=0.8).fit(X, THREE).score(X, THREE, worst_case=True) < 1.0


@pytest.mark.parametrize("kind", RADII)
def test_the_worst_case_falls_with_the_radius(kind):
    model = RobustSVC(kind, radius=RADII[kind]).fit(X, Y)
    scores = [
        model.score(X, Y, worst_case=True, radius=factor * RADII[kind]) for factor in (0, 1, 2)
    ]
    assert scores[0] == model.score(X, Y)
    assert scores[0] >= scores[1] >= scores[2]
    weights = RNG.integers(1, 4, N)
    repetition = np.repeat(np.arange(N), weights)
    if kind != "spectral":
        assert model.score(X, Y, sample_weight=weights, worst_case=True) == pytest.approx(
            model.score(X[repetition], Y[repetition], worst_case=True)
        )


@pytest.mark.parametrize("kind", [kind for kind in RADII if kind != "labels"])
def test_the_worst_case_of_a_regression(kind):
    model = RobustRegressor(kind, radius=RADII[kind]).fit(X, T)
    nominal, worst = model.score(X, T), model.score(X, T, worst_case=True)
    assert worst < nominal
    assert model.score(X, T, worst_case=True, radius=0) == pytest.approx(nominal)
    total_squares = ((T - T.mean()) ** 2).sum()
    residuals = T - model.predict(X)
    if kind == "spectral":
        assert worst == pytest.approx(
            1.0
            - (np.linalg.norm(residuals) + 0.8 * np.linalg.norm(model.coef_)) ** 2 / total_squares
        )
    if kind == "linf":
        assert worst == pytest.approx(
            1.0 - ((np.abs(residuals) + 0.1 * np.abs(model.coef_).sum()) ** 2).sum() / total_squares
        )


def test_a_deletion_robust_model_is_more_accurate_in_the_worst_case():
    """Digits with deleted pixels: the weights of the plain model depend on few pixels."""
    rows, y = load_digits(return_X_y=True)
    rows, y = rows[(y == 4) | (y == 7)] / 16.0, y[(y == 4) | (y == 7)]
    train, test = slice(0, None, 2), slice(1, None, 2)
    plain = RobustSVC("deletion", radius=0, tol=1e-3).fit(rows[train], y[train])
    robust = RobustSVC("deletion", radius=5, tol=1e-3).fit(rows[train], y[train])
    worst = [
        model.score(rows[test], y[test], worst_case=True, radius=5) for model in (plain, robust)
    ]
    assert worst[1] > worst[0] + 0.5
    assert robust.score(rows[test], y[test]) > 0.95
    assert robust.score(rows[test], y[test], worst_case=True) == worst[1]


# --------------------------------------------------------------------------- targets
@pytest.mark.parametrize("kind", RADII)
def test_several_classes_are_one_vs_rest(kind):
    model = RobustSVC(kind, radius=RADII[kind]).fit(X, THREE)
    assert model.coef_.shape == (3, D)
    binary = RobustSVC(kind, radius=RADII[kind]).fit(X, THREE == 1)
    assert np.array_equal(binary.coef_[0], model.coef_[1])
    labels = RobustSVC(kind, radius=RADII[kind]).fit(X, np.eye(3, dtype=int)[THREE])
    assert np.array_equal(labels.coef_, model.coef_)
    assert labels.score(X, np.eye(3, dtype=int)[THREE], worst_case=True) <= labels.score(
        X, np.eye(3, dtype=int)[THREE]
    )


def test_several_targets_are_separate():
    both = RobustRegressor("l2").fit(X, np.c_[T, X[:, 0]])
    assert both.coef_.shape == (2, D)
    assert np.array_equal(both.coef_[0], RobustRegressor("l2").fit(X, T).coef_)
    assert both.predict(X).shape == (N, 2)
    worst = both.score(X, np.c_[T, X[:, 0]], worst_case=True)
    assert worst == pytest.approx(
        np.mean(
            [RobustRegressor("l2").fit(X, t).score(X, t, worst_case=True) for t in (T, X[:, 0])]
        )
    )


def test_balanced_classes_and_columns_with_names():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = RobustSVC("linf", radius=0.05, class_weight="balanced").fit(frame, Y)
    counts = np.where(Y == "yes", N / (2 * np.sum(Y == "yes")), N / (2 * np.sum(Y == "no")))
    assert model.objective_ == pytest.approx(
        RobustSVC("linf", radius=0.05).fit(X, Y, sample_weight=counts).objective_, rel=1e-6
    )
    assert model.feature_names_in_.tolist() == list("abcdef")


def test_the_default_ellipsoid_is_that_of_the_columns():
    for form in (np.asarray, sp.csr_array):
        model = RobustSVC("ellipsoid", radius=0.3, tol=1e-7).fit(form(X), Y)
        assert np.allclose(
            model.coef_,
            RobustSVC("ellipsoid", radius=0.3, ellipsoid=X.var(axis=0), tol=1e-7).fit(X, Y).coef_,
            atol=1e-3,
        )


# -------------------------------------------------------------------------- files, searches, errors
@pytest.mark.parametrize("kind", RADII)
def test_files_and_repetition(kind, tmp_path):
    model = RobustSVC(kind, radius=RADII[kind]).fit(X, Y)
    tamis.save(model, tmp_path / "model.tamis")
    loaded = tamis.load(tmp_path / "model.tamis")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.score(X, Y, worst_case=True) == model.score(X, Y, worst_case=True)
    assert np.array_equal(RobustSVC(kind, radius=RADII[kind]).fit(X, Y).coef_, model.coef_)


def test_the_radius_can_be_searched():
    search = GridSearchCV(
        RobustSVC("linf"),
        {"radius": [0.0, 0.05]},
        scoring=lambda model, X, y: model.score(X, y, worst_case=True, radius=0.05),
        cv=3,
    )
    assert search.fit(X, Y).best_params_["radius"] in (0.0, 0.05)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"uncertainty": "deletion", "radius": 0.5}, "takes a number of features as radius"),
        ({"uncertainty": "labels", "radius": 1.5}, "takes a number of rows as radius"),
        ({"uncertainty": "l3"}, "'uncertainty' parameter"),
        ({"radius": -1.0}, "'radius' parameter"),
        ({"ellipsoid": np.ones(D)}, "ellipsoid is for uncertainty='ellipsoid'"),
        ({"uncertainty": "ellipsoid", "ellipsoid": np.ones(D + 1)}, "ellipsoid has shape"),
        ({"uncertainty": "ellipsoid", "ellipsoid": -np.eye(D)}, "no eigenvalue below 0"),
        ({"uncertainty": "spectral", "class_weight": {"yes": 1.5}}, "whole numbers as weights"),
    ],
)
def test_bad_parameters_raise(params, reason):
    with pytest.raises(ValueError, match=reason):
        RobustSVC(**params).fit(X, Y)


def test_other_errors_and_warnings():
    model = RobustSVC().fit(X, Y)
    with pytest.raises(ValueError, match="radius is for worst_case=True"):
        model.score(X, Y, radius=1.0)
    with pytest.raises(ValueError, match="radius must be a number"):
        model.score(X, Y, worst_case=True, radius=-1.0)
    with pytest.raises(ValueError, match="'uncertainty' parameter"):
        RobustRegressor("labels").fit(X, T)
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="used all 3 planes"):
        RobustSVC(max_iter=3).fit(X, Y)


def test_numbers_that_overflow_are_refused(unlimited):
    with pytest.raises(FloatingPointError, match="Scale the columns"):
        RobustSVC().fit(X * 1e200, Y)


def test_loops_without_compilation(interpreted):
    from tamis import ThresholdedClassifier

    rows, y = X[:12], Y[:12]
    for model in (
        RobustSVC("deletion", radius=1, tol=0.3),
        ThresholdedClassifier(alpha=0.05, threshold=0.3),
    ):
        coef = model.fit(rows, y).coef_.copy()
        assert np.isfinite(coef).all()
