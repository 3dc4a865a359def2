"""Figures of what data do to a model: the course of training, and whether dense features are
preferred.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_matrix
from tamis.judge.supports import kept_by
from tamis.report.displays.drawing import ACCENT, OTHER, as_arrays, label_counts, lacks, take_axes
from tamis.report.page.material import courses_of, density_profile, history_of

LARGEST = 300.0  # area of the largest point, in square points


class DensityBiasDisplay:
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
    ax_ : matplotlib Axes
        Axes with the points.
    figure_ : matplotlib Figure
        Figure that holds them.
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
    >>> model = TruncatedGradientClassifier(gravity=3e-4, max_iter=3, tol=None, random_state=0).fit(X, y)
    >>> display = DensityBiasDisplay.from_estimator(model, X, n_groups=4)
    >>> bool((display.share[1:] > display.share[:-1]).all())  # the more common, the more often kept
    True
    """

    def __init__(self, *, density, share, count, estimator_name=None):
        self.density, self.share, self.count = as_arrays(density=density, share=share, count=count)
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator, X, *, n_groups=12, name=None, ax=None, **kwargs):
        """Draw for a fitted model and its training rows.

        Parameters
        ----------
        estimator : estimator
            A fitted model that says what it kept (`coef_`, `support_` or `get_support`).
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to take the densities from, usually those of the training.
        n_groups : int, default=12
            Most groups, of equal width on a log scale of density.
        name : str or None, default=None
            Name for the legend; None takes the class of the estimator.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `scatter`.

        Returns
        -------
        display : DensityBiasDisplay
        """
        check_is_fitted(estimator)
        rows = take_matrix(estimator, X, reset=False)
        density = (
            np.bincount(rows.indices.astype(np.int64), minlength=rows.n_features) / rows.n_rows
        )
        shown = type(estimator).__name__ if name is None else name
        return cls.from_density(
            density, kept_by(estimator)[0], n_groups=n_groups, name=shown, ax=ax, **kwargs
        )

    @classmethod
    def from_density(cls, density, support, *, n_groups=12, name=None, ax=None, **kwargs):
        """Draw from densities and what was kept.

        Parameters
        ----------
        density : array-like of shape (n_features,)
            Share of the rows in which each feature is not zero.
        support : array-like of int
            Indices of the kept features.
        n_groups : int, default=12
            Most groups, of equal width on a log scale of density.
        name : str or None, default=None
            Name for the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `scatter`.

        Returns
        -------
        display : DensityBiasDisplay
        """
        if not isinstance(n_groups, int | np.integer) or n_groups < 1:
            raise ValueError(
                f"The 'n_groups' parameter must be a whole number of at least 1. Got {n_groups!r} "
                "instead."
            )
        profile = density_profile(density, np.asarray(support, dtype=np.int64), int(n_groups))
        return cls(
            density=profile.density, share=profile.share, count=profile.counts, estimator_name=name
        ).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        name : str or None, default=None
            Name for the legend.
        **kwargs : dict
            For matplotlib's `scatter`.

        Returns
        -------
        display : DensityBiasDisplay
        """
        ax = take_axes(self, ax)
        name = self.estimator_name if name is None else name
        area = LARGEST * self.count / max(self.count.max(initial=1.0), 1.0) + 12.0
        look = {"s": area, "color": ACCENT, "alpha": 0.8, "linewidths": 0, "label": name} | kwargs
        self.points_ = ax.scatter(self.density, self.share, **look)
        colour = self.points_.get_facecolor()
        (self.line_,) = ax.plot(
            self.density,
            self.share,
            color=colour[0] if len(colour) else ACCENT,
            linewidth=0.8,
            alpha=0.6,
            zorder=1,
        )
        ax.set(
            xscale="log", xlabel="share of rows in which a feature is present", ylabel="share kept"
        )
        ax.margins(y=0.12)
        if name:
            for mark in ax.legend(frameon=False).legend_handles:
                mark.set_sizes([40.0])
        return self


class TrainingDisplay:
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

    def __init__(self, *, rows, loss, kept, loss_name="progressive loss"):
        self.rows, self.loss, self.kept = as_arrays(rows=rows, loss=loss, kept=kept)
        self.loss_name = loss_name

    @classmethod
    def from_estimator(cls, estimator, *, output=0, ax=None, **kwargs):
        """Draw the `history_` of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted model whose `history_` tells rows, loss and features kept.
        output : int, default=0
            Which class or target, where each has a history of its own.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`, for both curves.

        Returns
        -------
        display : TrainingDisplay
        """
        check_is_fitted(estimator)
        history = history_of(estimator)
        if not courses_of(history):
            raise lacks(
                cls,
                estimator,
                "rows, loss and features kept along training",
                "For a sieve see SelectionPathDisplay.",
            )
        return cls.from_history(history, output=output, ax=ax, **kwargs)

    @classmethod
    def from_history(cls, history, *, output=0, ax=None, **kwargs):
        """Draw a history.

        Parameters
        ----------
        history : list of dict
            Steps with ``rows``, ``error`` or ``loss``, and ``nonzeros`` or ``kept``. Long ones are
            averaged to 120 points.
        output : int, default=0
            Which class or target, where each has a history of its own.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`, for both curves.

        Returns
        -------
        display : TrainingDisplay
        """
        courses = {course.output: course for course in courses_of(history)}
        if output not in courses:
            raise ValueError(
                f"the history tells nothing of output {output!r}; it has steps with rows for "
                f"{sorted(courses)}."
            )
        course = courses[output]
        values = course.error if course.measured == "error" else course.loss
        return cls(
            rows=course.rows,
            loss=values,
            kept=course.kept,
            loss_name=f"progressive {course.measured}",
        ).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw the loss; the features kept get axes of their own on its right side.
        **kwargs : dict
            For matplotlib's `plot`, for both curves.

        Returns
        -------
        display : TrainingDisplay
        """
        ax = take_axes(self, ax)
        self.kept_ax_ = ax.twinx()
        self.kept_ax_.spines["top"].set_visible(False)
        for axes, values, colour, style, label, side in (
            (ax, self.loss, ACCENT, "-", self.loss_name, "left"),
            (self.kept_ax_, self.kept, OTHER, "--", "features kept", "right"),
        ):
            look = {
                "color": colour,
                "linestyle": style,
                "marker": "o" if len(self.rows) <= 20 else None,
                "markersize": 3.5,
                "label": label,
            } | kwargs
            (line,) = axes.plot(self.rows, values, **look)
            axes.set_ylabel(label, color=line.get_color())
            axes.tick_params(axis="y", colors=line.get_color())
            axes.spines[side].set_color(line.get_color())
            axes.set_ylim(bottom=0)
            setattr(self, "loss_line_" if axes is ax else "kept_line_", line)
        ax.set_xlabel("rows seen")
        label_counts(ax.xaxis)
        label_counts(self.kept_ax_.yaxis)
        return self
