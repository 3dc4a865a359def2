"""The charts of the page, each drawn from its data."""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import (
    escape,
    format_count,
    format_fixed,
    format_percent,
    format_short,
    text_width,
    truncate,
)
from tamis.reporting.page.held_out_error import SizePath, error_name
from tamis.reporting.page.plot_data import Agreement, DensityProfile, Selection, TrainingCurve
from tamis.reporting.page.svg import (
    BOTTOM,
    RIGHT,
    TOP,
    WIDTH,
    Panel,
    Scale,
    fit_scale,
    format_coordinate,
)

ALL_RANKS = 150  # ranks up to this one are all drawn
SAMPLED_RANKS = 150  # of the ranks after them this many at most
NAME_PIXELS = 125  # largest width of a name to the left of a chart
MAX_RUNS = 60  # of more runs a matrix shows means by method


def _left_margin(names) -> float:
    """Return the pixels that names to the left of a chart take."""
    return 10 + max(text_width(truncate(name, NAME_PIXELS)) for name in names)


# ---------------------------------------------------------------------- along training, along sizes
def training_charts(curves: list[TrainingCurve], names: list[str]) -> dict[str, str]:
    """Return charts of the error (or loss) and of the features kept, as far as they were recorded.

    The keys are "error" or "loss", and "kept".
    """
    if not curves:
        return {}
    metric, charts = curves[0].metric, {}
    values = [getattr(curve, metric) for curve in curves]
    if _has_line(values):
        label = f"progressive {metric}"
        panel = Panel(f"{label.capitalize()} along training", "rows seen", label)
        held_out = [curve.held_out for curve in curves if np.isfinite(curve.held_out).any()]
        held_out = held_out if metric == "error" else []
        charts[metric] = _draw_curves(
            panel, curves, values, names, lambda v: format_fixed(v, 4), held_out
        )
    kept = [curve.kept for curve in curves]
    if _has_line(kept):
        panel = Panel("Features kept along training", "rows seen", "features kept")
        charts["kept"] = _draw_curves(panel, curves, kept, names, format_count)
    return charts


def _has_line(columns) -> bool:
    """Return whether some column has two points to connect."""
    return any(np.isfinite(column).sum() > 1 for column in columns)


def _draw_curves(panel: Panel, curves, values, names, format_value, held_out=()) -> str:
    """Return a chart of one line an output over the rows seen; held-out errors are dashed."""
    rows = np.concatenate([curve.rows for curve in curves])
    heights = np.concatenate([*values, *held_out])
    x = fit_scale(rows, *panel.x_ends, zero=True)
    panel.axes(x, fit_scale(heights, *panel.y_ends, zero=True))
    css_class = "accent" if len(curves) == 1 else "accent several"
    for k, (curve, value) in enumerate(zip(curves, values, strict=True)):
        is_named = len(curves) > 1 and curve.output < len(names)
        name, is_short = f"{names[curve.output]}, " if is_named else "", len(curve.rows) <= 20
        lines = [(value, css_class, "dot kept", "")]
        lines += [(error, "held", "dot apart", "held-out rows, ") for error in held_out[k : k + 1]]
        for line, line_class, dot_class, prefix in lines:
            panel.line(curve.rows, line, line_class)
            # The points of a long line are invisible and only carry tips.
            dot_class, radius = (dot_class, 2.4) if is_short else ("target", 6)
            for n_rows, y in zip(curve.rows, line, strict=True):
                if math.isfinite(y):
                    tip = f"{prefix}{name}{format_count(n_rows)} rows: {format_value(y)}"
                    panel.dot(n_rows, y, dot_class, tip, radius)
    return panel.to_svg()


def size_charts(path: SizePath, classes: bool) -> list[str]:
    """Return charts of the held-out error and of the soft error, by size."""
    return [_error_chart(path, classes), _choice_chart(path, classes)]


def _error_chart(path: SizePath, classes: bool) -> str:
    """Return a chart of the held-out error with its standard error, and of the prior's error."""
    low, high = path.error - path.standard_error, path.error + path.standard_error
    panel = _size_panel(
        "Error by size", error_name(classes), path, [*low, *high, path.baseline_error]
    )
    text = f"no feature: {format_fixed(path.baseline_error, 3)}"
    panel.horizontal_line(path.baseline_error, text, below=True)
    panel.band(path.sizes, low, high)
    _draw_size_line(panel, path, path.error, path.standard_error)
    return panel.to_svg()


def _choice_chart(path: SizePath, classes: bool) -> str:
    """Return a chart of the soft error, with the largest one that the chosen size may have."""
    label = "soft error" if classes else "held-out loss, standard units"
    panel = _size_panel("Choice of size", label, path, [*path.soft_error, path.threshold])
    if math.isfinite(path.threshold):
        panel.horizontal_line(path.threshold, "allowed")
    _draw_size_line(panel, path, path.soft_error)
    return panel.to_svg()


