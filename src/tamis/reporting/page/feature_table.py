"""The table of kept features: its first rows as HTML, and all of it as data that the script of the
page searches and sorts.
"""

import json
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import (
    count_decimals,
    count_noun,
    escape,
    format_count,
    format_fixed,
    name_element,
)
from tamis.reporting.page.page_body import PageBody
from tamis.reporting.page.plot_data import (
    DOUBT,
    MIN_PROBABILITY,
    is_doubtful,
    output_names,
    read_weights,
    selection_probabilities,
)
from tamis.selection.supports import selected_features

ROWS_PER_VIEW = 50
MAX_TABLE_ROWS = 50_000  # of the data in the page, so that it opens quickly


class TableColumn(NamedTuple):
    """A column of the table.

    `kind` is count, text, sign, weight, share, bar or probability. `digits` are the decimals of the
    values, `hint` explains the header.
    """

    header: str
    kind: str
    values: list
    digits: int = 0
    hint: str = ""


def feature_columns(model, names, density, evidence=None) -> tuple[list[TableColumn], int, int]:
    """Return the columns of the table, the number of all weights, and the number of kept features.

    Evidence adds the importance of weights, what may be claimed, and correlated columns.
    """
    moments = None if evidence is None else evidence.moments
    std = None if moments is None else moments[1]
    kept, weights = np.asarray(selected_features(model)[0]), read_weights(model, std)
    probabilities = selection_probabilities(model)
    if weights is None:
        features, outputs, n_outputs = kept, np.zeros(len(kept), dtype=int), 1
        values = importance = None
        if probabilities is not None:
            features = kept[np.lexsort((kept, -probabilities[0, kept]))]
    else:
        features, outputs, values, n_outputs, _, importance = weights
    total, limit = len(features), slice(0, MAX_TABLE_ROWS)
    features, outputs = features[limit], outputs[limit]
    columns = [
        TableColumn("rank", "count", list(range(1, len(features) + 1))),
        TableColumn("column", "count", features.tolist(), hint="column of X, from 0 on"),
    ]
    if names is not None:
        columns.append(TableColumn("name", "text", [str(names[j]) for j in features]))
    if n_outputs > 1:
        labels = output_names(model, n_outputs)
        header = "class" if hasattr(model, "classes_") else "target"
        columns.append(TableColumn(header, "text", [labels[c] for c in outputs]))
    if importance is not None:
        hint = "weight times the spread of the column, as a share of the largest"
        cells = _round_all(importance[limit])
        columns.append(TableColumn("importance", "bar", cells, 3, hint))
    if values is not None:
        cells, hint = _round_all(values[limit]), "sorted by size, whatever the sign"
        columns += [
            TableColumn("sign", "sign", cells),
            TableColumn("weight", "weight", cells, count_decimals(cells), hint),
        ]
    if probabilities is not None:
        hint = "share of the runs inside the method that kept it"
        cells = _round_all(probabilities[outputs, features])
        columns.append(TableColumn("probability", "probability", cells, 3, hint))
    if density is not None:
        hint = "share of the rows in which it is present"
        columns.append(TableColumn("density", "share", _round_all(density[features]), 5, hint))
    if evidence is not None and evidence.claims is not None:
        columns += claim_columns(evidence, features)
    if evidence is not None and evidence.substitutes:
        hint = "columns that are correlated with it by .95 or more"
        substitutes = [_format_substitutes(evidence, int(j)) for j in features]
        columns.append(TableColumn("substitutes", "text", substitutes, hint=hint))
    return columns, total, len(kept)


def claim_columns(evidence, features: np.ndarray) -> list[TableColumn]:
    """Return the q-values of kept features, and the columns that the claims are about."""
    claims = [evidence.find_claim(int(j)) for j in features]
    hint = "smallest false discovery rate at which it would be selected; 1 where it is not found"
    columns = [TableColumn("q-value", "share", _round_all(q for q, _ in claims), 4, hint)]
    claimed_with = [
        "" if column == j else evidence.name(column)
        for (_, column), j in zip(claims, features.tolist(), strict=True)
    ]
    if any(claimed_with):
        hint = "the claim is about it or this column, which stands for the group"
        columns.append(TableColumn("claimed with", "text", claimed_with, hint=hint))
    return columns


