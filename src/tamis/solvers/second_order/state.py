"""State of a confidence-weighted model: mean and covariance of the weights.

It validates nothing and does not depend on scikit-learn.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.numerics.csr import Csr
from tamis.solvers.first_order.state import (
    SINGLE_ROW_SPAN,
    FirstOrderState,
    RowCalls,
    mean_lazy_state,
    mean_losses,
    weighted_mean,
    zero_losses,
)
from tamis.solvers.second_order.loop import learn_many, learn_one, score_rows_and_variances
from tamis.system.memory import check_memory
from tamis.system.schema import array, floats, number, one_of, size, term, tuple_of


class ConfidenceState(FirstOrderState):
    """State of `outputs` normal distributions over the weights of `features` columns and a constant
    column; `tamis.solvers.second_order.loop` describes its arrays.

    `flags` are (intercept, initial precision). With `n_kept`, at most that many weights of each
    output differ from 0. `kept` has one heap of selected columns for each output.
    """

    _can_split_outputs = can_pack_columns = False
    _contents: ClassVar[dict] = {
        "outputs": size("outputs"),
        "terms": tuple_of(term("direction_and_margin"), term("confidence_update", "weighs")),
        "flags": tuple_of(
            number(float, minimum=0.0, maximum=1.0, exact=True),
            number(float, above=0.0, exact=True),
        ),
        "clock": floats(2, minimum=0.0),
        "state": one_of(
            array("f8", "columns+1", "2*outputs"), array("f8", "outputs", "columns+2", "columns+1")
        ),
        "kept": array("u8", "outputs", "kept", below="columns"),
        "places": None,  # computed from `kept`
        "bias": None,
        "lazy": None,
        "bias_lazy": None,
        "stats": None,
    }

    def __init__(
        self, terms, flags, features: int, outputs: int, full: bool = False, n_kept: int = 0
    ):
        self.terms = terms  # direction and margin; confidence update
        self.flags = flags
        self.outputs = outputs
        self.costs, self.clock = zero_losses(outputs), (0.0, 0.0)
        check_memory(
            f"the {'full covariance' if full else 'weights'} of {features:,} columns and "
            f"{outputs:,} outputs",
            8 * outputs * (features + 1) * (features + 2 if full else 2),
            "Use covariance='diagonal', or select columns first."
            if full
            else "Hash the columns into fewer, or learn fewer classes at a time.",
        )
        if full:
            self.state = np.zeros((outputs, features + 2, features + 1))
            self.state[:, : features + 1] = np.eye(features + 1) / np.sqrt(flags[1])
        else:
            self.state = np.zeros((features + 1, 2 * outputs))
        n_kept = min(n_kept, features)
        self.kept = np.repeat(np.arange(n_kept, dtype=np.uint64)[None], outputs, axis=0)
        self._index_heaps()

    def _index_heaps(self) -> None:
        """Compute `places`: position of each column in each heap from 1, or 0 if not selected."""
        features = self.features if self.kept.size else 0
        self.places = np.zeros((features, self.outputs), dtype=np.uint32)
        for c, heap in enumerate(self.kept):
            self.places[heap, c] = np.arange(1, len(heap) + 1)

    def _after_load(self) -> None:
        """Refuse heaps that hold a column twice; compute the positions of their columns."""
        super()._after_load()
        if any(len(np.unique(heap)) < len(heap) for heap in self.kept):
            raise ValueError("a heap of kept features holds a column twice")
        self._index_heaps()

    @property
    def full(self) -> bool:
        """Whether the covariance is a full matrix."""
        return self.state.ndim == 3

    @property
    def features(self) -> int:
        """Number of columns."""
        return self.state.shape[2] - 1 if self.full else self.state.shape[0] - 1

    @property
    def steps(self) -> float:
        """Rows of weight above 0 so far."""
        return self.clock[0]

    @property
    def weight(self) -> float:
        """Total weight of the rows so far."""
        return self.clock[1]

    def _learn_span(self, rows, targets, weights, span):
        row_arrays = (*rows[:3], targets.columns, weights)
        loop_args = (self.costs[0], *self.terms, self.clock)
        if self.outputs == 1 and not self.full and not self.kept.size:
            progress = learn_one(row_arrays, span, self.state, *loop_args, self.flags)
        else:
            heaps = (self.kept, self.places)
            progress = learn_many(row_arrays, span, self.state, heaps, *loop_args, self.flags)
        self.clock = float(progress[0]), float(progress[1])

    def score_with_variance(self, rows: Csr) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of the rows and their variances, both (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        variances = np.empty((rows.n_rows, self.outputs))
        score_rows_and_variances(rows[:3], self.state, self.flags, scores, variances)
        return scores, variances

    def score(self, rows: Csr) -> np.ndarray:
        """Return the scores of the rows, (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        score_rows_and_variances(
            rows[:3], self.state, self.flags, scores, np.empty((0, self.outputs))
        )
        return scores

    def _mean_weights(self) -> np.ndarray:
        """View of the means, (features, outputs)."""
        return self.state[:, -1, :-1].T if self.full else self.state[:-1, : self.outputs]

    def weights(self) -> np.ndarray:
        """Return the means of all weights, (outputs, features)."""
        return np.ascontiguousarray(self._mean_weights().T)

    def variances(self) -> np.ndarray:
        """Return the variances of all weights, (outputs, features)."""
        if self.full:
            roots = self.state[:, : self.features]
            return np.einsum("cij,cij->ci", roots, roots)
        variances = self.flags[1] + self.state[:-1, self.outputs :].T
        return np.divide(1.0, variances, out=variances)

    def count(self, columns=None) -> int:
        """Return the number of nonzero weights; only `columns`, if given, may have any."""
        means = self._mean_weights()
        return int(np.count_nonzero(means if columns is None else means[columns]))

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Return cells (feature * outputs + output, ascending) and values of nonzero weights."""
        indices = np.nonzero(self._mean_weights())
        return indices[0] * self.outputs + indices[1], self._mean_weights()[indices]

    def flushed(self) -> "ConfidenceState":
        """Return the state itself: it has no pending penalties."""
        return self

    def weighted_mean_with(self, other, fraction: float) -> "ConfidenceState":
        """Return the weighted mean of this state and another, whose weight is `fraction`."""
        result = copy(self)
        result.state = weighted_mean(self.state, other.state, fraction)
        result.costs = mean_losses(self.costs, other.costs, fraction)
        steps, weight = mean_lazy_state(self.clock, other.clock, fraction)
        result.clock = steps, weight
        return result

    def shares(self, rows: Csr) -> np.ndarray:
        """Return the scores of the rows without the intercept, (rows, outputs)."""
        without_intercept = copy(self)
        without_intercept.flags = (0.0, self.flags[1])
        return without_intercept.score(rows)

    def row_calls(self, rows: Csr, targets, weights) -> RowCalls:
        """Return functions that learn from and score the one row of these arrays; they are valid
        until the terms change.
        """
        has_one_diagonal = self.outputs == 1 and not self.full and not self.kept.size
        heaps = () if has_one_diagonal else ((self.kept, self.places),)
        row_arrays = (*rows[:3], targets.columns, weights)
        loop_args = (row_arrays, SINGLE_ROW_SPAN, self.state, *heaps, self.costs[0], *self.terms)
        learn_loop = (learn_one if has_one_diagonal else learn_many).compiled_for(
            *loop_args, self.clock, self.flags
        )
        scores = np.empty((1, self.outputs))
        score_args = (rows[:3], self.state, self.flags, scores, np.empty((0, self.outputs)))
        score_loop = score_rows_and_variances.compiled_for(*score_args)

        def learn() -> None:
            self.clock = learn_loop(*loop_args, self.clock, self.flags)

        def score() -> np.ndarray:
            score_loop(*score_args)
            return scores

        return RowCalls(learn, score)
