"""What there is to show: read from fitted models, histories and records, for figures and pages
alike.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tamis.evaluation.comparison import Record
from tamis.selection.agreement import agreements
from tamis.selection.supports import kept_by

POINTS = 120  # of a curve: enough for a figure
HALF = 0.5  # a kept feature that was selected less often is marked
DOUBT = "kept, but selected by fewer than half of the runs inside the method"
_NAMES = {
    "rows": ("rows",),
    "loss": ("loss",),
    "error": ("error",),
    "held_out": ("validation_error",),
    "kept": ("nonzeros", "kept"),
}


# --------------------------------------------------------------------------- weights
class Weights(NamedTuple):
    """Weights that are not zero, the most important first (the largest where a model does not say):
    feature, output and value of each, the shape they stand in, and the importance of each.
    """

    features: np.ndarray
    outputs: np.ndarray
    values: np.ndarray
    n_outputs: int
    n_features: int
    importance: np.ndarray | None


def weights_of(model: Any, spreads: np.ndarray | None = None) -> Weights | None:
    """The weights of a model, or None if it has none; where it does not say how important they
    are, spreads of the columns do.
    """
    coef = getattr(model, "coef_", None)
    if coef is None or not _one_a_column(model, coef):
        return None
    coef = coef.tocoo() if sp.issparse(coef) else sp.coo_array(np.atleast_2d(coef))
    importance, sizes = importance_of(model, coef.shape), np.abs(coef.data)
    if importance is not None:
        importance = importance[coef.row, coef.col]
    elif spreads is not None:
        importance = sizes * spreads[coef.col]
    order = np.lexsort((coef.row, coef.col, -sizes, -(sizes if importance is None else importance)))
    shares = None if importance is None else shares_of_largest(importance[order])
    n_outputs, n_features = coef.shape
    return Weights(
        coef.col[order], coef.row[order], coef.data[order], n_outputs, n_features, shares
    )


def importance_of(model: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Importances (outputs, features) of a model, or None if it has none of that shape."""
    importance = getattr(model, "importance_", None)
    if importance is None:
        return None
    importance = np.atleast_2d(importance)
    return importance if importance.shape == shape else None


def shares_of_largest(values: np.ndarray) -> np.ndarray:
    """Values of 0 or more as shares of the largest."""
    return values / (values.max(initial=0.0) or 1.0)


def _one_a_column(model, coef) -> bool:
    """Whether the weights belong to the columns of X (those of a kernel machine do not)."""
    return coef.shape[-1] == getattr(model, "n_features_in_", coef.shape[-1])


def output_names(model: Any, n_outputs: int) -> list[str]:
    """A name for each output: classes, or numbers."""
    classes = getattr(model, "classes_", None)
    if n_outputs > 1 and classes is not None and len(classes) == n_outputs:
        return [str(one) for one in classes]
    return [f"target {k}" for k in range(n_outputs)] if n_outputs > 1 else [""]


# --------------------------------------------------------------------------- selection
def probabilities_of(model: Any) -> np.ndarray | None:
    """Selection probabilities (outputs, features) of a model, or None if it has none or could not
    find them: a sieve of rows too few or too alike to be held out has zeros alone.
    """
    probability = getattr(model, "selection_probability_", None)
    return None if probability is None or not np.any(probability) else np.atleast_2d(probability)


def is_doubtful(probability: float | None) -> bool:
    """Whether a kept feature was selected so seldom that it is marked."""
    return probability is not None and probability < HALF


class Selection(NamedTuple):
    """How often each feature was selected and how important it is (the highest over outputs), which
    were kept, and from where on.
    """

    probability: np.ndarray
    kept: np.ndarray
    threshold: float | None
    importance: np.ndarray | None = None

    def ranked(self) -> np.ndarray:
        """Features that were ever selected or kept, the most often selected first, kept ones first
        among equals; where importances are known, kept ones first, the most important first.
        """
        kept = np.flatnonzero(self.kept)
        others = np.flatnonzero((self.probability > 0.0) & ~self.kept)
        if self.importance is not None:
            kept = kept[np.argsort(-self.importance[kept], kind="stable")]
            others = others[np.argsort(-self.probability[others], kind="stable")]
            return np.concatenate((kept, others))
        order = np.concatenate((kept, others))
        return order[np.argsort(-self.probability[order], kind="stable")]


def selection_of(model: Any) -> Selection | None:
    """Selection probabilities of a model, or None if it has none."""
    probability = getattr(model, "selection_probability_", None)
    if probability is None:
        return None
    probability = np.atleast_2d(probability)
    importance = importance_of(model, probability.shape)
    if importance is not None:
        importance = importance.max(axis=0)
    probability = probability.max(axis=0)
    kept = np.zeros(len(probability), dtype=bool)
    kept[kept_by(model)[0]] = True
    return Selection(probability, kept, _threshold(model), importance)


