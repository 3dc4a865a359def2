"""A linear model as a card of whole points, and what the rounding costs.

A card is read by people, so numbers stand on it as the table has them: what a model takes in units
of a column's spread counts in units of the column itself.
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
from tamis.exporting.linear import LOG, LOGISTIC, Linear
from tamis.system.terminal import for_markdown

TRIED = 400  # scales that are tried
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # of the means of the table
BARS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)  # probabilities of the table


class Card(NamedTuple):
    """Points a feature, by the `units` of its values; the score is nearly the points' sum less the
    threshold, divided by `scale`.
    """

    points: np.ndarray  # whole numbers, one a kept column
    units: np.ndarray
    scale: float
    threshold: float  # points above which the score is above 0
    error: dict  # what the rounding costs


class Written(NamedTuple):
    """The kept columns as people write them: a value is centre + spread times what the model
    takes.
    """

    names: list[str]
    centres: np.ndarray
    spreads: np.ndarray


def written(linear: Linear) -> Written:
    """Names, centres and spreads of the kept columns; a trend counts in days."""
    names, place = list(linear.names), {int(c): k for k, c in enumerate(linear.columns)}
    centres, spreads = np.zeros(len(names)), np.ones(len(names))
    for field in linear.fields.listed:
        if field.number is not None and field.number in place:
            at = place[field.number]
            centres[at], spreads[at] = field.centre, field.spread
        if field.date is not None and field.date.trend in place:
            at = place[field.date.trend]
            since = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=field.date.first)
            spreads[at] = field.date.span / DAY or 1.0
            names[at] = f"{field.name}: days since {since:%Y-%m-%d}"
    return Written(names, centres, spreads)


def scorecard_of(linear: Linear, points: int = 10, X: Any = None) -> str:
    """The text of the card, in Markdown."""
    if linear.outputs != 1:
        raise ValueError(
            f"a scorecard is for one score a row, and this {linear.model} has {linear.outputs}. "
            "Export it to json, python, sql or onnx."
        )
    if points < 1:
        raise ValueError(f"points={points!r} must be a whole number of at least 1.")
    card, names = made(linear, points, X), written(linear).names
    order = sorted(range(len(names)), key=lambda k: (-abs(card.points[k]), k))
    lines = [f"# Scorecard: {linear.title}", "", "| feature | points |", "| --- | ---: |"]
    for k in order:
        unit = "" if card.units[k] == 1.0 else f", for every {card.units[k]:,.12g}"
        if card.points[k]:
            lines.append(f"| {for_markdown(names[k])}{unit} | {card.points[k]:+d} |")
    lines += ["", _way(linear, card), "", *_meaning(linear, card)]
    lines += ["", *_cost(card, int(np.count_nonzero(card.points == 0)))]
    return "\n".join([*lines, "", f"Made by tamis {tamis.__version__}.", ""])


def made(linear: Linear, most: int, X: Any = None) -> Card:
    """The card of at most so many points a feature whose order of rows is nearest to the model's.

    Without rows it is the one whose score is nearest, per unit of the features.
    """
    weights, columns, spreads = linear.weights[:, 0], linear.columns, written(linear).spreads
    rows = None
    if X is not None:
        check_sparse(X)
        rows = sp.csr_array(X)[:, columns] if sp.issparse(X) else np.asarray(X)[:, columns]
    units = _known_units(linear, spreads) if rows is None else _units(rows, spreads)
    sizes = units / spreads  # of the units, in numbers as the model takes them
    sized = weights * sizes
    largest = float(np.abs(sized).max(initial=0.0))
    if not largest:
        return _judged(linear, np.zeros(len(columns), int), sizes, 1.0, rows)
    tried = most / largest * np.linspace(1.0 / TRIED, 1.0, TRIED)
    found, best = tried[-1], np.inf
    for scale in tried[::-1]:
        rounded = np.rint(sized * scale)
        away = _distance(sized, rounded, scale, sizes, rows)
        if away < best * (1.0 - 1e-12):
            found, best = scale, away
    return _judged(linear, np.rint(sized * found).astype(int), sizes, float(found), rows)


def _known_units(linear: Linear, spreads: np.ndarray) -> np.ndarray:
    """Units without a look at rows: near the spread of a column of a table, and of other wide ones,
    where the model knows it.
    """
    known = np.ones(len(linear.columns)) if linear.spread is None else linear.spread
    units = np.ones(len(known)) if linear.spread is None else np.maximum(_round(known), 1.0)
    return np.where(spreads == 1.0, units, _round(spreads * np.where(known > 0.0, known, 1.0)))


def _units(rows, spreads: np.ndarray) -> np.ndarray:
    """A round unit near the spread of each column; 1 of columns that are 0 and 1."""
    square = rows.multiply(rows) if sp.issparse(rows) else rows**2
    mean = np.ravel(rows.mean(axis=0))
    spread = np.sqrt(np.maximum(np.ravel(square.mean(axis=0)) - mean**2, 0.0))
    # A number is its own square where it is 0 or 1.
    other = np.ravel(np.abs(square - rows).sum(axis=0))
    plain = ((other == 0.0) | (spread == 0.0)) & (spreads == 1.0)
    return np.where(plain, 1.0, _round(np.where(spread > 0.0, spread, 1.0) * spreads))


def _round(sizes: np.ndarray) -> np.ndarray:
    """1, 2 or 5 times a power of ten near each size; 1 for 0."""
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    power = 10.0 ** np.floor(np.log10(sizes))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    return power * steps[np.abs(sizes[:, None] / power[:, None] - steps).argmin(axis=1)]


def _distance(sized, rounded, scale: float, sizes, rows) -> float:
    """How far a card is from the model: squared error of the scores of rows about their mean, as a
    share of their spread, or the largest error per unit.
    """
    if rows is None:
        return float(np.abs(sized - rounded / scale).sum())
    own, other = rows @ (sized / sizes), rows @ (rounded / sizes)
    if not own.std() or not other.std():
        return float("inf")
    return float(1.0 - np.corrcoef(own, other)[0, 1])


def _judged(linear: Linear, points, sizes, scale: float, rows) -> Card:
    """A card with what its rounding costs. At the centres of columns its score is the model's, for
    rows lie about them.
    """
    weights, begun, known = linear.weights[:, 0], float(linear.intercepts[0]), written(linear)
    away, units = np.abs(weights * sizes - points / scale), sizes * known.spreads
    error: dict[str, Any] = {"bound": float(away.sum()), "rows": 0}
    if rows is not None and rows.shape[0] > 1:
        own, other = rows @ weights + begun, rows @ (points / sizes) / scale + begun
        flat = not np.ptp(own) or not np.ptp(other)
        error |= {
            "rows": int(rows.shape[0]),
            "largest": float(np.abs(own - other).max()),
            "rank_correlation": None if flat else float(spearmanr(own, other).statistic),
            "changed": int(((own > 0) != (other > 0)).sum()),
        }
    threshold = float(points @ (known.centres / units)) - begun * scale
    return Card(points, units, scale, threshold, error)


# --------------------------------------------------------------------------- sentences
def _way(linear: Linear, card: Card) -> str:
    """How a card is used."""
    listed = linear.fields.listed
    lines = ["Multiply each feature by its points, and add."]
    if ((card.units != 1.0) & (card.points != 0)).any():
        lines = ["Divide each feature by its unit, multiply by its points, and add."]
    kept = {int(column) for column in linear.columns}
    numbers = [field for field in listed if field.number in kept]
    gaps = [(f.name, f.centre if f.fill is None else f.fill) for f in numbers if _takes_gaps(f)]
    if gaps:
        told = (f"{for_markdown(name)} {value:.6g}" for name, value in gaps)
        lines.append(f"A gap counts as {', '.join(told)}.")
    if weighed := [
        for_markdown(f.name) for f in listed if f.text and (f.text.norm or f.text.factors)
    ]:
        lines.append(
            f"A word of a text ({', '.join(weighed)}) counts by its weight in the text, which "
            "takes a program to find."
        )
    return " ".join(lines)


def _takes_gaps(field: Field) -> bool:
    """Whether a field may be missing."""
    return field.gap is not None or field.fill is not None


def _meaning(linear: Linear, card: Card) -> list[str]:
    """What a sum of points says."""
    if linear.classes is None:
        begun = -card.threshold / card.scale
        sum_of_points = f"is {begun:.6g} and the points divided by {card.scale:.6g}."
        if linear.link == LOG:
            return _means(linear, card, f"The score {sum_of_points}")
        return [f"The number {sum_of_points}"]
    first, second = (for_markdown(name) for name in linear.classes)
    lines = [f"More than {card.threshold:.2f} points: {second}; else {first}."]
    if linear.link != LOGISTIC:
        return lines
    slope, offset = (1.0, 0.0) if linear.lines is None else linear.lines[0].tolist()
    lines += ["", f"| points | probability of {second} |", "| ---: | ---: |"]
    for share in BARS if slope > 0 else ():
        score = (np.log(share / (1.0 - share)) - offset) / slope
        lines.append(f"| {score * card.scale + card.threshold:.1f} | {share:.0%} |")
    return lines


def _means(linear: Linear, card: Card, score: str) -> list[str]:
    """How the mean follows from the points, with round means about that of no points."""
    largest = linear.largest_score
    mean_of_score = f"The mean is exp(score); a score above {largest:.6g} counts as {largest:.6g}."
    lines = [f"{score} {mean_of_score}", "", "| points | mean |", "| ---: | ---: |"]
    middle = _round(np.exp(np.array([min(-card.threshold / card.scale, largest)])))[0]
    for mean in (middle * factor for factor in FACTORS):
        if (score_of_mean := np.log(mean)) <= largest:
            points = score_of_mean * card.scale + card.threshold
            lines.append(f"| {points:.1f} | {mean:.6g} |")
    return lines


def _cost(card: Card, gone: int) -> list[str]:
    """What the rounding costs, in sentences."""
    error = card.error
    lines = [f"Rounding: {gone} features have no points left."] if gone else []
    if not error["rows"]:
        lines.append(
            f"Rounding changes the score by at most {error['bound']:.3g} where no feature is "
            "farther from 0, or from the mean of its column, than its unit. Give rows, and the "
            "change of ranks and decisions is told."
        )
        return lines
    ranks = error["rank_correlation"]
    told = "" if ranks is None else f"the rank correlation with the model's score is {ranks:.4f}, "
    share = error["changed"] / error["rows"]
    lines.append(
        f"Rounding, on {error['rows']:,} rows: {told}{error['changed']:,} decisions change "
        f"({share:.2%}), and no score by more than {error['largest']:.3g}."
    )
    return lines
