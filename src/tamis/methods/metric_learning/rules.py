"""Classification by neighbours in the learnt metric, and early stopping by its held-out error."""

import numpy as np
import scipy.sparse as sp

from tamis.methods.metric_learning.boosting import Boost
from tamis.solvers.neighbors import NeighborSearch


class NeighborClassifier:
    """Classifier by the k nearest training points. `rule` "knn" scores classes by votes, "margin"
    by minus the mean squared distance to the k nearest points of the class.
    """

    def __init__(self, points, codes, weights, n_classes: int, k: int, rule: str, n_jobs: int = 1):
        self.points, self.codes, self.weights, self.n_classes = points, codes, weights, n_classes
        self.k, self.rule, self.n_jobs = k, rule, n_jobs

    def scores(self, queries: np.ndarray) -> np.ndarray:
        """Return the class scores, of shape (queries, classes)."""
        return self.votes(queries) if self.rule == "knn" else -self.distances(queries)

    def votes(self, queries: np.ndarray) -> np.ndarray:
        """Return the fraction of each class in the weights of the k nearest points."""
        members = np.arange(len(self.points))
        k = min(self.k, len(members))
        _, nearest = NeighborSearch(self.points, members, self.n_jobs).nearest(
            slice(None), k, queries
        )
        votes = np.zeros((len(queries), self.n_classes))
        rows = np.arange(len(queries))
        for j in range(k):
            votes[rows, self.codes[nearest[:, j]]] += self.weights[nearest[:, j]]
        return votes / votes.sum(axis=1, keepdims=True)

    def distances(self, queries: np.ndarray) -> np.ndarray:
        """Return the mean squared distance to the k nearest points of each class."""
        mean_squares = np.empty((len(queries), self.n_classes))
        for c in range(self.n_classes):
            members = np.flatnonzero(self.codes == c)
            distance, _ = NeighborSearch(self.points, members, self.n_jobs).nearest(
                slice(None), min(self.k, len(members)), queries
            )
            mean_squares[:, c] = (distance**2).mean(axis=1)
        return mean_squares

    def distances_by_term(self, queries: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Return the addends of `distances` by term, of shape (classes, queries, terms). `rotation`
        maps points to terms and preserves lengths.
        """
        mean_squares = np.zeros((self.n_classes, len(queries), rotation.shape[1]))
        for c in range(self.n_classes):
            members = np.flatnonzero(self.codes == c)
            k = min(self.k, len(members))
            _, nearest = NeighborSearch(self.points, members, self.n_jobs).nearest(
                slice(None), k, queries
            )
            for j in range(k):
                mean_squares[c] += ((queries - self.points[nearest[:, j]]) @ rotation) ** 2 / k
        return mean_squares


class EarlyStopping:
    """Callback of a fit that measures the error on held-out rows. `best_n_steps` is the number of
    steps of lowest error.
    """

    def __init__(self, matrix, codes, weights, rule: str, patience: int):
        self.matrix = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        self.codes, self.weights, self.rule, self.patience = codes, weights, rule, patience
        self.best_error, self.best_n_steps, self.n_without_improvement = np.inf, 0, 0

    def __call__(self, boost: Boost) -> bool:
        """Record the error of the metric so far; return True when the fit should end, after
        `patience` calls without improvement.
        """
        n_classes, options = int(boost.codes.max()) + 1, boost.options
        classifier = NeighborClassifier(
            boost.points(),
            boost.codes,
            boost.weights,
            n_classes,
            options.n_neighbors,
            self.rule,
            options.n_jobs,
        )
        predictions = classifier.scores(boost.points(self.matrix)).argmax(axis=1)
        error = float(np.average(predictions != self.codes, weights=self.weights))
        boost.steps[-1]["validation_error"] = error
        if error < self.best_error:
            self.best_error, self.best_n_steps = error, len(boost.steps)
            self.n_without_improvement = 0
        else:
            self.n_without_improvement += 1
        return self.n_without_improvement >= self.patience
