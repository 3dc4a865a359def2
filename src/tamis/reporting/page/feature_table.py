"""The table of kept features: its first rows as HTML, all of it as data that the page's script
searches and sorts.
"""

import json
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import counted, decimals, fixed, name_span, safe, whole
from tamis.reporting.page.page_body import Sheet
from tamis.reporting.page.plot_data import (
    DOUBT,
    HALF,
    is_doubtful,
    output_names,
    probabilities_of,
    weights_of,
)
from tamis.selection.supports import kept_by

PAGE = 50  # rows on view
NEAREST = 1  # columns told that could stand for one
LISTED = 50_000  # rows in the page, so that it opens quickly


class Column(NamedTuple):
    """A column: its head, kind (count, text, sign, weight, share, probability), values, decimals,
    and what its head explains.
    """

    head: str
    kind: str
    values: list
    digits: int = 0
    hint: str = ""


def feature_columns(model, names, density, evidence=None) -> tuple[list[Column], int, int]:
    """Columns of the table, how many rows there are in all, and how many features are kept; judged
    rows tell the spread of columns, and which could stand for kept ones.
    """
    moments = None if evidence is None else evidence.moments
    spreads = None if moments is None else moments[1]
    kept, weights = np.asarray(kept_by(model)[0]), weights_of(model, spreads)
    if weights is None:
        features, outputs, many = kept, np.zeros(len(kept), dtype=int), 1
        values = importance = None
        shares = probabilities_of(model)
        if shares is not None:
            features = kept[np.lexsort((kept, -shares[0, kept]))]
    else:
        features, outputs, values, many, _, importance = weights
    total, listed = len(features), slice(0, LISTED)
    features, outputs = features[listed], outputs[listed]
    columns = [
        Column("rank", "count", list(range(1, len(features) + 1))),
        Column("column", "count", features.tolist(), hint="column of X, from 0 on"),
    ]
    if names is not None:
        columns.append(Column("name", "text", [str(names[j]) for j in features]))
    if many > 1:
        labels = output_names(model, many)
        head = "class" if hasattr(model, "classes_") else "target"
        columns.append(Column(head, "text", [labels[c] for c in outputs]))
    if importance is not None:
        hint = "weight times the spread of the column, as a share of the largest"
        found = [_short(v) for v in importance[listed]]
        columns.append(Column("importance", "bar", found, 3, hint))
    if values is not None:
        sizes = [_short(v) for v in values[listed]]
        columns += [
            Column("sign", "sign", sizes),
            Column("weight", "weight", sizes, decimals(sizes), "sorted by size, whatever the sign"),
        ]
    shares = probabilities_of(model)
    if shares is not None:
        hint = "share of the runs inside the method that kept it"
        found = [_short(v) for v in shares[outputs, features]]
        columns.append(Column("probability", "probability", found, 3, hint))
    if density is not None:
        hint = "share of the rows in which it is present"
        found = [_short(v) for v in density[features]]
        columns.append(Column("density", "share", found, 5, hint))
    if evidence is not None and evidence.claims is not None:
        columns += claim_columns(evidence, features)
    if evidence is not None and evidence.substitutes:
        hint = "columns that are correlated with it by .95 or more"
        others = [_listed(evidence, int(j)) for j in features]
        columns.append(Column("substitutes", "text", others, hint=hint))
    return columns, total, len(kept)


def claim_columns(evidence, features: np.ndarray) -> list[Column]:
    """What may be claimed of kept features: kept because they predict is one thing, a discovery
    another.
    """
    claims = [evidence.claim(int(j)) for j in features]
    hint = "smallest false discovery rate at which it would be selected; 1 where it is not found"
    found = [Column("q-value", "share", [_short(q) for q, _ in claims], 4, hint)]
    heads = [
        "" if head == j else evidence.name(head)
        for (_, head), j in zip(claims, features.tolist(), strict=True)
    ]
    if any(heads):
        hint = "the claim is about it or this column, which stands for the group"
        found.append(Column("claimed with", "text", heads, hint=hint))
    return found