def _format_substitutes(evidence, column: int) -> str:
    """Return the name of the most correlated column, and the number of further substitutes."""
    substitutes = evidence.substitutes.get(column, ())
    more = f" and {len(substitutes) - 1} more" if len(substitutes) > 1 else ""
    return ", ".join(evidence.name(j) for j, _ in substitutes[:1]) + more


def _round_all(values) -> list[float | None]:
    """Return numbers with six significant digits; None for numbers that are not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def add_feature_table(body: PageBody, columns: list[TableColumn], caption: str) -> None:
    """Add the table with its controls, its first rows, and its data."""
    n_rows = len(columns[0].values)
    # No button elements: browsers do not print them in headers repeated on a new sheet.
    header = []
    for column in columns:
        hint = f' title="{escape(column.hint)}"' if column.hint else ""
        header.append(f'<span class="sort" role="button" tabindex="0"{hint}>{column.header}</span>')
    lines = [[_cell(column, k) for column in columns] for k in range(min(n_rows, ROWS_PER_VIEW))]
    body.add_html(
        '<div class="controls" id="kept-controls" hidden>'
        '<input type="search" id="kept-search" placeholder="Search" aria-label="Search the kept '
        'features" autocomplete="off" spellcheck="false">'
        '<span id="kept-status" role="status"></span><span class="pager"><button type="button" '
        'id="kept-back">Back</button>'
        '<button type="button" id="kept-next">Next</button></span></div>'
    )
    css_classes = {"name": "named", "substitutes": "substitutes"}
    headers = [column.header for column in columns]
    css_class = " ".join(css_classes[text] for text in headers if text in css_classes)
    numeric = {k for k, column in enumerate(columns) if column.kind != "text"}
    body.add_table(header, lines, caption, numeric, key="kept", css_class=css_class)
    if n_rows > ROWS_PER_VIEW:  # for paper, and for browsers that run no scripts
        note = f"Rows 1–{ROWS_PER_VIEW} of {format_count(n_rows)}."
        body.add_html(f'<p class="note" id="kept-note">{note}</p>')
    data = {
        "rowsPerView": ROWS_PER_VIEW,
        "kinds": [column.kind for column in columns],
        "digits": [column.digits for column in columns],
        # The script reads the sign from the weight.
        "values": [None if column.kind == "sign" else column.values for column in columns],
        "minProbability": MIN_PROBABILITY,
        "doubt": DOUBT,
    }
    body.add_html(f'<script type="application/json" id="kept-data">{script_json(data)}</script>')


def _cell(column: TableColumn, k: int) -> str:
    """Return the HTML of row `k` of a column; the script of the page writes the same."""
    value = column.values[k]
    if column.kind == "text":
        return name_element(value)
    if column.kind == "bar" and value is not None:
        return f'{format_fixed(value, column.digits)} <meter value="{value}"></meter>'
    if column.kind == "sign" and value is not None:
        return '<span class="minus">−</span>' if value < 0 else '<span class="plus">+</span>'
    text = format_count(value) if column.kind == "count" else format_fixed(value, column.digits)
    if column.kind == "probability" and is_doubtful(value):
        return f'<span class="doubt" title="{escape(DOUBT)}">{text}</span>'
    return text


def script_json(data) -> str:
    """Return JSON for a script element, with all characters escaped that could end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def table_caption(
    columns: list[TableColumn],
    n_kept: int,
    n_weights: int,
    n_features: int,
    n_outputs: int,
    speaks_for: str,
    outputs: str,
) -> str:
    """Return the caption of the table in HTML; `speaks_for` says what a positive weight means."""
    values = {column.header: column.values for column in columns}
    n_rows = len(columns[0].values)
    text = f"The {count_noun(n_kept, 'feature')} kept of {format_count(n_features)}"
    if n_outputs > 1:
        text += f", with {format_count(n_weights)} weights over {n_outputs} {outputs}"
    first, largest = "the largest weight", "largest"
    if "importance" in values:
        first, largest = "the most important", "most important"
    elif "weight" not in values:
        first = "the most often selected"
    text += f", {first} first."
    if speaks_for:
        text += f" A positive weight speaks for {speaks_for}."
    if n_rows < n_weights:
        text += f" The {format_count(n_rows)} {largest} are listed."
    if any(is_doubtful(value) for value in values.get("probability", ())):
        text += f' <span class="doubt">{DOUBT[0].upper()}{DOUBT[1:]}.</span>'
    return text
