"""What the batch models of the confidence-weighted family share: parameters, targets, the walk from
rows to a batch.
"""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_blocks, take_weights, warn_user
from tamis.base.classifier import Classes
from tamis.base.contents import count, early, figure, records
from tamis.base.estimator import Estimator
from tamis.base.margins import Margins
from tamis.base.parameters import ABOVE, COUNT, NUMBER
from tamis.base.rows import Csr
from tamis.methods.batch_confidence.dual import Dual, make_dual
from tamis.terms.losses import LOSSES

SHARED = {
    "C": [ABOVE],
    "cov_C": [NUMBER, None],
    "loss": [StrOptions({"hinge", "squared_hinge"})],
    "max_iter": [COUNT],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [ABOVE],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "random_state": ["random_state"],
}


class BatchModel(Margins, Classes, Estimator):
    """Base of the models that learn a batch at a time."""

    grow = False  # the shared treatment of classes asks; here they are those of the first call
    _contents: ClassVar[dict] = {
        "n_iter_": early(count()),
        "gap_": early(figure(finite=False)),
        "history_": early(records()),
    }
    _state = "_belief"  # the attribute that a fit leaves

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows as one batch; what was learnt before is forgotten.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from the rows as the next batch of a stream; unlike in the online models, the cut
        into batches matters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        classes : array-like, default=None
            All classes; needed in the first call, unless y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, classes=classes)

    def _fit(self, X, y, sample_weight):
        """Check, prepare, learn all rows as one batch."""
        self._validate_params()
        return self._take_batch(X, y, sample_weight, whole=True)

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Check, prepare, learn the rows as the next batch."""
        self._validate_params()
        return self._take_batch(X, y, sample_weight, whole=False, **classes)

    def _take_batch(self, X, y, sample_weight, *, whole, **classes):
        """From what the user gave to `_learn`: rows of weight 0 are gone.

        The state changes only once all went well.
        """
        again = not whole and self._state in vars(self)
        rows = take_blocks(self, X, reset=not again, chunk=not whole)
        count = rows.n_rows if isinstance(rows, Csr) else rows.shape[0]
        targets = self._take_targets(y, count, first=not again, whole=whole, **classes)
        weights = self._weigh(targets, take_weights(sample_weight, count, some=whole), whole=whole)
        signs, matrix = self._signs(targets), rows.scipy() if isinstance(rows, Csr) else rows
        if len(weights) and not weights.all():
            kept = np.flatnonzero(weights)
            matrix, signs, weights = matrix[kept], signs[kept], weights[kept]
        weights = weights if len(weights) else np.ones(matrix.shape[0])
        state = self._learn(
            matrix, signs, weights, vars(self).get(self._state) if again else None, whole
        )
        setattr(self, self._state, state)
        return self

    def _note(self, sweeps: int = 0, gap: float = 0.0, history=()) -> None:
        """Store what the last batch did; nothing, where it held no row."""
        self.n_iter_, self.gap_, self.history_ = sweeps, gap, list(history)

    def _signs(self, targets) -> np.ndarray:
        """Targets as +1 and -1 of every output."""
        if len(self.classes_) > 2 and not self.multilabel_:
            return np.where(targets == np.arange(len(self.classes_)), 1.0, -1.0)
        return np.ascontiguousarray(targets)

    def _dual(self, signs, weights) -> Dual:
        return make_dual(signs, float(self.C) * weights, self.loss == "squared_hinge")

    def _constant(self) -> float:
        """Value of the constant column."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _orders(self, count: int, *, first: bool, later: bool):
        """Function from the number of a sweep to the order of its rows: shuffled in the first sweep
        or not, and in later ones.
        """
        random = check_random_state(self.random_state)
        return lambda turn: (
            random.permutation(count) if (first if turn == 1 else later) else np.arange(count)
        )

    def _warn_unfinished(self, gap: float) -> None:
        warn_user(
            f"{type(self).__name__} made all {self.max_iter} sweeps, and its relative duality gap "
            f"is still {gap:.2g}, above tol={self.tol:g}. "
            "Raise max_iter or tol, lower C, or scale the columns.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _matrix(self, X):
        """Rows to predict, as SciPy or NumPy have them."""
        check_is_fitted(self)
        rows = take_blocks(self, X, reset=False)
        return rows.scipy() if isinstance(rows, Csr) else rows

    def _fitted(self, name):
        if self._state not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return vars(self)[self._state]

    def __sklearn_is_fitted__(self):
        return self._state in vars(self)

    def _terms(self):
        return (LOSSES[self.loss],), ()  # asked for by predict_proba, which needs another loss

    def _shape(self, values: np.ndarray) -> np.ndarray:
        """One column for two classes, else one an output."""
        return values[:, 0] if self._outputs() == 1 and not self.multilabel_ else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
