"""What may go wrong in rounds, and what is done about it: accounts, losses, slow workers and late
ones, checkpoints.
"""

import copy
import json
import pickle

import pytest
import scipy.sparse as sp
from clusters.helpers import BLOCKS, SimulatedWorkers, Y, bits
from sklearn.linear_model import SGDClassifier

import tamis.distributed as td
from tamis import AROWClassifier, FTRLClassifier, StabilitySelector
from tamis.base.estimators.stream import encoder_of
from tamis.distributed import fitting, placement, schedule, worker_tasks
from tamis.distributed.executors import ConnectionLost
from tamis.training.checkpoint import CheckpointError


# --------------------------------------------------------------------------- accounts
class Lazy(FTRLClassifier):
    """A model that leaves out rows, as one of a broken cluster might."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X[1:], y[1:], classes=classes)


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_a_model_that_learnt_less_is_an_error(how):
    with pytest.raises(schedule.AccountError, match=r"its model counts 2\d\d rows"):
        td.fit(Lazy(), BLOCKS, how=how, sweeps=4, segment=4)


@pytest.mark.parametrize("broken", ["twice", "never"])
def test_a_partition_too_often_or_never_is_an_error(broken, monkeypatch):
    def visit(path, partition):
        if partition.number == 1:
            if broken == "never":
                return path
            path = worker_tasks.learn_partition(path, partition)
        return worker_tasks.learn_partition(path, partition)

    monkeypatch.setattr(schedule, "learn_partition", visit)
    for model in (FTRLClassifier(), SGDClassifier()):  # of which one counts its rows
        with pytest.raises(schedule.AccountError, match=r"path 0 has learnt [\d,]+ rows"):
            td.fit(model, [(sp.csr_matrix(rows), y) for rows, y in BLOCKS])


def test_rows_of_a_class_without_weight_are_no_error():
    model = td.fit(FTRLClassifier(class_weight={0: 0.0, 1: 1.0}), BLOCKS, paths=1)
    assert model.t_ == Y.sum()


# --------------------------------------------------------------------------- faults
@pytest.mark.parametrize("how", ["walk", "mix"])
@pytest.mark.parametrize("lost", [(1,), (2,), (3, 4), (2, 4, 5)])
def test_a_lost_worker_changes_no_bit(simulated_workers, how, lost):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    made = simulated_workers(2, lost=lost)
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)) == bits(whole)
    assert made.gathered > max(lost)


def test_workers_that_are_lost_again_and_again(simulated_workers):
    simulated_workers(2, lost=range(2, 99))
    with pytest.raises(RuntimeError, match="workers were lost 5 times in a row"):
        td.fit(FTRLClassifier(), BLOCKS)


def test_a_scheduler_that_is_gone(simulated_workers):
    made = simulated_workers(2)
    made.gather = lambda handles: (_ for _ in ()).throw(ConnectionLost("scheduler"))
    with pytest.raises(ConnectionError, match="with checkpoint= it goes on"):
        td.fit(FTRLClassifier(), BLOCKS)


class Uneven(SimulatedWorkers):
    """Two workers of which the second is slow: visits say so, and nobody waits for it."""

    slowness = 30.0

    def submit(self, task, *given, worker):
        found = super().submit(task, *given, worker=worker)
        if task is worker_tasks.learn_partition:
            seconds = self.slowness if worker == "worker 1" else 0.1
            found.seconds = (*found.seconds[:-1], seconds)
        return found


@pytest.fixture
def uneven(monkeypatch):
    made = Uneven(2)
    monkeypatch.setattr(fitting, "LocalExecutor", lambda: made)
    return made


def test_a_slow_worker_is_given_less(uneven):
    """Its partitions are opened at the other one, and no bit changes."""
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=2)
    visited = [worker for task, worker in uneven.at if task == "learn_partition"]
    assert visited[:8].count("worker 1") == 4  # of the first segment
    assert "worker 1" not in visited[8:]
    uneven.slowness, uneven.at = 0.1, []
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=2)) == bits(whole)
    visited = [worker for task, worker in uneven.at if task == "learn_partition"]
    assert visited.count("worker 1") == visited.count("worker 0")


def test_shares_of_slow_workers():
    place, workers = placement.place_partitions, ["a", "b", "c"]
    assert place(6, workers, {"b": 1.0}) == place(6, workers)
    assert place(5, workers, {"b": 0.5}) == ["a", "a", "b", "c", "c"]
    assert "a" not in place(4, workers, {"a": 0.01})


class Growing(SimulatedWorkers):
    """Simulated workers, whom another one joins after some time."""

    def gather(self, handles):
        found = super().gather(handles)
        if self.gathered == 5:
            self.names = ["a new one", *self.names]
        return found


def test_a_worker_that_joins_is_given_partitions(monkeypatch):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=2)
    made = Growing(2)
    monkeypatch.setattr(fitting, "LocalExecutor", lambda: made)
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=2)) == bits(whole)
    opened = [worker for task, worker in made.at if task == "open_block"]
    assert opened == ["worker 0", "worker 0", "worker 1", "worker 1", "a new one"]
    assert ("learn_partition", "a new one") in made.at


def test_loops_are_compiled_once_a_machine_before_all_others(simulated_workers):
    made = simulated_workers(4)
    made.host = lambda worker: "left" if worker in ("worker 0", "worker 1") else "right"
    td.fit(FTRLClassifier(), BLOCKS)
    tasks = [task for task, _ in made.at]
    compiled = [worker for task, worker in made.at if task == "compile_loops"]
    assert compiled == ["worker 0", "worker 2", "worker 1", "worker 3"]
    assert tasks.index("learn_partition") > max(
        k for k, task in enumerate(tasks) if task == "compile_loops"
    )


def test_the_smaller_travels(simulated_workers):
    """A model that outweighs a partition stays where it is once it is there."""
    wide = [(sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], 5000)), y)
            for x, y in BLOCKS]  # fmt: skip
    for rows, still in ((BLOCKS, False), (wide, True)):
        whole = td.fit(FTRLClassifier(), rows, sweeps=2, paths=1)
        made = simulated_workers(2)
        assert bits(td.fit(FTRLClassifier(), rows, sweeps=2, paths=1)) == bits(whole)
        workers = [worker for task, worker in made.at if task == "learn_partition"]
        assert len(workers) == 8
        assert (len(set(workers[2:])) == 1) == still


def test_a_block_that_no_worker_can_hold_is_named(simulated_workers):
    made = simulated_workers(2)
    made.memory = lambda worker: 10_000
    with pytest.raises(MemoryError, match=r"block 0 .* \d MiB.*worker 0 has 0"):
        td.fit(FTRLClassifier(), BLOCKS)
    made.memory = lambda worker: 1 << 30
    submit, opened = made.submit, []

    def remember(task, *given, worker):
        found = submit(task, *given, worker=worker)
        opened.extend([found] if task is worker_tasks.open_block and found.number == 2 else [])
        return found

    def lose(handles):
        if opened:
            raise ConnectionLost("worker", pending=opened)
        return list(handles)

    made.submit, made.gather = remember, lose
    with pytest.raises(RuntimeError, match=r"5 times.*block 2"):
        td.fit(FTRLClassifier(), BLOCKS)


class Alone(FTRLClassifier):
    """A model that minds how many threads there are."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        from threadpoolctl import threadpool_info

        assert self.n_jobs == 1
        assert all(one["num_threads"] == 1 for one in threadpool_info())
        return super().partial_fit(X, y, classes=classes)


