"""The charts of the page, each from its material."""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import cut_to, fixed, percent, room, safe, short, whole
from tamis.reporting.page.held_out_error import SizePath, error_name
from tamis.reporting.page.plot_data import Agreement, Course, Profile, Selection
from tamis.reporting.page.svg import BOTTOM, RIGHT, TOP, WIDTH, Panel, Scale, point, spread

EACH, SOME = 150, 150  # ranks that are all drawn, and how many of the rest
NAME = 125  # pixels of a name beside a chart
MANY_RUNS = 60  # runs beyond which a matrix shows methods, not runs


def _beside(names) -> float:
    """Pixels that names beside a chart take."""
    return 10 + max(room(cut_to(name, NAME)) for name in names)


# ---------------------------------------------------------------------- along training, along sizes
def training_charts(courses: list[Course], names: list[str]) -> dict[str, str]:
    """Error (or loss) and features kept against rows seen, as far as they were recorded."""
    if not courses:
        return {}
    measured, charts = courses[0].measured, {}
    values = [getattr(course, measured) for course in courses]
    if _drawable(values):
        label = f"progressive {measured}"
        panel = Panel(f"{label.capitalize()} along training", "rows seen", label)
        held = [course.held_out for course in courses if np.isfinite(course.held_out).any()]
        held = held if measured == "error" else []
        charts[measured] = _curves(panel, courses, values, names, lambda v: fixed(v, 4), held)
    if _drawable([course.kept for course in courses]):
        panel = Panel("Features kept along training", "rows seen", "features kept")
        charts["kept"] = _curves(panel, courses, [course.kept for course in courses], names, whole)
    return charts


def _drawable(values) -> bool:
    """Whether there are two points to join."""
    return any(np.isfinite(one).sum() > 1 for one in values)


def _curves(panel: Panel, courses, values, names, text, held=()) -> str:
    """One line an output over the rows seen; what was held out dashed beside it."""
    rows, heights = np.concatenate([c.rows for c in courses]), np.concatenate([*values, *held])
    panel.axes(spread(rows, *panel.x_ends, zero=True), spread(heights, *panel.y_ends, zero=True))
    kind = "accent" if len(courses) == 1 else "accent several"
    for number, (course, value) in enumerate(zip(courses, values, strict=True)):
        several = len(courses) > 1 and course.output < len(names)
        label, few = f"{names[course.output]}, " if several else "", len(course.rows) <= 20
        lines = [(value, kind, "dot kept", "")] + [
            (one, "held", "dot apart", "held-out rows, ") for one in held[number : number + 1]
        ]
        for line, look, mark, whose in lines:
            panel.line(course.rows, line, look)
            mark, radius = (mark, 2.4) if few else ("target", 6)
            for x, y in zip(course.rows, line, strict=True):
                if math.isfinite(y):
                    panel.dot(x, y, mark, f"{whose}{label}{whole(x)} rows: {text(y)}", radius)
    return panel.svg()


def size_charts(path: SizePath, classes: bool) -> list[str]:
    """Held-out error at each size, a standard error to each side, beside that of no feature at all;
    and the soft error that the size was chosen by.
    """
    return [_error_chart(path, classes), _choice_chart(path, classes)]


def _error_chart(path: SizePath, classes: bool) -> str:
    low, high = path.error - path.standard_error, path.error + path.standard_error
    panel = _size_panel(
        "Error by size", error_name(classes), path, [*low, *high, path.baseline_error]
    )
    panel.across(path.baseline_error, f"no feature: {fixed(path.baseline_error, 3)}", low=True)
    panel.band(path.sizes, low, high)
    _size_line(panel, path, path.error, path.standard_error)
    return panel.svg()


def _choice_chart(path: SizePath, classes: bool) -> str:
    label = "soft error" if classes else "held-out loss, standard units"
    panel = _size_panel("Choice of size", label, path, [*path.soft_error, path.threshold])
    if math.isfinite(path.threshold):
        panel.across(path.threshold, "allowed")
    _size_line(panel, path, path.soft_error)
    return panel.svg()


