"""Charts of predicted rows: ROC and precision-recall curves, calibration, confusion, residuals."""

from typing import Any

import numpy as np

from tamis.evaluation.evaluation import EvaluationData
from tamis.numerics.roc import area_under_curve
from tamis.reporting.page.formatting import (
    format_count,
    format_fixed,
    format_percent,
    format_short,
    text_width,
    truncate,
)
from tamis.reporting.page.svg import RIGHT, TOP, Panel, Scale, fit_scale

CURVE_CAPTION = (
    "Left: share of the rows of a class that are found, against the share of other rows that are "
    "taken for it, as the threshold is lowered (ROC; the diagonal is chance). Right: share of the "
    "rows taken for the class that belong to it, against the share found (dashed: the share of the "
    "class in all rows). Points: the decisions of the model."
)
CALIBRATION_CAPTION = (
    "Left: rows in ten groups of rising predicted probability, and the share in each for which the "
    "prediction came true, with two standard errors to each side. On the diagonal the "
    "probabilities are right."
)
CONFUSION_CAPTION = (
    "The table: rows by their class (lines) and by what was predicted (columns); shades are shares "
    "of a line."
)
RESIDUAL_CAPTION = (
    "Left: predicted against true values (the diagonal is a perfect prediction). Right: how far "
    "off the predictions are."
)


def evaluation_figures(evidence: EvaluationData) -> list[tuple[list[str], str]]:
    """Return the figures that the rows allow: charts that stand side by side, and a caption."""
    if evidence.y is None or evidence.y.ndim > 1:
        return []
    if not evidence.classes:
        return [(residual_charts(evidence), RESIDUAL_CAPTION)]
    figures = []
    if len(np.unique(evidence.y)) > 1:
        curves = curve_charts(evidence)
        if curves:
            figures.append((curves, CURVE_CAPTION))
    if evidence.probabilities is None:
        return [*figures, ([confusion_chart(evidence)], CONFUSION_CAPTION)]
    pair = [calibration_chart(evidence), confusion_chart(evidence)]
    return [*figures, (pair, f"{CALIBRATION_CAPTION} {CONFUSION_CAPTION}")]


# --------------------------------------------------------------------------- curves
def _class_scores(
    evidence: EvaluationData, max_classes: int = 6
) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """Return class, scores of all rows, and mask of the class's rows, for each class with a curve.

    Of two classes this is the second, of more the `max_classes` most frequent.
    """
    classes = getattr(evidence.model, "classes_", np.unique(evidence.y))
    if evidence.score is not None:
        return [(classes[1], evidence.score, evidence.y == classes[1])]
    if evidence.probabilities is None or evidence.probabilities.shape[1] != len(classes):
        return []
    counts = np.array([(evidence.y == c).sum() for c in classes])
    frequent = np.argsort(-counts, kind="stable")[:max_classes]
    return [(classes[k], evidence.probabilities[:, k], evidence.y == classes[k]) for k in frequent]


def curve_charts(evidence: EvaluationData) -> list[str]:
    """Return charts of the ROC and precision-recall curves."""
    scores = [entry for entry in _class_scores(evidence) if 0 < entry[2].sum() < len(entry[2])]
    if not scores:
        return []
    roc = Panel("ROC curve", "share of other rows taken for it", "share found")
    precision_recall = Panel("Precision and recall", "share found", "share that is of the class")
    for panel in (roc, precision_recall):
        panel.axes(Scale(0.0, 1.02, *panel.x_ends), Scale(0.0, 1.04, *panel.y_ends))
    roc.line([0.0, 1.0], [0.0, 1.0], "faint")
    css_class = "accent" if len(scores) == 1 else "accent several"
    for label, score, is_positive in scores:
        fpr, tpr, precision = _curve_points(score, is_positive)
        roc.line(fpr, tpr, css_class)
        precision_recall.line(tpr[1:], precision[1:], css_class)
        is_predicted, name = evidence.predictions == label, str(label)
        area, recall = area_under_curve(score, is_positive), float(is_predicted[is_positive].mean())
        tip = f"{name}: area under the curve {format_fixed(area, 3)}"
        roc.dot(float(is_predicted[~is_positive].mean()), recall, "dot kept", tip)
        decision = float(is_positive[is_predicted].mean()) if is_predicted.any() else 1.0
        precision_recall.dot(recall, decision, "dot kept", name)
    _, score, is_positive = scores[0]
    text = ""
    if len(scores) == 1:
        text = f"area {format_fixed(area_under_curve(score, is_positive), 3)}"
    roc.text(roc.x_ends[1], roc.y_ends[0] - 8, text, "end", "note")
    if len(scores) == 1:
        fraction = float(is_positive.mean())
        text = f"all rows: {format_percent(fraction, 0)}"
        precision_recall.horizontal_line(fraction, text, below=True)
    return [roc.to_svg(), precision_recall.to_svg()]


