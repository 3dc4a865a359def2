"""The sections of the page. Each function adds its section if there is data for it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.reporting.page import charts, feature_table, plot_data
from tamis.reporting.page.formatting import (
    MISSING,
    count_noun,
    escape,
    format_bytes_binary,
    format_count,
    format_fixed,
    format_percent,
    name_element,
    without_addresses,
)
from tamis.reporting.page.held_out_error import SizePath, held_out_error, size_paths
from tamis.reporting.page.page_body import PageBody
from tamis.selection.supports import selected_features
from tamis.system.terminal import without_secrets

# Entries of an audit: name and format.
AUDIT_ENTRIES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "format": ("Format", escape),
    "rows": ("Rows", format_count),
    "features": ("Features", format_count),
    "nonzeros": ("Nonzeros", format_count),
    "density": ("Share of entries that are not zero", lambda share: format_percent(share, 4)),
    "memory_bytes": ("Size as a sparse matrix (CSR) in memory", format_bytes_binary),
    "file_bytes": ("Size of the files", format_bytes_binary),
    "suggested": ("Suggested method", escape),
}


# --------------------------------------------------------------------------- data
def add_data_section(body: PageBody, audit: dict | None) -> None:
    """Add what the files hold."""
    if not audit:
        return
    body.add_section("data", "The data")
    files = audit.get("files") or []
    files = [files] if isinstance(files, str) else files
    pairs = []
    if files:
        names = "<br>".join(name_element(without_secrets(name)) for name in files)
        pairs.append(("Files", names))
    for key, (name, format_value) in AUDIT_ENTRIES.items():
        if audit.get(key) is not None:
            pairs.append((name, format_value(audit[key])))
    pairs += [
        (escape(key.capitalize()), escape(value, 500))
        for key, value in audit.items()
        if key not in {"files", "labels", "bad", *AUDIT_ENTRIES}
        and isinstance(value, str | int | float)
    ]
    bad = audit.get("bad") or {}
    if "count" in bad:
        pairs.append(("Lines that could not be read", format_count(bad["count"])))
    body.add_pairs(pairs, "Contents of the data.")
    labels = sorted(
        ((str(label), int(count)) for label, count in (audit.get("labels") or {}).items()),
        key=lambda pair: (-pair[1], pair[0]),
    )
    if labels:
        _add_labels(body, labels)
    if columns := audit.get("columns"):
        _add_columns(body, columns)
    if bad.get("first"):
        items = "".join(f"<li>{name_element(line, 300)}</li>" for line in bad["first"])
        body.add_html(f'<p>The first lines that could not be read:</p><ol class="bad">{items}</ol>')


def _add_columns(body: PageBody, columns: list[dict], limit: int = 40) -> None:
    """Add a table of the first `limit` columns of the user's table."""
    lines = [
        [
            name_element(c["name"], 60),
            escape(c["kind"]),
            format_count(c["gaps"]) if c["gaps"] else "",
            escape(c["shows"], 200),
            f'<span class="bars">{escape(c["bars"])}</span>' if c["bars"] else "",
        ]
        for c in columns[:limit]
    ]
    more = f" The first {limit} of {format_count(len(columns))} are shown."
    body.add_table(
        ["Column", "Kind", "Gaps", "Values", ""],
        lines,
        f"The columns of the table.{more if len(columns) > limit else ''}",
        numeric=(2,),
        css_class="stacked columns",
    )


def _add_labels(body: PageBody, labels, limit: int = 15) -> None:
    """Add a chart of the rows of each label; beyond `limit` labels it merges the rarest."""
    bars, note = labels, ""
    if len(labels) > limit:
        rare = labels[limit - 1 :]
        merged = f"{len(rare):,} others", sum(count for _, count in rare)
        bars = [*labels[: limit - 1], merged]
        note = f" The {len(rare):,} rarest are merged."
    caption = f"Rows of each of the {count_noun(len(labels), 'label')}.{note}"
    body.add_figure([charts.label_chart(bars)], caption)


# --------------------------------------------------------------------------- training
def add_training_section(body: PageBody, model, history, max_paths: int = 6) -> None:
    """Add charts along training, and along sizes if the model chose its size.

    Of several outputs at most `max_paths` have their sizes drawn.
    """
    paths = [] if model is None else size_paths(model)
    history = history if history is not None else plot_data.training_history(model)
    curves = plot_data.training_curves(history)
    drawn = charts.training_charts(curves, plot_data.output_names(model, len(curves)))
    if not paths and not drawn:
        return
    body.add_section("training", "Error and sparsity along training")
    if drawn:
        body.add_figure(list(drawn.values()), _training_caption(curves, drawn))
    for path in paths[:max_paths]:
        output = f" for {name_element(path.name, 60)}" if path.name else ""
        classes = is_classifier(model)
        body.add_figure(charts.size_charts(path, classes), _size_caption(path, output, classes))
    if len(paths) > max_paths:
        body.add_paragraph(
            f"The curves of the other {len(paths) - max_paths} outputs are not drawn."
        )


