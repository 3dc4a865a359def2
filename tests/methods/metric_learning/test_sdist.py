"""SDist and SDistClassifier: invariants of a fit, symmetry, weights, forms of input, stopping."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from methods.metric_learning.textbook import fixed2
from numpydoc.docscrape import ClassDoc
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import SDist, SDistClassifier
from tamis.methods.metric_learning.boosting import Boost
from tamis.methods.metric_learning.edges import compute_margins
from tamis.methods.metric_learning.rules import NeighborClassifier
from tamis.solvers.neighbors import class_neighbors

pytestmark = pytest.mark.delicate

PLAIN = {
    "subsample": 1.0,
    "max_features": None,
    "refresh_every": 0,
    "oob_z": None,
    "max_iter": 30,
    "cardinality": 3,
    "screen": None,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def xor():
    return fixed2("xor", 300, 10, 0)


@pytest.fixture(scope="module")
def squared(xor):
    return SDist(max_iter=150, cardinality=2, max_order=2, max_features=8, random_state=0).fit(*xor)


# --------------------------------------------------------------------------- a metric
def test_the_metric_is_psd_sparse_and_of_low_rank(squared, xor):
    W = squared.metric_.toarray()
    assert np.linalg.eigvalsh(W)[0] > -1e-12 * np.trace(W)
    assert len(squared.components_) <= len(squared.steps_)
    for step in squared.steps_:
        assert 1 <= len(step["terms"]) == len(step["loadings"]) <= 2
        assert np.linalg.norm(step["loadings"]) == pytest.approx(1.0)
        assert step["weight"] > 0.0
    rebuilt = np.zeros_like(W)
    for step in squared.steps_:
        at = [squared.terms_.index(term) for term in step["terms"]]
        rebuilt[np.ix_(at, at)] += step["weight"] * np.outer(step["loadings"], step["loadings"])
    assert rebuilt == pytest.approx(W, abs=1e-12)
    assert max(len(term) for term in squared.terms_) == 2
    assert squared.components_.T @ squared.components_ == pytest.approx(W, abs=1e-10)


def test_distances_of_the_transform_are_those_of_the_metric(squared, xor):
    X = xor[0]
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    terms = np.column_stack([standard[:, list(term)].prod(axis=1) for term in squared.terms_])
    products = np.array([len(term) > 1 for term in squared.terms_])
    terms[:, products] /= terms[:, products].std(axis=0)
    differences = terms[0] - terms[1:30]
    expected = np.einsum("ij,jk,ik->i", differences, squared.metric_.toarray(), differences)
    Z = squared.transform(X)
    assert ((Z[0] - Z[1:30]) ** 2).sum(axis=1) == pytest.approx(expected, rel=1e-8)


def test_importances_and_names(squared, xor):
    assert squared.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(-squared.feature_importances_)[:2]) == {0, 1}
    assert squared.interaction_importances_[0][0] == (0, 1)
    assert squared.get_term_names()[squared.terms_.index((0, 1))] == "x0 x1"
    names = [f"c{j}" for j in range(10)]
    assert "c0 c1" in squared.get_term_names(names)
    assert squared.get_feature_names_out().tolist() == [
        f"sdist{j}" for j in range(len(squared.components_))
    ]
    squared_norms = dict(zip(squared.terms_, (squared.components_**2).sum(axis=0), strict=True))
    total = sum(squared_norms.values())
    expected = (
        sum(share * term.count(0) / len(term) for term, share in squared_norms.items()) / total
    )
    assert squared.feature_importances_[0] == pytest.approx(expected)
    assert np.array_equal(squared.support_, np.flatnonzero(squared.feature_importances_))


def test_n_components_keeps_the_leading_ones(xor):
    whole = SDist(max_iter=60, random_state=0).fit(*xor)
    two = SDist(max_iter=60, n_components=2, random_state=0).fit(*xor)
    assert np.array_equal(two.components_, whole.components_[:2])
    assert two.transform(xor[0]).shape == (300, 2)
    assert two.metric_.toarray() == pytest.approx(two.components_.T @ two.components_)


@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
@pytest.mark.parametrize("subsample", [0.5, 1.0])
def test_the_loss_never_rises_without_refreshes(xor, learning_rate, subsample):
    model = SDist(**{**PLAIN, "learning_rate": learning_rate, "subsample": subsample}).fit(*xor)
    losses = [step["loss"] for step in model.steps_]
    assert len(losses) > 5
    falls = np.diff([1.0, *losses])
    assert (falls[:5] < 0.0).all()
    assert (falls <= 1e-15).all()  # a long walk ends where steps change nothing


def test_margins_after_a_refresh_are_those_from_scratch(xor, monkeypatch):
    margin_pairs = []
    original = Boost.find_neighbours

    def spy(self):
        original(self)
        if self.steps:
            Z = self.points()
            edges = class_neighbors(Z, self.codes, 3)
            margin_pairs.append((self.margins, compute_margins(edges, Z)))

    monkeypatch.setattr(Boost, "find_neighbours", spy)
    SDist(max_iter=100, refresh_every=25, cardinality=2, random_state=0).fit(*xor)
    assert len(margin_pairs) >= 2
    for margins, expected in margin_pairs:
        assert margins == pytest.approx(expected, abs=1e-10)


def test_refreshes_wait_for_ten_steps(xor, monkeypatch):
    counts = []
    original = Boost.find_neighbours
    monkeypatch.setattr(
        Boost, "find_neighbours", lambda self: (counts.append(len(self.steps)), original(self))
    )
    SDist(max_iter=40, refresh_every=2, random_state=0).fit(*xor)
    assert counts[0] == 0
    assert min(counts[1:]) >= 10


# --------------------------------------------------------------------------- symmetry
def test_columns_signs_rows_and_labels_do_not_matter(xor):
    X, y = xor
    Z = SDist(**PLAIN).fit(X, y).transform(X)
    order = np.random.default_rng(0).permutation(10)
    signs = np.where(np.arange(10) % 3, 1.0, -1.0)
    rows = np.random.default_rng(1).permutation(300)

    def distances(Z):
        return ((Z[:40, None] - Z[None, :40]) ** 2).sum(axis=2)

    expected = distances(Z)
    for data, targets in ((X[:, order], y), (X * signs, y), (X, 1 - y), (X * 3.0 + 2.0, y)):
        model = SDist(**PLAIN).fit(data, targets)
        assert distances(model.transform(data)) == pytest.approx(expected, rel=1e-8, abs=1e-10)
    model = SDist(**PLAIN).fit(X[rows], y[rows])
    assert distances(model.transform(X)) == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_the_order_of_rows_does_not_matter_with_bags_either(xor):
    X, y = xor
    rows = np.random.default_rng(1).permutation(300)
    a, b = (
        SDistClassifier(max_iter=60, random_state=0).fit(X[r], y[r]) for r in (np.arange(300), rows)
    )
    assert a.terms_ == b.terms_
    assert a.components_ == pytest.approx(b.components_, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("max_order", [1, 2])
def test_sparse_input_equals_dense(max_order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.3)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.3).astype(int)
    dense = SDistClassifier(max_iter=60, cardinality=2, max_order=max_order, random_state=0).fit(
        X, y
    )
    for form in (sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X)):
        model = SDistClassifier(
            max_iter=60, cardinality=2, max_order=max_order, random_state=0
        ).fit(form, y)
        assert model.terms_ == dense.terms_
        assert model.components_ == pytest.approx(dense.components_, rel=1e-6, abs=1e-9)
        assert np.array_equal(model.predict(form), dense.predict(X))


def test_many_columns_go_through_the_operator(monkeypatch, xor):
    X, y = xor
    # One start, as for many columns.
    monkeypatch.setattr("tamis.methods.metric_learning.sparse_eigen.MAX_TWO_START_COLUMNS", 0)
    expected = SDist(**PLAIN).fit(X, y)
    monkeypatch.setattr("tamis.methods.metric_learning.boosting.MAX_EXPLICIT_COLUMNS", 5)
    for form in (X, sp.csr_array(X)):
        model = SDist(**PLAIN).fit(form, y)
        assert model.terms_ == expected.terms_
        assert model.components_ == pytest.approx(expected.components_, rel=1e-4, abs=1e-5)
    products = SDist(**{**PLAIN, "max_order": 2}).fit(sp.csr_array(X), y)
    assert max(len(term) for term in products.terms_) == 2


def test_two_classes_are_a_case_of_several(xor):
    X, y = xor
    a, b = (
        SDist(max_iter=40, opp_per_class=each, random_state=0).fit(X, y) for each in (False, True)
    )
    assert a.terms_ == b.terms_
    assert np.array_equal(a.components_, b.components_)


# --------------------------------------------------------------------------- weights
def test_weights_are_repeated_rows(xor):
    X, y = xor
    weights = np.random.default_rng(0).integers(0, 3, 300)
    repeated = np.repeat(np.arange(300), weights)
    for rule in ("knn", "margin"):
        a = SDistClassifier(max_iter=60, rule=rule, random_state=0).fit(X, y, sample_weight=weights)
        b = SDistClassifier(max_iter=60, rule=rule, random_state=0).fit(X[repeated], y[repeated])
        assert a.components_ == pytest.approx(b.components_, rel=1e-9, abs=1e-12)
        assert a.decision_function(X) == pytest.approx(b.decision_function(X), rel=1e-9, abs=1e-12)


def test_weights_count_in_the_votes():
    points, codes = np.array([[0.0], [0.1], [0.2], [9.0]]), np.array([0, 0, 1, 1])
    votes = NeighborClassifier(points, codes, np.array([1.0, 1.0, 3.0, 1.0]), 2, 3, "knn").votes(
        np.array([[0.1]])
    )
    assert votes.tolist() == [[0.4, 0.6]]


def test_attributes_described_exist(squared):
    described = [entry.name for entry in ClassDoc(SDist)["Attributes"]]
    assert not [
        name for name in described if name != "feature_names_in_" and not hasattr(squared, name)
    ]
    assert {
        name for name in vars(squared) if name.endswith("_") and not name.startswith("_")
    } <= set(described)


# --------------------------------------------------------------------------- rules
def test_rules_equal_their_definitions():
    X, codes = fixed2("rings", 200, 5, 0)
    y = np.array(["no", "yes"])[codes]
    model = SDistClassifier(max_iter=80, rule="knn", random_state=0).fit(X, y)
    Z = model.transform(X)
    reference = KNeighborsClassifier(3).fit(Z, y)
    new = np.random.default_rng(1).normal(size=(50, 5))
    assert np.array_equal(model.predict(new), reference.predict(model.transform(new)))
    assert model.predict_proba(new) == pytest.approx(reference.predict_proba(model.transform(new)))
    margin = SDistClassifier(max_iter=80, rule="margin", random_state=0).fit(X, y)
    queries = margin.transform(new)
    distance = [
        np.sort(((queries[:, None] - Z[codes == c]) ** 2).sum(axis=2), axis=1)[:, :3].mean(axis=1)
        for c in (0, 1)
    ]
    score = distance[0] - distance[1]
    assert margin.decision_function(new) == pytest.approx(score, rel=1e-6, abs=1e-9)
    assert margin.predict_proba(new)[:, 1] == pytest.approx(1 / (1 + np.exp(-2 * score)), rel=1e-6)
    assert np.array_equal(margin.predict(new), np.where(score > 0, "yes", "no"))


@pytest.mark.parametrize("rule", ["knn", "margin"])
@pytest.mark.parametrize("opp_per_class", [False, True])
def test_several_classes(rule, opp_per_class):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 1400)
    X = rng.normal(size=(1400, 30))
    X[:, 2] += 3.5 * (y % 2)
    X[:, 5] += 3.5 * (y // 2)
    model = SDistClassifier(
        max_iter=100, rule=rule, opp_per_class=opp_per_class, random_state=0
    ).fit(X[:400], y[:400])
    assert (
        model.score(X[400:], y[400:])
        > KNeighborsClassifier(3).fit(X[:400], y[:400]).score(X[400:], y[400:]) + 0.03
    )
    # Four fits of a quarter each see more noise.
    assert {2, 5} <= set(np.argsort(-model.feature_importances_)[: 4 if opp_per_class else 2])
    probabilities = model.predict_proba(X[400:])
    assert probabilities.shape == (1000, 4)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(probabilities.argmax(axis=1), model.predict(X[400:]))


# --------------------------------------------------------------------------- stopping, screening
def test_the_complexity_price_shortens(xor):
    long, short = (
        SDist(max_iter=100, complexity=penalty, random_state=0).fit(*xor) for penalty in (0.0, 1e4)
    )
    assert len(short.steps_) == 10 < len(long.steps_)
    costs = [
        300 * s["loss"] + 1e4 * s["complexity"] for s in long.steps_ if s["complexity"] is not None
    ]
    assert int(np.argmin(costs)) == 0


def test_early_stopping_keeps_the_best_look(xor):
    models = [
        SDistClassifier(
            max_iter=300, early_stopping=True, n_iter_no_change=3, random_state=seed
        ).fit(*xor)
        for seed in range(3)
    ]
    for model in models:
        errors = [s["validation_error"] for s in model.steps_ if "validation_error" in s]
        assert errors[-1] == min(errors)
        assert len(model._reference) == 300
    assert min(len(model.history_) for model in models) < 300


def test_screening_keeps_noise_out():
    X, y = fixed2("xor", 400, 40, 1)
    loose, strict = (SDist(oob_z=z, max_iter=200, random_state=0).fit(X, y) for z in (None, 2.0))
    assert len(strict.support_) < 0.6 * len(loose.support_)
    assert strict.feature_importances_[:2].sum() > loose.feature_importances_[:2].sum()
    statuses = {record["status"] for record in strict.history_}
    assert "screened" in statuses
    assert all(
        record["oob_z"] >= 2.0 for record in strict.history_ if record["status"] == "accepted"
    )


@pytest.mark.long
def test_screening_mends_as_many_columns_as_rows():
    """Without it, as published, the metric fails there."""
    X, y = fixed2("rings", 1000, 300, 5)
    model = SDistClassifier(random_state=0).fit(X[:300], y[:300])
    assert model.candidates_.tolist() == [0, 1]
    oracle = KNeighborsClassifier(3).fit(X[:300, :2], y[:300]).score(X[300:, :2], y[300:])
    assert model.score(X[300:], y[300:]) > oracle - 0.05
    original = SDistClassifier(screen=None, random_state=0).fit(X[:300], y[:300])
    assert len(original.candidates_) == 300
    assert original.score(X[300:], y[300:]) < oracle - 0.05


def test_nothing_to_find_is_said(monkeypatch):
    X, y = fixed2("xor", 60, 5, 0)
    with pytest.warns(UserWarning, match="no step passed in 20"):
        model = SDist(oob_z=50.0, max_iter=20, random_state=0).fit(X, y)
    assert len(model.steps_) == 1
    assert model.steps_[0]["status"] == "fallback"


# --------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"oob_z": 1.0, "subsample": 1.0}, "needs rows outside the bag"),
        ({"rho": 0.0}, "'rho' parameter"),
        ({"max_features": "log"}, "'max_features' parameter"),
    ],
)
def test_bad_parameters(xor, change, reason):
    with pytest.raises(ValueError, match=reason):
        SDist(**change).fit(*xor)


def test_bad_data(xor):
    X, y = xor
    with pytest.raises(ValueError, match="class 7 has fewer than 2 rows"):
        SDist().fit(X, np.r_[7, y[1:]])
    with pytest.raises(ValueError, match="all 10 columns are constant"):
        SDist().fit(np.ones((20, 10)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="class 1 has 2 distinct rows; it needs 3"):
        SDist(early_stopping=True).fit(X[:20], np.r_[np.zeros(18, int), 1, 1])


# --------------------------------------------------------------------------- walk
def test_a_users_path(tmp_path, xor):
    from tamis import load, save

    X, y = fixed2("rings", 500, 8, 3)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    model = SDistClassifier(max_order=2, max_iter=200, random_state=0).fit(frame[:300], y[:300])
    original = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X[:300], y[:300])
    assert model.score(frame[300:], y[300:]) > original.score(X[300:], y[300:]) + 0.05
    assert any(name in ("c0^2", "c1^2", "c0", "c1") for name in model.get_term_names()[:3])
    save(model, tmp_path / "model.tamis")
    again = load(tmp_path / "model.tamis")
    assert np.array_equal(again.decision_function(frame), model.decision_function(frame))
    assert again.terms_ == model.terms_
    assert again.get_term_names() == model.get_term_names()
    metric = SDist(max_iter=50, random_state=0).set_output(transform="pandas").fit(frame, y)
    assert metric.transform(frame).columns[0] == "sdist0"
    save(metric, tmp_path / "metric.tamis")
    assert np.array_equal(load(tmp_path / "metric.tamis").transform(frame), metric.transform(frame))


def test_threads_do_not_change_the_result(xor):
    a, b = (SDistClassifier(max_iter=60, n_jobs=n, random_state=0).fit(*xor) for n in (1, 2))
    assert a.components_ == pytest.approx(b.components_, rel=1e-9)


def test_verbose_shows_a_bar(xor, capsys):
    SDist(max_iter=20, verbose=True, random_state=0).fit(*xor)
    captured = capsys.readouterr()
    assert captured.err
    assert not captured.out