def _listed(evidence, column: int) -> str:
    """The columns nearest to one."""
    others = evidence.substitutes.get(column, ())
    more = f" and {len(others) - NEAREST} more" if len(others) > NEAREST else ""
    return ", ".join(evidence.name(j) for j, _ in others[:NEAREST]) + more


def _short(value) -> float | None:
    """A number with six digits, which is what a reader needs; None where there is none."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def put_table(sheet: Sheet, columns: list[Column], caption: str) -> None:
    """The table with its controls, its first page of rows, and the data."""
    rows = len(columns[0].values)
    heads, numbers = [], {k for k, column in enumerate(columns) if column.kind != "text"}
    # No button elements: browsers do not print them in heads that come again on a new sheet.
    for column in columns:
        hint = f' title="{safe(column.hint)}"' if column.hint else ""
        heads.append(f'<span class="sort" role="button" tabindex="0"{hint}>{column.head}</span>')
    lines = [[_cell(column, k) for column in columns] for k in range(min(rows, PAGE))]
    sheet.raw(
        '<div class="controls" id="kept-controls" hidden>'
        '<input type="search" id="kept-search" placeholder="Search" aria-label="Search the kept '
        'features" autocomplete="off" spellcheck="false">'
        '<span id="kept-status" role="status"></span><span class="pager"><button type="button" '
        'id="kept-back">Back</button>'
        '<button type="button" id="kept-next">Next</button></span></div>'
    )
    looks = {"name": "named", "substitutes": "substitutes"}
    kind = " ".join(looks[column.head] for column in columns if column.head in looks)
    sheet.table(heads, lines, caption, numbers, key="kept", kind=kind)
    if rows > PAGE:  # for paper, and where scripts do not run
        sheet.raw(f'<p class="note" id="kept-note">Rows 1–{PAGE} of {whole(rows)}.</p>')
    data = {
        "page": PAGE,
        "kinds": [c.kind for c in columns],
        "digits": [c.digits for c in columns],
        "values": _packed(columns),
        "half": HALF,
        "doubt": DOUBT,
    }
    sheet.raw(f'<script type="application/json" id="kept-data">{script_safe(data)}</script>')


def _packed(columns: list[Column]) -> list:
    """Values of the columns; the sign is read off the weight."""
    return [None if column.kind == "sign" else column.values for column in columns]


def _cell(column: Column, k: int) -> str:
    value = column.values[k]
    if column.kind == "text":
        return name_span(value)
    if column.kind == "bar" and value is not None:
        return f'{fixed(value, column.digits)} <meter value="{value}"></meter>'
    if column.kind == "sign" and value is not None:
        return '<span class="minus">−</span>' if value < 0 else '<span class="plus">+</span>'
    if column.kind == "probability" and is_doubtful(value):
        return f'<span class="doubt" title="{safe(DOUBT)}">{fixed(value, column.digits)}</span>'
    return whole(value) if column.kind == "count" else fixed(value, column.digits)


def script_safe(data) -> str:
    """JSON that no parser of HTML or JavaScript can take for something else."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def kept_sentence(
    columns: list[Column],
    kept: int,
    total: int,
    n_features: int,
    many: int,
    speaks_for: str,
    outputs: str,
) -> str:
    """The caption of the table, in HTML."""
    heads, listed = {column.head: column.values for column in columns}, len(columns[0].values)
    text = f"The {counted(kept, 'feature')} kept of {whole(n_features)}"
    if many > 1:
        text += f", with {whole(total)} weights over {many} {outputs}"
    first, largest = "the largest weight", "largest"
    if "importance" in heads:
        first, largest = "the most important", "most important"
    elif "weight" not in heads:
        first = "the most often selected"
    text += f", {first} first."
    if speaks_for:
        text += f" A positive weight speaks for {speaks_for}."
    if listed < total:
        text += f" The {whole(listed)} {largest} are listed."
    if any(is_doubtful(value) for value in heads.get("probability", ())):
        text += f' <span class="doubt">{DOUBT[0].upper()}{DOUBT[1:]}.</span>'
    return text
