"""Online group lasso: lazy equals the equations, special cases, scale, zeros, overlap, and its
limit against a batch solution.
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from solvers.textbook_blocks import EagerDualAveraging, softmax_gradient
from tiny import one_pass, quiet

import tamis
from tamis import OnlineGroupLassoClassifier, OnlineGroupLassoRegressor, RDAClassifier
from tamis.base.feature_groups import parse_feature_groups
from tamis.solvers.online_groups.loop import MIN_PREFETCHED_CELLS
from tamis.solvers.path.loop import dual_blocks, prox_blocks, value_blocks
from tamis.terms import Hinge, Huber, Logistic, SparseGroup, Squared

N, P = 60, 12
X = tiny.matrix(N, P)
Y, NUMBERS, THREE, W = tiny.signs(X), tiny.numbers(X), tiny.classes(N), tiny.weights(N)
APART = [[0, 1, 2], [3, 4, 5, 6], [7], [8, 9, 10, 11]]
OVERLAPPING = [[0, 1, 2, 3], [2, 3, 4, 5], [5, 6], [7, 8, 9], [9, 10, 11]]
KINDS = [
    {},
    {"l1_weights": 1.0},
    {"l1_ratio": 1.0},
    {"l1_ratio": 0.3, "fading_threshold": 0.02},
    {"l1_weights": [0.0, 1.0, 0.5, 0.0], "group_weights": 0.7},
]


def eager_of(groups, kind, outputs=1, **settings):
    """The textbook's state for a model's groups and weights."""
    given = {name: value for name, value in kind.items() if name != "fading_threshold"}
    blocks = parse_feature_groups(groups, P, **given)
    sets = np.split(blocks.members.astype(int), blocks.starts[1:-1].astype(int))
    rho = kind.get("fading_threshold", 0.0)
    return EagerDualAveraging(
        sets, blocks.weights, blocks.l1_weights, (P, outputs), rho=rho, **settings
    )


def assert_shows(model, eager, tolerance=1e-12):
    weights, intercepts = eager.weights_and_intercepts()
    scale = max(1.0, abs(weights).max())
    assert abs(np.atleast_2d(model.coef_).T - weights).max() <= tolerance * scale
    assert abs(model.intercept_ - intercepts).max() <= tolerance * max(1.0, abs(intercepts).max())


# ----------------------------------------------------------------------- lazy equals eager (A.7, 1)
@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("groups", [APART, OVERLAPPING], ids=["apart", "overlapping"])
def test_lazy_is_eager(interpreted, kind, groups):
    if groups is OVERLAPPING and np.ndim(kind.get("l1_weights", 0)):
        return
    for loss, intercept, eta in itertools.product(
        [Squared(), Huber(0.5), Logistic(), Hinge()], [True, False], ["auto", 1.0 / 9.0]
    ):
        regression = isinstance(loss, (Squared, Huber))
        cls, y = (
            (OnlineGroupLassoRegressor, NUMBERS) if regression else (OnlineGroupLassoClassifier, Y)
        )
        model = one_pass(
            cls,
            feature_groups=groups,
            alpha=0.02,
            eta=eta,
            loss=loss,
            fit_intercept=intercept,
            **kind,
        )
        quiet(model.fit, X, y, sample_weight=W)
        clock = {"eta": None} if eta == "auto" else {"eta": eta, "t0": 0.0}
        eager = eager_of(groups, kind, alpha=0.02, intercept=intercept, **clock)
        for x, target, weight in zip(X, y, W, strict=True):
            if weight:
                eager.step(
                    x,
                    lambda f, target=target, loss=loss: np.array(
                        [loss.gradient(float(f[0]), target)]
                    ),
                    weight,
                )
        assert_shows(model, eager)
        assert model.coef_.any()


@pytest.mark.parametrize("kind", [{}, {"l1_ratio": 0.3}], ids=repr)
def test_lazy_is_eager_for_several_classes(interpreted, kind):
    """One softmax over all classes, blocks over all of them."""
    model = quiet(
        one_pass(OnlineGroupLassoClassifier, feature_groups=APART, alpha=0.03, **kind).fit, X, THREE
    )
    eager = eager_of(APART, kind, 3, alpha=0.03)
    for x, code in zip(X, THREE, strict=True):
        eager.step(x, softmax_gradient(code, 3))
    assert_shows(model, eager)
    for members in APART:
        # A group goes for all classes.
        assert len({bool(v) for v in (model.coef_[:, members] != 0).any(axis=1)}) == 1 or kind
    scores = model.decision_function(X)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.allclose(
        model.predict_proba(X), powers / powers.sum(axis=1, keepdims=True), rtol=1e-12
    )


def test_t0_zero_is_the_published_update(interpreted):
    """beta = sqrt(t) / eta, one row by hand and then all."""
    model = OnlineGroupLassoRegressor(
        feature_groups=[[0, 1]], alpha=0.1, eta=0.5, fit_intercept=False
    )
    model.partial_fit([[3.0, 4.0]], [1.0])
    # U = -(3, 4), t = 1: w = (1/2) (1 - 0.1 sqrt(2) / 5) (3, 4)
    assert model.coef_ == pytest.approx(
        0.5 * (1 - 0.1 * 2**0.5 / 5) * np.array([3.0, 4.0]), rel=1e-15
    )
    assert model.resolved_params_ == {"alpha": 0.1, "eta": 0.5, "t0": 0.0}


# ----------------------------------------------------------------------- state (A.7, 2, 4, 6, 7, 8)
def test_squares_do_not_drift_over_many_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 20)) * 10.0 ** rng.uniform(-2, 2, size=(3000, 1))
    model = OnlineGroupLassoRegressor(feature_groups=np.arange(20) // 5, alpha=0.01).partial_fit(
        rows, rng.normal(size=3000)
    )
    engine = model._solver_state
    exact = (engine.state[0].reshape(4, 5) ** 2).sum(axis=1)
    assert engine.squares == pytest.approx(exact, rel=1e-10)
    assert engine.lazy[0] == model.t_ == 3000


def test_a_penalty_above_every_prefix_keeps_the_model_empty(interpreted):
    """For all t: alpha a_g is at least the norm of each prefix's mean slope at 0."""
    slopes = -0.5 * Y[:, None] * X
    means = np.cumsum(slopes, axis=0) / np.arange(1, N + 1)[:, None]
    alpha = max(np.linalg.norm(means[:, g], axis=1).max() / np.sqrt(len(g)) for g in APART)
    model = OnlineGroupLassoClassifier(
        feature_groups=APART, alpha=alpha * (1 + 1e-9), fit_intercept=False
    )
    for i in range(N):
        quiet(model.partial_fit, X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
        assert not model.coef_.any()
    less = OnlineGroupLassoClassifier(feature_groups=APART, alpha=alpha * 0.9, fit_intercept=False)
    seen = False
    for i in range(N):
        seen |= quiet(less.partial_fit, X[i : i + 1], Y[i : i + 1], classes=[-1, 1]).coef_.any()
    assert seen


def fitted(**given):
    return quiet(
        one_pass(
            OnlineGroupLassoClassifier, **{"feature_groups": APART, "alpha": 0.02, **given}
        ).fit,
        X,
        Y,
    ).coef_


def test_special_cases(interpreted):
    group = fitted()
    # Trimmed by 0, norms summed anew.
    assert np.allclose(fitted(l1_weights=0.0), group, rtol=0, atol=1e-15)
    assert np.array_equal(fitted(l1_weights=1.0, fading_threshold=0.0), fitted(l1_weights=1.0))
    lasso = fitted(l1_ratio=1.0)
    assert np.allclose(
        fitted(feature_groups=None), lasso, rtol=0, atol=1e-15
    )  # groups of one column
    assert np.allclose(fitted(group_weights=0.0, l1_weights=1.0), lasso, rtol=0, atol=1e-15)
    dual = quiet(
        one_pass(RDAClassifier, alpha=0.02, eta=1.0 / 7.0, fit_intercept=False).fit, X, Y
    ).coef_
    alone = fitted(l1_ratio=1.0, eta=1.0 / 7.0, fit_intercept=False)
    assert np.allclose(alone, dual, rtol=0, atol=1e-14)  # L1-RDA


def test_a_larger_fading_threshold_keeps_fewer():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1000, 60))
    y = rows[:, :20] @ rng.choice([-1.0, 1.0], 20) + 4 * rng.normal(size=1000) > 0
    counts = [
        np.count_nonzero(
            one_pass(
                OnlineGroupLassoClassifier,
                feature_groups=np.arange(60) // 10,
                alpha=0.005,
                l1_weights=1.0,
                fading_threshold=threshold,
                eta=0.2,
                t0=0.0,
            )
            .fit(rows, y)
            .coef_
        )
        for threshold in (0.0, 0.05)
    ]
    assert 0 < counts[1] < counts[0]