def _threshold(model) -> float | None:
    """The probability from which on features are kept; the sieve keeps by size and has none."""
    for name in ("threshold_", "purge"):
        given = getattr(model, name, None)
        if isinstance(given, int | float):
            return float(given)
    best = getattr(model, "best_params_", None)
    return float(best["purge"]) if isinstance(best, dict) and "purge" in best else None


# --------------------------------------------------------------------------- training
class Course(NamedTuple):
    """What happened along training, for one output or all: rows seen, loss or error of rows not yet
    learnt, error of others, features kept.
    """

    rows: np.ndarray
    loss: np.ndarray
    error: np.ndarray
    held_out: np.ndarray
    kept: np.ndarray
    output: int

    @property
    def measured(self) -> str:
        """What to draw: the error where it was counted, else the loss."""
        return "error" if np.isfinite(self.error).any() else "loss"


def history_of(model: Any) -> list[dict] | None:
    """What a model tells of its training: that of `train` where it ran, else its own."""
    return getattr(model, "train_history_", None) or getattr(model, "history_", None)


def courses_of(history: Sequence[dict] | None) -> list[Course]:
    """Curves from a list of dicts, one an output; nan stands for what was not recorded, long curves
    are averaged in pieces.
    """
    steps = [
        step
        for step in history or ()
        if isinstance(step, dict) and _number(step, _NAMES["rows"]) is not None
    ]
    found = []
    for output in sorted({step.get("output", 0) for step in steps}):
        mine = [step for step in steps if step.get("output", 0) == output]
        columns = {
            name: np.array([_number(step, keys, np.nan) for step in mine])
            for name, keys in _NAMES.items()
        }
        found.append(Course(**_shortened(columns), output=output))
    return [course for course in found if any(np.isfinite(column).any() for column in course[1:5])]


def _number(step: dict, names, otherwise=None) -> float:
    """The first of these entries that is a number."""
    for name in names:
        if isinstance(step.get(name), int | float | np.number):
            return float(step[name])
    return otherwise


def _shortened(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """At most POINTS points: means of losses, the last of what is counted."""
    if len(columns["rows"]) <= POINTS:
        return columns
    pieces = np.array_split(np.arange(len(columns["rows"])), POINTS)
    last = [piece[-1] for piece in pieces]
    return {
        name: np.array([column[piece].mean() for piece in pieces])
        if name in ("loss", "error")
        else column[last]
        for name, column in columns.items()
    }


# --------------------------------------------------------------------------- density, stability
class Profile(NamedTuple):
    """Share of features kept among those of similar density, and how many these are."""

    density: np.ndarray
    share: np.ndarray
    counts: np.ndarray


def density_profile(density: ArrayLike, support: ArrayLike, bins: int = 12) -> Profile:
    """Features by density, in pieces of equal length on the log scale; features never seen are left
    out.
    """
    density = np.asarray(density, dtype=float)
    kept = np.zeros(len(density), dtype=bool)
    kept[np.asarray(support, dtype=np.int64)] = True
    seen = density > 0.0
    if not seen.any():
        return Profile(*np.zeros((3, 0)))
    places = np.log(density[seen])
    low, reach = places.min(), np.ptp(places)
    piece = np.minimum((bins * (places - low) / (reach or 1.0)).astype(int), bins - 1)
    count = np.bincount(piece, minlength=bins)
    full = np.flatnonzero(count)
    total = [
        np.bincount(piece, weights=part, minlength=bins)[full] / count[full]
        for part in (places, kept[seen])
    ]
    return Profile(np.exp(total[0]), total[1], count[full])


class Agreement(NamedTuple):
    """Agreement of every run with every other, and the group (method) of each run."""

    matrix: np.ndarray
    groups: list[str]
    measure: str


def agreement_of(record: Record, measure: str = "kappa") -> Agreement | None:
    """Agreement of all runs of a comparison whose supports were kept, or None."""
    runs = [run for run in record.runs if run.get("support") is not None]
    if len(runs) < 2 or "features" not in record.settings:
        return None
    supports = [run["support"] for run in runs]
    matrix = agreements(supports, record.settings["features"], measure)
    return Agreement(matrix, method_names(runs), measure)


def method_names(rows: list[dict]) -> list[str]:
    """Names of the models, with the pick where a model has several."""
    picks = {(row["model"], row.get("pick")) for row in rows}
    several = {model for model, _ in picks if sum(other == model for other, _ in picks) > 1}
    return [
        f"{row['model']}, {row['pick']}" if row["model"] in several else str(row["model"])
        for row in rows
    ]
