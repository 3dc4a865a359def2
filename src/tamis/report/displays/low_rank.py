"""Figures of low-rank models: singular values with the error left, and the path of the rank-one
lasso.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.report.displays.drawing import (
    ACCENT,
    OTHER,
    SOFT,
    as_arrays,
    label_counts,
    lacks,
    take_axes,
)


class SingularValueDisplay:
    """Singular values of a low-rank factorisation, and between which bounds the largest value that
    it leaves out lies.

    A band far below the last value means that the rank holds the data; one as high as it means that
    many more directions are as large.

    Parameters
    ----------
    values : array-like of shape (n_components,)
        Singular values, largest first.
    lower, upper : float
        Bounds of the spectral norm of the error.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the values.
    figure_ : matplotlib Figure
        Figure that holds them.
    line_ : matplotlib Line2D
        The values.
    band_ : matplotlib Rectangle
        The bounds of the error.

    See Also
    --------
    LowRankFactorization : Makes them.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4.

    Examples
    --------
    >>> from tamis import LowRankFactorization, SingularValueDisplay
    >>> from tamis.datasets import make_text
    >>> X, y, _ = make_text(n_samples=300, n_features=500, random_state=0)
    >>> display = SingularValueDisplay.from_estimator(LowRankFactorization(10, random_state=0).fit(X))
    >>> len(display.values)
    10
    """

    def __init__(self, *, values, lower, upper):
        self.values, self.lower, self.upper = (
            as_arrays(values=values)[0],
            float(lower),
            float(upper),
        )

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw the values of a fitted factorisation, or of a model that has one.

        Parameters
        ----------
        estimator : LowRankFactorization, LowRankLasso, LowRankClassifier or RankOneLasso
            Fitted.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : SingularValueDisplay
        """
        check_is_fitted(estimator)
        factors = getattr(estimator, "factorization_", estimator)
        if not hasattr(factors, "S_"):
            raise lacks(cls, estimator, "singular values", "Fit a LowRankFactorization.")
        return cls(values=factors.S_, lower=factors.error_lower_, upper=factors.error_upper_).plot(
            ax=ax, **kwargs
        )

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : SingularValueDisplay
        """
        ax = take_axes(self, ax)
        places = np.arange(1, len(self.values) + 1)
        (self.line_,) = ax.plot(
            places,
            self.values,
            **({"marker": ".", "color": ACCENT, "label": "singular values"} | kwargs),
        )
        self.band_ = ax.axhspan(
            self.lower,
            self.upper,
            color=OTHER,
            alpha=0.35,
            linewidth=1.0,
            label="largest left out (bounds)",
        )
        ax.set(
            xlabel="component",
            ylabel="singular value",
            ylim=(0.0, 1.05 * max([self.upper, *self.values])),
        )
        label_counts(ax.xaxis)
        ax.legend(frameon=False)
        return self


class RankOnePathDisplay:
    """Weights of the rank-one lasso over the price of the L1 norm.

    Columns come in one by one as the price falls, those of the largest loading first, and all keep
    the side of their loading.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        Prices of the L1 norm.
    weights : array-like of shape (n_alphas, n_features)
        Weights at each price.
    names : sequence of str or None, default=None
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the paths.
    figure_ : matplotlib Figure
        Figure that holds them.
    lines_ : list of matplotlib Line2D
        One for each column that comes in.

    See Also
    --------
    RankOneLasso : Makes them.

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

    def __init__(self, *, alphas, weights, names=None):
        self.alphas = as_arrays(alphas=alphas)[0]
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.ndim != 2 or len(self.weights) != len(self.alphas):
            raise ValueError(
                f"weights of shape {self.weights.shape} do not fit {len(self.alphas)} alphas. Give "
                "one row an alpha."
            )
        self.names = None if names is None else [str(name) for name in names]

    @classmethod
    def from_data(cls, X, y, estimator=None, *, alphas=None, names=None, ax=None, **kwargs):
        """Compute the path of one target and draw it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Target.
        estimator : RankOneLasso or None, default=None
            Its settings; None is the defaults.
        alphas : array-like or None, default=None
            Prices; None chooses them.
        names : sequence of str or None, default=None
            Names of the columns.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : RankOnePathDisplay
        """
        from tamis.methods.low_rank.rank_one import RankOneLasso

        estimator = RankOneLasso() if estimator is None else estimator
        if not hasattr(estimator, "path"):
            raise lacks(cls, estimator, "a path", "Pass a RankOneLasso.")
        alphas, weights, _ = estimator.path(X, y, alphas)
        return cls(alphas=alphas, weights=weights, names=names).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, top=8, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        top : int, default=8
            Columns to name, the heaviest at the last price.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : RankOnePathDisplay
        """
        ax = take_axes(self, ax)
        last = self.weights[int(self.alphas.argmin())]
        heaviest = np.argsort(-np.abs(last), kind="stable")[:top]
        self.lines_ = []
        for column in np.flatnonzero(self.weights.any(axis=0)):
            shown = column in heaviest
            look = {
                "color": ACCENT if shown else SOFT,
                "linewidth": 1.4 if shown else 0.6,
                "alpha": 1.0 if shown else 0.5,
            }
            self.lines_ += ax.plot(self.alphas, self.weights[:, column], **(look | kwargs))
        ax.set(xscale="log", xlabel="alpha", ylabel="weight")
        ax.invert_xaxis()  # columns come in from left to right
        if self.names is not None:
            self._name(ax, heaviest, last)
        return self

    def _name(self, ax, columns, last) -> None:
        """Names at the right end, the heaviest first; one that would lie on another is left out."""
        room = 0.045 * (last.max() - last.min())
        taken: list[float] = []
        for column in columns:
            if last[column] and all(abs(last[column] - place) > room for place in taken):
                taken.append(last[column])
                place = {
                    "xytext": (4, 0),
                    "textcoords": "offset points",
                    "va": "center",
                    "fontsize": "small",
                    "annotation_clip": False,
                }
                ax.annotate(self.names[column], (self.alphas.min(), last[column]), **place)
        ax.set_xlim(right=self.alphas.min())
