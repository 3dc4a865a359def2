"""State of an online first-order model: terms, cells and lazy penalties, and the pass over rows.

It validates nothing and does not depend on scikit-learn.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from tamis.numerics.csr import EMPTY, Csr, readonly_view
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

INITIAL_LAZY_STATE = tuple(LazyState())  # before the first step
LEARNING_RATE_SCHEMA = term(
    "step_size", good=lambda learning_rate: 0.0 < learning_rate.step_size(2.0, 1.0, 1.0) < np.inf
)
LAZY_STATE_SCHEMA = tuple_of(
    number(float, minimum=0.0, exact=True), *[number(float, exact=True)] * 6
)
CELL_SIZE_BINDING = {"cells": lambda optimizer, _: optimizer.columns()}  # numbers in a cell
# Outputs of a slice share the cost of reading a row, so that small slices gain nothing by threads.
MIN_OUTPUTS_PER_THREAD = 32
MIN_NONZEROS_PER_COLUMN = 8  # below it, threads gain less than the copies of their cells cost
ROWS_PER_UPDATE = 1 << 16  # rows between two updates of the progress bar and checks for Ctrl-C
SINGLE_ROW_SPAN = (np.uint64(0), np.uint64(1), np.uint64(0))  # start, stop, key of the shuffle


class RowCalls(NamedTuple):
    """Functions for a single row, whose arrays are filled with new numbers before each call. The
    compiled loops are looked up only once.
    """

    learn: Callable[[], None]
    score: Callable[[], np.ndarray]  # (1, outputs); the next call overwrites it


class FirstOrderState:
    """State of one online model: `outputs` linear functions of `features` columns.

    Each feature of each output has a cell of ``optimizer.columns()`` numbers. With one output, the
    numbers of a cell are adjacent in memory; with several, the cells of all outputs of a feature
    are adjacent. So the numbers that one step uses share cache lines.

    The arrays never change their shapes: methods that add columns, outputs or groups return a new
    state. So a thread that scores while another one trains may read weights in the middle of an
    update, but never reads outside of an array.
    """

    _can_split_outputs: ClassVar[bool] = True  # whether threads may split the outputs
    can_pack_columns: ClassVar[bool] = True  # whether training may leave out empty columns
    _contents: ClassVar[dict] = {
        "outputs": size("outputs"),
        "terms": tuple_of(
            term("value", "gradient"),
            term("prox", "rates"),
            term("current_weight", "columns", binds=CELL_SIZE_BINDING),
            LEARNING_RATE_SCHEMA,
        ),
        "flags": floats(3, 0.0, 1.0),
        "state": array(
            "f8",
            "cells",
            "columns*outputs",
            order=lambda sizes: "F" if sizes.size("outputs") == 1 else "C",
        ),
        "bias": array(
            "f8", "cells", "outputs", order=lambda sizes: "F" if sizes.size("outputs") == 1 else "C"
        ),
        "costs": array("f8", 2, "outputs"),
        "lazy": LAZY_STATE_SCHEMA,
        "bias_lazy": LAZY_STATE_SCHEMA,
        "stats": floats(3, minimum=0.0),
        "penalty_params": None,
    }
    # The estimator's parameters that `column_penalties` was computed from.
    penalty_params: tuple = (None, None)

    def __init__(self, terms, flags, features: int, outputs: int, column_penalties=None):
        self.terms = terms  # loss, penalty, optimizer, learning rate
        self.flags = flags  # intercept, automatic eta, automatic alpha
        self.outputs = outputs
        self.state = _zero_state(terms[2].columns(), features, outputs)
        self.bias = _zero_state(terms[2].columns(), 1, outputs)
        if column_penalties is not None:
            self.column_penalties[:] = column_penalties[:, :, None]
        self.costs = zero_losses(outputs)
        self.lazy, self.bias_lazy = INITIAL_LAZY_STATE, INITIAL_LAZY_STATE
        self.stats: tuple[float, ...] = (0.0, 0.0, 0.0)

    def _after_load(self) -> None:
        """Refuse loss factors below 1, which a saved state cannot have."""
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
        """Total progressive loss: the loss of each row before the model learnt it."""
        sums, products = self.costs
        return float((sums + np.log(products)).sum())

    def learn(
        self,
        rows: Csr,
        targets: EncodedTargets,
        weights,
        key: int = 0,
        n_jobs: int = 1,
        on_progress=None,
    ) -> None:
        """Learn from the rows once, in stored order (key 0) or in the shuffled order of `key`."""
        with self._open_learner(rows, n_jobs) as learn_span:
            for start in range(0, rows.n_rows, ROWS_PER_UPDATE):
                stop = min(start + ROWS_PER_UPDATE, rows.n_rows)
                span = (np.uint64(start), np.uint64(stop), np.uint64(key))
                learn_span(rows, targets, weights, span)
                if on_progress is not None:
                    on_progress(stop - start)

    @contextmanager
    def _open_learner(self, rows: Csr, n_jobs: int):
        """Yield a function that learns from a span of rows.

        With many outputs and rows, each thread learns a slice of the outputs on a copy of its
        cells; threads that write to one cache line would slow each other down.
        """
        n_threads = min(n_jobs, self.outputs // MIN_OUTPUTS_PER_THREAD)
        if (
            not self._can_split_outputs
            or n_threads < 2
            or len(rows.indices) < MIN_NONZEROS_PER_COLUMN * self.features
        ):
            yield self._learn_span
            return
        bounds = np.linspace(0, self.outputs, n_threads + 1).astype(int)
        output_slices = [slice(*pair) for pair in pairwise(bounds)]
        copies = [self._copy_outputs(output_slice) for output_slice in output_slices]
        try:
            with ThreadPoolExecutor(n_threads) as pool:
                yield lambda *span_args: self._learn_span_on_threads(
                    pool, output_slices, copies, *span_args
                )
        finally:
            for output_slice, (state, bias, costs) in zip(output_slices, copies, strict=True):
                self._by_output(self.state)[..., output_slice] = self._by_output(state)
                self.bias[:, output_slice], self.costs[:, output_slice] = bias, costs

    def _by_output(self, state: np.ndarray) -> np.ndarray:
        """Return a view of shape (numbers of a cell, features, outputs)."""
        return state.reshape(len(state), self.features, -1)

    @property
    def column_penalties(self) -> np.ndarray:
        """View of the penalty weights and signs of the columns, (2, features, outputs); of shape
        (0, features, outputs) without them.
        """
        by_column = by_column_of(self.terms[2])
        stop = 0 if by_column is None else by_column.columns()
        by_output = self.state.reshape(len(self.state), self.features, self.outputs)
        return by_output[max(stop - 2, 0) : stop]

    def _copy_outputs(self, output_slice: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return copies of the cells, intercepts and losses of a slice of outputs."""
        state = np.ascontiguousarray(self._by_output(self.state)[..., output_slice])
        return (
            state.reshape(len(state), -1),
            self.bias[:, output_slice].copy(),
            self.costs[:, output_slice].copy(),
        )

    def _learn_span_on_threads(
        self, pool, output_slices, copies, rows, targets, weights, span
    ) -> None:
        loop_args = ((*rows[:3], targets.columns, weights, targets.offset), span)
        progress = self._progress()
        # Lazy states and statistics depend only on the rows, so that all slices agree on them.
        futures = [
            pool.submit(
                learn_many,
                *loop_args,
                cells,
                *self.terms,
                progress,
                self._output_range(output_slice.start),
            )
            for output_slice, cells in zip(output_slices, copies, strict=True)
        ]
        new_progress, *_ = [future.result() for future in futures]
        self._set_progress(new_progress)

    def _learn_span(self, rows, targets, weights, span) -> None:
        cells = (self.state, self.bias, self.costs)
        row_arrays = (*rows[:3], targets.columns, weights, targets.offset)
        loop_args = (row_arrays, span, cells, *self.terms, self._progress())
        if self.outputs == 1:
            self._set_progress(learn_one(*loop_args))
        else:
            self._set_progress(learn_many(*loop_args, self._output_range(0)))

    def _progress(self) -> tuple:
        return self.lazy, self.bias_lazy, self.stats, self.flags

    def _output_range(self, first_output: int) -> tuple[np.uint64, np.uint64]:
        return np.uint64(first_output), np.uint64(self.outputs)

    def _set_progress(self, progress) -> None:
        """Set lazy states and statistics to those that a loop returned."""
        self.lazy, self.bias_lazy = (tuple(map(float, lazy_state)) for lazy_state in progress[:2])
        self.stats = tuple(map(float, progress[2]))

    def score(self, rows: Csr) -> np.ndarray:
        """Return the scores of the rows, (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        _, penalty, optimizer, _ = self.terms
        cells, lazies = (self.state, self.bias), (self.lazy, self.bias_lazy)
        score_rows(rows[:3], cells, penalty, optimizer, lazies, self.flags[0], scores)
        return scores

    def weights(self) -> np.ndarray:
        """Return all weights, (outputs, features)."""
        weights = np.empty((self.outputs, self.features))
        write_weights(self.state, *self.terms[1:3], self.lazy, weights)
        return weights

    def intercepts(self) -> np.ndarray:
        """Return the intercepts, one an output."""
        if not self.flags[0]:
            return np.zeros(self.outputs)
        zero_row = Csr(
            EMPTY,
            readonly_view(np.zeros(0, np.uint32)),
            readonly_view(np.zeros(2, np.uint64)),
            self.features,
        )
        return self.score(zero_row)[0]

    def constants(self) -> tuple[float, float, float]:
        """Return the size of the next step and the present strengths of L1 and ridge."""
        loss, penalty, optimizer, learning_rate = self.terms
        _, auto_eta, auto_alpha = self.flags
        t, (norm, gradient, _) = max(self.lazy[0], 1.0), self.stats
        gradient_scale = gradient_unit(loss, gradient)
        step_scale = optimizer.step_scale(norm, gradient_scale) if auto_eta and norm else 1.0
        l1, l2 = penalty.rates()
        step_scaling = (gradient * norm, norm * norm) if auto_alpha else (1.0, 1.0)
        eta = learning_rate.step_size(t, 1.0, norm * norm) * step_scale
        return float(eta), float(l1 * step_scaling[0]), float(l2 * step_scaling[1])

    def count(self, columns=None) -> int:
        """Return the number of nonzero weights; only `columns`, if given, may have any."""
        return self._list_nonzeros(0)[0]

    def packed(self, columns: np.ndarray) -> "FirstOrderState":
        """Return a state of no rows for some of the columns, in which the cells of a row are closer
        together in memory. `copy_columns_from` copies what it learns back.
        """
        packed_state = copy(self)
        packed_state.state = _zero_state(self.state.shape[0], len(columns), self.outputs)
        packed_state.column_penalties[:] = self.column_penalties[:, columns]
        return packed_state

    def copy_columns_from(self, other: "FirstOrderState", columns: np.ndarray) -> None:
        """Copy the cells and progress of a state of some columns into this one. The two share
        intercepts and losses.
        """
        self.lazy, self.bias_lazy, self.stats = other.lazy, other.bias_lazy, other.stats
        if len(columns):
            self._by_output(self.state)[:, columns] = other._by_output(other.state)

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Return cells (feature * outputs + output, ascending) and values of nonzero weights."""
        return self._list_nonzeros(self.count())[1:]

    def _list_nonzeros(self, capacity):
        cells, weights = np.empty(capacity, dtype=np.uint64), np.empty(capacity)
        n_nonzeros = list_weights(
            self.state, *self.terms[1:3], self.lazy, np.uint64(self.outputs), cells, weights
        )
        return int(n_nonzeros), cells.astype(np.int64), weights

    def grown(self, features: int, column_penalties=None) -> "FirstOrderState":
        """Return a copy with more columns, whose weights are 0."""
        wider = copy(self)
        wider.state = _zero_state(self.state.shape[0], features, self.outputs)
        if column_penalties is not None:
            wider.column_penalties[:] = column_penalties[:, :, None]
        wider.state[:, : self.state.shape[1]] = self.state
        return wider

    def regrouped(self, sources, signs) -> "FirstOrderState":
        """Return a copy with new outputs: output c is `signs[c]` times old output `sources[c]`, or
        0 where `sources[c]` is -1.
        """
        other = copy(self)
        other._set_outputs(sources, signs)
        return other

    def _set_outputs(self, sources, signs) -> None:
        columns, features, outputs = self.state.shape[0], self.features, len(sources)
        state, bias = _zero_state(columns, features, outputs), _zero_state(columns, 1, outputs)
        costs = zero_losses(outputs)
        for c, (source, sign) in enumerate(zip(sources, signs, strict=True)):
            if source < 0:
                continue
            factors = self.terms[2].signs(float(sign))
            for k in range(columns):
                state[k, c::outputs] = factors[k] * self.state[k, source :: self.outputs]
                bias[k, c::outputs] = factors[k] * self.bias[k, source :: self.outputs]
            costs[:, c] = self.costs[:, source]
        column_penalties = self.column_penalties[:, :, :1].copy()
        self.state, self.bias, self.costs, self.outputs = state, bias, costs, outputs
        self.column_penalties[:] = column_penalties

    def flushed(self) -> "FirstOrderState":
        """Return a copy without pending penalties, so that a mean of cells is a mean of weights."""
        other = copy(self)
        other.state, other.bias = self.state.copy(order="K"), self.bias.copy(order="K")
        if self.terms[2].flush_urgency():
            flush_cells(other.state, *self.terms[1:3], self.lazy)
            other.lazy = (self.lazy[0], 1.0, 0.0, *self.lazy[3:])
        return other

    def weighted_mean_with(self, other: "FirstOrderState", fraction: float) -> "FirstOrderState":
        """Return the weighted mean of this state and another (weight `fraction`), both flushed."""
        result = copy(self)
        result.state = weighted_mean(self.state, other.state, fraction)
        result.bias = weighted_mean(self.bias, other.bias, fraction)
        result.costs = mean_losses(self.costs, other.costs, fraction)
        result.lazy = mean_lazy_state(self.lazy, other.lazy, fraction)
        result.bias_lazy = mean_lazy_state(self.bias_lazy, other.bias_lazy, fraction)
        result.stats = tuple(
            weighted_mean(np.array(self.stats), np.array(other.stats), fraction).tolist()
        )
        return result

    def shares(self, rows: Csr) -> np.ndarray:
        """Return the scores of the rows without the intercept, (rows, outputs)."""
        without_intercept = copy(self)
        without_intercept.bias = np.zeros_like(self.bias)
        return without_intercept.score(rows)

    def row_calls(self, rows: Csr, targets: EncodedTargets, weights) -> RowCalls:
        """Return functions that learn from and score the one row of these arrays; they are valid
        until the terms change.
        """
        cells, scores = (self.state, self.bias, self.costs), np.empty((1, self.outputs))
        row_arrays = (*rows[:3], targets.columns, weights, targets.offset)
        loop_args = (row_arrays, SINGLE_ROW_SPAN, cells, *self.terms)
        output_range = () if self.outputs == 1 else (self._output_range(0),)
        progress = self._progress()
        learn_loop = (learn_many if output_range else learn_one).compiled_for(
            *loop_args, progress, *output_range
        )
        score_args = (rows[:3], cells[:2], *self.terms[1:3])
        score_outputs = (self.flags[0], scores)
        score_loop = score_rows.compiled_for(*score_args, progress[:2], *score_outputs)

        def learn() -> None:
            progress = (self.lazy, self.bias_lazy, self.stats, self.flags)
            self.lazy, self.bias_lazy, self.stats = learn_loop(*loop_args, progress, *output_range)

        def score() -> np.ndarray:
            score_loop(*score_args, (self.lazy, self.bias_lazy), *score_outputs)
            return scores

        return RowCalls(learn, score)