@pytest.mark.parametrize("kind", [{}, {"l1_weights": 1.0}], ids=repr)
def test_scaled_rows_scale_the_weights(interpreted, kind):
    a = fitted(fit_intercept=False, **kind)
    for factor in (3.0, 1e-3):
        model = one_pass(
            OnlineGroupLassoClassifier,
            feature_groups=APART,
            alpha=0.02 * factor,
            fit_intercept=False,
            **kind,
        )
        assert np.allclose(
            quiet(model.fit, factor * X, Y).coef_ * factor, a, rtol=1e-10, atol=1e-13
        )


def test_scaled_weights_of_rows_change_nothing(interpreted):
    model = one_pass(OnlineGroupLassoClassifier, feature_groups=APART, alpha=0.02)
    a = quiet(model.fit, X, Y, sample_weight=W).coef_
    assert np.allclose(quiet(model.fit, X, Y, sample_weight=8.0 * W).coef_, a, rtol=1e-13, atol=0)


def test_groups_go_as_a_whole_with_true_zeros():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 30))
    y = rows[:, :5].sum(axis=1) + rng.normal(size=500)
    model = OnlineGroupLassoRegressor(
        feature_groups=np.arange(30) // 5, alpha=0.15, random_state=0
    ).fit(rows, y)
    for g, members in enumerate(model.feature_groups_):
        assert np.count_nonzero(model.coef_[members]) in (0, 5)
        assert (g in model.group_support_) == model.coef_[members].any()
    assert 0 in model.group_support_
    assert len(model.group_support_) < 6


