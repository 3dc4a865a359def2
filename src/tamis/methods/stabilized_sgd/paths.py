"""The engine of the stabilized models: bundles of paths, one an output."""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop import run_parallel, run_serial
from tamis.methods.stabilized_sgd.loop_stage import COURSE, PATH, Plan, Shared, State
from tamis.numerics.csr import Csr
from tamis.numerics.numba import on_threads
from tamis.system.schema import array, listing, number, part

RECORDS = 1024  # stages that the history keeps
WHOLE = [name for name in COURSE.names or () if name not in ("gravity", "rejection")]
NO_COUNTS = np.zeros(0, np.uint32)


# --------------------------------------------------------------------------- one output
class Bundle:
    """The paths of one output. `columns` says which columns the state has; a stream has all, a fit
    those that matter. Its clocks start with the first stage (`begun`).

    As of every engine, the shapes of what is looked at never change: `relocated` gives another
    bundle.
    """

    _contents: ClassVar[dict] = {
        "paths": array("f8", "paths", 8),
        "status": array("u1", "columns", most=2),
        "columns": array("u4", "width", below="columns", distinct=True),
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

    def __init__(self, n_paths: int, features: int):
        self.columns = np.zeros(0, np.uint32)
        self.status = np.zeros(features, np.uint8)
        self.state, self.meets = np.zeros((n_paths, 0)), np.zeros((n_paths, 0), np.uint16)
        # Bursts that met and that kept a feature: carried over, and since the burn-in.
        self.ballots = np.zeros((0, 4))
        self.paths = np.zeros((n_paths, 8))
        self.pool_at, self.pool_value = np.zeros((n_paths, 0), np.uint32), np.zeros((n_paths, 0))
        # Votes of the open stage, and the columns that have any.
        self.voted, self.votes = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        self.history = np.zeros((RECORDS, 7))
        self.course = np.zeros(12)

    def begun(self, plan: Plan) -> "Bundle":
        """The bundle with its first stage under way."""
        clock = self.clock
        if not clock.stride:
            clock.burst, clock.length = plan.burst, plan.burst * plan.bursts
            clock.stride, clock.rejection = 1.0, plan.rejection
            if plan.burn < 1.0:
                clock.gravity = max(plan.gravity, 0.0)
        return self

    @property
    def clock(self) -> np.record:
        """What the paths share, by name; to be written to as well."""
        return self.course.view(COURSE)[0]

    @property
    def own(self) -> np.ndarray:
        """Each path's own numbers, by name."""
        return self.paths.view(PATH)[:, 0]

    def _restored(self) -> None:
        """Refuse clocks and fillings that the loops could not trust."""
        fills, done, clock = self.own["pooled"], self.own["done"], self.clock
        if not ((done >= 0).all() and (done <= fills).all() and fills.max() <= self.room):
            raise ValueError("the pools are filled beyond their ends")
        whole = [getattr(clock, name) for name in WHOLE] + [*fills, *done]
        if (
            any(number % 1 for number in whole)
            or not clock.inside < clock.length
            or min(clock.burst, clock.stride) < 1
            or clock.records > RECORDS
        ):
            raise ValueError("the clocks of the paths contradict themselves")

    @property
    def room(self) -> int:
        """Entries that each pool has room for."""
        return self.pool_at.shape[1]

    def relocated(self, columns: np.ndarray) -> "Bundle":
        """The bundle with its state at other columns: new ones are empty, those left out must
        be.
        """
        if np.array_equal(columns, self.columns):
            return self
        moved = copy(self)
        many, width = len(self.paths), len(columns)
        place = np.full(len(self.status), width, np.uint32)
        place[columns] = np.arange(width)
        place = place[self.columns]
        stay = np.flatnonzero(place < width)
        state, meets = np.zeros((many, width)), np.zeros((many, width), np.uint16)
        ballots = np.zeros((width, 4))
        for m in range(many):
            state[m, place[stay]], meets[m, place[stay]] = self.state[m, stay], self.meets[m, stay]
        ballots[place[stay]] = self.ballots[stay]
        meets[:, self.status[columns] == loop.PURGED] = loop.DEAD
        moved.pool_at = place[self.pool_at]
        unused = np.arange(self.room) >= self.own["pooled"][:, None]
        moved.pool_at[unused] = 0
        order = np.argsort(place[self.voted])
        moved.voted, moved.votes = place[self.voted][order], self.votes[order]
        moved.columns, moved.state, moved.meets, moved.ballots = columns, state, meets, ballots
        return moved

    def opened(self) -> "Bundle":
        """The bundle of a stream, with room for every column."""
        width, whole = len(self.status), self
        if len(self.columns) < width:
            whole = self.relocated(np.arange(width, dtype=np.uint32))
        # 0: no cell needs a look at its word.
        clock = whole.clock
        clock.empty = clock.seen - clock.kept
        return whole

    def run(self, rows, counts, start, stop, room, loss, plan, source, threads) -> int:
        """Walk rows start to stop; return how far it came before purged features took up too much
        room.
        """
        many, filled = len(self.paths), self.room
        room += filled + 1  # the loop writes before it knows whether an entry is new
        pool_at, pool_value = np.empty((many, room), np.uint32), np.empty((many, room))
        pool_at[:, :filled], pool_value[:, :filled] = self.pool_at, self.pool_value
        bundle = State(
            self.state, self.meets, self.own, pool_at, pool_value, pool_value.view(np.uint64)
        )
        status = self.status if not len(counts) else self.status[self.columns]
        shared, count = Shared(status, self.ballots, counts), self._counting(room, threads)
        at = on_threads(
            run_parallel, run_serial, threads,
            rows, np.uint64(start), np.uint64(stop), bundle, shared, count,
            self.course.view(COURSE), self.history, loss, plan, source,
        )  # fmt: skip
        if len(counts):
            self.status[self.columns] = status
        self._keep(bundle, count, voting=self.clock.stage + 1.0 > plan.burn)
        return int(at)

    def _counting(self, room: int, threads: int) -> loop.Count:
        """Room for what threads count, with what the open stage has so far."""
        many, width = len(self.paths), len(self.columns)
        shares = min(threads, many)
        near = np.empty(shares * many * room)  # pages that nobody writes to are never there
        count = loop.Count(
            votes=np.zeros(width, np.uint64),
            since=self.own["done"].astype(np.uint64),
            lists=np.empty((many, shares, room + 1), np.uint32),
            voted=np.empty((shares, width + 2), np.uint32),
            bins=np.zeros((shares, columns_loop.BINS), np.uint32),
            near=near,
            near_bits=near.view(np.uint64),
            near_many=np.zeros((shares, 8), np.uint64),
            wanted=np.zeros(1, np.int64),
            gone=np.zeros((shares, 8)),
            claimed=np.zeros(8 * shares, np.uint64),
        )
        count.votes[self.voted] = self.votes
        count.voted[:, 0] = count.lists[:, :, 0] = 0
        _list(count.voted, self.voted, self.voted)
        for m in np.flatnonzero(count.since):
            done = np.arange(int(count.since[m]))
            _list(count.lists[m], self.pool_at[m, done], done)
        return count

    def _keep(self, bundle: State, count: loop.Count, voting: bool) -> None:
        """Keep what the open stage has: entries of the pools, and votes beside them."""
        filled = int(self.own["pooled"].max())
        at, value = bundle.pool_at[:, :filled], bundle.pool_value[:, :filled]
        place, done = np.arange(filled), self.own["done"][:, None]
        fresh = (place >= count.since[:, None]) & (place < done) & voting
        kept = np.uint64(1) - np.signbit(value[fresh])
        np.add.at(count.votes, at[fresh], np.uint64(1) + (kept << loop.HALF))
        voted = np.unique(np.concatenate([self.voted, at[fresh]]))
        self.voted = voted[count.votes[voted] > 0]
        self.votes = count.votes[self.voted]
        # The unused ends are garbage: they are cleared so that equal models are equal files.
        unused = place >= self.own["pooled"][:, None]
        self.pool_at = np.where(unused, np.uint32(0), at)
        self.pool_value = np.where(unused, 0.0, np.where(place < done, abs(value), value))

    def means(self) -> np.ndarray:
        """Mean weights of the columns that the state has."""
        weights = np.empty(len(self.columns))
        columns_loop.write_mean(self.state, self.meets, self.clock.gravity, weights)
        return weights

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Numbers of the state's columns as an array over all columns."""
        out = np.zeros((*values.shape[:-1], len(self.status)))
        out[..., self.columns] = values
        return out

    def path_weights(self) -> np.ndarray:
        """Weights of each path, (paths, columns)."""
        weights = np.empty((len(self.paths), len(self.columns)))
        columns_loop.write_paths(self.state, self.meets, self.clock.gravity, weights)
        return self.spread(weights)

    def probabilities(self) -> np.ndarray:
        """Share of bursts since the burn-in that kept each feature; 1 where none has met it yet, 0
        for purged and unseen ones.
        """
        met, kept = self.ballots[:, 2], self.ballots[:, 3]
        share = np.where(met > 0, kept / np.maximum(met, 1.0), 1.0)
        return self.spread(np.where(self.status[self.columns] == loop.PRESENT, share, 0.0))

    def told(self) -> list[dict]:
        """What happened, stage by stage."""
        records = self.history[: int(self.clock.records)].tolist()
        return [
            {
                "stage": int(stage),
                "rows": int(rows),
                "kept": int(kept),
                "burst": int(burst),
                "gravity": gravity,
                "rejection": rejection,
                "loss": cost,
            }
            for stage, rows, kept, gravity, rejection, cost, burst in records
        ]

    @property
    def norm(self) -> float:
        """Mean norm of the rows, over all paths."""
        return float(self.own["norm"].mean())

    @property
    def bias(self) -> float:
        """Mean intercept, summed in the order of the paths."""
        return float(np.cumsum(self.own["bias"])[-1] / len(self.paths))

    def score(self, rows: Csr, scores: np.ndarray) -> None:
        """Fill the scores of rows."""
        if len(self.columns) == len(self.status) and len(rows.data) < len(self.columns):
            columns_loop.score_direct(
                *rows[:3], self.state, self.meets, self.clock.gravity, self.bias, scores
            )
        else:
            columns_loop.score_dense(*rows[:3], self.spread(self.means()), self.bias, scores)


def _list(lists: np.ndarray, columns: np.ndarray, entries: np.ndarray) -> None:
    """Write entries, each of a column, into the lists of the shares that the columns belong to."""
    shares = loop.owner(columns.astype(np.uint64), np.uint64(len(lists)))
    for share, own in enumerate(lists):
        mine = entries[shares == share]
        own[0], own[1 : len(mine) + 1] = len(mine), mine


# --------------------------------------------------------------------------- all outputs
class StabilizedEngine:
    """State of one stabilized model: a bundle of paths for each output."""

    _contents: ClassVar[dict] = {
        "seed": number(int, least=0, most=2**64 - 1),
        "bundles": listing(part(Bundle, "columns", "paths"), "outputs"),
    }

    def __init__(self, n_paths: int, features: int, outputs: int, seed: int):
        self.seed, self.bundles = seed, [Bundle(n_paths, features) for _ in range(outputs)]

    @property
    def n_paths(self) -> int:
        """Number of paths."""
        return len(self.bundles[0].paths)

    @property
    def steps(self) -> float:
        """Rows that each path has walked."""
        return max(bundle.clock.rows for bundle in self.bundles)

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
