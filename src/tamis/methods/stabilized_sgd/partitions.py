"""Stabilized descent on rows that lie in partitions: paths vote together after a part of every
visit.

The paths are dealt out to crews, as many as there are partitions with rows, or paths. In visit v
crew c is at partition (c + v) modulo their number, so that after a sweep every path has learnt
every row. In a visit each path walks the partition in an order of its own, in `stages` parts, each
of which is a round: after it all crews' votes, whole numbers, are added up in a tree, and what
leaves is told to all crews, with the rejection and the length of bursts from there on.

A part has about 100 rows unless told otherwise. In parts of many more, features leave under a
rejection that is out of date, and too many do; in parts of fewer than 25, a stage of `fit`, by
too few votes.

So what `fit` calls a stage is two things here. After `bursts_per_stage` bursts a crew sets its own
gravity, by what its own paths have moved; features leave by the votes of a part of a visit, which
are more than those of a few bursts: a rare feature that one path has truncated once may stay. The
burn-in is counted in sweeps, and all sweeps are made.

All functions go from state to state: nothing given is changed.
"""

from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop_partitions import close_apart, walk_apart
from tamis.methods.stabilized_sgd.loop_stage import COURSE, PATH, Plan, Rows, State
from tamis.methods.stabilized_sgd.paths import NO_COUNTS, Bundle, StabilizedEngine
from tamis.numerics.csr import Csr, frozen

STAGE_ROWS = 100  # rows of a round, where nothing else is asked for
CREW_SEED = 0x9E3779B97F4A7C15  # between the seeds of two crews


class PartitionRows(NamedTuple):
    """Rows of a partition: targets (an output each), weights, and norms."""

    rows: Csr
    targets: list[np.ndarray]
    weights: np.ndarray
    norms: np.ndarray


@dataclass
class Crew:
    """Some paths, a bundle an output; the seed of their orders; what they counted in the last
    stage, and the rows they have learnt.
    """

    bundles: list[Bundle]
    seed: int
    tallies: "list[Tally]"
    rows: int = 0


