"""The figure of few labels: where a machine draws its lines, and what it takes the unlabelled rows
for.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamis.base.fast_checks import dense
from tamis.reporting.displays.drawing import ACCENT, OTHER, SOFT, Ax, Display, looks

PALETTE = (OTHER, ACCENT, "#3f7f3f", "#7b3fa0", "#b8860b", "#008080", "#aa3377", "#555500")
ROOM = 0.08  # beyond the outermost points, as a share of their span


class TriClassDisplay(
    Display,
    shows="rows of a class and rows of none",
    way_out="Fit a TriClassSVC.",
    drawn_by="`pcolormesh`",
):
    """What a machine for few labels makes of the plane of two columns: regions, labelled rows, and
    unlabelled rows sorted by it.

    Use `from_estimator`. Shades are the regions of the classes; white is nearer to no class than to
    any. With two classes, lines are drawn where the score is -1, 0 (bold) and 1. Filled points are
    labelled, rings are unlabelled rows taken for rows of a class, crosses are rows taken for
    irrelevant.

    Parameters
    ----------
    grid : tuple of two ndarrays
        Values of the two columns along the axes.
    regions : array-like of int, shape (len(grid[1]), len(grid[0]))
        Number of the class at each point of the plane, -1 for none.
    scores : array-like of the same shape, or None
        Scores of two classes, for the lines.
    points : array-like of shape (n_points, 2)
        Rows, by the two columns.
    kinds : array-like of int, shape (n_points,)
        Number of each row's class, -1 for none.
    labelled : array-like of bool, shape (n_points,)
        Which rows had a label.
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
        The points: labelled, unlabelled, irrelevant.

    See Also
    --------
    TriClassSVC : The machine.
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
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a machine and the rows it was fitted on.

        Parameters
        ----------
        estimator : TriClassSVC
            A fitted machine, not of a precomputed kernel.
        y : array-like of shape (n_samples,)
            Their labels, with the marks of `fit`.
        columns : tuple of two int, default=(0, 1)
            Columns to draw. All others are held at their means: with more than two columns the
            regions are those of that plane.
        resolution : int, default=120
            Points along each axis.
        """
        if not hasattr(estimator, "predict_tri"):
            raise cls._refusal(estimator)
        check_is_fitted(estimator)
        if estimator.kernel == "precomputed":
            raise ValueError(
                "a precomputed kernel knows no plane to draw; fit the machine with a kernel by "
                "name."
            )
        rows, names = _plain(X)
        pair = list(columns)
        across, up = (_axis(rows[:, c], resolution) for c in pair)
        plane = np.tile(rows.mean(axis=0), (resolution**2, 1))
        plane[:, pair] = np.column_stack([part.ravel() for part in np.meshgrid(across, up)])
        asked, shape = _framed(plane, X, names), (resolution, resolution)
        two, classes = len(estimator.classes_) == 2, estimator.classes_.tolist()
        labels = np.asarray(y, dtype=object)
        known = np.isin(labels, estimator.classes_.astype(object))
        return cls(
            grid=(across, up),
            regions=_numbers(classes, estimator.predict_tri(asked)).reshape(shape),
            scores=estimator.decision_function(asked).reshape(shape) if two else None,
            points=rows[:, pair],
            kinds=_numbers(classes, np.where(known, labels, estimator.predict_tri(X))),
            labelled=known,
            classes=classes,
            names=[f"column {c}" if names is None else names[c] for c in pair],
        ).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        from matplotlib.colors import ListedColormap, to_rgba

        colours = [PALETTE[k % len(PALETTE)] for k in range(len(self.classes))]
        shades = ListedColormap([to_rgba("white"), *(to_rgba(c, 0.16) for c in colours)])
        reach = {"vmin": -1.5, "vmax": len(colours) - 0.5}
        look = looks(kwargs, cmap=shades, shading="auto", rasterized=True, **reach)
        self.surface_ = ax.pcolormesh(*self.grid, self.regions, **look)
        if self.scores is not None:
            lines = looks(linewidths=[0.8, 1.8, 0.8], linestyles=["--", "-", "--"])
            ax.contour(*self.grid, self.scores, levels=[-1, 0, 1], colors="#333333", **lines)
        beside = self.points[~self.labelled & (self.kinds < 0)]
        crosses = looks(s=14, marker="x", c=SOFT, linewidths=0.8, label="taken for irrelevant")
        self.points_ = [ax.scatter(*beside.T, **crosses)]
        for number, (name, colour) in enumerate(zip(self.classes, colours, strict=True)):
            own = self.kinds == number
            rings = looks(s=16, facecolors="none", edgecolors=colour, linewidths=0.8)
            filled = looks(s=60, c=colour, edgecolors="white", linewidths=1.0, zorder=3)
            self.points_ += [
                ax.scatter(*self.points[own & chosen].T, **look, label=f"{word} {name}")
                for chosen, look, word in (
                    (~self.labelled, rings, "taken for"),
                    (self.labelled, filled, "labelled"),
                )
            ]
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
        return self


def _plain(X):
    """Rows as a dense array, and the names of the columns where there are any."""
    names = list(X.columns) if hasattr(X, "columns") else None
    return np.asarray(dense(X, "X"), dtype=float), names


def _framed(rows, X, names):
    """The same kind of table as X, so that names are checked as usual."""
    if names is None:
        return rows
    return type(X)(dict(zip(names, rows.T, strict=True)))


def _axis(values, resolution: int):
    """Points along an axis, a little beyond the values."""
    low, high = float(values.min()), float(values.max())
    span = (high - low) or 1.0
    return np.linspace(low - ROOM * span, high + ROOM * span, resolution)


def _numbers(classes: list, labels) -> np.ndarray:
    """Numbers of the classes, -1 for what is none."""
    known = {label: number for number, label in enumerate(classes)}
    found = np.asarray(labels, dtype=object).tolist()
    return np.array([known.get(label, -1) for label in found], dtype=int)
