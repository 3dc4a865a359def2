"""What the robust models share: parameters, the walk from rows to one problem an output, and what a
fit shows.
"""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import check_matrix_size, take_blocks, take_weights, warn_user
from tamis.base.contents import array, count, early, figure, one_of, records
from tamis.base.estimator import Estimator
from tamis.base.parameters import ABOVE, COUNT, NUMBER
from tamis.base.rows import Csr
from tamis.methods.robust.planes import Outcome, minimise
from tamis.methods.robust.rows import merged, variances

WHOLE = {"deletion": "features", "labels": "rows"}  # sets whose radius is a number of things


def never(model):
    """All rows are needed at once; the online models of tamis have `partial_fit`."""
    return False


class RobustLinear(Estimator):
    """Base of the robust models; a model adds its targets and its oracles."""

    grow = False  # the shared treatment of classes asks
    _parameter_constraints: ClassVar[dict] = {
        "radius": [NUMBER],
        "C": [ABOVE],
        "covariance": ["array-like", None],
        "fit_intercept": ["boolean"],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, prepare, solve every output, store."""
        self._validate_params()
        self._check_radius(self.radius)
        matrix, targets, weights = self._prepare(X, y, sample_weight)
        self._set_covariance(matrix, weights)
        found = [self._solve(matrix, column, weights) for column in self._columns(targets).T]
        self._store(found)
        return self

    _contents: ClassVar[dict] = {
        "_sigma": early(
            one_of(None, array("f8", "columns"), array("f8", "columns", "columns", order=None))
        ),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "objective_": figure(),
        "gap_": figure(finite=False),
        "history_": records(),
        "n_iter_": count(),
    }

    def _prepare(self, X, y, sample_weight):
        """Rows of weight above 0, their targets and weights."""
        rows = take_blocks(self, X, reset=True)
        count = rows.n_rows if isinstance(rows, Csr) else rows.shape[0]
        targets = self._take_targets(y, count, first=True, whole=True)
        weights = self._weigh(targets, take_weights(sample_weight, count, some=True), whole=True)
        weights = weights if len(weights) else np.ones(count)
        matrix = _plain(rows)
        if not weights.all():
            present = np.flatnonzero(weights)
            matrix, targets, weights = matrix[present], targets[present], weights[present]
        return matrix, targets, weights

    def _set_covariance(self, matrix, weights) -> None:
        """The ellipsoid's matrix, or its diagonal."""
        self._sigma = None
        if self.uncertainty != "ellipsoid":
            if self.covariance is not None:
                raise ValueError(
                    f"covariance is for uncertainty='ellipsoid'; this is {self.uncertainty!r}. "
                    "Leave it at None."
                )
            return
        width = matrix.shape[1]
        if self.covariance is None:
            rows, _, loads = merged(matrix, np.zeros(len(weights)), weights)
            self._sigma = variances(rows, loads)
            return
        given = check_array(
            self.covariance, ensure_2d=False, dtype=np.float64, input_name="covariance"
        )
        check_matrix_size("covariance", given)
        if given.shape not in ((width,), (width, width)):
            raise ValueError(
                f"covariance has shape {given.shape}; for {width} columns it is ({width},), a "
                f"diagonal, or ({width}, {width})."
            )
        least = given.min() if given.ndim == 1 else np.linalg.eigvalsh(given)[0]
        if least < -1e-10 * np.abs(given).max() or (
            given.ndim == 2 and not np.allclose(given, given.T)
        ):
            raise ValueError(
                f"covariance must be symmetric, with no eigenvalue below 0; the least is {least:g}."
            )
        self._sigma = given

    def _check_radius(self, radius) -> None:
        if self.uncertainty in WHOLE and radius != int(radius):
            raise ValueError(
                f"uncertainty={self.uncertainty!r} takes a number of {WHOLE[self.uncertainty]} as "
                f"radius, such as 1. Got {radius!r}."
            )

    def _solve(self, matrix, targets, weights) -> Outcome:
        """One output."""
        rows, targets, loads = merged(matrix, targets, weights)
        oracle = self._oracle(
            self.uncertainty,
            float(self.radius),
            self._sigma,
            rows,
            targets,
            loads,
            self.fit_intercept,
        )
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # numbers too large are told by the solver
            return minimise(oracle, rows.shape[1], float(self.C), float(self.tol), self.max_iter)

    def _store(self, found: list[Outcome]) -> None:
        self.coef_ = self._shape_coef(np.array([one.weights for one in found]))
        self.intercept_ = np.array([one.intercept for one in found])
        self.objective_ = float(sum(one.objective for one in found))
        self.gap_ = float(max(one.gap for one in found))
        self.n_iter_ = max(len(one.history) for one in found)
        self.history_ = [
            {"output": k, **turn} for k, one in enumerate(found) for turn in one.history
        ]
        if not all(one.converged for one in found):
            made, advice = (
                f"used all {self.max_iter} planes",
                "Raise max_iter or tol, lower C, or scale the columns.",
            )
            if self.n_iter_ < self.max_iter:
                made, advice = (
                    f"stopped after {self.n_iter_} planes, the last of them in vain",
                    "Scale the columns, lower C or the weights, or raise tol.",
                )
            warn_user(
                f"{type(self).__name__} {made}, and its relative gap is still {self.gap_:.2g}, "
                f"above tol={self.tol:g}. {advice}",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ what a fit shows
    def _matrix(self, X):
        """Rows to be scored."""
        check_is_fitted(self)
        return _plain(take_blocks(self, X, reset=False))

    def _scores(self, X):
        return self._matrix(X) @ np.atleast_2d(self.coef_).T + self.intercept_

    def _asked_radius(self, radius) -> float:
        """The radius for a worst case: the model's own, or another one."""
        if radius is None:
            return float(self.radius)
        if not isinstance(radius, int | float | np.number) or not radius >= 0:
            raise ValueError(
                "radius must be a number of 0 or more, or None for the model's own. Got "
                f"{radius!r}."
            )
        self._check_radius(radius)
        return float(radius)

    @property
    def support_(self):
        """Indices of the features with a weight other than 0."""
        check_is_fitted(self)
        return np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _plain(rows):
    """As SciPy or NumPy have it."""
    return rows.scipy() if isinstance(rows, Csr) else rows
