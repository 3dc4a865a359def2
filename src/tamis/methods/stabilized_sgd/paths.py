"""State of the stabilized models: the paths of one output, and the engine with all outputs."""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop import run_paths_in_parallel, run_paths_serially
from tamis.methods.stabilized_sgd.loop_stage import (
    PATH_STATE,
    STAGE_STATE,
    PathArrays,
    RunPlan,
    SharedColumns,
)
from tamis.numerics.csr import Csr
from tamis.numerics.numba import run_parallel
from tamis.system.schema import array, list_of, nested_object, number

MAX_RECORDS = 1024  # stages in the history
INTEGER_FIELDS = [name for name in STAGE_STATE.names or () if name not in ("gravity", "rejection")]
NO_COUNTS = np.zeros(0, np.uint32)


# --------------------------------------------------------------------------- one output
class PathBundle:
    """The paths of one output, and what they share.

    `columns` are the columns of the arrays: all columns in a stream, those that are present in a
    fit. The first stage begins with `start`. Concurrent readers see consistent arrays, because
    their shapes never change: `with_columns` returns another bundle.
    """

    _contents: ClassVar[dict] = {
        "paths": array("f8", "paths", 8),
        "status": array("u1", "columns", maximum=2),
        "columns": array("u4", "width", below="columns", distinct=True),
        "state": array("f8", "paths", "width"),
        "meets": array("u2", "paths", "width"),
        "ballots": array("f8", "width", 4, minimum=0.0),
        "pool_at": array("u4", "paths", "pool", below="width"),
        "pool_value": array("f8", "paths", "pool"),
        "voted": array("u4", "voted", below="width", increasing=True),
        "votes": array("u8", "voted"),
        "history": array("f8", MAX_RECORDS, 7),
        "course": array("f8", 12, minimum=0.0, maximum=2.0**53),
    }

    def __init__(self, n_paths: int, features: int):
        self.columns = np.zeros(0, np.uint32)
        self.status = np.zeros(features, np.uint8)
        # Weights, and the number of rows of the present burst that had each column.
        self.state, self.meets = np.zeros((n_paths, 0)), np.zeros((n_paths, 0), np.uint16)
        # Bursts that met a feature, and that it survived: carried over, and since the burn-in.
        self.ballots = np.zeros((0, 4))
        self.paths = np.zeros((n_paths, 8))  # PATH_STATE
        self.pool_at, self.pool_value = np.zeros((n_paths, 0), np.uint32), np.zeros((n_paths, 0))
        # Votes of the present stage, and the columns that have any.
        self.voted, self.votes = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        self.history = np.zeros((MAX_RECORDS, 7))
        self.course = np.zeros(12)  # STAGE_STATE

    def start(self, plan: RunPlan) -> "PathBundle":
        """Begin the first stage, unless it has begun, and return the bundle."""
        stage = self.stage
        if not stage.record_stride:
            stage.burst, stage.length = plan.burst, plan.burst * plan.bursts_per_stage
            stage.record_stride, stage.rejection = 1.0, plan.rejection
            if plan.burn_in_stages < 1.0:
                stage.gravity = max(plan.gravity, 0.0)
        return self

    @property
    def stage(self) -> np.record:
        """View of the state that the paths share, with named fields."""
        return self.course.view(STAGE_STATE)[0]

    @property
    def path_states(self) -> np.ndarray:
        """View of the states of the paths, with named fields."""
        return self.paths.view(PATH_STATE)[:, 0]

    def _after_load(self) -> None:
        # The loops trust these numbers as positions.
        n_pooled, n_truncated = self.path_states["n_pooled"], self.path_states["n_truncated"]
        if not (
            (n_truncated >= 0).all()
            and (n_truncated <= n_pooled).all()
            and n_pooled.max() <= self.pool_capacity
        ):
            raise ValueError("the pools of the paths have more entries than their arrays")
        stage = self.stage
        integers = [getattr(stage, name) for name in INTEGER_FIELDS] + [*n_pooled, *n_truncated]
        if (
            any(number % 1 for number in integers)
            or not stage.rows_in_stage < stage.length
            or min(stage.burst, stage.record_stride) < 1
            or stage.n_records > MAX_RECORDS
        ):
            raise ValueError("the counters of the paths contradict each other")

    @property
    def pool_capacity(self) -> int:
        """Number of entries for which each pool has space."""
        return self.pool_at.shape[1]

    def with_columns(self, columns: np.ndarray) -> "PathBundle":
        """Return the bundle with arrays of other columns: new columns are 0; columns left out must
        be 0.
        """
        if np.array_equal(columns, self.columns):
            return self
        bundle = copy(self)
        n_paths, width = len(self.paths), len(columns)
        new_index = np.full(len(self.status), width, np.uint32)
        new_index[columns] = np.arange(width)
        new_index = new_index[self.columns]
        retained = np.flatnonzero(new_index < width)
        targets = new_index[retained]
        state, burst_counts = np.zeros((n_paths, width)), np.zeros((n_paths, width), np.uint16)
        vote_counts = np.zeros((width, 4))
        for m in range(n_paths):
            state[m, targets] = self.state[m, retained]
            burst_counts[m, targets] = self.meets[m, retained]
        vote_counts[targets] = self.ballots[retained]
        burst_counts[:, self.status[columns] == loop.PURGED] = loop.PURGED_MARK
        bundle.pool_at = new_index[self.pool_at]
        is_unused = np.arange(self.pool_capacity) >= self.path_states["n_pooled"][:, None]
        bundle.pool_at[is_unused] = 0
        order = np.argsort(new_index[self.voted])
        bundle.voted, bundle.votes = new_index[self.voted][order], self.votes[order]
        bundle.columns, bundle.state = columns, state
        bundle.meets, bundle.ballots = burst_counts, vote_counts
        return bundle

    def with_all_columns(self) -> "PathBundle":
        """Return the bundle of a stream, with arrays of every column."""
        width, bundle = len(self.status), self
        if len(self.columns) < width:
            bundle = self.with_columns(np.arange(width, dtype=np.uint32))
        stage = bundle.stage
        # Where it is 0, the loops need not check the columns for the mark of purged ones.
        stage.purged_entries = stage.n_seen - stage.n_present
        return bundle

    def run(self, rows, entry_counts, start, stop, capacity, loss, plan, order, threads) -> int:
        """Learn from the rows from start to stop, or to the end of a stage after which the columns
        should be compacted; return the position.
        """
        n_paths, n_pooled = len(self.paths), self.pool_capacity
        capacity += n_pooled + 1  # the loop writes an entry before it checks whether it is new
        pool_columns = np.empty((n_paths, capacity), np.uint32)
        pool_values = np.empty((n_paths, capacity))
        pool_columns[:, :n_pooled], pool_values[:, :n_pooled] = self.pool_at, self.pool_value
        pool_bits = pool_values.view(np.uint64)
        arrays = PathArrays(
            self.state, self.meets, self.path_states, pool_columns, pool_values, pool_bits
        )
        status = self.status if not len(entry_counts) else self.status[self.columns]
        shared = SharedColumns(status, self.ballots, entry_counts)
        counts = self._stage_counts(capacity, threads)
        position = run_parallel(
            run_paths_in_parallel, run_paths_serially, threads,
            rows, np.uint64(start), np.uint64(stop), arrays, shared, counts,
            self.course.view(STAGE_STATE), self.history, loss, plan, order,
        )  # fmt: skip
        if len(entry_counts):
            self.status[self.columns] = status
        self._store(arrays, counts, is_voting=self.stage.number + 1.0 > plan.burn_in_stages)
        return int(position)

    def _stage_counts(self, capacity: int, threads: int) -> loop.StageCounts:
        """Return the arrays of the counts, with those of the present stage so far."""
        n_paths, width = len(self.paths), len(self.columns)
        n_shards = min(threads, n_paths)
        near_gravity = np.empty(n_shards * n_paths * capacity)  # unused pages take no memory
        counts = loop.StageCounts(
            votes=np.zeros(width, np.uint64),
            n_voted=self.path_states["n_truncated"].astype(np.uint64),
            shard_entries=np.empty((n_paths, n_shards, capacity + 1), np.uint32),
            voted_columns=np.empty((n_shards, width + 2), np.uint32),
            bins=np.zeros((n_shards, columns_loop.N_BINS), np.uint32),
            near_gravity=near_gravity,
            near_gravity_bits=near_gravity.view(np.uint64),
            n_near_gravity=np.zeros((n_shards, 8), np.uint64),
            gravity_bin=np.zeros(1, np.int64),
            purged=np.zeros((n_shards, 8)),
            next_path=np.zeros(8 * n_shards, np.uint64),
        )
        counts.votes[self.voted] = self.votes
        counts.voted_columns[:, 0] = counts.shard_entries[:, :, 0] = 0
        _list_by_shard(counts.voted_columns, self.voted, self.voted)
        for m in np.flatnonzero(counts.n_voted):
            entries = np.arange(int(counts.n_voted[m]))
            _list_by_shard(counts.shard_entries[m], self.pool_at[m, entries], entries)
        return counts

    def _store(self, arrays: PathArrays, counts: loop.StageCounts, is_voting: bool) -> None:
        """Store the pools and the votes of the present stage."""
        path_states = self.path_states
        n_pooled = int(path_states["n_pooled"].max())
        columns, values = arrays.pool_columns[:, :n_pooled], arrays.pool_values[:, :n_pooled]
        entries, n_truncated = np.arange(n_pooled), path_states["n_truncated"][:, None]
        is_new = (entries >= counts.n_voted[:, None]) & (entries < n_truncated) & is_voting
        survived = np.uint64(1) - np.signbit(values[is_new])
        np.add.at(counts.votes, columns[is_new], np.uint64(1) + (survived << loop.HALF))
        voted = np.unique(np.concatenate([self.voted, columns[is_new]]))
        self.voted = voted[counts.votes[voted] > 0]
        self.votes = counts.votes[self.voted]
        # Unused ends are uninitialised: they are cleared, so that equal models are equal files.
        is_unused = entries >= path_states["n_pooled"][:, None]
        values = np.where(entries < n_truncated, abs(values), values)
        self.pool_at = np.where(is_unused, np.uint32(0), columns)
        self.pool_value = np.where(is_unused, 0.0, values)

    def mean_weights(self) -> np.ndarray:
        """Return the mean weights of the columns of the arrays."""
        weights = np.empty(len(self.columns))
        columns_loop.fill_mean_weights(self.state, self.meets, self.stage.gravity, weights)
        return weights

    def expand(self, values: np.ndarray) -> np.ndarray:
        """Return values of the columns of the arrays as an array over all columns."""
        expanded = np.zeros((*values.shape[:-1], len(self.status)))
        expanded[..., self.columns] = values
        return expanded

    def path_weights(self) -> np.ndarray:
        """Return the weights of each path, (paths, columns)."""
        weights = np.empty((len(self.paths), len(self.columns)))
        columns_loop.fill_path_weights(self.state, self.meets, self.stage.gravity, weights)
        return self.expand(weights)

    def selection_probabilities(self) -> np.ndarray:
        """Return the fraction of bursts since the burn-in that each feature survived; 1 where none
        has met it yet, 0 for purged and unseen features.
        """
        n_bursts, n_survived = self.ballots[:, 2], self.ballots[:, 3]
        fraction = np.where(n_bursts > 0, n_survived / np.maximum(n_bursts, 1.0), 1.0)
        return self.expand(np.where(self.status[self.columns] == loop.PRESENT, fraction, 0.0))

    def history_entries(self) -> list[dict]:
        """Return the entries of `history_`, one a recorded stage."""
        records = self.history[: int(self.stage.n_records)].tolist()
        return [
            {
                "stage": int(stage),
                "rows": int(rows),
                "kept": int(n_present),
                "burst": int(burst),
                "gravity": gravity,
                "rejection": rejection,
                "loss": loss,
            }
            for stage, rows, n_present, gravity, rejection, loss, burst in records
        ]

    @property
    def mean_norm(self) -> float:
        """Mean norm of the rows, over all paths."""
        return float(self.path_states["mean_norm"].mean())

    @property
    def bias(self) -> float:
        """Mean intercept, summed in the order of the paths."""
        return float(np.cumsum(self.path_states["bias"])[-1] / len(self.paths))

    def score(self, rows: Csr, scores: np.ndarray) -> None:
        """Fill the scores of rows."""
        if len(self.columns) == len(self.status) and len(rows.data) < len(self.columns):
            columns_loop.score_from_paths(
                *rows[:3], self.state, self.meets, self.stage.gravity, self.bias, scores
            )
        else:
            weights = self.expand(self.mean_weights())
            columns_loop.score_from_weights(*rows[:3], weights, self.bias, scores)


