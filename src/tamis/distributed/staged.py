"""``how="stages"``: stabilized models and sieves, whose paths decide together, a decision a round.

A method offers this by one function of its estimators, `_fit_partitions(partitions, names, sweeps,
stages)`. It gets `Partitions` and calls them for data (`prepared`), for sums (`total`), and to take
states from partition to partition, independently (`walk`) or in step (`vote`). Workers, replays and
accounts are known here alone.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import validate_matrix, validate_sample_weight
from tamis.data.rows import ReadError
from tamis.distributed.executors import RemoteValue, merge_tree
from tamis.distributed.placement import Placement, place_partitions, with_replays
from tamis.distributed.schedule import AccountError
from tamis.distributed.schema import wants_classes
from tamis.distributed.worker_tasks import Partition
from tamis.numerics.csr import Csr
from tamis.system.progress import Progress


# --------------------------------------------------------------------------- which models
def refuse_stages(model: Any, sweeps: int, paths: int | None, checkpoint: Any) -> str:
    """Why a model cannot be learnt in stages; empty where it can."""
    if not hasattr(model, "_fit_partitions"):
        return (
            f"how='stages' is for stabilized models and sieves, not for {type(model).__name__}. "
            "Use how='walk'."
        )
    if paths is not None:
        return "how='stages' has the paths of the model; pass n_paths to it, and no paths here."
    if checkpoint is not None:
        return "how='stages' keeps no checkpoints. Use how='walk', or no checkpoint."
    if getattr(model, "_decides_passes", False) and sweeps != 1:
        return f"a sieve knows how often it walks the rows; sweeps={sweeps} is for other models."
    return ""


def learn(
    model: Any,
    placement: Placement,
    sweeps: int,
    stages: int | None,
    segment: int,
    progress: bool | str,
) -> Any:
    """Train an unfitted model on all partitions; each is validated once."""
    model._validate_params()
    weights = getattr(model, "class_weight", None)
    unweighted = model if weights is None else _with_class_weight(model, None)
    partitions = Partitions.of(placement, unweighted, segment, progress)
    if weights is not None:
        counts = partitions.counts
        if weights == "balanced" and len(counts.classes):
            weights = balanced_weights(counts)
        partitions = partitions.prepared(weigh, _with_class_weight(model, weights))
    schema = placement.schema
    assert schema is not None
    names = schema.summaries[schema.nonempty[0]].names
    model._fit_partitions(partitions, names, sweeps, stages)
    partitions.forget()
    return model


def _with_class_weight(model: Any, class_weight: dict | None) -> Any:
    """The model with other class weights."""
    return type(model)(**{**model.get_params(), "class_weight": class_weight})


# --------------------------------------------------------------------------- on workers
class TrainingRows(NamedTuple):
    """Rows of weight above 0 of a partition: with encoded targets, weights, and the
    `ClassTargets` or `NumberTargets` that decode them.
    """

    rows: Csr
    columns: np.ndarray
    weights: np.ndarray
    targets: Any


class Counts(NamedTuple):
    """Counts over partitions: rows with an entry in each column, rows of each class, rows; and the
    targets that name the classes.
    """

    columns: np.ndarray
    classes: np.ndarray
    rows: int
    targets: Any


class Arguments(RemoteValue):
    """Arguments of a task, sent to each worker once."""

    def __init__(self, values: tuple):
        self.values = values


@dataclass
class CachedPartition(RemoteValue):
    """A partition after some steps: their result, or, where the rows are not held in memory, the
    steps, which are then repeated at each use.
    """

    partition: Partition | None
    number: int
    steps: tuple[tuple[Callable, tuple], ...]
    result: Any = None

    def data(self) -> Any:
        """The result of the steps."""
        if self.result is not None:
            return self.result
        data: Any = self.partition
        for step, arguments in self.steps:
            data = step(data, *arguments)
        return data


@dataclass
class StateOnPath(RemoteValue):
    """A state on its path through the partitions: those it has visited, and the rows it has
    learnt.
    """

    state: Any
    visited: tuple[int, ...] = ()
    rows: int = 0


def add_step(
    source: Partition | CachedPartition, step: Callable, arguments: tuple, keep: bool
) -> CachedPartition:
    """A partition after one more step. The result is made now where it shall be kept, or where the
    rows are held in memory anyway.
    """
    if isinstance(source, Partition):
        keep |= source.blocks is not None
        source = CachedPartition(source, source.number, ())
    steps = (*source.steps, (step, arguments))
    if not keep and source.result is None:
        return replace(source, steps=steps)
    return CachedPartition(None, source.number, (), step(source.data(), *arguments))


def run_on_data(task: Callable, cached: CachedPartition, arguments: Arguments) -> Any:
    """Result of a task for a partition."""
    return task(cached.data(), *arguments.values)


def pass_partition(
    path: StateOnPath, cached: CachedPartition, task: Callable, arguments: tuple
) -> StateOnPath:
    """Take a state through a partition; the state before it is not changed."""
    state, rows = task(path.state, cached.data(), cached.number, *arguments)
    return StateOnPath(state, (*path.visited, cached.number), path.rows + rows)


def advance(
    path: StateOnPath, shared: StateOnPath, cached: CachedPartition, method: Any, stage: int
) -> StateOnPath:
    """Take a state through one stage of a partition; the state before it is not changed."""
    state = method.advance(path.state, shared.state, cached.data(), stage)
    ended = (cached.number,) if stage + 1 == method.stages else ()
    return StateOnPath(state, (*path.visited, *ended), state.rows)


def votes_of(path: StateOnPath, method: Any) -> Any:
    """Votes of a state after its last stage."""
    return method.votes(path.state)


def decide(shared: StateOnPath, votes: Any, method: Any) -> StateOnPath:
    """The shared state after all votes."""
    return StateOnPath(method.decide(shared.state, votes))


def read(partition: Partition, model: Any) -> TrainingRows:
    """Validate all rows of a partition together, and encode their targets."""
    blocks, schema = list(partition), partition.schema
    X = blocks[0].X
    if len(blocks) > 1:
        X = sp.vstack([sp.csr_array(one.X) for one in blocks], format="csr")
    y: Any = [one.y for one in blocks]
    y = sp.vstack(y, format="csr") if sp.issparse(y[0]) else np.concatenate(y)
    sample_weight = None
    if blocks[0].weights is not None:
        sample_weight = np.concatenate([one.weights for one in blocks])
    model, named = copy.copy(model), {}
    if wants_classes(model) and schema.classes is not None:
        named["classes"] = schema.classes
    rows = validate_matrix(model, X, reset=True, chunk=True)
    weights = validate_sample_weight(sample_weight, rows.n_rows)
    row_count, (expected,) = sum(block.row_count for block in blocks), schema.row_counts
    if row_count != expected:
        raise ReadError(
            f"{partition.name}: {row_count:,} rows, where there were {expected:,}: it has "
            "changed. Begin anew."
        )
    targets, encoded = model._encode_targets(y, rows.n_rows, is_fit=False, **named)
    return _positive_rows(TrainingRows(rows, encoded.columns, weights, targets))


def weigh(data: TrainingRows, model: Any) -> TrainingRows:
    """Multiply the class weights of a model into the row weights."""
    _, weights = model._weight_rows(data.targets, data.columns, data.weights)
    return _positive_rows(data._replace(weights=weights))


def _positive_rows(data: TrainingRows) -> TrainingRows:
    """The rows of weight above 0."""
    rows, columns, weights, targets = data
    if not len(weights) or weights.all():
        return data
    at = np.flatnonzero(weights)
    return TrainingRows(rows.select_rows(at), columns[at], weights[at], targets)


def count(data: TrainingRows) -> Counts:
    """Count entries of columns and rows of classes in a partition."""
    columns = np.bincount(data.rows.to_scipy().indices, minlength=data.rows.n_features)
    classes = np.zeros(0, np.int64)
    if hasattr(data.targets, "class_indices") and not data.targets.labels:
        codes = data.targets.class_indices(data.columns).astype(np.int64)
        classes = np.bincount(codes, minlength=len(data.targets.classes))
    return Counts(columns, classes, data.rows.n_rows, data.targets)


def add_counts(left: Counts, right: Counts) -> Counts:
    """Add the counts of two branches."""
    return Counts(
        left.columns + right.columns,
        left.classes + right.classes,
        left.rows + right.rows,
        left.targets,
    )


def balanced_weights(counts: Counts) -> dict:
    """Class weights under which all classes have the same total weight."""
    names, rows = counts.targets.classes.tolist(), int(counts.classes.sum())
    each = zip(names, counts.classes.tolist(), strict=True)
    return {name: rows / (len(names) * max(size, 1)) for name, size in each}


# --------------------------------------------------------------------------- on the client
class Partitions:
    """The partitions with rows, after some steps, on their workers: what `_fit_partitions` of a
    method learns from.

    `rows` are their numbers of rows of weight above 0, before class weights; `counts` those of all
    partitions; `segment` is the number of rounds that are replayed together.
    """

    counts: Counts

    def __init__(
        self,
        placement: Placement,
        source: "Placement | Partitions",
        step: Callable,
        arguments: tuple,
        keep: bool,
        segment: int,
        progress_option: bool | str,
    ):
        assert placement.schema is not None
        self.placement, self.executor = placement, placement.executor
        self.numbers = placement.schema.nonempty
        self.source, self.step, self.arguments, self.keep = source, step, arguments, keep
        self.segment, self.progress_option = segment, progress_option
        self.rows = [placement.schema.row_counts[k] for k in self.numbers]
        self.handles: dict[int, tuple[str, Any]] = {}  # worker and handle, by number

    @classmethod
    def of(
        cls, placement: Placement, model: Any, segment: int, progress: bool | str
    ) -> "Partitions":
        """The partitions as training rows of a model, with their counts."""
        partitions = cls(placement, placement, read, (model,), False, segment, progress)
        partitions.counts = partitions.total(count, add_counts)
        return partitions

    def __len__(self) -> int:
        return len(self.numbers)

    def prepared(self, step: Callable, *arguments: Any, held: bool = False) -> "Partitions":
        """The partitions after ``step(data, *arguments)``; `held`: the results stay in memory even
        where the rows do not.
        """
        options = (held, self.segment, self.progress_option)
        after = Partitions(self.placement, self, step, arguments, *options)
        after.counts = self.counts
        return after

    # ------------------------------------------------------------------ workers
    def open(self) -> list[tuple[str, Any]]:
        """Worker and handle of each partition."""
        workers = place_partitions(len(self.placement.sources), self.placement.workers())
        missing = [k for k in self.numbers if self.handles.get(k, ("",))[0] != workers[k]]
        if missing:
            opened = self.source.open()
            if isinstance(self.source, Placement):  # also those without rows
                opened = [opened[k] for k in self.numbers]
            for k in missing:
                worker, before = opened[self.numbers.index(k)]
                args = (add_step, before, self.step, self.arguments, self.keep)
                self.handles[k] = worker, self.executor.submit(*args, worker=worker)
            # A step is the only use of its source.
            self.source.forget()
        return [self.handles[k] for k in self.numbers]

    def forget(self) -> None:
        """Drop all handles, at the end or where some may be gone with their worker."""
        self.executor.cancel([handle for _, handle in self.handles.values()])
        self.handles = {}
        self.source.forget()

    # ------------------------------------------------------------------ tasks
    @contextmanager
    def progress(self, total: int = 0) -> Iterator[Progress]:
        """A progress bar of so many rounds."""
        with Progress("fit", total, self.progress_option) as bar:
            yield bar

    def total(self, task: Callable, merge: Callable, *arguments: Any) -> Any:
        """Results of ``task(data, *arguments)`` for all partitions, merged in a tree over their
        numbers.
        """

        def attempt() -> Any:
            sent: dict[str, Any] = {}
            nodes = []
            for worker, cached in self.open():
                if worker not in sent:
                    sent[worker] = self.executor.put(Arguments(arguments), worker)
                args = (run_on_data, task, cached, sent[worker])
                nodes.append((worker, self.executor.submit(*args, worker=worker)))
            return self.executor.gather([merge_tree(self.executor, nodes, merge)[1]])[0]

        return with_replays(attempt, self.forget)

    def walk(
        self, states: list, routes: list[list[tuple[int, tuple]]], task: Callable, rows: list[int]
    ) -> list:
        """Take each state along its route of (partition, arguments): ``task(state, data, number,
        *arguments)`` returns the next state and the number of rows that it has learnt. `rows` are
        the numbers of rows that each state has to learn.
        """

        def attempt() -> list[StateOnPath]:
            opened, handles = self.open(), [None] * len(states)
            for step in range(max(map(len, routes), default=0)):
                for c, route in enumerate(routes):
                    if step >= len(route):
                        continue
                    worker, cached = opened[route[step][0]]
                    handle = handles[c]
                    if handle is None:
                        handle = self.executor.put(StateOnPath(states[c]), worker)
                    args = (pass_partition, handle, cached, task, route[step][1])
                    handles[c] = self.executor.submit(*args, worker=worker)
            return self.executor.gather(handles)

        ended = with_replays(attempt, self.forget)
        for c, (path, route) in enumerate(zip(ended, routes, strict=True)):
            self.account(c, path, [position for position, _ in route], rows[c])
        return [path.state for path in ended]

    def vote(
        self, states: list, shared: Any, method: Any, visits: int, say: Callable, counted: bool
    ) -> tuple[list, Any]:
        """Take states, at most as many as partitions, through the partitions in step: visit v of
        state c is of partition c + v, modulo their number.

        A visit has ``method.stages`` stages, ``method.advance(state, shared, data, stage)``. After
        each stage the votes of the states, ``method.votes(state)``, are merged by `method.merge`,
        and ``method.decide(shared, votes)`` is their next shared state. ``say(shared)`` is the text
        of the progress bar; `counted`: every row is learnt, and a state counts them in `rows`.
        """
        paths, common = [StateOnPath(state) for state in states], StateOnPath(shared)
        handles: list | None = None
        done = stop = 0

        def forget() -> None:
            nonlocal handles
            self.forget()
            self.executor.cancel(handles or [])
            handles = None

        def attempt() -> None:
            nonlocal handles, paths, common
            opened = self.open()
            if handles is None:
                handles = [
                    self.executor.put(one, opened[c % len(opened)][0])
                    for c, one in enumerate([*paths, common])
                ]
            ended = handles
            for visit in range(done, stop):
                for stage in range(method.stages):
                    ended = self._stage(ended, opened, method, visit, stage)
            *paths, common = self.executor.gather(ended)
            handles = ended

        with self.progress(visits) as bar:
            done = 0
            while done < visits:
                stop = min(done + self.segment, visits)
                with_replays(attempt, forget)
                for c, path in enumerate(paths):
                    route = [(c + visit) % len(self) for visit in range(stop)]
                    rows = sum(self.rows[position] for position in route) if counted else None
                    self.account(c, path, route, rows)
                bar.advance(stop - done, f"visit {stop:,} of {visits:,}, {say(common.state)}")
                done = stop
        return [path.state for path in paths], common.state

    def _stage(self, handles: list, opened: list, method: Any, visit: int, stage: int) -> list:
        """Handles of all states and of the shared state after one stage."""
        *paths, shared = handles
        after, nodes = [], []
        for c, path in enumerate(paths):
            worker, cached = opened[(c + visit) % len(opened)]
            args = (advance, path, shared, cached, method, stage)
            after.append(self.executor.submit(*args, worker=worker))
            votes = self.executor.submit(votes_of, after[-1], method, worker=worker)
            nodes.append((worker, votes))
        worker, votes = merge_tree(self.executor, nodes, method.merge)
        return [*after, self.executor.submit(decide, shared, votes, method, worker=worker)]

    def account(self, c: int, path: StateOnPath, route: list[int], rows: int | None) -> None:
        """Refuse a state that has not visited its route, or has not learnt so many rows (None: the
        number is not known).
        """
        expected = [self.numbers[position] for position in route]
        if list(path.visited) != expected or rows not in (None, path.rows):
            raise AccountError(
                f"state {c} has learnt {path.rows:,} rows of partitions {list(path.visited)} "
                f"where {rows} rows of {expected} were due: nobody knows what it has learnt, and "
                "it is thrown away."
            )
