"""The data of figures and pages, read from fitted models, training histories and comparisons."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tamis.evaluation.comparison import Record
from tamis.selection.agreement import pairwise_agreement
from tamis.selection.supports import selected_features

MAX_CURVE_POINTS = 120  # enough for a figure
MIN_PROBABILITY = 0.5  # a kept feature that was selected less often is marked
DOUBT = "kept, but selected by fewer than half of the runs inside the method"
# Entries of a history that a curve is read from, the first that is there.
_HISTORY_KEYS = {
    "rows": ("rows",),
    "loss": ("loss",),
    "error": ("error",),
    "held_out": ("validation_error",),
    "kept": ("nonzeros", "kept"),
}


# --------------------------------------------------------------------------- weights
class RankedWeights(NamedTuple):
    """Nonzero weights of a model, the most important first.

    `features`, `outputs`, `values` and `importance` have one entry a weight. `importance` is
    relative to the largest, or None where it is not known; then the largest weight comes first.
    """

    features: np.ndarray
    outputs: np.ndarray
    values: np.ndarray
    n_outputs: int
    n_features: int
    importance: np.ndarray | None


def read_weights(model: Any, std: np.ndarray | None = None) -> RankedWeights | None:
    """Return the ranked weights of a model, or None if it has no weights of columns.

    A model without `importance_` is ranked by weight times standard deviation of the column, if
    the standard deviations are known.
    """
    coef = getattr(model, "coef_", None)
    if coef is None or not _has_column_weights(model, coef):
        return None
    coef = coef.tocoo() if sp.issparse(coef) else sp.coo_array(np.atleast_2d(coef))
    importance, sizes = model_importance(model, coef.shape), np.abs(coef.data)
    if importance is not None:
        importance = importance[coef.row, coef.col]
    elif std is not None:
        importance = sizes * std[coef.col]
    order = np.lexsort((coef.row, coef.col, -sizes, -(sizes if importance is None else importance)))
    relative = None if importance is None else relative_to_largest(importance[order])
    n_outputs, n_features = coef.shape
    return RankedWeights(
        coef.col[order], coef.row[order], coef.data[order], n_outputs, n_features, relative
    )


def model_importance(model: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a model's `importance_` (outputs, features), or None if it has none of that shape."""
    importance = getattr(model, "importance_", None)
    if importance is None:
        return None
    importance = np.atleast_2d(importance)
    return importance if importance.shape == shape else None


def relative_to_largest(values: np.ndarray) -> np.ndarray:
    """Return nonnegative values divided by the largest."""
    return values / (values.max(initial=0.0) or 1.0)


def _has_column_weights(model, coef) -> bool:
    """Return whether the weights belong to columns of X; those of a kernel machine do not."""
    return coef.shape[-1] == getattr(model, "n_features_in_", coef.shape[-1])


def output_names(model: Any, n_outputs: int) -> list[str]:
    """Return a name for each output: its class, or its number."""
    classes = getattr(model, "classes_", None)
    if n_outputs > 1 and classes is not None and len(classes) == n_outputs:
        return [str(c) for c in classes]
    return [f"target {k}" for k in range(n_outputs)] if n_outputs > 1 else [""]


# --------------------------------------------------------------------------- selection
def selection_probabilities(model: Any) -> np.ndarray | None:
    """Return a model's selection probabilities (outputs, features), or None if they are not known.

    A sieve that could not hold out rows, since they are too few or too similar, has only zeros.
    """
    probability = getattr(model, "selection_probability_", None)
    return None if probability is None or not np.any(probability) else np.atleast_2d(probability)


def is_doubtful(probability: float | None) -> bool:
    """Return whether a kept feature was selected so seldom that it is marked."""
    return probability is not None and probability < MIN_PROBABILITY


class Selection(NamedTuple):
    """Selection probability and importance of each feature, with a mask of the kept features.

    Probability and importance are the highest over outputs. `threshold` is the probability above
    which features are kept, or None.
    """

    probability: np.ndarray
    kept: np.ndarray
    threshold: float | None
    importance: np.ndarray | None = None

    def ranked(self) -> np.ndarray:
        """Return the features that were ever selected or kept, ordered by probability.

        Where importances are known, kept features come first, the most important of them first.
        """
        kept = np.flatnonzero(self.kept)
        others = np.flatnonzero((self.probability > 0.0) & ~self.kept)
        if self.importance is not None:
            kept = kept[np.argsort(-self.importance[kept], kind="stable")]
            others = others[np.argsort(-self.probability[others], kind="stable")]
            return np.concatenate((kept, others))
        order = np.concatenate((kept, others))  # of equal probabilities kept features come first
        return order[np.argsort(-self.probability[order], kind="stable")]


def read_selection(model: Any) -> Selection | None:
    """Return the selection probabilities of a model, or None if it has none."""
    probability = getattr(model, "selection_probability_", None)
    if probability is None:
        return None
    probability = np.atleast_2d(probability)
    importance = model_importance(model, probability.shape)
    if importance is not None:
        importance = importance.max(axis=0)
    probability = probability.max(axis=0)
    kept = np.zeros(len(probability), dtype=bool)
    kept[selected_features(model)[0]] = True
    return Selection(probability, kept, _selection_threshold(model), importance)


