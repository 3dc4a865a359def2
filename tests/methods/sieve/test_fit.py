"""Fits of the sieve: invariances, weights, outputs, selection, files, threads, poor data."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from methods.sieve import reference_pass
from sklearn.base import clone
from sklearn.metrics import r2_score

from tamis import SieveClassifier, SieveRegressor, load, save
from tamis.base.validation import csr_from_matrix
from tamis.methods.sieve.fit import fit_in_memory
from tamis.methods.sieve.paths import Objective
from tamis.methods.sieve.settings import SieveOptions
from tamis.methods.sieve.table.standard_units import (
    Sample,
    class_units,
    content_order,
    standardize_table,
)
from tamis.numerics.hashing import row_hashes
from tamis.terms import Huber, Logistic

pytestmark = pytest.mark.quick

X, Y = reference_pass.make_text()
THREE = (X.toarray()[:, :3].argmax(axis=1)).astype(int)
NUMBERS = (
    X.toarray()[:, :5] @ [3.0, -2.0, 1.0, 0.0, 0.5]
    + 7.0
    + 0.1 * np.random.default_rng(0).normal(size=300)
)


def attributes(model, X=X):
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return np.concatenate(
        [np.ravel(v) for v in (model.coef_, model.intercept_, model.selection_probability_, scores)]
    )


def same(a, b):
    return np.array_equal(attributes(a), attributes(b))


def fit_with_fixed_folds(X, y=Y, folds=None, seed=0):
    """Return scores, size and support of a fit with folds by row number."""
    rows, targets = csr_from_matrix(sp.csr_array(X)), np.where(y > 0, 1.0, -1.0)[:, None]
    table, columns = standardize_table(rows, targets, np.zeros(0), np.arange(rows.n_rows), 1, True)
    folds = np.stack([(np.arange(rows.n_rows) + k * k) // (k + 1) % 5 for k in range(3)])
    sample = Sample(table, columns, class_units(1), folds)
    options = SieveOptions(None, 1.0, None, None, 5, 0.0, True, False, seed, 1)
    result = fit_in_memory(sample, Objective(Logistic(), 0.0, 1.0), options)
    scores = X[:, result.columns] @ result.weights[:, 0] + result.bias[0]
    return scores, result.resolved["n_features"], result.columns


# --------------------------------------------------------------------------- invariances
def test_a_fit_selects_few_features_and_predicts():
    model = SieveClassifier(random_state=0).fit(X, Y)
    assert model.score(*reference_pass.make_text(seed=0, n=300)) > 0.75
    assert 1 <= len(model.support_) <= model.resolved_params_["n_features"] < 60


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(300)
    a, b = (SieveClassifier(random_state=0).fit(X[o], Y[o]) for o in (np.arange(300), order))
    assert same(a, b)


def test_swapped_classes_negate_the_model_and_equal_seeds_repeat_it():
    a, b, c = (SieveClassifier(random_state=s).fit(X, y) for s, y in ((0, Y), (0, 1 - Y), (0, Y)))
    assert np.array_equal(a.coef_, -b.coef_)
    assert np.array_equal(a.decision_function(X), -b.decision_function(X))
    assert same(a, c)


def test_setting_and_size_do_not_depend_on_the_seed():
    models = [SieveClassifier(random_state=s).fit(X, Y) for s in range(3)]
    assert (
        len({(m.resolved_params_["base"], m.resolved_params_["n_features"]) for m in models}) == 1
    )
    assert not np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("kind", ["powers", "any"])
def test_scales_of_columns_do_not_matter(kind):
    rng = np.random.default_rng(0)
    scale = (
        2.0 ** rng.integers(-20, 20, X.shape[1])
        if kind == "powers"
        else np.exp(5 * rng.normal(size=X.shape[1]))
    )
    scores, size, support = fit_with_fixed_folds(X)
    again, size_again, support_again = fit_with_fixed_folds(sp.csr_array(X @ sp.diags_array(scale)))
    assert size == size_again
    assert np.array_equal(support, support_again)
    assert again == pytest.approx(scores, rel=1e-9, abs=1e-12)


def test_columns_may_be_permuted():
    order = np.random.default_rng(0).permutation(X.shape[1])
    scores, size, support = fit_with_fixed_folds(X)
    again, size_again, support_again = fit_with_fixed_folds(sp.csr_array(X[:, order]))
    assert size == size_again
    assert np.array_equal(np.sort(order[support_again]), support)
    assert again == pytest.approx(scores, rel=1e-9, abs=1e-12)


def test_never_seen_columns_and_stored_zeros_change_nothing():
    model = SieveClassifier(random_state=0).fit(X, Y)
    wide = sp.csr_array(sp.hstack([X, sp.csr_array((300, 50))]))
    assert np.array_equal(SieveClassifier(random_state=0).fit(wide, Y).coef_[:, :200], model.coef_)
    rows = X.tocoo()
    zeros = sp.csr_array(
        (np.r_[rows.data, 0.0, 0.0], (np.r_[rows.row, 0, 1], np.r_[rows.col, 199, 198])),
        shape=X.shape,
    )
    assert same(SieveClassifier(random_state=0).fit(zeros, Y), model)
    assert same(SieveClassifier(random_state=0).fit(X.toarray(), Y), model)


@pytest.mark.parametrize("factor", [1e-6, 1000.0])
def test_the_scale_of_the_targets_does_not_matter(factor):
    a = SieveRegressor(random_state=0).fit(X, NUMBERS)
    b = SieveRegressor(random_state=0).fit(X, factor * (NUMBERS + 3.0))
    assert np.array_equal(a.support_, b.support_)
    assert b.coef_ / factor == pytest.approx(a.coef_, rel=1e-6, abs=1e-9)
    assert b.intercept_ / factor == pytest.approx(a.intercept_ + 3.0, rel=1e-6)


# --------------------------------------------------------------------------- weights
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}])
def test_a_row_of_weight_0_changes_nothing(options):
    weights = (np.random.default_rng(0).random(300) < 0.7) * 1.0
    is_positive = weights > 0
    a = SieveClassifier(random_state=0, **options).fit(X, Y, sample_weight=weights)
    assert same(
        a,
        SieveClassifier(random_state=0, **options).fit(
            X[is_positive], Y[is_positive], sample_weight=weights[is_positive]
        ),
    )
    r = SieveRegressor(random_state=0).fit(X, NUMBERS, sample_weight=weights)
    assert same(
        r,
        SieveRegressor(random_state=0).fit(
            X[is_positive], NUMBERS[is_positive], sample_weight=weights[is_positive]
        ),
    )


def test_the_scale_of_the_weights_does_not_matter():
    weights = np.random.default_rng(0).random(300) + 0.5
    a, b = (
        SieveClassifier(random_state=0).fit(X, Y, sample_weight=f * weights) for f in (1.0, 4.0)
    )
    assert same(a, b)
    assert same(
        SieveClassifier(random_state=0).fit(X, Y),
        SieveClassifier(random_state=0).fit(X, Y, sample_weight=np.full(300, 8.0)),
    )


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_the_aggressive_step_depends_on_the_fraction_of_the_rarer_class():
    rare = (X.toarray()[:, 0] >= 3).astype(int)
    assert rare.mean() < 0.2
    steps = {"conservative": 0.5, "aggressive": 2.0 / (4 * rare.mean() * (1 - rare.mean()))}
    chosen = SieveClassifier(random_state=0).fit(X, rare).resolved_params_
    assert chosen["step"][0] == pytest.approx(steps[chosen["base"]])
    even = SieveClassifier(random_state=0, class_weight="balanced").fit(X, rare)
    assert even.resolved_params_["step"][0] == pytest.approx(
        {"conservative": 0.5, "aggressive": 2.0}[even.resolved_params_["base"]]
    )


# ------------------------------------------------------------------------ sizes, outputs, selection
@pytest.mark.parametrize(("requested", "size"), [(1, 1), (3, 3), (10, 10), (0.1, 20), (1000, 200)])
def test_a_requested_number_of_features(requested, size):
    model = SieveClassifier(n_features_to_select=requested, random_state=0).fit(X, Y)
    assert model.resolved_params_["n_features"] == size
    assert len(model.support_) <= size


def test_more_standard_errors_select_fewer_features():
    sizes = [
        SieveClassifier(se=se, random_state=0).fit(X, Y).resolved_params_["n_features"]
        for se in (0.0, 1.0, 3.0)
    ]
    assert sizes[0] >= sizes[1] >= sizes[2] >= 1


def test_sizes_and_history():
    model = SieveClassifier(random_state=0).fit(X, Y)
    sizes, chosen = model.sizes_, model.resolved_params_
    assert list(sizes) == ["size", "error", "standard_error", "soft_error"]
    assert len({len(column) for column in sizes.values()}) == 1
    assert sizes["size"][-1] == 0
    assert ((sizes["soft_error"] > 0) & (sizes["soft_error"] < 1)).all()
    assert sizes["error"][-1] == model.baseline_error_
    assert chosen["threshold"] >= sizes["soft_error"].min()
    assert model.history_[-1]["n_features"] == chosen["n_features"]
    assert [h["n_features"] for h in model.history_[:-1]] == sizes["size"][
        : chosen["level"] + 1
    ].tolist()
    assert model.n_iter_ == 5 + chosen["level"] + 3


def test_selection_probabilities():
    model = SieveClassifier(random_state=0).fit(X, Y)
    frequency = model.selection_probability_
    assert frequency.shape == model.coef_.shape
    n_fits = 5 * model.resolved_params_["n_splits"]
    assert set(np.unique(frequency * n_fits).round(9)) <= set(range(n_fits + 1))
    assert frequency[0, model.support_].mean() > 0.7


def test_selection_probabilities_are_those_of_the_chosen_size_and_not_of_its_level():
    model = SieveClassifier(n_features_to_select=9, random_state=0).fit(X, Y)
    assert 9 not in model.sizes_["size"]
    assert model.selection_probability_.sum() == pytest.approx(9.0)


def test_the_final_phase_has_a_weaker_penalty():
    model = SieveClassifier(n_features_to_select=9, strength=0.1, random_state=0).fit(X, Y)
    assert model.resolved_params_["base"] == "conservative"
    assert model.history_[-1]["strength"] == pytest.approx(0.3 * 0.1 * np.sqrt(9 / 300))


def test_it_is_a_selector():
    import pandas as pd

    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(200)])
    model = SieveClassifier(random_state=0).fit(frame, Y)
    assert model.transform(frame).shape == (300, len(model.support_))
    assert np.array_equal(np.flatnonzero(model.get_support()), model.support_)
    assert model.get_feature_names_out().tolist() == [f"word {j}" for j in model.support_]
    assert np.array_equal(
        clone(model).fit_transform(X, Y).toarray(), X.toarray()[:, model.support_]
    )


@pytest.mark.parametrize("per_class", [False, True])
def test_several_classes(per_class):
    model = SieveClassifier(per_class=per_class, random_state=0).fit(X, THREE)
    assert model.coef_.shape == model.selection_probability_.shape == (3, 200)
    assert model.score(X, THREE) > 0.85
    if per_class:
        for c in range(3):
            alone = SieveClassifier(random_state=0).fit(X, c == THREE)
            assert np.array_equal(model.coef_[c] != 0, alone.coef_[0] != 0)
            assert model.coef_[c] == pytest.approx(alone.coef_[0])
    else:
        assert np.array_equal(model.selection_probability_[0], model.selection_probability_[1])


def test_labels_and_several_targets():
    labels = np.c_[Y, THREE == 0]
    model = SieveClassifier(random_state=0).fit(X, labels)
    assert (model.predict(X) == labels).mean() > 0.85
    both = SieveRegressor(random_state=0).fit(X, np.c_[NUMBERS, -2 * NUMBERS])
    assert r2_score(NUMBERS, both.predict(X)[:, 0]) > 0.95
    assert both.coef_[1] == pytest.approx(-2 * both.coef_[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "huber", Huber(0.5), "epsilon_insensitive"])
def test_regression(loss):
    model = SieveRegressor(loss, random_state=0).fit(X, NUMBERS)
    assert r2_score(NUMBERS, model.predict(X)) > 0.95
    assert set(model.support_[:3]) == {0, 1, 2}
    assert len(model.support_) < 20


def test_huber_is_robust_to_outliers():
    outliers = NUMBERS.copy()
    outliers[::30] += 1000.0
    assert (
        r2_score(NUMBERS, SieveRegressor("huber", random_state=0).fit(X, outliers).predict(X)) > 0.9
    )


def test_wide_dense_rows_do_not_diverge():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(80, 2000)) + 5.0
    y = D[:, 0] - D[:, 1] + 0.1 * rng.normal(size=80)
    model = SieveRegressor(random_state=0).fit(D, y)
    assert np.isfinite(attributes(model, D)).all()
    assert r2_score(y, model.predict(D)) > 0.5


# --------------------------------------------------------------------------- files, threads
@pytest.mark.parametrize("y", [Y, THREE, NUMBERS], ids=["two", "three", "numbers"])
def test_save_and_load(y, tmp_path):
    cls = SieveRegressor if y is NUMBERS else SieveClassifier
    model = cls(random_state=0).fit(X, y)
    save(model, tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert same(model, again)
        assert again.resolved_params_ == model.resolved_params_


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_threads_do_not_change_the_bits(y):
    one = SieveClassifier(random_state=0).fit(X, y)
    for n_jobs in (2, 3, 16):
        assert same(one, SieveClassifier(random_state=0, n_jobs=n_jobs).fit(X, y))


# --------------------------------------------------------------------------- poor data
@pytest.mark.parametrize(
    ("D", "y"),
    [
        (np.zeros((20, 5)), np.arange(20) % 2),
        (np.ones((20, 5)), np.arange(20) % 2),
        (np.eye(4), [0, 1, 0, 1]),
        (np.eye(2), [0, 1]),
        (np.tile(np.eye(3), (20, 1)), np.tile([0, 1, 0], 20)),
        (np.arange(60.0).reshape(30, 2), np.arange(30) >= 29),
        (1e45 * np.eye(8), np.arange(8) % 2),
        (1e-45 * np.eye(8), np.arange(8) % 3),
    ],
    ids=["zeros", "constant", "tiny", "two rows", "repeated", "one of a class", "huge", "small"],
)
@pytest.mark.filterwarnings("ignore")
def test_poor_data(D, y):
    for model in (
        SieveClassifier(random_state=0),
        SieveClassifier("hinge", n_features_to_select=1),
        SieveRegressor(random_state=0),
    ):
        model.fit(D, y)
        assert np.isfinite(model.predict(D)).all()
        assert np.isfinite(model.coef_).all()
    if not D.any():
        assert len(np.unique(SieveClassifier().fit(D, y).predict(D))) == 1


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_one_class_left_by_the_weights():
    model = SieveClassifier(random_state=0).fit(X, Y, sample_weight=Y * 1.0)
    assert set(model.predict(X)) == {1}


def test_parameters_are_checked():
    for bad in (
        {"n_features_to_select": 1.5},
        {"n_features_to_select": 0},
        {"se": -1},
        {"strength": 2.0},
        {"n_folds": 1},
        {"tolerance": 2.0},
        {"n_paths": 0},
    ):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            SieveClassifier(**bad).fit(X, Y)
    with pytest.raises(ValueError, match="loss of classes"):
        SieveRegressor("hinge").fit(X, NUMBERS)
    with pytest.raises(AttributeError, match="before fit"):
        SieveClassifier().coef_


def test_order_depends_on_content_alone():
    hashes, targets = (
        np.array([5, 3, 3, 1], dtype=np.uint64),
        np.array([[1.0], [2.0], [1.0], [0.0]]),
    )
    assert content_order(hashes, targets, np.zeros(0)).tolist() == [3, 2, 1, 0]
    assert content_order(hashes, targets, np.array([1.0, 1.0, 0.0, 1.0])).tolist() == [3, 1, 0]
    assert len(row_hashes(csr_from_matrix(X))) == 300
