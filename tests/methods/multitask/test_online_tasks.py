"""Online multi-task models: protocols against the equations, scikit-learn's MultiTaskLasso, late
tasks, chunks, routing.
"""

import numpy as np
import pytest
import tiny
from sklearn import config_context
from sklearn.linear_model import MultiTaskLasso
from sklearn.model_selection import cross_validate
from solvers.textbook_blocks import EagerDualAveraging, softmax_gradient
from tiny import quiet

import tamis
from tamis import OnlineGroupLassoRegressor, OnlineMultiTaskClassifier, OnlineMultiTaskRegressor

N, P = 60, 8
X = tiny.matrix(N, P)
NUMBERS, SIGNS, W = tiny.numbers(X), tiny.signs(X), tiny.weights(N)
TASK = np.array(["b", "a", "c"])[np.arange(N) * 7 % 5 % 3]
PENALTIES = {"individual": (0.0, 1.0), "shared": (1.0, 0.0), "shared+sparse": (1.0, 0.3)}


def eager_of(penalty, tasks, alpha=0.1, **settings):
    a, r = PENALTIES[penalty]
    return EagerDualAveraging(
        [[j] for j in range(P)], [a] * P, [r] * P, (P, tasks), alpha, **settings
    )


def stream(cuts, task=TASK, **given):
    """A regressor after partial_fit on the pieces of the rows."""
    model = OnlineMultiTaskRegressor(**{"alpha": 0.1, **given})
    for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
        quiet(model.partial_fit, X[start:stop], NUMBERS[start:stop], task[start:stop])
    return model


# --------------------------------------------------------------------------- equations
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("balance", [True, False], ids=["balanced", "plain"])
def test_a_stream_is_eager(interpreted, penalty, balance):
    """Tasks come one after the other; each row charges alpha over the tasks so far, and weighs N /
    (Q N_q) by the counts so far.
    """
    model = stream([], penalty=penalty, balance_tasks=balance)
    order = list(dict.fromkeys(TASK))
    eager, counts = eager_of(penalty, 3), dict.fromkeys(order, 0)
    for i, (x, y, task) in enumerate(zip(X, NUMBERS, TASK, strict=True)):
        counts[task] += 1
        met = sum(c > 0 for c in counts.values())
        weight = (i + 1) / (met * counts[task]) if balance else 1.0
        q = order.index(task)
        eager.step(x, lambda f, y=y: f - y, weight, slice(q, q + 1), 1.0 / met)
    weights, intercepts = eager.weights_and_intercepts()
    assert model.tasks_.tolist() == order
    assert np.allclose(model.coef_.T, weights, rtol=0, atol=1e-12 * max(1.0, abs(weights).max()))
    assert np.allclose(model.intercept_, intercepts, rtol=1e-12)
    assert model.coef_.any()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_round_is_eager(interpreted, penalty):
    """Without shuffling a round takes the next row of every task, short tasks beginning again; all
    see the same weights.
    """
    given = {"alpha": 0.1, "penalty": penalty, "shuffle": False, "max_iter": 2, "tol": None}
    model = quiet(OnlineMultiTaskRegressor(**given).fit, X, NUMBERS, TASK)
    order = list(dict.fromkeys(TASK))
    mine = [np.flatnonzero(task == TASK) for task in order]
    eager = eager_of(penalty, 3)
    for _ in range(2):
        for r in range(max(map(len, mine))):
            weights, intercepts = eager.weights_and_intercepts()
            taken = []
            for q, rows in enumerate(mine):
                i = rows[r % len(rows)]
                taken.append(
                    (
                        X[i],
                        np.array([X[i] @ weights[:, q] + intercepts[q] - NUMBERS[i]]),
                        slice(q, q + 1),
                    )
                )
            eager.add_gradients(taken)
    weights, intercepts = eager.weights_and_intercepts()
    assert np.allclose(model.coef_.T, weights, rtol=0, atol=1e-12 * max(1.0, abs(weights).max()))
    assert np.allclose(model.intercept_, intercepts, rtol=1e-12)
    assert model.t_ == 2 * max(map(len, mine))


@pytest.mark.parametrize("penalty", ["shared", "shared+sparse"])
def test_a_stream_of_several_classes_is_eager(interpreted, penalty):
    """Each task has its own softmax; a block holds a feature's weights for all classes of all
    tasks.
    """
    codes, order = tiny.classes(N), list(dict.fromkeys(TASK))
    model = OnlineMultiTaskClassifier(penalty, alpha=0.05, balance_tasks=False)
    quiet(model.partial_fit, X, codes, TASK, classes=[0, 1, 2])
    eager, met = eager_of(penalty, 9, alpha=0.05), set()
    for x, code, task in zip(X, codes, TASK, strict=True):
        met.add(task)
        q = order.index(task)
        eager.step(x, softmax_gradient(code, 3), 1.0, slice(3 * q, 3 * q + 3), 1.0 / len(met))
    weights, intercepts = eager.weights_and_intercepts()
    assert np.allclose(model.coef_.reshape(9, P).T, weights, rtol=0, atol=1e-12)
    assert np.allclose(model.intercept_.ravel(), intercepts, rtol=0, atol=1e-12)
    assert model.coef_.any()


