"""Stabilized SGD on rows that lie in partitions: the paths vote together after each segment of a
visit.

The paths are divided among workers, as many as there are partitions with rows, or paths. In visit v
worker w is at partition (w + v) modulo the number of partitions, so that after a sweep every path
has learned from every row. In a visit each path takes the rows of the partition in its own order,
in `stages` segments. After each segment the votes of all workers, which are integers, are added up
in a tree, and the purged features are broadcast, with the rejection and the burst length of the
next segment.

A segment has about 100 rows unless the caller sets `stages`. With many more rows, features are
purged under an outdated rejection, and too many are; with fewer than 25, a stage of `fit`, there
are too few votes.

What `fit` calls a stage is therefore two things here. After `bursts_per_stage` bursts a worker sets
its own gravity from the displacements of its own paths. Features are purged by the votes of a
segment, which has more bursts: a rare feature that one path has truncated once may stay. The
burn-in is counted in sweeps, and all sweeps are run.

All functions return new states and do not change their arguments.
"""

from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop_partitions import end_partition_stage, run_partition_stage
from tamis.methods.stabilized_sgd.loop_stage import (
    PATH_STATE,
    STAGE_STATE,
    PathArrays,
    RowArrays,
    RunPlan,
)
from tamis.methods.stabilized_sgd.paths import NO_COUNTS, PathBundle, StabilizedState
from tamis.numerics.csr import Csr, readonly_view

SEGMENT_ROWS = 100  # rows of a segment, where the caller sets no number of stages
WORKER_SEED_STEP = 0x9E3779B97F4A7C15  # difference between the seeds of two workers


class PartitionRows(NamedTuple):
    """Rows of a partition: entries, targets (an array for each output), weights, and norms."""

    rows: Csr
    targets: list[np.ndarray]
    weights: np.ndarray
    norms: np.ndarray


@dataclass
class PathWorker:
    """Some paths of every output, the seed of their row orders, the votes of the last segment, and
    the number of rows learned so far.
    """

    bundles: list[PathBundle]
    seed: int
    segment_votes: "list[SegmentVotes]"
    rows: int = 0


