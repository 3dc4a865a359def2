"""What the low-rank models share: one factorisation, many targets, and what is said about those
that came to nothing.
"""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_weights, warn_user
from tamis.base.contents import array, count, early, part, records, rows
from tamis.base.estimators.estimator import Estimator
from tamis.base.machine.threads import count_threads
from tamis.base.parameters import COUNT, SHARE
from tamis.methods.low_rank.factorization import FACTORING, LowRankFactorization, take_plain
from tamis.methods.low_rank.spg.solver import Outcome, Rules, solve
from tamis.methods.low_rank.svd import Operator
from tamis.methods.low_rank.targets import compress

AUTO_SHARE = 0.5  # radius="auto", as a share of the L1 norm without a bound
FINEST = 1e-5  # least tol in float32
COLUMNS = 64  # targets that are made dense together
NAMES = (
    "n_components",
    "n_oversamples",
    "n_power_iter",
    "sketch",
    "method",
    "dtype",
    "random_state",
)

SHARED = {
    **FACTORING,
    "radius": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"}), "array-like"],
    "robustness": [SHARE],
    "fit_intercept": ["boolean"],
    "max_iter": [COUNT],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_jobs": [Integral, None],
}


class LowRankModel(Estimator):
    """Base of the linear models that see the rows through a low-rank matrix."""

    _parameter_constraints: ClassVar[dict] = SHARED

    # ------------------------------------------------------------------ fit
    def _prepare(self, X, sample_weight):
        """Checked rows, and the roots of their weights or None."""
        self._validate_params()
        if self.dtype == "float32" and self.tol < FINEST:
            raise ValueError(
                f"{type(self).__name__}: tol={self.tol:g} is finer than float32 resolves; use tol "
                f">= {FINEST:g} or dtype='float64'."
            )
        matrix = take_plain(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        return matrix, np.sqrt(weights) if len(weights) else None

    def _factor(self, matrix, roots, given) -> LowRankFactorization:
        """The factorisation to use; one that is given must be of these rows."""
        if given is None:
            given = LowRankFactorization(
                center=self.fit_intercept, **{name: getattr(self, name) for name in NAMES}
            )
            given._factorise(matrix, roots)
            given.n_features_in_ = matrix.shape[1]
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

    def _learn(self, matrix, targets, roots, given) -> None:
        """Factor, compress, solve, store."""
        self.factorization_ = factors = self._factor(matrix, roots, given)
        packed, means = compress(
            factors.U_,
            targets,
            np.ones(matrix.shape[0]) if roots is None else roots,
            self.fit_intercept,
        )
        self._store(
            self._solve(packed, *self._radius(targets.shape[1])), means, packed, matrix.shape[0]
        )

    def _solve(self, packed, radius, share=None) -> Outcome:
        """Solve for targets that are k numbers each."""
        factors = self.factorization_
        rules = Rules(self.robustness * factors.error_upper_, self.tol, self.max_iter)
        return solve(
            factors.W_,
            factors.S_,
            packed,
            radius,
            rules,
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

    def _store(self, found: Outcome, means, packed, n_rows: int) -> None:
        """Attributes from an outcome."""
        figures, factors = found.figures, self.factorization_
        self._weights = found.weights.astype(np.float64)
        self.intercept_ = means - self._weights @ factors.mean_
        with np.errstate(divide="ignore", invalid="ignore"):
            self.gap_ = np.where(packed.norm > 0.0, figures["gap"] / packed.norm, 0.0)
        self.converged_ = figures["converged"] > 0
        self.collapsed_ = found.zero & (packed.norm > 0.0)
        self.bounded_ = ~(found.closed | found.zero)
        self.radius_, self.alpha_ = figures["radius"], figures["rho"] * figures["nu"] / n_rows
        self.objective_ = figures["objective"]
        self.residual_bound_ = figures["rho"] + factors.error_upper_ * figures["length"]
        self.n_iter_ = max(1, int(figures["iterations"].max(initial=0.0)))
        self.history_ = [
            {
                "stage": "factorisation",
                "rank": factors.n_components_,
                "error": factors.error_upper_,
            },
            {"stage": "zero test", "targets": int(found.zero.sum())},
            {"stage": "closed form", "targets": int(found.closed.sum())},
            {
                "stage": "projected gradients",
                "targets": int(self.bounded_.sum()),
                "iterations": int(figures["iterations"].sum()),
            },
        ]
        self._warn(factors)

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
        return scores_of(take_plain(self, X, reset=False), self._weights, self.intercept_)

    _contents: ClassVar[dict] = {
        "factorization_": early(part(LowRankFactorization, "columns")),
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
    def support_(self):
        """Indices of the features with a weight; of several targets the union."""
        return np.unique(self.sparse_coef_.indices).astype(np.int64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def scores_of(matrix, weights: sp.csr_array, intercepts) -> np.ndarray:
    """Rows times weights, a few targets at a time, so that neither is made dense."""
    scores = np.empty((matrix.shape[0], weights.shape[0]))
    for at in range(0, weights.shape[0], COLUMNS):
        scores[:, at : at + COLUMNS] = matrix @ np.ascontiguousarray(
            weights[at : at + COLUMNS].toarray().T
        )
    return scores + intercepts


def never(model):
    """All rows are factored at once: there is no stream of them."""
    return False
