"""A linear model as a scorecard with integer points, and its rounding error.

A scorecard is for people, so its numbers are those of the table, not the standardized ones of the
model.
"""

import datetime
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr

import tamis
from tamis.base.fast_checks import check_sparse
from tamis.data.columns.date_parts import DAY
from tamis.exporting.inputs.fields import Field
from tamis.exporting.linear import LOG, LOGISTIC, LinearModel
from tamis.system.terminal import for_markdown

N_SCALES = 400  # of points per score, among which the best one is chosen
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # means in the table, over that of no points
PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)  # in the table of points


class Scorecard(NamedTuple):
    """Points of each feature per unit; the score is about (sum of points - threshold) / scale."""

    points: np.ndarray  # integers, one per selected column
    units: np.ndarray
    scale: float
    threshold: float  # the score is positive above so many points
    error: dict  # of the rounding


class DisplayColumns(NamedTuple):
    """Selected columns in the units of the table: value = centre + spread * model input."""

    names: list[str]
    centres: np.ndarray
    spreads: np.ndarray


def display_columns(linear: LinearModel) -> DisplayColumns:
    """Return names, centres and spreads of the selected columns; a trend is in days."""
    names, positions = list(linear.names), {int(c): k for k, c in enumerate(linear.columns)}
    centres, spreads = np.zeros(len(names)), np.ones(len(names))
    for field in linear.fields.listed:
        if field.number is not None and field.number in positions:
            position = positions[field.number]
            centres[position], spreads[position] = field.centre, field.spread
        if field.date is not None and field.date.trend in positions:
            position = positions[field.date.trend]
            since = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=field.date.first)
            spreads[position] = field.date.span / DAY or 1.0
            names[position] = f"{field.name}: days since {since:%Y-%m-%d}"
    return DisplayColumns(names, centres, spreads)


def to_scorecard(linear: LinearModel, points: int = 10, X: Any = None) -> str:
    """Return the scorecard in Markdown."""
    if linear.outputs != 1:
        raise ValueError(
            f"a scorecard is for one score a row, and this {linear.model} has {linear.outputs}. "
            "Export it to json, python, sql or onnx."
        )
    if points < 1:
        raise ValueError(f"points={points!r} must be a whole number of at least 1.")
    card, names = choose_scorecard(linear, points, X), display_columns(linear).names
    order = sorted(range(len(names)), key=lambda k: (-abs(card.points[k]), k))
    lines = [f"# Scorecard: {linear.title}", "", "| feature | points |", "| --- | ---: |"]
    for k in order:
        unit = "" if card.units[k] == 1.0 else f", for every {card.units[k]:,.12g}"
        if card.points[k]:
            lines.append(f"| {for_markdown(names[k])}{unit} | {card.points[k]:+d} |")
    lines += ["", _instructions(linear, card), "", *_explain_points(linear, card)]
    lines += ["", *_describe_rounding(card, int(np.count_nonzero(card.points == 0)))]
    return "\n".join([*lines, "", f"Made by tamis {tamis.__version__}.", ""])


def choose_scorecard(linear: LinearModel, max_points: int, X: Any = None) -> Scorecard:
    """Return the scorecard whose scores of the rows are closest to those of the model.

    A feature has at most `max_points`. Without rows the rounding error of the weights decides.
    """
    weights, columns, spreads = (
        linear.weights[:, 0],
        linear.columns,
        display_columns(linear).spreads,
    )
    rows = None
    if X is not None:
        check_sparse(X)
        rows = sp.csr_array(X)[:, columns] if sp.issparse(X) else np.asarray(X)[:, columns]
    units = _units_without_rows(linear, spreads) if rows is None else _column_units(rows, spreads)
    model_units = units / spreads  # one unit as a difference of the model input
    unit_weights = weights * model_units
    largest = float(np.abs(unit_weights).max(initial=0.0))
    if not largest:
        return _with_rounding_error(linear, np.zeros(len(columns), int), model_units, 1.0, rows)
    scales = max_points / largest * np.linspace(1.0 / N_SCALES, 1.0, N_SCALES)
    best_scale, smallest = scales[-1], np.inf
    for scale in scales[::-1]:
        points = np.rint(unit_weights * scale)
        distance = _distance(unit_weights, points, scale, model_units, rows)
        if distance < smallest * (1.0 - 1e-12):
            best_scale, smallest = scale, distance
    return _with_rounding_error(
        linear, np.rint(unit_weights * best_scale).astype(int), model_units, float(best_scale), rows
    )


