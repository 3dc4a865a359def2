"""Paths of one output that lie apart: walk, count, purge, as functions from state to state.

Bundles of some paths each (crews) walk rows of their own, stage by stage, each crew under a gravity
of its own. Now and then what they counted is added up, and a board, of what all paths share, says
what leaves, and what rejection and bursts are from there on.
"""

from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop_stage import COURSE, PATH, Plan, Rows, State
from tamis.methods.stabilized_sgd.loop_visit import close_apart, walk_apart
from tamis.methods.stabilized_sgd.paths import Bundle
from tamis.numerics.csr import Csr, frozen


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
