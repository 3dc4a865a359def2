"""Feature groups of the sieve, and columns that are always selected."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from methods.sieve import reference_pass
from sklearn.linear_model import LinearRegression, LogisticRegression

from tamis import SieveClassifier, SieveRegressor, load, save
from tamis.methods.sieve.settings import FeatureGroups

pytestmark = pytest.mark.quick

N, FIRST, SECOND = 400, list(range(6)), list(range(6, 11))
LISTED = [FIRST, SECOND]


def variables(seed=0):
    """Return two categorical columns as dummies, the first relevant, and 14 numbers, two of them
    relevant; and a noisy score.
    """
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 6, N), rng.integers(0, 5, N)
    numbers = rng.normal(size=(N, 14))
    score = np.array([2.0, 1.0, 0.0, -1.0, -2.0, 0.0])[first] + numbers[:, 0] - numbers[:, 1]
    X = np.hstack([np.eye(6)[first], np.eye(5)[second], numbers])
    return X, score + 0.5 * rng.logistic(size=N)


X, SCORE = variables()
Y = (SCORE > 0).astype(int)
THREE = np.digitize(SCORE, [-1, 1])


def fit_sieve(y=Y, X=X, **options):
    return SieveClassifier(random_state=0, **options).fit(X, y)


def groups_are_complete(support, groups=LISTED):
    return all(
        np.isin(group, support).all() or not np.isin(group, support).any() for group in groups
    )


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("coef_", "intercept_", "support_", "selection_probability_", "importance_")
    )


# --------------------------------------------------------------------------- groups
@pytest.mark.parametrize("base", ["dense", "sparse"])
def test_groups_are_complete_at_every_size(base):
    model = fit_sieve(feature_groups=LISTED, X=X if base == "dense" else sp.csr_array(X))
    assert model.sizes_["size"][0] == 16
    assert model.sizes_["size"][-1] == 0
    assert {*FIRST, 11, 12} <= {*model.support_.tolist()}
    for k in range(17):
        support = model.resize(k).support_
        assert groups_are_complete(support)
        single = np.count_nonzero(support >= 11)
        assert k == single + sum(np.isin(group, support).all() for group in LISTED)


def test_selection_probabilities_are_equal_in_a_group():
    model = fit_sieve(feature_groups=LISTED)
    frequencies = model.selection_probability_[0]
    for group in LISTED:
        assert len(np.unique(frequencies[group])) == 1


@pytest.mark.parametrize(("requested", "size"), [(1, 1), (3, 3), (0.5, 8), (100, 16)])
def test_a_requested_size_counts_groups(requested, size):
    model = fit_sieve(feature_groups=LISTED, n_features_to_select=requested)
    groups = np.unique(np.r_[np.zeros(6), np.ones(5), np.arange(2, 16)][model.support_])
    assert len(groups) == size == model.resolved_params_["n_features"]
    assert groups_are_complete(model.support_)


def test_groups_of_single_columns_change_nothing():
    text, y = reference_pass.make_text()
    plain = SieveClassifier(random_state=0).fit(text, y)
    assert same(SieveClassifier(random_state=0, feature_groups=np.arange(200)).fit(text, y), plain)
    assert same(SieveClassifier(random_state=0, keep=[]).fit(text, y), plain)


def test_forms_of_groups_are_those_of_the_group_families():
    pandas = pytest.importorskip("pandas")
    names = (
        [f"a={i}" for i in range(6)] + [f"b={i}" for i in range(5)] + [f"x{i}" for i in range(14)]
    )
    frame = pandas.DataFrame(X, columns=names)
    listed = fit_sieve(feature_groups=LISTED, X=frame)
    labels = [0] * 6 + [1] * 5 + [-1] * 14
    for groups in (labels, np.array(labels), ["a=", "b="], [names[:6], names[6:11]]):
        assert same(fit_sieve(feature_groups=groups, X=frame), listed)


def test_a_column_labelled_none_is_always_selected():
    labels = [0] * 6 + [1] * 5 + [None] + [-1] * 13
    assert same(fit_sieve(feature_groups=labels), fit_sieve(feature_groups=LISTED, keep=[11]))


def test_constant_columns_are_dropped_from_a_group():
    constant = X.copy()
    constant[:, 0] = 7.0
    model = fit_sieve(feature_groups=LISTED, X=constant).resize(1)
    assert model.support_.tolist() == FIRST[1:]


def test_overlapping_groups_are_refused():
    with pytest.raises(ValueError, match=r"column 1 .*more than one group"):
        fit_sieve(feature_groups=[[0, 1], [1, 2]])


# --------------------------------------------------------------------------- keep
def test_columns_of_keep_are_selected_and_not_counted():
    model = fit_sieve(keep=[24, 7])
    assert model.sizes_["size"][0] == 23
    assert (model.selection_probability_[0, [7, 24]] == 1.0).all()
    for k in range(24):
        support = model.resize(k).support_
        assert len(support) == k + 2
        assert np.isin([7, 24], support).all()
        assert model.resolved_params_["n_features"] == k
    assert len(fit_sieve(keep=[24, 7], n_features_to_select=3).support_) == 5


@pytest.mark.parametrize("y", [Y, SCORE], ids=["classes", "numbers"])
@pytest.mark.parametrize("options", [{}, {"strength": 1.0}], ids=["auto", "strong"])
def test_columns_of_keep_are_not_shrunk(y, options):
    """With these columns alone the fit is a regression without a penalty."""
    columns, kind = X[:, 11:13], SieveClassifier if y is Y else SieveRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(keep=[True, True], random_state=0, **options).fit(columns, y)
    plain = LogisticRegression(C=1e9) if y is Y else LinearRegression()
    assert np.ravel(model.coef_) == pytest.approx(np.ravel(plain.fit(columns, y).coef_), rel=0.1)
    assert model.sizes_["size"].tolist() == [0]
    assert model.support_.tolist() == [0, 1]
    assert model.error_ < model.baseline_error_


def test_noise_leaves_the_columns_of_keep_alone():
    rng = np.random.default_rng(0)
    noise = np.hstack([rng.normal(size=(N, 60)), X[:, 11:13]])
    y = (X[:, 11] - X[:, 12] + 0.5 * rng.logistic(size=N) > 0).astype(int)
    with pytest.warns(UserWarning, match=r" 60 columns .* 2"):
        model = fit_sieve(y, noise, keep=[60, 61])
    assert model.support_.tolist() == [60, 61]
    assert model.resolved_params_["n_features"] == 0
    plain = LogisticRegression(C=1e9).fit(noise[:, 60:], y)
    assert model.coef_[0, 60:] == pytest.approx(plain.coef_[0], rel=0.15)
    assert model.error_ == model.sizes_["error"][-1] < 0.35
    assert 0.4 < model.baseline_error_ < 0.6
    # A relevant column is still selected next to a column of keep.
    assert 61 in fit_sieve(y, noise, keep=[60]).support_


def test_size_0_has_the_columns_of_keep():
    model = fit_sieve(keep=[11])
    error = model.sizes_["error"][-1]
    alone = model.resize(0).coef_
    assert np.flatnonzero(alone).tolist() == [11]
    assert model.error_ == error < model.baseline_error_
    polished = model.resize(0, X, Y)
    assert np.flatnonzero(polished.coef_).tolist() == [11]
    assert polished.coef_ == pytest.approx(alone, rel=0.1)


def test_a_constant_column_of_keep_is_dropped():
    wide = np.hstack([X, np.ones((N, 1))])
    model = fit_sieve(keep=[11, 25], X=wide)
    assert 25 not in model.support_
    assert model.coef_[:, :25] == pytest.approx(fit_sieve(keep=[11]).coef_, rel=1e-9)
    assert fit_sieve(keep=[25], X=wide).resize(0).support_.tolist() == []


def test_keep_takes_names_numbers_and_masks():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(25)])
    expected = fit_sieve(keep=[3, 20], X=frame)
    for keep in (["x20", "x3"], np.array([20, 3]), np.isin(np.arange(25), [3, 20])):
        assert same(fit_sieve(keep=keep, X=frame), expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"keep": [25]}, "keep names column 25, outside 0..24"),
        ({"keep": [-1]}, "keep names column -1"),
        ({"keep": ["age"]}, "X has no column names"),
        ({"keep": [0.5]}, "keep holds 0.5"),
        ({"keep": [True]}, r"mask of shape \(1,\), but X has 25 columns"),
        ({"keep": "age"}, "'keep' parameter"),
        (
            {"keep": [3], "feature_groups": LISTED},
            "column 3 is in keep",
        ),
        ({"feature_groups": [[0, 25]]}, "group 0 names column 25"),
        ({"feature_groups": [0, 1]}, "2 labels for 25 columns"),
    ],
)
def test_errors_name_what_is_wrong(options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        fit_sieve(**options)


def test_an_unknown_name_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(25)])
    with pytest.raises(ValueError, match=r"keep .*'age'"):
        fit_sieve(keep=["x1", "age"], X=frame)


# --------------------------------------------------------------------------- both
BOTH = {"feature_groups": LISTED, "keep": [24, 13]}


@pytest.mark.parametrize("per_class", [False, True])
def test_several_classes(per_class):
    model = fit_sieve(THREE, per_class=per_class, **BOTH)
    for c, weights in enumerate(model.coef_):
        sizes = model.sizes_[c] if per_class else model.sizes_
        assert sizes["size"][0] == 14
        assert groups_are_complete(np.flatnonzero(weights))
        assert (weights[[13, 24]] != 0.0).all()
    assert model.score(X, THREE) > 0.6
    for args in ((), (X, THREE)):
        resized = model.resize(2, *args)
        for weights in resized.coef_:
            assert groups_are_complete(np.flatnonzero(weights))
            assert 4 <= np.count_nonzero(weights) <= 13
    assert model.resize(0).support_.tolist() == [13, 24]


def test_resize_with_the_rows_keeps_the_same_columns():
    model = fit_sieve(**BOTH)
    for k in (0, 1, 2, 5, 14):
        support = model.resize(k).support_
        assert np.array_equal(model.resize(k, X, Y).support_, support)


def test_numbers():
    model = SieveRegressor(random_state=0, **BOTH).fit(X, SCORE)
    assert {*FIRST, 11, 12, 13, 24} <= {*model.support_.tolist()}
    assert groups_are_complete(model.support_)
    assert model.error_ < 0.4


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(N)
    assert same(fit_sieve(**BOTH), fit_sieve(Y[order], X[order], **BOTH))


def test_threads_do_not_change_the_bits():
    assert same(fit_sieve(**BOTH), fit_sieve(n_jobs=2, **BOTH))


def test_save_and_load(tmp_path):
    model = fit_sieve(**BOTH)
    save(model, tmp_path / "model.tamis")
    again = load(tmp_path / "model.tamis")
    assert same(model, again)
    for k in (0, 1, 3):
        assert same(model.resize(k), again.resize(k))


def test_selection_probabilities_of_nine_folds_are_at_most_1(tmp_path):
    """The sum of nine ninths exceeds 1 by rounding, and a model file refuses values above 1."""
    model = fit_sieve(keep=[11], n_folds=9)
    assert model.selection_probability_.max() == 1.0
    save(model, tmp_path / "model.tamis")
    assert same(load(tmp_path / "model.tamis"), model)


# --------------------------------------------------------------------------- streams
def stream(n_sample, n_chunks=4, **options):
    model = SieveClassifier(random_state=0, n_sample=n_sample, **options)
    for rows in np.array_split(np.arange(N), n_chunks):
        model.partial_fit(X[rows], Y[rows], classes=[0, 1])
    return model


def test_a_short_stream_is_a_fit():
    assert same(stream(10_000, **BOTH).refine(), fit_sieve(**BOTH))


def test_a_long_stream_respects_keep_and_groups(tmp_path):
    model = stream(200, **BOTH).refine()
    assert groups_are_complete(model.support_)
    assert np.isin([13, 24], model.support_).all()
    assert model.sizes_["size"][0] == 14
    assert model.score(X, Y) > 0.75
    save(model, tmp_path / "stream.tamis")
    assert same(load(tmp_path / "stream.tamis").refine(), model)
    for k in (0, 1, 5):
        assert groups_are_complete(model.resize(k).support_)


def test_a_stream_has_columns_that_its_sample_lacks():
    """One dummy of the first group and one column of keep occur in the last rows alone."""
    text = reference_pass.make_text(n=2000, p=60)[0].tolil()
    text[:1990, [50, 59]] = 0.0
    text[1990:, [50, 59]] = 1.0
    text, y = sp.csr_array(text), reference_pass.make_text(n=2000, p=60)[1]
    options = {"feature_groups": [[0, 50], [1, 2, 3]], "keep": [59, 20], "n_sample": 50}
    model = SieveClassifier(random_state=0, **options)
    for rows in np.array_split(np.arange(2000), 5):
        model.partial_fit(text[rows], y[rows], classes=[0, 1])
    model.refine()
    assert model.sizes_["size"][0] == 60 - 2 - 3
    for k in (0, 1, 4, 20):
        support = model.resize(k).support_
        assert groups_are_complete(support, options["feature_groups"])
        assert np.isin([20, 59], support).all()


def test_expand_to_groups():
    groups_object = FeatureGroups(np.array([0, 1, 0, -1, 2, 1]), True)
    assert groups_object.n_groups == 3
    assert np.flatnonzero(groups_object.expand_to_groups(np.arange(6) == 2)).tolist() == [0, 2, 3]
    assert np.flatnonzero(groups_object.expand_to_groups(np.zeros(6, dtype=bool))).tolist() == [3]


def test_a_stream_uses_groups_and_keep_of_its_first_call():
    model = stream(10_000, **BOTH).set_params(feature_groups=None, keep=[0])
    assert same(model.refine(), fit_sieve(**BOTH))
    assert same(model.fit(X, Y), fit_sieve(keep=[0]))


def test_a_rare_column_of_a_regression_is_selected_if_in_keep():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(200, 5))
    D[:, 4] = np.where(np.arange(200) % 50 == 0, rng.normal(size=200), 0.0)
    y = D[:, 0] + 20.0 * D[:, 4] + 0.1 * rng.normal(size=200)
    assert 4 not in SieveRegressor(n_features_to_select=5, random_state=0).fit(D, y).support_
    assert 4 in SieveRegressor(keep=[4], random_state=0).fit(D, y).support_
