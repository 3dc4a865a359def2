"""Charts of judged rows: curves of two classes, calibration, confusion, residuals."""

from typing import Any

import numpy as np

from tamis.evaluation.evaluation import Evidence
from tamis.numerics.roc import area_under_curve
from tamis.reporting.page.formatting import cut_to, fixed, percent, room, short, whole
from tamis.reporting.page.svg import RIGHT, TOP, Panel, Scale, spread

CURVES = 6  # classes that have a curve of their own
BINS = 10  # of probabilities
POINTS = 400  # of a cloud
NAME = 90  # pixels of a class beside a table
MOST_CLASSES = 12  # of a confusion matrix; the others stand together
STEPS = 120  # of a curve


def figures_of(evidence: Evidence) -> list[tuple[list[str], str]]:
    """Charts that stand side by side, and their captions, as far as the rows allow them."""
    if evidence.y is None or evidence.y.ndim > 1:
        return []
    if not evidence.classes:
        return [(residual_charts(evidence), RESIDUALS)]
    found = []
    if len(np.unique(evidence.y)) > 1:
        curves = curve_charts(evidence)
        if curves:
            found.append((curves, CURVES_SAID))
    if evidence.chances is None:
        return [*found, ([confusion_chart(evidence)], CONFUSION)]
    pair = [calibration_chart(evidence), confusion_chart(evidence)]
    return [*found, (pair, f"{CALIBRATION} {CONFUSION}")]


CURVES_SAID = (
    "Left: share of the rows of a class that are found, against the share of other rows that are "
    "taken for it, as the bar is lowered (ROC; the diagonal is chance). Right: share of the rows "
    "taken for the class that are of it, against the share found (dashed: the class's own share). "
    "Points: what the model decides."
)
CALIBRATION = (
    "Left: how often the model is right when it says so: rows in ten groups of rising "
    "probability, and the share that came true in each, with two standard errors to each side. On "
    "the diagonal, probabilities mean what they say."
)
CONFUSION = (
    "The table: rows by their class (lines) and by what was predicted (columns); shades are shares "
    "of a line."
)
RESIDUALS = (
    "Left: predicted against true values (the diagonal is a perfect guess). Right: how far off "
    "the predictions are."
)


# --------------------------------------------------------------------------- curves
def _scores(evidence: Evidence) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """Label, score and rows of each class that gets a curve: the second of two, or several."""
    classes = getattr(evidence.model, "classes_", np.unique(evidence.y))
    if evidence.score is not None:
        return [(classes[1], evidence.score, evidence.y == classes[1])]
    if evidence.chances is None or evidence.chances.shape[1] != len(classes):
        return []
    counts = np.array([(evidence.y == one).sum() for one in classes])
    first = np.argsort(-counts, kind="stable")[:CURVES]
    return [(classes[k], evidence.chances[:, k], evidence.y == classes[k]) for k in first]


def curve_charts(evidence: Evidence) -> list[str]:
    """ROC and precision-recall curves."""
    given = [one for one in _scores(evidence) if 0 < one[2].sum() < len(one[2])]
    if not given:
        return []
    roc = Panel("ROC curve", "share of other rows taken for it", "share found")
    sharp = Panel("Precision and recall", "share found", "share that is of the class")
    for panel in (roc, sharp):
        panel.axes(Scale(0.0, 1.02, *panel.x_ends), Scale(0.0, 1.04, *panel.y_ends))
    roc.line([0.0, 1.0], [0.0, 1.0], "faint")
    kind = "accent" if len(given) == 1 else "accent several"
    for label, score, positive in given:
        false, true, precision = _curve(score, positive)
        roc.line(false, true, kind)
        sharp.line(true[1:], precision[1:], kind)
        told, name = evidence.guess == label, str(label)
        area, found = area_under_curve(score, positive), float(told[positive].mean())
        tip = f"{name}: area under the curve {fixed(area, 3)}"
        roc.dot(float(told[~positive].mean()), found, "dot kept", tip)
        sharp.dot(found, float(positive[told].mean()) if told.any() else 1.0, "dot kept", name)
    _, score, positive = given[0]
    words = f"area {fixed(area_under_curve(score, positive), 3)}" if len(given) == 1 else ""
    roc.text(roc.x_ends[1], roc.y_ends[0] - 8, words, "end", "note")
    if len(given) == 1:
        share = float(positive.mean())
        sharp.across(share, f"all rows: {percent(share, 0)}", low=True)
    return [roc.svg(), sharp.svg()]


