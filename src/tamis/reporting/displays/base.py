"""The base class of figures: axes, error messages, colours, and shared docstrings.

matplotlib is imported when a figure is drawn.
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

OptionalAxes = Axes | None  # where to draw; None makes a figure
OptionalNames = Sequence[str] | None
ACCENT, OTHER, SOFT = "#005b8f", "#a34700", "#7a766f"  # colours
DASHED: dict[str, Any] = {"color": OTHER, "linestyle": "--", "linewidth": 1}
DOTTED: dict[str, Any] = {"color": SOFT, "linestyle": ":", "linewidth": 1.2}

# Parameters of many displays, described once. Words in braces are filled in for each class.
PARAMETERS_DOC = """estimator : {estimators}
    A fitted model.
ax : matplotlib Axes or None, default=None
    Where to draw; None makes a figure.
name : str or None, default=None
    Name for the legend; None takes the class of the estimator, if there is one.
output : int, default=0
    Which class or target, if each has its own.
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Rows.
y : array-like of shape (n_samples,)
    Their classes.
**kwargs : dict
    For matplotlib's {drawn_by}."""
AXES_DOC = """ax_ : matplotlib Axes
    The axes of the figure.
figure_ : matplotlib Figure
    The figure."""
PARAMETER_ENTRY = re.compile(r"^(\*{0,2}(\w+) :.*(?:\n +.*)*)", re.MULTILINE)


class Display:
    """A figure that stores what it draws.

    The method `plot` of a subclass takes axes and returns the display; its other public methods
    make a display and plot it. A subclass names its `content`, the `estimators` that have it, and
    the function of matplotlib that it is `drawn_by`. These fill the words in braces of docstrings
    and messages. Each public method describes only the parameters that neither `PARAMETERS_DOC` nor
    an earlier method describes; the docstrings are completed here.
    """

    ax_: Axes
    figure_: Figure | SubFigure
    _placeholders: ClassVar = {"axes": AXES_DOC, "way_out": "Pass a fitted {estimators}."}

    def __init_subclass__(cls, **placeholders: str) -> None:
        cls._placeholders = cls._placeholders | placeholders
        if cls.__doc__ is None:  # python -OO
            return
        cls.__doc__ = cls._fill(inspect.cleandoc(cls.__doc__))
        entries = _parameter_entries(cls._fill(PARAMETERS_DOC))
        for name in [name for name in vars(cls) if not name.startswith("_")]:
            method = getattr(cls, name)
            if inspect.isroutine(method):
                function = getattr(method, "__func__", method)
                _complete_docstring(function, entries, cls.__name__)

    @classmethod
    def _fill(cls, text: str) -> str:
        """Return a text with the words of the class in place of the words in braces."""
        for word, value in cls._placeholders.items():
            text = text.replace(f"{{{word}}}", value)
        return text

    @classmethod
    def _unsupported_error(cls, estimator: Any) -> TypeError:
        """Return the error for a model that lacks the content of the figure."""
        name = type(estimator).__name__
        message = f"{cls.__name__} shows {{content}}, which {name} does not have. {{way_out}}"
        return TypeError(cls._fill(message))

    @classmethod
    def _fitted_attribute(cls, estimator: Any, name: str) -> Any:
        """Return an attribute of a fitted model; refuse a model that does not have it."""
        check_is_fitted(estimator)
        value = getattr(estimator, name, None)
        if value is None:
            raise cls._unsupported_error(estimator)
        return value

    def _set_axes(self, ax: OptionalAxes) -> Axes:
        """Return the axes to draw on, new ones for None, and store axes and figure."""
        ax = self._new_axes() if ax is None else ax
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _new_axes(self, *shape: int, **size: Any) -> Any:
        """Return the axes of a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as failure:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib, which is not installed; install the "
                "extra `plot`: pip install 'tamis[plot]'."
            ) from failure
        return plt.subplots(*shape, layout="constrained", **size)[1]


def _parameter_entries(text: str) -> dict[str, str]:
    """Return the entries of the parameters of a docstring, by name."""
    return {name: entry for entry, name in PARAMETER_ENTRY.findall(text)}


def _complete_docstring(method: Any, entries: dict[str, str], display: str) -> None:
    """Add the entries of all parameters, and of the return value, to the docstring of a method.

    The entries that the method describes are added to `entries`, for the methods that follow.
    """
    summary, _, text = inspect.cleandoc(method.__doc__).partition("\n\nParameters\n----------\n")
    entries.update(_parameter_entries(text))
    used = [entries[name] for name in inspect.signature(method).parameters if name in entries]
    sections = ["Parameters\n----------", *used, "\nReturns\n-------", f"display : {display}"]
    method.__doc__ = "\n".join([summary, "", *sections])


def style(user_options: dict[str, Any] | None = None, **defaults: Any) -> dict[str, Any]:
    """Return options of matplotlib: the defaults, overridden by those of the user."""
    return defaults | (user_options or {})


def format_count_axis(axis: Axis) -> None:
    """Give an axis of counts few ticks, and labels with separators of thousands."""
    from matplotlib.ticker import MaxNLocator

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def as_arrays(**columns: ArrayLike) -> list[np.ndarray]:
    """Return columns of equal length as arrays of floats."""
    arrays = [np.atleast_1d(np.asarray(column, dtype=float)) for column in columns.values()]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        shapes = [f"{name} {array.shape}" for name, array in zip(columns, arrays, strict=True)]
        raise ValueError(
            f"{', '.join(columns)} must have one dimension and equal length. Got "
            f"{', '.join(shapes)}."
        )
    return arrays


def select_output(outputs: Sequence | np.ndarray, output: int) -> Any:
    """Return the entry of an output, and refuse a number that is out of range."""
    if not 0 <= output < len(outputs):
        raise ValueError(
            f"The 'output' parameter must be between 0 and {len(outputs) - 1}. Got {output!r} "
            "instead."
        )
    return outputs[output]
