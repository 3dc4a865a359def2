"""Figures of a selection: error by size, and how often each feature was selected."""

import numpy as np
from sklearn.base import is_classifier
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
from tamis.report.page.material import Selection, selection_of, size_paths


class SelectionPathDisplay:
    """Held-out error of a sieve by the number of features kept, with the size that was chosen.

    Use `from_estimator`. It shows whether the chosen size lies at a clear bend or on a plain, and
    what a few features more or less would cost.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Sizes of the ladder.
    error : array-like of shape (n_sizes,)
        Error on rows not trained on, at each size.
    chosen : int or None, default=None
        The size that was chosen.
    error_name : str, default="held-out error"
        What the error is, for the axis.
    estimator_name : str or None, default=None
        Name of the model, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure that holds them.
    line_ : matplotlib Line2D
        The curve.
    chosen_line_ : matplotlib Line2D or None
        The mark of the chosen size.

    See Also
    --------
    SieveClassifier : Has such a path.
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
        self, *, n_features, error, chosen=None, error_name="held-out error", estimator_name=None
    ):
        self.n_features, self.error = as_arrays(n_features=n_features, error=error)
        self.chosen = chosen
        self.error_name = error_name
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator, *, output=0, name=None, ax=None, **kwargs):
        """Draw the path of a fitted sieve.

        Parameters
        ----------
        estimator : SieveClassifier or SieveRegressor
            A fitted model with `path_`.
        output : int, default=0
            Which class or target, where each has a path of its own.
        name : str or None, default=None
            Name for the legend; None takes the class of the estimator.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : SelectionPathDisplay
        """
        check_is_fitted(estimator)
        paths = size_paths(estimator)
        if not paths:
            raise lacks(
                cls,
                estimator,
                "held-out errors by size",
                "A sieve that chose its size itself (n_features_to_select='auto') has them.",
            )
        if not 0 <= output < len(paths):
            raise ValueError(
                f"The 'output' parameter must be between 0 and {len(paths) - 1}. Got {output!r} "
                "instead."
            )
        path = paths[output]
        error_name = "held-out error" if is_classifier(estimator) else "held-out absolute error"
        display = cls(
            n_features=path.sizes,
            error=path.error,
            chosen=path.chosen,
            error_name=error_name,
            estimator_name=type(estimator).__name__,
        )
        return display.plot(ax=ax, name=name, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        name : str or None, default=None
            Name for the legend.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : SelectionPathDisplay
        """
        ax = take_axes(self, ax)
        name = self.estimator_name if name is None else name
        look = {"color": ACCENT, "marker": "o", "markersize": 3.5, "label": name} | kwargs
        (self.line_,) = ax.plot(self.n_features, self.error, **look)
        self.chosen_line_ = None
        if self.chosen is not None:
            self.chosen_line_ = ax.axvline(
                self.chosen,
                color=OTHER,
                linestyle="--",
                linewidth=1,
                label=f"{self.chosen:,} chosen",
            )
        ax.set(xscale="log", xlabel="features kept", ylabel=self.error_name)
        label_counts(ax.xaxis)
        ax.legend(frameon=False)
        return self


class SelectionProbabilityDisplay:
    """Selection probability of each feature, the highest first, with the threshold where there is
    one.

    Use `from_estimator`. Kept features are filled, others hollow. A gap between the two is a clear
    selection; probabilities that fall slowly through the threshold say that a little chance would
    have given other features.

    Parameters
    ----------
    probability : array-like of shape (n_features,)
        Selection probability of each feature.
    kept : array-like of bool of shape (n_features,)
        Which features were kept.
    threshold : float or None, default=None
        Probability from which on features are kept.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the points.
    figure_ : matplotlib Figure
        Figure that holds them.
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

    def __init__(self, *, probability, kept, threshold=None):
        self.probability = np.asarray(probability, dtype=float)
        self.kept = np.asarray(kept, dtype=bool)
        as_arrays(probability=self.probability, kept=self.kept)
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw the selection probabilities of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `selection_probability_`: a sieve, a stabilized model or a
            `StabilitySelector`.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`, for the points of the kept features.

        Returns
        -------
        display : SelectionProbabilityDisplay
        """
        check_is_fitted(estimator)
        selection = selection_of(estimator)
        if selection is None:
            raise lacks(
                cls,
                estimator,
                "selection probabilities",
                "Put it into a StabilitySelector to find them.",
            )
        return cls(
            probability=selection.probability, kept=selection.kept, threshold=selection.threshold
        ).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`, for the points of the kept features.

        Returns
        -------
        display : SelectionProbabilityDisplay
        """
        ax = take_axes(self, ax)
        ranked = Selection(self.probability, self.kept, self.threshold).ranked()
        rank, kept = np.arange(1, len(ranked) + 1), self.kept[ranked]
        plain = {"linestyle": "none", "marker": "o", "markersize": 4}
        hollow = {
            "color": SOFT,
            "markerfacecolor": "none",
            "label": None if kept.all() else "not kept",
        }
        (self.other_points_,) = ax.plot(
            rank[~kept], self.probability[ranked][~kept], **plain, **hollow
        )
        (self.kept_points_,) = ax.plot(
            rank[kept],
            self.probability[ranked][kept],
            **(plain | {"color": ACCENT, "label": "kept"} | kwargs),
        )
        self.threshold_line_ = None
        if self.threshold is not None:
            label = f"threshold {self.threshold:g}"
            self.threshold_line_ = ax.axhline(
                self.threshold, color=OTHER, linestyle="--", linewidth=1, label=label
            )
        ax.set(xlabel="rank", ylabel="selection probability", ylim=(-0.03, 1.05))
        if len(ranked) > 30:
            ax.set_xscale("log")
        label_counts(ax.xaxis)
        ax.legend(frameon=False)
        return self