class Voting(NamedTuple):
    """How workers learn from a partition in segments, and what their votes decide.

    The functions of a vote are called by `Partitions.vote`.
    """

    loss: tuple
    plan: RunPlan
    permuted: bool
    stages: int
    paths: int

    def advance(
        self, worker: PathWorker, shared: list[PathBundle], data: PartitionRows, stage: int
    ) -> PathWorker:
        """Return a worker after a segment of a visit; `shared` is what all paths share."""
        rows, targets, weights, norms = data
        first, last = (rows.n_rows * k // self.stages for k in (stage, stage + 1))
        rows_before = np.uint64(worker.rows - first)  # before this visit, as in `fit`
        order = loop.RowOrder(np.uint64(worker.seed), rows_before, self.permuted)
        bundles, segment_votes = [], []
        for bundle, output_shared, output_targets in zip(
            worker.bundles, shared, targets, strict=True
        ):
            arrays = (output_targets, weights, norms)
            bundle, votes = run_segment(
                bundle, output_shared, rows, arrays, (first, last), self.loss, self.plan, order
            )
            bundles.append(bundle)
            segment_votes.append(votes)
        return PathWorker(bundles, worker.seed, segment_votes, worker.rows + last - first)

    def votes(self, worker: PathWorker) -> "list[SegmentVotes]":
        """Return the votes of a worker's last segment."""
        return worker.segment_votes

    def merge(
        self, left: "list[SegmentVotes]", right: "list[SegmentVotes]"
    ) -> "list[SegmentVotes]":
        """Return the sums of the votes of two branches."""
        return [first.plus(second) for first, second in zip(left, right, strict=True)]

    def decide(self, shared: list[PathBundle], votes: "list[SegmentVotes]") -> list[PathBundle]:
        """Return what all paths share after the votes."""
        return [
            apply_votes(output_shared, output_votes, self.paths, self.plan)
            for output_shared, output_votes in zip(shared, votes, strict=True)
        ]


def fit_partitions(model, partitions, sweeps: int, stages: int | None) -> StabilizedState:
    """Return the engine of a model after some sweeps over partitions, each visit in `stages`
    segments.
    """
    counts, paths = partitions.counts, model.n_paths
    outputs, width = counts.targets.outputs, len(counts.columns)
    stages = stages or -(-max(partitions.rows) // SEGMENT_ROWS)
    plan = model._plan(0, resampled=not model.shuffle)
    burn_in = round(model._tunable_params().burn_in * len(partitions) * stages)
    burn_in = max(1, burn_in) if plan.gravity < 0.0 else burn_in
    plan = plan._replace(burn_in_stages=float(burn_in))
    voting = Voting(model._loss(), plan, model.shuffle, stages, paths)
    engine = StabilizedState(paths, width, outputs, model._seed())
    worker_paths = np.array_split(np.arange(paths), min(paths, len(partitions)))
    workers = [
        PathWorker(
            [PathBundle(len(path_numbers), width) for _ in range(outputs)],
            (engine.seed + w * WORKER_SEED_STEP) % 2**64,
            [],
        )
        for w, path_numbers in enumerate(worker_paths)
    ]
    shared = [initial_shared(counts.columns, plan) for _ in range(outputs)]
    weights = getattr(model, "class_weight", None)
    workers, shared = partitions.prepared(prepare, outputs).vote(
        workers,
        shared,
        voting,
        sweeps * len(partitions),
        lambda shared: f"{max(int(one.stage.n_present) for one in shared):,} features",
        # Rows of a class of weight 0 are not counted.
        counted=not isinstance(weights, dict) or all(weights.values()),
    )
    engine.bundles = [
        concatenate_paths(output_shared, [worker.bundles[c] for worker in workers])
        for c, output_shared in enumerate(shared)
    ]
    return engine


def prepare(data: Any, outputs: int) -> PartitionRows:
    """Return the rows of a partition with targets for each output, and norms."""
    rows, columns, weights, *_ = data
    norms = np.empty(rows.n_rows)
    columns_loop.measure_rows(*rows[:3], norms, NO_COUNTS)
    if columns.shape[1] < outputs:
        targets = [np.where(columns[:, 0] == c, 1.0, -1.0) for c in range(outputs)]
    else:
        targets = [np.ascontiguousarray(columns[:, c]) for c in range(outputs)]
    targets = [readonly_view(output_targets) for output_targets in targets]
    return PartitionRows(rows, targets, weights, readonly_view(norms))


# --------------------------------------------------------------------------- one output


class SegmentVotes(NamedTuple):
    """Votes of a segment: for each present column the bursts that met it and those that it
    survived; sum and weight of the losses, number of rows, and gravity, summed over the paths.
    """

    votes: np.ndarray
    loss_sum: float
    loss_weight: float
    rows: int
    gravity: float

    def plus(self, other: "SegmentVotes") -> "SegmentVotes":
        """Return the sum of both."""
        return SegmentVotes(
            self.votes + other.votes,
            self.loss_sum + other.loss_sum,
            self.loss_weight + other.loss_weight,
            self.rows + other.rows,
            self.gravity + other.gravity,
        )


def initial_shared(counts: np.ndarray, plan: RunPlan) -> PathBundle:
    """Return what the paths share at the start: a bundle without paths, of the columns that have
    entries.
    """
    shared = PathBundle(0, len(counts))
    shared.status[counts > 0] = loop.PRESENT
    shared.start(plan)
    shared.stage.n_present = shared.stage.n_seen = float(np.count_nonzero(counts))
    return shared.with_columns(_present_columns(shared))


def _present_columns(shared: PathBundle) -> np.ndarray:
    return np.flatnonzero(shared.status == loop.PRESENT).astype(np.uint32)


def run_segment(
    bundle: PathBundle, shared: PathBundle, rows: Csr, row_data: tuple, span: tuple, loss, plan:
    RunPlan, order,
) -> tuple[PathBundle, SegmentVotes]:  # fmt: skip
    """Return some paths after a span of rows, each in its own order, and their votes; `row_data`
    are targets, weights and norms.
    """
    bundle = deepcopy(bundle).with_columns(shared.columns)
    stage, n_paths = bundle.stage, len(bundle.paths)
    for name in ("number", "rejection", "burst", "length"):
        setattr(stage, name, getattr(shared.stage, name))
    if not shared.stage.number:
        stage.gravity = shared.stage.gravity
    entries, capacity = select_columns(rows, shared.columns, int(stage.length))
    pool_columns = np.empty((n_paths, capacity), np.uint32)
    pool_values = np.empty((n_paths, capacity))
    path_states, rows_before = bundle.path_states, stage.rows
    arrays = PathArrays(
        bundle.state, bundle.meets, path_states, pool_columns, pool_values,
        pool_values.view(np.uint64),
    )  # fmt: skip
    votes = np.zeros((len(shared.columns), 2), np.int64)
    shard_entries = np.empty((n_paths, 1, capacity + 1), np.uint32)
    buffer = np.empty(n_paths * capacity)
    run_partition_stage(
        RowArrays(*entries, *row_data), *map(np.uint64, span), arrays, shard_entries, buffer,
        votes, bundle.course.view(STAGE_STATE), loss, plan, order,
    )  # fmt: skip
    loss_sum = float(path_states["loss_sum"].sum())
    loss_weight = float(path_states["loss_weight"].sum())
    path_states["loss_sum"] = path_states["loss_weight"] = 0.0
    n_rows = int(stage.rows - rows_before) * n_paths
    gravity = float(stage.gravity) * n_paths
    return bundle, SegmentVotes(votes, loss_sum, loss_weight, n_rows, gravity)


def select_columns(rows: Csr, columns: np.ndarray, length: int) -> tuple[tuple, int]:
    """Return the entries of some columns, renumbered, and the pool capacity for `length` rows."""
    new_index = np.full(rows.n_features, len(columns), rows.indices.dtype)
    new_index[columns] = np.arange(len(columns))
    data, indices = np.empty_like(rows.data), np.empty_like(rows.indices)
    indptr = np.zeros(len(rows.indptr), np.uint64)
    n_entries = int(
        columns_loop.compact_columns(
            *rows[:3], new_index, rows.indices.dtype.type(len(columns)), data, indices, indptr
        )
    )
    entries = (
        readonly_view(data[:n_entries]),
        readonly_view(indices[:n_entries]),
        readonly_view(indptr),
    )
    lengths = np.diff(indptr).astype(np.int64)
    cut = max(len(lengths) - length, 0)
    capacity = int((np.partition(lengths, cut)[cut:] if cut else lengths).sum())
    return entries, capacity + 1  # the loop writes an entry before it checks whether it is new


def apply_votes(shared: PathBundle, votes: SegmentVotes, paths: int, plan: RunPlan) -> PathBundle:
    """Return what the paths share after a vote: the present columns, and the next stage."""
    shared = deepcopy(shared)
    stage: Any = shared.stage
    stage.number += 1.0
    stage.rows += votes.rows / paths
    if stage.number > plan.burn_in_stages:
        _purge(shared, votes.votes.astype(float), plan)
    # A single path with all the losses, for the history.
    path_states = np.zeros((1, 8)).view(PATH_STATE)[:, 0]
    path_states["loss_sum"], path_states["loss_weight"] = votes.loss_sum, votes.loss_weight
    empty = np.zeros((1, 0))
    arrays = PathArrays(
        empty, empty.astype(np.uint16), path_states, empty.astype(np.uint32), empty,
        empty.view(np.uint64),
    )  # fmt: skip
    end_partition_stage(arrays, shared.course.view(STAGE_STATE), shared.history, plan)
    stage.gravity = votes.gravity / paths
    return shared.with_columns(_present_columns(shared))


def _purge(shared: PathBundle, votes: np.ndarray, plan: RunPlan) -> None:
    """Purge the columns that survived too few bursts; too few votes are carried over."""
    vote_counts, has_votes = shared.ballots, votes[:, 0] > 0.0
    vote_counts[:, 2:] += votes
    votes = votes + vote_counts[:, :2]
    is_judged = has_votes & (votes[:, 0] >= max(plan.min_votes, 1.0))
    carried_over = np.where(is_judged[has_votes, None], 0.0, votes[has_votes])
    vote_counts[has_votes, :2] = carried_over
    is_purged = is_judged & (votes[:, 1] < plan.purge * votes[:, 0])
    shared.status[shared.columns[is_purged]] = loop.PURGED
    shared.stage.n_present -= float(np.count_nonzero(is_purged))


def concatenate_paths(shared: PathBundle, bundles: list[PathBundle]) -> PathBundle:
    """Return one bundle with the paths of several, and what they share."""
    merged = copy(shared)
    bundles = [bundle.with_columns(shared.columns) for bundle in bundles]
    merged.course = shared.course.copy()
    merged.stage.rows = bundles[0].stage.rows  # an integer, equal for all of them
    for name in ("state", "meets", "paths", "pool_at", "pool_value"):
        setattr(merged, name, np.concatenate([getattr(bundle, name) for bundle in bundles]))
    return merged