def test_a_visit_has_one_thread():
    model = td.fit(Alone(n_jobs=2), BLOCKS, paths=1)
    assert model.n_jobs == 2
    nested = StabilitySelector(FTRLClassifier(n_jobs=3), n_jobs=2)
    with worker_tasks._single_threaded(nested):
        assert nested.n_jobs == nested.estimator.n_jobs == 1
    assert (nested.n_jobs, nested.estimator.n_jobs) == (2, 3)


KINDS = (bytes, bytearray)  # of which arrays cannot be written to, or can


def as_sent(thing):
    """Something as an engine brings it: its arrays are others, which may be written to or not."""
    buffers = []
    words = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return [pickle.loads(words, buffers=[kind(b.raw()) for b in buffers]) for kind in KINDS]


@pytest.mark.parametrize("model", [FTRLClassifier(class_weight="balanced"), AROWClassifier()])
def test_a_task_that_runs_again_gives_the_same_bits(model):
    """It changes neither the path that it starts from nor the rows."""
    placed = fitting.plan(model, BLOCKS, fitting.LocalExecutor(), None, None, {})
    placed.encoder = encoder_of(model)
    first, second, *_ = [partition for _, partition in placed.open()]
    assert isinstance(first.blocks[0], worker_tasks.EncodedBlock)
    path = worker_tasks.learn_partition(worker_tasks.PathState(model), first)
    before = bits(path.model)
    after = worker_tasks.learn_partition(path, second)
    assert bits(path.model) == before != bits(after.model)
    assert not hasattr(model, "_solver_state")
    again = copy.deepcopy(model)
    for block in BLOCKS[:2]:
        again.partial_fit(*block, classes=[0, 1])
    assert bits(after.model) == bits(again)
    for sent_path, sent_partition in zip(as_sent(path), as_sent(second), strict=True):
        assert bits(worker_tasks.learn_partition(sent_path, sent_partition).model) == bits(again)


