"""Figures of a learnt metric: surface over two columns, main direction by class, loss along the
steps, and products of columns.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle, islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from tamis.base.validation import validate_array
from tamis.methods.metric_learning.rules import NeighborClassifier
from tamis.reporting.displays.base import (
    ACCENT,
    OTHER,
    SOFT,
    Display,
    OptionalAxes,
    OptionalNames,
    as_arrays,
    style,
)

COLOURS = (ACCENT, OTHER, "#3f7d3a", "#7b4fa3", "#b58a00", SOFT)
REFERENCES_DOC = """See Also
--------
SDist : Learns the metric.

References
----------
Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
2015"""


def _column_names(estimator) -> list[str]:
    """Return the names of all columns: x0, x1 and so on if `fit` got no names."""
    unnamed = [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", unnamed)]


class _MetricDisplay(
    Display, content="a learnt metric", estimators="SDist or SDistClassifier", paper=REFERENCES_DOC
):
    """Base class of the figures of a metric."""

    @classmethod
    def _check_rows(cls, estimator, X, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return dense rows, class numbers and class labels."""
        cls._fitted_attribute(estimator, "terms_")
        rows = validate_array(estimator, X, reset=False)
        rows = rows.to_scipy().toarray() if hasattr(rows, "to_scipy") else rows
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        if len(codes) != len(rows):
            raise ValueError(
                f"X has {len(rows)} rows and y {len(codes)} classes. Pass one for each row."
            )
        return np.asarray(rows, dtype=float), codes, classes


