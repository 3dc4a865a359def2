"""The steps of sDist against their definitions: neighbours, the quadratic form, the sparse
eigenvector, the line search, terms.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.metric_learning.textbook import best_of_all, brute_neighbours, explicit_form

from tamis.methods.metric_learning import edges as sdist_edges
from tamis.methods.metric_learning import steps
from tamis.methods.metric_learning.candidates import Candidates, Scaling
from tamis.methods.metric_learning.edges import Laplacian, QuadraticForm, compute_margins
from tamis.methods.metric_learning.sparse_eigen import (
    ExplicitForm,
    definite_shift,
    greedy_start,
    leading_direction,
    power_steps,
)
from tamis.methods.metric_learning.steps import (
    boosting_weights,
    line_search,
    metric_complexity,
    principal_components,
    t_statistic,
)
from tamis.solvers.neighbors import class_neighbors, euclidean_points, reduce_points

pytestmark = pytest.mark.delicate


def rows(n=40, p=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), np.arange(n) % classes


# --------------------------------------------------------------------------- neighbours
@pytest.mark.parametrize("p", [2, 12])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_neighbours_equal_brute_force(p, classes, form):
    X, codes = rows(60, p, classes)
    edges = class_neighbors(form(X), codes, 3)
    same, other = brute_neighbours(X, codes, 3)
    assert np.array_equal(np.sort(edges.nearest[:, :3], axis=1), np.sort(same, axis=1))
    assert np.array_equal(np.sort(edges.nearest[:, 3:], axis=1), np.sort(other, axis=1))
    assert np.allclose(edges.share[:, :3], -1 / 3)
    assert np.allclose(edges.share[:, 3:], 1 / 3)


@pytest.mark.parametrize("p", [2, 12])
def test_equal_rows_are_neighbours_and_a_row_is_never_its_own(p):
    X, codes = rows(40, p)
    X[:20] = X[0]
    edges = class_neighbors(X, codes, 3)
    assert (edges.nearest != np.arange(40)[:, None]).all()
    same, _ = brute_neighbours(X, codes, 3)
    distances = np.linalg.norm(X[edges.nearest[:, :3]] - X[:, None], axis=2)
    expected = np.linalg.norm(X[np.array(same)] - X[:, None], axis=2)
    assert np.sort(distances, axis=1) == pytest.approx(np.sort(expected, axis=1), abs=1e-6)


@pytest.mark.parametrize("double", [10, 1000])
def test_neighbours_are_found_across_tiles(double, monkeypatch):
    monkeypatch.setattr("tamis.solvers.neighbors.TILE_ROWS", 7)
    monkeypatch.setattr("tamis.solvers.neighbors.MAX_FLOAT64_ROWS", double)
    X, codes = rows(60, 12, 3)
    edges = class_neighbors(X + 100.0, codes, 4)
    same, other = brute_neighbours(X, codes, 4)
    assert np.array_equal(edges.nearest, np.hstack([same, other]))


@pytest.mark.parametrize("p", [3, 12])
def test_small_classes_have_fewer_neighbours_with_their_own_divisor(p):
    X, _ = rows(12, p)
    codes = np.array([0, 0] + [1] * 10)
    edges = class_neighbors(X, codes, 3)
    assert np.array_equal(edges.nearest[:2, 0], [1, 0])
    assert np.allclose(edges.share[:2, :3], [[-1, 0, 0]] * 2)
    assert np.allclose(edges.share[2:, 3:], [[0.5, 0.5, 0]] * 10)
    assert np.allclose(edges.share.sum(axis=1), 0.0)


def test_neighbours_in_every_other_class():
    X, codes = rows(60, 4, 3)
    edges = class_neighbors(X, codes, 2, per_class=True)
    assert edges.nearest.shape == (60, 6)
    assert (codes[edges.nearest[:, :2]] == codes[:, None]).all()
    assert all(
        sorted(set(codes[near[2:]])) == sorted({0, 1, 2} - {c})
        for near, c in zip(edges.nearest, codes, strict=True)
    )
    assert np.allclose(edges.share.sum(axis=1), 0.0)
    two = codes % 2
    assert np.array_equal(
        class_neighbors(X, two, 2).nearest, class_neighbors(X, two, 2, per_class=True).nearest
    )


def test_search_points_preserve_distances(monkeypatch):
    X, _ = rows(50, 300)
    scale, center, columns = X.std(axis=0), X.mean(axis=0), np.arange(300)
    points = euclidean_points(X, center, scale, columns, np.random.default_rng(0))
    expected = np.linalg.norm((X[0] - X[1:]) / scale, axis=1)
    assert np.linalg.norm(points[0] - points[1:], axis=1) == pytest.approx(expected)
    sparse = euclidean_points(sp.csr_array(X), center, scale, columns, np.random.default_rng(0))
    assert np.linalg.norm(sparse.toarray()[0] - sparse.toarray()[1:], axis=1) == pytest.approx(
        expected
    )
    monkeypatch.setattr("tamis.solvers.neighbors.MAX_EXACT_ROWS", 10)
    for form in (X, sp.csr_array(X)):
        projected = euclidean_points(form, center, scale, columns, np.random.default_rng(0))
        assert projected.shape[1] == 64
        assert np.linalg.norm(projected[0] - projected[1:], axis=1) / 8.0 == pytest.approx(
            expected, rel=0.4
        )
    low_rank = np.random.default_rng(1).normal(size=(50, 5)) @ np.random.default_rng(2).normal(
        size=(5, 100)
    )
    assert reduce_points(low_rank).shape[1] == 64  # its five directions are among the main ones
    assert np.linalg.norm(
        reduce_points(low_rank)[0] - reduce_points(low_rank)[1:], axis=1
    ) == pytest.approx(np.linalg.norm(low_rank[0] - low_rank[1:], axis=1))


# --------------------------------------------------------------------------- the quadratic form
@pytest.mark.parametrize("classes", [2, 3])
def test_the_form_equals_the_sum_over_rows(classes):
    X, codes = rows(40, 6, classes)
    edges = class_neighbors(X, codes, 3)
    row_weights = np.random.default_rng(1).random(40)
    bag = np.arange(0, 40, 2)
    bag_weights = np.where(np.isin(np.arange(40), bag), row_weights, 0.0)
    laplacian, expected = (
        Laplacian(edges, bag, row_weights[bag]),
        explicit_form(X, edges, bag_weights),
    )
    assert sdist_edges.form_matrix(X, laplacian) == pytest.approx(expected, abs=1e-10)
    assert sdist_edges.form_matrix(X + 7.0, laplacian) == pytest.approx(expected, abs=1e-10)
    assert laplacian.matmat(np.ones((40, 1))) == pytest.approx(0.0, abs=1e-12)
    factors = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    for form in (X, sp.csc_array(X)):
        operator = QuadraticForm(form, factors, laplacian)
        scaled = expected * np.outer(factors, factors)
        v = np.arange(6.0)
        assert operator.matvec(v) == pytest.approx(scaled @ v, abs=1e-10)
        assert operator.sparse_matvec([1, 4], np.array([0.3, -1.0])) == pytest.approx(
            scaled[:, [1, 4]] @ [0.3, -1.0], abs=1e-10
        )
        assert operator.columns(np.array([2])) == pytest.approx(scaled[:, [2]], abs=1e-10)
        assert operator.diagonal() == pytest.approx(scaled.diagonal(), abs=1e-10)


def test_margins_equal_the_matrix_form():
    X, codes = rows(40, 6)
    edges = class_neighbors(X, codes, 3)
    B = np.random.default_rng(1).normal(size=(6, 2))
    expected = [np.sum(explicit_form(X, edges, np.eye(40)[i]) * (B @ B.T)) for i in range(40)]
    assert compute_margins(edges, X @ B) == pytest.approx(expected, abs=1e-10)
    assert compute_margins(edges, X @ B[:, 0]) + compute_margins(
        edges, X @ B[:, 1]
    ) == pytest.approx(expected, abs=1e-10)


# --------------------------------------------------------------------------- the sparse eigenvector
def symmetric(p, seed):
    A = np.random.default_rng(seed).normal(size=(p, p))
    return 0.5 * (A + A.T)


def test_directions_are_close_to_the_best_of_all_supports():
    ratios = []
    for seed in range(60):
        A = symmetric(14, seed)
        direction = leading_direction(ExplicitForm(A), 3)
        assert len(direction.indices) <= 3
        assert np.linalg.norm(direction.entries) == pytest.approx(1.0)
        v = np.zeros(14)
        v[direction.indices] = direction.entries
        assert direction.value == pytest.approx(v @ A @ v)
        ratios.append(direction.value / best_of_all(A, 3))
    # A search that may end beside the best: about one in ten is a tenth below it.
    assert np.quantile(ratios, 0.2) > 0.9
    assert np.mean(ratios) > 0.96


def test_power_steps_never_fall_with_the_shift():
    for seed in range(10):
        form = ExplicitForm(symmetric(30, seed))
        assert np.linalg.eigvalsh(form.matrix)[0] + definite_shift(form) >= -1e-10
        start = greedy_start(form, 4)
        worse = start._replace(indices=np.arange(4), entries=np.full(4, 0.5))
        for initial in (start, worse):
            direction, values = power_steps(form, initial, 4, definite_shift(form))
            assert (np.diff(values) >= -1e-10).all()
            assert direction.value >= max(values) - 1e-10


def test_the_operator_gives_the_direction_of_the_matrix():
    X, codes = rows(60, 30)
    laplacian = Laplacian(class_neighbors(X, codes, 3), np.arange(60), np.full(60, 1 / 60))
    a = leading_direction(ExplicitForm(sdist_edges.form_matrix(X, laplacian)), 5)
    b = leading_direction(QuadraticForm(sp.csc_array(X), np.ones(30), laplacian), 5)
    assert np.array_equal(a.indices, b.indices)
    assert a.entries == pytest.approx(b.entries, abs=1e-6)


# --------------------------------------------------------------- line search, screening, complexity
def test_line_search_and_its_degenerate_cases():
    rng = np.random.default_rng(0)
    row_weights, gains = rng.random(50), rng.normal(size=50) + 0.3
    row_weights /= row_weights.sum()
    w, status = line_search(row_weights, gains)
    assert status == "accepted"
    assert abs(row_weights @ (gains * np.exp(-w * gains))) < 1e-5
    assert line_search(row_weights, np.abs(gains)) == (
        pytest.approx(1.0 / np.abs(gains).mean()),
        "capped",
    )
    assert line_search(row_weights, -np.abs(gains)) == (0.0, "rejected")
    assert line_search(row_weights, np.zeros(50)) == (0.0, "rejected")
    with_outlier = np.append(gains, -1e6)
    w, status = line_search(np.append(row_weights, 1e-12), with_outlier)
    assert np.isfinite(w)
    assert w > 0.0


def test_the_line_search_stops_at_the_root_and_no_later(monkeypatch):
    """Newton's steps inside a bracket: a handful, and what is left is below the precision."""
    from scipy.optimize import brentq

    calls, derivatives = [], steps._loss_derivatives
    monkeypatch.setattr(
        steps, "_loss_derivatives", lambda *args: calls.append(args[2]) or derivatives(*args)
    )
    for seed, shift in enumerate([0.02, 0.1, 0.3, 0.5]):
        rng = np.random.default_rng(seed)
        row_weights, gains = rng.dirichlet(np.ones(60)), rng.normal(size=60)
        gains += shift - gains @ row_weights  # a mean that is `shift` of a deviation
        calls.clear()
        w, status = line_search(row_weights, gains)
        assert status == "accepted"
        root = brentq(
            lambda w: derivatives(row_weights, gains, w)[0], 0.0, 1.0 / np.abs(gains).mean()
        )
        assert w == pytest.approx(root, rel=2e-6)
        assert 3 <= len(calls) <= 7
        # Precise in units of the step, however small that is.
        assert 1e4 * line_search(row_weights, 1e4 * gains)[0] == pytest.approx(root, rel=2e-6)


