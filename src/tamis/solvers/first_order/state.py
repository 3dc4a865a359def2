"""The engine of an online model: terms, state and clocks, and the walk over rows.

No checks, no scikit-learn.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from tamis.numerics.csr import NOTHING, Csr, frozen
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.loop import learn_many, learn_one
from tamis.solvers.first_order.loop_weights import (
    flush_cells,
    list_weights,
    score_rows,
    write_weights,
)
from tamis.system.memory import check_memory
from tamis.system.schema import array, floats, number, size, term, tuple_of
from tamis.terms.methods import LazyState, gradient_unit
from tamis.terms.optimizers import Averaged, ByColumn

OPEN = tuple(LazyState())  # before the first step; loops name its numbers
STEP = term(
    "step_size", good=lambda learning_rate: 0.0 < learning_rate.step_size(2.0, 1.0, 1.0) < np.inf
)
LAZY_STATE = tuple_of(number(float, least=0.0, exact=True), *[number(float, exact=True)] * 6)
CELLS = {"cells": lambda optimizer, _: optimizer.columns()}  # numbers of a cell
SHARE = 32  # outputs that are worth a thread: much of what a nonzero costs they share
COPIES = 8  # nonzeros a column from which on a copy of the cells pays for itself
BLOCK = 1 << 16  # rows between two looks at the progress bar and at Ctrl-C
FIRST = (np.uint64(0), np.uint64(1), np.uint64(0))  # the span of a single row


class RowCalls(NamedTuple):
    """Calls on a single row whose numbers change from call to call, but not the arrays that hold
    them: what the loops take is looked up once.
    """

    learn: Callable[[], None]
    score: Callable[[], np.ndarray]  # (1, outputs), written anew by the next call


class Engine:
    """State of one online model: `outputs` linear functions of `features` columns.

    One feature of one output is a cell of `columns` numbers. With one output the numbers of a cell
    lie side by side, with several those of all outputs of a feature do: what a step touches
    together lies together.

    The shapes of an engine never change. What makes room for columns, outputs or groups returns
    another engine, so that a thread that looks at this one while another thread trains reads
    numbers that are on their way, but never outside of an array.
    """

    _splits: ClassVar[bool] = True  # whether outputs can be learnt apart from each other
    packs: ClassVar[bool] = True  # whether columns that do not occur can be left out
    _contents: ClassVar[dict] = {
        "outputs": size("outputs"),
        "terms": tuple_of(
            term("value", "gradient"),
            term("prox", "rates"),
            term("current_weight", "columns", binds=CELLS),
            STEP,
        ),
        "flags": floats(3, 0.0, 1.0),
        "state": array(
            "f8",
            "cells",
            "columns*outputs",
            order=lambda held: "F" if held.size("outputs") == 1 else "C",
        ),
        "bias": array(
            "f8", "cells", "outputs", order=lambda held: "F" if held.size("outputs") == 1 else "C"
        ),
        "costs": array("f8", 2, "outputs"),
        "lazy": LAZY_STATE,
        "bias_lazy": LAZY_STATE,
        "stats": floats(3, least=0.0),
        "penalties_from": None,
    }
    penalties_from: tuple = (
        None,
        None,
    )  # parameters that the weights and signs of columns are read from

    def __init__(self, terms, flags, features: int, outputs: int, column_penalties=None):
        self.terms = terms  # loss, penalty, optimizer, learning rate
        self.flags = flags  # intercept, automatic eta, automatic alpha
        self.outputs = outputs
        self.state = _empty(terms[2].columns(), features, outputs)
        self.bias = _empty(terms[2].columns(), 1, outputs)
        if column_penalties is not None:
            self.column_penalties[:] = column_penalties[:, :, None]
        self.costs = nothing_charged(outputs)
        self.lazy, self.bias_lazy = OPEN, OPEN
        self.stats: tuple[float, ...] = (0.0, 0.0, 0.0)

    def _restored(self) -> None:
        """Refuse factors of the running loss whose logarithm is below 0."""
        if (self.costs[1] < 1.0).any():
            raise ValueError("the running loss has a factor below 1")

    @property
    def features(self) -> int:
        """Number of columns."""
        return self.state.shape[1] // self.outputs

    @property
    def steps(self) -> float:
        """Rows of weight above 0 so far."""
        return self.lazy[0]

    @property
    def weight(self) -> float:
        """Total weight of the rows so far."""
        return self.stats[2]

    @property
    def loss(self) -> float:
        """Total loss of the rows so far, each before it was learnt."""
        sums, products = self.costs
        return float((sums + np.log(products)).sum())

    def learn(
        self, rows: Csr, coded: EncodedTargets, weights, key: int = 0, n_jobs: int = 1, tell=None
    ) -> None:
        """Walk the rows once, in stored order or in the order named by `key`."""
        with self._workers(rows, n_jobs) as walk:
            for start in range(0, rows.n_rows, BLOCK):
                stop = min(start + BLOCK, rows.n_rows)
                walk(rows, coded, weights, (np.uint64(start), np.uint64(stop), np.uint64(key)))
                if tell is not None:
                    tell(stop - start)

    @contextmanager
    def _workers(self, rows: Csr, n_jobs: int):
        """The walk over a span of rows: in this thread, or a share of the outputs a thread, each
        with a copy of its cells (neighbours in one cache line would slow each other down) where the
        outputs and the rows are worth it.
        """
        threads = min(n_jobs, self.outputs // SHARE) if self._splits else 1
        if threads < 2 or len(rows.indices) < COPIES * self.features:
            yield self._walk
            return
        cuts = np.linspace(0, self.outputs, threads + 1).astype(int)
        shares = [slice(*cut) for cut in pairwise(cuts)]
        copies = [self._cut(share) for share in shares]
        try:
            with ThreadPoolExecutor(threads) as pool:
                yield lambda *given: self._walk_apart(pool, shares, copies, *given)
        finally:
            for share, (state, bias, costs) in zip(shares, copies, strict=True):
                self._by_output(self.state)[..., share] = self._by_output(state)
                self.bias[:, share], self.costs[:, share] = bias, costs

    def _by_output(self, state: np.ndarray) -> np.ndarray:
        """View of a state, (columns, features, outputs)."""
        return state.reshape(len(state), self.features, -1)

    @property
    def column_penalties(self) -> np.ndarray:
        """View of the weights and signs of the penalties of columns in the state, (2 or, without,
        0, features, outputs).
        """
        by_column = by_column_of(self.terms[2])
        stop = 0 if by_column is None else by_column.columns()
        by_output = self.state.reshape(len(self.state), self.features, self.outputs)
        return by_output[max(stop - 2, 0) : stop]

    def _cut(self, share: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of state, intercepts and losses of some outputs."""
        state = np.ascontiguousarray(self._by_output(self.state)[..., share])
        return (
            state.reshape(len(state), -1),
            self.bias[:, share].copy(),
            self.costs[:, share].copy(),
        )

    def _walk_apart(self, pool, shares, copies, rows, coded, weights, span) -> None:
        given, clocks = (
            ((*rows[:3], coded.columns, weights, coded.offset), span),
            self._clocks_now(),
        )
        # Every share keeps the same clocks: they depend on the rows alone.
        parts = [
            pool.submit(learn_many, *given, cells, *self.terms, clocks, self._part(share.start))
            for share, cells in zip(shares, copies, strict=True)
        ]
        after, *_ = [part.result() for part in parts]
        self._take(after)

    def _walk(self, rows, coded, weights, span) -> None:
        cells = (self.state, self.bias, self.costs)
        given = (
            (*rows[:3], coded.columns, weights, coded.offset),
            span,
            cells,
            *self.terms,
            self._clocks_now(),
        )
        self._take(learn_one(*given) if self.outputs == 1 else learn_many(*given, self._part(0)))

    def _clocks_now(self) -> tuple:
        return self.lazy, self.bias_lazy, self.stats, self.flags

    def _part(self, low: int) -> tuple[np.uint64, np.uint64]:
        return np.uint64(low), np.uint64(self.outputs)

    def _take(self, after) -> None:
        """Take the clocks of a walk."""
        self.lazy, self.bias_lazy = (tuple(map(float, clock)) for clock in after[:2])
        self.stats = tuple(map(float, after[2]))

    def score(self, rows: Csr) -> np.ndarray:
        """Scores of the rows, (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        _, penalty, optimizer, _ = self.terms
        cells, lazies = (self.state, self.bias), (self.lazy, self.bias_lazy)
        score_rows(rows[:3], cells, penalty, optimizer, lazies, self.flags[0], scores)
        return scores

    def weights(self) -> np.ndarray:
        """All weights, (outputs, features)."""
        weights = np.empty((self.outputs, self.features))
        write_weights(self.state, *self.terms[1:3], self.lazy, weights)
        return weights

    def intercepts(self) -> np.ndarray:
        """Intercepts, one an output."""
        if not self.flags[0]:
            return np.zeros(self.outputs)
        empty = Csr(
            NOTHING, frozen(np.zeros(0, np.uint32)), frozen(np.zeros(2, np.uint64)), self.features
        )
        return self.score(empty)[0]

    def constants(self) -> tuple[float, float, float]:
        """Size of the next step, and the present strengths of L1 and of the ridge."""
        (loss, penalty, optimizer, learning_rate), (_, auto_eta, auto_alpha) = (
            self.terms,
            self.flags,
        )
        t, (norm, gradient, _) = max(self.lazy[0], 1.0), self.stats
        unit = gradient_unit(loss, gradient)
        step_scale = optimizer.step_scale(norm, unit) if auto_eta and norm else 1.0
        l1, l2 = penalty.rates()
        step_scaling = (gradient * norm, norm * norm) if auto_alpha else (1.0, 1.0)
        eta = learning_rate.step_size(t, 1.0, norm * norm) * step_scale
        return float(eta), float(l1 * step_scaling[0]), float(l2 * step_scaling[1])

    def count(self, columns=None) -> int:
        """Number of nonzero weights; `columns` are those that may have any, where that is known."""
        return self._list(0)[0]

    def packed(self, columns: np.ndarray) -> "Engine":
        """An engine that has seen nothing, for some of the columns; `follow` brings home what it
        learns. What a row touches lies closer together there.
        """
        other = copy(self)
        other.state = _empty(self.state.shape[0], len(columns), self.outputs)
        other.column_penalties[:] = self.column_penalties[:, columns]
        return other

    def follow(self, other: "Engine", columns: np.ndarray) -> None:
        """Take clocks and cells of an engine of some columns (intercepts and losses are shared)."""
        self.lazy, self.bias_lazy, self.stats = other.lazy, other.bias_lazy, other.stats
        if len(columns):
            self._by_output(self.state)[:, columns] = other._by_output(other.state)

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells (feature * outputs + output) and values of the nonzero weights, ascending."""
        return self._list(self.count())[1:]

    def _list(self, room):
        cells, weights = np.empty(room, dtype=np.uint64), np.empty(room)
        found = list_weights(
            self.state, *self.terms[1:3], self.lazy, np.uint64(self.outputs), cells, weights
        )
        return int(found), cells.astype(np.int64), weights

    def grown(self, features: int, column_penalties=None) -> "Engine":
        """The engine with more columns at the right, their weights 0."""
        wider = copy(self)
        wider.state = _empty(self.state.shape[0], features, self.outputs)
        if column_penalties is not None:
            wider.column_penalties[:] = column_penalties[:, :, None]
        wider.state[:, : self.state.shape[1]] = self.state
        return wider

    def regrouped(self, sources, signs) -> "Engine":
        """The engine with new outputs: output c is `signs[c]` times old output `sources[c]`, or
        empty where that is -1.
        """
        other = copy(self)
        other._regroup(sources, signs)
        return other

    def _regroup(self, sources, signs) -> None:
        old, features = self, self.features
        columns, outputs = self.state.shape[0], len(sources)
        state, bias = _empty(columns, features, outputs), _empty(columns, 1, outputs)
        costs = nothing_charged(outputs)
        for c, (source, sign) in enumerate(zip(sources, signs, strict=True)):
            if source < 0:
                continue
            factors = self.terms[2].signs(float(sign))
            for k in range(columns):
                state[k, c::outputs] = factors[k] * old.state[k, source :: self.outputs]
                bias[k, c::outputs] = factors[k] * old.bias[k, source :: self.outputs]
            costs[:, c] = old.costs[:, source]
        column_penalties = self.column_penalties[:, :, :1].copy()
        self.state, self.bias, self.costs, self.outputs = state, bias, costs, outputs
        self.column_penalties[:] = column_penalties

    def flushed(self) -> "Engine":
        """A copy without pending penalties, so that a mean of cells is a mean of weights."""
        other = copy(self)
        other.state, other.bias = self.state.copy(order="K"), self.bias.copy(order="K")
        if self.terms[2].flush_urgency():
            flush_cells(other.state, *self.terms[1:3], self.lazy)
            other.lazy = (self.lazy[0], 1.0, 0.0, *self.lazy[3:])
        return other

    def mixed(self, other: "Engine", share: float) -> "Engine":
        """Between this engine and another, both flushed: `share` of it is the other's."""
        found = copy(self)
        found.state = between(self.state, other.state, share)
        found.bias = between(self.bias, other.bias, share)
        found.costs = mixed_costs(self.costs, other.costs, share)
        found.lazy = mixed_clock(self.lazy, other.lazy, share)
        found.bias_lazy = mixed_clock(self.bias_lazy, other.bias_lazy, share)
        found.stats = tuple(between(np.array(self.stats), np.array(other.stats), share).tolist())
        return found

    def shares(self, rows: Csr) -> np.ndarray:
        """Scores of the rows without the intercept, (rows, outputs)."""
        bare = copy(self)
        bare.bias = np.zeros_like(self.bias)
        return bare.score(rows)

    def row_calls(self, rows: Csr, coded: EncodedTargets, weights) -> RowCalls:
        """Calls on the one row of these arrays, good for as long as the terms stay."""
        cells, scores = (self.state, self.bias, self.costs), np.empty((1, self.outputs))
        given = ((*rows[:3], coded.columns, weights, coded.offset), FIRST, cells, *self.terms)
        part = () if self.outputs == 1 else (self._part(0),)
        clocks = self._clocks_now()
        walk = (learn_many if part else learn_one).prepared(*given, clocks, *part)
        asked = (rows[:3], cells[:2], *self.terms[1:3])
        ending = (self.flags[0], scores)
        read = score_rows.prepared(*asked, clocks[:2], *ending)

        def learn() -> None:
            clocks = (self.lazy, self.bias_lazy, self.stats, self.flags)
            self.lazy, self.bias_lazy, self.stats = walk(*given, clocks, *part)

        def score() -> np.ndarray:
            read(*asked, (self.lazy, self.bias_lazy), *ending)
            return scores

        return RowCalls(learn, score)