def _size_panel(title: str, label: str, path: SizePath, heights) -> Panel:
    panel = Panel(title, "features kept", label)
    scale = spread(path.sizes, *panel.x_ends, log=True)
    return panel.axes(scale, spread(heights, *panel.y_ends))


def _size_line(panel: Panel, path: SizePath, values, spreads=None) -> None:
    """The curve with a point a size; none is no place on a logarithmic scale."""
    if path.chosen:
        panel.upright(path.chosen, f"{path.chosen:,} chosen")
    panel.line(path.sizes, values, "accent")
    for k, (size, value) in enumerate(zip(path.sizes, values, strict=True)):
        if math.isfinite(value):
            sure = "" if spreads is None else f" ± {fixed(spreads[k], 4)}"
            panel.dot(size, value, "dot kept", f"{whole(size)} features: {fixed(value, 4)}{sure}")


# --------------------------------------------------------------------------- features
def probability_chart(selection: Selection, ranked, named) -> str:
    """Selection probabilities of the `ranked` features; `named` gives the words of a feature."""
    count = len(ranked)
    places = np.arange(count)
    if count > EACH + SOME:
        rest = np.geomspace(EACH, count, SOME + 1).astype(int) - 1
        places = np.unique(np.concatenate((np.arange(EACH), rest)))
    panel = Panel("Selection probability", "rank", "selection probability", width=420)
    scale = spread([1, max(count, 2)], *panel.x_ends, log=count > 30)
    panel.axes(scale, Scale(0.0, 1.04, *panel.y_ends))
    if selection.threshold is not None:
        panel.across(selection.threshold, f"threshold {short(selection.threshold)}", low=True)
    for place in places[::-1]:
        feature = ranked[place]
        kind = "dot kept" if selection.kept[feature] else "dot other"
        height = selection.probability[feature]
        panel.dot(place + 1, height, kind, f"{named(feature)}: {fixed(height, 3)}")
    return panel.svg()


def density_chart(profile: Profile) -> str:
    """Share kept among features of similar density; the area of a point grows with their number."""
    most = float(profile.share.max()) or 1.0
    present = "share of rows in which a feature is present"
    panel = Panel("Share kept by density", present, "share kept", width=420)
    scale = spread(profile.density, *panel.x_ends, log=True, pad=0.07)
    panel.axes(scale, Scale(-0.08 * most, 1.1 * most, *panel.y_ends))
    for density, share, count in zip(*profile, strict=True):
        radius = 2.0 + 9.0 * math.sqrt(count / profile.counts.max())
        tip = f"{whole(count)} features present in about {percent(density, 3)} of the rows: "
        panel.dot(density, share, "dot kept see", f"{tip}{percent(share)} kept", radius)
    return panel.svg()


def label_chart(labels: list[tuple[str, int]]) -> str:
    """Rows of each label as bars."""
    most, total = max(count for _, count in labels), sum(count for _, count in labels)
    left = _beside(name for name, _ in labels)
    panel = Panel("Rows by label", "", left=left, height=18 * len(labels) + 10, bottom=4)
    said = [f"{whole(count)} ({100 * count / max(total, 1):.1f} %)" for _, count in labels]
    reach = panel.x_ends[1] - left - 5 - max(room(words) for words in said)
    for k, (name, count) in enumerate(labels):
        top = 4 + 18 * k
        panel.text(left - 6, top + 10.5, cut_to(name, NAME), "end")
        width = max(reach * count / max(most, 1), 0.5)
        panel.box(left, top + 1, width, 12, "bar", f"{name}: {whole(count)} rows")
        panel.text(left + width + 5, top + 10.5, said[k])
    return panel.svg()


# --------------------------------------------------------------------------- methods
class Measure(NamedTuple):
    """What is measured of each method: values, and the ends of the lines through them."""

    title: str
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: bool


def method_charts(names: list[str], measures: list[Measure]) -> list[str]:
    """One chart a measure, one line a method: a point between its ends."""
    return [_method_chart(names, *measure) for measure in measures]