# --------------------------------------------------------------------------- overlap
def test_overlap_is_a_run_on_copied_columns(interpreted):
    copies = np.concatenate(OVERLAPPING)
    ends = np.cumsum([len(g) for g in OVERLAPPING])
    apart = [list(range(end - len(g), end)) for g, end in zip(OVERLAPPING, ends, strict=True)]
    given = {"alpha": 0.02, "eta": 1.0 / 30.0, "t0": 5.0, "l1_ratio": 0.2}
    model = quiet(
        one_pass(OnlineGroupLassoClassifier, feature_groups=OVERLAPPING, **given).fit, X, Y
    )
    copied = quiet(
        one_pass(OnlineGroupLassoClassifier, feature_groups=apart, **given).fit, X[:, copies], Y
    )
    sums = np.zeros(P)
    np.add.at(sums, copies, copied.coef_[0])
    assert np.allclose(model.coef_[0], sums, rtol=0, atol=1e-15)


def test_edges_of_a_graph():
    """A column is kept only through an edge that is kept."""
    edges = np.array([[j, j + 1] for j in range(P - 1)])
    model = quiet(
        OnlineGroupLassoRegressor(feature_groups=edges, alpha=0.05, random_state=0).fit, X, NUMBERS
    )
    assert set(model.support_) <= set(
        np.concatenate([model.feature_groups_[g] for g in model.group_support_])
    )
    assert len(model.feature_groups_) == P - 1


# --------------------------------------------------------------------------- the limit
def batch(rows, y, blocks, alpha, loss, bend, steps=3000):
    """Proximal gradient on F without intercept."""
    penalty, about = SparseGroup(alpha), (*blocks[1:4],)
    order = blocks.members.astype(int)
    Z = rows[:, order]
    step = 1.0 / (bend * np.linalg.norm(Z, 2) ** 2 / len(Z))
    slopes = np.vectorize(loss.gradient)
    w = np.zeros(Z.shape[1])
    for _ in range(steps):
        v = w - step * Z.T @ slopes(Z @ w, y) / len(Z)
        prox_blocks(v, step, *about, penalty, np.uint64(1), w)
    values = np.vectorize(loss.value)

    def objective(v):
        return values(Z @ v, y).mean() + value_blocks(v, *about, penalty, np.uint64(1))

    return objective, w, order


