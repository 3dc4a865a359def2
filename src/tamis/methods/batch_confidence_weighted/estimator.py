"""Base class of the batch confidence-weighted classifiers: shared parameters, and `fit` and
`partial_fit` on one batch.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.estimators.estimator import validate_training
from tamis.base.estimators.margins import MarginMixin
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    RANDOM_STATE,
    Seed,
    estimator,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.batch_confidence_weighted.dual import BatchResult, Dual, make_dual
from tamis.system.schema import count, records, statistic
from tamis.system.threads import locked

C_DESCRIPTION = (
    "Cost of the loss of a row. The squared hinge costs C times its square, as in liblinear."
)
EMPTY_BATCH = BatchResult(0, 0.0, True, [])  # result of a batch without rows


@estimator(kw_only=True)
class BatchModel(MarginMixin, WeightedClassifier):
    """Base of the models that learn a batch at a time.

    A model adds `C`, `cov_C`, `loss`, `max_iter` and `_learn`.
    """

    tol: float | None = parameter(
        1e-3,
        [NON_NEGATIVE, None],
        "Sweeps end at a duality gap of at most this fraction of the objective. None runs "
        "`max_iter` sweeps.",
    )
    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to append a constant column, to each block where there are blocks. It is "
        "regularised, as in liblinear, has a covariance, and does not count as a feature.",
    )
    intercept_scaling: float = parameter(1.0, [POSITIVE], "Value of the constant column.")
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of the order of the rows in each sweep."
    )
    _contents: ClassVar[dict] = {
        "n_iter_": count(),
        "gap_": statistic(finite=False),
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
            Duality gap at the end of the last batch, as a fraction of the objective; the largest
            of all outputs.
        n_iter_ : int
            Number of sweeps over the last batch; the largest of all outputs.
        history_ : list of dict
            Record of the sweeps over the last batch.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _fit(self, X, y, sample_weight):
        """Fit to all rows as one batch, from the prior."""
        return self._learn_batch(X, y, sample_weight, is_fit=True)

    @locked
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the model by the rows as the next batch of a stream.

        Unlike in the online models, the result depends on the division into batches.

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
        return self._learn_batch(X, y, sample_weight, is_fit=False, classes=classes)

    def _learn_batch(self, X, y, sample_weight, *, is_fit: bool, **classes):
        """Validate the rows, learn the batch, and set the attributes if no error occurred."""
        self._validate_params()
        continues = not is_fit and "_belief" in vars(self)
        known_targets, posterior = (self._targets, self._belief) if continues else (None, None)
        training = validate_training(
            self, X, y, sample_weight, is_fit=is_fit, known=known_targets, **classes
        )
        signs = training.targets.signs(training.columns)
        posterior, result = self._learn(training.rows, signs, training.weights, posterior, is_fit)
        self.__dict__.update(
            _targets=training.targets,
            _belief=posterior,
            n_iter_=result.sweeps,
            gap_=result.gap,
            history_=list(result.history),
        )
        return self

    def _learn(self, matrix, signs, weights, posterior, is_fit: bool) -> tuple[Any, BatchResult]:
        """Return the Gaussian updated by one batch (from the prior if None), and the result of the
        sweeps.
        """
        raise NotImplementedError

    def _dual(self, signs, weights) -> Dual:
        return make_dual(signs, float(self.C) * weights, self.loss == "squared_hinge")

    def _constant(self) -> float:
        """Return the value of the constant column; 0 if there is none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _orders(self, n_rows: int, *, shuffle_first: bool, shuffle_later: bool):
        """Return a function that maps the number of a sweep to the order of its rows; the flags say
        whether to shuffle the first sweep and the later ones.
        """
        random = check_random_state(self.random_state)
        return lambda sweep: (
            random.permutation(n_rows)
            if (shuffle_first if sweep == 1 else shuffle_later)
            else np.arange(n_rows)
        )

    def _warn_unfinished(self, gap: float) -> None:
        warn_user(
            f"{type(self).__name__} made all {self.max_iter} sweeps without convergence: its "
            f"relative duality gap is {gap:.2g}, above tol={self.tol:g}. "
            "Raise max_iter or tol, lower C, or scale the columns.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ fitted attributes
    def _fitted_state(self, name: str):
        if "_belief" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._belief

    def __sklearn_is_fitted__(self):
        return "_belief" in vars(self)
