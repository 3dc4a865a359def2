"""Base class of the low-rank lasso estimators: shared parameters, one factorisation, and a fit of
all targets.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import validate_rows
from tamis.base.estimators.explaining import SparseWeights
from tamis.base.parameters import (
    ARRAY_LIKE,
    AUTO,
    BOOL,
    POSITIVE,
    POSITIVE_INTEGER,
    UNIT_INTERVAL,
    Auto,
    estimator,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.validation import validate_sample_weight, warn_user
from tamis.methods.low_rank_lasso.compression import CompressedTargets, compress, compute_scores
from tamis.methods.low_rank_lasso.factorization import FactorizationParameters, LowRankFactorization
from tamis.methods.low_rank_lasso.partitions import fit_low_rank, refuse_sums
from tamis.methods.low_rank_lasso.spg.solver import SPGOptions, SPGResult, solve
from tamis.solvers.randomized_svd import CenteredOperator
from tamis.system.schema import array, count, nested_object, records, rows
from tamis.system.threads import count_threads, locked

AUTO_RADIUS_FRACTION = 0.5  # radius="auto", as a fraction of the L1 norm without a bound
MIN_FLOAT32_TOL = 1e-5  # smallest tol that float32 resolves


@estimator
class LowRankModel(FactorizationParameters):
    """Base of the linear models on a low-rank approximation of X; subclasses also derive from a
    classifier or a regressor.
    """

    n_components: int = parameter(
        100, [POSITIVE_INTEGER], "Rank k of the approximation. Use 100 or more for text."
    )
    radius: float | Auto | list[float] | np.ndarray = parameter(
        "auto",
        [Interval(Real, 0, None, closed="right"), AUTO, ARRAY_LIKE],
        'Bound r on the L1 norm of the weights. "auto" is half the L1 norm of the solution without '
        "a bound, for each target; ``numpy.inf`` means no bound: the solution has a closed form "
        "and is not sparse.",
        'float, array-like of shape (n_outputs,) or "auto"',
    )
    robustness: float = parameter(
        0.1,
        [UNIT_INTERVAL],
        "Fraction of the approximation error to protect against, from 0 to 1. With 1 and an "
        "intercept the weights of most targets of text are 0.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept, by centred columns and targets.", kw_only=True
    )
    max_iter: int = parameter(
        2000, [POSITIVE_INTEGER], "Maximum number of iterations for each target.", kw_only=True
    )
    tol: float = parameter(
        1e-4,
        [POSITIVE],
        "Duality gap at which the iterations of a target end, as a fraction of the norm of the "
        "(centred) target; at least 1e-5 in float32.",
        kw_only=True,
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Number of threads, which solve for different targets. None is 1, -1 all cores. The result "
        "does not depend on it.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "factorization_": nested_object(LowRankFactorization, "columns"),
        "_weights": rows("outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        **dict.fromkeys(("converged_", "collapsed_", "bounded_"), array("b1", "outputs")),
        **dict.fromkeys(
            ("gap_", "radius_", "alpha_", "objective_", "residual_bound_"),
            array("f8", "outputs", finite=False),
        ),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = r"""
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights; zeros are exact. Computed on access; a regressor with one target has shape
            (n_features,).
        sparse_coef_ : csr_array of shape (n_outputs, n_features)
            The weights as a sparse array.
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the features with a nonzero weight; for several outputs the union.
        factorization_ : LowRankFactorization
            The factorisation of X; pass it to the next `fit` on the same rows.
        gap_ : ndarray of shape (n_outputs,)
            Duality gaps as fractions of the norms of the targets.
        converged_ : ndarray of bool of shape (n_outputs,)
            Whether the gap is at most `tol`.
        collapsed_ : ndarray of bool of shape (n_outputs,)
            Whether 0 is the solution at every radius, :math:`\|\hat X^T y\| \le \eta \|y\|`.
        bounded_ : ndarray of bool of shape (n_outputs,)
            Whether the L1 bound is active; otherwise the weights are the closed form, and not
            sparse.
        radius_ : ndarray of shape (n_outputs,)
            Radius of each target.
        alpha_ : ndarray of shape (n_outputs,)
            Multiplier of the L1 bound, in the units of `alpha` of scikit-learn's Lasso and
            ElasticNet.
        objective_ : ndarray of shape (n_outputs,)
            Value of the objective.
        residual_bound_ : ndarray of shape (n_outputs,)
            Upper bound on the norm of the residual on X itself, valid if `error_upper_` of the
            factorisation is.
        n_iter_ : int
            Largest number of iterations of a target.
        history_ : list of dict
            Record of each stage: factorisation, zero test, closed form, projected gradients.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ fit
    @locked
    def fit(self, X, y, sample_weight=None, factorization=None):
        """Compute the factorisation, and fit all targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Numbers for a regressor; for a classifier classes, or a 0/1 matrix with one column for
            each label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        factorization : LowRankFactorization or None, default=None
            Factorisation of the same rows and weights, such as `factorization_` of an earlier fit;
            None computes it.

        Returns
        -------
        self : object
        """
        self._check()
        matrix = validate_rows(self, X, reset=True)
        weights = validate_sample_weight(sample_weight, matrix.shape[0], require_positive=True)
        targets, encoded = self._encode_targets(y, matrix.shape[0])
        targets, weights = self._weight_rows(targets, encoded.columns, weights)
        roots = np.sqrt(weights) if len(weights) else None
        factors = self._factor(matrix, roots, factorization)
        columns = self._target_numbers(targets, encoded.columns)
        row_roots = np.ones(matrix.shape[0]) if roots is None else roots
        compressed, means = self._compress(factors.U_, columns, row_roots)
        result = self._solve(factors, compressed, *self._radius(targets.outputs))
        attributes = self._fitted_attributes(result, means, compressed, factors, matrix.shape[0])
        attributes |= self._extra_attributes(targets, matrix, columns, row_roots**2, attributes)
        self._set_attributes(attributes, targets)
        self._warn(factors)
        return self

    def _refuse_sums(self) -> str:
        """Why it cannot be fitted by sums over partitions; empty where it can."""
        return refuse_sums(self)

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_low_rank(self, sums)

    def _set_attributes(self, attributes: dict, targets) -> None:
        """Set the attributes of a fit."""
        self.__dict__.update(attributes, _targets=targets)

    def _check(self) -> None:
        """Raise a ValueError for invalid or incompatible parameters."""
        self._validate_params()
        if self.dtype == "float32" and self.tol < MIN_FLOAT32_TOL:
            raise ValueError(
                f"{type(self).__name__}: tol={self.tol:g} is finer than float32 resolves. Use tol "
                f">= {MIN_FLOAT32_TOL:g} or dtype='float64'."
            )

    def _target_numbers(self, targets, columns) -> Any:
        """Return the numbers to fit, one column for each output, dense or sparse."""
        return columns

    def _compress(self, U, columns, roots) -> tuple[CompressedTargets, np.ndarray]:
        """Return the compressed targets, and their means."""
        return compress(U, columns, roots, self.fit_intercept)

    def _extra_attributes(self, targets, matrix, columns, weights, attributes: dict) -> dict:
        """Return attributes that a subclass sets in addition."""
        return {}

    def _factor(self, matrix, roots, factorization) -> LowRankFactorization:
        """Return the factorisation: that of the user, if it is of these rows, or a new one."""
        if factorization is None:
            factorization = self._new_factorization()
            factorization._factorise(matrix, roots)
            return factorization
        check_is_fitted(factorization)
        shape = len(factorization.U_), len(factorization.W_)
        if shape != matrix.shape:
            raise ValueError(
                f"factorization is of rows of shape {shape}, but X has shape {matrix.shape}. Fit "
                "it on X."
            )
        if bool(factorization.center) != bool(self.fit_intercept):
            raise ValueError(
                f"factorization has center={factorization.center}, but "
                f"fit_intercept={self.fit_intercept}. They must be equal."
            )
        mean = CenteredOperator(matrix, roots, self.fit_intercept).mean
        if not np.allclose(
            mean, factorization.mean_, rtol=1e-3, atol=1e-6 * np.abs(mean).max(initial=1.0)
        ):
            raise ValueError(
                "factorization is of other rows or weights: the column means differ. Fit it on "
                "X, with the same sample_weight."
            )
        return factorization

    def _new_factorization(self) -> LowRankFactorization:
        """Return an unfitted factorisation with the parameters of this estimator."""
        options = {
            name: getattr(self, name) for name in FactorizationParameters._parameter_constraints
        }
        return LowRankFactorization(self.n_components, center=self.fit_intercept, **options)

    def _solve(self, factors, compressed: CompressedTargets, radius, radius_fraction) -> SPGResult:
        """Solve for compressed targets."""
        return solve(
            factors.W_,
            factors.S_,
            compressed,
            radius,
            SPGOptions(self.robustness * factors.error_upper_, self.tol, self.max_iter),
            radius_fraction=radius_fraction,
            dtype=np.dtype(self.dtype),
            threads=count_threads(self.n_jobs),
        )

    def _radius(self, n_targets: int):
        """Return the radius of each target, and the fraction that `radius="auto"` stands for."""
        if isinstance(self.radius, str):
            return np.zeros(n_targets), AUTO_RADIUS_FRACTION
        radius = np.asarray(self.radius, dtype=np.float64)
        if radius.ndim and radius.shape != (n_targets,):
            raise ValueError(
                f"radius has shape {radius.shape}, but there are {n_targets} targets. Pass one "
                "number, or one for each target."
            )
        if not (radius > 0.0).all():
            raise ValueError(
                f"radius must be above 0; the least is {radius.min():g}. Use numpy.inf for no "
                "bound."
            )
        return np.broadcast_to(radius, (n_targets,)).copy(), None

    def _fitted_attributes(
        self, result: SPGResult, means, compressed: CompressedTargets, factors, n_rows: int
    ) -> dict[str, Any]:
        """Return the fitted attributes, from the result of the solver."""
        figures, weights = result.figures, result.weights.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(compressed.norm > 0.0, figures["gap"] / compressed.norm, 0.0)
        bounded = ~(result.closed | result.zero)
        rank, error = factors.n_components_, factors.error_upper_
        return {
            "factorization_": factors,
            "_weights": weights,
            "intercept_": means - weights @ factors.mean_,
            "gap_": gap,
            "converged_": figures["converged"] > 0,
            "collapsed_": result.zero & (compressed.norm > 0.0),
            "bounded_": bounded,
            "radius_": figures["radius"],
            "alpha_": figures["rho"] * figures["nu"] / n_rows,
            "objective_": figures["objective"],
            "residual_bound_": figures["rho"] + error * figures["length"],
            "n_iter_": max(1, int(figures["iterations"].max(initial=0.0))),
            "history_": [
                {"stage": "factorisation", "rank": rank, "error": error},
                {"stage": "zero test", "targets": int(result.zero.sum())},
                {"stage": "closed form", "targets": int(result.closed.sum())},
                {
                    "stage": "projected gradients",
                    "targets": int(bounded.sum()),
                    "iterations": int(figures["iterations"].sum()),
                },
            ],
        }

    def _warn(self, factors) -> None:
        """Warn about targets with a zero solution, and about those that did not converge."""
        name, n_targets = type(self).__name__, len(self.converged_)
        n_collapsed = int(self.collapsed_.sum())
        if n_collapsed and self.robustness > 0.0 and factors.error_upper_ > 0.0:
            warn_user(
                f"{name}: {n_collapsed} of {n_targets} targets are 0 at every radius: the "
                f"{factors.n_components_} components explain less of them than the error that "
                f"robustness={self.robustness:g} protects against (of {factors.error_upper_:.3g}). "
                "Lower robustness, or raise n_components.",
                UserWarning,
            )
        elif n_collapsed:
            warn_user(
                f"{name}: {n_collapsed} of {n_targets} targets are 0: no component of X is "
                "correlated with them. Check X and y, or raise n_components.",
                UserWarning,
            )
        is_unconverged = ~self.converged_
        if is_unconverged.any():
            warn_user(
                f"{name}: {int(is_unconverged.sum())} of {n_targets} targets have a duality gap "
                f"above tol={self.tol:g} of their norm after {self.max_iter} iterations, the "
                f"largest {self.gap_[is_unconverged].max():.2g}; see converged_. Raise max_iter, "
                "tol or robustness, or use dtype='float64'.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ predictions, attributes
    def _scores(self, X) -> np.ndarray:
        """Return the scores of rows, from X itself and not from its approximation."""
        check_is_fitted(self)
        return compute_scores(validate_rows(self, X), self._weights, self._offsets())

    def _offsets(self) -> np.ndarray:
        """Return the offset of the scores of each output."""
        return self.intercept_

    def _sparse_weights(self) -> SparseWeights:
        """Return the weights of the selected columns, and the offsets of the scores."""
        columns = self.support_
        weights = self._weights[:, columns].T.toarray()
        return SparseWeights(columns, np.ascontiguousarray(weights), np.asarray(self._offsets()))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_weights")

    @property
    def sparse_coef_(self):
        """Weights as a CSR array of shape (n_targets, n_features)."""
        if not hasattr(self, "_weights"):
            raise AttributeError(
                f"{type(self).__name__} has no attribute 'sparse_coef_' before fit."
            )
        return self._weights

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features), or (n_features,) for one target."""
        return self._targets.shape_coef(self.sparse_coef_.toarray())

    @property
    def support_(self):
        """Indices of the features with a nonzero weight; for several targets the union."""
        return np.unique(self.sparse_coef_.indices).astype(np.int64)
