"""The sections of the page; each writes itself if there is material for it, otherwise nothing."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.reporting.page import charts, feature_table, plot_data
from tamis.reporting.page.formatting import (
    NOTHING,
    counted,
    fixed,
    name_span,
    percent,
    safe,
    size_of_bytes,
    whole,
    without_addresses,
)
from tamis.reporting.page.held_out_error import SizePath, held_out_error, size_paths
from tamis.reporting.page.page_body import Sheet
from tamis.selection.supports import kept_by
from tamis.system.terminal import without_secrets

MOST_LABELS = 15
MOST_PATHS = 6
MOST_COLUMNS = 40  # of the user's table
FEWEST = 3  # points that show a trend
DENSITY = (
    "Share of features kept among those present in similarly many rows; the area of a point grows "
    "with their number. Points that rise to the right show a preference for common features."
)
AUDITED: dict[str, tuple[str, Callable[[Any], str]]] = {
    "format": ("Format", safe),
    "rows": ("Rows", whole),
    "features": ("Features", whole),
    "nonzeros": ("Nonzeros", whole),
    "density": ("Share of entries that are not zero", lambda share: percent(share, 4)),
    "memory_bytes": ("Size as a sparse matrix (CSR) in memory", size_of_bytes),
    "file_bytes": ("Size of the files", size_of_bytes),
    "suggested": ("Suggested method", safe),
}


# --------------------------------------------------------------------------- data
def data_section(sheet: Sheet, audit: dict | None) -> None:
    """What the file holds."""
    if not audit:
        return
    sheet.section("data", "The data")
    files = audit.get("files") or []
    files = [files] if isinstance(files, str) else files
    lines = (
        [("Files", "<br>".join(name_span(without_secrets(one)) for one in files))] if files else []
    )
    for key, (name, text) in AUDITED.items():
        if audit.get(key) is not None:
            lines.append((name, text(audit[key])))
    lines += [
        (safe(key.capitalize()), safe(value, 500))
        for key, value in audit.items()
        if key not in {"files", "labels", "bad", *AUDITED} and isinstance(value, str | int | float)
    ]
    bad = audit.get("bad") or {}
    if "count" in bad:
        lines.append(("Lines that could not be read", whole(bad["count"])))
    sheet.pairs(lines, "What was found in the data.")
    labels = sorted(
        ((str(label), int(count)) for label, count in (audit.get("labels") or {}).items()),
        key=lambda pair: (-pair[1], pair[0]),
    )
    if labels:
        _labels(sheet, labels)
    if columns := audit.get("columns"):
        _columns(sheet, columns)
    if bad.get("first"):
        items = "".join(f"<li>{name_span(one, 300)}</li>" for one in bad["first"])
        sheet.raw(f'<p>The first lines that could not be read:</p><ol class="bad">{items}</ol>')


def _columns(sheet: Sheet, columns: list[dict]) -> None:
    """The columns of a table: what they are and what they hold."""
    lines = [
        [
            name_span(c["name"], 60),
            safe(c["kind"]),
            whole(c["gaps"]) if c["gaps"] else "",
            safe(c["shows"], 200),
            f'<span class="bars">{safe(c["bars"])}</span>' if c["bars"] else "",
        ]
        for c in columns[:MOST_COLUMNS]
    ]
    rest = f" The first {MOST_COLUMNS} of {whole(len(columns))} are shown."
    sheet.table(
        ["Column", "Kind", "Gaps", "Values", ""],
        lines,
        f"The columns of the table.{rest if len(columns) > MOST_COLUMNS else ''}",
        numbers=(2,),
        kind="stacked columns",
    )


def _labels(sheet: Sheet, labels) -> None:
    """Rows of each label; rare ones together where labels are many."""
    shown, rest = labels, ""
    if len(labels) > MOST_LABELS:
        other = labels[MOST_LABELS - 1 :]
        others = f"{len(other):,} others", sum(count for _, count in other)
        shown = [*labels[: MOST_LABELS - 1], others]
        rest = f" The {len(other):,} rarest stand together."
    sheet.figure(
        [charts.label_chart(shown)], f"Rows of each of the {counted(len(labels), 'label')}.{rest}"
    )


# --------------------------------------------------------------------------- training
def training_section(sheet: Sheet, model, history) -> None:
    """Error and sparsity along training, and along sizes where a model chose its size."""
    paths = [] if model is None else size_paths(model)
    courses = plot_data.courses_of(history if history is not None else plot_data.history_of(model))
    drawn = charts.training_charts(courses, plot_data.output_names(model, len(courses)))
    if not paths and not drawn:
        return
    sheet.section("training", "Error and sparsity along training")
    if drawn:
        sheet.figure(list(drawn.values()), _training_caption(courses, drawn))
    for path in paths[:MOST_PATHS]:
        whose = f" for {name_span(path.name, 60)}" if path.name else ""
        classes = is_classifier(model)
        sheet.figure(charts.size_charts(path, classes), _size_caption(path, whose, classes))
    if len(paths) > MOST_PATHS:
        sheet.paragraph(
            f"The other {len(paths) - MOST_PATHS} outputs have such curves too; they are not drawn."
        )


def _training_caption(courses, drawn) -> str:
    words = {
        "error": "error of the rows, each judged before it was learnt",
        "loss": "mean loss of the rows, each judged before it was learnt",
        "kept": "number of features kept",
    }
    text = f"{', and '.join(words[key] for key in drawn)}, as rows went by."
    text = text[0].upper() + text[1:]
    if "error" in drawn and any(np.isfinite(course.held_out).any() for course in courses):
        text += " Dashed: error on rows held out."
    return f"{text} One line an output." if len(courses) > 1 else text


def _size_caption(path: SizePath, whose: str, classes: bool) -> str:
    best = int(np.nanargmin(path.error))
    text = (
        f"Error on rows not trained on{whose}, by the number of features kept. Least: "
        f"{fixed(path.error[best], 4)} with {whole(path.sizes[best])}. Shaded: one standard error "
        "to each side; dashed: no feature at all."
    )
    if not math.isfinite(path.threshold):
        return f"{text} The size of {whole(path.chosen)} was asked for."
    text += " The second chart shows the measure the size is chosen by"
    if classes:
        text += ", the soft error: a row near the border counts as partly wrong, whichever its side"
    text += "; "
    if not path.chosen:
        return f"{text}none is chosen, because none is surely better than no feature."
    text += f"{whole(path.chosen)} is the smallest size below the dashed line once the curve is "
    return f"{text}smoothed, the mean over draws of the rows."


# --------------------------------------------------------------------------- features
def selection_section(sheet: Sheet, model, names, density) -> None:
    """How often features were selected, and whether dense ones were preferred."""
    selection = None if model is None else plot_data.selection_of(model)
    kept = None if model is None else _kept(model)
    drawn = []
    ranked = () if selection is None else selection.ranked()
    # That all were selected in all runs is a sentence of the verdict, and no figure.
    if selection is not None and len(ranked) and (selection.probability[ranked] < 1.0).any():
        chart = charts.probability_chart(
            selection, ranked, lambda j: f"column {j}" if names is None else str(names[j])[:80]
        )
        drawn.append((chart, _selection_caption(selection, len(ranked), model)))
    if density is not None and kept is not None and len(kept):
        profile = plot_data.density_profile(density, kept)
        if len(profile.density) >= FEWEST:
            drawn.append((charts.density_chart(profile), DENSITY))
    if drawn:
        sheet.section("selection", "How the features were selected")
    for chart, caption in drawn:
        sheet.figure([chart], caption)


def _selection_caption(selection: plot_data.Selection, ever: int, model) -> str:
    several = np.atleast_2d(model.selection_probability_).shape[0] > 1
    highest = " (the highest over its outputs)" if several else ""
    first = "the highest first"
    if selection.importance is not None:
        first = "the kept ones first, by importance"
    text = (
        f"Selection probability of each of the {whole(ever)} features ever selected{highest}, "
        f"{first}. Filled: kept; hollow: not kept."
    )
    if ever > charts.EACH + charts.SOME:
        text += f" Beyond rank {charts.EACH} some of them are drawn."
    if selection.threshold is None:
        return f"{text} No threshold applies: features are kept by the size of their weights."
    text += f" Dashed: the threshold, {fixed(selection.threshold, 2)}"
    if hasattr(model, "n_stages_"):
        text += "; a feature leaves for good when the bursts of one stage keep it less often"
    return f"{text}."


def features_section(sheet: Sheet, model, names, density, evidence=None) -> None:
    """The table of kept features."""
    kept = None if model is None else _kept(model)
    if kept is None:
        return
    sheet.section("features", "Kept features")
    if not len(kept):
        sheet.paragraph(f"No feature was kept{_why_none(model)}.")
        return
    columns, total, count = feature_table.feature_columns(model, names, density, evidence)
    weights = plot_data.weights_of(model)
    many = 1 if weights is None else weights.n_outputs
    outputs = "classes" if is_classifier(model) else "targets"
    caption = feature_table.kept_sentence(
        columns, count, total, _width(model, weights), many, _speaks_for(model, many), outputs
    )
    feature_table.put_table(sheet, columns, caption)


def _why_none(model) -> str:
    error = held_out_error(model)
    return f": {error.nothing()}" if error is not None and error.is_empty() else ""


def _width(model, weights) -> int:
    return getattr(model, "n_features_in_", 0) or (weights.n_features if weights is not None else 0)


def _speaks_for(model, many: int) -> str:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "higher values" if many == 1 and hasattr(model, "coef_") else ""
    two = many == 1 and len(classes) == 2
    return f"class {name_span(classes[1], 60)}" if two else "the class of its row"


def _kept(model):
    """Indices kept, or None where a model does not say."""
    try:
        return kept_by(model)[0]
    except TypeError:
        return None


# --------------------------------------------------------------------------- methods
def methods_section(sheet: Sheet, record) -> None:
    """The methods of a comparison side by side."""
    if record is None or not record.rows:
        return
    sheet.section("methods", "Methods side by side")
    head, lines = record.cells()
    runs, share = record.settings.get("runs"), record.settings.get("subsample")
    how = f"{whole(runs) if runs else 'several'} runs each, "
    how += f"on random shares of {percent(share, 0)}" if share else "in random orders"
    rows = "of the rows" if share else "of the same rows"
    text = (
        f"Mean ± standard deviation over {how} {rows}. Kappa and stability say how much the "
        "selections agree: 1 is the same every time, 0 is chance."
    )
    marked = [
        [name_span(cell, 60) if k < 2 else _mean_and_spread(cell) for k, cell in enumerate(line)]
        for line in lines
    ]
    sheet.table([safe(one) for one in head], marked, text, set(range(2, len(head))))
    for sentence in record.found():
        sheet.paragraph(safe(sentence))
    names = plot_data.method_names(record.rows)
    sheet.figure(
        charts.method_charts(names, _measures(record)),
        "The same in pictures. Lines: one standard deviation to each side; for stability its "
        "confidence interval.",
    )


def _mean_and_spread(cell: str) -> str:
    """A mean and its deviation, so set that means stand below each other."""
    mean, mark, spread = safe(cell).replace("nan", NOTHING).partition(" ±")
    return f'{mean}<span class="sd">± {spread}</span>' if mark else mean


def _measures(record) -> list[charts.Measure]:
    """What is drawn of each method."""
    share = record.settings.get("task", "classification") == "classification"
    error = ("error, %", 100.0) if share else ("squared error", 1.0)
    middle, low, high = (_column(record, f"stability{end}") for end in ("", "_low", "_high"))
    return [
        _with_spread(record, "error", *error, False),
        _with_spread(record, "kept", "features kept, %", 100.0, True),
        charts.Measure("stability", middle, low, high, False),
        _with_spread(record, "seconds", "seconds of a fit", 1.0, True),
    ]


def _column(record, key: str) -> np.ndarray:
    """A number of each method, nan where there is none."""
    return np.array([float(row.get(key, math.nan)) for row in record.rows])


def _with_spread(record, name: str, title: str, factor: float, log: bool) -> charts.Measure:
    """Means with a deviation to each side; on a log scale a low end stays in sight of the least
    mean.
    """
    values, spreads = (factor * _column(record, key) for key in (name, f"{name}_sd"))
    above = values[values > 0.0]
    floor = above.min() / 3.0 if log and len(above) else -math.inf
    return charts.Measure(title, values, np.maximum(values - spreads, floor), values + spreads, log)


def stability_section(sheet: Sheet, record) -> None:
    """Agreement of every run with every other."""
    found = None if record is None else plot_data.agreement_of(record)
    if found is None:
        return
    sheet.section("stability", "Stability of the selection")
    what = "Agreement of the features kept by each run with those of every other, run by run"
    if len(found.groups) > charts.MANY_RUNS:
        what = "Mean agreement of the runs of two methods"
    text = (
        f"{what}, by Cohen's kappa: 1 (full colour) is the same selection, 0 (blank) or less is "
        "chance. Blocks on the diagonal compare a method with itself."
    )
    sheet.figure([charts.agreement_chart(found)], text)


# --------------------------------------------------------------------------- how it was made
def _setting(value) -> str:
    return whole(value) if isinstance(value, int) and not isinstance(value, bool) else safe(value)


def making_section(sheet: Sheet, model, record, facts) -> None:
    """Seeds, versions, settings, what was skipped or refused."""
    lines = [
        (safe(name), name_span(without_secrets(value), 2000))
        for name, value in (facts or {}).items()
    ]
    if model is not None:
        shown = safe(without_addresses(" ".join(repr(model).split())), 2000)
        lines.append(("Model", f"<code>{shown}</code>"))
    if record is not None:
        lines += [
            (f"Comparison: {safe(key.replace('_', ' '))}", _setting(value))
            for key, value in record.settings.items()
            if key != "tune" and value is not None
        ]
        lines += [
            (f"Comparison: settings tried for {name_span(name, 60)}", whole(len(grid)))
            for name, grid in (record.settings.get("tune") or {}).items()
        ]
        if record.seeds:
            lines.append(("Comparison: seeds", safe(", ".join(map(str, record.seeds)), 2000)))
        lines += [
            (f"Version of {safe(name)}", safe(value)) for name, value in record.versions.items()
        ]
    if not lines:
        return
    sheet.section("making", "How it was made")
    sheet.pairs(lines, "Commands, seeds, settings and versions, and what was skipped or refused.")
