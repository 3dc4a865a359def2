"""The columns of a table one by one: kind, gaps, spread, values met most, a small histogram."""

from typing import Any

import numpy as np

from tamis.cli.output import label, table
from tamis.data.columns.profile import Figures
from tamis.data.source import RowSource

SHOWN = 40  # columns that a terminal shows
BARS = "▁▂▃▄▅▆▇█"
BINS, WORD = 10, 18  # of a histogram; characters of a value


def columns_of(rows: RowSource) -> list[dict[str, Any]]:
    """What is known of every column of a table that was read before its first chunk."""
    if rows.profile is None or rows.layout is None:
        return []
    facts = {c.name: c.facts for c in rows.layout.columns}
    return [
        _told(rows.profile.figures(name), kind, facts.get(name, {}))
        for name, kind in rows.profile.kinds.items()
    ]


def _told(figures: Figures, kind: str, facts: dict) -> dict[str, Any]:
    found: dict[str, Any] = {"name": figures.name, "kind": kind, "rows": figures.rows}
    found["gaps"] = figures.gaps
    if "written" in facts:
        span = (np.datetime64(int(facts[end]), "s") for end in ("first", "last"))
        found["span"] = [str(day.astype("datetime64[D]")) for day in span]
    numbers = figures.number or (kind == "number" and figures.sample is not None)
    if not numbers:
        found["words"] = figures.tokens
    found |= {"distinct": figures.distinct, "top": [[label(v), n] for v, n in figures.top]}
    if numbers and figures.rows > figures.gaps:
        found |= {name: getattr(figures, name) for name in ("mean", "spread", "least", "most")}
        found["histogram"] = _histogram(figures.sample)
    return found | {"shows": _values(found), "bars": drawn(found.get("histogram", []))}


def _histogram(sample: np.ndarray | None) -> list[int]:
    """How many numbers of a sample lie in each of some equal parts of their range."""
    if sample is None or not len(sample) or not np.isfinite(np.ptp(sample)):
        return []
    return np.histogram(sample, BINS)[0].tolist()


def drawn(counts: list[int]) -> str:
    """A histogram as a line of bars."""
    most = max(counts, default=0)
    return "".join(BARS[(len(BARS) - 1) * count // most] if count else " " for count in counts)


def _values(column: dict[str, Any]) -> str:
    """What a column holds, in a line."""
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
    return ", ".join(f"{value[:WORD]} {_share(count / rows)}" for value, count in c["top"])


def _share(share: float) -> str:
    """A share in whole percent; one that is there is never 0."""
    return f"{share:.0%}" if share >= 0.005 else "<1%"


def show_columns(columns: list[dict[str, Any]]) -> None:
    """A table of the columns."""
    lines = []
    for c in columns[:SHOWN]:
        share = c["gaps"] / max(c["rows"], 1)
        gaps = f"{c['gaps']:,} ({_share(share)})" if c["gaps"] else ""
        lines.append([c["name"], c["kind"], gaps, c["shows"], c["bars"]])
    if lines:
        more = f", the first {SHOWN} of {len(columns):,}" if len(columns) > SHOWN else ""
        table(["column", "kind", "gaps", "values", ""], lines, f"columns{more}", left=4)