def test_the_largest_components_come_first_and_no_more_than_asked_for():
    loadings = np.random.default_rng(0).normal(size=(6, 4))
    components = principal_components(loadings)
    singular_values = np.linalg.svd(loadings)[1]
    assert np.linalg.norm(components, axis=1) == pytest.approx(singular_values)
    assert components.T @ components == pytest.approx(loadings @ loadings.T)
    for max_rank, rows in ((2, 2), (4, 4), (9, 4)):
        assert principal_components(loadings, max_rank) == pytest.approx(components[:rows])


def test_boosting_weights_do_not_overflow():
    row_weights = boosting_weights(np.array([1.0, 2.0, 1.0]), np.array([-1e4, -1e4, 1e4]))
    assert row_weights == pytest.approx([1 / 3, 2 / 3, 0.0])


def test_t_statistic_is_students():
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(0).normal(size=30) + 0.2
    assert t_statistic(values) == pytest.approx(ttest_1samp(values, 0.0).statistic)
    assert t_statistic(np.zeros(5)) == 0.0


def test_complexity_is_the_trace_of_the_root():
    B = np.random.default_rng(0).normal(size=(7, 4)) * (
        np.random.default_rng(1).random((7, 4)) < 0.6
    )
    root = np.sqrt(np.maximum(np.linalg.eigvalsh(B @ B.T), 0.0)).sum()
    assert metric_complexity(sp.csc_array(B)) == pytest.approx(root)
    assert metric_complexity(sp.csc_array(B.T)) == pytest.approx(root)
    L = principal_components(B)
    assert np.abs(L.T @ L - B @ B.T).max() < 1e-12
    assert (np.diff(np.linalg.norm(L, axis=1)) <= 0.0).all()