def _curve_points(
    score, is_positive, max_points: int = 120
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return false positive rate, true positive rate and precision as the threshold is lowered.

    Rows of equal score enter at once.
    """
    order = np.argsort(-score, kind="stable")
    last = np.flatnonzero(np.append(np.diff(score[order]) != 0.0, True))  # of each distinct score
    true_positives = np.cumsum(is_positive[order])[last]
    false_positives = last + 1 - true_positives
    precision = true_positives / (last + 1)
    sample = np.unique(np.linspace(0, len(last) - 1, max_points).astype(int))
    tpr, fpr = true_positives / is_positive.sum(), false_positives / (~is_positive).sum()
    return (
        np.concatenate(([0.0], fpr[sample])),
        np.concatenate(([0.0], tpr[sample])),
        np.concatenate(([1.0], precision[sample])),
    )


def calibration_chart(evidence: EvaluationData, n_bins: int = 10) -> str:
    """Return a chart of the share that came true against the predicted probability."""
    probabilities = evidence.probabilities
    classes = evidence.model.classes_
    if probabilities.shape[1] == 2:
        predicted, is_true = probabilities[:, 1], (evidence.y == classes[1]).astype(float)
        label = f"probability of {classes[1]}"
    else:
        likeliest = probabilities.argmax(axis=1)
        predicted = probabilities.max(axis=1)
        is_true = (evidence.y == classes[likeliest]).astype(float)
        label = "probability of the predicted class"
    panel = Panel("Calibration", label, "share that came true", width=300, height=260)
    panel.axes(Scale(0.0, 1.02, *panel.x_ends), Scale(0.0, 1.04, *panel.y_ends))
    panel.line([0.0, 1.0], [0.0, 1.0], "faint")
    for rows in np.array_split(np.argsort(predicted, kind="stable"), n_bins):
        if not len(rows):
            continue
        x, y = float(predicted[rows].mean()), float(is_true[rows].mean())
        # The floor of the variance, 0.25 / n, gives an error where y is 0 or 1.
        error = 2.0 * np.sqrt(max(y * (1.0 - y), 0.25 / len(rows)) / len(rows))
        panel.line([x, x], [max(y - error, 0.0), min(y + error, 1.0)], "accent")
        promised = f"promised {format_percent(x, 0)}, came true {format_percent(y, 0)}"
        panel.dot(x, y, "dot kept", f"{format_count(len(rows))} rows: {promised}", 3.2)
    return panel.to_svg()


# --------------------------------------------------------------------------- tables of classes
def confusion_chart(evidence: EvaluationData) -> str:
    """Return a chart of the rows by class and by prediction."""
    table, names = _confusion_matrix(evidence.y, evidence.predictions)
    names = [truncate(name, 90) for name in names]
    totals = [format_count(count) for count in table.sum(axis=1).tolist()]
    left = 16 + max(text_width(name) for name in names)
    count_width = max(text_width(format_short(count)) for count in table.ravel().tolist())
    cell = max(min(64.0, (420.0 - left - RIGHT) / len(names)), count_width + 2)
    cell_height = min(cell, 34.0)
    length = cell * len(names)
    width = round(left + length + RIGHT + max(text_width(total) for total in totals))
    height = round(TOP + cell_height * len(names) + 34)
    panel = Panel("Confusion matrix", "", width=width, height=height, left=left, bottom=4)
    for i, name in enumerate(names):
        baseline = TOP + cell_height * (i + 0.5) + 3.6
        panel.text(left - 6, baseline, name, "end")
        bottom = TOP + cell_height * len(names) + 13
        panel.text(left + cell * (i + 0.5), bottom, truncate(name, cell), "middle")
        total = max(int(table[i].sum()), 1)
        for j, other in enumerate(names):
            count = int(table[i, j])
            rows = f"{format_count(count)} rows, {format_percent(count / total, 0)}"
            tip = f"{name} taken for {other}: {rows}"
            css_class = "cell" if i == j else "cell wrong"
            x, y = left + cell * j, TOP + cell_height * i
            panel.box(x, y, cell - 1, cell_height - 1, css_class, tip, 0.75 * count / total)
            if count:
                middle = x + cell / 2, y + cell_height / 2 + 3.6
                panel.text(*middle, format_short(count), "middle", "label")
        panel.text(left + length + 6, baseline, totals[i])
    return panel.to_svg()


def _confusion_matrix(y, predicted, max_classes: int = 12) -> tuple[np.ndarray, list[str]]:
    """Return rows by class and by prediction, and the names of the classes.

    Of more than `max_classes` classes the rarest are merged.
    """
    values, counts = np.unique(np.concatenate((y, predicted)), return_counts=True)
    if len(values) > max_classes:
        frequent = np.sort(np.argsort(-counts, kind="stable")[: max_classes - 1])
        names = [*(str(values[k]) for k in frequent), f"{len(values) - len(frequent)} others"]
    else:
        frequent, names = np.arange(len(values)), [str(value) for value in values]
    line = np.full(len(values), len(frequent))
    line[frequent] = np.arange(len(frequent))
    lines = tuple(line[np.searchsorted(values, labels)] for labels in (y, predicted))
    table = np.zeros((len(names), len(names)), int)
    np.add.at(table, lines, 1)
    return table, names


# --------------------------------------------------------------------------- numbers
def residual_charts(evidence: EvaluationData, max_points: int = 400) -> list[str]:
    """Return charts of predicted against true values, and of the residuals."""
    y, predicted = evidence.y.astype(float), np.asarray(evidence.predictions, dtype=float)
    scatter = Panel("Predicted and true values", "true", "predicted")
    scatter.axes(fit_scale(y, *scatter.x_ends), fit_scale(predicted, *scatter.y_ends))
    ends = max(y.min(), predicted.min()), min(y.max(), predicted.max())
    if ends[0] < ends[1]:
        scatter.line(ends, ends, "faint")
    for k in np.unique(np.linspace(0, len(y) - 1, max_points).astype(int)):
        tip = f"row {k + 1}: true {format_short(y[k])}, predicted {format_short(predicted[k])}"
        scatter.dot(y[k], predicted[k], "dot kept see", tip, 2.2)
    residuals = y - predicted
    counts, edges = np.histogram(residuals, bins=min(30, max(5, int(np.sqrt(len(residuals))))))
    bars = Panel("Differences", "true less predicted", "rows")
    x_scale, y_ends = fit_scale(edges, *bars.x_ends), bars.y_ends
    bars.axes(x_scale, fit_scale([0, counts.max()], *y_ends, zero=True))
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        x, top = bars.x(low), bars.y(count)
        tip = f"{format_short(low)} to {format_short(high)}: {format_count(count)} rows"
        bars.box(x, top, max(bars.x(high) - x - 0.5, 0.5), bars.y.start - top, "bar", tip)
    return [scatter.to_svg(), bars.to_svg()]
