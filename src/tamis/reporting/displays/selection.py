"""Figures of a selection: error by size, how often each feature was selected, and which pixels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tamis.reporting.displays.drawing import (
    ACCENT,
    DASHED,
    DOTTED,
    OTHER,
    SOFT,
    Ax,
    Display,
    as_arrays,
    label_counts,
    looks,
    one_output,
)
from tamis.reporting.page.held_out_error import error_name, size_paths
from tamis.reporting.page.plot_data import Selection, importance_of, selection_of


class SelectionPathDisplay(
    Display,
    shows="held-out errors by size",
    of="SieveClassifier or SieveRegressor",
    way_out="A sieve that chose its size itself (n_features_to_select='auto') has them.",
    drawn_by="`plot`",
):
    """Held-out error of a sieve by the number of features kept, with the size that was chosen.

    Use `from_estimator`. It shows whether the chosen size lies at a clear bend or on a plain, what
    a few features more or less would cost, and how far all of them are from the prior, which needs
    none.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Sizes of the ladder. 0, which has no place on a logarithmic axis, is left out.
    error : array-like of shape (n_sizes,)
        Error on rows not trained on, at each size.
    standard_error : array-like of shape (n_sizes,) or None, default=None
        Its standard error, drawn as a band to both sides.
    baseline_error : float or None, default=None
        Error of the prior alone, drawn as a horizontal line.
    chosen : int or None, default=None
        The size that was chosen; 0 if none is better than the prior.
    error_name : str, default="held-out error"
        What the error is, for the axis.
    estimator_name : str or None, default=None
        Name of the model, for the legend.

    Attributes
    ----------
    {axes}
    line_ : matplotlib Line2D
        The curve.
    fill_between_ : matplotlib PolyCollection or None
        The band of one standard error.
    baseline_line_ : matplotlib Line2D or None
        The error of the prior.
    chosen_line_ : matplotlib Line2D or None
        The mark of the chosen size, if it is not 0.

    See Also
    --------
    SieveClassifier : Has such a path, `sizes_`.
    SelectionProbabilityDisplay : How often each feature was selected.

    Examples
    --------
    >>> from tamis import SelectionPathDisplay, SieveClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=500, n_features=400, random_state=0)
    >>> model = SieveClassifier(random_state=0).fit(X, y)
    >>> display = SelectionPathDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.chosen == len(model.support_)
    ('features kept', True)
    """

    def __init__(
        self,
        *,
        n_features: ArrayLike,
        error: ArrayLike,
        standard_error: ArrayLike | None = None,
        baseline_error: float | None = None,
        chosen: int | None = None,
        error_name: str = "held-out error",
        estimator_name: str | None = None,
    ):
        given = {} if standard_error is None else {"standard_error": standard_error}
        self.n_features, self.error, *spread = as_arrays(
            n_features=n_features, error=error, **given
        )
        self.standard_error = spread[0] if spread else None
        self.baseline_error, self.chosen = baseline_error, chosen
        self.error_name, self.estimator_name = error_name, estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output: int = 0,
        name: str | None = None,
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted sieve."""
        check_is_fitted(estimator)
        paths = size_paths(estimator)
        if not paths:
            raise cls._refusal(estimator)
        path = one_output(paths, output)
        return cls(
            n_features=path.sizes,
            error=path.error,
            standard_error=path.standard_error,
            baseline_error=path.baseline_error,
            chosen=path.chosen,
            error_name=error_name(bool(is_classifier(estimator))),
            estimator_name=type(estimator).__name__,
        ).plot(ax=ax, name=name, **kwargs)

    def plot(self, ax: Ax = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        name = self.estimator_name if name is None else name
        look = looks(kwargs, color=ACCENT, marker="o", markersize=3.5, label=name)
        some = self.n_features > 0.0
        sizes, error = self.n_features[some], self.error[some]
        (self.line_,) = ax.plot(sizes, error, **look)
        self.fill_between_ = self.baseline_line_ = self.chosen_line_ = None
        if self.standard_error is not None:
            low, high = error - self.standard_error[some], error + self.standard_error[some]
            band: dict[str, Any] = {"color": self.line_.get_color(), "alpha": 0.15, "linewidth": 0}
            self.fill_between_ = ax.fill_between(sizes, low, high, **band)
        if self.baseline_error is not None:
            label = "no feature (chosen)" if self.chosen == 0 else "no feature"
            self.baseline_line_ = ax.axhline(self.baseline_error, **DOTTED, label=label)
        if self.chosen:
            label = f"{self.chosen:,} chosen"
            self.chosen_line_ = ax.axvline(self.chosen, **DASHED, label=label)
        ax.set(xscale="log", xlabel="features kept", ylabel=self.error_name)
        label_counts(ax.xaxis)
        ax.legend(frameon=False)
        return self


class SelectionProbabilityDisplay(
    Display,
    shows="selection probabilities",
    way_out="Put it into a StabilitySelector to find them.",
    drawn_by="`plot`, for the points of the kept features",
):
    """Selection probability of each feature, the highest first, with the threshold where there is
    one.

    Use `from_estimator`. Kept features are filled, others hollow. A gap between the two is a clear
    selection; probabilities that fall slowly through the threshold say that a little chance would
    have given other features. Where importances are known, as those of a sieve, kept features come
    first, the most important first: low points among them are features to doubt.

    Parameters
    ----------
    probability : array-like of shape (n_features,)
        Selection probability of each feature.
    kept : array-like of bool of shape (n_features,)
        Which features were kept.
    threshold : float or None, default=None
        Probability from which on features are kept.
    importance : array-like of shape (n_features,) or None, default=None
        Importance of each feature, by which kept ones are ordered.

    Attributes
    ----------
    {axes}
    kept_points_, other_points_ : matplotlib Line2D
        The points of the features kept and not kept.
    threshold_line_ : matplotlib Line2D or None
        The threshold.

    See Also
    --------
    StabilitySelector : Selection by a threshold on such probabilities.
    StabilizedSGDClassifier : Finds them along training.

    Notes
    -----
    What the probability means is said at the model's `selection_probability_`. Of several outputs
    the highest is shown. Features that were never selected are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from tamis import SelectionProbabilityDisplay, StabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 30))
    >>> y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=100)
    >>> selector = StabilitySelector(Lasso(), n_pairs=10, random_state=0).fit(X, y)
    >>> display = SelectionProbabilityDisplay.from_estimator(selector)
    >>> len(display.kept_points_.get_xdata()) == len(selector.support_)
    True
    """

    def __init__(
        self,
        *,
        probability: ArrayLike,
        kept: ArrayLike,
        threshold: float | None = None,
        importance: ArrayLike | None = None,
    ):
        given = {} if importance is None else {"importance": importance}
        self.probability, flags, *sizes = as_arrays(probability=probability, kept=kept, **given)
        self.kept, self.threshold = flags.astype(bool), threshold
        self.importance = sizes[0] if sizes else None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw the selection probabilities of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `selection_probability_`: a sieve, a stabilized model or a
            `StabilitySelector`.
        """
        check_is_fitted(estimator)
        selection = selection_of(estimator)
        if selection is None:
            raise cls._refusal(estimator)
        return cls(**selection._asdict()).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        ranked = Selection(self.probability, self.kept, self.threshold, self.importance).ranked()
        rank, kept = np.arange(1, len(ranked) + 1), self.kept[ranked]
        heights = self.probability[ranked]
        plain: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
        hollow = looks(plain, color=SOFT, markerfacecolor="none")
        (self.other_points_,) = ax.plot(
            rank[~kept], heights[~kept], **hollow, label=None if kept.all() else "not kept"
        )
        filled = looks(plain | kwargs, color=ACCENT, label="kept")
        (self.kept_points_,) = ax.plot(rank[kept], heights[kept], **filled)
        self.threshold_line_ = None
        if self.threshold is not None:
            label = f"threshold {self.threshold:g}"
            self.threshold_line_ = ax.axhline(self.threshold, **DASHED, label=label)
        ax.set(xlabel="rank", ylabel="selection probability", ylim=(-0.03, 1.05))
        if len(ranked) > 30:
            ax.set_xscale("log")
        label_counts(ax.xaxis)
        ax.legend(frameon=False)
        return self


class PixelDisplay(
    Display,
    shows="importances of pixels",
    way_out="Pass a model with feature_importances_ or coef_.",
    drawn_by="`scatter`",
):
    """Importance of each pixel, drawn over an image.

    Use `from_estimator` with any model of images that has `feature_importances_`, `importance_` or
    `coef_`.

    Parameters
    ----------
    importances : array-like of shape (height, width)
        Importance of each pixel, 0 or more.
    background : array-like of shape (height, width) or None, default=None
        Image below, as a mean of rows.

    Attributes
    ----------
    {axes}
    points_ : matplotlib PathCollection
        The chosen pixels.

    See Also
    --------
    SDist : Learns the metric.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PixelDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> y = (X[:, 5] > 0).astype(int)
    >>> display = PixelDisplay.from_estimator(SDist(max_iter=100, random_state=0).fit(X, y), (4, 4))
    >>> np.unravel_index(display.importances.argmax(), (4, 4))
    (np.int64(1), np.int64(1))
    """

    def __init__(self, *, importances: ArrayLike, background: ArrayLike | None = None):
        self.importances = np.asarray(importances, dtype=float)
        self.background = None if background is None else np.asarray(background, dtype=float)
        if self.importances.ndim != 2 or (
            self.background is not None and self.background.shape != self.importances.shape
        ):
            raise ValueError("importances and background are images of one shape (height, width).")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        shape: tuple[int, int],
        *,
        background: ArrayLike | None = None,
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw for a fitted model of images.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `feature_importances_`, or with `importance_` or `coef_`, whose
            absolute values are summed over the outputs.
        shape : pair of int
            Height and width of the images.
        background : array-like of shape (n_features,) or None, default=None
            Image below, such as the mean of the rows.
        """
        sizes = getattr(estimator, "feature_importances_", None)
        if sizes is None:
            weights = np.atleast_2d(cls._held(estimator, "coef_"))
            importance = importance_of(estimator, weights.shape)
            sizes = np.abs(weights if importance is None else importance).sum(axis=0)
        if len(sizes) != shape[0] * shape[1]:
            raise ValueError(
                f"shape={tuple(shape)} has {shape[0] * shape[1]} pixels, but the model "
                f"{len(sizes)} columns."
            )
        image = None if background is None else np.asarray(background, dtype=float).reshape(shape)
        return cls(importances=np.reshape(sizes, shape), background=image).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        ax.spines[:].set_visible(False)
        image = np.zeros(self.importances.shape) if self.background is None else self.background
        ax.imshow(image, cmap="Greys", alpha=0.7)
        rows, columns = np.nonzero(self.importances)
        sizes = self.importances[rows, columns]
        areas = 4.0 + 140.0 * sizes / sizes.max(initial=1e-300)
        look = looks(kwargs, s=areas, color=OTHER, alpha=0.75, edgecolor="white", linewidth=0.5)
        self.points_ = ax.scatter(columns, rows, **look)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{len(sizes)} of {self.importances.size} pixels used")
        return self
