"""A small cluster of this machine: bits of the rounds that are done here, whoever dies meanwhile.

The folder is not called as the package it tests: tests are on the path, and would be found for it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from clusters.helpers import BLOCKS, CUTS, X, Y, bits, write_parts

import tamis.distributed as td
from tamis import (
    AROWClassifier,
    BCWClassifier,
    FTRLClassifier,
    FTRLRegressor,
    GroupLassoClassifierCV,
    LowRankClassifier,
    LowRankFactorization,
    RDAClassifier,
    SieveClassifier,
    StabilitySelector,
    StabilizedSGDClassifier,
    StabilizedSGDClassifierCV,
    compare,
)
from tamis.data.rows import ReadError
from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.summing import dual_averaging

dask = pytest.importorskip("dask", reason="dask is not installed: pip install 'tamis[dask]'")
distributed = pytest.importorskip("distributed", reason="no distributed: pip install 'tamis[dask]'")
# One process for all of them: the cluster is made once.
pytestmark = pytest.mark.usefixtures("bounded")
LOCAL = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
QUICK = {
    "distributed.comm.timeouts.connect": "10s",  # of whoever is alive, however busy
    "distributed.worker.daemon": True,
    # Workers that are started are forked from a process that has loaded what they need.
    "distributed.worker.multiprocessing-method": "forkserver",
    # After 15 seconds a LocalCluster gives up a worker that a busy machine is slow to start again.
    "distributed.deploy.lost-worker-timeout": "1h",
}


def alive(pid):
    """Whether a process runs, and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=30):
    """Whether all processes end in time."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, pids))


@contextlib.contextmanager
def started(**more):
    """A cluster of two processes; none is left behind."""
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB", **LOCAL, **more}
    with dask.config.set(QUICK), distributed.LocalCluster(**options) as cluster:
        pids = {nanny.pid for nanny in cluster.workers.values()}
        with distributed.Client(cluster, timeout="30s") as client:
            client.wait_for_workers(2, timeout="60s")
            yield client
            with contextlib.suppress(OSError):  # one may have been killed a moment ago
                pids |= set(client.run(os.getpid, on_error="ignore").values())
    assert gone(pids - {os.getpid()}), "a worker outlives its cluster"


@pytest.fixture(scope="module")
def client():
    with started() as made:
        yield made


# --------------------------------------------------------------------------- the same bits
def as_delayed(folder):
    return [dask.delayed(lambda k=k: BLOCKS[k])() for k in range(4)]


def as_mixture(folder):
    lazy = (dask.delayed(BLOCKS[2][0]), BLOCKS[2][1])
    return [BLOCKS[0], dask.delayed(BLOCKS[1]), lazy, BLOCKS[3]]


FORMS = {
    "files": write_parts,
    "blocks": lambda folder: BLOCKS,
    "delayed": as_delayed,
    "mixture": as_mixture,
}


@pytest.mark.parametrize("how", ["walk", "mix"])
@pytest.mark.parametrize("form", FORMS)
def test_a_cluster_gives_the_bits_of_one_process(client, tmp_path, form, how):
    rows = FORMS[form](tmp_path)
    here = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    there = td.fit(FTRLClassifier(), rows, client, sweeps=4, how=how)
    assert bits(there) == bits(here)
    assert there.t_ == here.t_


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (AROWClassifier(), {"how": "mix", "merge": "precision", "sweeps": 4}),
        (FTRLClassifier(n_jobs=2, average=True), {}),
        (StabilizedSGDClassifier(n_paths=3, n_jobs=2, random_state=0), {"sweeps": 2}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_models(client, model, given):
    from sklearn.base import clone

    here, there = (
        td.fit(clone(model), BLOCKS, **given),
        td.fit(clone(model), BLOCKS, client, **given),
    )
    assert bits(there) == bits(here)
    assert there.get_params() == model.get_params()


@pytest.mark.parametrize(
    "model",
    [
        RDAClassifier(),
        BCWClassifier(max_iter=3, tol=None, random_state=0),
        LowRankClassifier(n_components=10, random_state=0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sums(client, tmp_path, model, monkeypatch):
    from sklearn.base import clone

    monkeypatch.setattr(dual_averaging, "STEPS", 8)
    here = td.fit(clone(model), BLOCKS, how="sum")
    there = td.fit(clone(model), write_parts(tmp_path), client, how="sum")
    assert bits(there) == bits(here)
    assert there.get_params() == model.get_params()


def test_sums_of_columns_and_factors(client):
    here, there = (td.column_statistics(BLOCKS, who) for who in (None, client))
    assert there.variance.tobytes() == here.variance.tobytes()
    made = [LowRankFactorization(5, random_state=0) for _ in range(2)]
    here, there = (
        td.fit(made[0], BLOCKS, how="sum"),
        td.fit(made[1], as_delayed(None), client, how="sum"),
    )
    assert there.U_.tobytes() == here.U_.tobytes()
    assert (there.error_upper_, there.S_.tobytes()) == (here.error_upper_, here.S_.tobytes())


STAGED = [
    StabilizedSGDClassifier(n_paths=3, n_jobs=2, random_state=0),
    SieveClassifier(n_paths=2, n_folds=2, n_jobs=2, random_state=0),
]
# Few columns: each rung of a ladder waits for both workers.
HALVES = [(X[:150, :8], Y[:150]), (X[150:, :8], Y[150:])]


@pytest.mark.parametrize("model", STAGED, ids=lambda model: type(model).__name__)
def test_wholes_in_stages(client, model):
    from sklearn.base import clone

    here, there = (td.fit(clone(model), HALVES, one, how="stages") for one in (None, client))
    assert bits(there) == bits(here)
    assert np.array_equal(there.selection_probability_, here.selection_probability_)
    assert there.get_params() == model.get_params()


def test_arrays_and_frames_of_dask(client):
    pytest.importorskip("pandas")
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    dense = X.toarray()
    cuts = tuple(b - a for a, b in CUTS)
    dx, dy = da.from_array(dense, chunks=(cuts, 60)), da.from_array(Y, chunks=(cuts,))
    here = td.fit(FTRLClassifier(), [(dense[a:b], Y[a:b]) for a, b in CUTS])
    for given in ((None,), (client,)):
        assert bits(td.fit(FTRLClassifier(), (dx, dy), *given)) == bits(here)
    kept = client.persist([dx, dy])
    assert bits(td.fit(FTRLClassifier(), tuple(kept), client)) == bits(here)
    sparse = dx.map_blocks(sp.csr_array)
    assert bits(td.fit(FTRLClassifier(), (sparse, dy), client)) == bits(here)
    frame = pd.DataFrame(dense, columns=[f"c{k}" for k in range(60)]).assign(label=Y)
    parts = dd.from_pandas(frame, npartitions=3)
    model = td.fit(FTRLClassifier(), parts, client, target="label", paths=1)
    whole = FTRLClassifier().partial_fit(dense, Y, classes=[0, 1])
    assert bits(model) == bits(whole)
    assert model.feature_names_in_[1] == "c1"
    with pytest.raises(ValueError, match=r"X\.rechunk\(\{1: -1\}\)"):
        td.fit(FTRLClassifier(), (dx.rechunk((150, 30)), dy), client)
    with pytest.raises(ValueError, match="cut into different blocks of rows"):
        td.fit(FTRLClassifier(), (dx.rechunk((150, 60)), dy), client)
    with pytest.raises(ValueError, match="target=None is no column"):
        td.fit(FTRLClassifier(), parts, client)
    words = dd.from_pandas(frame.assign(city="rome"), npartitions=2)
    with pytest.raises(TypeError, match=r"partition 0: .*'city'"):
        td.fit(FTRLClassifier(), words, client, target="label")


def test_halves_of_other_targets(client):
    rows = np.ones((50, 1))
    halves = [(rows, np.zeros(50)), (rows, np.full(50, 100.0))]
    model = td.fit(FTRLRegressor(fit_intercept=False, alpha=0), halves, client, sweeps=4)
    assert 20 < model.predict(rows)[0] < 80


def test_mixed_bases_empty_partitions_and_one_class(client, tmp_path):
    for k, text in enumerate(["1 1:1 3:1\n1 2:1\n" * 5, "", "-1 0:1 3:2\n-1 4:1\n" * 5]):
        (tmp_path / f"{k}.svm").write_text(text)
    glob = str(tmp_path / "*.svm")
    assert bits(td.fit(FTRLClassifier(), glob, client)) == bits(td.fit(FTRLClassifier(), glob))


def test_errors_of_tasks_come_home(client, tmp_path):
    """And nothing is left on the workers, though whoever looks at the error holds its frames."""
    before = set(client.who_has())  # errors of earlier tests hold results until they are collected
    with pytest.raises(ValueError, match="block 1 has 59 columns") as error:
        td.fit(FTRLClassifier(), [BLOCKS[0], (X[:5, :59], Y[:5])], client)
    end = time.monotonic() + 30
    while left := set(client.who_has()) - before:
        assert time.monotonic() < end, f"{len(left)} results of a failed fit are held"
        time.sleep(0.05)
    assert error.traceback
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:x\n")
    with pytest.raises(ReadError, match=r"a.svm, line 2"):
        td.fit(FTRLClassifier(), tmp_path / "a.svm", client)
    with pytest.raises(ReadError, match="no file matches"):
        td.fit(FTRLClassifier(), str(tmp_path / "b*.svm"), client)
    with pytest.raises(TypeError, match=r"client .*distributed\.Client"):
        td.fit(FTRLClassifier(), BLOCKS, object())


def selected():
    judge = StabilitySelector(FTRLClassifier(random_state=0), n_pairs=3, random_state=0, n_jobs=2)
    return judge.fit(X, Y).selection_probability_


def grouped():
    model = GroupLassoClassifierCV(feature_groups=np.arange(12) // 3, alphas=4, cv=3, n_jobs=2)
    return model.fit(X[:, :12].toarray(), Y).cv_results_["split_test_loss"]


def tuned():
    grid = {"eta_factors": (0.5, 1.0), "burn_ins": (2,), "rejections": (0.7,), "purges": (0.5,)}
    given = {"n_paths": 2, "max_iter": 2, "tol": None, "cv": 3, "random_state": 0, "n_jobs": 2}
    return StabilizedSGDClassifierCV(**grid, **given).fit(X, Y).coef_


def compared():
    models = {"FTRL": FTRLClassifier(max_iter=2, tol=None), "RDA": RDAClassifier()}
    tune = {"FTRL": {"alpha": [1e-4, 1e-2]}}
    record = compare(models, X, Y, tune=tune, folds=2, runs=2, random_state=0, n_jobs=2)
    return [[row["error"], row["kept"], row["kappa"]] for row in record.rows]


@pytest.mark.parametrize("engine", ["dask", "loky"])
@pytest.mark.parametrize("what", [selected, grouped, tuned, compared])
@pytest.mark.filterwarnings("ignore:.*kept no feature", "ignore::UserWarning:tamis")
def test_independent_fits_run_under_joblib(client, engine, what):
    import joblib

    with joblib.parallel_config("threading"):
        here = what()
    with joblib.parallel_config(engine):
        assert np.array_equal(what(), here)


@pytest.mark.parametrize("where", ["address", "local:1"])
def test_the_command_line_learns_on_a_cluster(client, tmp_path, where):
    from tamis import load

    glob, out = write_parts(tmp_path), str(tmp_path / "model.tamis")
    place = client.scheduler.address if where == "address" else where
    words = ["fit", glob, "--method", "ftrl", "--cluster", place, "--passes", "2", "--out", out]
    command = [sys.executable, "-m", "tamis", *words, "--checkpoint", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "FTRLClassifier" in done.stdout
    assert bits(load(out)) == bits(td.fit(FTRLClassifier(random_state=0), glob, sweeps=2))


def test_sizes_are_known():
    from dask.sizeof import sizeof

    from tamis.distributed.schema import SharedSchema
    from tamis.distributed.worker_tasks import Block, Partition, PathState

    model = FTRLClassifier().partial_fit(sp.csr_array((2, 100_000)), [0, 1], [0, 1])
    assert 1_600_000 < sizeof(PathState(model)) < 1_700_000
    partition = Partition(
        0, "a", SharedSchema([], None), [Block(np.zeros((1000, 100)), np.zeros(9), None)]
    )
    assert 800_000 < sizeof(partition) < 810_000


# --------------------------------------------------------------------------- faults
def test_nobody_is_waited_for_in_vain(client):
    """A task that does not end is an error that says so."""
    slow = [dask.delayed(lambda: time.sleep(2.5) or BLOCKS[0])()]
    with pytest.raises(TimeoutError, match="no task has ended for 1 seconds"):
        td.fit(FTRLClassifier(), slow, client, timeout=1)


def test_a_cluster_without_workers(client, monkeypatch):
    monkeypatch.setattr(client, "scheduler_info", lambda **given: {"workers": {}})
    with pytest.raises(TimeoutError, match=r"no worker for 0\.2 seconds"):
        td.fit(FTRLClassifier(), BLOCKS, client, timeout=0.2)


def test_a_scheduler_that_does_not_answer(client, monkeypatch):
    """Frozen, it keeps its connections: only the clock tells."""
    monkeypatch.setattr(client, "scheduler_info", lambda **given: time.sleep(2))
    with pytest.raises(ConnectionError, match=r"it has not answered for 0.2 seconds"):
        td.fit(FTRLClassifier(), BLOCKS, client, timeout=0.2)


def test_a_file_that_one_worker_does_not_see(client, tmp_path):
    """Names are those of the workers: one of them is in another folder."""
    write_parts(tmp_path)
    _, other = sorted(client.scheduler_info(n_workers=-1)["workers"])
    before = client.run(os.getcwd)
    try:
        client.run(os.chdir, tmp_path)
        client.run(os.chdir, "/", workers=[other])
        with pytest.raises(ReadError, match=r"part-2\.svm: the worker on "):
            td.fit(FTRLClassifier(), "part-*.svm", client)
    finally:
        for worker, folder in before.items():
            client.run(os.chdir, folder, workers=[worker])


CLUSTER = """
import sys
import dask, distributed

