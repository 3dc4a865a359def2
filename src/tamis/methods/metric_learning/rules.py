"""Classes from distances: votes of the nearest rows, or the class whose nearest rows are nearest;
and early stopping by the errors of such a rule.
"""

import numpy as np
import scipy.sparse as sp

from tamis.methods.metric_learning.boosting import Boost
from tamis.solvers.neighbors import Search


class Rules:
    """Training rows as points, and what they say of others."""

    def __init__(self, points, codes, weights, n_classes: int, k: int, rule: str, n_jobs: int = 1):
        self.points, self.codes, self.weights, self.n_classes = points, codes, weights, n_classes
        self.k, self.rule, self.n_jobs = k, rule, n_jobs

    def scores(self, asked: np.ndarray) -> np.ndarray:
        """Shares of the votes, or minus the mean squared distances, of shape (rows, classes)."""
        return self.votes(asked) if self.rule == "knn" else -self.distances(asked)

    def votes(self, asked: np.ndarray) -> np.ndarray:
        """Share of each class in the weights of the k nearest rows."""
        every = np.arange(len(self.points))
        k = min(self.k, len(every))
        _, near = Search(self.points, every, self.n_jobs).nearest(slice(None), k, asked)
        found = np.zeros((len(asked), self.n_classes))
        rows = np.arange(len(asked))
        for place in range(k):
            found[rows, self.codes[near[:, place]]] += self.weights[near[:, place]]
        return found / found.sum(axis=1, keepdims=True)

    def distances(self, asked: np.ndarray) -> np.ndarray:
        """Mean squared distance to the k nearest rows of each class."""
        found = np.empty((len(asked), self.n_classes))
        for c in range(self.n_classes):
            members = np.flatnonzero(self.codes == c)
            distance, _ = Search(self.points, members, self.n_jobs).nearest(
                slice(None), min(self.k, len(members)), asked
            )
            found[:, c] = (distance**2).mean(axis=1)
        return found

    def distances_by_term(self, asked: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """The same as sums over terms, of shape (classes, rows, terms); `turn` takes points to
        terms and leaves lengths as they are.
        """
        found = np.zeros((self.n_classes, len(asked), turn.shape[1]))
        for c in range(self.n_classes):
            members = np.flatnonzero(self.codes == c)
            k = min(self.k, len(members))
            _, near = Search(self.points, members, self.n_jobs).nearest(slice(None), k, asked)
            for place in range(k):
                found[c] += ((asked - self.points[near[:, place]]) @ turn) ** 2 / k
        return found


class Watch:
    """Errors of the metric so far on held-out rows, and the steps where they were least."""

    def __init__(self, matrix, codes, weights, rule: str, patience: int):
        self.columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        self.codes, self.weights, self.rule, self.patience = codes, weights, rule, patience
        self.error, self.length, self.idle = np.inf, 0, 0

    def __call__(self, boost: Boost) -> bool:
        """Look; True when the error has not improved for long."""
        count, options = int(boost.codes.max()) + 1, boost.options
        rules = Rules(
            boost.points(),
            boost.codes,
            boost.weights,
            count,
            options.n_neighbors,
            self.rule,
            options.n_jobs,
        )
        guesses = rules.scores(boost.points(self.columns)).argmax(axis=1)
        error = float(np.average(guesses != self.codes, weights=self.weights))
        boost.steps[-1]["validation_error"] = error
        if error < self.error:
            self.error, self.length, self.idle = error, len(boost.steps), 0
        else:
            self.idle += 1
        return self.idle >= self.patience
