"""ThresholdedClassifier: L1 classification on thresholded data, with a certificate."""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import ProbabilisticClassifier
from tamis.base.estimators.estimator import validate_prediction, validate_training
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    Auto,
    estimator,
    is_auto,
    one_of_strings,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.data_thresholding.bounds import LOSS_AT_ZERO, ThresholdProblem, safe_threshold
from tamis.methods.data_thresholding.certificate import Certificate
from tamis.methods.data_thresholding.search import (
    ThresholdOptions,
    ThresholdTrial,
    path_arrays,
    search,
    search_path,
)
from tamis.methods.data_thresholding.thresholds import threshold_for_fraction
from tamis.system.schema import array, count, number, plain_data, records
from tamis.terms.losses import LOSSES

AUTO_MAX_ERROR = 0.01  # max_error of threshold="auto" if the user sets none
INITIAL_FRACTION = 0.5  # fraction of the nonzero entries above the first threshold of "auto"


@estimator
class ThresholdedClassifier(ProbabilisticClassifier):
    r"""Sparse linear classifier that is fitted to the large entries of the data only, with a bound
    on the distance from the optimum on all entries.

    Use it for data with many small entries, such as tf-idf weights of long texts, with a solver
    that is slow or needs much memory: it gets only a fraction of the entries. The solver in tamis
    is so fast that it gains little time. Scale the features first, since one threshold applies to
    all of them. `predict` takes rows that are not thresholded.

    With X(t) for the data without their entries of size at most t, it minimises

    .. math:: \Phi(X(t); w, b) = \frac{1}{\sum_i c_i} \sum_i c_i f(y_i (x_i(t)^T w + b))
       + \alpha \lVert w \rVert_1

    for the logistic or the hinge loss f and weights c of the rows; several classes are fitted one
    vs rest. A few passes over the original data then bound, through the dual problem, the distance
    of the result from the optimum on X: that is `certificate_`. With `max_error` the threshold is
    halved until the certificate meets it; the last threshold tried is 0, which drops nothing.

    {parameters}

    {attributes}

    See Also
    --------
    DataThresholder : Transformer that thresholds data in the same way, before any model.
    ThresholdDisplay : Plots time, memory, accuracy and certificate against the threshold.
    SieveClassifier : Selects few features without a choice of alpha.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, chapter 3. The certificate from the dual is tamis's own; the
    a-priori bounds are those of the report.

    Examples
    --------
    >>> from tamis import ThresholdedClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=1000, n_features=2000, random_state=0)
    >>> model = ThresholdedClassifier(alpha=1e-3, max_error=0.05).fit(X, y)
    >>> model.kept_fraction_ < 1.0
    True
    >>> model.certificate_["rel_gap"] <= 0.05
    True
    >>> model.certificate_["vacuous"]
    True
    """

    estimator: Any = parameter(
        None,
        [HasMethods(["fit", "get_params"]), None],
        "Solver of the problem on the thresholded data. None is the solver in tamis: Newton steps "
        "with coordinate descent, or a linear program for the hinge loss. Otherwise a linear L1 "
        "classifier with `coef_` and `intercept_`; its parameter `C` is set to 1 / (alpha sum of "
        "weights) or, if it has none, its `alpha` to alpha. The certificate is valid for any "
        "weights that it returns.",
        "estimator or None",
    )
    alpha: float = parameter(1e-4, [POSITIVE], "Strength of the L1 penalty.")
    loss: str = parameter(
        "logistic",
        [one_of_strings("logistic", "hinge")],
        "Loss of the objective and of the certificate.",
    )
    threshold: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Entries of this absolute value or less are dropped. "auto" starts at the median of the '
        "nonzero entries, and uses a `max_error` of 0.01 if that is None.",
    )
    max_error: float | None = parameter(
        None,
        [POSITIVE, None],
        "Maximum distance from the optimum on the original data. The threshold is halved until one "
        "of the bounds in the certificate is at most that. None never lowers the threshold.",
    )
    mode: str = parameter(
        "relative",
        [one_of_strings("relative", "absolute")],
        "Whether `max_error` is a fraction of the optimum, or in units of the objective.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept; it is not penalised.", kw_only=True
    )
    max_iter: int = parameter(
        100, [POSITIVE_INTEGER], "Maximum number of working sets of a fit.", kw_only=True
    )
    tol: float = parameter(
        1e-4,
        [POSITIVE],
        "Duality gap on the thresholded data, as a fraction of the objective, at which a fit ends. "
        "With `max_error` it is at most a tenth of that.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "history_": records(),
        "coef_": array("f8", "outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        "threshold_": number(float, minimum=0.0),
        "kept_fraction_": number(float, minimum=0.0, maximum=1.0),
        "certificate_": plain_data(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights; zeros are exact.
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the selected features; for several outputs the union.
        threshold_ : float
            Threshold of the fit.
        kept_fraction_ : float
            Fraction of the nonzero entries that are above the threshold.
        certificate_ : dict
            Numbers, or arrays with one number for each output: "primal_thresholded" and
            "primal_original", the objective on the thresholded data and on X; "dual_bound", a lower
            bound on the optimum on X; "gap", the difference of the last two, and "rel_gap", the gap
            as a fraction of the bound (inf if the bound is 0: there is no guarantee then);
            "apriori_abs" and "apriori_rel", the bounds known before the fit, and "vacuous", whether
            "apriori_abs" is no better than for zero weights; "aposteriori", a bound from the
            objectives without the dual; "upper_thresholded" and "dual_thresholded", upper and lower
            bounds that need the thresholded data only; "solver_gap", the duality gap on the
            thresholded data.
        history_ : list of dict
            Threshold, kept fraction, bytes of the data, and the largest gap and relative gap of an
            output, for each threshold tried.
        n_iter_ : int
            Number of working sets of the last fit; the largest of all outputs.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _loss(self):
        return LOSSES[self.loss]

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Fit at decreasing thresholds until the certificate meets `max_error`."""
        self._validate_params()
        matrix, problems, targets, total_weight = self._prepare(X, y, sample_weight)
        options, floor = self._options(total_weight, self._target_error()), 0.0
        if options.max_error is not None:
            error_bound = (options.max_error, self.mode)
            floor = safe_threshold(*error_bound, float(self.alpha), LOSS_AT_ZERO[self.loss])
        trials = search(matrix, problems, options, self._first_threshold(matrix), floor)
        self._store(trials, targets)
        self._warn(trials[-1], options)
        return self

    def _prepare(self, X, y, sample_weight):
        """Return the rows in float64, one problem for each output, the targets, and the sum of the
        weights of the rows.
        """
        training = validate_training(self, X, y, sample_weight)
        matrix = training.rows
        matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)
        total_weight = float(training.weights.sum())
        settings = (
            training.weights / total_weight,
            self.loss,
            float(self.alpha),
            self.fit_intercept,
        )
        signs = training.targets.signs(training.columns)
        problems = [ThresholdProblem(np.ascontiguousarray(column), *settings) for column in signs.T]
        return matrix, problems, training.targets, total_weight

    def _options(self, total_weight: float, max_error: float | None) -> ThresholdOptions:
        tol = float(self.tol)
        return ThresholdOptions(
            self.estimator, total_weight, max_error, self.mode, tol, self.max_iter
        )

    def _target_error(self) -> float | None:
        """Return the error that the certificate must meet."""
        if self.max_error is None:
            return AUTO_MAX_ERROR if is_auto(self.threshold) else None
        return float(self.max_error)

    def _first_threshold(self, matrix) -> float:
        """Return the first threshold of the search."""
        return (
            threshold_for_fraction(matrix, INITIAL_FRACTION)
            if is_auto(self.threshold)
            else float(self.threshold)
        )

    def _store(self, trials: list[ThresholdTrial], targets) -> None:
        last_trial = trials[-1]

        def as_output(name: str):
            values = targets.shape_scores(
                np.array([[getattr(certificate, name) for certificate in last_trial.certificates]])
            )
            return values[0] if values.ndim == 2 else values[0].item()

        self._targets = targets
        self.history_ = [trial.summary() for trial in trials]
        self.coef_ = np.array([fit.weights for fit in last_trial.fits])
        self.intercept_ = np.array([fit.intercept for fit in last_trial.fits])
        self.threshold_ = float(last_trial.threshold)
        self.kept_fraction_ = float(last_trial.thresholded.share)
        self.n_iter_ = max(1, *(fit.n_iter for fit in last_trial.fits))
        self.certificate_ = {name: as_output(name) for name in Certificate._fields}

    def _warn(self, trial: ThresholdTrial, options: ThresholdOptions) -> None:
        """Warn if the solver did not converge, or if no threshold meets `max_error`."""
        solver_gap = max(
            certificate.solver_gap / max(certificate.primal_thresholded, np.finfo(float).tiny)
            for certificate in trial.certificates
        )
        if self.estimator is None and not all(fit.converged for fit in trial.fits):
            message = (
                f"did not converge in {self.max_iter} working sets: its relative duality gap is "
                f"{solver_gap:.2g}, above tol={self.tol:g}. Raise max_iter or tol, or scale the "
                "columns."
            )
        elif not trial.is_within(options):
            message = (
                f"found no threshold with a certificate of max_error={options.max_error:g}: with "
                f"threshold 0 the relative duality gap of the solver is {solver_gap:.2g}. Raise "
                "max_error, or lower the tolerance of the estimator."
            )
        else:
            return
        warn_user(f"{type(self).__name__} {message}", ConvergenceWarning)

    # ------------------------------------------------------------------ path
    def path(self, X, y, alphas, max_error, sample_weight=None):
        """Fit models for a decreasing sequence of strengths, each with as low a threshold as
        `max_error` requires.

        The search for each strength starts at the threshold of the one before, and halves it until
        the certificate meets `max_error`, but not below the threshold that the a-priori bounds
        allow. The estimator is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        alphas : array-like of shape (n_alphas,)
            Strengths of the penalty, each below the one before.
        max_error : float
            Maximum distance of each model from its optimum on the original data, in units of
            `mode`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : dict of ndarray
            "alpha", "threshold" and "kept_fraction", of shape (n_alphas,); "coef" of shape
            (n_alphas, n_outputs, n_features), "intercept", "primal" (on the original data), "gap"
            and "rel_gap" of shape (n_alphas, n_outputs).
        """
        self._validate_params()
        alphas = np.asarray(alphas, dtype=float)
        is_decreasing = alphas.ndim == 1 and len(alphas) and (np.diff(alphas) < 0).all()
        if not is_decreasing or (alphas <= 0).any():
            raise ValueError(
                "alphas must be above 0 and fall from one to the next: the threshold of one alpha "
                f"is an upper bound for smaller ones only. Got {alphas}."
            )
        if not max_error > 0:
            raise ValueError(
                f"max_error must be above 0: no certificate can be exact. Got {max_error!r}."
            )
        validated = type(self)(**self.get_params(deep=False))  # validation sets attributes
        matrix, problems, _, total_weight = validated._prepare(X, y, sample_weight)
        options = self._options(total_weight, float(max_error))
        trials = search_path(matrix, problems, options, self._first_threshold(matrix), alphas)
        return path_arrays(alphas, trials)

    # ------------------------------------------------------------------ predictions, attributes
    def _scores(self, X):
        return validate_prediction(self, X) @ self.coef_.T + self.intercept_

    @property
    def support_(self):
        """Indices of the selected features; for several outputs the union."""
        check_is_fitted(self)
        return np.flatnonzero(self.coef_.any(axis=0))
