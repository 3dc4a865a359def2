"""Sums over partitions: what one machine finds but for rounding, the same bits whoever adds."""

import numpy as np
import pytest
import scipy.sparse as sp
from clusters.helpers import BLOCKS, CUTS, SimulatedWorkers, X, Y, bits, write_parts
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import tamis.distributed as td
from tamis import (
    BCWClassifier,
    FTRLClassifier,
    LowRankClassifier,
    LowRankFactorization,
    LowRankLasso,
    OnlineClassifier,
    RankOneLasso,
    RDAClassifier,
    RDARegressor,
    SieveClassifier,
    load,
    save,
)
from tamis.data.rows import ReadError
from tamis.distributed import fitting, schedule
from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.summing import dual_averaging, sums
from tamis.distributed.summing.statistics import column_statistics

W = (np.arange(300) % 3).astype(float)
Z = np.random.default_rng(0).normal(size=(300, 3))
TARGETS = np.asarray(X[:, :4] @ np.arange(24.0).reshape(4, 6) / 12.0) + 0.1 * np.tile(Z, 2)
LABELS = np.stack([Y, 1 - Y, Y], axis=1)
LOW = Z @ (np.arange(60.0).reshape(3, 20) % 7.0)  # of rank 3
FACTORS = ("U_", "S_", "W_", "mean_", "error_lower_", "error_upper_", "error_fro_")
SOLVED = ("coef_", "intercept_", "alpha_", "radius_", "objective_", "residual_bound_")
LEARNT = ("coef_", "intercept_", "variance_", "gap_")
RANK = {"n_components": 10, "random_state": 0}


def cut(rows, y, weights=None):
    """Blocks of some rows."""
    beside = () if weights is None else (weights,)
    return [(rows[a:b], y[a:b], *(one[a:b] for one in beside)) for a, b in CUTS]


