"""Figures of low-rank models: singular values, and the path of the rank-one lasso."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.methods.low_rank_lasso.rank_one import RankOneLasso
from tamis.reporting.displays.base import (
    ACCENT,
    OTHER,
    SOFT,
    Axes,
    Display,
    OptionalAxes,
    OptionalNames,
    as_arrays,
    format_count_axis,
    style,
)


class SingularValueDisplay(
    Display,
    content="singular values",
    estimators="LowRankFactorization, LowRankLasso, LowRankClassifier or RankOneLasso",
    drawn_by="`plot`",
):
    """Singular values of a low-rank factorisation, with bounds of the largest value it leaves out.

    A band far below the last value means that the rank is sufficient for the data. A band at the
    height of the last value means that many more directions are as large.

    Parameters
    ----------
    values : array-like of shape (n_components,)
        Singular values, largest first.
    lower, upper : float
        Bounds of the spectral norm of the error.

    Attributes
    ----------
    {axes}
    line_ : matplotlib Line2D
        The values.
    band_ : matplotlib Rectangle
        The bounds of the error.

    See Also
    --------
    LowRankFactorization : Has singular values.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4.

    Examples
    --------
    >>> from tamis import LowRankFactorization, SingularValueDisplay
    >>> from tamis.datasets import make_text
    >>> X, y, _ = make_text(n_samples=300, n_features=500, random_state=0)
    >>> factors = LowRankFactorization(10, random_state=0).fit(X)
    >>> display = SingularValueDisplay.from_estimator(factors)
    >>> len(display.values)
    10
    """

    def __init__(self, *, values: ArrayLike, lower: float, upper: float):
        (self.values,) = as_arrays(values=values)
        self.lower, self.upper = float(lower), float(upper)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw the values of a fitted factorisation, or of a model that has one."""
        factors = getattr(estimator, "factorization_", estimator)
        values = cls._fitted_attribute(factors, "S_")
        display = cls(values=values, lower=factors.error_lower_, upper=factors.error_upper_)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        options = style(kwargs, marker=".", color=ACCENT, label="singular values")
        (self.line_,) = ax.plot(np.arange(1, len(self.values) + 1), self.values, **options)
        band = style(alpha=0.35, linewidth=1.0, label="largest left out (bounds)")
        self.band_ = ax.axhspan(self.lower, self.upper, color=OTHER, **band)
        ax.set(xlabel="component", ylabel="singular value")
        ax.set_ylim(0.0, 1.05 * max([self.upper, *self.values]))
        format_count_axis(ax.xaxis)
        ax.legend(frameon=False)
        return self


class RankOnePathDisplay(
    Display, content="a path", way_out="Pass a RankOneLasso.", drawn_by="`plot`"
):
    """Weights of the rank-one lasso along alpha, the strength of the L1 penalty.

    Columns enter one by one as alpha decreases, those of the largest loading first. Each weight has
    the sign of its loading.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        Strengths of the L1 penalty.
    weights : array-like of shape (n_alphas, n_features)
        Weights at each strength.
    names : sequence of str or None, default=None
        Names of the columns.

    Attributes
    ----------
    {axes}
    lines_ : list of matplotlib Line2D
        One for each column that enters.

    See Also
    --------
    RankOneLasso : Has such a path.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, figure 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import RankOneLasso, RankOnePathDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(size=100), [3.0, 2.0, 1.0]) + 0.1 * rng.normal(size=(100, 3))
    >>> display = RankOnePathDisplay.from_data(X, X[:, 0], RankOneLasso(random_state=0))
    >>> display.weights.shape
    (100, 3)
    """

    def __init__(self, *, alphas: ArrayLike, weights: ArrayLike, names: OptionalNames = None):
        (self.alphas,) = as_arrays(alphas=alphas)
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.ndim != 2 or len(self.weights) != len(self.alphas):
            raise ValueError(
                f"weights of shape {self.weights.shape} do not fit {len(self.alphas)} alphas. Pass "
                "one row for each alpha."
            )
        self.names = None if names is None else [str(name) for name in names]

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: ArrayLike,
        estimator: Any = None,
        *,
        alphas: ArrayLike | None = None,
        names: OptionalNames = None,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the path of one target and draw it.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Target.
        estimator : RankOneLasso or None, default=None
            The model; None takes one with default parameters.
        alphas : array-like or None, default=None
            Strengths; None chooses them.
        names : sequence of str or None, default=None
            Names of the columns.
        """
        estimator = RankOneLasso() if estimator is None else estimator
        if not hasattr(estimator, "path"):
            raise cls._unsupported_error(estimator)
        alphas, weights, _ = estimator.path(X, y, alphas)
        return cls(alphas=alphas, weights=weights, names=names).plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, *, top: int = 8, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        top : int, default=8
            Number of columns to name, those of the largest weight at the smallest alpha.
        """
        ax = self._set_axes(ax)
        last = self.weights[int(self.alphas.argmin())]
        largest = np.argsort(-np.abs(last), kind="stable")[:top]
        self.lines_ = []
        for column in np.flatnonzero(self.weights.any(axis=0)):
            colour, width, alpha = (ACCENT, 1.4, 1.0) if column in largest else (SOFT, 0.6, 0.5)
            options = style(kwargs, color=colour, linewidth=width, alpha=alpha)
            self.lines_ += ax.plot(self.alphas, self.weights[:, column], **options)
        ax.set(xscale="log", xlabel="alpha", ylabel="weight")
        ax.invert_xaxis()  # columns enter from left to right
        if self.names is not None:
            _annotate_ends(ax, self.alphas.min(), last, largest, self.names)
        return self


def _annotate_ends(
    ax: Axes, end: float, heights: np.ndarray, columns: np.ndarray, names: list[str]
) -> None:
    """Write the names of columns at the right end, in order; leave out names that would overlap."""
    min_distance = 0.045 * np.ptp(heights)
    occupied: list[float] = []
    for column in columns[heights[columns] != 0.0]:
        height = heights[column]
        if all(abs(height - other) > min_distance for other in occupied):
            occupied.append(height)
            offset = style(xytext=(4, 0), textcoords="offset points", annotation_clip=False)
            ax.annotate(names[column], (end, height), va="center", fontsize="small", **offset)
    ax.set_xlim(right=end)
