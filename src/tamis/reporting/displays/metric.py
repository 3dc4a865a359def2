"""Figures of a learnt metric: its surface over two columns, its first direction by class, the
course of its steps, and the graph of its products.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle, islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from tamis.base.validation import take_blocks
from tamis.methods.metric_learning.rules import Rules
from tamis.reporting.displays.drawing import (
    ACCENT,
    OTHER,
    SOFT,
    Ax,
    Display,
    Names,
    as_arrays,
    looks,
)

COLOURS = (ACCENT, OTHER, "#3f7d3a", "#7b4fa3", "#b58a00", SOFT)
PAPER = """See Also
--------
SDist : Learns the metric.

References
----------
Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
2015"""


def _names(estimator) -> list[str]:
    """Names of all columns, x0, x1 and so on where `fit` met none."""
    unnamed = [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", unnamed)]


class _MetricDisplay(Display, shows="a learnt metric", of="SDist or SDistClassifier", paper=PAPER):
    """A figure of a metric."""

    @classmethod
    def _taken(cls, estimator, X, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Checked dense rows, class numbers and class labels."""
        cls._held(estimator, "terms_")
        rows = take_blocks(estimator, X, reset=False)
        rows = rows.scipy().toarray() if hasattr(rows, "scipy") else rows
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        if len(codes) != len(rows):
            raise ValueError(f"X has {len(rows)} rows and y {len(codes)} classes. Give one a row.")
        return np.asarray(rows, dtype=float), codes, classes