# --------------------------------------------------------------------------- against one machine
@pytest.mark.parametrize(
    ("model", "rows", "y", "weights", "names"),
    [
        (LowRankFactorization(5, random_state=0), X, Y, None, FACTORS),
        (LowRankFactorization(5, center=False, random_state=0), X, Y, W, FACTORS),
        (LowRankFactorization(5, n_power_iter=0, random_state=0), X.toarray(), Y, W, FACTORS),
        (LowRankFactorization(8, random_state=0), LOW, Y, None, FACTORS[:4]),
        (LowRankLasso(**RANK), X, TARGETS, W, SOLVED),
        (LowRankLasso(fit_intercept=False, **RANK), X, TARGETS[:, 0], None, SOLVED),
        (LowRankLasso(robustness=0.0, **RANK), LOW, LOW[:, :2] * 2.0, None, SOLVED[1:3]),
        (LowRankLasso(**RANK), X, sp.csr_array(TARGETS), None, SOLVED),
        (LowRankClassifier(class_weight="balanced", **RANK), X, Y, W, SOLVED),
        (LowRankClassifier(threshold=0.1, **RANK), X, LABELS, None, (*SOLVED, "thresholds_")),
        (
            RankOneLasso(random_state=0),
            LOW,
            LOW[:, :2] + Z[:, :2],
            W,
            (*SOLVED[:3], "value_", "dual_"),
        ),
        (BCWClassifier(shuffle=False), X, Y, W, LEARNT),
        (BCWClassifier(shuffle=False, class_weight="balanced"), X.toarray(), Y, W, LEARNT),
        (BCWClassifier(shuffle=False), X, np.arange(300) % 3, None, LEARNT),
        (BCWClassifier(shuffle=False, cov_C=0.0, fit_intercept=False), X, Y, None, LEARNT),
        (BCWClassifier(shuffle=False, cov_C=0.01, max_iter=50), X.toarray(), Y, None, LEARNT),
        (BCWClassifier(cov_C=0.01, max_iter=500, tol=1e-12), X.toarray(), Y, None, LEARNT[:3]),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sum_is_the_fit_of_one_machine(model, rows, y, weights, names):
    whole = clone(model).fit(rows, y, sample_weight=weights)
    found = td.fit(clone(model), cut(rows, y, weights), how="sum")
    assert found.n_features_in_ == rows.shape[1]
    near = 1e-5 if getattr(model, "tol", None) == 1e-12 else 1e-9  # a gap is the square of an error
    for name in names:
        want, got = np.asarray(getattr(whole, name)), np.asarray(getattr(found, name))
        assert got.shape == want.shape
        assert np.allclose(got, want, rtol=near, atol=near * np.abs(want).max()), name
    if hasattr(model, "predict"):
        assert np.array_equal(found.predict(rows) > 0.5, whole.predict(rows) > 0.5)
        assert found.n_iter_ == whole.n_iter_ or near > 1e-9


def test_triangles_keep_what_squares_lose():
    """Of singular values that are nine digits apart, both are found."""
    rows = np.outer(Z[:, 0], np.ones(5)) + 1e-9 * np.outer(Z[:, 1], [1.0, -1.0, 0.0, 0.0, 0.0])
    given = {"n_components": 2, "center": False, "random_state": 0}
    found = td.fit(LowRankFactorization(**given), cut(rows, Y), how="sum")
    whole = LowRankFactorization(**given).fit(rows)
    assert np.allclose(found.S_, whole.S_, rtol=1e-6)
    assert np.allclose(found.U_.T @ found.U_, np.eye(2), atol=1e-5)  # U = X F: as many are lost


def test_rows_that_do_not_fit_here_stay_where_they_are(monkeypatch, tmp_path):
    whole = td.fit(LowRankLasso(**RANK), cut(X, TARGETS), how="sum")
    monkeypatch.setattr(sums, "PARTITION_MEMORY", 1000)
    with pytest.warns(UserWarning, match="U_ is left empty: 300 rows of 10 numbers"):
        found = td.fit(LowRankLasso(**RANK), cut(X, TARGETS), how="sum")
    assert found.factorization_.U_.shape == (0, 10)
    for name in SOLVED:
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    save(found, tmp_path / "a.tamis")
    assert np.array_equal(load(tmp_path / "a.tamis").predict(X), whole.predict(X))


def test_columns_have_the_moments_of_one_machine(tmp_path):
    dense = X.toarray()
    dense[:, 3] += 1e9  # nothing cancels
    found = td.column_statistics(cut(dense, Y, W))
    whole = StandardScaler().fit(dense, sample_weight=W)
    assert (found.rows, found.weight) == (200, 300.0)
    assert np.allclose(found.mean, whole.mean_, rtol=1e-12)
    assert np.allclose(found.variance[:3], whole.var_[:3], rtol=1e-12)
    about = np.average((dense[:, 3] - 1e9 - found.mean[3] + 1e9) ** 2, weights=W)
    assert np.isclose(found.variance[3], about, rtol=1e-4)
    assert np.allclose(found.squares, W @ dense**2)
    assert np.allclose(found.share, W @ (dense != 0) / 300.0)
    assert np.array_equal(found.largest, np.abs(dense[W > 0]).max(axis=0))
    files = td.column_statistics(write_parts(tmp_path))
    assert np.array_equal(files.deviation, td.column_statistics(BLOCKS).deviation)


# --------------------------------------------------------------------------- dual averaging
def test_a_step_is_the_sum_of_all_gradients(monkeypatch):
    monkeypatch.setattr(dual_averaging, "STEPS", 1)
    given = {"alpha": 1e-3, "eta": 2.0, "fit_intercept": False}
    model = td.fit(RDAClassifier(**given), BLOCKS, how="sum")
    gradient = np.asarray(X.T @ (0.5 - Y))
    top = np.linalg.eigvalsh((X.T @ X).toarray() / 300.0)[-1]
    scale = 1.0 / (np.sqrt(300.0) / 2.0 + dual_averaging.MARGIN * top * 300.0 / 4.0)
    want = -scale * np.sign(gradient) * np.maximum(np.abs(gradient) - 0.3, 0.0)
    assert np.allclose(model.coef_[0], want, rtol=1e-3, atol=0)
    assert (want == 0).any()
    assert model.t_ == 300


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (RDAClassifier(), Y),
        (RDAClassifier(class_weight="balanced", loss="hinge"), Y),
        (RDAClassifier(), np.arange(300) % 3),
        (OnlineClassifier(optimizer="dual_averaging"), Y),
        (RDARegressor(), TARGETS),
    ],
)
def test_many_steps_learn_as_a_pass_does(model, y):
    found = td.fit(clone(model), cut(X, y, W), how="sum", sweeps=8)
    walked = td.fit(clone(model), cut(X, y, W), sweeps=8, paths=1)
    assert found.t_ == walked.t_ == 1600
    assert found.score(X, y) > walked.score(X, y) - 0.05
    assert found.get_params() == model.get_params()


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_steps_by_many_rows_do_not_overshoot(shift):
    """All rows pull one way, the intercept too: the loss of a sweep falls all the same."""
    rows = np.ones((300, 4)) * 10.0 + shift + 1e-3 * np.tile(Z[:, :1], 4)
    losses = [
        td.fit(RDAClassifier(alpha=0.0), cut(rows, Y), how="sum", sweeps=s).history_[-1]["loss"]
        for s in (1, 2, 4)
    ]
    assert losses[2] <= losses[1] <= losses[0] < 0.8


