"""Figures of training: loss and features kept along the rows, and the bias by density."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamis.base.validation import validate_matrix
from tamis.reporting.displays.base import (
    ACCENT,
    OTHER,
    Display,
    OptionalAxes,
    as_arrays,
    format_count_axis,
    style,
)
from tamis.reporting.page.plot_data import density_profile, training_curves, training_history
from tamis.selection.supports import selected_features


class DensityBiasDisplay(Display, drawn_by="`scatter`"):
    """Fraction of features kept, by density: does the method prefer common features?

    Use `from_estimator`. The density of a feature is the fraction of rows in which it is not zero.
    A flat curve means that the selection does not depend on density; a rising curve means that the
    method keeps features because they are common. The area of a point grows with the number of
    features that it stands for.

    Parameters
    ----------
    density : array-like of shape (n_groups,)
        Density of each group of features.
    share : array-like of shape (n_groups,)
        Fraction of each group that was kept.
    count : array-like of shape (n_groups,)
        Number of features of each group.
    estimator_name : str or None, default=None
        Name of the model, for the legend.

    Attributes
    ----------
    {axes}
    points_ : matplotlib PathCollection
        The points.
    line_ : matplotlib Line2D
        The line through them.

    See Also
    --------
    StabilizedSGDClassifier : Truncates a feature only in rows that hold it.
    TruncatedGradientClassifier : Truncates all features in every row.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2018, figure 3.

    Examples
    --------
    >>> from tamis import DensityBiasDisplay, TruncatedGradientClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=1000, n_features=2000, random_state=0)
    >>> model = TruncatedGradientClassifier(gravity=3e-4, max_iter=3, tol=None, random_state=0)
    >>> display = DensityBiasDisplay.from_estimator(model.fit(X, y), X, n_groups=4)
    >>> bool((display.share[1:] > display.share[:-1]).all())  # the more common, the more often kept
    True
    """

    def __init__(
        self,
        *,
        density: ArrayLike,
        share: ArrayLike,
        count: ArrayLike,
        estimator_name: str | None = None,
    ):
        self.density, self.share, self.count = as_arrays(density=density, share=share, count=count)
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_groups: int = 12,
        name: str | None = None,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the fraction of features that a fitted model kept, by density.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `coef_`, `support_` or `get_support`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to take the densities from, usually the training rows.
        n_groups : int, default=12
            Largest number of groups, which have equal width on a log scale of density.
        """
        check_is_fitted(estimator)
        rows = validate_matrix(estimator, X, reset=False)
        counts = np.bincount(rows.indices.astype(np.int64), minlength=rows.n_features)
        name = type(estimator).__name__ if name is None else name
        density, support = counts / rows.n_rows, selected_features(estimator)[0]
        return cls.from_density(density, support, n_groups=n_groups, name=name, ax=ax, **kwargs)

    @classmethod
    def from_density(
        cls,
        density: ArrayLike,
        support: ArrayLike,
        *,
        n_groups: int = 12,
        name: str | None = None,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the fraction of features in a support, by density.

        Parameters
        ----------
        density : array-like of shape (n_features,)
            Fraction of the rows in which each feature is not zero.
        support : array-like of int
            Indices of the kept features.
        """
        if not isinstance(n_groups, int | np.integer) or n_groups < 1:
            raise ValueError(
                f"The 'n_groups' parameter must be a whole number of at least 1. Got {n_groups!r} "
                "instead."
            )
        groups, share, counts = density_profile(density, support, int(n_groups))
        display = cls(density=groups, share=share, count=counts, estimator_name=name)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw a point for each group of features, and a line through them."""
        ax = self._set_axes(ax)
        name = self.estimator_name if name is None else name
        area = 300.0 * self.count / max(self.count.max(initial=1.0), 1.0) + 12.0
        options = style(kwargs, s=area, color=ACCENT, alpha=0.8, linewidths=0, label=name)
        self.points_ = ax.scatter(self.density, self.share, **options)
        colours = self.points_.get_facecolor()
        line_style = style(color=colours[0] if len(colours) else ACCENT, linewidth=0.8, alpha=0.6)
        (self.line_,) = ax.plot(self.density, self.share, **line_style, zorder=1)
        ax.set(xscale="log", xlabel="share of rows in which a feature is present")
        ax.set_ylabel("share kept")
        ax.margins(y=0.12)
        if name:
            handles: list[Any] = ax.legend(frameon=False).legend_handles
            for handle in handles:
                handle.set_sizes([40.0])
        return self


class TrainingDisplay(
    Display,
    content="rows, loss and features kept along training",
    way_out="For a sieve see SelectionPathDisplay.",
    drawn_by="`plot`, for both curves",
):
    """Loss or error, and number of features kept, along the rows of training.

    Use `from_estimator` for the `history_` of a model (or its `train_history_`, if it has one), or
    `from_history`. The loss of each row is measured before it is learnt, so that the curve is
    unbiased in the first pass.

    Parameters
    ----------
    rows : array-like of shape (n_steps,)
        Rows seen.
    loss : array-like of shape (n_steps,)
        Loss or error.
    kept : array-like of shape (n_steps,)
        Features kept.
    loss_name : str, default="progressive loss"
        Name of the loss, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the loss, on the left.
    kept_ax_ : matplotlib Axes
        Axes of the features kept, on the right.
    figure_ : matplotlib Figure
        The figure.
    loss_line_, kept_line_ : matplotlib Line2D
        The two curves.

    See Also
    --------
    SelectionPathDisplay : For a sieve, which has no such history.

    Examples
    --------
    >>> from tamis import FTRLClassifier, TrainingDisplay
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=500, n_features=400, random_state=0)
    >>> model = FTRLClassifier(max_iter=5, tol=None, random_state=0).fit(X, y)
    >>> display = TrainingDisplay.from_estimator(model)
    >>> display.rows.tolist()
    [500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    """

    def __init__(
        self,
        *,
        rows: ArrayLike,
        loss: ArrayLike,
        kept: ArrayLike,
        loss_name: str = "progressive loss",
    ):
        self.rows, self.loss, self.kept = as_arrays(rows=rows, loss=loss, kept=kept)
        self.loss_name = loss_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, output: int = 0, ax: OptionalAxes = None, **kwargs: Any
    ) -> Self:
        """Draw the `history_` of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model with a `history_` of rows, loss and features kept.
        """
        check_is_fitted(estimator)
        history = training_history(estimator)
        if history is None or not training_curves(history):
            raise cls._unsupported_error(estimator)
        return cls.from_history(history, output=output, ax=ax, **kwargs)

    @classmethod
    def from_history(
        cls, history: list[dict], *, output: int = 0, ax: OptionalAxes = None, **kwargs: Any
    ) -> Self:
        """Draw a history.

        Parameters
        ----------
        history : list of dict
            Steps with ``rows``, ``error`` or ``loss``, and ``nonzeros`` or ``kept``. Long ones are
            averaged to 120 points.
        """
        curves = {curve.output: curve for curve in training_curves(history)}
        if output not in curves:
            raise ValueError(
                f"the history holds nothing of output {output!r}; it has steps with rows for "
                f"{sorted(curves)}."
            )
        curve = curves[output]
        loss, name = getattr(curve, curve.metric), f"progressive {curve.metric}"
        display = cls(rows=curve.rows, loss=loss, kept=curve.kept, loss_name=name)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw the loss and the number of features kept, on two y-axes.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw the loss; the features kept get new axes on its right side.
        """
        ax = self._set_axes(ax)
        self.kept_ax_ = ax.twinx()
        self.kept_ax_.spines["top"].set_visible(False)
        user_options = {"marker": "o" if len(self.rows) <= 20 else None, "markersize": 3.5} | kwargs
        lines = []
        for axes, values, colour, linestyle, label, side in (
            (ax, self.loss, ACCENT, "-", self.loss_name, "left"),
            (self.kept_ax_, self.kept, OTHER, "--", "features kept", "right"),
        ):
            options = style(user_options, color=colour, linestyle=linestyle, label=label)
            lines += axes.plot(self.rows, values, **options)
            line_colour: Any = lines[-1].get_color()
            axes.set_ylabel(label, color=line_colour)
            axes.tick_params(axis="y", colors=line_colour)
            axes.spines[side].set_color(line_colour)
            axes.set_ylim(bottom=0)
        self.loss_line_, self.kept_line_ = lines
        ax.set_xlabel("rows seen")
        format_count_axis(ax.xaxis)
        format_count_axis(self.kept_ax_.yaxis)
        return self
