"""What commands print: tables of rich, figures, JSON."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tamis.base.machine.screen import for_json, for_terminal
from tamis.cli.say import say
from tamis.report.page.material import DOUBT, is_doubtful, probabilities_of, shares_of_largest
from tamis.report.page.sizes import Verdict

MARK = "*"  # beside a feature to doubt


def print_json(value: object) -> None:
    """A result as JSON; what is not finite becomes null."""
    print(for_json(json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)))


def plain(value: object) -> Any:
    """The value as JSON has it."""
    if isinstance(value, dict):
        return {label(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def label(value: object) -> str:
    """A class as people write it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def table(head: list[str], lines: list[list[str]], title: str | None = None, left: int = 1) -> None:
    """Print a table, the first `left` columns to the left."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if title:
        say(title)
    grid = Table()
    for number, name in enumerate(head):
        grid.add_column(
            Text(for_terminal(name)), justify="left" if number < left else "right", overflow="fold"
        )
    for line in lines:
        grid.add_row(*(Text(for_terminal(cell)) for cell in line))
    console = Console(file=sys.stdout, soft_wrap=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, width=120)
    console.print(grid)


def pairs(lines: list[tuple[str, str]]) -> None:
    """Print names and figures, one a line."""
    width = max(len(name) for name, _ in lines)
    for name, figure in lines:
        say(f"{name.ljust(width)}  {figure}")


def size(count: float) -> str:
    """A number of bytes in words."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return (
                f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
            )
        count /= 1000
    return f"{count:.1f} TB"


# --------------------------------------------------------------------------- own errors
def verdict_lines(verdict: Verdict | None, name: str = "") -> list[tuple[str, str]]:
    """What a model says of its own error, as what it is or under another name, and of other
    sizes.
    """
    if verdict is None:
        return []
    stated = verdict.stated() if not name or verdict.classes else f"R2 {verdict.stated()}"
    lines = [(name or verdict.measure, stated), ("sizes", verdict.other_sizes())]
    return [(name, words) for name, words in lines if words]


def errors_of(model: Any, verdict: Verdict | None) -> dict:
    """The same as plain data; None where it says nothing."""
    if verdict is None:
        return dict.fromkeys(("error", "standard_error", "baseline_error", "sizes"))
    figures = verdict._asdict()
    names = ("error", "standard_error", "baseline_error")
    return {name: figures[name] for name in names} | {"sizes": model.sizes_}


# --------------------------------------------------------------------------- kept features
def kept(model: Any, names_of: Callable[[np.ndarray], list[str]]) -> list[dict]:
    """Features with a weight, the most important first (the heaviest where a model does not say),
    and their importance and probability where they are known.
    """
    support = np.asarray(model.support_)
    weights = np.atleast_2d(_picked(model.coef_, support))
    known = {}
    if hasattr(model, "importance_"):
        known["importance"] = shares_of_largest(np.atleast_2d(_picked(model.importance_, support)))
    if (shares := probabilities_of(model)) is not None:
        known["probability"] = _picked(shares, support)
    names, outputs = names_of(support), _outputs(model, len(weights))
    found = []
    for k, column in enumerate(support.tolist()):
        for c, output in enumerate(outputs):
            if weights[c, k]:
                weight = float(weights[c, k])
                line = {"column": column, "name": names[k], "class": output, "weight": weight}
                found.append(line | {name: float(figure[c, k]) for name, figure in known.items()})
    return sorted(
        found,
        key=lambda line: (-line.get("importance", 0.0), -abs(line["weight"]), line["column"]),
    )


def _picked(array, support):
    picked = (
        array[..., support] if not hasattr(array, "tocsc") else array.tocsc()[:, support].toarray()
    )
    return np.asarray(picked)


def _outputs(model, count: int) -> list:
    classes = (getattr(model, "reading_", None) or {}).get("labels") or getattr(
        model, "classes_", None
    )
    if classes is None:
        return [None] * count if count == 1 else list(range(count))
    return [label(classes[-1])] if count == 1 else [label(c) for c in classes]


def show_kept(found: list[dict], top: int, verdict: Verdict | None = None) -> None:
    """The first features as a table; those that were seldom selected are marked."""
    if not found:
        say(verdict.nothing() if verdict and verdict.is_empty() else "no feature was kept")
        return
    shown, what = found[:top], found[0]["class"]
    several = len({line["class"] for line in found}) > 1
    columns: dict[str, Callable[[dict], str]] = {"feature": lambda line: line["name"]}
    if several:
        columns["class"] = lambda line: str(line["class"])
    if "importance" in found[0]:
        columns["importance"] = lambda line: f"{line['importance']:.3f}"
    columns["weight"] = lambda line: f"{line['weight']:+.4g}"
    if "probability" in found[0]:
        columns["probability"] = _probability
    lines = [[cell(line) for cell in columns.values()] for line in shown]
    title = f"{len(shown)} of {len(found)} weights"
    title += ", the most important first" if "importance" in columns else ""
    title += "" if several or what is None else f", + speaks for {what}"
    table(list(columns), lines, title)
    if any(is_doubtful(line.get("probability")) for line in shown):
        say(f"{MARK} {DOUBT}")


def _probability(line: dict) -> str:
    """A probability, marked where the feature was seldom selected."""
    share = line["probability"]
    return f"{MARK} {share:.2f}" if is_doubtful(share) else f"{share:.2f}"
