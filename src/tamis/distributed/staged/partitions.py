"""Partitions as a model takes them, where they lie; sums over them, and states that go from one to
the next.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import take_matrix, take_weights
from tamis.data.rows import ReadError
from tamis.distributed.agreement import coded, wants_classes
from tamis.distributed.executors import Held, merge_tree
from tamis.distributed.placing import Places, place, replayed
from tamis.distributed.rounds import AccountError
from tamis.distributed.visits import Partition
from tamis.numerics.csr import Csr
from tamis.system.progress import Progress


class TrainingRows(NamedTuple):
    """Rows of a partition as a fit takes them, those of weight 0 left out: targets as loops read
    them, weights, and the values that targets are.
    """

    rows: Csr
    columns: np.ndarray
    weights: np.ndarray
    targets: Any


class Counts(NamedTuple):
    """Of some partitions: the rows with an entry in each column, rows of each class, rows; and the
    values that targets are.
    """

    columns: np.ndarray
    classes: np.ndarray
    rows: int
    targets: Any


class Arguments(Held):
    """Arguments of a task, sent to a worker once."""

    def __init__(self, values: tuple):
        self.values = values


@dataclass
class CachedPartition(Held):
    """What steps have made of a partition, to be used again; or the steps, by which it is made
    again each time where the rows are not held in memory.
    """

    partition: Partition | None
    number: int
    steps: tuple[tuple[Callable, tuple], ...]
    made: Any = None

    def data(self) -> Any:
        """What the steps make of the partition."""
        data = self.partition if self.made is None else self.made
        for step, arguments in () if self.made is not None else self.steps:
            data = step(data, *arguments)
        return data


@dataclass
class Worker(Held):
    """A state on its way, with the partitions that it has visited and the rows it has learnt."""

    state: Any
    visited: tuple[int, ...] = ()
    rows: int = 0


# --------------------------------------------------------------------------- on workers
def prepare(
    source: Partition | CachedPartition, step: Callable, arguments: tuple, held: bool
) -> CachedPartition:
    """A partition after one more step, made now where its rows, or what it makes, are held."""
    if isinstance(source, Partition):
        held |= source.blocks is not None
        source = CachedPartition(source, source.number, ())
    steps = (*source.steps, (step, arguments))
    if not held and source.made is None:
        return replace(source, steps=steps)
    return CachedPartition(None, source.number, (), step(source.data(), *arguments))


def on_data(task: Callable, cached: CachedPartition, arguments: Arguments) -> Any:
    """What a task says of a partition."""
    return task(cached.data(), *arguments.values)


def walk_block(worker: Worker, cached: CachedPartition, task: Callable, arguments: tuple) -> Worker:
    """A worker after a visit; the one given stays as it is."""
    state, rows = task(worker.state, cached.data(), cached.number, *arguments)
    return Worker(state, (*worker.visited, cached.number), worker.rows + rows)


def advance(
    worker: Worker, shared: Worker, cached: CachedPartition, method: Any, stage: int
) -> Worker:
    """A worker after a stage of a visit; the one given stays as it is."""
    state = method.advance(worker.state, shared.state, cached.data(), stage)
    ended = (cached.number,) if stage + 1 == method.stages else ()
    return Worker(state, (*worker.visited, *ended), state.rows)


def votes_of(worker: Worker, method: Any) -> Any:
    """What a worker counted in its last stage."""
    return method.votes(worker.state)


def decide(shared: Worker, votes: Any, method: Any) -> Worker:
    """What all votes decide."""
    return Worker(method.decide(shared.state, votes))


def read(partition: Partition, model: Any) -> TrainingRows:
    """Validate all rows of a partition together, and encode their targets."""
    blocks, agreed = list(partition), partition.agreed
    X = blocks[0].X
    if len(blocks) > 1:
        X = sp.vstack([sp.csr_array(one.X) for one in blocks], format="csr")
    y: Any = [one.y for one in blocks]
    y = sp.vstack(y, format="csr") if sp.issparse(y[0]) else np.concatenate(y)
    sample_weight = None
    if blocks[0].weights is not None:
        sample_weight = np.concatenate([one.weights for one in blocks])
    model, named = copy.copy(model), {}
    if wants_classes(model):
        y = coded(model, y, agreed, partition.name)
        if agreed.classes is not None:
            named["classes"] = agreed.classes
    rows = take_matrix(model, X, reset=True, chunk=True)
    weights = take_weights(sample_weight, rows.n_rows)
    learnt = rows.n_rows if sample_weight is None else int(np.count_nonzero(sample_weight))
    if learnt != agreed.learnt[0]:
        raise ReadError(
            f"{partition.name}: {learnt:,} rows, where there were {agreed.learnt[0]:,}: it has "
            "changed. Begin anew."
        )
    targets, encoded = model._code(y, rows.n_rows, whole=False, **named)
    return _weighted(TrainingRows(rows, encoded.columns, weights, targets))


def weigh(data: TrainingRows, model: Any) -> TrainingRows:
    """The rows with the class weights of a model."""
    _, weights = model._weigh(data.targets, data.columns, data.weights)
    return _weighted(data._replace(weights=weights))


def _weighted(data: TrainingRows) -> TrainingRows:
    """The rows of weight above 0."""
    rows, columns, weights, targets = data
    if not len(weights) or weights.all():
        return data
    at = np.flatnonzero(weights)
    return TrainingRows(rows.picked(at), columns[at], weights[at], targets)


def count(data: TrainingRows) -> Counts:
    """What a partition holds of each column and class."""
    columns = np.bincount(data.rows.scipy().indices, minlength=data.rows.n_features)
    classes = np.zeros(0, np.int64)
    if hasattr(data.targets, "codes_of") and not data.targets.labels:
        codes = data.targets.codes_of(data.columns).astype(np.int64)
        classes = np.bincount(codes, minlength=len(data.targets.classes))
    return Counts(columns, classes, data.rows.n_rows, data.targets)


def add_counts(left: Counts, right: Counts) -> Counts:
    """The counts of both."""
    return Counts(
        left.columns + right.columns,
        left.classes + right.classes,
        left.rows + right.rows,
        left.targets,
    )


def even_weights(counts: Counts) -> dict:
    """Weights of the classes that make them count alike."""
    names, rows = counts.targets.classes.tolist(), int(counts.classes.sum())
    each = zip(names, counts.classes.tolist(), strict=True)
    return {name: rows / (len(names) * max(many, 1)) for name, many in each}


# --------------------------------------------------------------------------- here
class Partitions:
    """Partitions with rows, after some steps, at their homes: what a method learns from that takes
    rows in stages (`_fit_partitions`).

    `rows` are their numbers of rows of weight above 0, before the weights of classes; `counts` what
    all of them hold; `segment` how many rounds are replayed together.
    """

    counts: Counts

    def __init__(
        self,
        places: Places,
        source: "Places | Partitions",
        step: Callable,
        arguments: tuple,
        held: bool,
        segment: int,
        shown: bool | str,
    ):
        assert places.agreed is not None
        self.places, self.executor, self.full = places, places.executor, places.agreed.full
        self.source, self.step, self.arguments, self.held = source, step, arguments, held
        self.segment, self.shown = segment, shown
        self.rows = [places.agreed.learnt[k] for k in self.full]
        self.handles: dict[int, tuple[str, Any]] = {}

    @classmethod
    def of(cls, places: Places, model: Any, segment: int, shown: bool | str) -> "Partitions":
        """Partitions as a model takes them, counted."""
        found = cls(places, places, read, (model,), False, segment, shown)
        found.counts = found.total(count, add_counts)
        return found

    def __len__(self) -> int:
        return len(self.full)

    def prepared(self, step: Callable, *arguments: Any, held: bool = False) -> "Partitions":
        """What ``step(data, *arguments)`` makes of each, held in memory if need be."""
        more = (step, arguments, held, self.segment, self.shown)
        after = Partitions(self.places, self, *more)
        after.counts = self.counts
        return after

    # ------------------------------------------------------------------ where they lie
    def open(self) -> list[tuple[str, Any]]:
        """Home and handle of each."""
        homes = place(len(self.places.parts), self.places.homes())
        missing = [k for k in self.full if self.handles.get(k, ("",))[0] != homes[k]]
        if missing:
            spots = self.source.open()
            if isinstance(self.source, Places):  # of all partitions, those without rows too
                spots = [spots[k] for k in self.full]
            for k in missing:
                home, before = spots[self.full.index(k)]
                given = (prepare, before, self.step, self.arguments, self.held)
                self.handles[k] = home, self.executor.submit(*given, home=home)
            # They go as soon as something is made of them.
            self.source.forget()
        return [self.handles[k] for k in self.full]

    def forget(self) -> None:
        """They may be gone with their worker, or are needed no longer."""
        self.executor.cancel([handle for _, handle in self.handles.values()])
        self.handles = {}
        self.source.forget()

    # ------------------------------------------------------------------ what is done there
    @contextmanager
    def progress(self, total: int = 0) -> Iterator[Progress]:
        """A progress bar of so many rounds."""
        with Progress("fit", total, self.shown) as bar:
            yield bar

    def total(self, task: Callable, merge: Callable, *arguments: Any) -> Any:
        """What ``task(data, *arguments)`` says of each, merged in a tree over their numbers."""

        def attempt() -> Any:
            sent: dict[str, Any] = {}
            nodes = []
            for home, cached in self.open():
                if home not in sent:
                    sent[home] = self.executor.put(Arguments(arguments), home)
                given = (on_data, task, cached, sent[home])
                nodes.append((home, self.executor.submit(*given, home=home)))
            return self.executor.gather([merge_tree(self.executor, nodes, merge)[1]])[0]

        return replayed(attempt, self.forget)

    def walk(
        self, states: list, routes: list[list[tuple[int, tuple]]], task: Callable, rows: list[int]
    ) -> list:
        """Take each state through partitions: ``task(state, data, number, *arguments)`` gives the
        next state and the number of rows that it has learnt, along a route of partitions and
        arguments; `rows` are due of each.
        """

        def attempt() -> list[Worker]:
            spots, handles = self.open(), [None] * len(states)
            for step in range(max(map(len, routes), default=0)):
                for at, route in enumerate(routes):
                    if step >= len(route):
                        continue
                    home, cached = spots[route[step][0]]
                    handle = handles[at]
                    if handle is None:
                        handle = self.executor.put(Worker(states[at]), home)
                    given = (walk_block, handle, cached, task, route[step][1])
                    handles[at] = self.executor.submit(*given, home=home)
            return self.executor.gather(handles)

        workers = replayed(attempt, self.forget)
        for at, (worker, route) in enumerate(zip(workers, routes, strict=True)):
            self.account(at, worker, [position for position, _ in route], rows[at])
        return [worker.state for worker in workers]

    def vote(
        self, states: list, shared: Any, method: Any, visits: int, say: Callable, counted: bool
    ) -> tuple[list, Any]:
        """Take states through partitions in step, at most as many as there are: in visit v state c
        is at partition c + v, modulo their number.

        After each of ``method.stages`` stages of a visit, ``method.advance(state, shared, data,
        stage)``, what the states counted, ``method.votes(state)``, is merged by `method.merge`, and
        ``method.decide(shared, votes)`` gives what they share next. ``say(shared)`` is shown;
        `counted`: every row is learnt, and a state counts them in `rows`.
        """
        workers, common = [Worker(state) for state in states], Worker(shared)
        handles: list | None = None
        done = stop = 0

        def forget() -> None:
            nonlocal handles
            self.forget()
            self.executor.cancel(handles or [])
            handles = None

        def attempt() -> None:
            nonlocal handles, workers, common
            spots = self.open()
            if handles is None:
                handles = [
                    self.executor.put(one, spots[c % len(spots)][0])
                    for c, one in enumerate([*workers, common])
                ]
            ended = handles
            for visit in range(done, stop):
                for stage in range(method.stages):
                    ended = self._stage(ended, spots, method, visit, stage)
            *workers, common = self.executor.gather(ended)
            handles = ended

        with self.progress(visits) as bar:
            done = 0
            while done < visits:
                stop = min(done + self.segment, visits)
                replayed(attempt, forget)
                for c, worker in enumerate(workers):
                    route = [(c + visit) % len(self) for visit in range(stop)]
                    due = sum(self.rows[at] for at in route) if counted else None
                    self.account(c, worker, route, due)
                bar.advance(stop - done, f"visit {stop:,} of {visits:,}, {say(common.state)}")
                done = stop
        return [worker.state for worker in workers], common.state

    def _stage(self, handles: list, spots: list, method: Any, visit: int, stage: int) -> list:
        """One stage of all states, and what they decide."""
        *workers, shared = handles
        after, nodes = [], []
        for c, worker in enumerate(workers):
            home, cached = spots[(c + visit) % len(spots)]
            given = (advance, worker, shared, cached, method, stage)
            after.append(self.executor.submit(*given, home=home))
            nodes.append((home, self.executor.submit(votes_of, after[-1], method, home=home)))
        home, votes = merge_tree(self.executor, nodes, method.merge)
        return [*after, self.executor.submit(decide, shared, votes, method, home=home)]

    def account(self, number: int, worker: Worker, route: list[int], rows: int | None) -> None:
        """Refuse a state that has not learnt every row as often as it should have by now; None:
        nobody knows how many rows are due.
        """
        due = [self.full[position] for position in route]
        if list(worker.visited) != due or rows not in (None, worker.rows):
            raise AccountError(
                f"state {number} has learnt {worker.rows:,} rows of partitions "
                f"{list(worker.visited)} where {rows} rows of {due} were due: nobody knows what it "
                "has learnt, and it is thrown away."
            )