def _size_panel(title: str, label: str, path: SizePath, heights) -> Panel:
    panel = Panel(title, "features kept", label)
    scale = fit_scale(path.sizes, *panel.x_ends, log=True)
    return panel.axes(scale, fit_scale(heights, *panel.y_ends))


def _draw_size_line(panel: Panel, path: SizePath, values, standard_errors=None) -> None:
    """Draw a curve with a point at each size, and mark the chosen size unless it is 0."""
    if path.chosen:
        panel.vertical_line(path.chosen, f"{path.chosen:,} chosen")
    panel.line(path.sizes, values, "accent")
    for k, (size, value) in enumerate(zip(path.sizes, values, strict=True)):
        if math.isfinite(value):
            tip = f"{format_count(size)} features: {format_fixed(value, 4)}"
            tip += "" if standard_errors is None else f" ± {format_fixed(standard_errors[k], 4)}"
            panel.dot(size, value, "dot kept", tip)


# --------------------------------------------------------------------------- features
def probability_chart(selection: Selection, ranked, name_of) -> str:
    """Return a chart of the selection probabilities of the `ranked` features."""
    count = len(ranked)
    ranks = np.arange(count)
    if count > ALL_RANKS + SAMPLED_RANKS:
        sampled = np.geomspace(ALL_RANKS, count, SAMPLED_RANKS + 1).astype(int) - 1
        ranks = np.unique(np.concatenate((np.arange(ALL_RANKS), sampled)))
    panel = Panel("Selection probability", "rank", "selection probability", width=420)
    scale = fit_scale([1, max(count, 2)], *panel.x_ends, log=count > 30)
    panel.axes(scale, Scale(0.0, 1.04, *panel.y_ends))
    if selection.threshold is not None:
        text = f"threshold {format_short(selection.threshold)}"
        panel.horizontal_line(selection.threshold, text, below=True)
    for rank in ranks[::-1]:
        feature = ranked[rank]
        css_class = "dot kept" if selection.kept[feature] else "dot other"
        probability = selection.probability[feature]
        tip = f"{name_of(feature)}: {format_fixed(probability, 3)}"
        panel.dot(rank + 1, probability, css_class, tip)
    return panel.to_svg()


def density_chart(profile: DensityProfile) -> str:
    """Return a chart of the fraction kept by density; the area of a point grows with its count."""
    highest = float(profile.kept_fraction.max()) or 1.0
    label = "share of rows in which a feature is present"
    panel = Panel("Share kept by density", label, "share kept", width=420)
    scale = fit_scale(profile.density, *panel.x_ends, log=True, margin=0.07)
    panel.axes(scale, Scale(-0.08 * highest, 1.1 * highest, *panel.y_ends))
    for density, fraction, count in zip(*profile, strict=True):
        radius = 2.0 + 9.0 * math.sqrt(count / profile.counts.max())
        present = f"present in about {format_percent(density, 3)} of the rows"
        tip = f"{format_count(count)} features {present}: {format_percent(fraction)} kept"
        panel.dot(density, fraction, "dot kept see", tip, radius)
    return panel.to_svg()


def label_chart(labels: list[tuple[str, int]]) -> str:
    """Return a bar chart of the rows of each label."""
    largest, total = max(count for _, count in labels), sum(count for _, count in labels)
    left = _left_margin(name for name, _ in labels)
    panel = Panel("Rows by label", "", left=left, height=18 * len(labels) + 10, bottom=4)
    texts = [f"{format_count(count)} ({100 * count / max(total, 1):.1f} %)" for _, count in labels]
    max_width = panel.x_ends[1] - left - 5 - max(text_width(text) for text in texts)
    for k, (name, count) in enumerate(labels):
        top = 4 + 18 * k
        panel.text(left - 6, top + 10.5, truncate(name, NAME_PIXELS), "end")
        width = max(max_width * count / max(largest, 1), 0.5)
        panel.box(left, top + 1, width, 12, "bar", f"{name}: {format_count(count)} rows")
        panel.text(left + width + 5, top + 10.5, texts[k])
    return panel.to_svg()


# --------------------------------------------------------------------------- methods
class MethodMeasure(NamedTuple):
    """A measure of all methods: values, and the ends of the lines through them."""

    title: str
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: bool


def method_charts(names: list[str], measures: list[MethodMeasure]) -> list[str]:
    """Return one chart a measure, with a point and a line for each method."""
    return [_method_chart(names, *measure) for measure in measures]


