"""What the robust models share: parameters, the walk from rows to one problem an output, and what a
fit shows.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, Taken, take, take_asked
from tamis.base.fast_checks import check_array
from tamis.base.parameters import ABOVE, ARRAY, BOOL, COUNT, NUMBER, estimator, parameter
from tamis.base.parameters import one_of as word
from tamis.base.validation import check_matrix_size, take_weights, warn_user
from tamis.methods.robust.cutting_planes import Outcome, minimise
from tamis.methods.robust.rows import merged
from tamis.numerics.moments import centred_moments
from tamis.system.schema import array, count, figure, one_of, records

SETS = ("l1", "l2", "linf", "ellipsoid", "deletion", "spectral")
WHOLE = {"deletion": "features", "labels": "rows"}  # sets whose radius is a number of things


@estimator
class RobustLinear(Estimator):
    r"""Base of the robust models; a {kind} adds its targets and its oracles.

    What may be wrong, and what a margin or a residual loses by it at worst:

    - "l1": every row, by at most radius in L1; :math:`r \lVert w \rVert_\infty`.
    - "l2": every row, by at most radius in length; :math:`r \lVert w \rVert_2`.
    - "linf": every entry, by at most radius; :math:`r \lVert w \rVert_1`.
    - "ellipsoid": every row, by radius in units of `ellipsoid`, the matrix
      :math:`\Sigma`; :math:`r \sqrt{w^T \Sigma w}`.
    - "deletion": up to radius entries of every row are 0; the worst sum of so many
      :math:`w_j x_{ij}`.
    - "spectral": all rows together, by a matrix of largest singular value at most radius.

    It is solved by cutting planes until the distance from the optimum is known to be at most `tol`.

    {parameters}

    {attributes}
    """

    uncertainty: str = parameter("l2", [word(*SETS)], "What may be wrong with the data.")
    radius: float = parameter(0.1, [NUMBER], 'How much of it. A whole number for "deletion".')
    C: float = parameter(1.0, [ABOVE], "Cost of the loss of a row.")
    ellipsoid: Any = parameter(
        None,
        [ARRAY, None],
        'For "ellipsoid": a covariance matrix or its diagonal. None takes the variances of the '
        "columns.",
        "array-like of shape (n_features,) or (n_features, n_features), or None",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is not penalised.", kw_only=True
    )
    max_iter: int = parameter(1000, [COUNT], "Most planes of an output.", kw_only=True)
    tol: float = parameter(
        1e-4,
        [ABOVE],
        "Distance from the optimum, as a share of the objective, at which it ends.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_ellipsoid": one_of(
            None, array("f8", "columns"), array("f8", "columns", "columns", order=None)
        ),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "objective_": figure(),
        "gap_": figure(finite=False),
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
            Distance from the optimum, at most, as a share of the objective, of the worst output.
        n_iter_ : int
            Planes, of the output that took most.
        history_ : list of dict
            Per output and plane: the best objective so far and the lower bound.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, prepare, solve every output, store."""
        self._validate_params()
        self._check_radius(self.radius)
        taken = take(self, X, y, sample_weight)
        columns = self._columns(taken)
        ellipsoid = self._take_ellipsoid(taken.rows, taken.weights)
        found = [self._solve(taken.rows, own, taken.weights, ellipsoid) for own in columns.T]
        self._store(found, taken.targets, ellipsoid)
        return self

    def _columns(self, taken: Taken) -> np.ndarray:
        """Targets of every output."""
        return taken.columns

    def _oracle(self, radius: float, ellipsoid, rows, targets, row_weights, intercept: bool) -> Any:
        """The oracle of the uncertainty set."""
        raise NotImplementedError

    def _take_ellipsoid(self, matrix, weights) -> np.ndarray | None:
        """The ellipsoid's matrix, or its diagonal."""
        if self.uncertainty != "ellipsoid":
            if self.ellipsoid is not None:
                raise ValueError(
                    f"ellipsoid is for uncertainty='ellipsoid'; this is {self.uncertainty!r}. "
                    "Leave it at None."
                )
            return None
        width = matrix.shape[1]
        if self.ellipsoid is None:
            rows, _, row_weights = merged(matrix, np.zeros(len(weights)), weights)
            total, _, squares = centred_moments(rows, row_weights)
            return squares / total
        given = check_array(
            self.ellipsoid, ensure_2d=False, dtype=np.float64, input_name="ellipsoid"
        )
        check_matrix_size("ellipsoid", given)
        if given.shape not in ((width,), (width, width)):
            raise ValueError(
                f"ellipsoid has shape {given.shape}; for {width} columns it is ({width},), a "
                f"diagonal, or ({width}, {width})."
            )
        least = given.min() if given.ndim == 1 else np.linalg.eigvalsh(given)[0]
        lopsided = given.ndim == 2 and not np.allclose(given, given.T)
        if lopsided or least < -1e-10 * np.abs(given).max():
            raise ValueError(
                f"ellipsoid must be symmetric, with no eigenvalue below 0; the least is {least:g}."
            )
        return given

    def _check_radius(self, radius) -> None:
        if self.uncertainty in WHOLE and radius != int(radius):
            raise ValueError(
                f"uncertainty={self.uncertainty!r} takes a number of {WHOLE[self.uncertainty]} as "
                f"radius, such as 1. Got {radius!r}."
            )

    def _solve(self, matrix, targets, weights, ellipsoid) -> Outcome:
        """One output."""
        rows, targets, row_weights = merged(matrix, targets, weights)
        radius, intercept = float(self.radius), self.fit_intercept
        oracle = self._oracle(radius, ellipsoid, rows, targets, row_weights, intercept)
        with np.errstate(over="ignore", invalid="ignore"):  # the solver tells of such numbers
            return minimise(oracle, rows.shape[1], float(self.C), float(self.tol), self.max_iter)

    def _store(self, found: list[Outcome], targets, ellipsoid) -> None:
        self._targets, self._ellipsoid = targets, ellipsoid
        self.coef_ = targets.shaped(np.array([one.weights for one in found]))
        self.intercept_ = np.array([one.intercept for one in found])
        self.objective_ = float(sum(one.objective for one in found))
        self.gap_ = float(max(one.gap for one in found))
        self.n_iter_ = max(len(one.history) for one in found)
        self.history_ = [
            {"output": k, **turn} for k, one in enumerate(found) for turn in one.history
        ]
        if not all(one.converged for one in found):
            self._warn_unfinished()

    def _warn_unfinished(self) -> None:
        made = f"used all {self.max_iter} planes"
        advice = "Raise max_iter or tol, lower C, or scale the columns."
        if self.n_iter_ < self.max_iter:
            made = f"stopped after {self.n_iter_} planes, the last of them in vain"
            advice = "Scale the columns, lower C or the weights, or raise tol."
        warn_user(
            f"{type(self).__name__} {made}, and its relative gap is still {self.gap_:.2g}, above "
            f"tol={self.tol:g}. {advice}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        return take_asked(self, X) @ np.atleast_2d(self.coef_).T + self.intercept_

    def _row_weights(self, sample_weight, n_rows: int) -> np.ndarray:
        """Weights of the rows that are scored."""
        weights = take_weights(sample_weight, n_rows, some=True)
        return weights if len(weights) else np.ones(n_rows)

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