if __name__ == "__main__":
    with dask.config.set({"distributed.comm.timeouts.connect": "5s"}):
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", protocol="tcp://",
        )
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextlib.contextmanager
def another_cluster():
    """A scheduler and its worker in one process, which can be killed; its address and process."""
    made = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    try:
        yield made.stdout.readline().strip(), made
    finally:
        made.kill()
        made.wait(30)
        made.stdout.close()
        made.stdin.close()


def test_a_scheduler_killed_and_the_run_resumed(client, monkeypatch, tmp_path):
    """One that dies with its worker; another cluster goes on."""
    glob = write_parts(tmp_path)
    given = {"sweeps": 2, "checkpoint": tmp_path / "run", "timeout": 120}
    here = td.fit(FTRLClassifier(), glob, sweeps=2)
    put, count = PathCheckpoints.put, [0]
    with dask.config.set(QUICK), another_cluster() as (address, made):

        def kill(self, *what):
            put(self, *what)
            count[0] += 1
            if count[0] == 2:
                made.kill()

        monkeypatch.setattr(PathCheckpoints, "put", kill)
        lost = distributed.Client(address, timeout="10s", set_as_default=False)
        try:
            with pytest.raises(ConnectionError, match="the scheduler is gone"):
                td.fit(FTRLClassifier(), glob, lost, **given)
        finally:
            lost.close(timeout=1)
    monkeypatch.setattr(PathCheckpoints, "put", put)
    there = td.fit(FTRLClassifier(), glob, client, **given)
    assert bits(there) == bits(here)