# --------------------------------------------------------------------------- terms
def test_candidates_are_columns_and_products_of_selected_terms():
    candidates = Candidates(np.array([0, 2, 3, 5]), max_order=3, max_terms=100, standardize=True)
    for terms in ([(2,)], [(3,), (0,)], [(2, 3)], [(2, 2), (0,)]):
        candidates.select(terms)
        selected = list(candidates.selected)
        expected = {tuple(sorted(a + b)) for a in selected for b in selected if len(a + b) <= 3}
        assert set(candidates.products) == expected
        assert len(candidates.products) == len(expected)
    limited = Candidates(np.arange(9), max_order=2, max_terms=4, standardize=True)
    limited.select([(0,), (1,), (2,), (3,)])
    assert len(limited.products) == 4


def test_values_of_products_do_not_depend_on_their_construction():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 2, 3, 4] + 5
    weights = np.ones(50)
    scaling, dense = Scaling(X, weights, True), (X - X.mean(axis=0)) / X.std(axis=0)
    product_values = []
    for first, then in (((0,), (1, 2)), ((2,), (0, 1))):
        candidates = Candidates(np.arange(4), 3, 100, True)
        candidates.select([(0,), (1,), (2,), first, then])
        index = 4 + candidates.products.index((0, 1, 2))
        product_values.append(candidates.values(scaling, X, weights, np.array([index]))[:, 0])
    product = dense[:, :3].prod(axis=1)
    assert product_values[0] == pytest.approx(product / product.std())
    assert np.array_equal(*product_values)
    sparse = Scaling(sp.csr_array(X), weights, True)
    assert sparse.term_values(sp.csc_array(X), [(0,), (1, 3)], np.ones(2)) == pytest.approx(
        np.c_[dense[:, 0], dense[:, 1] * dense[:, 3]]
    )


def test_constant_columns_and_products_are_left_out():
    X = np.ones((20, 3))
    X[:, 1] = np.where(np.arange(20) % 2, 1.0, -1.0)
    X[:, 2] *= 1e8
    scaling = Scaling(X, np.ones(20), True)
    assert scaling.usable.tolist() == [1]
    candidates = Candidates(scaling.usable, 2, 10, True)
    candidates.select([(1,)])
    # Its square is 1.
    assert not candidates.values(scaling, X, np.ones(20), np.array([0, 1]))[:, 1].any()