def by_column_of(optimizer) -> ByColumn | None:
    """Return the `ByColumn` optimizer that an optimizer is, or averages; None if there is none."""
    inner = optimizer.optimizer if type(optimizer) is Averaged else optimizer
    return inner if type(inner) is ByColumn else None


def zero_losses(outputs: int) -> np.ndarray:
    """Return the losses of no rows, (2, outputs): sums, and products whose logarithms belong to
    them.
    """
    return np.array([np.zeros(outputs), np.ones(outputs)])


def weighted_mean(left: np.ndarray, right: np.ndarray, fraction: float) -> np.ndarray:
    """Return the weighted mean of two arrays, in the memory layout of the first."""
    mean = np.empty_like(left)
    np.multiply(left, 1.0 - fraction, out=mean)
    mean += fraction * right
    return mean


def mean_lazy_state(left: tuple, right: tuple, fraction: float) -> tuple[float, ...]:
    """Return the weighted mean of two lazy states; steps, the first number, are rounded."""
    steps, *other_numbers = weighted_mean(np.array(left), np.array(right), fraction).tolist()
    return (float(round(steps)), *other_numbers)


def mean_losses(left: np.ndarray, right: np.ndarray, fraction: float) -> np.ndarray:
    """Return the weighted mean of two arrays of losses."""
    losses = weighted_mean(left[0] + np.log(left[1]), right[0] + np.log(right[1]), fraction)
    return np.array([losses, np.ones(len(losses))])


def check_state_memory(columns: int, features: int, outputs: int) -> None:
    """Raise MemoryError if a state of this size would not fit into memory."""
    check_memory(
        f"the weights of {features:,} columns and {outputs:,} outputs",
        8 * columns * features * outputs,
        "Hash the columns into fewer, or learn fewer classes or targets at a time.",
    )


def _zero_state(columns: int, features: int, outputs: int) -> np.ndarray:
    """Return zeros of shape (numbers of a cell, features * outputs), in the layout of
    `FirstOrderState`.
    """
    check_state_memory(columns, features, outputs)
    if outputs == 1:
        return np.zeros((features, columns)).T
    return np.zeros((columns, features * outputs))
