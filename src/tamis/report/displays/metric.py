"""Figures of a learnt metric: its surface over two columns, its first direction by class, and the
course of its steps.
"""

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_blocks
from tamis.methods.metric.rules import Rules
from tamis.report.displays.drawing import ACCENT, OTHER, SOFT, as_arrays, lacks, take_axes

COLOURS = (ACCENT, OTHER, "#3f7d3a", "#7b4fa3", "#b58a00", SOFT)


def _rows_of(display, estimator, X, y):
    """Checked dense rows, class numbers and class labels."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "terms_"):
        raise lacks(
            display, estimator, "a learnt metric", "Pass a fitted SDist or SDistClassifier."
        )
    rows = take_blocks(estimator, X, reset=False)
    rows = rows.scipy().toarray() if hasattr(rows, "scipy") else rows
    classes, codes = np.unique(column_or_1d(y), return_inverse=True)
    if len(codes) != len(rows):
        raise ValueError(f"X has {len(rows)} rows and y {len(codes)} classes. Give one a row.")
    return np.asarray(rows, dtype=float), codes, classes


def _names(estimator):
    return getattr(estimator, "feature_names_in_", None)


def _name(estimator, column: int) -> str:
    names = _names(estimator)
    return f"x{column}" if names is None else str(names[column])


class MetricSurfaceDisplay:
    """The learnt rule over two columns, the others held at their medians, with the rows of each
    class.

    Use `from_estimator`. With two classes the colours show f, the mean squared distance to the
    nearest rows of the first class less that to the second: where it is above 0, the second is
    nearer. With more classes they show the nearest.

    Parameters
    ----------
    grid : tuple of two ndarray
        Values of the two columns.
    surface : ndarray of shape (len(grid[1]), len(grid[0]))
        f, or the number of the nearest class.
    points : ndarray of shape (n_samples, 2)
        Rows to show.
    codes : ndarray of int
        Their class numbers.
    classes : sequence
        Class labels.
    names : sequence of str
        Names of the two columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the surface.
    figure_ : matplotlib Figure
        Figure that holds them.
    surface_ : matplotlib ContourSet
        The surface.

    See Also
    --------
    SDist : Learns the metric.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, figures 1 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MetricSurfaceDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> y = (X[:, 2] * X[:, 5] > 0).astype(int)
    >>> display = MetricSurfaceDisplay.from_estimator(SDist(max_iter=200, random_state=0).fit(X, y), X, y)
    >>> sorted(display.names)
    ['x2', 'x5']
    """

    def __init__(self, *, grid, surface, points, codes, classes, names):
        self.grid, self.surface, self.points, self.codes, self.classes, self.names = (
            grid,
            np.asarray(surface),
            points,
            codes,
            list(classes),
            names,
        )

    @classmethod
    def from_estimator(cls, estimator, X, y, *, columns=None, resolution=60, ax=None, **kwargs):
        """Draw for a fitted metric.

        Parameters
        ----------
        estimator : SDist or SDistClassifier
            A fitted model.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows among which neighbours are looked for.
        y : array-like of shape (n_samples,)
            Their classes.
        columns : pair of int or None, default=None
            The columns to show; None takes the two of largest importance.
        resolution : int, default=60
            Points of the grid along each axis.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `contourf`.

        Returns
        -------
        display : MetricSurfaceDisplay
        """
        rows, codes, classes = _rows_of(cls, estimator, X, y)
        if rows.shape[1] < 2:
            raise ValueError("a surface needs two columns, and X has one.")
        pair = list(
            np.argsort(-estimator.feature_importances_, kind="stable")[:2]
            if columns is None
            else columns
        )
        grid = tuple(np.linspace(rows[:, c].min(), rows[:, c].max(), resolution) for c in pair)
        asked = np.tile(np.median(rows, axis=0), (resolution**2, 1))
        asked[:, pair] = np.column_stack([part.ravel() for part in np.meshgrid(*grid)])
        rules = Rules(
            estimator._points(rows),
            codes,
            np.ones(len(rows)),
            len(classes),
            estimator.n_neighbors,
            "margin",
        )
        scores = rules.scores(estimator._points(asked))
        surface = (
            scores[:, 1] - scores[:, 0]
            if len(classes) == 2
            else scores.argmax(axis=1).astype(float)
        )
        names = [_name(estimator, c) for c in pair]
        shape = (resolution, resolution)
        return cls(
            grid=grid,
            surface=surface.reshape(shape),
            points=rows[:, pair],
            codes=codes,
            classes=classes,
            names=names,
        ).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `contourf`.

        Returns
        -------
        display : MetricSurfaceDisplay
        """
        ax = take_axes(self, ax)
        if len(self.classes) == 2:
            top = np.quantile(np.abs(self.surface), 0.9) or 1.0
            levels = np.linspace(-top, top, 13)
            self.surface_ = ax.contourf(
                *self.grid,
                self.surface,
                **({"levels": levels, "cmap": "RdBu", "extend": "both", "alpha": 0.6} | kwargs),
            )
            ax.contour(*self.grid, self.surface, levels=[0.0], colors="black", linewidths=1.2)
            colours = ("#8f1d21", "#1b4f8a")
            self.figure_.colorbar(
                self.surface_, ax=ax, label="f: above 0 the second class is nearer", format="%.2g"
            )
        else:
            colours = COLOURS
            levels = np.arange(len(self.classes) + 1) - 0.5
            tints = [COLOURS[c % len(COLOURS)] for c in range(len(self.classes))]
            self.surface_ = ax.contourf(
                *self.grid,
                self.surface,
                **({"levels": levels, "colors": tints, "alpha": 0.25} | kwargs),
            )
        for c, label in enumerate(self.classes):
            inside = self.points[self.codes == c]
            ax.scatter(
                *inside.T,
                s=9,
                color=colours[c % len(colours)],
                edgecolor="white",
                linewidth=0.3,
                label=str(label),
            )
        ax.legend(title="class", fontsize="small", framealpha=0.9)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


