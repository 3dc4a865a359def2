"""Paths of a sieve that go from partition to partition, and what partitions say of where groups of
them stand.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tamis.distributed.executors import Held
from tamis.distributed.staged.columns import Lot
from tamis.distributed.staged.grounds import Ground
from tamis.methods.sieve.loop import (
    Orders,
    Pace,
    Walked,
    sum_norms,
    sum_squares,
    walk_many,
    walk_one,
)
from tamis.methods.sieve.paths import TINY, Task, kept_entries
from tamis.methods.sieve.table.columns import Table
from tamis.numerics.csr import decide

EVERY = (-1, -1)  # split and fold of a group that holds out no row


class Leg(NamedTuple):
    """A pass of a path: split and fold that it never sees; the output, where each is learnt apart
    (else -1); what it minimises, and how; the key of its orders; and whether these are gone
    backwards.
    """

    aim: tuple[int, int]
    output: int
    task: Task
    rates: np.ndarray
    strengths: np.ndarray
    age: float
    always: int
    key: int
    backwards: bool


@dataclass
class Walker(Held):
    """A path on its way: its columns (None: all), the state of these and of the intercept (None: it
    has not begun), the steps of this pass, and the partitions visited on this leg of the ladder.
    """

    columns: np.ndarray | None = None
    state: np.ndarray | None = None
    bias: np.ndarray | None = None
    steps: int = 0
    visited: tuple[int, ...] = ()


class Look(NamedTuple):
    """Where a group stands: its columns (None: all), and weights and intercepts to be judged by
    (None: not yet), in which precision; the places of the columns that stay next (None: all), and
    whether their squares are wanted.
    """

    aim: tuple[int, int]
    columns: np.ndarray | None
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None
    precision: str = "f4"
    stay: np.ndarray | None = None
    squares: bool = False


@dataclass
class Looks(Held):
    """Where all groups stand."""

    all: list[Look]


class Looked(NamedTuple):
    """What a partition says: scores of its judged rows that the group never saw (0 for others), sum
    of squared norms and weight of the other rows that hold anything, all of their weight, how many
    they are, and the squares of the columns that stay.
    """

    scores: np.ndarray
    total: float
    mass: float
    weight: float
    rows: int
    squares: np.ndarray


# --------------------------------------------------------------------------- on workers
def _seen(sample: Any, aim: tuple[int, int]) -> np.ndarray:
    """Numbers of the rows that a group walks over."""
    if aim == EVERY:
        return np.arange(sample.table.n_rows, dtype=np.uint64)
    return np.flatnonzero(sample.folds[aim[0]] != aim[1]).astype(np.uint64)


def _entries(table: Table, columns: np.ndarray | None) -> tuple:
    csr = (table.data, table.indices, table.indptr)
    if columns is None or len(columns) == len(table.density):
        return csr
    return kept_entries(csr, columns, len(table.density))


def step(walker: Walker, ground: Ground, leg: Leg) -> Walker:
    """A path after a partition; the one given stays as it is."""
    sample = ground.what.sample
    table, rows = sample.table, _seen(sample, leg.aim)
    visited = (*walker.visited, ground.number)
    if not len(rows):
        return replace(walker, visited=visited)
    csr, many = _entries(table, walker.columns), len(leg.rates)
    state, bias = _begun(walker, len(table.density), many, leg.age == 0.0)
    before = state[:, 1:].copy(), bias[1:].copy()
    targets = _targets(table, leg.output)
    walk = walk_one if many == 1 else walk_many
    free, key = np.uint64(len(state) - leg.always), (leg.key + (ground.number << 40)) % 2**64
    # Copies: what an engine brings may not be written to, and loops would be compiled for that.
    rates, strengths = leg.rates.copy(), leg.strengths.copy()
    pace = Pace(rates, strengths, leg.task.curvature, leg.task.intercept, leg.age, free)
    walk(
        Walked(csr[0], csr[1], csr[2], targets, table.weights, rows),
        state, bias, leg.task.loss, pace,
        Orders(np.uint64(1), np.uint64(key), np.uint64(leg.backwards)),
    )  # fmt: skip
    # The loop counts its steps from 0: those before it are added to each of its moves.
    for now, was in zip((state, bias), before, strict=True):
        moved = now[..., 1 : 1 + many] - was[..., :many]
        now[..., 1 + many :] += was[..., many:] + float(walker.steps) * moved
    steps = walker.steps + len(rows)
    return replace(walker, state=state, bias=bias, steps=steps, visited=visited)


def _begun(walker: Walker, columns: int, many: int, opening: bool) -> tuple:
    """State and intercept to go on from; in the first of all passes the loop leaves step factors
    behind where the next partition goes on with sums of squares.
    """
    if walker.state is None or walker.bias is None:
        state, bias = np.zeros((columns, 1 + 2 * many)), np.zeros(1 + 2 * many)
        state[:, 0] = TINY
        return state, bias
    state, bias = walker.state.copy(), walker.bias.copy()
    if opening:
        state[:, 0] = state[:, 0] ** -2.0
        bias[0] = bias[0] ** -2.0
    return state, bias


def _targets(table: Table, output: int) -> np.ndarray:
    """Targets of all outputs, or of one."""
    if output < 0:
        return table.targets
    if table.targets.shape[1] > 1:
        return np.ascontiguousarray(table.targets[:, output : output + 1])
    return np.where(table.targets == output, 1.0, -1.0)


def look(ground: Ground, looks: Looks) -> list[Looked]:
    """What a partition says of where groups stand."""
    return [_look(ground.what, one) for one in looks.all]


def _look(lot: Lot, look: Look) -> Looked:
    table, rows = lot.sample.table, _seen(lot.sample, look.aim)
    csr, scores = _entries(table, look.columns), np.zeros((len(lot.judged), 0))
    if look.weights is not None and look.bias is not None:
        held = np.ones(table.n_rows, dtype=bool)
        held[rows.astype(np.int64)] = False
        whole = np.zeros((table.n_rows, len(look.bias)), look.precision)
        away = np.flatnonzero(held).astype(np.uint64)
        decide(*csr, away, look.weights.copy(), look.bias.copy(), whole)
        scores = whole[lot.judged]
    if look.stay is not None:
        width = len(table.density) if look.columns is None else len(look.columns)
        csr = kept_entries(csr, look.stay, width)
    data, indices, indptr = csr
    total, mass = sum_norms(data, indptr, table.weights, rows)
    weight = table.weights[rows].sum() if len(table.weights) else float(len(rows))
    squares = np.zeros(0)
    if look.squares:
        squares = np.zeros(len(table.density) if look.columns is None else len(look.columns))
        squares = squares if look.stay is None else np.zeros(len(look.stay))
        sum_squares(data, indices, indptr, table.weights, rows, squares)
    return Looked(scores, total, mass, weight, len(rows), squares)


def looked_together(left: list[Looked], right: list[Looked]) -> list[Looked]:
    """Scores one after the other, sums added."""
    return [
        Looked(
            np.concatenate([one.scores, other.scores]),
            one.total + other.total,
            one.mass + other.mass,
            one.weight + other.weight,
            one.rows + other.rows,
            one.squares + other.squares,
        )
        for one, other in zip(left, right, strict=True)
    ]
