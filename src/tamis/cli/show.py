"""What commands print: tables of rich, figures, JSON."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tamis.base.machine.screen import for_json, for_terminal
from tamis.cli.say import say


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


# --------------------------------------------------------------------------- kept features
def kept(model: Any, names_of: Callable[[np.ndarray], list[str]]) -> list[dict]:
    """Features with a weight, the heaviest first, and their probability where it is known."""
    support = np.asarray(model.support_)
    weights = np.atleast_2d(_picked(model.coef_, support))
    shares = None
    if hasattr(model, "selection_probability_"):
        shares = np.atleast_2d(_picked(model.selection_probability_, support))
    names, outputs = names_of(support), _outputs(model, len(weights))
    found = []
    for k, column in enumerate(support.tolist()):
        for c, output in enumerate(outputs):
            if weights[c, k]:
                weight = float(weights[c, k])
                line = {"column": column, "name": names[k], "class": output, "weight": weight}
                if shares is not None:
                    line["probability"] = float(shares[c, k])
                found.append(line)
    return sorted(found, key=lambda line: (-abs(line["weight"]), line["column"]))


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


def show_kept(found: list[dict], top: int) -> None:
    """The heaviest features as a table."""
    if not found:
        say("no feature was kept")
        return
    several, shares = len({line["class"] for line in found}) > 1, "probability" in found[0]
    head = [
        "feature",
        *(["class"] if several else []),
        "weight",
        *(["probability"] if shares else []),
    ]
    lines = []
    for line in found[:top]:
        cells = [line["name"], *([str(line["class"])] if several else []), f"{line['weight']:+.4g}"]
        lines.append(cells + ([f"{line['probability']:.2f}"] if shares else []))
    what = found[0]["class"]
    said = "" if several or what is None else f", + speaks for {what}"
    table(head, lines, f"{min(top, len(found))} of {len(found)} weights{said}")