def _training_caption(curves, drawn) -> str:
    descriptions = {
        "error": "error of the rows, each judged before it was learnt",
        "loss": "mean loss of the rows, each judged before it was learnt",
        "kept": "number of features kept",
    }
    text = f"{', and '.join(descriptions[key] for key in drawn)}, as rows went by."
    text = text[0].upper() + text[1:]
    if "error" in drawn and any(np.isfinite(curve.held_out).any() for curve in curves):
        text += " Dashed: error on rows held out."
    return f"{text} One line an output." if len(curves) > 1 else text


def _size_caption(path: SizePath, output: str, classes: bool) -> str:
    best = int(np.nanargmin(path.error))
    text = (
        f"Error on rows not trained on{output}, by the number of features kept. Smallest: "
        f"{format_fixed(path.error[best], 4)} with {format_count(path.sizes[best])}. Shaded: one "
        "standard error to each side; dashed: no feature at all."
    )
    if not math.isfinite(path.threshold):
        return f"{text} The user set the size, {format_count(path.chosen)}."
    text += " The second chart shows the measure that the size is chosen by"
    if classes:
        text += ", the soft error: a row near the border counts as partly wrong, whichever its side"
    text += "; "
    if not path.chosen:
        return f"{text}none is chosen, because none is surely better than no feature."
    text += f"{format_count(path.chosen)} is the smallest size below the dashed line once the "
    return f"{text}curve is smoothed, the mean over draws of the rows."


# --------------------------------------------------------------------------- features
def add_selection_section(body: PageBody, model, names, density) -> None:
    """Add charts of the selection probabilities, and of the fraction kept by density."""
    selection = None if model is None else plot_data.read_selection(model)
    support = None if model is None else _support(model)
    figures = []
    ranked = () if selection is None else selection.ranked()
    # That all were selected in all runs is a sentence of the verdict, and no figure.
    if selection is not None and len(ranked) and (selection.probability[ranked] < 1.0).any():
        chart = charts.probability_chart(
            selection, ranked, lambda j: f"column {j}" if names is None else str(names[j])[:80]
        )
        figures.append((chart, _selection_caption(selection, len(ranked), model)))
    if density is not None and support is not None and len(support):
        profile = plot_data.density_profile(density, support)
        if len(profile.density) >= 3:  # fewer points show no trend
            figures.append((charts.density_chart(profile), _density_caption()))
    if figures:
        body.add_section("selection", "How the features were selected")
    for chart, caption in figures:
        body.add_figure([chart], caption)


def _density_caption() -> str:
    return (
        "Share of features kept among those present in similarly many rows; the area of a point "
        "grows with their number. Points that rise to the right show a preference for common "
        "features."
    )


def _selection_caption(selection: plot_data.Selection, n_selected: int, model) -> str:
    n_outputs = np.atleast_2d(model.selection_probability_).shape[0]
    highest = " (the highest over its outputs)" if n_outputs > 1 else ""
    first = "the highest first"
    if selection.importance is not None:
        first = "the kept ones first, by importance"
    text = (
        f"Selection probability of each of the {format_count(n_selected)} features ever "
        f"selected{highest}, {first}. Filled: kept; hollow: not kept."
    )
    if n_selected > charts.ALL_RANKS + charts.SAMPLED_RANKS:
        text += f" Beyond rank {charts.ALL_RANKS} some of them are drawn."
    if selection.threshold is None:
        return f"{text} No threshold applies: features are kept by the size of their weights."
    text += f" Dashed: the threshold, {format_fixed(selection.threshold, 2)}"
    if hasattr(model, "n_stages_"):
        text += "; a feature leaves for good when the bursts of one stage keep it less often"
    return f"{text}."


def add_features_section(body: PageBody, model, names, density, evidence=None) -> None:
    """Add the table of kept features."""
    support = None if model is None else _support(model)
    if support is None:
        return
    body.add_section("features", "Kept features")
    if not len(support):
        body.add_paragraph(f"No feature was kept{_reason_for_none(model)}.")
        return
    columns, n_weights, n_kept = feature_table.feature_columns(model, names, density, evidence)
    weights = plot_data.read_weights(model)
    n_outputs = 1 if weights is None else weights.n_outputs
    n_features = getattr(model, "n_features_in_", 0)
    if not n_features and weights is not None:
        n_features = weights.n_features
    outputs = "classes" if is_classifier(model) else "targets"
    speaks_for = _speaks_for(model, n_outputs)
    caption = feature_table.table_caption(
        columns, n_kept, n_weights, n_features, n_outputs, speaks_for, outputs
    )
    feature_table.add_feature_table(body, columns, caption)


def _reason_for_none(model) -> str:
    error = held_out_error(model)
    return f": {error.describe_empty()}" if error is not None and error.is_empty() else ""