def _method_chart(names, title, values, low, high, log) -> str:
    left = _left_margin(names)
    panel = Panel(title, title, left=left, height=20 * len(names) + TOP + BOTTOM)
    panel.x = fit_scale([*values, *low, *high], *panel.x_ends, log=log, margin=0.06)
    panel.y = Scale(0, 1, *panel.y_ends)
    for value in panel.x.ticks(4):
        panel.marks.append(
            f'<path class="grid" d="M{format_coordinate(panel.x(value))} '
            f'{format_coordinate(panel.y.stop)}V{format_coordinate(panel.y.start)}"/>'
        )
        panel.text_below(panel.x(value), panel.y.start + 15, format_short(value))
    panel.x_axis()
    for k, name in enumerate(names):
        y = TOP + 10 + 20 * k
        panel.text(left - 6, y + 3.6, truncate(name, NAME_PIXELS), "end")
        if math.isfinite(low[k]) and math.isfinite(high[k]) and (not log or high[k] > 0.0):
            panel.marks.append(
                f'<path class="line accent" d="M{format_coordinate(panel.x(low[k]))} '
                f'{format_coordinate(y)}H{format_coordinate(panel.x(high[k]))}"/>'
            )
        if math.isfinite(values[k]) and (not log or values[k] > 0.0):
            tip = escape(f"{name}: {format_fixed(values[k], 3)}")
            panel.marks.append(
                f'<circle class="dot kept" cx="{format_coordinate(panel.x(values[k]))}" '
                f'cy="{format_coordinate(y)}" r="3.4" data-tip="{tip}"/>'
            )
    return panel.to_svg()


def agreement_chart(agreement: Agreement) -> str:
    """Return a matrix of agreement: runs by runs, or methods by methods if there are many runs."""
    matrix, groups = agreement.matrix, agreement.groups
    if len(groups) > MAX_RUNS:
        matrix, groups = _average_by_method(matrix, groups)
    blocks = [(name, len(list(members))) for name, members in groupby(groups)]
    left = _left_margin(name for name, _ in blocks)
    width = WIDTH + 60
    cell = (width - left - RIGHT) / len(groups)
    length = cell * len(groups)
    title, height = f"Pairwise {agreement.measure}", round(TOP + length + 44)
    panel = Panel(title, "", width=width, left=left, height=height, bottom=4)
    gap = 0.6 if cell > 5 else 0.0
    side = cell - gap
    panel.box(left, TOP, length - gap, length - gap, "frame")
    for i, name in enumerate(groups):
        for j, other in enumerate(groups):
            tip = f"{name} {i + 1} and {other} {j + 1}: {format_fixed(matrix[i, j], 3)}"
            opacity = min(max(float(matrix[i, j]), 0.0), 1.0)
            panel.box(left + j * cell, TOP + i * cell, side, side, "cell", tip, opacity)
    start = 0
    for name, count in blocks:
        middle = TOP + (start + count / 2) * cell
        panel.text(left - 6, middle + 3.6, truncate(name, NAME_PIXELS), "end")
        start += count
        if start < len(groups):
            x, y = (corner + start * cell - gap / 2 for corner in (left, TOP))
            across = (
                f"M{format_coordinate(left)} {format_coordinate(y)}h{format_coordinate(length)}"
            )
            down = f"M{format_coordinate(x)} {TOP}v{format_coordinate(length)}"
            panel.marks.append(
                f'<path class="divide" stroke-width="{min(2.4, cell / 4):.1f}" d="{across}{down}"/>'
            )
    _draw_color_scale(panel, left, TOP + len(groups) * cell + 16)
    return panel.to_svg()


def _draw_color_scale(panel: Panel, left: float, top: float) -> None:
    """Draw what the shades mean."""
    panel.box(left, top, 154, 9, "frame")
    for k in range(11):
        panel.box(left + 14 * k, top, 14, 9, "cell", opacity=k / 10)
    for value, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        panel.text(left + 154 * value, top + 20, format_short(value), anchor)


def _average_by_method(matrix, groups) -> tuple[np.ndarray, list[str]]:
    """Return the mean agreement of the runs of two methods, and the methods.

    Within a method a run is not paired with itself.
    """
    names = list(dict.fromkeys(groups))
    runs = [np.array([k for k, group in enumerate(groups) if group == name]) for name in names]
    means = np.array([[_mean_agreement(matrix[np.ix_(a, b)], a is b) for b in runs] for a in runs])
    return means, names


def _mean_agreement(block, is_diagonal: bool) -> float:
    """Return the mean of a block of the matrix, on the diagonal without the pairs of equal runs."""
    if not is_diagonal or len(block) == 1:
        return float(block.mean())
    return float((block.sum() - np.trace(block)) / (len(block) * (len(block) - 1)))