@pytest.mark.parametrize("kind", [{}, {"l1_weights": 1.0}], ids=repr)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_passes_approach_the_batch_solution(kind, loss):
    rng = np.random.default_rng(5)
    rows, truth = rng.normal(size=(400, 20)), np.repeat([1.0, 0.0, -1.0, 0.0], 5)
    score = rows @ truth + 0.5 * rng.normal(size=400)
    y, cls = (
        (score, OnlineGroupLassoRegressor)
        if isinstance(loss, Squared)
        else (np.sign(score), OnlineGroupLassoClassifier)
    )
    blocks = parse_feature_groups(np.arange(20) // 5, 20, **kind)
    null = rows.T @ np.vectorize(loss.gradient)(np.zeros(400), y) / 400
    alpha = 0.2 * dual_blocks(null, *blocks[1:4], SparseGroup(), np.uint64(1))
    objective, best, order = batch(rows, y, blocks, alpha, loss, loss.hessian_bound())
    empty = objective(np.zeros(20))
    given = {
        "feature_groups": np.arange(20) // 5,
        "alpha": alpha,
        "fit_intercept": False,
        "max_iter": 60,
        "tol": None,
        "t0": 0.3 * 400 * 60,
        **kind,
    }
    model = cls(random_state=0, **given).fit(rows, y)
    assert objective(np.ravel(model.coef_)[order]) - objective(best) < 0.02 * (
        empty - objective(best)
    )
    assert set(np.flatnonzero(best) // 5) == set(model.group_support_)


# --------------------------------------------------------------------------- manners
def test_names_and_prefixes_of_a_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"{'ab'[j % 2]}_{j}" for j in range(P)])
    by_prefix = quiet(
        OnlineGroupLassoClassifier(feature_groups=["a_", "b_"], alpha=0.02, random_state=0).fit,
        frame,
        Y,
    )
    by_label = quiet(
        OnlineGroupLassoClassifier(
            feature_groups=tamis.groups_from_names(frame), alpha=0.02, random_state=0
        ).fit,
        frame,
        Y,
    )
    assert np.array_equal(by_prefix.coef_, by_label.coef_)
    assert [g.tolist() for g in by_prefix.feature_groups_] == [
        list(range(0, P, 2)),
        list(range(1, P, 2)),
    ]


def test_a_column_without_penalty_always_stays():
    labels = [None, *[0] * (P - 1)]
    model = quiet(
        OnlineGroupLassoRegressor(
            feature_groups=labels, alpha=50.0, fading_threshold=1.0, random_state=0
        ).fit,
        X,
        NUMBERS,
    )
    assert model.support_.tolist() == [0]


def test_saved_groups_go_on(tmp_path):
    model = OnlineGroupLassoClassifier(feature_groups=OVERLAPPING, alpha=0.02).partial_fit(
        X[:30], Y[:30], classes=[-1, 1]
    )
    tamis.save(model, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    for one in (model, again):
        quiet(one.partial_fit, X[30:], Y[30:])
    tiny.assert_same(model, again, X)
    broken = tamis.load(tmp_path / "model.tamis")
    broken._solver_state.members = broken._solver_state.members + np.uint32(40)
    tamis.save(broken, tmp_path / "broken.tamis")
    with pytest.raises(ValueError, match=r"OnlineGroupLassoClassifier\._solver_state\.members"):
        tamis.load(tmp_path / "broken.tamis")


def test_sparse_rows_touch_only_their_groups():
    """Rows of one group leave the sums of all others as they were."""
    rows = sp.csr_array(([1.0, 2.0], ([0, 0], [3, 5])), shape=(1, P))
    model = OnlineGroupLassoRegressor(feature_groups=APART, alpha=0.01).partial_fit(rows, [1.0])
    assert np.flatnonzero(model._solver_state.state[0]).tolist() == [3, 5]
    assert np.flatnonzero(model._solver_state.squares).tolist() == [1]


@pytest.mark.parametrize("kind", [{}, {"l1_weights": 1.0}], ids=repr)
def test_columns_that_no_row_has_change_no_bit(kind):
    """A wide model fetches the groups of the next row, here of any length, before it reads them."""
    rng, d = np.random.default_rng(0), 5 * MIN_PREFETCHED_CELLS
    rows = sp.random_array((200, 40), density=0.2, rng=rng, format="csr")
    rows = sp.vstack([rows, sp.csr_array((3, 40)), rows[:50]], format="csr")
    places = np.r_[np.arange(20), np.arange(d - 20, d)]  # groups of 5, at both ends
    wide = sp.csr_array((rows.data, places[rows.indices], rows.indptr), shape=(rows.shape[0], d))
    y = rng.normal(size=rows.shape[0])
    for passes in ({"shuffle": False}, {"random_state": 0}):
        narrow, large = (
            OnlineGroupLassoRegressor(
                np.arange(table.shape[1]) // 5, alpha=1e-4, max_iter=2, tol=None, **passes, **kind
            ).fit(table, y)
            for table in (rows, wide)
        )
        assert np.array_equal(narrow.coef_, large.coef_[places])
        assert np.count_nonzero(narrow.coef_) == np.count_nonzero(large.coef_) > 10
        assert np.array_equal(narrow.predict(rows), large.predict(wide))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"t0": 0.0}, "t0=0 leaves eta='auto' without a scale"),
        ({"feature_groups": [[0, 99]]}, r"group 0 names column 99, outside 0\.\.11"),
        ({"l1_ratio": 0.5, "l1_weights": 1.0}, "were both given"),
        ({"eta": -1.0}, "'eta' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        OnlineGroupLassoRegressor(**given).fit(X, NUMBERS)