class MetricHistogramDisplay:
    """Rows along the main direction of the learnt space, as one histogram a class.

    Use `from_estimator`. The direction is the first principal component of the transformed rows,
    its sign that of its largest loading.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Place of each row along the direction.
    codes : array-like of int of shape (n_samples,)
        Class numbers.
    classes : sequence
        Class labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the histograms.
    figure_ : matplotlib Figure
        Figure that holds them.

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
    >>> from tamis import MetricHistogramDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = (X[:, 2] > 0).astype(int)
    >>> display = MetricHistogramDisplay.from_estimator(SDist(max_iter=100, random_state=0).fit(X, y), X, y)
    >>> len(display.values)
    200
    """

    def __init__(self, *, values, codes, classes):
        self.values, self.codes = as_arrays(values=values, codes=codes)
        self.classes = list(classes)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, bins=30, ax=None, **kwargs):
        """Draw for a fitted metric and some rows.

        Parameters
        ----------
        estimator : SDist or SDistClassifier
            A fitted model.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        bins : int, default=30
            Bars of a histogram.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `hist`.

        Returns
        -------
        display : MetricHistogramDisplay
        """
        rows, codes, classes = _rows_of(cls, estimator, X, y)
        points = estimator._points(rows)
        points = points - points.mean(axis=0)
        direction = np.linalg.svd(points, full_matrices=False)[2][0]
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        return cls(values=points @ direction, codes=codes, classes=classes).plot(
            ax=ax, bins=bins, **kwargs
        )

    def plot(self, ax=None, *, bins=30, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        bins : int, default=30
            Bars of a histogram.
        **kwargs : dict
            For matplotlib's `hist`.

        Returns
        -------
        display : MetricHistogramDisplay
        """
        ax = take_axes(self, ax)
        edges = np.histogram_bin_edges(self.values, bins)
        for c, label in enumerate(self.classes):
            inside = self.values[self.codes == c]
            ax.hist(
                inside,
                **(
                    {
                        "bins": edges,
                        "alpha": 0.6,
                        "color": COLOURS[c % len(COLOURS)],
                        "label": str(label),
                    }
                    | kwargs
                ),
            )
        ax.legend(title="class", fontsize="small")
        ax.set(xlabel="place along the main direction", ylabel="rows")
        return self


class MetricStepsDisplay:
    """Loss and complexity of a metric against its steps.

    Use `from_estimator`. Marks show steps that out-of-bag screening turned away; the line ends
    where the metric was cut.

    Parameters
    ----------
    steps : array-like
        Number of accepted steps at each point.
    loss : array-like
        Mean loss there.
    complexity : sequence of (int, float)
        Accepted steps and the trace of the root of W.
    kept : int
        Steps of the metric.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the loss.
    figure_ : matplotlib Figure
        Figure that holds them.
    line_ : matplotlib Line2D
        The loss.

    See Also
    --------
    SDist : Learns the metric.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, equation (2.15).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MetricStepsDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = (X[:, 2] > 0).astype(int)
    >>> display = MetricStepsDisplay.from_estimator(SDist(max_iter=100, refresh_every=0, random_state=0).fit(X, y))
    >>> bool(display.loss[-1] < display.loss[0])
    True
    """

    def __init__(self, *, steps, loss, complexity, kept):
        self.steps, self.loss = as_arrays(steps=steps, loss=loss)
        self.complexity, self.kept = list(complexity), kept

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw for a fitted metric.

        Parameters
        ----------
        estimator : SDist or SDistClassifier
            A fitted model.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : MetricStepsDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "terms_"):
            raise lacks(
                cls, estimator, "the steps of a metric", "Pass a fitted SDist or SDistClassifier."
            )
        steps = [record["step"] for record in estimator.history_]
        loss = [record["loss"] for record in estimator.history_]
        last = {record["accepted"]: record["step"] for record in reversed(estimator.history_)}
        pairs = [
            (last[number], step["complexity"])
            for number, step in enumerate(estimator.steps_, 1)
            if step["complexity"] and number in last
        ]
        return cls(
            steps=steps,
            loss=loss,
            complexity=pairs,
            kept=last.get(len(estimator.steps_), len(steps)),
        ).plot(ax=ax, **kwargs)

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
        display : MetricStepsDisplay
        """
        ax = take_axes(self, ax)
        (self.line_,) = ax.plot(
            self.steps, self.loss, **({"color": ACCENT, "label": "loss"} | kwargs)
        )
        ax.axvline(self.kept, color=SOFT, linewidth=1, linestyle=":")
        ax.set(xlabel="steps tried", ylabel="mean exp(-margin)")
        if self.complexity:
            other = ax.twinx()
            other.spines[["top"]].set_visible(False)
            (second,) = other.plot(
                *zip(*self.complexity, strict=True), color=OTHER, marker=".", label="complexity"
            )
            other.set_ylabel("trace of the root of W")
            ax.legend(handles=[self.line_, second], fontsize="small")
        return self