def by_column_of(optimizer) -> ByColumn | None:
    """The `ByColumn` that an optimizer is or averages."""
    inner = optimizer.optimizer if type(optimizer) is Averaged else optimizer
    return inner if type(inner) is ByColumn else None


def nothing_charged(outputs: int) -> np.ndarray:
    """Losses so far, an output a column: a sum, and a product whose logarithm is to be added."""
    return np.array([np.zeros(outputs), np.ones(outputs)])


def between(one: np.ndarray, other: np.ndarray, share: float) -> np.ndarray:
    """A mean of two arrays, laid out as the first."""
    found = np.empty_like(one)
    np.multiply(one, 1.0 - share, out=found)
    found += share * other
    return found


def mixed_clock(one: tuple, other: tuple, share: float) -> tuple[float, ...]:
    """A mean of two clocks; steps, which come first, stay whole numbers."""
    steps, *rest = between(np.array(one), np.array(other), share).tolist()
    return (float(round(steps)), *rest)


def mixed_costs(one: np.ndarray, other: np.ndarray, share: float) -> np.ndarray:
    """A mean of two running losses."""
    found = between(one[0] + np.log(one[1]), other[0] + np.log(other[1]), share)
    return np.array([found, np.ones(len(found))])


def check_state_memory(columns: int, features: int, outputs: int) -> None:
    """Refuse a state that would take too much memory, before anything of its size is made."""
    check_memory(
        f"the weights of {features:,} columns and {outputs:,} outputs",
        8 * columns * features * outputs,
        "Hash the columns into fewer, or learn fewer classes or targets at a time.",
    )


def _empty(columns: int, features: int, outputs: int) -> np.ndarray:
    """Zero state, (columns, features * outputs), laid out as `Engine` says."""
    check_state_memory(columns, features, outputs)
    if outputs == 1:
        return np.zeros((features, columns)).T
    return np.zeros((columns, features * outputs))
