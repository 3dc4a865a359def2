"""The engine of a confidence-weighted model: the mean and the covariance of the weights. No checks, no scikit-learn."""

import numpy as np

from tamis._checks import Csr, as_floats
from tamis.loops.confidence import learn_many, learn_one, look_rows
from tamis.models.engine import Engine


class ConfidenceEngine(Engine):
    """State of `outputs` distributions over the weights of `features` columns and a constant one; see `tamis.loops.confidence`.

    `flags` are (intercept, precision at the start). With `n_kept` only so many weights of each output may differ from 0.
    """

    def __init__(self, terms, flags, features: int, outputs: int, full: bool = False, n_kept: int = 0):
        self.terms = terms  # aim, gain
        self.flags = flags
        self.outputs = outputs
        self.costs, self.clock = np.zeros(outputs), (0.0, 0.0)
        if full:
            self.state = np.zeros((outputs, features + 2, features + 1))
            self.state[:, : features + 1] = np.eye(features + 1) / np.sqrt(flags[1])
        else:
            self.state = np.zeros((features + 1, 2 * outputs))
        n_kept = min(n_kept, features)
        self.kept = np.repeat(np.arange(n_kept, dtype=np.uint64)[None], outputs, axis=0)
        self.places = np.zeros((features if n_kept else 0, outputs), dtype=np.uint32)
        self.places[:n_kept] = np.arange(1, n_kept + 1)[:, None]

    def _check_loaded(self) -> None:
        """Refuse a state from a file that the compiled loops could not trust."""
        numbers = all(type(v) is float for v in (*self.clock, *self.flags)) and len(self.clock) == len(self.flags) == len(self.terms) == 2
        shape, outputs = self.state.shape, self.outputs
        if self.full:
            fits = shape[0] == outputs and shape[1] == shape[2] + 1
        else:
            fits = len(shape) == 2 and shape[1] == 2 * outputs
        fits = fits and outputs >= 1 and min(shape) >= 1 and self.costs.shape == (outputs,) and self.kept.ndim == 2 and len(self.kept) == outputs
        arrays = ((self.state, np.float64), (self.costs, np.float64), (self.kept, np.uint64), (self.places, np.uint32))
        laid = all(array.dtype == dtype and array.flags.c_contiguous for array, dtype in arrays)
        if not (numbers and fits and laid and self.places.shape == (self.features if self.kept.size else 0, outputs)):
            raise ValueError("the state of training contradicts itself")
        if self.kept.size:
            self._check_heaps()
        self.terms = tuple(as_floats(t) for t in self.terms)

    def _check_heaps(self) -> None:
        """Refuse heaps of columns that are not there, or that do not lie where `places` says."""
        for c, heap in enumerate(self.kept):
            ranks, places = np.arange(1, len(heap) + 1), self.places[:, c]
            if heap.max() >= self.features or (places[heap] != ranks).any() or np.count_nonzero(places) != len(heap):
                raise ValueError("the kept features contradict themselves")

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

    def _walk(self, rows, targets, weights, span, n_jobs):
        given, ending = (*rows[:3], targets, weights, span, self.state), (self.costs, *self.terms, self.clock, self.flags)
        if self.outputs == 1 and not self.full and not self.kept.size:
            after = learn_one(*given, *ending)
        else:
            after = learn_many(*given, self.kept, self.places, *ending)
        self.clock = tuple(map(float, after))

    def look(self, rows: Csr) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the rows and their variances, (rows, outputs)."""
        scores, variances = np.empty((rows.n_rows, self.outputs)), np.empty((rows.n_rows, self.outputs))
        look_rows(*rows[:3], self.state, self.flags, scores, variances)
        return scores, variances

    def score(self, rows: Csr) -> np.ndarray:
        """Scores of the rows, (rows, outputs)."""
        scores = np.empty((rows.n_rows, self.outputs))
        look_rows(*rows[:3], self.state, self.flags, scores, np.empty((0, self.outputs)))
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

    def count(self) -> int:
        """Number of nonzero weights."""
        return int(np.count_nonzero(self._means()))

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells (feature * outputs + output) and values of the nonzero weights, ascending."""
        at = np.nonzero(self._means())
        return at[0] * self.outputs + at[1], self._means()[at]
