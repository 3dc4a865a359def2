"""Summaries of a table's columns: kind, gaps, statistics, frequent values, a small histogram."""

from typing import Any

import numpy as np

from tamis.cli.output import label, print_table
from tamis.data.columns.profile import ColumnSummary
from tamis.data.source import RowSource


def summarize_columns(rows: RowSource) -> list[dict[str, Any]]:
    """Return a summary of every column of a table, and nothing for files of another format.

    Only a table is profiled before its first chunk is read.
    """
    if rows.profile is None or rows.layout is None:
        return []
    facts = {c.name: c.facts for c in rows.layout.columns}
    return [
        _summarize_column(rows.profile.figures(name), kind, facts.get(name, {}))
        for name, kind in rows.profile.kinds.items()
    ]


def _summarize_column(figures: ColumnSummary, kind: str, facts: dict) -> dict[str, Any]:
    """Return the summary of a column as plain data, with its text for a line of a table."""
    column: dict[str, Any] = {"name": figures.name, "kind": kind, "rows": figures.rows}
    column["gaps"] = figures.gaps
    if "written" in facts:
        ends = (np.datetime64(int(facts[end]), "s") for end in ("first", "last"))
        column["span"] = [str(day.astype("datetime64[D]")) for day in ends]
    is_number = figures.number or (kind == "number" and figures.sample is not None)
    if not is_number:
        column["words"] = figures.tokens
    column |= {"distinct": figures.distinct, "top": [[label(v), n] for v, n in figures.top]}
    if is_number and figures.rows > figures.gaps:
        column |= {"mean": figures.mean, "spread": figures.spread}
        column |= {"least": figures.least, "most": figures.most}
        column["histogram"] = _histogram(figures.sample)
    bars = _draw_bars(column.get("histogram", []))
    return column | {"shows": _describe_values(column), "bars": bars}


def _histogram(sample: np.ndarray | None, bins: int = 10) -> list[int]:
    """Return the counts of a sample in bins of equal width."""
    if sample is None or not len(sample) or not np.isfinite(np.ptp(sample)):
        return []
    return np.histogram(sample, bins)[0].tolist()


def _draw_bars(counts: list[int], bars: str = "▁▂▃▄▅▆▇█") -> str:
    """Return a histogram as one line of characters, a space for an empty bin."""
    largest = max(counts, default=0)
    return "".join(bars[(len(bars) - 1) * count // largest] if count else " " for count in counts)


def _describe_values(column: dict[str, Any], max_characters: int = 18) -> str:
    """Return one line about the values of a column; a value is cut to `max_characters`."""
    c = column
    if "span" in c:
        return f"{c['span'][0]} to {c['span'][1]}"
    if c["kind"] == "text":
        return f"{c['words']:.3g} words a row"
    if c["kind"] == "identifier" and "mean" not in c:
        return "nearly all differ"
    if "mean" in c and (c["distinct"] is None or c["distinct"] > len(c["top"])):
        values = f"{c['least']:.4g} to {c['most']:.4g}, mean {c['mean']:.4g}"
        return f"{values}, spread {c['spread']:.4g}"
    rows = max(c["rows"], 1)
    return ", ".join(
        f"{value[:max_characters]} {_format_percent(count / rows)}" for value, count in c["top"]
    )


def _format_percent(fraction: float) -> str:
    """Return a fraction in whole percent; one below half a percent reads "<1%"."""
    return f"{fraction:.0%}" if fraction >= 0.005 else "<1%"


def print_columns(columns: list[dict[str, Any]], limit: int = 40) -> None:
    """Print a table of the first `limit` columns."""
    lines = []
    for c in columns[:limit]:
        fraction = c["gaps"] / max(c["rows"], 1)
        gaps = f"{c['gaps']:,} ({_format_percent(fraction)})" if c["gaps"] else ""
        lines.append([c["name"], c["kind"], gaps, c["shows"], c["bars"]])
    if lines:
        more = f", the first {limit} of {len(columns):,}" if len(columns) > limit else ""
        header = ["column", "kind", "gaps", "values", ""]
        print_table(header, lines, f"columns{more}", n_left=4)