def _list_by_shard(lists: np.ndarray, columns: np.ndarray, entries: np.ndarray) -> None:
    """Write entries into the lists of the shards of their columns: their number, then the
    entries.
    """
    shards = loop.shard_index(columns.astype(np.uint64), np.uint64(len(lists)))
    for shard, shard_list in enumerate(lists):
        selected = entries[shards == shard]
        shard_list[0], shard_list[1 : len(selected) + 1] = len(selected), selected


# --------------------------------------------------------------------------- all outputs
class StabilizedState:
    """State of a stabilized model: the paths of each output."""

    _contents: ClassVar[dict] = {
        "seed": number(int, minimum=0, maximum=2**64 - 1),
        "bundles": list_of(nested_object(PathBundle, "columns", "paths"), "outputs"),
    }

    def __init__(self, n_paths: int, features: int, outputs: int, seed: int):
        self.seed, self.bundles = seed, [PathBundle(n_paths, features) for _ in range(outputs)]

    @property
    def n_paths(self) -> int:
        """Number of paths of each output."""
        return len(self.bundles[0].paths)

    @property
    def steps(self) -> float:
        """Number of rows that each path has learned from."""
        return max(bundle.stage.rows for bundle in self.bundles)

    @property
    def features(self) -> int:
        """Number of columns."""
        return len(self.bundles[0].status)

    @property
    def outputs(self) -> int:
        """Number of linear functions."""
        return len(self.bundles)

    def score(self, rows: Csr) -> np.ndarray:
        """Return the scores of the rows, (rows, outputs)."""
        scores = np.empty((self.outputs, rows.n_rows))
        for bundle, output_scores in zip(self.bundles, scores, strict=True):
            bundle.score(rows, output_scores)
        return scores.T

    def weights(self) -> np.ndarray:
        """Return all weights, (outputs, features)."""
        return np.array([bundle.expand(bundle.mean_weights()) for bundle in self.bundles])

    def intercepts(self) -> np.ndarray:
        """Return the intercepts, one an output."""
        return np.array([bundle.bias for bundle in self.bundles])

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Return cells (feature * outputs + output), ascending, and values of the nonzero
        weights.
        """
        cells, weights = [], []
        for c, bundle in enumerate(self.bundles):
            means = bundle.mean_weights()
            nonzero = np.flatnonzero(means)
            cells.append(bundle.columns[nonzero].astype(np.int64) * self.outputs + c)
            weights.append(means[nonzero])
        order = np.argsort(np.concatenate(cells), kind="stable")
        return np.concatenate(cells)[order], np.concatenate(weights)[order]

    def count(self) -> int:
        """Return the number of nonzero weights."""
        return sum(int(np.count_nonzero(bundle.mean_weights())) for bundle in self.bundles)
