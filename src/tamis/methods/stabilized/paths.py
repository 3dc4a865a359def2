"""The engine of the stabilized models: bundles of paths, one an output, and their walk over rows.

No checks, no scikit-learn.
"""

import time
from copy import copy
from typing import ClassVar

import numpy as np

from tamis.base.contents import array, listing, number, part
from tamis.base.jit import on_threads
from tamis.base.rows import Csr, frozen
from tamis.methods.stabilized import loop_columns as columns_loop
from tamis.methods.stabilized import loop_stage as loop
from tamis.methods.stabilized.loop import run_parallel, run_serial
from tamis.methods.stabilized.loop_stage import Plan

BLOCK = 1 << 16  # rows times paths between two looks at the progress bar and at Ctrl-C
# one block in so many tries whether the other number of threads, one or all, has become the faster
TRY = 32
RECORDS = 1024  # stages that the history keeps
NO_COUNTS = np.zeros(0, np.uint32)


# --------------------------------------------------------------------------- one output
class Bundle:
    """The paths of one output. `columns` says which columns the state has; a stream has all, a fit
    those that matter.

    As of every engine, the shapes of what is looked at never change: `relocated` gives another
    bundle.
    """

    _contents: ClassVar[dict] = {
        "paths": array("f8", "paths", 8),
        "status": array("u1", "columns", most=2),
        "columns": array("u4", "width", below="columns", increasing=True),
        "state": array("f8", "paths", "width"),
        "meets": array("u2", "paths", "width"),
        "ballots": array("f8", "width", 4, least=0.0),
        "pool_at": array("u4", "paths", "pool", below="width"),
        "pool_value": array("f8", "paths", "pool"),
        "voted": array("u4", "voted", below="width", increasing=True),
        "votes": array("u8", "voted"),
        "history": array("f8", RECORDS, 7),
        "course": array("f8", 12, least=0.0, most=2.0**53),
    }

    def __init__(self, n_paths: int, features: int, plan: Plan):
        self.columns = np.zeros(0, np.uint32)
        self.status = np.zeros(features, np.uint8)
        self.state, self.meets = np.zeros((n_paths, 0)), np.zeros((n_paths, 0), np.uint16)
        self.ballots = np.zeros(
            (0, 4)
        )  # bursts that met and that kept a feature: carried over, and since the burn-in
        self.paths = np.zeros((n_paths, 8))
        self.pool_at, self.pool_value = np.zeros((n_paths, 0), np.uint32), np.zeros((n_paths, 0))
        self.voted, self.votes = (
            np.zeros(0, np.uint32),
            np.zeros(0, np.uint64),
        )  # those of the open stage
        self.history = np.zeros((RECORDS, 7))
        self.course = np.zeros(12)
        self.course[[loop.BURST, loop.LENGTH, loop.STRIDE]] = (
            plan.burst,
            plan.burst * plan.bursts,
            1.0,
        )
        self.course[loop.REJECTION] = plan.rejection
        if plan.burn < 1.0:
            self.course[loop.GRAVITY] = max(plan.gravity, 0.0)

    def _restored(self) -> None:
        """Refuse clocks and fillings that the loops could not trust."""
        fills, done, c = self.paths[:, loop.FILL], self.paths[:, loop.DONE], self.course
        if not (
            (done >= 0).all() and (done <= fills).all() and (fills <= self.pool_at.shape[1]).all()
        ):
            raise ValueError("the pools are filled beyond their ends")
        whole = (np.delete(c, [loop.GRAVITY, loop.REJECTION]) % 1 == 0).all() and (
            self.paths[:, [loop.FILL, loop.DONE]] % 1 == 0
        ).all()
        if not (
            whole
            and c[loop.INSIDE] < c[loop.LENGTH]
            and c[loop.BURST] >= 1
            and c[loop.STRIDE] >= 1
            and c[loop.RECORDS] <= RECORDS
        ):
            raise ValueError("the clocks of the paths contradict themselves")

    def relocated(self, columns: np.ndarray) -> "Bundle":
        """The bundle with its state at other columns (ascending): new ones are empty, those left
        out must be.
        """
        if np.array_equal(columns, self.columns):
            return self
        moved = copy(self)
        many, width = len(self.paths), len(columns)
        place = np.searchsorted(columns, self.columns).astype(np.uint32)
        stay = np.flatnonzero(place < width)
        stay = stay[columns[place[stay]] == self.columns[stay]]
        state, meets, ballots = (
            np.zeros((many, width)),
            np.zeros((many, width), np.uint16),
            np.zeros((width, 4)),
        )
        for m in range(many):
            state[m, place[stay]], meets[m, place[stay]] = self.state[m, stay], self.meets[m, stay]
        ballots[place[stay]] = self.ballots[stay]
        meets[:, self.status[columns] == loop.PURGED] = loop.DEAD
        moved.pool_at, moved.voted = place[self.pool_at], place[self.voted]
        moved.pool_at[moved.pool_at >= width] = 0  # unused ends
        moved.columns, moved.state, moved.meets, moved.ballots = columns, state, meets, ballots
        return moved

    def opened(self) -> "Bundle":
        """The bundle of a stream, with room for every column."""
        whole = (
            self
            if len(self.columns) == len(self.status)
            else self.relocated(np.arange(len(self.status), dtype=np.uint32))
        )
        whole.course[loop.EMPTY] = (
            whole.course[loop.SEEN] - whole.course[loop.KEPT]
        )  # 0: no cell needs a look at its word
        return whole

    def run(self, rows, counts, start, stop, room, loss, plan, source, threads) -> int:
        """Walk rows start to stop; return how far it came before purged features took up too much
        room.
        """
        many, width = len(self.paths), len(self.columns)
        groups = min(threads, many)
        votes, lists = (
            np.zeros((groups, width), np.uint64),
            np.empty((groups, width + 2), np.uint32),
        )
        lists[:, 0] = 0
        bins = np.zeros((groups, columns_loop.BINS), np.uint32)
        votes[0, self.voted] = self.votes
        lists[0, 1 : len(self.voted) + 1] = self.voted
        lists[0, 0] = len(self.voted)
        filled = self.pool_at.shape[1]
        room += filled + 1  # the loop writes before it knows whether an entry is new
        pool_at, pool_value = np.empty((many, room), np.uint32), np.empty((many, room))
        pool_at[:, :filled], pool_value[:, :filled] = self.pool_at, self.pool_value
        bundle = (self.state, self.meets, self.paths, pool_at, pool_value)
        shared = (
            self.status if not len(counts) else self.status[self.columns],
            self.ballots,
            counts,
        )
        rest = (self.course, self.history, loss, plan, source)
        at = on_threads(
            run_parallel,
            run_serial,
            threads,
            rows,
            np.uint64(start),
            np.uint64(stop),
            bundle,
            shared,
            votes,
            lists,
            bins,
            *rest,
        )
        if len(counts):
            self.status[self.columns] = shared[0]
        filled = int(self.paths[:, loop.FILL].max())
        # The unused ends are garbage: they are cleared so that equal models are equal files.
        self.pool_at, self.pool_value = pool_at[:, :filled].copy(), pool_value[:, :filled].copy()
        unused = np.arange(filled) >= self.paths[:, loop.FILL][:, None]
        self.pool_at[unused], self.pool_value[unused] = 0, 0.0
        self.voted = np.unique(np.concatenate([part[1 : int(part[0]) + 1] for part in lists]))
        self.votes = votes[:, self.voted].sum(axis=0)
        return int(at)

    def means(self) -> np.ndarray:
        """Mean weights of the columns that the state has."""
        weights = np.empty(len(self.columns))
        columns_loop.write_mean(self.state, self.meets, self.course[loop.GRAVITY], weights)
        return weights

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Numbers of the state's columns as an array over all columns."""
        out = np.zeros((*values.shape[:-1], len(self.status)))
        out[..., self.columns] = values
        return out

    def path_weights(self) -> np.ndarray:
        """Weights of each path, (paths, columns)."""
        weights = np.empty((len(self.paths), len(self.columns)))
        columns_loop.write_paths(self.state, self.meets, self.course[loop.GRAVITY], weights)
        return self.spread(weights)

    def probabilities(self) -> np.ndarray:
        """Share of bursts since the burn-in that kept each feature; 1 where none has met it yet, 0
        for purged and unseen ones.
        """
        met, kept = self.ballots[:, 2], self.ballots[:, 3]
        share = np.where(met > 0, kept / np.maximum(met, 1.0), 1.0)
        return self.spread(np.where(self.status[self.columns] == loop.PRESENT, share, 0.0))

    @property
    def bias(self) -> float:
        """Mean intercept, summed in the order of the paths."""
        return float(np.cumsum(self.paths[:, loop.BIAS])[-1] / len(self.paths))

    def score(self, rows: Csr, scores: np.ndarray) -> None:
        """Fill the scores of rows."""
        if len(self.columns) == len(self.status) and len(rows.data) < len(self.columns):
            columns_loop.score_direct(
                *rows[:3], self.state, self.meets, self.course[loop.GRAVITY], self.bias, scores
            )
        else:
            columns_loop.score_dense(*rows[:3], self.spread(self.means()), self.bias, scores)


