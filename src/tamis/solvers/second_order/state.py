"""The engine of a confidence-weighted model: the mean and the covariance of the weights.

No checks, no scikit-learn.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.numerics.csr import Csr
from tamis.solvers.first_order.state import (
    FIRST,
    Engine,
    RowCalls,
    between,
    mixed_clock,
    mixed_costs,
    nothing_charged,
)
from tamis.solvers.second_order.loop import learn_many, learn_one, look_rows
from tamis.system.memory import check_memory
from tamis.system.schema import array, floats, number, one_of, size, term, tuple_of


class ConfidenceEngine(Engine):
    """State of `outputs` distributions over the weights of `features` columns and a constant one;
    see `tamis.solvers.second_order.loop`.

    `flags` are (intercept, precision at the start). With `n_kept` only so many weights of each
    output may differ from 0.
    """

    _splits = packs = False
    _contents: ClassVar[dict] = {
        "outputs": size("outputs"),
        "terms": tuple_of(term("direction_and_margin"), term("confidence_update", "weighs")),
        "flags": tuple_of(
            number(float, least=0.0, most=1.0, exact=True), number(float, above=0.0, exact=True)
        ),
        "clock": floats(2, least=0.0),
        "state": one_of(
            array("f8", "columns+1", "2*outputs"), array("f8", "outputs", "columns+2", "columns+1")
        ),
        "kept": array("u8", "outputs", "kept", below="columns"),
        "places": None,  # made of `kept`
        "bias": None,
        "lazy": None,
        "bias_lazy": None,
        "stats": None,
    }

    def __init__(
        self, terms, flags, features: int, outputs: int, full: bool = False, n_kept: int = 0
    ):
        self.terms = terms  # aim, gain
        self.flags = flags
        self.outputs = outputs
        self.costs, self.clock = nothing_charged(outputs), (0.0, 0.0)
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
        self._index_kept()

    def _index_kept(self) -> None:
        """Where in the heap of each output a column lies, from 1 on; 0 if it is not kept."""
        features = self.features if self.kept.size else 0
        self.places = np.zeros((features, self.outputs), dtype=np.uint32)
        for c, heap in enumerate(self.kept):
            self.places[heap, c] = np.arange(1, len(heap) + 1)

    def _restored(self) -> None:
        """Refuse heaps that hold a column twice; say where their columns lie."""
        super()._restored()
        if any(len(np.unique(heap)) < len(heap) for heap in self.kept):
            raise ValueError("a heap of kept features holds a column twice")
        self._index_kept()

    @property
    def full(self) -> bool:
        """Whether the covariance is a full one."""
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

    def _walk(self, rows, coded, weights, span):
        given, ending = (
            (*rows[:3], coded.columns, weights),
            (self.costs[0], *self.terms, self.clock),
        )
        if self.outputs == 1 and not self.full and not self.kept.size:
            after = learn_one(given, span, self.state, *ending, self.flags)
        else:
            heaps = (self.kept, self.places)
            after = learn_many(given, span, self.state, heaps, *ending, self.flags)
        self.clock = float(after[0]), float(after[1])

    def look(self, rows: Csr) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the rows and their variances, (rows, outputs)."""
        scores, variances = (
            np.empty((rows.n_rows, self.outputs)),
            np.empty((rows.n_rows, self.outputs)),
        )
        look_rows(rows[:3], self.state, self.flags, scores, variances)
        return scores, variances

    def score(self, rows: Csr) -> np.ndarray:
        """Scores of the rows, (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        look_rows(rows[:3], self.state, self.flags, scores, np.empty((0, self.outputs)))
        return scores

    def _means(self) -> np.ndarray:
        """View of the means, (features, outputs)."""
        return self.state[:, -1, :-1].T if self.full else self.state[:-1, : self.outputs]

    def weights(self) -> np.ndarray:
        """Means of all weights, (outputs, features)."""
        return np.ascontiguousarray(self._means().T)

    def variances(self) -> np.ndarray:
        """Variances of all weights, (outputs, features)."""
        if self.full:
            roots = self.state[:, : self.features]
            return np.einsum("cij,cij->ci", roots, roots)
        variances = self.flags[1] + self.state[:-1, self.outputs :].T
        return np.divide(1.0, variances, out=variances)

    def count(self, columns=None) -> int:
        """Number of nonzero weights: of all columns, or of `columns`, where no others have any."""
        means = self._means()
        return int(np.count_nonzero(means if columns is None else means[columns]))

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells (feature * outputs + output) and values of the nonzero weights, ascending."""
        at = np.nonzero(self._means())
        return at[0] * self.outputs + at[1], self._means()[at]

    def flushed(self) -> "ConfidenceEngine":
        """Itself: nothing is owed."""
        return self

    def mixed(self, other, share: float) -> "ConfidenceEngine":
        """Between this engine and another: `share` of it is the other's."""
        found = copy(self)
        found.state = between(self.state, other.state, share)
        found.costs = mixed_costs(self.costs, other.costs, share)
        steps, weight = mixed_clock(self.clock, other.clock, share)
        found.clock = steps, weight
        return found

    def shares(self, rows: Csr) -> np.ndarray:
        """Scores of the rows without the intercept, (rows, outputs)."""
        bare = copy(self)
        bare.flags = (0.0, self.flags[1])
        return bare.score(rows)

    def row_calls(self, rows: Csr, coded, weights) -> RowCalls:
        """Calls on the one row of these arrays, good for as long as the terms stay."""
        single = self.outputs == 1 and not self.full and not self.kept.size
        heaps = () if single else ((self.kept, self.places),)
        given = ((*rows[:3], coded.columns, weights), FIRST, self.state, *heaps, self.costs[0])
        given += self.terms
        walk = (learn_one if single else learn_many).prepared(*given, self.clock, self.flags)
        scores = np.empty((1, self.outputs))
        asked = (rows[:3], self.state, self.flags, scores, np.empty((0, self.outputs)))
        read = look_rows.prepared(*asked)

        def learn() -> None:
            self.clock = walk(*given, self.clock, self.flags)

        def score() -> np.ndarray:
            read(*asked)
            return scores

        return RowCalls(learn, score)