def _speaks_for(model, n_outputs: int) -> str:
    """Return what a positive weight speaks for, in HTML, or "" if it is not known."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "higher values" if n_outputs == 1 and hasattr(model, "coef_") else ""
    is_binary = n_outputs == 1 and len(classes) == 2
    return f"class {name_element(classes[1], 60)}" if is_binary else "the class of its row"


def _support(model):
    """Return the indices of the kept features, or None for a model that selects none."""
    try:
        return selected_features(model)[0]
    except TypeError:
        return None


# --------------------------------------------------------------------------- methods
def add_methods_section(body: PageBody, record) -> None:
    """Add the methods of a comparison side by side."""
    if record is None or not record.rows:
        return
    body.add_section("methods", "Methods side by side")
    header, lines = record.cells()
    runs, fraction = record.settings.get("runs"), record.settings.get("subsample")
    design = f"{format_count(runs) if runs else 'several'} runs each, "
    design += (
        f"on random shares of {format_percent(fraction, 0)}" if fraction else "in random orders"
    )
    rows = "of the rows" if fraction else "of the same rows"
    text = (
        f"Mean ± standard deviation over {design} {rows}. Kappa and stability say how much the "
        "selections agree: 1 is the same every time, 0 is chance."
    )
    cells = [
        [name_element(cell, 60) if k < 2 else _mean_and_std(cell) for k, cell in enumerate(line)]
        for line in lines
    ]
    body.add_table([escape(name) for name in header], cells, text, set(range(2, len(header))))
    for sentence in record.found():
        body.add_paragraph(escape(sentence))
    names = plot_data.method_names(record.rows)
    body.add_figure(
        charts.method_charts(names, _method_measures(record)),
        "The same in pictures. Lines: one standard deviation to each side; for stability its "
        "confidence interval.",
    )


def _mean_and_std(cell: str) -> str:
    """Return a mean and its standard deviation in HTML that aligns the means of a column."""
    mean, mark, std = escape(cell).replace("nan", MISSING).partition(" ±")
    return f'{mean}<span class="sd">± {std}</span>' if mark else mean


def _method_measures(record) -> list[charts.MethodMeasure]:
    """Return the measures of each method that are drawn."""
    is_classification = record.settings.get("task", "classification") == "classification"
    error = ("error, %", 100.0) if is_classification else ("squared error", 1.0)
    middle, low, high = (_record_column(record, f"stability{end}") for end in ("", "_low", "_high"))
    return [
        _measure_with_std(record, "error", *error, False),
        _measure_with_std(record, "kept", "features kept, %", 100.0, True),
        charts.MethodMeasure("stability", middle, low, high, False),
        _measure_with_std(record, "seconds", "seconds of a fit", 1.0, True),
    ]


def _record_column(record, key: str) -> np.ndarray:
    """Return a number of each method, nan where it is missing."""
    return np.array([float(row.get(key, math.nan)) for row in record.rows])


def _measure_with_std(
    record, name: str, title: str, factor: float, log: bool
) -> charts.MethodMeasure:
    """Return means with one standard deviation to each side.

    On a log scale the lower ends stay above a third of the smallest mean.
    """
    values, std = (factor * _record_column(record, key) for key in (name, f"{name}_sd"))
    positive = values[values > 0.0]
    floor = positive.min() / 3.0 if log and len(positive) else -math.inf
    low, high = np.maximum(values - std, floor), values + std
    return charts.MethodMeasure(title, values, low, high, log)


def add_stability_section(body: PageBody, record) -> None:
    """Add the agreement of every run with every other."""
    agreement = None if record is None else plot_data.run_agreement(record)
    if agreement is None:
        return
    body.add_section("stability", "Stability of the selection")
    content = "Agreement of the features kept by each run with those of every other, run by run"
    if len(agreement.groups) > charts.MAX_RUNS:
        content = "Mean agreement of the runs of two methods"
    text = (
        f"{content}, by Cohen's kappa: 1 (full colour) is the same selection, 0 (blank) or less is "
        "chance. Blocks on the diagonal compare a method with itself."
    )
    body.add_figure([charts.agreement_chart(agreement)], text)


# --------------------------------------------------------------------------- how it was made
def add_making_section(body: PageBody, model, record, facts) -> None:
    """Add seeds, versions, settings, and what was skipped or refused."""
    pairs = [
        (escape(name), name_element(without_secrets(value), 2000))
        for name, value in (facts or {}).items()
    ]
    if model is not None:
        text = escape(without_addresses(" ".join(repr(model).split())), 2000)
        pairs.append(("Model", f"<code>{text}</code>"))
    if record is not None:
        pairs += [
            (f"Comparison: {escape(key.replace('_', ' '))}", _format_setting(value))
            for key, value in record.settings.items()
            if key != "tune" and value is not None
        ]
        pairs += [
            (f"Comparison: settings tried for {name_element(name, 60)}", format_count(len(grid)))
            for name, grid in (record.settings.get("tune") or {}).items()
        ]
        if record.seeds:
            pairs.append(("Comparison: seeds", escape(", ".join(map(str, record.seeds)), 2000)))
        pairs += [
            (f"Version of {escape(name)}", escape(value)) for name, value in record.versions.items()
        ]
    if not pairs:
        return
    body.add_section("making", "How it was made")
    body.add_pairs(
        pairs, "Commands, seeds, settings and versions, and what was skipped or refused."
    )


def _format_setting(value) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return format_count(value) if is_count else escape(value)
