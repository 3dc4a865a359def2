"""The figure of kernel weights: columns by kinds of kernels."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.methods.multiple_kernels.matrices.kinds import Kernel
from tamis.reporting.displays.base import Display, OptionalAxes, select_output, style


class KernelWeightsDisplay(
    Display,
    content="weights of kernels",
    estimators="GMKLClassifier or GMKLRegressor",
    drawn_by="`pcolormesh`",
):
    """Weights of the kernels of a model: the columns of each kernel by its kind.

    Use `from_estimator`. It shows which columns matter, alone or together, and how: narrow
    Gaussians stand for wiggly effects, wide ones and low degrees for smooth effects. Empty cells
    have weight 0.

    Parameters
    ----------
    weights : array-like of shape (n_rows, n_kinds)
        Weights; nan where there is no such kernel.
    rows : list of str of length n_rows
        Columns of the kernels: "all", a column, or a group of columns.
    kinds : list of str of length n_kinds
        Kinds of kernels.

    Attributes
    ----------
    {axes}
    image_ : matplotlib QuadMesh
        The weights.

    See Also
    --------
    GMKLClassifier : Learns such weights.
    kernel_dictionary : Makes the kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GMKLClassifier, KernelWeightsDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 4))
    >>> model = GMKLClassifier(tol=1e-2).fit(X, X[:, 0] ** 2 > 0.5)
    >>> display = KernelWeightsDisplay.from_estimator(model)
    >>> display.weights.shape, "x0" in display.rows
    ((5, 13), True)
    """

    def __init__(self, *, weights: ArrayLike, rows: Sequence[str], kinds: Sequence[str]):
        self.weights = np.asarray(weights, dtype=float)
        self.rows, self.kinds = list(rows), list(kinds)
        if self.weights.shape != (len(self.rows), len(self.kinds)):
            raise ValueError(
                f"weights has shape {self.weights.shape}, but there are {len(self.rows)} rows and "
                f"{len(self.kinds)} kinds."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output: int = 0,
        max_rows: int = 30,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the weights of a fitted model.

        Parameters
        ----------
        max_rows : int, default=30
            Largest number of rows in the figure; those with the largest weights are drawn.
        """
        weights = select_output(
            np.atleast_2d(cls._fitted_attribute(estimator, "kernel_weights_")), output
        )
        return cls(**_table(estimator, weights, max_rows)).plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        positive = np.ma.masked_where(~(self.weights > 0.0), self.weights)
        options = style(kwargs, cmap="viridis_r", vmin=0.0, edgecolors="white", linewidth=0.8)
        self.image_ = ax.pcolormesh(positive, **options)
        rotation = (
            {} if len(self.kinds) <= 4 else style(rotation=60, ha="right", rotation_mode="anchor")
        )
        ax.set_xticks(np.arange(len(self.kinds)) + 0.5, self.kinds, **rotation)
        ax.set_yticks(np.arange(len(self.rows)) + 0.5, self.rows)
        ax.set_ylim(len(self.rows), 0)
        ax.tick_params(length=0)
        self.figure_.colorbar(self.image_, ax=ax, label="weight")
        return self


def _table(estimator, weights: np.ndarray, max_rows: int) -> dict:
    """Return weights by columns and kind, as arguments of the display.

    Of more than `max_rows` rows those with the largest weights remain, in their order.
    """
    cells = [
        _columns_and_kind(kernel, name)
        for kernel, name in zip(estimator._rows.kernels, estimator.kernel_names_, strict=True)
    ]
    rows, kinds = (list(dict.fromkeys(cell[k] for cell in cells)) for k in (0, 1))
    table = np.full((len(rows), len(kinds)), np.nan)
    for weight, (row, kind) in zip(weights, cells, strict=True):
        index = rows.index(row), kinds.index(kind)
        table[index] = np.nansum([table[index], weight])
    row_weights = np.nan_to_num(table).max(axis=1)
    largest = np.sort(np.argsort(-row_weights, kind="stable")[:max_rows])
    return {"weights": table[largest], "rows": [rows[k] for k in largest], "kinds": kinds}


def _columns_and_kind(kernel, name: str) -> tuple[str, str]:
    """Return the names of a kernel's columns and of its kind."""
    if not isinstance(kernel, Kernel):
        return name, "kernel"
    parameter = "width" if kernel.kind == "gaussian" else "degree"
    return kernel.label, f"{parameter} {kernel.parameter:g}"
