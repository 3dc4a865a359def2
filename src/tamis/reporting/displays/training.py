"""Figures of what data do to a model: the course of training, and whether dense features are
preferred.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamis.base.validation import take_matrix
from tamis.reporting.displays.drawing import (
    ACCENT,
    OTHER,
    Ax,
    Display,
    as_arrays,
    label_counts,
    looks,
)
from tamis.reporting.page.plot_data import courses_of, density_profile, history_of
from tamis.selection.supports import kept_by

LARGEST = 300.0  # area of the largest point, in square points


class DensityBiasDisplay(Display, drawn_by="`scatter`"):
    """Share of features kept among those of similar density: does the method prefer common
    features?

    Use `from_estimator`. The density of a feature is the share of rows in which it is not zero. A
    level curve is a selection that looks at what features say, not at how often they speak; a
    rising one keeps common features because they are common. The area of a point grows with the
    number of features it stands for.

    Parameters
    ----------
    density : array-like of shape (n_groups,)
        Density of each group of features.
    share : array-like of shape (n_groups,)
        Share of the group that was kept.
    count : array-like of shape (n_groups,)
        Number of features of the group.
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
    StabilizedSGDClassifier : Truncates a feature only when it is met.
    TruncatedGradientClassifier : Truncates all features alike.

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
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw for a fitted model and its training rows.

        Parameters
        ----------
        estimator : estimator
            A fitted model that says what it kept (`coef_`, `support_` or `get_support`).
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to take the densities from, usually those of the training.
        n_groups : int, default=12
            Most groups, of equal width on a log scale of density.
        """
        check_is_fitted(estimator)
        rows = take_matrix(estimator, X, reset=False)
        counts = np.bincount(rows.indices.astype(np.int64), minlength=rows.n_features)
        shown = {"name": type(estimator).__name__ if name is None else name, "ax": ax, **kwargs}
        return cls.from_density(
            counts / rows.n_rows, kept_by(estimator)[0], n_groups=n_groups, **shown
        )

    @classmethod
    def from_density(
        cls,
        density: ArrayLike,
        support: ArrayLike,
        *,
        n_groups: int = 12,
        name: str | None = None,
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw from densities and what was kept.

        Parameters
        ----------
        density : array-like of shape (n_features,)
            Share of the rows in which each feature is not zero.
        support : array-like of int
            Indices of the kept features.
        """
        if not isinstance(n_groups, int | np.integer) or n_groups < 1:
            raise ValueError(
                f"The 'n_groups' parameter must be a whole number of at least 1. Got {n_groups!r} "
                "instead."
            )
        found = density_profile(density, support, int(n_groups))
        return cls(
            density=found.density, share=found.share, count=found.counts, estimator_name=name
        ).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        name = self.estimator_name if name is None else name
        area = LARGEST * self.count / max(self.count.max(initial=1.0), 1.0) + 12.0
        look = looks(kwargs, s=area, color=ACCENT, alpha=0.8, linewidths=0, label=name)
        self.points_ = ax.scatter(self.density, self.share, **look)
        colours = self.points_.get_facecolor()
        thin = looks(color=colours[0] if len(colours) else ACCENT, linewidth=0.8, alpha=0.6)
        (self.line_,) = ax.plot(self.density, self.share, **thin, zorder=1)
        ax.set(xscale="log", xlabel="share of rows in which a feature is present")
        ax.set_ylabel("share kept")
        ax.margins(y=0.12)
        if name:
            marks: list[Any] = ax.legend(frameon=False).legend_handles
            for mark in marks:
                mark.set_sizes([40.0])
        return self


class TrainingDisplay(
    Display,
    shows="rows, loss and features kept along training",
    way_out="For a sieve see SelectionPathDisplay.",
    drawn_by="`plot`, for both curves",
):
    """Loss or error, and features kept, as rows went by.

    Use `from_estimator` for the `history_` of a model (or its `train_history_`, where it has one),
    or `from_history`. Each row was judged before it was learnt, so the curve is honest for a first
    pass.

    Parameters
    ----------
    rows : array-like of shape (n_steps,)
        Rows seen.
    loss : array-like of shape (n_steps,)
        Loss or error.
    kept : array-like of shape (n_steps,)
        Features kept.
    loss_name : str, default="progressive loss"
        What the first curve is, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the loss, on the left.
    kept_ax_ : matplotlib Axes
        Axes of the features kept, on the right.
    figure_ : matplotlib Figure
        Figure that holds them.
    loss_line_, kept_line_ : matplotlib Line2D
        The two curves.

    See Also
    --------
    SelectionPathDisplay : What a sieve, which keeps no such history, has instead.

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
        cls, estimator: Any, *, output: int = 0, ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw the `history_` of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model whose `history_` tells rows, loss and features kept.
        """
        check_is_fitted(estimator)
        history = history_of(estimator)
        if history is None or not courses_of(history):
            raise cls._refusal(estimator)
        return cls.from_history(history, output=output, ax=ax, **kwargs)

    @classmethod
    def from_history(
        cls, history: list[dict], *, output: int = 0, ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw a history.

        Parameters
        ----------
        history : list of dict
            Steps with ``rows``, ``error`` or ``loss``, and ``nonzeros`` or ``kept``. Long ones are
            averaged to 120 points.
        """
        courses = {course.output: course for course in courses_of(history)}
        if output not in courses:
            raise ValueError(
                f"the history tells nothing of output {output!r}; it has steps with rows for "
                f"{sorted(courses)}."
            )
        course = courses[output]
        loss, name = getattr(course, course.measured), f"progressive {course.measured}"
        return cls(rows=course.rows, loss=loss, kept=course.kept, loss_name=name).plot(
            ax=ax, **kwargs
        )

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw the loss; the features kept get axes of their own on its right side.
        """
        ax = self._take_axes(ax)
        self.kept_ax_ = ax.twinx()
        self.kept_ax_.spines["top"].set_visible(False)
        dots = {"marker": "o" if len(self.rows) <= 20 else None, "markersize": 3.5} | kwargs
        lines = []
        for axes, values, colour, style, label, side in (
            (ax, self.loss, ACCENT, "-", self.loss_name, "left"),
            (self.kept_ax_, self.kept, OTHER, "--", "features kept", "right"),
        ):
            look = looks(dots, color=colour, linestyle=style, label=label)
            lines += axes.plot(self.rows, values, **look)
            drawn: Any = lines[-1].get_color()
            axes.set_ylabel(label, color=drawn)
            axes.tick_params(axis="y", colors=drawn)
            axes.spines[side].set_color(drawn)
            axes.set_ylim(bottom=0)
        self.loss_line_, self.kept_line_ = lines
        ax.set_xlabel("rows seen")
        label_counts(ax.xaxis)
        label_counts(self.kept_ax_.yaxis)
        return self
