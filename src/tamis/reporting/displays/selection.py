"""Figures of a selection: error by size, selection probabilities, and importances of pixels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tamis.reporting.displays.base import (
    ACCENT,
    DASHED,
    DOTTED,
    OTHER,
    SOFT,
    Display,
    OptionalAxes,
    as_arrays,
    format_count_axis,
    select_output,
    style,
)
from tamis.reporting.page.held_out_error import error_name, size_paths
from tamis.reporting.page.plot_data import Selection, model_importance, read_selection


class SelectionPathDisplay(
    Display,
    content="held-out errors by size",
    estimators="SieveClassifier or SieveRegressor",
    way_out="A sieve that chose its size (n_features_to_select='auto') has them.",
    drawn_by="`plot`",
):
    """Held-out error of a sieve by the number of features kept, with the chosen size.

    Use `from_estimator`. It shows whether the error changes clearly at the chosen size or is flat
    around it, what a few features more or less would cost, and how far all sizes are from the
    prior, which uses no feature.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Sizes. The plot leaves 0 out, since its axis is logarithmic.
    error : array-like of shape (n_sizes,)
        Held-out error at each size.
    standard_error : array-like of shape (n_sizes,) or None, default=None
        Standard error of the error, drawn as a band to both sides.
    baseline_error : float or None, default=None
        Error of the prior alone, drawn as a horizontal line.
    chosen : int or None, default=None
        The chosen size; 0 if no size is better than the prior.
    error_name : str, default="held-out error"
        Name of the error, for the axis.
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
        The mark of the chosen size, unless that is 0.

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
        optional = {} if standard_error is None else {"standard_error": standard_error}
        self.n_features, self.error, *standard_errors = as_arrays(
            n_features=n_features, error=error, **optional
        )
        self.standard_error = standard_errors[0] if standard_errors else None
        self.baseline_error, self.chosen = baseline_error, chosen
        self.error_name, self.estimator_name = error_name, estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output: int = 0,
        name: str | None = None,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted sieve."""
        check_is_fitted(estimator)
        paths = size_paths(estimator)
        if not paths:
            raise cls._unsupported_error(estimator)
        path = select_output(paths, output)
        return cls(
            n_features=path.sizes,
            error=path.error,
            standard_error=path.standard_error,
            baseline_error=path.baseline_error,
            chosen=path.chosen,
            error_name=error_name(bool(is_classifier(estimator))),
            estimator_name=type(estimator).__name__,
        ).plot(ax=ax, name=name, **kwargs)

    def plot(self, ax: OptionalAxes = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        name = self.estimator_name if name is None else name
        options = style(kwargs, color=ACCENT, marker="o", markersize=3.5, label=name)
        is_positive = self.n_features > 0.0
        sizes, error = self.n_features[is_positive], self.error[is_positive]
        (self.line_,) = ax.plot(sizes, error, **options)
        self.fill_between_ = self.baseline_line_ = self.chosen_line_ = None
        if self.standard_error is not None:
            low, high = (
                error - self.standard_error[is_positive],
                error + self.standard_error[is_positive],
            )
            band: dict[str, Any] = {"color": self.line_.get_color(), "alpha": 0.15, "linewidth": 0}
            self.fill_between_ = ax.fill_between(sizes, low, high, **band)
        if self.baseline_error is not None:
            label = "no feature (chosen)" if self.chosen == 0 else "no feature"
            self.baseline_line_ = ax.axhline(self.baseline_error, **DOTTED, label=label)
        if self.chosen:
            label = f"{self.chosen:,} chosen"
            self.chosen_line_ = ax.axvline(self.chosen, **DASHED, label=label)
        ax.set(xscale="log", xlabel="features kept", ylabel=self.error_name)
        format_count_axis(ax.xaxis)
        ax.legend(frameon=False)
        return self


class SelectionProbabilityDisplay(
    Display,
    content="selection probabilities",
    way_out="Pass it to a StabilitySelector, which estimates them.",
    drawn_by="`plot`, for the points of the kept features",
):
    """Selection probability of each feature, the highest first, with the threshold if there is one.

    Use `from_estimator`. Points of kept features are filled, others are hollow. A gap between the
    two means a clear selection. If the probabilities decrease slowly through the threshold, other
    features could have been selected by chance. If importances are known, as for a sieve, kept
    features come first, the most important first; low points among them are doubtful features.

    Parameters
    ----------
    probability : array-like of shape (n_features,)
        Selection probability of each feature.
    kept : array-like of bool of shape (n_features,)
        Mask of the kept features.
    threshold : float or None, default=None
        Smallest probability of a kept feature.
    importance : array-like of shape (n_features,) or None, default=None
        Importance of each feature; it orders the kept features.

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
    StabilizedSGDClassifier : Estimates them during training.

    Notes
    -----
    The model's `selection_probability_` explains what the probability means. For several outputs
    the highest probability is drawn. Features that were never selected are left out.

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
        optional = {} if importance is None else {"importance": importance}
        self.probability, mask, *importances = as_arrays(
            probability=probability, kept=kept, **optional
        )
        self.kept, self.threshold = mask.astype(bool), threshold
        self.importance = importances[0] if importances else None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw the selection probabilities of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `selection_probability_`: a sieve, a stabilized model or a
            `StabilitySelector`.
        """
        check_is_fitted(estimator)
        selection = read_selection(estimator)
        if selection is None:
            raise cls._unsupported_error(estimator)
        return cls(**selection._asdict()).plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        ranked = Selection(self.probability, self.kept, self.threshold, self.importance).ranked()
        rank, is_kept = np.arange(1, len(ranked) + 1), self.kept[ranked]
        probability = self.probability[ranked]
        points: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
        hollow = style(points, color=SOFT, markerfacecolor="none")
        label = None if is_kept.all() else "not kept"
        (self.other_points_,) = ax.plot(
            rank[~is_kept], probability[~is_kept], **hollow, label=label
        )
        filled = style(points | kwargs, color=ACCENT, label="kept")
        (self.kept_points_,) = ax.plot(rank[is_kept], probability[is_kept], **filled)
        self.threshold_line_ = None
        if self.threshold is not None:
            label = f"threshold {self.threshold:g}"
            self.threshold_line_ = ax.axhline(self.threshold, **DASHED, label=label)
        ax.set(xlabel="rank", ylabel="selection probability", ylim=(-0.03, 1.05))
        if len(ranked) > 30:
            ax.set_xscale("log")
        format_count_axis(ax.xaxis)
        ax.legend(frameon=False)
        return self


class PixelDisplay(
    Display,
    content="importances of pixels",
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
        Image below the points, such as the mean of the rows.

    Attributes
    ----------
    {axes}
    points_ : matplotlib PathCollection
        The points of the pixels with an importance.

    See Also
    --------
    SDist : Learns a metric with importances.

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
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importances of a fitted model of images.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `feature_importances_`, or with `importance_` or `coef_`, whose
            absolute values are summed over the outputs.
        shape : pair of int
            Height and width of the images.
        background : array-like of shape (n_features,) or None, default=None
            Image below the points, such as the mean of the rows.
        """
        importances = getattr(estimator, "feature_importances_", None)
        if importances is None:
            weights = np.atleast_2d(cls._fitted_attribute(estimator, "coef_"))
            importance = model_importance(estimator, weights.shape)
            importances = np.abs(weights if importance is None else importance).sum(axis=0)
        if len(importances) != shape[0] * shape[1]:
            raise ValueError(
                f"shape={tuple(shape)} has {shape[0] * shape[1]} pixels, but the model "
                f"{len(importances)} columns."
            )
        image = None if background is None else np.asarray(background, dtype=float).reshape(shape)
        display = cls(importances=np.reshape(importances, shape), background=image)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        ax.spines[:].set_visible(False)
        image = np.zeros(self.importances.shape) if self.background is None else self.background
        ax.imshow(image, cmap="Greys", alpha=0.7)
        rows, columns = np.nonzero(self.importances)
        nonzero = self.importances[rows, columns]
        areas = 4.0 + 140.0 * nonzero / nonzero.max(initial=1e-300)
        options = style(kwargs, s=areas, color=OTHER, alpha=0.75, edgecolor="white", linewidth=0.5)
        self.points_ = ax.scatter(columns, rows, **options)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{len(nonzero)} of {self.importances.size} pixels used")
        return self