class MetricSurfaceDisplay(_MetricDisplay, drawn_by="`contourf`"):
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
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw for a fitted metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows among which neighbours are looked for.
        columns : pair of int or None, default=None
            The columns to show; None takes the two of largest importance.
        resolution : int, default=60
            Points of the grid along each axis.
        """
        rows, codes, classes = cls._taken(estimator, X, y)
        if rows.shape[1] < 2:
            raise ValueError("a surface needs two columns, and X has one.")
        leading = np.argsort(-estimator.feature_importances_, kind="stable")[:2]
        pair = list(leading if columns is None else columns)
        across, up = (np.linspace(rows[:, c].min(), rows[:, c].max(), resolution) for c in pair)
        asked = np.tile(np.median(rows, axis=0), (resolution**2, 1))
        asked[:, pair] = np.column_stack([part.ravel() for part in np.meshgrid(across, up)])
        points, ones = estimator._points(rows), np.ones(len(rows))
        rules = Rules(points, codes, ones, len(classes), estimator.n_neighbors, "margin")
        scores = rules.scores(estimator._points(asked))
        surface = scores[:, 1] - scores[:, 0] if len(classes) == 2 else 1.0 * scores.argmax(axis=1)
        return cls(
            grid=(across, up),
            surface=surface.reshape(resolution, resolution),
            points=rows[:, pair],
            codes=codes,
            classes=classes,
            names=[_names(estimator)[c] for c in pair],
        ).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        two = len(self.classes) == 2
        colours = ("#8f1d21", "#1b4f8a") if two else list(islice(cycle(COLOURS), len(self.classes)))
        if two:
            top = np.quantile(np.abs(self.surface), 0.9) or 1.0
            levels = np.linspace(-top, top, 13)
            look = looks(kwargs, levels=levels, cmap="RdBu", extend="both", alpha=0.6)
        else:
            levels = np.arange(len(self.classes) + 1) - 0.5
            look = looks(kwargs, levels=levels, colors=colours, alpha=0.25)
        self.surface_ = ax.contourf(*self.grid, self.surface, **look)
        if two:
            ax.contour(*self.grid, self.surface, levels=[0.0], colors="black", linewidths=1.2)
            label = "f: above 0 the second class is nearer"
            self.figure_.colorbar(self.surface_, ax=ax, label=label, format="%.2g")
        for c, (label, colour) in enumerate(zip(self.classes, colours, strict=True)):
            dots = looks(s=9, color=colour, edgecolor="white", linewidth=0.3)
            ax.scatter(*self.points[self.codes == c].T, **dots, label=str(label))
        ax.legend(title="class", fontsize="small", framealpha=0.9)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


class MetricHistogramDisplay(_MetricDisplay, drawn_by="`hist`"):
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
        cls, estimator: Any, X: Any, y: ArrayLike, *, bins: int = 30, ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw for a fitted metric and some rows.

        Parameters
        ----------
        bins : int, default=30
            Bars of a histogram.
        """
        rows, codes, classes = cls._taken(estimator, X, y)
        points = estimator._points(rows)
        points = points - points.mean(axis=0)
        direction = np.linalg.svd(points, full_matrices=False)[2][0]
        values = points @ (direction * np.sign(direction[np.abs(direction).argmax()]))
        return cls(values=values, codes=codes, classes=classes).plot(ax=ax, bins=bins, **kwargs)

    def plot(self, ax: Ax = None, *, bins: int = 30, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        edges = np.histogram_bin_edges(self.values, bins)
        for c, (label, colour) in enumerate(zip(self.classes, cycle(COLOURS), strict=False)):
            look = looks(kwargs, bins=edges, alpha=0.6, color=colour, label=str(label))
            ax.hist(self.values[self.codes == c], **look)
        ax.legend(title="class", fontsize="small")
        ax.set(xlabel="place along the main direction", ylabel="rows")
        return self


class MetricStepsDisplay(_MetricDisplay, shows="the steps of a metric", drawn_by="`plot`"):
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
    def from_estimator(cls, estimator: Any, *, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw for a fitted metric."""
        cls._held(estimator, "terms_")
        steps, loss = ([one[key] for one in estimator.history_] for key in ("step", "loss"))
        last = {record["accepted"]: record["step"] for record in reversed(estimator.history_)}
        pairs = [
            (last[number], step["complexity"])
            for number, step in enumerate(estimator.steps_, 1)
            if step["complexity"] and number in last
        ]
        kept = last.get(len(estimator.steps_), len(steps))
        return cls(steps=steps, loss=loss, complexity=pairs, kept=kept).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        (self.line_,) = ax.plot(self.steps, self.loss, **looks(kwargs, color=ACCENT, label="loss"))
        ax.axvline(self.kept, color=SOFT, linewidth=1, linestyle=":")
        ax.set(xlabel="steps tried", ylabel="mean exp(-margin)")
        if self.complexity:
            other = ax.twinx()
            other.spines[["top"]].set_visible(False)
            look = looks(color=OTHER, marker=".", label="complexity")
            (second,) = other.plot(*zip(*self.complexity, strict=True), **look)
            other.set_ylabel("trace of the root of W")
            ax.legend(handles=[self.line_, second], fontsize="small")
        return self


class InteractionDisplay(
    _MetricDisplay, shows="products of columns", way_out="Pass a fitted {of} with max_order=2."
):
    """Columns on a circle, products of two as lines between them: the wider, the more they matter.

    Use `from_estimator` with a metric of ``max_order=2`` or more. A ring round a column is its
    square. Products of three or more are drawn as lines between all their columns.

    Parameters
    ----------
    columns : dict of {str: float}
        Share of each column by itself.
    products : dict of {tuple of str: float}
        Share of each product.

    Attributes
    ----------
    {axes}
    places_ : dict of {str: ndarray}
        Where each column stands.

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
        cls, estimator: Any, *, n_terms: int = 20, input_features: Names = None, ax: Ax = None
    ) -> Self:
        """Draw for a fitted metric.

        Parameters
        ----------
        n_terms : int, default=20
            Terms to show, those of largest share.
        input_features : array-like of str or None, default=None
            Names of the columns; None takes those of `fit`, or x0, x1, and so on.
        """
        terms, shares = cls._held(estimator, "terms_"), estimator._term_shares()
        names = (
            _names(estimator)
            if input_features is None
            else np.asarray(input_features, dtype=object)
        )
        chosen = np.argsort(-shares)[:n_terms]
        named = {tuple(names[j] for j in terms[at]): float(shares[at]) for at in chosen}
        columns = {name: named.get((name,), 0.0) for term in named for name in term}
        products = {term: share for term, share in named.items() if len(term) > 1}
        return cls(columns=columns, products=products).plot(ax=ax)

    def plot(self, ax: Ax = None) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        ax.spines[:].set_visible(False)
        names = sorted(self.columns)
        turn = 2 * np.pi * np.arange(len(names)) / max(1, len(names))
        self.places_ = dict(zip(names, np.column_stack((np.cos(turn), np.sin(turn))), strict=True))
        top = max([*self.columns.values(), *self.products.values(), 1e-300])
        for term, share in self.products.items():
            width = 0.6 + 7.0 * share / top
            if len(set(term)) == 1:
                ring = looks(s=380, c="none", edgecolor=OTHER, linewidth=width / 2, zorder=2)
                ax.scatter(*self.places_[term[0]], **ring)
            for pair in combinations(sorted(set(term)), 2):
                ends = zip(*(self.places_[name] for name in pair), strict=True)
                ax.plot(*ends, color=OTHER, linewidth=width, alpha=0.7, zorder=1)
        for name, place in self.places_.items():
            size = 20 + 260 * self.columns[name] / top
            ax.scatter(*place, **looks(s=size, color=ACCENT, zorder=3))
            side = "left" if place[0] > 0.05 else "right" if place[0] < -0.05 else "center"
            height = "bottom" if place[1] > 0.7 else "top" if place[1] < -0.7 else "center"
            ax.annotate(name, place * 1.14, ha=side, va=height)
        ax.set(xticks=[], yticks=[], xlim=(-1.6, 1.6), ylim=(-1.4, 1.4), aspect="equal")
        return self