def _selection_threshold(model) -> float | None:
    """Return the probability above which a model keeps features.

    A sieve has none, since it chooses the number of features.
    """
    for name in ("threshold_", "purge"):
        threshold = getattr(model, name, None)
        if isinstance(threshold, int | float):
            return float(threshold)
    best_params = getattr(model, "best_params_", None)
    if isinstance(best_params, dict) and "purge" in best_params:
        return float(best_params["purge"])
    return None


# --------------------------------------------------------------------------- training
class TrainingCurve(NamedTuple):
    """A history as arrays, one entry a step, for one output or for all.

    `rows` counts the rows seen, `loss` and `error` are progressive (each row before it was learnt),
    `held_out` is the validation error, `kept` the number of features. Missing values are nan.
    """

    rows: np.ndarray
    loss: np.ndarray
    error: np.ndarray
    held_out: np.ndarray
    kept: np.ndarray
    output: int

    @property
    def metric(self) -> str:
        """The field to draw: the error where it was recorded, else the loss."""
        return "error" if np.isfinite(self.error).any() else "loss"


def training_history(model: Any) -> list[dict] | None:
    """Return a model's `train_history_` if it has one, else its `history_`."""
    return getattr(model, "train_history_", None) or getattr(model, "history_", None)


def training_curves(history: Sequence[dict] | None) -> list[TrainingCurve]:
    """Return a history as curves, one an output, downsampled if they are long."""
    steps = [
        step
        for step in history or ()
        if isinstance(step, dict) and _first_number(step, _HISTORY_KEYS["rows"]) is not None
    ]
    curves = []
    for output in sorted({step.get("output", 0) for step in steps}):
        output_steps = [step for step in steps if step.get("output", 0) == output]
        columns = {
            name: np.array([_first_number(step, keys, np.nan) for step in output_steps])
            for name, keys in _HISTORY_KEYS.items()
        }
        curves.append(TrainingCurve(**_downsample(columns), output=output))
    return [curve for curve in curves if any(np.isfinite(column).any() for column in curve[1:5])]


def _first_number(step: dict, keys, default=None) -> float:
    """Return the first of some entries that is a number."""
    for key in keys:
        if isinstance(step.get(key), int | float | np.number):
            return float(step[key])
    return default


def _downsample(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Cut long columns into chunks: loss and error become means, counts their last values."""
    if len(columns["rows"]) <= MAX_CURVE_POINTS:
        return columns
    chunks = np.array_split(np.arange(len(columns["rows"])), MAX_CURVE_POINTS)
    last = [chunk[-1] for chunk in chunks]
    return {
        name: np.array([column[chunk].mean() for chunk in chunks])
        if name in ("loss", "error")
        else column[last]
        for name, column in columns.items()
    }


# --------------------------------------------------------------------------- density, stability
class DensityProfile(NamedTuple):
    """Mean density, fraction kept and number of features, for each group of similar density."""

    density: np.ndarray
    kept_fraction: np.ndarray
    counts: np.ndarray


def density_profile(density: ArrayLike, support: ArrayLike, bins: int = 12) -> DensityProfile:
    """Group features by density, in bins of equal width on a log scale, and return their profile.

    Features that never occur, and empty bins, are left out.
    """
    density = np.asarray(density, dtype=float)
    is_kept = np.zeros(len(density), dtype=bool)
    is_kept[np.asarray(support, dtype=np.int64)] = True
    occurs = density > 0.0
    if not occurs.any():
        return DensityProfile(*np.zeros((3, 0)))
    log_density = np.log(density[occurs])
    low, span = log_density.min(), np.ptp(log_density)
    bin_index = np.minimum((bins * (log_density - low) / (span or 1.0)).astype(int), bins - 1)
    counts = np.bincount(bin_index, minlength=bins)
    filled = np.flatnonzero(counts)
    mean_log_density, kept_fraction = (
        np.bincount(bin_index, weights=values, minlength=bins)[filled] / counts[filled]
        for values in (log_density, is_kept[occurs])
    )
    return DensityProfile(np.exp(mean_log_density), kept_fraction, counts[filled])


class Agreement(NamedTuple):
    """Agreement of every run with every other, the method of each run, and the measure."""

    matrix: np.ndarray
    groups: list[str]
    measure: str


def run_agreement(record: Record, measure: str = "kappa") -> Agreement | None:
    """Return the agreement of all runs of a comparison, or None if it stored no supports."""
    runs = [run for run in record.runs if run.get("support") is not None]
    if len(runs) < 2 or "features" not in record.settings:
        return None
    supports = [run["support"] for run in runs]
    matrix = pairwise_agreement(supports, record.settings["features"], measure)
    return Agreement(matrix, method_names(runs), measure)


def method_names(rows: list[dict]) -> list[str]:
    """Return the name of each row's model, with the pick for models that have several."""
    picks = {(row["model"], row.get("pick")) for row in rows}
    several = {model for model, _ in picks if sum(other == model for other, _ in picks) > 1}
    return [
        f"{row['model']}, {row['pick']}" if row["model"] in several else str(row["model"])
        for row in rows
    ]
