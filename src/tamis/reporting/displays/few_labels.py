"""The figure of a TriClassSVC: regions of the classes, and how it sorts the unlabelled rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamis.base.fast_checks import to_dense
from tamis.reporting.displays.base import ACCENT, OTHER, SOFT, Display, OptionalAxes, style

PALETTE = (OTHER, ACCENT, "#3f7f3f", "#7b3fa0", "#b8860b", "#008080", "#aa3377", "#555500")


class TriClassDisplay(
    Display,
    content="rows of a class and rows of none",
    way_out="Fit a TriClassSVC.",
    drawn_by="`pcolormesh`",
):
    """Regions of a machine for few labels in the plane of two columns, with its rows.

    Use `from_estimator`. Shades are the regions of the classes; white is the region of no class.
    With two classes, lines are drawn where the score is -1, 0 (bold) and 1. Filled points are
    labelled rows, rings are unlabelled rows that were assigned to a class, crosses are rows that
    were found irrelevant.

    Parameters
    ----------
    grid : tuple of two ndarrays
        Values of the two columns along the axes.
    regions : array-like of int, shape (len(grid[1]), len(grid[0]))
        Class number at each point of the plane, -1 for no class.
    scores : array-like of the same shape, or None
        Scores of a machine of two classes, for the lines.
    points : array-like of shape (n_points, 2)
        The two columns of the rows.
    kinds : array-like of int, shape (n_points,)
        Class number of each row, -1 for no class.
    labelled : array-like of bool, shape (n_points,)
        Mask of the labelled rows.
    classes : sequence
        Names of the classes.
    names : sequence of two str, default=("column 0", "column 1")
        Names of the columns.

    Attributes
    ----------
    {axes}
    surface_ : matplotlib QuadMesh
        The regions.
    points_ : list of matplotlib PathCollection
        The points: irrelevant rows, then unlabelled and labelled rows of each class.

    See Also
    --------
    TriClassSVC : Makes such regions.
    sklearn.inspection.DecisionBoundaryDisplay : Regions of any classifier.

    References
    ----------
    H. Yang, S. Zhu, I. King and M. R. Lyu, "Can irrelevant data help semi-supervised learning, why
    and how?", CIKM 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TriClassDisplay, TriClassSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) + np.repeat([[3, 0], [-3, 0], [0, 0]], 20, axis=0)
    >>> y = np.where(np.arange(60) % 20 < 3, np.repeat([1, 2, -1], 20), -1)
    >>> model = TriClassSVC("3c", kernel="rbf", C_unlabeled=0.1).fit(X, y)
    >>> display = TriClassDisplay.from_estimator(model, X, y)
    >>> display.regions.shape
    (120, 120)
    """

    def __init__(
        self,
        *,
        grid: tuple[np.ndarray, np.ndarray],
        regions: ArrayLike,
        scores: ArrayLike | None,
        points: ArrayLike,
        kinds: ArrayLike,
        labelled: ArrayLike,
        classes: Sequence,
        names: Sequence[str] = ("column 0", "column 1"),
    ):
        self.grid, self.regions = grid, np.asarray(regions)
        self.scores = None if scores is None else np.asarray(scores, dtype=float)
        self.points, self.kinds = np.asarray(points, dtype=float), np.asarray(kinds)
        self.labelled = np.asarray(labelled, dtype=bool)
        if self.regions.shape != (len(grid[1]), len(grid[0])):
            raise ValueError(
                f"regions has shape {self.regions.shape}; a grid of {len(grid[0])} by "
                f"{len(grid[1])} points needs one number a point."
            )
        self.classes, self.names = list(classes), list(names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        columns: tuple[int, int] = (0, 1),
        resolution: int = 120,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a machine and the rows that it was fitted on.

        Parameters
        ----------
        estimator : TriClassSVC
            A fitted machine, without a precomputed kernel.
        y : array-like of shape (n_samples,)
            Their labels, with the marks of `fit`.
        columns : tuple of two int, default=(0, 1)
            Columns to draw. All other columns stay at their means, so with more than two columns
            the regions are those of that plane.
        resolution : int, default=120
            Points along each axis.
        """
        if not hasattr(estimator, "predict_tri"):
            raise cls._unsupported_error(estimator)
        check_is_fitted(estimator)
        if estimator.kernel == "precomputed":
            raise ValueError(
                "a precomputed kernel knows no plane to draw; fit the machine with a kernel by "
                "name."
            )
        rows, names = _dense_rows(X)
        pair = list(columns)
        x, y_axis = (_grid_values(rows[:, c], resolution) for c in pair)
        plane = np.tile(rows.mean(axis=0), (resolution**2, 1))
        plane[:, pair] = np.column_stack([values.ravel() for values in np.meshgrid(x, y_axis)])
        plane, shape = _with_names(plane, X, names), (resolution, resolution)
        is_binary, classes = len(estimator.classes_) == 2, estimator.classes_.tolist()
        labels = np.asarray(y, dtype=object)
        is_labelled = np.isin(labels, estimator.classes_.astype(object))
        assigned = np.where(is_labelled, labels, estimator.predict_tri(X))
        return cls(
            grid=(x, y_axis),
            regions=_class_numbers(classes, estimator.predict_tri(plane)).reshape(shape),
            scores=estimator.decision_function(plane).reshape(shape) if is_binary else None,
            points=rows[:, pair],
            kinds=_class_numbers(classes, assigned),
            labelled=is_labelled,
            classes=classes,
            names=[f"column {c}" if names is None else names[c] for c in pair],
        ).plot(ax=ax, **kwargs)

    def plot(self, *, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        from matplotlib.colors import ListedColormap, to_rgba

        colours = [PALETTE[k % len(PALETTE)] for k in range(len(self.classes))]
        shades = ListedColormap([to_rgba("white"), *(to_rgba(c, 0.16) for c in colours)])
        limits = {"vmin": -1.5, "vmax": len(colours) - 0.5}
        options = style(kwargs, cmap=shades, shading="auto", rasterized=True, **limits)
        self.surface_ = ax.pcolormesh(*self.grid, self.regions, **options)
        if self.scores is not None:
            lines = style(linewidths=[0.8, 1.8, 0.8], linestyles=["--", "-", "--"])
            ax.contour(*self.grid, self.scores, levels=[-1, 0, 1], colors="#333333", **lines)
        irrelevant = self.points[~self.labelled & (self.kinds < 0)]
        crosses = style(s=14, marker="x", c=SOFT, linewidths=0.8, label="taken for irrelevant")
        self.points_ = [ax.scatter(*irrelevant.T, **crosses)]
        for number, (name, colour) in enumerate(zip(self.classes, colours, strict=True)):
            in_class = self.kinds == number
            rings = style(s=16, facecolors="none", edgecolors=colour, linewidths=0.8)
            filled = style(s=60, c=colour, edgecolors="white", linewidths=1.0, zorder=3)
            self.points_ += [
                ax.scatter(*self.points[in_class & mask].T, **marker, label=f"{text} {name}")
                for mask, marker, text in (
                    (~self.labelled, rings, "taken for"),
                    (self.labelled, filled, "labelled"),
                )
            ]
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
        return self


def _dense_rows(X):
    """Return rows as a dense array, and the names of the columns or None."""
    names = list(X.columns) if hasattr(X, "columns") else None
    return np.asarray(to_dense(X, "X"), dtype=float), names


def _with_names(rows, X, names):
    """Return rows as the type of table that X is, so that the machine checks their names."""
    if names is None:
        return rows
    return type(X)(dict(zip(names, rows.T, strict=True)))


def _grid_values(values, resolution: int, margin: float = 0.08):
    """Return points along an axis, from a little below the values to a little above them."""
    low, high = float(values.min()), float(values.max())
    span = (high - low) or 1.0
    return np.linspace(low - margin * span, high + margin * span, resolution)


def _class_numbers(classes: list, labels) -> np.ndarray:
    """Return the number of each label's class, -1 for labels of no class."""
    numbers = {label: number for number, label in enumerate(classes)}
    values = np.asarray(labels, dtype=object).tolist()
    return np.array([numbers.get(label, -1) for label in values], dtype=int)