# --------------------------------------------------------------------------- rows of a fit
class Fitting:
    """Rows of a fit as one bundle of an engine sees them: columns renumbered, purged ones left out
    once they are many.
    """

    def __init__(
        self, bundles: list[Bundle], c: int, rows: Csr, targets, weights, norms, counts, plan: Plan
    ):
        self.bundles, self.c, self.plan, self.counts = bundles, c, plan, counts
        bundle = bundles[c]
        self.matrix, self.owned, self.rest = rows[:3], None, (targets, weights, norms)
        self.columns = np.arange(len(counts), dtype=np.uint32)
        self.room = longest(rows.indptr, plan, bundle)  # rows only get shorter
        self.pace, self.blocks = (
            {True: 0.0, False: 0.0},
            0,
        )  # seconds a row of the last block on several threads, and on one
        fresh = (counts > 0) & (bundle.status == loop.UNSEEN)
        bundle.status[fresh] = loop.PRESENT
        bundle.course[[loop.KEPT, loop.SEEN]] += np.count_nonzero(fresh)
        bundle.course[loop.EMPTY] = 0.0
        gone = int(counts[bundle.status == loop.PURGED].sum())
        if 2 * np.count_nonzero(bundle.status == loop.PRESENT) < len(
            counts
        ) or gone > plan.compaction * len(rows.data):
            self.shrink()
        else:
            self.bundles[c] = bundle.relocated(self.columns)
            self.bundle.course[loop.EMPTY] = gone

    @property
    def bundle(self) -> Bundle:
        """The bundle as it stands."""
        return self.bundles[self.c]

    def shrink(self) -> None:
        """Leave out the columns that have been purged or never occur."""
        bundle, (data, indices, indptr) = self.bundle, self.matrix
        stay = bundle.status[self.columns] == loop.PRESENT
        kept = np.count_nonzero(stay)
        place = np.full(len(stay), kept, np.uint32)
        place[stay] = np.arange(kept)
        if self.owned is None:
            size = int(self.counts[self.columns[stay]].sum())
            self.owned = (
                np.empty(size, data.dtype),
                np.empty(size, indices.dtype),
                np.zeros(len(indptr), np.uint64),
            )
        at = int(columns_loop.compact(data, indices, indptr, place, np.uint32(kept), *self.owned))
        self.owned = (self.owned[0][:at], self.owned[1][:at], self.owned[2])
        self.matrix = tuple(frozen(part) for part in self.owned)
        self.columns = self.columns[stay]
        self.bundles[self.c] = bundle.relocated(self.columns)
        self.bundle.course[loop.EMPTY] = 0.0

    def walk(self, loss, source, threads, tell) -> None:
        """One pass. Threads that other programs keep waiting would make it slower: the faster way
        is taken, and the other one tried now and then.
        """
        n, at = len(self.rest[0]), 0
        step = max(int(self.plan.burst * self.plan.bursts), BLOCK // len(self.bundle.paths))
        while at < n:
            before, stop = at, min(n, at + step)
            counts = self.counts[self.columns]
            used, begin = self._threads(threads), time.perf_counter()
            at = self.bundle.run(
                (*self.matrix, *self.rest),
                counts,
                at,
                stop,
                self.room,
                loss,
                self.plan,
                source,
                used,
            )
            self.pace[used > 1] = (time.perf_counter() - begin) / max(at - before, 1)
            self.blocks += 1
            if at < stop or self.bundle.course[loop.EMPTY] > self.plan.compaction * len(
                self.matrix[0]
            ):
                self.shrink()
            tell(at - before)

    def _threads(self, wanted: int) -> int:
        """Threads for the next block."""
        parallel = self.pace[True] <= self.pace[False]
        return wanted if parallel != (self.blocks % TRY == TRY - 1) else 1


def longest(indptr: np.ndarray, plan: Plan, bundle: Bundle) -> int:
    """Most entries that the rows of one stage can have; the open stage may be of an earlier plan."""
    lengths = np.diff(indptr).astype(np.int64)
    rows = int(
        max(
            plan.burst * plan.bursts * (loop.LARGEST_BURST if plan.adaptive else 1.0),
            bundle.course[loop.LENGTH],
        )
    )
    if rows >= len(lengths):
        return int(lengths.sum())
    return int(np.partition(lengths, len(lengths) - rows)[len(lengths) - rows :].sum())


# --------------------------------------------------------------------------- all outputs
class StabilizedEngine:
    """State of one stabilized model: a bundle of paths for each output."""

    _contents: ClassVar[dict] = {
        "seed": number(int, least=0, most=2**64 - 1),
        "bundles": listing(part(Bundle, "columns", "paths"), "outputs"),
    }

    def __init__(self, n_paths: int, features: int, outputs: int, plan: Plan, seed: int):
        self.seed, self.bundles = seed, [Bundle(n_paths, features, plan) for _ in range(outputs)]

    @property
    def features(self) -> int:
        """Number of columns."""
        return len(self.bundles[0].status)

    @property
    def outputs(self) -> int:
        """Number of linear functions."""
        return len(self.bundles)

    def score(self, rows: Csr) -> np.ndarray:
        """Scores of the rows, (rows, outputs)."""
        scores = np.empty((self.outputs, rows.n_rows))
        for bundle, own in zip(self.bundles, scores, strict=True):
            bundle.score(rows, own)
        return scores.T

    def weights(self) -> np.ndarray:
        """All weights, (outputs, features)."""
        return np.array([bundle.spread(bundle.means()) for bundle in self.bundles])

    def intercepts(self) -> np.ndarray:
        """Intercepts, one an output."""
        return np.array([bundle.bias for bundle in self.bundles])

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells (feature * outputs + output) and values of the nonzero weights, ascending."""
        cells, weights = [], []
        for c, bundle in enumerate(self.bundles):
            means = bundle.means()
            at = np.flatnonzero(means)
            cells.append(bundle.columns[at].astype(np.int64) * self.outputs + c)
            weights.append(means[at])
        order = np.argsort(np.concatenate(cells), kind="stable")
        return np.concatenate(cells)[order], np.concatenate(weights)[order]

    def count(self) -> int:
        """Number of nonzero weights."""
        return sum(int(np.count_nonzero(bundle.means())) for bundle in self.bundles)
