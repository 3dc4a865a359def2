"""What the low-rank models share: one factorisation, many targets, and what is said about those
that came to nothing.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import plain_rows
from tamis.base.estimators.explaining import Weights
from tamis.base.parameters import (
    ABOVE,
    ARRAY,
    AUTO,
    BOOL,
    COUNT,
    SHARE,
    Auto,
    estimator,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.validation import take_weights, warn_user
from tamis.methods.low_rank_lasso.compression import Compressed, compress, scores_of
from tamis.methods.low_rank_lasso.factorization import Factoring, LowRankFactorization
from tamis.methods.low_rank_lasso.partitions import fit_low_rank, refuse_sums
from tamis.methods.low_rank_lasso.spg.solver import Outcome, Rules, solve
from tamis.solvers.randomized_svd import Operator
from tamis.system.schema import array, count, part, records, rows
from tamis.system.threads import count_threads, locked

AUTO_SHARE = 0.5  # radius="auto", as a share of the L1 norm without a bound
FINEST = 1e-5  # least tol in float32


@estimator
class LowRankModel(Factoring):
    """Base of the linear models that see the rows through a low-rank matrix; a classifier or a
    regressor stands beside it.
    """

    n_components: int = parameter(100, [COUNT], "Rank k of the matrix. Text wants 100 or more.")
    radius: float | Auto | list[float] | np.ndarray = parameter(
        "auto",
        [Interval(Real, 0, None, closed="right"), AUTO, ARRAY],
        "Bound r of the weights' L1 norm. \"auto\" is half the norm that the target's weights have "
        "without a bound; ``numpy.inf`` is none, whose solution has a closed form and is not "
        "sparse.",
        'float, array-like of shape (n_outputs,) or "auto"',
    )
    robustness: float = parameter(
        0.1,
        [SHARE],
        "Share of the matrix's error to insure against, from 0 to 1. With 1 and an intercept most "
        "targets of text collapse to 0.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept, by centred columns and targets.", kw_only=True
    )
    max_iter: int = parameter(2000, [COUNT], "Most iterations a target.", kw_only=True)
    tol: float = parameter(
        1e-4,
        [ABOVE],
        "Largest duality gap, as a share of the norm of the (centred) target; at least 1e-5 in "
        "float32.",
        kw_only=True,
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads, each with some targets. None is 1, -1 all cores. The result does not depend on "
        "it.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "factorization_": part(LowRankFactorization, "columns"),
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
            Weights; zeros are exact. Made on demand; a regressor with one target has shape
            (n_features,).
        sparse_coef_ : csr_array of shape (n_outputs, n_features)
            The same as they are stored.
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the features with a weight; of several outputs the union.
        factorization_ : LowRankFactorization
            The factored rows; hand it to the next `fit` on the same rows.
        gap_ : ndarray of shape (n_outputs,)
            Duality gaps as shares of the targets' norms.
        converged_ : ndarray of bool of shape (n_outputs,)
            Whether the gap came below `tol`.
        collapsed_ : ndarray of bool of shape (n_outputs,)
            Whether 0 is the solution at every radius, :math:`\|\hat X^T y\| \le \eta \|y\|`.
        bounded_ : ndarray of bool of shape (n_outputs,)
            Whether the radius matters; where not, the weights are the closed form, and not sparse.
        radius_ : ndarray of shape (n_outputs,)
            Radius of each target.
        alpha_ : ndarray of shape (n_outputs,)
            Price of the L1 norm at the solution, in the units of scikit-learn's Lasso and
            ElasticNet.
        objective_ : ndarray of shape (n_outputs,)
            Value of the objective.
        residual_bound_ : ndarray of shape (n_outputs,)
            What the norm of the residual on X itself cannot exceed, with the probability of the
            factorisation's certificate.
        n_iter_ : int
            Iterations of the target that took most.
        history_ : list of dict
            What each stage did: factorisation, zero test, closed form, projected gradients.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ fit
    @locked
    def fit(self, X, y, sample_weight=None, factorization=None):
        """Factor the rows, and fit all targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Numbers for a regressor; for a classifier classes, or a 0/1 matrix with a column a
            label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        factorization : LowRankFactorization or None, default=None
            A factorisation of the same rows and weights, as `factorization_` of an earlier fit, to
            save making it again.

        Returns
        -------
        self : object
        """
        self._check()
        matrix = plain_rows(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        targets, coded = self._code(y, matrix.shape[0])
        targets, weights = self._weigh(targets, coded.columns, weights)
        roots = np.sqrt(weights) if len(weights) else None
        factors = self._factor(matrix, roots, factorization)
        columns = self._numbers(targets, coded.columns)
        every = np.ones(matrix.shape[0]) if roots is None else roots
        packed, means = self._compress(factors.U_, columns, every)
        found = self._solve(factors, packed, *self._radius(targets.outputs))
        shown = self._shown(found, means, packed, factors, matrix.shape[0])
        shown |= self._beside(targets, matrix, columns, every**2, shown)
        self._set_attributes(shown, targets)
        self._warn(factors)
        return self

    def _refuse_sums(self) -> str:
        """Why it cannot be fitted by sums over partitions; empty where it can."""
        return refuse_sums(self)

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_low_rank(self, sums)

    def _set_attributes(self, shown: dict, targets) -> None:
        """Set what a fit shows."""
        self.__dict__.update(shown, _targets=targets)

    def _check(self) -> None:
        """Refuse parameters that do not go together."""
        self._validate_params()
        if self.dtype == "float32" and self.tol < FINEST:
            raise ValueError(
                f"{type(self).__name__}: tol={self.tol:g} is finer than float32 resolves; use tol "
                f">= {FINEST:g} or dtype='float64'."
            )

    def _numbers(self, targets, columns) -> Any:
        """What is fitted for each output, a column each, dense or sparse."""
        return columns

    def _compress(self, U, columns, roots) -> tuple[Compressed, np.ndarray]:
        """Targets as k numbers each, and their means."""
        return compress(U, columns, roots, self.fit_intercept)

    def _beside(self, targets, matrix, columns, weights, shown: dict) -> dict:
        """What a model stores besides."""
        return {}

    def _factor(self, matrix, roots, given) -> LowRankFactorization:
        """The factorisation to use; one that is given must be of these rows."""
        if given is None:
            given = self._unfactored()
            given._factorise(matrix, roots)
            return given
        check_is_fitted(given)
        if (len(given.U_), len(given.W_)) != matrix.shape:
            raise ValueError(
                f"factorization is of rows of shape {(len(given.U_), len(given.W_))}, but X has "
                f"shape {matrix.shape}. Fit it on X."
            )
        if bool(given.center) != bool(self.fit_intercept):
            raise ValueError(
                f"factorization has center={given.center}, but fit_intercept={self.fit_intercept}. "
                "They must agree."
            )
        mean = Operator(matrix, roots, self.fit_intercept).mean
        if not np.allclose(mean, given.mean_, rtol=1e-3, atol=1e-6 * np.abs(mean).max(initial=1.0)):
            raise ValueError(
                "factorization is of other rows or weights: the columns' means differ. Fit it on "
                "X, with the same sample_weight."
            )
        return given

    def _unfactored(self) -> LowRankFactorization:
        """The factorisation that is asked for, yet to be made."""
        asked = {name: getattr(self, name) for name in Factoring._parameter_constraints}
        return LowRankFactorization(self.n_components, center=self.fit_intercept, **asked)

    def _solve(self, factors, packed: Compressed, radius, share) -> Outcome:
        """Solve for targets that are k numbers each."""
        return solve(
            factors.W_,
            factors.S_,
            packed,
            radius,
            Rules(self.robustness * factors.error_upper_, self.tol, self.max_iter),
            share=share,
            dtype=np.dtype(self.dtype),
            threads=count_threads(self.n_jobs),
        )

    def _radius(self, count: int):
        """One radius a target, and the share that is meant by "auto"."""
        if isinstance(self.radius, str):
            return np.zeros(count), AUTO_SHARE
        radius = np.asarray(self.radius, dtype=np.float64)
        if radius.ndim and radius.shape != (count,):
            raise ValueError(
                f"radius has shape {radius.shape}, but there are {count} targets. Give one number, "
                "or one a target."
            )
        if not (radius > 0.0).all():
            raise ValueError(
                f"radius must be above 0; the least is {radius.min():g}. Use numpy.inf for no "
                "bound."
            )
        return np.broadcast_to(radius, (count,)).copy(), None

    def _shown(
        self, found: Outcome, means, packed: Compressed, factors, n_rows: int
    ) -> dict[str, Any]:
        """Attributes from an outcome."""
        figures, weights = found.figures, found.weights.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(packed.norm > 0.0, figures["gap"] / packed.norm, 0.0)
        bounded = ~(found.closed | found.zero)
        rank, error = factors.n_components_, factors.error_upper_
        return {
            "factorization_": factors,
            "_weights": weights,
            "intercept_": means - weights @ factors.mean_,
            "gap_": gap,
            "converged_": figures["converged"] > 0,
            "collapsed_": found.zero & (packed.norm > 0.0),
            "bounded_": bounded,
            "radius_": figures["radius"],
            "alpha_": figures["rho"] * figures["nu"] / n_rows,
            "objective_": figures["objective"],
            "residual_bound_": figures["rho"] + error * figures["length"],
            "n_iter_": max(1, int(figures["iterations"].max(initial=0.0))),
            "history_": [
                {"stage": "factorisation", "rank": rank, "error": error},
                {"stage": "zero test", "targets": int(found.zero.sum())},
                {"stage": "closed form", "targets": int(found.closed.sum())},
                {
                    "stage": "projected gradients",
                    "targets": int(bounded.sum()),
                    "iterations": int(figures["iterations"].sum()),
                },
            ],
        }

    def _warn(self, factors) -> None:
        """Say what collapsed and what did not converge."""
        name, count = type(self).__name__, len(self.converged_)
        fallen = int(self.collapsed_.sum())
        if fallen and self.robustness > 0.0 and factors.error_upper_ > 0.0:
            warn_user(
                f"{name}: {fallen} of {count} targets are 0 at every radius, for the "
                f"{factors.n_components_} components explain less of them than "
                f"the error that is insured against ({self.robustness:g} of "
                f"{factors.error_upper_:.3g}). Lower robustness, or raise n_components.",
                UserWarning,
            )
        elif fallen:
            warn_user(
                f"{name}: {fallen} of {count} targets are 0: nothing in X is related to them.",
                UserWarning,
            )
        late = ~self.converged_
        if late.any():
            warn_user(
                f"{name}: {int(late.sum())} of {count} targets have a duality gap above "
                f"tol={self.tol:g} of their norm after {self.max_iter} "
                f"iterations, the largest {self.gap_[late].max():.2g}; see converged_. Raise "
                "max_iter, tol or robustness, or use dtype='float64'.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X) -> np.ndarray:
        """Scores of rows: with X itself, not with what is near it."""
        check_is_fitted(self)
        return scores_of(plain_rows(self, X), self._weights, self._offsets())

    def _offsets(self) -> np.ndarray:
        """What is added to the products."""
        return self.intercept_

    def _kept_weights(self) -> Weights:
        """The weights of the kept columns, and what is added to the products."""
        columns = self.support_
        weights = self._weights[:, columns].T.toarray()
        return Weights(columns, np.ascontiguousarray(weights), np.asarray(self._offsets()))

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
        return self._targets.shaped(self.sparse_coef_.toarray())

    @property
    def support_(self):
        """Indices of the features with a weight; of several targets the union."""
        return np.unique(self.sparse_coef_.indices).astype(np.int64)
