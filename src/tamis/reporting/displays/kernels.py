"""Figure of the weights of kernels: columns against kinds."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.methods.multiple_kernels.matrices.kinds import Kernel
from tamis.reporting.displays.drawing import Ax, Display, looks, one_output


class KernelWeightsDisplay(
    Display,
    shows="weights of kernels",
    of="GMKLClassifier or GMKLRegressor",
    drawn_by="`pcolormesh`",
):
    """Weights of the kernels of a model: what each kernel looks at, against its kind.

    Use `from_estimator`. It shows which columns matter, alone or all together, and in which way:
    narrow Gaussians are wiggly effects, wide ones and low degrees smooth ones. Empty cells have
    weight 0.

    Parameters
    ----------
    weights : array-like of shape (n_rows, n_kinds)
        Weights; nan where there is no such kernel.
    rows : list of str of length n_rows
        What the kernels look at: "all", a column, or a group of columns.
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
        cls, estimator: Any, *, output: int = 0, max_rows: int = 30, ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted model.

        Parameters
        ----------
        max_rows : int, default=30
            Most rows of the figure; those of the largest weights stay.
        """
        weights = one_output(np.atleast_2d(cls._held(estimator, "kernel_weights_")), output)
        return cls(**_table(estimator, weights, max_rows)).plot(ax=ax, **kwargs)

    def plot(self, ax: Ax = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._take_axes(ax)
        shown = np.ma.masked_where(~(self.weights > 0.0), self.weights)
        look = looks(kwargs, cmap="viridis_r", vmin=0.0, edgecolors="white", linewidth=0.8)
        self.image_ = ax.pcolormesh(shown, **look)
        turned = (
            {} if len(self.kinds) <= 4 else looks(rotation=60, ha="right", rotation_mode="anchor")
        )
        ax.set_xticks(np.arange(len(self.kinds)) + 0.5, self.kinds, **turned)
        ax.set_yticks(np.arange(len(self.rows)) + 0.5, self.rows)
        ax.set_ylim(len(self.rows), 0)
        ax.tick_params(length=0)
        self.figure_.colorbar(self.image_, ax=ax, label="weight")
        return self


def _table(estimator, weights: np.ndarray, max_rows: int) -> dict:
    """Weights by what kernels look at and by kind; the rows of the largest weights, in the order in
    which they come.
    """
    places = [
        _place(kernel, name)
        for kernel, name in zip(estimator._rows.kernels, estimator.kernel_names_, strict=True)
    ]
    rows, kinds = (list(dict.fromkeys(place[k] for place in places)) for k in (0, 1))
    table = np.full((len(rows), len(kinds)), np.nan)
    for weight, (row, kind) in zip(weights, places, strict=True):
        at = rows.index(row), kinds.index(kind)
        table[at] = np.nansum([table[at], weight])
    kept = np.sort(np.argsort(-np.nan_to_num(table).max(axis=1), kind="stable")[:max_rows])
    return {"weights": table[kept], "rows": [rows[k] for k in kept], "kinds": kinds}


def _place(kernel, name: str) -> tuple[str, str]:
    """What a kernel looks at, and its kind."""
    if not isinstance(kernel, Kernel):
        return name, "kernel"
    word = "width" if kernel.kind == "gaussian" else "degree"
    return kernel.label, f"{word} {kernel.parameter:g}"
