"""What the batch models of the confidence-weighted family share: parameters, the walk from rows to
a batch, and what a fit shows.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.estimators.estimator import take
from tamis.base.estimators.margins import Margins
from tamis.base.parameters import ABOVE, BOOL, NUMBER, RANDOM, Seed, estimator, parameter
from tamis.base.validation import warn_user
from tamis.methods.batch_confidence_weighted.dual import Dual, Outcome, make_dual
from tamis.system.schema import count, figure, records
from tamis.system.threads import locked

COST = "Cost of the loss of a row. The squared hinge costs C times its square, as in liblinear."
NOTHING = Outcome(0, 0.0, True, [])  # of a batch without rows


@estimator(kw_only=True)
class BatchModel(Margins, WeightedClassifier):
    """Base of the models that learn a batch at a time.

    A model adds `C`, `cov_C`, `loss`, `max_iter` and `_learn`.
    """

    tol: float | None = parameter(
        1e-3,
        [NUMBER, None],
        "Largest duality gap, as a share of the objective, at which sweeps end. None makes all of "
        "them.",
    )
    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to append a constant column, to each block where there are blocks. It is "
        "regularised, as in liblinear, takes part in the covariance, and is not counted.",
    )
    intercept_scaling: float = parameter(1.0, [ABOVE], "Value of the constant column.")
    random_state: Seed = parameter(None, [RANDOM], "Seed of the order of the rows in each sweep.")
    _contents: ClassVar[dict] = {
        "n_iter_": count(),
        "gap_": figure(finite=False),
        "history_": records(),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Means of the weights.
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        variance_ : ndarray of shape (n_outputs, n_features)
            Variances of the weights.
        support_ : ndarray of int
            Indices of the features with a weight other than 0; for several outputs the union.
        gap_ : float
            Duality gap at the end of the last batch, as a share of the objective, of the worst
            output.
        n_iter_ : int
            Sweeps over the last batch, of the output with most.
        history_ : list of dict
            What happened in the last batch.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _fit(self, X, y, sample_weight):
        """Learn all rows as one batch; what was learnt before is forgotten."""
        return self._take_batch(X, y, sample_weight, whole=True)

    @locked
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
        return self._take_batch(X, y, sample_weight, whole=False, classes=classes)

    def _take_batch(self, X, y, sample_weight, *, whole: bool, **classes):
        """Check, prepare, learn, store: the model changes once all went well."""
        self._validate_params()
        again = not whole and "_belief" in vars(self)
        known, belief = (self._targets, self._belief) if again else (None, None)
        taken = take(self, X, y, sample_weight, whole=whole, known=known, **classes)
        signs = taken.targets.signs(taken.columns)
        belief, done = self._learn(taken.rows, signs, taken.weights, belief, whole)
        self.__dict__.update(
            _targets=taken.targets,
            _belief=belief,
            n_iter_=done.sweeps,
            gap_=done.gap,
            history_=list(done.history),
        )
        return self

    def _learn(self, matrix, signs, weights, belief, whole: bool) -> tuple[Any, Outcome]:
        """A belief that has taken a batch in, a new one where there was none, and how it went."""
        raise NotImplementedError

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
    def _fitted(self, name: str):
        if "_belief" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._belief

    def __sklearn_is_fitted__(self):
        return "_belief" in vars(self)
