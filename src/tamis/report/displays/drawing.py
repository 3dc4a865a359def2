"""What the figures share: axes, colours and manners.

matplotlib is loaded here, when a figure is drawn.
"""

import numpy as np

ACCENT, OTHER, SOFT = "#005b8f", "#a34700", "#7a766f"


def take_axes(display, ax=None):
    """Axes to draw on, new ones if none are given; they become `ax_` and `figure_` of the display."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as failure:
        name = type(display).__name__
        raise ImportError(
            f"{name}.plot needs matplotlib, which is not installed; install the extra `plot`: pip "
            "install 'tamis[plot]'."
        ) from failure
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def label_counts(axis) -> None:
    """Few ticks of counts, with marks at the thousands."""
    from matplotlib.ticker import MaxNLocator

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def as_arrays(**columns) -> list[np.ndarray]:
    """Columns of numbers, of equal length."""
    arrays = [np.atleast_1d(np.asarray(column, dtype=float)) for column in columns.values()]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        shapes = ", ".join(
            f"{name} {array.shape}" for name, array in zip(columns, arrays, strict=True)
        )
        raise ValueError(
            f"what is drawn together must have one dimension and equal length. Got {shapes}."
        )
    return arrays


def lacks(display: type, estimator, what: str, way_out: str) -> TypeError:
    """The refusal of a model that has not what a figure shows."""
    return TypeError(
        f"{display.__name__} shows {what}, which {type(estimator).__name__} does not have. "
        f"{way_out}"
    )
