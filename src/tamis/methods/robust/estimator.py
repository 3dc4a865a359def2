"""Base class of the robust estimators: shared parameters, and the fit of each output."""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import (
    Estimator,
    TrainingData,
    validate_prediction,
    validate_training,
)
from tamis.base.fast_checks import check_array
from tamis.base.parameters import (
    ARRAY_LIKE,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    estimator,
    parameter,
)
from tamis.base.parameters import one_of_strings as one_of_values
from tamis.base.validation import check_matrix_magnitude, validate_sample_weight, warn_user
from tamis.methods.robust.cutting_planes import CuttingPlaneResult, minimise
from tamis.methods.robust.rows import merge_equal_rows
from tamis.numerics.moments import centred_moments
from tamis.system.schema import array, count, one_of, records, statistic

SETS = ("l1", "l2", "linf", "ellipsoid", "deletion", "spectral")
INTEGER_RADIUS = {"deletion": "features", "labels": "rows"}  # sets with a count as radius


@estimator
class RobustLinear(Estimator):
    r"""Base of the robust models; a {kind} adds its targets and its oracles.

    Uncertainty sets, and the worst change of a margin or a residual:

    - "l1": an error of L1 norm at most radius in each row; :math:`r \lVert w \rVert_\infty`.
    - "l2": an error of L2 norm at most radius in each row; :math:`r \lVert w \rVert_2`.
    - "linf": an error of at most radius in each entry; :math:`r \lVert w \rVert_1`.
    - "ellipsoid": an error of Mahalanobis length at most radius in each row, with the matrix
      `ellipsoid`, :math:`\Sigma`; :math:`r \sqrt{w^T \Sigma w}`.
    - "deletion": up to radius entries of each row become 0; the largest sum of that many
      :math:`w_j x_{ij}`.
    - "spectral": a matrix of errors of spectral norm at most radius, for all rows together.

    Cutting planes solve the problem until the bound on the distance from the optimum is at most
    `tol`.

    {parameters}

    {attributes}
    """

    uncertainty: str = parameter("l2", [one_of_values(*SETS)], "What may be wrong with the data.")
    radius: float = parameter(
        0.1, [NON_NEGATIVE], 'Size of the errors. A whole number for "deletion".'
    )
    C: float = parameter(1.0, [POSITIVE], "Weight of the loss of a row.")
    ellipsoid: Any = parameter(
        None,
        [ARRAY_LIKE, None],
        'Covariance matrix or its diagonal, for "ellipsoid". None uses the variances of the '
        "columns.",
        "array-like of shape (n_features,) or (n_features, n_features), or None",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept; it is not penalised.", kw_only=True
    )
    max_iter: int = parameter(
        1000, [POSITIVE_INTEGER], "Maximum number of iterations for each output.", kw_only=True
    )
    tol: float = parameter(
        1e-4,
        [POSITIVE],
        "Distance from the optimum, as a fraction of the objective, at which a fit ends.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_ellipsoid": one_of(
            None, array("f8", "columns"), array("f8", "columns", "columns", order=None)
        ),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "objective_": statistic(),
        "gap_": statistic(finite=False),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights; a regressor with one target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the features with a weight other than 0.
        objective_ : float
            The objective, summed over the outputs.
        gap_ : float
            Bound on the distance from the optimum, as a fraction of the objective; the largest of
            all outputs.
        n_iter_ : int
            Number of iterations; the largest of all outputs.
        history_ : list of dict
            Best objective so far and lower bound, for each output and iteration.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Validate the data, solve the problem of each output, and set the attributes."""
        self._validate_params()
        self._check_radius(self.radius)
        training = validate_training(self, X, y, sample_weight)
        columns = self._columns(training)
        ellipsoid = self._take_ellipsoid(training.rows, training.weights)
        results = [
            self._solve(training.rows, column, training.weights, ellipsoid) for column in columns.T
        ]
        self._store(results, training.targets, ellipsoid)
        return self

    def _columns(self, training: TrainingData) -> np.ndarray:
        """Return the targets of each output."""
        return training.columns

    def _oracle(self, radius: float, ellipsoid, rows, targets, row_weights, intercept: bool) -> Any:
        """Return the oracle of the uncertainty set."""
        raise NotImplementedError

    def _take_ellipsoid(self, matrix, weights) -> np.ndarray | None:
        """Return the matrix of the ellipsoid, or its diagonal."""
        if self.uncertainty != "ellipsoid":
            if self.ellipsoid is not None:
                raise ValueError(
                    f"ellipsoid is for uncertainty='ellipsoid'; this is {self.uncertainty!r}. "
                    "Pass None."
                )
            return None
        width = matrix.shape[1]
        if self.ellipsoid is None:
            rows, _, row_weights = merge_equal_rows(matrix, np.zeros(len(weights)), weights)
            total, _, squares = centred_moments(rows, row_weights)
            return squares / total
        sigma = check_array(
            self.ellipsoid, ensure_2d=False, dtype=np.float64, input_name="ellipsoid"
        )
        check_matrix_magnitude("ellipsoid", sigma)
        if sigma.shape not in ((width,), (width, width)):
            raise ValueError(
                f"ellipsoid has shape {sigma.shape}; for {width} columns it is ({width},), a "
                f"diagonal, or ({width}, {width})."
            )
        min_eigenvalue = sigma.min() if sigma.ndim == 1 else np.linalg.eigvalsh(sigma)[0]
        is_asymmetric = sigma.ndim == 2 and not np.allclose(sigma, sigma.T)
        if is_asymmetric or min_eigenvalue < -1e-10 * np.abs(sigma).max():
            raise ValueError(
                "ellipsoid must be symmetric, with no eigenvalue below 0; the smallest is "
                f"{min_eigenvalue:g}."
            )
        return sigma

    def _check_radius(self, radius) -> None:
        if self.uncertainty in INTEGER_RADIUS and radius != int(radius):
            raise ValueError(
                f"uncertainty={self.uncertainty!r} takes a number of "
                f"{INTEGER_RADIUS[self.uncertainty]} as radius, such as 1. Got {radius!r}."
            )

    def _solve(self, matrix, targets, weights, ellipsoid) -> CuttingPlaneResult:
        """Solve the problem of one output."""
        rows, targets, row_weights = merge_equal_rows(matrix, targets, weights)
        radius, intercept = float(self.radius), self.fit_intercept
        oracle = self._oracle(radius, ellipsoid, rows, targets, row_weights, intercept)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # the solver raises an error for such numbers
            return minimise(oracle, rows.shape[1], float(self.C), float(self.tol), self.max_iter)

    def _store(self, results: list[CuttingPlaneResult], targets, ellipsoid) -> None:
        self._targets, self._ellipsoid = targets, ellipsoid
        self.coef_ = targets.shape_coef(np.array([result.weights for result in results]))
        self.intercept_ = np.array([result.intercept for result in results])
        self.objective_ = float(sum(result.objective for result in results))
        self.gap_ = float(max(result.gap for result in results))
        self.n_iter_ = max(len(result.history) for result in results)
        self.history_ = [
            {"output": k, **record} for k, result in enumerate(results) for record in result.history
        ]
        if not all(result.converged for result in results):
            self._warn_unfinished()

    def _warn_unfinished(self) -> None:
        reason = f"used all {self.max_iter} planes"
        advice = "Raise max_iter or tol, lower C, or scale the columns."
        if self.n_iter_ < self.max_iter:
            reason = f"stopped after {self.n_iter_} planes, since the gap did not shrink"
            advice = "Scale the columns, lower C or the weights, or raise tol."
        warn_user(
            f"{type(self).__name__} {reason}, and its relative gap is {self.gap_:.2g}, above "
            f"tol={self.tol:g}. {advice}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ predictions, attributes
    def _scores(self, X):
        return validate_prediction(self, X) @ np.atleast_2d(self.coef_).T + self.intercept_

    def _row_weights(self, sample_weight, n_rows: int) -> np.ndarray:
        """Return the weights of the rows to score; 1 if the user passes none."""
        weights = validate_sample_weight(sample_weight, n_rows, require_positive=True)
        return weights if len(weights) else np.ones(n_rows)

    def _score_radius(self, radius) -> float:
        """Return the radius of a worst-case score: the argument, or that of the estimator."""
        if radius is None:
            return float(self.radius)
        if not isinstance(radius, int | float | np.number) or not radius >= 0:
            raise ValueError(
                "radius must be a number of 0 or more, or None for that of the estimator. Got "
                f"{radius!r}."
            )
        self._check_radius(radius)
        return float(radius)

    @property
    def support_(self):
        """Indices of the features with a weight other than 0."""
        check_is_fitted(self)
        return np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0))