class MetricSurfaceDisplay(_MetricDisplay, drawn_by="`contourf`"):
    """Decision of a learnt metric over two columns, with the rows of each class.

    Use `from_estimator`. The other columns stay at their medians. With two classes the colours show
    f, the mean squared distance to the nearest rows of the first class minus that to the second:
    the second class is nearer where f is above 0. With more classes they show the nearest class.

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
    {axes}
    surface_ : matplotlib ContourSet
        The surface.

    {paper}, figures 1 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MetricSurfaceDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> y = (X[:, 2] * X[:, 5] > 0).astype(int)
    >>> model = SDist(max_iter=200, random_state=0).fit(X, y)
    >>> display = MetricSurfaceDisplay.from_estimator(model, X, y)
    >>> sorted(display.names)
    ['x2', 'x5']
    """

    def __init__(
        self,
        *,
        grid: tuple[np.ndarray, np.ndarray],
        surface: ArrayLike,
        points: np.ndarray,
        codes: np.ndarray,
        classes: Sequence | np.ndarray,
        names: Sequence[str],
    ):
        self.grid, self.surface, self.points = grid, np.asarray(surface), points
        self.codes, self.classes, self.names = codes, list(classes), names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        columns: Sequence[int] | None = None,
        resolution: int = 60,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the decision of a fitted metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to search for neighbours.
        columns : pair of int or None, default=None
            The columns to show; None takes the two of largest importance.
        resolution : int, default=60
            Points of the grid along each axis.
        """
        rows, codes, classes = cls._check_rows(estimator, X, y)
        if rows.shape[1] < 2:
            raise ValueError("a surface needs two columns, and X has one.")
        leading = np.argsort(-estimator.feature_importances_, kind="stable")[:2]
        pair = list(leading if columns is None else columns)
        grid = [np.linspace(rows[:, c].min(), rows[:, c].max(), resolution) for c in pair]
        plane = np.tile(np.median(rows, axis=0), (resolution**2, 1))
        plane[:, pair] = np.column_stack([values.ravel() for values in np.meshgrid(*grid)])
        points, ones = estimator._points(rows), np.ones(len(rows))
        rules = NeighborClassifier(
            points, codes, ones, len(classes), estimator.n_neighbors, "margin"
        )
        scores = rules.scores(estimator._points(plane))
        surface = scores[:, 1] - scores[:, 0] if len(classes) == 2 else 1.0 * scores.argmax(axis=1)
        return cls(
            grid=(grid[0], grid[1]),
            surface=surface.reshape(resolution, resolution),
            points=rows[:, pair],
            codes=codes,
            classes=classes,
            names=[_column_names(estimator)[c] for c in pair],
        ).plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        is_binary, n_classes = len(self.classes) == 2, len(self.classes)
        colours = ("#8f1d21", "#1b4f8a") if is_binary else list(islice(cycle(COLOURS), n_classes))
        if is_binary:
            limit = np.quantile(np.abs(self.surface), 0.9) or 1.0
            levels = np.linspace(-limit, limit, 13)
            options = style(kwargs, levels=levels, cmap="RdBu", extend="both", alpha=0.6)
        else:
            levels = np.arange(len(self.classes) + 1) - 0.5
            options = style(kwargs, levels=levels, colors=colours, alpha=0.25)
        self.surface_ = ax.contourf(*self.grid, self.surface, **options)
        if is_binary:
            ax.contour(*self.grid, self.surface, levels=[0.0], colors="black", linewidths=1.2)
            label = "f: above 0 the second class is nearer"
            self.figure_.colorbar(self.surface_, ax=ax, label=label, format="%.2g")
        for c, (label, colour) in enumerate(zip(self.classes, colours, strict=True)):
            marker = style(s=9, color=colour, edgecolor="white", linewidth=0.3)
            ax.scatter(*self.points[self.codes == c].T, **marker, label=str(label))
        ax.legend(title="class", fontsize="small", framealpha=0.9)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


class MetricHistogramDisplay(_MetricDisplay, drawn_by="`hist`"):
    """Rows along the main direction of the learnt space, as one histogram for each class.

    Use `from_estimator`. The direction is the first principal component of the transformed rows,
    with the sign of its largest loading.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Coordinate of each row along the direction.
    codes : array-like of int of shape (n_samples,)
        Class numbers.
    classes : sequence
        Class labels.

    Attributes
    ----------
    {axes}

    {paper}, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MetricHistogramDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = (X[:, 2] > 0).astype(int)
    >>> model = SDist(max_iter=100, random_state=0).fit(X, y)
    >>> display = MetricHistogramDisplay.from_estimator(model, X, y)
    >>> len(display.values)
    200
    """

    def __init__(self, *, values: ArrayLike, codes: ArrayLike, classes: Sequence | np.ndarray):
        self.values, self.codes = as_arrays(values=values, codes=codes)
        self.classes = list(classes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        bins: int = 30,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw some rows in the space of a fitted metric.

        Parameters
        ----------
        bins : int, default=30
            Number of bars of a histogram.
        """
        rows, codes, classes = cls._check_rows(estimator, X, y)
        points = estimator._points(rows)
        points = points - points.mean(axis=0)
        direction = np.linalg.svd(points, full_matrices=False)[2][0]
        values = points @ (direction * np.sign(direction[np.abs(direction).argmax()]))
        return cls(values=values, codes=codes, classes=classes).plot(ax=ax, bins=bins, **kwargs)

    def plot(self, ax: OptionalAxes = None, *, bins: int = 30, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        edges = np.histogram_bin_edges(self.values, bins)
        for c, (label, colour) in enumerate(zip(self.classes, cycle(COLOURS), strict=False)):
            options = style(kwargs, bins=edges, alpha=0.6, color=colour, label=str(label))
            ax.hist(self.values[self.codes == c], **options)
        ax.legend(title="class", fontsize="small")
        ax.set(xlabel="coordinate along the main direction", ylabel="rows")
        return self


class MetricStepsDisplay(_MetricDisplay, content="the steps of a metric", drawn_by="`plot`"):
    """Loss and complexity of a metric against its steps.

    Use `from_estimator`. The dotted line marks the step where the metric was cut.

    Parameters
    ----------
    steps : array-like
        Number of the step at each point.
    loss : array-like
        Mean loss at each point.
    complexity : sequence of (int, float)
        Number of the step, and the trace of the square root of W.
    kept : int
        Number of steps of the metric.

    Attributes
    ----------
    {axes}
    line_ : matplotlib Line2D
        The loss.

    {paper}, equation (2.15).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MetricStepsDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = (X[:, 2] > 0).astype(int)
    >>> model = SDist(max_iter=100, refresh_every=0, random_state=0).fit(X, y)
    >>> display = MetricStepsDisplay.from_estimator(model)
    >>> bool(display.loss[-1] < display.loss[0])
    True
    """

    def __init__(
        self, *, steps: ArrayLike, loss: ArrayLike, complexity: Sequence[tuple], kept: int
    ):
        self.steps, self.loss = as_arrays(steps=steps, loss=loss)
        self.complexity, self.kept = list(complexity), kept

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw the history of a fitted metric."""
        cls._fitted_attribute(estimator, "terms_")
        history = estimator.history_
        steps, loss = ([record[key] for record in history] for key in ("step", "loss"))
        # The first step at which so many steps were accepted.
        step_of = {record["accepted"]: record["step"] for record in reversed(history)}
        complexity = [
            (step_of[number], step["complexity"])
            for number, step in enumerate(estimator.steps_, 1)
            if step["complexity"] and number in step_of
        ]
        kept = step_of.get(len(estimator.steps_), len(steps))
        return cls(steps=steps, loss=loss, complexity=complexity, kept=kept).plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        (self.line_,) = ax.plot(self.steps, self.loss, **style(kwargs, color=ACCENT, label="loss"))
        ax.axvline(self.kept, color=SOFT, linewidth=1, linestyle=":")
        ax.set(xlabel="steps tried", ylabel="mean exp(-margin)")
        if self.complexity:
            complexity_ax = ax.twinx()
            complexity_ax.spines[["top"]].set_visible(False)
            options = style(color=OTHER, marker=".", label="complexity")
            (complexity_line,) = complexity_ax.plot(*zip(*self.complexity, strict=True), **options)
            complexity_ax.set_ylabel("trace of the root of W")
            ax.legend(handles=[self.line_, complexity_line], fontsize="small")
        return self


class InteractionDisplay(
    _MetricDisplay,
    content="products of columns",
    way_out="Pass a fitted {estimators} with max_order=2.",
):
    """Columns on a circle, with products of two columns as lines between them.

    Use `from_estimator` with a metric of ``max_order=2`` or more. The wider a line, the larger the
    share of the product. A ring around a column is its square. Products of three or more columns
    are drawn as lines between all of them.

    Parameters
    ----------
    columns : dict of {str: float}
        Share of each single column in the metric.
    products : dict of {tuple of str: float}
        Share of each product in the metric.

    Attributes
    ----------
    {axes}
    places_ : dict of {str: ndarray}
        Coordinates of each column.

    {paper}, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import InteractionDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(400, 8))
    >>> y = (X[:, 2] * X[:, 5] > 0.2).astype(int)
    >>> model = SDist(max_order=2, max_iter=200, random_state=0).fit(X, y)
    >>> display = InteractionDisplay.from_estimator(model, n_terms=6)
    >>> max(display.products, key=display.products.get)
    ('x2', 'x5')
    """

    def __init__(self, *, columns: Mapping[str, float], products: Mapping[tuple, float]):
        self.columns, self.products = dict(columns), dict(products)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_terms: int = 20,
        input_features: OptionalNames = None,
        ax: OptionalAxes = None,
    ) -> Self:
        """Draw the terms of a fitted metric.

        Parameters
        ----------
        n_terms : int, default=20
            Number of terms to draw, those of the largest share.
        input_features : array-like of str or None, default=None
            Names of the columns; None takes those of `fit`, or x0, x1, and so on.
        """
        terms, shares = cls._fitted_attribute(estimator, "terms_"), estimator._term_importances()
        names = (
            _column_names(estimator)
            if input_features is None
            else np.asarray(input_features, dtype=object)
        )
        largest = np.argsort(-shares)[:n_terms]
        named = {tuple(names[j] for j in terms[k]): float(shares[k]) for k in largest}
        columns = {name: named.get((name,), 0.0) for term in named for name in term}
        products = {term: share for term, share in named.items() if len(term) > 1}
        return cls(columns=columns, products=products).plot(ax=ax)

    def plot(self, ax: OptionalAxes = None) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        ax.spines[:].set_visible(False)
        names = sorted(self.columns)
        angles = 2 * np.pi * np.arange(len(names)) / max(1, len(names))
        points = np.column_stack((np.cos(angles), np.sin(angles)))
        self.places_ = dict(zip(names, points, strict=True))
        largest = max([*self.columns.values(), *self.products.values(), 1e-300])
        for term, share in self.products.items():
            width = 0.6 + 7.0 * share / largest
            if len(set(term)) == 1:
                ring = style(s=380, c="none", edgecolor=OTHER, linewidth=width / 2, zorder=2)
                ax.scatter(*self.places_[term[0]], **ring)
            for pair in combinations(sorted(set(term)), 2):
                ends = zip(*(self.places_[name] for name in pair), strict=True)
                ax.plot(*ends, color=OTHER, linewidth=width, alpha=0.7, zorder=1)
        for name, (x, y) in self.places_.items():
            size = 20 + 260 * self.columns[name] / largest
            ax.scatter(x, y, **style(s=size, color=ACCENT, zorder=3))
            side = "left" if x > 0.05 else "right" if x < -0.05 else "center"
            height = "bottom" if y > 0.7 else "top" if y < -0.7 else "center"
            ax.annotate(name, (1.14 * x, 1.14 * y), ha=side, va=height)
        ax.set(xticks=[], yticks=[], xlim=(-1.6, 1.6), ylim=(-1.4, 1.4), aspect="equal")
        return self