# --------------------------------------------------------------------------- checkpoints
class Stop(Exception):
    """The end of a process, as far as a test needs it."""


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch, how):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    count, account = [0], schedule.Schedule.account

    def stop(self, paths, done):
        count[0] += 1
        if count[0] == 3:
            raise Stop
        account(self, paths, done)

    given = {"sweeps": 4, "how": how, "checkpoint": tmp_path / "run"}
    monkeypatch.setattr(schedule.Schedule, "account", stop)
    with pytest.raises(Stop):
        td.fit(FTRLClassifier(), BLOCKS, **given)
    monkeypatch.setattr(schedule.Schedule, "account", account)
    record = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert record["round"] == (2 if how == "mix" else 4)
    again = td.fit(FTRLClassifier(), BLOCKS, **given)
    assert bits(again) == bits(whole)
    learnt = []
    monkeypatch.setattr(schedule, "learn_partition", lambda *given: learnt.append(given))
    monkeypatch.setattr(schedule, "learn_apart", lambda *given: learnt.append(given))
    assert bits(td.fit(FTRLClassifier(), BLOCKS, **given)) == bits(whole)
    assert not learnt
    assert len(list((tmp_path / "run").iterdir())) == 2 + len(record["paths"])


def test_checkpoints_of_another_task_or_altered_ones(tmp_path):
    td.fit(FTRLClassifier(), BLOCKS, checkpoint=tmp_path / "run")
    others = [
        ((FTRLClassifier(alpha=1.0), BLOCKS), {}, "parameters 'alpha' was 'auto'"),
        ((FTRLClassifier(), BLOCKS[::-1]), {}, "parts 1 has changed"),
        ((FTRLClassifier(), BLOCKS), {"sweeps": 2}, "sweeps was 1, now 2"),
    ]
    for given, named, said in others:
        with pytest.raises(CheckpointError, match=said):
            td.fit(*given, checkpoint=tmp_path / "run", **named)
    place = tmp_path / "run" / "checkpoint.json"
    place.write_text(place.read_text().replace('"round": 4', '"round": 2'))
    with pytest.raises(CheckpointError, match="was altered since it was written"):
        td.fit(FTRLClassifier(), BLOCKS, checkpoint=tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    with pytest.raises(CheckpointError, match=r"holds 'mine.txt'"):
        td.fit(FTRLClassifier(), BLOCKS, checkpoint=tmp_path / "full")