def _method_chart(names, title, values, low, high, log) -> str:
    left = _beside(names)
    panel = Panel(title, title, left=left, height=20 * len(names) + TOP + BOTTOM)
    panel.x = spread([*values, *low, *high], *panel.x_ends, log=log, pad=0.06)
    panel.y = Scale(0, 1, *panel.y_ends)
    for value in panel.x.ticks(4):
        panel.marks.append(
            f'<path class="grid" d="M{point(panel.x(value))} '
            f'{point(panel.y.stop)}V{point(panel.y.start)}"/>'
        )
        panel.foot(panel.x(value), panel.y.start + 15, short(value))
    panel.base()
    for k, name in enumerate(names):
        at = TOP + 10 + 20 * k
        panel.text(left - 6, at + 3.6, cut_to(name, NAME), "end")
        if math.isfinite(low[k]) and math.isfinite(high[k]) and (not log or high[k] > 0.0):
            panel.marks.append(
                f'<path class="line accent" d="M{point(panel.x(low[k]))} '
                f'{point(at)}H{point(panel.x(high[k]))}"/>'
            )
        if math.isfinite(values[k]) and (not log or values[k] > 0.0):
            tip = safe(f"{name}: {fixed(values[k], 3)}")
            panel.marks.append(
                f'<circle class="dot kept" cx="{point(panel.x(values[k]))}" cy="{point(at)}" '
                f'r="3.4" data-tip="{tip}"/>'
            )
    return panel.svg()


def agreement_chart(found: Agreement) -> str:
    """Runs against runs, or methods against methods where runs are many; the darker, the more
    alike.
    """
    matrix, groups = found.matrix, found.groups
    if len(groups) > MANY_RUNS:
        matrix, groups = _by_group(matrix, groups)
    blocks = [(name, len(list(members))) for name, members in groupby(groups)]
    left = _beside(name for name, _ in blocks)
    width = WIDTH + 60
    cell = (width - left - RIGHT) / len(groups)
    far = cell * len(groups)
    title, height = f"Pairwise {found.measure}", round(TOP + far + 44)
    panel = Panel(title, "", width=width, left=left, height=height, bottom=4)
    gap = 0.6 if cell > 5 else 0.0
    side = cell - gap
    panel.box(left, TOP, far - gap, far - gap, "frame")
    for i, one in enumerate(groups):
        for j, other in enumerate(groups):
            tip = f"{one} {i + 1} and {other} {j + 1}: {fixed(matrix[i, j], 3)}"
            shade = min(max(float(matrix[i, j]), 0.0), 1.0)
            panel.box(left + j * cell, TOP + i * cell, side, side, "cell", tip, shade)
    begin = 0
    for name, count in blocks:
        panel.text(left - 6, TOP + (begin + count / 2) * cell + 3.6, cut_to(name, NAME), "end")
        begin += count
        if begin < len(groups):
            x, y = (start + begin * cell - gap / 2 for start in (left, TOP))
            lines = f"M{point(left)} {point(y)}h{point(far)}M{point(x)} {TOP}v{point(far)}"
            panel.marks.append(
                f'<path class="divide" stroke-width="{min(2.4, cell / 4):.1f}" d="{lines}"/>'
            )
    _key(panel, left, TOP + len(groups) * cell + 16)
    return panel.svg()


def _key(panel: Panel, left: float, top: float) -> None:
    """What the shades mean."""
    panel.box(left, top, 154, 9, "frame")
    for k in range(11):
        panel.box(left + 14 * k, top, 14, 9, "cell", opacity=k / 10)
    for value, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        panel.text(left + 154 * value, top + 20, short(value), anchor)


def _by_group(matrix, groups) -> tuple[np.ndarray, list[str]]:
    """Means over the pairs of runs of two methods; a run is not paired with itself."""
    names = list(dict.fromkeys(groups))
    at = [np.array([k for k, group in enumerate(groups) if group == name]) for name in names]
    means = np.array([[_mean_of(matrix[np.ix_(a, b)], a is b) for b in at] for a in at])
    return means, names


def _mean_of(block, own: bool) -> float:
    if not own or len(block) == 1:
        return float(block.mean())
    return float((block.sum() - np.trace(block)) / (len(block) * (len(block) - 1)))