def kill_at(monkeypatch, client, moments):
    """Kill a worker while tasks are on their way: after so many were submitted."""
    from tamis.distributed.cluster import DaskExecutor

    submit, count, killed = DaskExecutor.submit, [0], []

    def counting(self, task, *given, worker):
        found = submit(self, task, *given, worker=worker)
        count[0] += 1
        if count[0] in moments:
            pid = client.run(os.getpid, workers=[worker])[worker]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        return found

    monkeypatch.setattr(DaskExecutor, "submit", counting)
    return killed


@pytest.mark.parametrize("how", ["walk", "mix", "sum"])
def test_workers_killed_in_mid_round(client, monkeypatch, tmp_path, how):
    """Twice: among visits of the first rounds, and in a later segment, whose models lie there.

    The nannies start new workers, which join. The last tests, since they leave none as it was.
    """
    glob = write_parts(tmp_path)
    monkeypatch.setattr(dual_averaging, "STEPS", 8)
    model, sweeps = (RDAClassifier, 1) if how == "sum" else (FTRLClassifier, 4)
    here = td.fit(model(), glob, sweeps=sweeps, how=how)
    killed = kill_at(monkeypatch, client, (16, 45))
    there = td.fit(model(), glob, client, sweeps=sweeps, how=how, timeout=120)
    assert bits(there) == bits(here)
    assert len(killed) == 2
    assert gone(killed)


def test_workers_killed_while_paths_vote_and_sieve(monkeypatch):
    """In a round of votes, and in a rung of the ladder."""
    from sklearn.base import clone

    here = [td.fit(clone(model), HALVES, how="stages") for model in STAGED]
    with started() as client:
        for model, whole, moment in zip(STAGED, here, (15, 150), strict=True):
            with monkeypatch.context() as patch:
                killed = kill_at(patch, client, (moment,))
                there = td.fit(clone(model), HALVES, client, how="stages", timeout=120)
            assert len(killed) == 1
            assert bits(there) == bits(whole)
