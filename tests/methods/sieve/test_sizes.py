"""Empty models, other sizes of one fit, the expected error, and units of columns."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from methods.sieve import reference_pass
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from tamis import SieveClassifier, SieveRegressor, load, save

pytestmark = pytest.mark.quick

X, Y = reference_pass.make_text()
THREE = X.toarray()[:, :3].argmax(axis=1)
NUMBERS = X.toarray()[:, :3] @ [3.0, -2.0, 1.0] + 0.3 * np.random.default_rng(0).normal(size=300)


def noise(n, p, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(0, 2, n)


# --------------------------------------------------------------------------- empty models
def test_noise_gives_an_empty_model_with_a_warning():
    is_empty, stated_errors = [], []
    for seed in range(12):
        D, y = noise(60, 300, seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SieveClassifier(random_state=0).fit(D, y)
        is_empty.append(not len(model.support_))
        stated_errors.append(model.error_)
        if is_empty[-1]:
            messages = [str(one.message) for one in caught]
            assert any("nothing in these 300 columns" in s for s in messages)
            assert len(np.unique(model.predict(D))) == 1
            fraction = y.mean()
            assert model.predict_proba(D)[:, 1] == pytest.approx(fraction, abs=0.02)
            assert model.error_ == model.baseline_error_
    assert np.mean(is_empty) > 0.8
    assert abs(np.mean(stated_errors) - 0.5) < 0.06


@pytest.mark.filterwarnings("ignore:nothing in these")
def test_unexplained_numbers_give_an_empty_model():
    D, _ = noise(100, 200, 0)
    y = np.random.default_rng(1).standard_t(2, size=100) + 5.0
    model = SieveRegressor(random_state=0).fit(D, y)
    assert not len(model.support_)
    assert model.error_ == model.baseline_error_ == 1.0
    assert np.ptp(model.predict(D)) == 0.0
    assert abs(model.predict(D)[0] - 5.0) < 1.0


def test_a_signal_gives_no_empty_model():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(100, 500))
    y = (D[:, 0] + 0.5 * rng.normal(size=100) > 0).astype(int)
    model = SieveClassifier(random_state=0).fit(D, y)
    assert 0 in model.support_
    assert model.error_ + 2 * model.standard_error_ < model.baseline_error_


# --------------------------------------------------------------------------- the intercept
def test_unequal_classes_are_predicted_in_their_proportions():
    rng = np.random.default_rng(0)
    text, y = reference_pass.make_text(1500, seed=3)
    fewer = (y == 1) | (rng.random(1500) < 0.3)
    text, y = text[fewer], y[fewer]
    half = len(y) // 2
    model = SieveClassifier(random_state=0).fit(text[:half], y[:half])
    assert abs(model.predict(text[half:]).mean() - y[half:].mean()) < 0.08
    # Scores are log odds: those of held-out rows are right on average.
    assert abs(model.predict_proba(text[half:])[:, 1].mean() - y[half:].mean()) < 0.05


# --------------------------------------------------------------------------- other sizes
@pytest.mark.parametrize("y", [Y, THREE, NUMBERS], ids=["two", "three", "numbers"])
def test_another_size_from_the_same_fit(y):
    cls = SieveRegressor if y is NUMBERS else SieveClassifier
    for k in (1, 3, 20):
        model = cls(random_state=0).fit(X, y).resize(k)
        assert len(model.support_) == model.resolved_params_["n_features"] == k
        level = model.resolved_params_["level"]
        assert model.error_ == model.sizes_["error"][level]
        finalized = cls(random_state=0).fit(X, y).resize(k, X, y)
        refitted = cls(random_state=0, n_features_to_select=k).fit(X, y)
        assert np.array_equal(finalized.support_, model.support_)
        assert len(np.setxor1d(refitted.support_, model.support_)) <= max(2, k // 4)
        assert refitted.score(X, y) == pytest.approx(finalized.score(X, y), abs=0.08)


def test_sizes_back_and_forth_and_from_a_file(tmp_path):
    model = SieveClassifier(random_state=0).fit(X, Y)
    first = model.resize(10).coef_
    model.resize(3).resize(40)
    assert np.array_equal(model.resize(10).coef_, first)
    save(model, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").resize(3).coef_, model.resize(3).coef_)
    nothing = model.resize(0)
    assert not len(nothing.support_)
    assert nothing.predict_proba(X)[:, 1] == pytest.approx(Y.mean(), abs=0.01)
    assert len(model.resize(10**6).support_) == 200


def test_invalid_sizes_are_refused():
    model = SieveClassifier(random_state=0, per_class=True).fit(X, THREE)
    assert (np.count_nonzero(model.resize(5).coef_, axis=1) == 5).all()
    with pytest.raises(ValueError, match="both X and y"):
        model.resize(3, X)
    for bad in (-1, 2.5):
        with pytest.raises((ValueError, TypeError), match="k"):
            model.resize(bad)


def test_tolerance_gives_up_error_for_fewer_features():
    sizes = [
        SieveClassifier(se=0.0, tolerance=t, random_state=0).fit(X, Y).resolved_params_
        for t in (0.0, 0.3, 1.0)
    ]
    selected = [size["n_features"] for size in sizes]
    assert selected[0] > selected[1] >= selected[2] >= 1


# --------------------------------------------------------------------------- importance, error
def test_importance_does_not_depend_on_units():
    scale = np.exp(3 * np.random.default_rng(0).normal(size=200))
    a = SieveClassifier(random_state=0).fit(X, Y)
    b = SieveClassifier(random_state=0).fit(sp.csr_array(X @ sp.diags_array(scale)), Y)
    assert b.importance_ == pytest.approx(a.importance_, rel=1e-6, abs=1e-9)
    selected = a.support_
    deviations = X.toarray()[:, selected].std(axis=0)
    assert a.importance_[0, selected] == pytest.approx(np.abs(a.coef_[0, selected]) * deviations)


def test_the_expected_error_is_that_of_new_rows():
    differences = []
    for seed in range(6):
        text, y = reference_pass.make_text(900, seed=20 + seed)
        model = SieveClassifier(random_state=0).fit(text[:300], y[:300])
        differences.append(model.error_ - (1.0 - model.score(text[300:], y[300:])))
    assert abs(np.mean(differences)) < 0.03


# --------------------------------------------------------------------------- units
def dense(seed=0, n=150):
    """Return dense, partly filled and sparse columns, and a target that depends on some of each."""
    rng = np.random.default_rng(seed)
    density = np.repeat([0.1, 0.4, 0.6, 0.95, 1.0], 12)
    D = np.exp(rng.normal(size=(n, 60))) * (rng.random((n, 60)) < density)
    score = D[:, [1, 14, 30, 40, 55]] @ [2.0, -1.0, 1.0, -1.0, 1.0]
    return D, (score > np.median(score)).astype(int)


@pytest.mark.parametrize(
    "change",
    [
        lambda D: StandardScaler().fit_transform(D),
        lambda D: MaxAbsScaler().fit_transform(D),
        lambda D: 7.0 - 0.3 * D,
        lambda D: D * np.linspace(1e-3, 1e3, 60) + np.arange(60.0),
    ],
    ids=["standard", "max abs", "negated", "affine"],
)
def test_units_of_columns_do_not_matter(change):
    D, y = dense()
    a = SieveClassifier(random_state=0).fit(D, y)
    b = SieveClassifier(random_state=0).fit(change(D), y)
    assert len(a.support_)
    assert np.array_equal(a.support_, b.support_)
    assert a.resolved_params_["base"] == b.resolved_params_["base"]
    assert a.predict(D).tolist() == b.predict(change(D)).tolist()


def test_units_of_sparse_columns_do_not_matter():
    scaled = sp.csr_array(MaxAbsScaler().fit_transform(X))
    a, b = (SieveClassifier(random_state=0).fit(Z, Y) for Z in (X, scaled))
    assert np.array_equal(a.support_, b.support_)