# --------------------------------------------------------------------------- the limit
def shared_rows(seed=0, n=150, tasks=4):
    """Every task has the same rows: then scikit-learn's MultiTaskLasso has the same objective at
    the same alpha.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 15))
    truth = np.zeros((15, tasks))
    truth[:4] = rng.normal(size=(4, tasks))
    return rows, rows @ truth + rng.normal(size=(n, tasks))


@pytest.mark.parametrize("protocol", ["round", "stream"])
def test_both_protocols_approach_multi_task_lasso_at_the_same_alpha(protocol):
    rows, Z = shared_rows()
    n, tasks = Z.shape
    oracle = MultiTaskLasso(alpha=0.4, fit_intercept=False, tol=1e-8).fit(rows, Z)

    def objective(coef):
        return 0.5 * ((rows @ coef.T - Z) ** 2).sum() / n + 0.4 * np.linalg.norm(coef, axis=0).sum()

    stacked, y, task = np.vstack([rows] * tasks), Z.T.ravel(), np.repeat(np.arange(tasks), n)
    passes = 150
    horizon = 0.3 * passes * (n if protocol == "round" else n * tasks)
    model = OnlineMultiTaskRegressor(
        alpha=0.4,
        fit_intercept=False,
        protocol=protocol,
        max_iter=passes,
        tol=None,
        t0=horizon,
        random_state=0,
    )
    model.fit(stacked, y, task)
    order = np.argsort(model.tasks_)
    gap = (objective(model.coef_[order]) - objective(oracle.coef_)) / (
        objective(0 * oracle.coef_) - objective(oracle.coef_)
    )
    assert -1e-9 <= gap < 0.01
    assert set(model.support_) == set(np.flatnonzero(oracle.coef_.any(axis=0)))
    assert set(np.count_nonzero(model.coef_, axis=0)) <= {0, tasks}  # shared rows are whole


# --------------------------------------------------------------------------- invariants
def test_one_task_is_the_lasso_for_all_penalties(interpreted):
    given = {"alpha": 0.05, "shuffle": False, "max_iter": 2, "tol": None}
    lasso = quiet(OnlineGroupLassoRegressor(l1_ratio=1.0, **given).fit, X, NUMBERS).coef_
    for penalty, strength in (("individual", 1.0), ("shared", 1.0), ("shared+sparse", 1.0 / 1.3)):
        model = quiet(
            OnlineMultiTaskRegressor(penalty=penalty, **{**given, "alpha": 0.05 * strength}).fit,
            X,
            NUMBERS,
        )
        assert np.allclose(model.coef_, lasso, rtol=0, atol=1e-14)
        assert model.tasks_.tolist() == [0]


def test_without_l1_the_sparse_penalty_is_the_shared_one(interpreted):
    assert np.allclose(
        stream([], penalty="shared+sparse", l1_weight=0.0).coef_,
        stream([], penalty="shared").coef_,
        rtol=0,
        atol=1e-14,
    )


def test_renamed_tasks_change_nothing_and_permuted_ones_permute(interpreted):
    names = {"a": 7, "b": 3, "c": 5}
    model, other = stream([]), stream([], task=np.array([names[t] for t in TASK]))
    assert [names[t] for t in model.tasks_] == other.tasks_.tolist()
    assert np.array_equal(model.coef_, other.coef_)
    given = {"alpha": 0.1, "shuffle": False, "max_iter": 2, "tol": None}
    # Rounds see each task's rows in their order; only the order of the tasks is another.
    by_task = np.argsort(TASK, kind="stable")
    a = quiet(OnlineMultiTaskRegressor(**given).fit, X, NUMBERS, TASK)
    b = quiet(OnlineMultiTaskRegressor(**given).fit, X[by_task], NUMBERS[by_task], TASK[by_task])
    places = [b.tasks_.tolist().index(t) for t in a.tasks_]
    assert np.allclose(a.coef_, b.coef_[places], rtol=0, atol=1e-13)


@pytest.mark.parametrize("cuts", [[1], [5, 6, 40], list(range(1, N))], ids=len)
@pytest.mark.parametrize("penalty", ["shared", "shared+sparse"])
def test_chunks_do_not_change_the_bits(interpreted, cuts, penalty):
    """Tasks are met at their first row, not at their chunk."""
    late = np.where(np.arange(N) < 20, "first", TASK)
    whole, cut = stream([], task=late, penalty=penalty), stream(cuts, task=late, penalty=penalty)
    assert whole.tasks_.tolist() == cut.tasks_.tolist()
    assert np.array_equal(whole.coef_, cut.coef_)
    assert np.array_equal(whole.intercept_, cut.intercept_)


def test_a_late_task_starts_empty_and_leaves_the_others(interpreted):
    model = stream([])
    sums = model._solver_state.state.reshape(P, 3).copy()
    quiet(model.partial_fit, X[:1], NUMBERS[:1], ["new"])
    assert model.tasks_.tolist()[-1] == "new"
    assert model.coef_.shape == (4, P)
    assert np.array_equal(model._solver_state.state.reshape(P, 4)[:, :3], sums)
    assert (
        np.flatnonzero(model._solver_state.state.reshape(P, 4)[:, 3]).tolist()
        == np.flatnonzero(X[0]).tolist()
    )
    with pytest.raises(ValueError, match=r"'nobody' .*OnlineMultiTaskRegressor"):
        model.predict(X[:1], ["nobody"])


# ------------------------------------------------------------------------ classes, weights, routing
@pytest.mark.parametrize("y", [SIGNS, tiny.classes(N)], ids=["two", "three"])
def test_classifier(y):
    model = quiet(
        OnlineMultiTaskClassifier(alpha=0.05, random_state=0, max_iter=5, tol=None).fit, X, y, TASK
    )
    assert model.coef_.shape == ((3, P) if len(model.classes_) == 2 else (3, 3, P))
    scores, likely = model.decision_function(X, TASK), model.predict_proba(X, TASK)
    for q, task in enumerate(model.tasks_):
        mine = task == TASK
        by_hand = X[mine] @ model.coef_[q].T + model.intercept_[q]
        assert np.allclose(scores[mine], by_hand, rtol=1e-10, atol=1e-12)
    assert np.allclose(likely.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X, TASK), model.classes_[likely.argmax(axis=1)])
    assert model.score(X, y, TASK) == np.mean(model.predict(X, TASK) == y)
    assert np.allclose(np.exp(model.predict_log_proba(X, TASK)), likely)


@pytest.mark.parametrize("protocol", ["round", "stream"])
def test_rows_of_weight_0_are_nothing(interpreted, protocol):
    given = {"alpha": 0.1, "shuffle": False, "max_iter": 2, "tol": None, "protocol": protocol}
    kept = W > 0
    model = quiet(OnlineMultiTaskRegressor(**given).fit, X, NUMBERS, TASK, W)
    without = quiet(
        OnlineMultiTaskRegressor(**given).fit, X[kept], NUMBERS[kept], TASK[kept], W[kept]
    )
    places = [without.tasks_.tolist().index(t) for t in model.tasks_]
    assert np.allclose(model.coef_, without.coef_[places], rtol=0, atol=1e-13)
    scaled = quiet(OnlineMultiTaskRegressor(**given).fit, X, NUMBERS, TASK, 4.0 * W)
    assert np.allclose(scaled.coef_, model.coef_, rtol=1e-12)


def test_saved_and_continued(tmp_path):
    part = OnlineMultiTaskRegressor(alpha=0.1).partial_fit(X[:25], NUMBERS[:25], TASK[:25])
    tamis.save(part, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    quiet(again.partial_fit, X[25:], NUMBERS[25:], TASK[25:])
    assert np.array_equal(again.coef_, stream([]).coef_)
    assert np.array_equal(again.predict(X, TASK), stream([]).predict(X, TASK))


def test_tasks_are_routed_through_cross_validation():
    with config_context(enable_metadata_routing=True):
        model = OnlineMultiTaskRegressor(alpha=0.05, max_iter=3, tol=None, random_state=0)
        model.set_fit_request(task=True).set_score_request(task=True)
        scores = quiet(cross_validate, model, X, NUMBERS, cv=3, params={"task": TASK})["test_score"]
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: OnlineMultiTaskRegressor().fit(X, NUMBERS, TASK[:-1]),
            "task has 59 entries for 60 rows",
        ),
        (
            lambda: OnlineMultiTaskRegressor(protocol="round").partial_fit(X, NUMBERS, TASK),
            "partial_fit streams",
        ),
        (
            lambda: quiet(
                OnlineMultiTaskRegressor(max_iter=1, tol=None).fit, X, NUMBERS, TASK
            ).predict(X),
            "knows 3 tasks; pass task, one a row",
        ),
        (lambda: OnlineMultiTaskRegressor(penalty="both").fit(X, NUMBERS), "'penalty' parameter"),
    ],
    ids=["length", "round", "predict", "penalty"],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()
