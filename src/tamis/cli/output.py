"""What commands print: tables of rich, figures, JSON."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.cli.messages import say
from tamis.reporting.page.held_out_error import HeldOutError
from tamis.reporting.page.plot_data import DOUBT, is_doubtful, probabilities_of, shares_of_largest
from tamis.system.terminal import for_json, for_terminal

MARK = "*"  # beside a feature to doubt


def print_json(value: object) -> None:
    """A result as JSON; what is not finite becomes null."""
    escaped = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(for_json(json.dumps(plain(value), indent=1, ensure_ascii=escaped, allow_nan=False)))


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
def held_out_lines(error: HeldOutError | None, name: str = "") -> list[tuple[str, str]]:
    """What a model says of its own error, as what it is or under another name, and of other
    sizes.
    """
    if error is None:
        return []
    stated = error.stated() if not name or error.classes else f"R2 {error.stated()}"
    lines = [(name or error.measure, stated), ("sizes", error.other_sizes())]
    return [(name, words) for name, words in lines if words]


def errors_of(model: Any, error: HeldOutError | None) -> dict:
    """The same as plain data; None where it says nothing."""
    if error is None:
        return dict.fromkeys(("error", "standard_error", "baseline_error", "sizes"))
    figures = error._asdict()
    names = ("error", "standard_error", "baseline_error")
    return {name: figures[name] for name in names} | {"sizes": model.sizes_}


# --------------------------------------------------------------------------- kept features
class Kept(NamedTuple):
    """Weights of kept features as plain data, the most important first; how many there are beside
    those that are told, and whether they are of several classes.
    """

    lines: list[dict]
    total: int
    several: bool


def kept(model: Any, names_of: Callable[[np.ndarray], list[str]], most: int | None = None) -> Kept:
    """Features with a weight, the most important first (the heaviest where a model does not say),
    and their importance and probability where they are known; the first `most` of them, since a
    line of plain data takes as much memory as fifty weights.
    """
    support = np.asarray(model.support_)
    weights = np.atleast_2d(_picked(model.coef_, support))
    known = {}
    if hasattr(model, "importance_"):
        known["importance"] = shares_of_largest(np.atleast_2d(_picked(model.importance_, support)))
    if (shares := probabilities_of(model)) is not None:
        known["probability"] = _picked(shares, support)
    ranked = [_first(row, known, c, most) for c, row in enumerate(weights)]
    keys = np.hstack([keys for keys, _ in ranked])
    order = np.lexsort(keys)[:most]  # a stable order: of equal ones the first class comes first
    at = keys[0, order].astype(np.int64).tolist()
    of = np.repeat(np.arange(len(ranked)), [keys.shape[1] for keys, _ in ranked])[order].tolist()
    names, outputs = names_of(support[at]), _outputs(model, len(weights))
    lines = []
    for name, c, k in zip(names, of, at, strict=True):
        line = {"column": int(support[k]), "name": name, "class": outputs[c]}
        line |= {"weight": float(weights[c, k])}
        lines.append(line | {what: float(figure[c, k]) for what, figure in known.items()})
    met = {outputs[c] for c, (_, count) in enumerate(ranked) if count}
    return Kept(lines, sum(count for _, count in ranked), len(met) > 1)


def _first(weights: np.ndarray, known: dict, c: int, most: int | None) -> tuple[np.ndarray, int]:
    """Of the first weights of a class what they are sorted by, the most telling last: the place,
    the size, the importance; and how many weights there are.
    """
    places = np.flatnonzero(weights)
    keys = [places, -np.abs(weights[places])]
    if "importance" in known:
        keys.append(-known["importance"][c, places])
    order = np.lexsort(keys)[:most]
    return np.array([key[order] for key in keys], dtype=float), len(places)


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


def show_kept(found: Kept, error: HeldOutError | None = None) -> None:
    """The first features as a table; those that were seldom selected are marked."""
    lines, total, several = found
    if not total:
        say(error.nothing() if error and error.is_empty() else "no feature was kept")
        return
    first = lines[0] if lines else {}
    columns: dict[str, Callable[[dict], str]] = {"feature": lambda line: line["name"]}
    if several:
        columns["class"] = lambda line: str(line["class"])
    if "importance" in first:
        columns["importance"] = lambda line: f"{line['importance']:.3f}"
    columns["weight"] = lambda line: f"{line['weight']:+.4g}"
    if "probability" in first:
        columns["probability"] = _probability
    if "qvalue" in first:
        columns["q-value"] = lambda line: f"{line['qvalue']:.2g}"
        if any(line["claimed with"] for line in lines):
            columns["claimed with"] = lambda line: line["claimed with"] or ""
    cells = [[cell(line) for cell in columns.values()] for line in lines]
    title = f"{len(lines):,} of {total:,} weights"
    title += ", the most important first" if "importance" in columns else ""
    title += "" if several or first.get("class") is None else f", + speaks for {first['class']}"
    table(list(columns), cells, title)
    if any(is_doubtful(line.get("probability")) for line in lines):
        say(f"{MARK} {DOUBT}")


def _probability(line: dict) -> str:
    """A probability, marked where the feature was seldom selected."""
    share = line["probability"]
    return f"{MARK} {share:.2f}" if is_doubtful(share) else f"{share:.2f}"
