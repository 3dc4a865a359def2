"""What the figures share: axes, refusals, colours, and the sentences of their docstrings.

matplotlib is loaded here, when a figure is drawn.
"""

import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure
else:
    Axes = Axis = Figure = SubFigure = Any

Ax = Axes | None  # where to draw; None makes a figure
Names = Sequence[str] | None
ACCENT, OTHER, SOFT = "#005b8f", "#a34700", "#7a766f"
DASHED: dict[str, Any] = {"color": OTHER, "linestyle": "--", "linewidth": 1}
DOTTED: dict[str, Any] = {"color": SOFT, "linestyle": ":", "linewidth": 1.2}

SHARED = """estimator : {of}
    A fitted model.
ax : matplotlib Axes or None, default=None
    Where to draw; None makes a figure.
name : str or None, default=None
    Name for the legend; None takes the class of the estimator, if there is one.
output : int, default=0
    Which class or target, where each has its own.
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Rows.
y : array-like of shape (n_samples,)
    Their classes.
**kwargs : dict
    For matplotlib's {drawn_by}."""
ATTRIBUTES = """ax_ : matplotlib Axes
    Axes that were drawn on.
figure_ : matplotlib Figure
    Figure that holds them."""
ENTRY = re.compile(r"^(\*{0,2}(\w+) :.*(?:\n +.*)*)", re.MULTILINE)


class Display:
    """A figure that keeps what it draws.

    A subclass says in `words` what it `shows`, `of` which models, and what it is `drawn_by`. Its
    `plot` takes axes and returns the display; its other public methods make a display and plot it.
    A class describes each parameter once, and none of those that are `SHARED`: the docstrings are
    completed here.
    """

    ax_: Axes
    figure_: Figure | SubFigure
    _words: ClassVar = {"axes": ATTRIBUTES, "way_out": "Pass a fitted {of}."}

    def __init_subclass__(cls, **words: str) -> None:
        cls._words = cls._words | words
        if cls.__doc__ is None:  # python -OO
            return
        cls.__doc__ = cls._filled(inspect.cleandoc(cls.__doc__))
        said = _entries(cls._filled(SHARED))
        for name in [name for name in vars(cls) if not name.startswith("_")]:
            method = getattr(cls, name)
            if inspect.isroutine(method):
                _complete(getattr(method, "__func__", method), said, cls.__name__)

    @classmethod
    def _filled(cls, text: str) -> str:
        """A text with the words of the class in their places."""
        for word, said in cls._words.items():
            text = text.replace(f"{{{word}}}", said)
        return text

    @classmethod
    def _refusal(cls, estimator: Any) -> TypeError:
        """What is said of a model that has not what the figure shows."""
        lacks = f"{cls.__name__} shows {{shows}}, which {type(estimator).__name__} does not have."
        return TypeError(cls._filled(f"{lacks} {{way_out}}"))

    @classmethod
    def _held(cls, estimator: Any, name: str) -> Any:
        """What a fitted model holds under a name; one that has not such a thing is refused."""
        check_is_fitted(estimator)
        found = getattr(estimator, name, None)
        if found is None:
            raise cls._refusal(estimator)
        return found

    def _take_axes(self, ax: Ax) -> Axes:
        """Axes to draw on, new ones if none are given; they become `ax_` and `figure_`."""
        ax = self._new_axes() if ax is None else ax
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _new_axes(self, *shape: int, **size: Any) -> Any:
        """Axes in a figure of their own."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as failure:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib, which is not installed; install the "
                "extra `plot`: pip install 'tamis[plot]'."
            ) from failure
        return plt.subplots(*shape, layout="constrained", **size)[1]


def _entries(text: str) -> dict[str, str]:
    """Parameters of a docstring, by name."""
    return {name: entry for entry, name in ENTRY.findall(text)}


def _complete(method: Any, said: dict[str, str], display: str) -> None:
    """Describe all parameters of a method, by its own docstring or else as `said` before."""
    summary, _, own = inspect.cleandoc(method.__doc__).partition("\n\nParameters\n----------\n")
    said.update(_entries(own))
    taken = [said[name] for name in inspect.signature(method).parameters if name in said]
    parts = ["Parameters\n----------", *taken, "\nReturns\n-------", f"display : {display}"]
    method.__doc__ = "\n".join([summary, "", *parts])


def looks(given: dict[str, Any] | None = None, **ours: Any) -> dict[str, Any]:
    """How to draw: as the house does, unless a user says otherwise."""
    return ours | (given or {})


def label_counts(axis: Axis) -> None:
    """Few ticks of counts, with marks at the thousands."""
    from matplotlib.ticker import MaxNLocator

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def as_arrays(**columns: ArrayLike) -> list[np.ndarray]:
    """Columns of numbers, of equal length."""
    arrays = [np.atleast_1d(np.asarray(column, dtype=float)) for column in columns.values()]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        shapes = [f"{name} {array.shape}" for name, array in zip(columns, arrays, strict=True)]
        raise ValueError(
            "what is drawn together must have one dimension and equal length. Got "
            f"{', '.join(shapes)}."
        )
    return arrays


def one_output(outputs: Sequence | np.ndarray, output: int) -> Any:
    """What belongs to one of several outputs."""
    if not 0 <= output < len(outputs):
        raise ValueError(
            f"The 'output' parameter must be between 0 and {len(outputs) - 1}. Got {output!r} "
            "instead."
        )
    return outputs[output]