class Voting(NamedTuple):
    """How crews walk a partition in stages, and what their votes decide."""

    loss: tuple
    plan: Plan
    permuted: bool
    stages: int
    paths: int

    def advance(self, crew: Crew, boards: list[Bundle], data: PartitionRows, stage: int) -> Crew:
        """A crew after a stage, under what all paths share."""
        rows, targets, weights, norms = data
        first, last = (rows.n_rows * at // self.stages for at in (stage, stage + 1))
        turn = np.uint64(crew.rows - first)  # rows before this visit, as `fit` has it
        source = loop.Source(np.uint64(crew.seed), turn, self.permuted)
        beside = (weights, norms, (first, last), self.loss, self.plan, source)
        found = [
            walked(bundle, board, rows, own, *beside)
            for bundle, board, own in zip(crew.bundles, boards, targets, strict=True)
        ]
        bundles, tallies = (list(one) for one in zip(*found, strict=True))
        return Crew(bundles, crew.seed, tallies, crew.rows + last - first)

    def votes(self, crew: Crew) -> "list[Tally]":
        """What a crew counted in its last stage."""
        return crew.tallies

    def merge(self, left: "list[Tally]", right: "list[Tally]") -> "list[Tally]":
        """What two branches counted."""
        return [one.plus(other) for one, other in zip(left, right, strict=True)]

    def decide(self, boards: list[Bundle], tallies: "list[Tally]") -> list[Bundle]:
        """What all paths share once they have voted."""
        pairs = zip(boards, tallies, strict=True)
        return [judged(board, tally, self.paths, self.plan) for board, tally in pairs]


def fit_partitions(model, partitions, sweeps: int, stages: int | None) -> StabilizedEngine:
    """The engine of a model after so many sweeps over partitions, each visit in so many stages."""
    counts, paths = partitions.counts, model.n_paths
    outputs, width = counts.targets.outputs, len(counts.columns)
    stages = stages or -(-max(partitions.rows) // STAGE_ROWS)
    plan = model._plan(0, resampled=not model.shuffle)
    burn = round(model._setting().burn_in * len(partitions) * stages)
    plan = plan._replace(burn=float(max(1, burn) if plan.gravity < 0.0 else burn))
    voting = Voting(model._loss(), plan, model.shuffle, stages, paths)
    engine = StabilizedEngine(paths, width, outputs, model._seed())
    shares = np.array_split(np.arange(paths), min(paths, len(partitions)))
    crews = [
        Crew(
            [Bundle(len(own), width) for _ in range(outputs)],
            (engine.seed + c * CREW_SEED) % 2**64,
            [],
        )
        for c, own in enumerate(shares)
    ]
    boards = [board_of(counts.columns, plan) for _ in range(outputs)]
    weights = getattr(model, "class_weight", None)
    crews, boards = partitions.prepared(prepare, outputs).vote(
        crews,
        boards,
        voting,
        sweeps * len(partitions),
        lambda boards: f"{max(int(board.clock.kept) for board in boards):,} features",
        # Not where a class weighs nothing.
        counted=not isinstance(weights, dict) or all(weights.values()),
    )
    engine.bundles = [
        whole(board, [crew.bundles[c] for crew in crews]) for c, board in enumerate(boards)
    ]
    return engine


def prepare(data: Any, outputs: int) -> PartitionRows:
    """Rows of a partition as paths walk them."""
    rows, columns, weights, *_ = data
    norms = np.empty(rows.n_rows)
    columns_loop.measure(*rows[:3], norms, NO_COUNTS)
    if columns.shape[1] < outputs:
        targets = [np.where(columns[:, 0] == c, 1.0, -1.0) for c in range(outputs)]
    else:
        targets = [np.ascontiguousarray(columns[:, c]) for c in range(outputs)]
    return PartitionRows(rows, [frozen(one) for one in targets], weights, frozen(norms))


# --------------------------------------------------------------------------- one output


class Tally(NamedTuple):
    """What paths count: of the columns that remain the bursts that met and kept them, loss and
    weight of the rows, how many these are, and the gravity, over all paths.
    """

    votes: np.ndarray
    cost: float
    mass: float
    rows: int
    gravity: float

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(
            self.votes + other.votes,
            self.cost + other.cost,
            self.mass + other.mass,
            self.rows + other.rows,
            self.gravity + other.gravity,
        )


def board_of(counts: np.ndarray, plan: Plan) -> Bundle:
    """What the paths share before they begin: a bundle without paths, of the columns that occur."""
    board = Bundle(0, len(counts))
    board.status[counts > 0] = loop.PRESENT
    board.begun(plan)
    board.clock.kept = board.clock.seen = float(np.count_nonzero(counts))
    return board.relocated(_present(board))


def _present(board: Bundle) -> np.ndarray:
    return np.flatnonzero(board.status == loop.PRESENT).astype(np.uint32)


def walked(
    crew: Bundle, board: Bundle, rows: Csr, targets, weights, norms, span: tuple, loss, plan: Plan,
    source,
) -> tuple[Bundle, Tally]:  # fmt: skip
    """Some paths after a span of rows, each in an order of its own, under a board, and what they
    counted; nothing given is changed.
    """
    crew = deepcopy(crew).relocated(board.columns)
    clock, shared, many = crew.clock, board.clock, len(crew.paths)
    for name in ("stage", "rejection", "burst", "length"):
        setattr(clock, name, getattr(shared, name))
    if not shared.stage:
        clock.gravity = shared.gravity
    (data, indices, indptr), room = kept_entries(rows, board.columns, int(clock.length))
    pool_at, pool_value = np.empty((many, room), np.uint32), np.empty((many, room))
    own, before = crew.own, clock.rows
    state = State(crew.state, crew.meets, own, pool_at, pool_value, pool_value.view(np.uint64))
    votes = np.zeros((len(board.columns), 2), np.int64)
    lists, values = np.empty((many, 1, room + 1), np.uint32), np.empty(many * room)
    walk_apart(
        Rows(data, indices, indptr, targets, weights, norms), *map(np.uint64, span), state, lists,
        values, votes, crew.course.view(COURSE), loss, plan, source,
    )  # fmt: skip
    cost, mass = float(own["cost"].sum()), float(own["mass"].sum())
    own["cost"] = own["mass"] = 0.0
    told = Tally(votes, cost, mass, int(clock.rows - before) * many, float(clock.gravity) * many)
    return crew, told


def kept_entries(rows: Csr, columns: np.ndarray, length: int) -> tuple[tuple, int]:
    """Entries of the columns that remain, under new numbers; and room for those of so many rows."""
    place = np.full(rows.n_features, len(columns), rows.indices.dtype)
    place[columns] = np.arange(len(columns))
    data, indices = np.empty_like(rows.data), np.empty_like(rows.indices)
    indptr = np.zeros(len(rows.indptr), np.uint64)
    used = columns_loop.compact(
        *rows[:3], place, rows.indices.dtype.type(len(columns)), data, indices, indptr
    )
    near = (frozen(data[: int(used)]), frozen(indices[: int(used)]), frozen(indptr))
    lengths = np.diff(indptr).astype(np.int64)
    cut = max(len(lengths) - length, 0)
    most = int((np.partition(lengths, cut)[cut:] if cut else lengths).sum())
    return near, most + 1  # the loop writes before it knows whether an entry is new


def judged(board: Bundle, tally: Tally, paths: int, plan: Plan) -> Bundle:
    """The board once all paths have voted: what leaves, and what is in force next."""
    board = deepcopy(board)
    clock: Any = board.clock
    clock.stage += 1.0
    clock.rows += tally.rows / paths
    if clock.stage > plan.burn:
        _purge(board, tally.votes.astype(float), plan)
    told = np.zeros((1, 8))
    own = told.view(PATH)[:, 0]
    own["cost"], own["mass"] = tally.cost, tally.mass
    none = np.zeros((1, 0))
    at, bits = none.astype(np.uint32), none.view(np.uint64)
    ghost = State(none, none.astype(np.uint16), own, at, none, bits)  # it has all the loss
    close_apart(ghost, board.course.view(COURSE), board.history, plan)
    clock.gravity = tally.gravity / paths
    return board.relocated(_present(board))


def _purge(board: Bundle, votes: np.ndarray, plan: Plan) -> None:
    """Purge what too few bursts kept; too few votes are carried over."""
    ballots, voted = board.ballots, votes[:, 0] > 0.0
    ballots[:, 2:] += votes
    votes = votes + ballots[:, :2]
    sure = voted & (votes[:, 0] >= max(plan.min_votes, 1.0))
    ballots[voted, :2] = np.where(sure[voted, None], 0.0, votes[voted])
    gone = sure & (votes[:, 1] < plan.purge * votes[:, 0])
    board.status[board.columns[gone]] = loop.PURGED
    board.clock.kept -= float(np.count_nonzero(gone))


def whole(board: Bundle, crews: list[Bundle]) -> Bundle:
    """All paths in one bundle, as a model holds them."""
    found, crews = copy(board), [crew.relocated(board.columns) for crew in crews]
    found.course = board.course.copy()
    found.clock.rows = crews[0].clock.rows  # the same for all of them, and a whole number
    for name in ("state", "meets", "paths", "pool_at", "pool_value"):
        setattr(found, name, np.concatenate([getattr(crew, name) for crew in crews]))
    return found