def _units_without_rows(linear: LinearModel, spreads: np.ndarray) -> np.ndarray:
    """Return round units from the deviations that the model knows, without rows."""
    deviations = np.ones(len(linear.columns)) if linear.deviations is None else linear.deviations
    units = (
        np.ones(len(deviations))
        if linear.deviations is None
        else np.maximum(_round_unit(deviations), 1.0)
    )
    return np.where(
        spreads == 1.0, units, _round_unit(spreads * np.where(deviations > 0.0, deviations, 1.0))
    )


def _column_units(rows, spreads: np.ndarray) -> np.ndarray:
    """Return a round unit near the deviation of each column; 1 for 0/1 columns."""
    square = rows.multiply(rows) if sp.issparse(rows) else rows**2
    mean = np.ravel(rows.mean(axis=0))
    deviation = np.sqrt(np.maximum(np.ravel(square.mean(axis=0)) - mean**2, 0.0))
    # A value equals its square where it is 0 or 1.
    residual = np.ravel(np.abs(square - rows).sum(axis=0))
    is_binary = ((residual == 0.0) | (deviation == 0.0)) & (spreads == 1.0)
    return np.where(
        is_binary, 1.0, _round_unit(np.where(deviation > 0.0, deviation, 1.0) * spreads)
    )


def _round_unit(sizes: np.ndarray) -> np.ndarray:
    """Return 1, 2 or 5 times a power of ten near each size; 1 for 0."""
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    power = 10.0 ** np.floor(np.log10(sizes))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    return power * steps[np.abs(sizes[:, None] / power[:, None] - steps).argmin(axis=1)]


def _distance(unit_weights, points, scale: float, model_units, rows) -> float:
    """Return the distance of a scorecard from the model.

    It is 1 - correlation of their scores, or without rows the sum of errors of the weights.
    """
    if rows is None:
        return float(np.abs(unit_weights - points / scale).sum())
    model_scores, card_scores = rows @ (unit_weights / model_units), rows @ (points / model_units)
    if not model_scores.std() or not card_scores.std():
        return float("inf")
    return float(1.0 - np.corrcoef(model_scores, card_scores)[0, 1])


def _with_rounding_error(linear: LinearModel, points, model_units, scale: float, rows) -> Scorecard:
    """Return a scorecard with its rounding error.

    At the centres of the columns, near which the rows lie, its score equals that of the model.
    """
    weights, intercept, display = (
        linear.weights[:, 0],
        float(linear.intercepts[0]),
        display_columns(linear),
    )
    weight_errors, units = (
        np.abs(weights * model_units - points / scale),
        model_units * display.spreads,
    )
    error: dict[str, Any] = {"bound": float(weight_errors.sum()), "rows": 0}
    if rows is not None and rows.shape[0] > 1:
        model_scores, card_scores = (
            rows @ weights + intercept,
            rows @ (points / model_units) / scale + intercept,
        )
        is_constant = not np.ptp(model_scores) or not np.ptp(card_scores)
        error |= {
            "rows": int(rows.shape[0]),
            "largest": float(np.abs(model_scores - card_scores).max()),
            "rank_correlation": None
            if is_constant
            else float(spearmanr(model_scores, card_scores).statistic),
            "changed": int(((model_scores > 0) != (card_scores > 0)).sum()),
        }
    threshold = float(points @ (display.centres / units)) - intercept * scale
    return Scorecard(points, units, scale, threshold, error)