def _curve(score, positive) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of false and true rows, and precision, as the bar is lowered; equal scores at once."""
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0.0, True))
    true = np.cumsum(positive[order])[ends]
    false = ends + 1 - true
    precision = true / (ends + 1)
    few = np.unique(np.linspace(0, len(ends) - 1, STEPS).astype(int))
    true, false = true / positive.sum(), false / (~positive).sum()
    return (
        np.concatenate(([0.0], false[few])),
        np.concatenate(([0.0], true[few])),
        np.concatenate(([1.0], precision[few])),
    )


def calibration_chart(evidence: Evidence) -> str:
    """Promised against kept."""
    chances = evidence.chances
    classes = evidence.model.classes_
    if chances.shape[1] == 2:
        promised, kept = chances[:, 1], (evidence.y == classes[1]).astype(float)
        what = f"probability of {classes[1]}"
    else:
        best = chances.argmax(axis=1)
        promised, kept = chances.max(axis=1), (evidence.y == classes[best]).astype(float)
        what = "probability of the predicted class"
    panel = Panel("Calibration", what, "share that came true", width=300, height=260)
    panel.axes(Scale(0.0, 1.02, *panel.x_ends), Scale(0.0, 1.04, *panel.y_ends))
    panel.line([0.0, 1.0], [0.0, 1.0], "faint")
    parts = [
        part for part in np.array_split(np.argsort(promised, kind="stable"), BINS) if len(part)
    ]
    for part in parts:
        x, y = float(promised[part].mean()), float(kept[part].mean())
        wobble = 2.0 * np.sqrt(max(y * (1.0 - y), 0.25 / len(part)) / len(part))
        panel.line([x, x], [max(y - wobble, 0.0), min(y + wobble, 1.0)], "accent")
        tip = f"{whole(len(part))} rows: promised {percent(x, 0)}, came true {percent(y, 0)}"
        panel.dot(x, y, "dot kept", tip, 3.2)
    return panel.svg()


# --------------------------------------------------------------------------- tables of classes
def confusion_chart(evidence: Evidence) -> str:
    """Rows by class and by prediction."""
    values, counts = np.unique(np.concatenate((evidence.y, evidence.guess)), return_counts=True)
    if len(values) > MOST_CLASSES:
        first = np.sort(np.argsort(-counts, kind="stable")[: MOST_CLASSES - 1])
        names = [*(str(values[k]) for k in first), f"{len(values) - len(first)} others"]
    else:
        first, names = np.arange(len(values)), [str(one) for one in values]
    place = np.full(len(values), len(first))
    place[first] = np.arange(len(first))
    true, told = (place[np.searchsorted(values, one)] for one in (evidence.y, evidence.guess))
    table = np.zeros((len(names), len(names)), int)
    np.add.at(table, (true, told), 1)
    names = [cut_to(name, NAME) for name in names]
    rows = [whole(count) for count in table.sum(axis=1).tolist()]
    left = 16 + max(room(name) for name in names)
    widest = max(room(short(count)) for count in table.ravel().tolist())
    cell = max(min(64.0, (420.0 - left - RIGHT) / len(names)), widest + 2)
    high = min(cell, 34.0)
    width = round(left + cell * len(names) + RIGHT + max(room(one) for one in rows))
    height = round(TOP + high * len(names) + 34)
    panel = Panel("Confusion matrix", "", width=width, height=height, left=left, bottom=4)
    for i, name in enumerate(names):
        panel.text(left - 6, TOP + high * (i + 0.5) + 3.6, name, "end")
        below = cut_to(name, cell)
        panel.text(left + cell * (i + 0.5), TOP + high * len(names) + 13, below, "middle")
        total = max(int(table[i].sum()), 1)
        for j, other in enumerate(names):
            count = int(table[i, j])
            tip = f"{name} taken for {other}: {whole(count)} rows, {percent(count / total, 0)}"
            kind = "cell" if i == j else "cell wrong"
            at = left + cell * j, TOP + high * i
            panel.box(*at, cell - 1, high - 1, kind, tip, 0.75 * count / total)
            if count:
                panel.text(
                    at[0] + cell / 2, at[1] + high / 2 + 3.6, short(count), "middle", "label"
                )
        panel.text(left + cell * len(names) + 6, TOP + high * (i + 0.5) + 3.6, rows[i])
    return panel.svg()


# --------------------------------------------------------------------------- numbers
def residual_charts(evidence: Evidence) -> list[str]:
    """Predicted against true, and a histogram of the differences."""
    truth, guess = evidence.y.astype(float), np.asarray(evidence.guess, dtype=float)
    cloud = Panel("Predicted and true values", "true", "predicted")
    cloud.axes(spread(truth, *cloud.x_ends), spread(guess, *cloud.y_ends))
    ends = max(truth.min(), guess.min()), min(truth.max(), guess.max())
    if ends[0] < ends[1]:
        cloud.line(ends, ends, "faint")
    for k in np.unique(np.linspace(0, len(truth) - 1, POINTS).astype(int)):
        tip = f"row {k + 1}: true {short(truth[k])}, predicted {short(guess[k])}"
        cloud.dot(truth[k], guess[k], "dot kept see", tip, 2.2)
    rest = truth - guess
    counts, edges = np.histogram(rest, bins=min(30, max(5, int(np.sqrt(len(rest))))))
    bars = Panel("Differences", "true less predicted", "rows")
    bars.axes(spread(edges, *bars.x_ends), spread([0, counts.max()], *bars.y_ends, zero=True))
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        x, top = bars.x(low), bars.y(count)
        tip = f"{short(low)} to {short(high)}: {whole(count)} rows"
        bars.box(x, top, max(bars.x(high) - x - 0.5, 0.5), bars.y.start - top, "bar", tip)
    return [cloud.svg(), bars.svg()]
