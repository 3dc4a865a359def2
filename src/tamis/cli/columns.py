"""The columns of a table one by one: kind, gaps, spread, values met most, a small histogram."""

from typing import Any

import numpy as np

from tamis.cli.show import label, table
from tamis.read.columns.profile import Figures
from tamis.read.source import RowSource

SHOWN = 40  # columns that a terminal shows
BARS = "▁▂▃▄▅▆▇█"
BINS, WORD = 10, 18  # of a histogram; characters of a value


def columns_of(rows: RowSource) -> list[dict[str, Any]]:
    """What is known of every column of a table that was read before its first chunk."""
    if rows.profile is None or rows.layout is None:
        return []
    return [_told(rows.profile.figures(name), kind) for name, kind in rows.profile.kinds.items()]


def _told(figures: Figures, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": figures.name, "kind": kind, "gaps": figures.gaps}
    found |= {"distinct": figures.distinct, "top": [[label(v), n] for v, n in figures.top]}
    if figures.number and figures.rows > figures.gaps:
        found |= {name: getattr(figures, name) for name in ("mean", "spread", "least", "most")}
        found["histogram"] = _histogram(figures.sample)
    return found


def _histogram(sample: np.ndarray | None) -> list[int]:
    """How many numbers of a sample lie in each of some equal parts of their range."""
    if sample is None or not len(sample) or not np.isfinite(np.ptp(sample)):
        return []
    return np.histogram(sample, BINS)[0].tolist()


def drawn(counts: list[int]) -> str:
    """A histogram as a line of bars."""
    most = max(counts, default=0)
    return "".join(BARS[(len(BARS) - 1) * count // most] if count else " " for count in counts)


def show_columns(columns: list[dict[str, Any]], rows: int) -> None:
    """A table of the columns."""
    lines = []
    for c in columns[:SHOWN]:
        gaps = f"{c['gaps']:,} ({c['gaps'] / max(rows, 1):.0%})" if c["gaps"] else ""
        if "mean" in c and (c["distinct"] is None or c["distinct"] > len(BARS)):
            values = f"{c['least']:.4g} to {c['most']:.4g}, mean {c['mean']:.4g}"
            values += f", spread {c['spread']:.4g}"
        else:
            values = ", ".join(
                f"{value[:WORD]} {count / max(rows, 1):.0%}" for value, count in c["top"]
            )
        lines.append([c["name"], c["kind"], gaps, values, drawn(c.get("histogram", []))])
    if lines:
        more = f", the first {SHOWN} of {len(columns):,}" if len(columns) > SHOWN else ""
        table(["column", "kind", "gaps", "values", ""], lines, f"columns{more}", left=4)