# --------------------------------------------------------------------------- sentences
def _instructions(linear: LinearModel, card: Scorecard) -> str:
    """Return the instructions of a scorecard."""
    all_fields = linear.fields.listed
    lines = ["Multiply each feature by its points, and add."]
    if ((card.units != 1.0) & (card.points != 0)).any():
        lines = ["Divide each feature by its unit, multiply by its points, and add."]
    columns = {int(column) for column in linear.columns}
    numbers = [field for field in all_fields if field.number in columns]
    gaps = [(f.name, f.centre if f.fill is None else f.fill) for f in numbers if _takes_gaps(f)]
    if gaps:
        replacements = (f"{for_markdown(name)} {value:.6g}" for name, value in gaps)
        lines.append(f"A gap counts as {', '.join(replacements)}.")
    if weighted_texts := [
        for_markdown(f.name) for f in all_fields if f.text and (f.text.norm or f.text.factors)
    ]:
        lines.append(
            f"A word of a text ({', '.join(weighted_texts)}) counts by its weight in the text, "
            "which takes a program to find."
        )
    return " ".join(lines)


def _takes_gaps(field: Field) -> bool:
    """Return whether a field may be missing."""
    return field.gap is not None or field.fill is not None


def _explain_points(linear: LinearModel, card: Scorecard) -> list[str]:
    """Return what a sum of points means."""
    if linear.classes is None:
        value_at_zero = -card.threshold / card.scale
        sum_of_points = f"is {value_at_zero:.6g} and the points divided by {card.scale:.6g}."
        if linear.link == LOG:
            return _explain_means(linear, card, f"The score {sum_of_points}")
        return [f"The number {sum_of_points}"]
    first, second = (for_markdown(name) for name in linear.classes)
    lines = [f"More than {card.threshold:.2f} points: {second}; else {first}."]
    if linear.link != LOGISTIC:
        return lines
    slope, offset = (1.0, 0.0) if linear.calibration is None else linear.calibration[0].tolist()
    lines += ["", f"| points | probability of {second} |", "| ---: | ---: |"]
    for probability in PROBABILITIES if slope > 0 else ():
        score = (np.log(probability / (1.0 - probability)) - offset) / slope
        lines.append(f"| {score * card.scale + card.threshold:.1f} | {probability:.0%} |")
    return lines


def _explain_means(linear: LinearModel, card: Scorecard, score: str) -> list[str]:
    """Return how the mean follows from the points, with a table of round means."""
    largest = linear.largest_score
    mean_of_score = f"The mean is exp(score); a score above {largest:.6g} counts as {largest:.6g}."
    lines = [f"{score} {mean_of_score}", "", "| points | mean |", "| ---: | ---: |"]
    middle = _round_unit(np.exp(np.array([min(-card.threshold / card.scale, largest)])))[0]
    for mean in (middle * factor for factor in FACTORS):
        if (score_of_mean := np.log(mean)) <= largest:
            points = score_of_mean * card.scale + card.threshold
            lines.append(f"| {points:.1f} | {mean:.6g} |")
    return lines


def _describe_rounding(card: Scorecard, n_zero: int) -> list[str]:
    """Return sentences about the rounding error."""
    error = card.error
    lines = [f"Rounding: {n_zero} features have no points left."] if n_zero else []
    if not error["rows"]:
        lines.append(
            f"Rounding changes the score by at most {error['bound']:.3g} where no feature is "
            "farther from 0, or from the mean of its column, than its unit. With rows the "
            "scorecard states the change of ranks and decisions."
        )
        return lines
    ranks = error["rank_correlation"]
    rank_text = (
        "" if ranks is None else f"the rank correlation with the model's score is {ranks:.4f}, "
    )
    changed_fraction = error["changed"] / error["rows"]
    lines.append(
        f"Rounding, on {error['rows']:,} rows: {rank_text}{error['changed']:,} decisions change "
        f"({changed_fraction:.2%}), and no score by more than {error['largest']:.3g}."
    )
    return lines
