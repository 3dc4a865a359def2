"""What may go wrong in rounds, and what is done about it: accounts, losses, slow workers and late
ones, checkpoints.
"""

import json

import pytest
import scipy.sparse as sp
from clusters.ground import BLOCKS, Team, Y, bits
from sklearn.linear_model import SGDClassifier

import tamis.distributed as td
from tamis import FTRLClassifier, StabilitySelector
from tamis.distributed import fitting, placing, rounds, visits
from tamis.distributed.executors import Lost
from tamis.training.checkpoint import CheckpointError


# --------------------------------------------------------------------------- accounts
class Lazy(FTRLClassifier):
    """A model that leaves out rows, as one of a broken cluster might."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X[1:], y[1:], classes=classes)


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_a_model_that_learnt_less_is_an_error(how):
    with pytest.raises(rounds.AccountError, match=r"its model counts 2\d\d rows"):
        td.fit(Lazy(), BLOCKS, how=how, sweeps=4, segment=4)


@pytest.mark.parametrize("broken", ["twice", "never"])
def test_a_partition_too_often_or_never_is_an_error(broken, monkeypatch):
    def visit(path, partition):
        if partition.number == 1:
            if broken == "never":
                return path
            path = visits.visit(path, partition)
        return visits.visit(path, partition)

    monkeypatch.setattr(rounds, "visit", visit)
    for model in (FTRLClassifier(), SGDClassifier()):  # of which one counts its rows
        with pytest.raises(rounds.AccountError, match=r"path 0 has learnt [\d,]+ rows"):
            td.fit(model, [(sp.csr_matrix(rows), y) for rows, y in BLOCKS])


def test_rows_of_a_class_without_weight_are_no_error():
    model = td.fit(FTRLClassifier(class_weight={0: 0.0, 1: 1.0}), BLOCKS, paths=1)
    assert model.t_ == Y.sum()


# --------------------------------------------------------------------------- faults
@pytest.mark.parametrize("how", ["walk", "mix"])
@pytest.mark.parametrize("lost", [(1,), (2,), (3, 4), (2, 4, 5)])
def test_a_lost_worker_changes_no_bit(team, how, lost):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    made = team(2, lost=lost)
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)) == bits(whole)
    assert made.gathered > max(lost)


def test_workers_that_are_lost_again_and_again(team):
    team(2, lost=range(2, 99))
    with pytest.raises(RuntimeError, match="workers were lost 5 times in a row"):
        td.fit(FTRLClassifier(), BLOCKS)


def test_a_scheduler_that_is_gone(team):
    made = team(2)
    made.gather = lambda handles: (_ for _ in ()).throw(Lost("scheduler"))
    with pytest.raises(ConnectionError, match="with checkpoint= it goes on"):
        td.fit(FTRLClassifier(), BLOCKS)


class Uneven(Team):
    """Two workers of which the second is slow: visits say so, and nobody waits for it."""

    slowness = 30.0

    def submit(self, task, *given, home):
        found = super().submit(task, *given, home=home)
        if task is visits.visit:
            seconds = self.slowness if home == "worker 1" else 0.1
            found.taken = (*found.taken[:-1], seconds)
        return found


@pytest.fixture
def uneven(monkeypatch):
    made = Uneven(2)
    monkeypatch.setattr(fitting, "Inline", lambda: made)
    return made


def test_a_slow_worker_is_given_less(uneven):
    """Its partitions are opened at the other one, and no bit changes."""
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=2)
    visited = [home for task, home in uneven.at if task == "visit"]
    assert visited[:8].count("worker 1") == 4  # of the first segment
    assert "worker 1" not in visited[8:]
    uneven.slowness, uneven.at = 0.1, []
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=2)) == bits(whole)
    visited = [home for task, home in uneven.at if task == "visit"]
    assert visited.count("worker 1") == visited.count("worker 0")


def test_shares_of_slow_workers():
    homes = ["a", "b", "c"]
    assert placing.place(6, homes, {"b": 1.0}) == placing.place(6, homes)
    assert placing.place(5, homes, {"b": 0.5}) == ["a", "a", "b", "c", "c"]
    assert "a" not in placing.place(4, homes, {"a": 0.01})


class Growing(Team):
    """A team that a worker joins after some time."""

    def gather(self, handles):
        found = super().gather(handles)
        if self.gathered == 5:
            self.names = ["a new one", *self.names]
        return found


def test_a_worker_that_joins_is_given_partitions(monkeypatch):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=2)
    made = Growing(2)
    monkeypatch.setattr(fitting, "Inline", lambda: made)
    assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=2)) == bits(whole)
    opened = [home for task, home in made.at if task == "open_block"]
    assert opened == ["worker 0", "worker 0", "worker 1", "worker 1", "a new one"]
    assert ("visit", "a new one") in made.at


def test_loops_are_compiled_once_a_machine_before_all_others(team):
    made = team(4)
    made.host = lambda home: "left" if home in ("worker 0", "worker 1") else "right"
    td.fit(FTRLClassifier(), BLOCKS)
    tasks = [task for task, _ in made.at]
    warmed = [home for task, home in made.at if task == "warm"]
    assert warmed == ["worker 0", "worker 2", "worker 1", "worker 3"]
    assert tasks.index("visit") > max(k for k, task in enumerate(tasks) if task == "warm")


def test_the_smaller_travels(team):
    """A model that outweighs a partition stays where it is once it is there."""
    wide = [(sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], 5000)), y)
            for x, y in BLOCKS]  # fmt: skip
    for rows, still in ((BLOCKS, False), (wide, True)):
        whole = td.fit(FTRLClassifier(), rows, sweeps=2, paths=1)
        made = team(2)
        assert bits(td.fit(FTRLClassifier(), rows, sweeps=2, paths=1)) == bits(whole)
        homes = [home for task, home in made.at if task == "visit"]
        assert len(homes) == 8
        assert (len(set(homes[2:])) == 1) == still


def test_a_block_that_no_worker_can_hold_is_named(team):
    made = team(2)
    made.memory = lambda home: 10_000
    with pytest.raises(MemoryError, match=r"block 0 .* \d MiB.*worker 0 has 0"):
        td.fit(FTRLClassifier(), BLOCKS)
    made.memory = lambda home: 1 << 30
    submit, opened = made.submit, []

    def remember(task, *given, home):
        found = submit(task, *given, home=home)
        opened.extend([found] if task is visits.open_block and found.number == 2 else [])
        return found

    def lose(handles):
        if opened:
            raise Lost("worker", under=opened)
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
    with visits._one_thread(nested):
        assert nested.n_jobs == nested.estimator.n_jobs == 1
    assert (nested.n_jobs, nested.estimator.n_jobs) == (2, 3)


# --------------------------------------------------------------------------- checkpoints
class Stop(Exception):
    """The end of a process, as far as a test needs it."""


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch, how):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    count, account = [0], rounds.Schedule.account

    def stop(self, paths, done):
        count[0] += 1
        if count[0] == 3:
            raise Stop
        account(self, paths, done)

    given = {"sweeps": 4, "how": how, "checkpoint": tmp_path / "run"}
    monkeypatch.setattr(rounds.Schedule, "account", stop)
    with pytest.raises(Stop):
        td.fit(FTRLClassifier(), BLOCKS, **given)
    monkeypatch.setattr(rounds.Schedule, "account", account)
    record = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert record["round"] == (2 if how == "mix" else 4)
    again = td.fit(FTRLClassifier(), BLOCKS, **given)
    assert bits(again) == bits(whole)
    learnt = []
    monkeypatch.setattr(rounds, "visit", lambda *given: learnt.append(given))
    monkeypatch.setattr(rounds, "learn_apart", lambda *given: learnt.append(given))
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