def test_sweeps_go_on_from_a_checkpoint(monkeypatch, tmp_path):
    model = RDAClassifier(class_weight="balanced")
    whole = td.fit(clone(model), BLOCKS, how="sum", sweeps=3)
    put, given = PathCheckpoints.put, {"how": "sum", "sweeps": 3, "checkpoint": tmp_path / "run"}

    def stop(self, done, paths):
        put(self, done, paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(PathCheckpoints, "put", stop)
    with pytest.raises(KeyboardInterrupt):
        td.fit(clone(model), BLOCKS, **given)
    monkeypatch.setattr(PathCheckpoints, "put", put)
    asked, stepped = [], dual_averaging.dual_averaging_step
    monkeypatch.setattr(
        dual_averaging, "dual_averaging_step", lambda *g: asked.append(1) or stepped(*g)
    )
    found = td.fit(clone(model), BLOCKS, **given)
    assert bits(found) == bits(whole)
    assert found.class_weight == "balanced"
    assert len(asked) == 2 * dual_averaging.STEPS


def test_a_fitted_one_goes_on_where_it_can():
    model = td.fit(RDAClassifier(), BLOCKS, how="sum")
    assert td.fit(model, BLOCKS, how="sum").t_ == 600
    fitted = BCWClassifier(shuffle=False).fit(X, np.arange(300) % 3)
    assert bits(td.fit(fitted, BLOCKS, how="sum")) == bits(
        td.fit(BCWClassifier(shuffle=False), BLOCKS, how="sum")
    )


# --------------------------------------------------------------------------- the tree
MODELS = [RDAClassifier(), BCWClassifier(random_state=0), LowRankClassifier(**RANK)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_neither_workers_nor_their_loss_change_a_bit(
    model, simulated_workers, tmp_path, monkeypatch
):
    monkeypatch.setattr(dual_averaging, "STEPS", 8)
    whole = td.fit(clone(model), BLOCKS, how="sum")
    for workers, lost in ((1, ()), (3, ()), (7, (3,)), (2, (2, 5, 6))):
        simulated_workers(workers, lost=lost)
        assert bits(td.fit(clone(model), BLOCKS, how="sum")) == bits(whole)
    simulated_workers(2, capacity=0)  # what is not held is read anew
    assert bits(td.fit(clone(model), write_parts(tmp_path), how="sum")) == bits(whole)


def name_of(blocks):
    return str([len(list(blocks)), blocks.partition.number][1])


def pair(left, right):
    return f"({left}{right})"


def test_the_tree_goes_by_numbers_and_leaves_out_what_is_empty():
    blocks = [BLOCKS[0], BLOCKS[1], (X[:0], Y[:0]), *BLOCKS[2:], BLOCKS[0]]
    placement = fitting.plan(None, blocks, SimulatedWorkers(3), None, None, {})
    tree = sums.Sums(placement)
    assert tree.total(name_of, merge=pair) == "(((01)(34))5)"
    assert tree.each(name_of) == ["0", "1", "3", "4", "5"]


def test_partitions_of_one_class_and_without_rows():
    order = np.argsort(Y, kind="stable")
    rows, y = X[order], Y[order]
    blocks = [(rows[a:b], y[a:b]) for a, b in [(0, 100), (100, 100), (100, 300)]]
    whole = BCWClassifier(shuffle=False).fit(rows, y)
    assert np.allclose(
        td.fit(BCWClassifier(shuffle=False), blocks, how="sum").coef_, whole.coef_, rtol=1e-9
    )
    assert td.fit(RDAClassifier(), blocks, how="sum").classes_.tolist() == [0, 1]


# --------------------------------------------------------------------------- accounts and refusals
def test_a_sum_without_all_rows_is_an_error(monkeypatch):
    total_of = sums.total_of

    def broken(task, partition, arguments, part):
        found = total_of(task, partition, arguments, part)
        return found._replace(rows=found.rows - (partition.number == 1))

    monkeypatch.setattr(sums, "total_of", broken)
    with pytest.raises(schedule.AccountError, match=r"299 rows.* \[0, 1, 2, 3\]"):
        column_statistics(BLOCKS)
    with pytest.raises(schedule.AccountError, match=r"a sweep has learnt 236 rows, where 300"):
        td.fit(RDAClassifier(), BLOCKS, how="sum")
    monkeypatch.setattr(sums, "total_of", lambda *g: total_of(*g)._replace(partitions=(0,)))
    with pytest.raises(schedule.AccountError, match=r"of partitions \[0, 0, 0, 0\], where"):
        column_statistics(BLOCKS)


def test_a_file_that_has_lost_rows(tmp_path, simulated_workers, monkeypatch):
    glob, plan = write_parts(tmp_path), fitting.plan

    def changed(*given):
        found = plan(*given)
        monkeypatch.setattr("tamis.distributed.worker_tasks.fingerprint", lambda name: {})
        (tmp_path / "part-1.svm").write_text("1 1:1\n")
        return found

    monkeypatch.setattr(fitting, "plan", changed)
    with pytest.raises(ReadError, match=r"part-1.svm: 1 rows, where there were 70"):
        td.fit(BCWClassifier(), glob, how="sum")


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (FTRLClassifier(), {}, "FTRLClassifier.*RDAClassifier"),
        (RDAClassifier(average=True), {}, "pass average=False"),
        (SieveClassifier(), {}, "Got SieveClassifier"),
        (BCWClassifier(solver="kernel"), {}, "pass solver='auto'"),
        (BCWClassifier(), {"sweeps": 2}, "sweeps=2: .*BCWClassifier"),
        (BCWClassifier(), {"checkpoint": "run"}, "no state between its rounds"),
        (LowRankClassifier(threshold="f1"), {}, "pass a number as threshold"),
        (RDAClassifier(), {"paths": 2}, "how='sum' has one path"),
    ],
)
def test_what_is_no_sum(model, given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        td.fit(model, BLOCKS, how="sum", **given)


def test_thresholds_of_labels_need_all_scores():
    with pytest.raises(ValueError, match="Pass a number as threshold"):
        td.fit(LowRankClassifier(**RANK), cut(X, LABELS), how="sum")
