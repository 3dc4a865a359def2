"""Results as commands print them: JSON, tables of rich, names with values, selected features."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.cli.messages import print_line
from tamis.reporting.page.held_out_error import HeldOutError
from tamis.reporting.page.plot_data import (
    DOUBT,
    is_doubtful,
    relative_to_largest,
    selection_probabilities,
)
from tamis.system.terminal import for_json, for_terminal


def print_json(value: object) -> None:
    """Print a result as JSON."""
    is_ascii = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(to_plain(value), indent=1, ensure_ascii=is_ascii, allow_nan=False)
    print(for_json(text))


def to_plain(value: object) -> Any:
    """Return a value in the types of JSON; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {label(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, np.generic | np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def label(value: object) -> str:
    """Return a class label as text: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def print_table(
    header: list[str], lines: list[list[str]], title: str | None = None, n_left: int = 1
) -> None:
    """Print a table; the first `n_left` columns are left-aligned, the others right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if title:
        print_line(title)
    grid = Table()
    for k, name in enumerate(header):
        heading = Text(for_terminal(name))
        grid.add_column(heading, justify="left" if k < n_left else "right", overflow="fold")
    for line in lines:
        grid.add_row(*(Text(for_terminal(cell)) for cell in line))
    console = Console(file=sys.stdout, soft_wrap=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, width=120)
    console.print(grid)


def print_pairs(pairs: list[tuple[str, str]]) -> None:
    """Print names with their values, one pair a line, values aligned."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print_line(f"{name.ljust(width)}  {value}")


def format_bytes(count: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            decimals = 0 if unit == "bytes" or count >= 100 else 1
            return f"{count:.{decimals}f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


# --------------------------------------------------------------------------- held-out error
def held_out_pairs(error: HeldOutError | None, name: str = "") -> list[tuple[str, str]]:
    """Return names and texts for a model's held-out error and for its error at other sizes.

    The error is named by its measure, or by `name`.
    """
    if error is None:
        return []
    stated = error.describe() if not name or error.classes else f"R2 {error.describe()}"
    pairs = [(name or error.measure, stated), ("sizes", error.describe_other_sizes())]
    return [(name, text) for name, text in pairs if text]


def held_out_json(model: Any, error: HeldOutError | None) -> dict:
    """Return a model's held-out error as plain data, with None for all entries if it has none."""
    names = ("error", "standard_error", "baseline_error")
    if error is None:
        return dict.fromkeys((*names, "sizes"))
    return {name: getattr(error, name) for name in names} | {"sizes": model.sizes_}


# --------------------------------------------------------------------------- selected features
class FeatureWeights(NamedTuple):
    """Nonzero weights of a model for printing.

    `lines` holds the first ones as plain data, the most important first, `total` counts all of
    them, and `multioutput` is True if they belong to more than one output.
    """

    lines: list[dict]
    total: int
    multioutput: bool


def rank_weights(
    model: Any, names_of: Callable[[np.ndarray], list[str]], limit: int | None = None
) -> FeatureWeights:
    """Return the nonzero weights of a model, the most important first.

    Weights come with their importance and selection probability where the model has them. Without
    importances the largest weight comes first. Only the first `limit` weights become lines, since
    one line takes as much memory as fifty weights.
    """
    support = np.asarray(model.support_)
    weights = np.atleast_2d(_take_columns(model.coef_, support))
    details = {}
    if hasattr(model, "importance_"):
        importance = np.atleast_2d(_take_columns(model.importance_, support))
        details["importance"] = relative_to_largest(importance)
    if (probabilities := selection_probabilities(model)) is not None:
        details["probability"] = _take_columns(probabilities, support)
    ranked = [_rank_output(row, details, c, limit) for c, row in enumerate(weights)]
    keys = np.hstack([keys for keys, _ in ranked])
    order = np.lexsort(keys)[:limit]  # stable: of equal weights the first class comes first
    columns = keys[0, order].astype(np.int64).tolist()
    outputs = np.repeat(np.arange(len(ranked)), [keys.shape[1] for keys, _ in ranked])[order]
    names, classes = names_of(support[columns]), _output_labels(model, len(weights))
    lines = []
    for name, c, k in zip(names, outputs.tolist(), columns, strict=True):
        line = {"column": int(support[k]), "name": name, "class": classes[c]}
        line |= {"weight": float(weights[c, k])}
        lines.append(line | {key: float(values[c, k]) for key, values in details.items()})
    used_classes = {classes[c] for c, (_, count) in enumerate(ranked) if count}
    return FeatureWeights(lines, sum(count for _, count in ranked), len(used_classes) > 1)


def _rank_output(
    weights: np.ndarray, details: dict, output: int, limit: int | None
) -> tuple[np.ndarray, int]:
    """Return the sort keys of the first weights of an output, and the number of its weights.

    The keys are column, size and importance, in the order of `np.lexsort`: the last key decides.
    """
    columns = np.flatnonzero(weights)
    keys = [columns, -np.abs(weights[columns])]
    if "importance" in details:
        keys.append(-details["importance"][output, columns])
    order = np.lexsort(keys)[:limit]
    return np.array([key[order] for key in keys], dtype=float), len(columns)


def _take_columns(array, support):
    """Return the supported columns of an array or sparse matrix as a dense array."""
    if hasattr(array, "tocsc"):
        return np.asarray(array.tocsc()[:, support].toarray())
    return np.asarray(array[..., support])


def _output_labels(model, n_outputs: int) -> list:
    """Return the class label of each row of weights, of two classes the second."""
    classes = (getattr(model, "reading_", None) or {}).get("labels") or getattr(
        model, "classes_", None
    )
    if classes is None:
        return [None] * n_outputs if n_outputs == 1 else list(range(n_outputs))
    return [label(classes[-1])] if n_outputs == 1 else [label(c) for c in classes]


def print_weights(weights: FeatureWeights, error: HeldOutError | None = None) -> None:
    """Print the first weights as a table, and mark features that were seldom selected."""
    lines, total, multioutput = weights
    if not total:
        is_empty = error is not None and error.is_empty()
        print_line(error.describe_empty() if error and is_empty else "no feature was kept")
        return
    first = lines[0] if lines else {}
    columns: dict[str, Callable[[dict], str]] = {"feature": lambda line: line["name"]}
    if multioutput:
        columns["class"] = lambda line: str(line["class"])
    if "importance" in first:
        columns["importance"] = lambda line: f"{line['importance']:.3f}"
    columns["weight"] = lambda line: f"{line['weight']:+.4g}"
    if "probability" in first:
        columns["probability"] = _format_probability
    if "qvalue" in first:
        columns["q-value"] = lambda line: f"{line['qvalue']:.2g}"
        if any(line["claimed with"] for line in lines):
            columns["claimed with"] = lambda line: line["claimed with"] or ""
    cells = [[cell(line) for cell in columns.values()] for line in lines]
    title = f"{len(lines):,} of {total:,} weights"
    title += ", the most important first" if "importance" in columns else ""
    title += "" if multioutput or first.get("class") is None else f", + speaks for {first['class']}"
    print_table(list(columns), cells, title)
    if any(is_doubtful(line.get("probability")) for line in lines):
        print_line(f"* {DOUBT}")


def _format_probability(line: dict) -> str:
    """Return a selection probability, marked where the feature was seldom selected."""
    probability = line["probability"]
    return f"* {probability:.2f}" if is_doubtful(probability) else f"{probability:.2f}"
