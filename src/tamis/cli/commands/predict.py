"""``tamis predict``: write one line for each row."""

import argparse
import contextlib
import functools
import sys

import numpy as np

from tamis.cli.data import open_source, require_schema
from tamis.cli.messages import print_error, print_note
from tamis.cli.methods import UsageError
from tamis.cli.output import label
from tamis.data.rows import SkippedLines
from tamis.model_files import load
from tamis.system.files import atomic_writer
from tamis.system.terminal import for_line, for_terminal
from tamis.training.validation import prediction_losses


def run(args: argparse.Namespace) -> None:
    """Read the rows, and write their predictions."""
    model = load(args.model)
    schema = require_schema(model, args.model, "Predict in Python.")
    if args.proba and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"{type(model).__name__} with this loss gives no probabilities; fit with --loss "
            "logistic."
        )
    rows = open_source(args.file, args, schema=schema, target=False)
    is_terminal = sys.stdout.isatty() and not args.out
    format_class, loss, count = _class_formatter(is_terminal), 0.0, 0
    with _output(args.out) as write:
        if args.proba:
            write("\t".join(format_class(c) for c in model.classes_) + "\n")
        for chunk in rows:
            lines = _format_predictions(model, chunk.X, args.proba, format_class)
            write(_insert_blanks(lines, chunk.skipped) if args.on_bad == "blank" else lines)
            if chunk.targets is not None and not isinstance(chunk.targets, tuple):
                row_losses = prediction_losses(model, chunk.X, chunk.targets)
                loss += float(np.nansum(row_losses))
                count += int((~np.isnan(row_losses)).sum())
        if args.on_bad == "blank":
            write("\n" * rows.skipped_last)
    for text in rows.notes:
        print_note(text)
    if rows.bad.count:
        _print_bad_lines(rows.bad, args.on_bad == "blank")
    if count:
        mean = loss / count
        is_classifier = hasattr(model, "classes_")
        error = f"error {mean:.2%}" if is_classifier else f"mean squared error {mean:.6g}"
        print_note(f"{error} on {count:,} rows with a target")


@contextlib.contextmanager
def _output(path):
    """Return a function that writes text to standard output, or to a file that ends complete."""
    if not path:
        yield sys.stdout.write
        return
    with atomic_writer(path, "write") as file:
        yield lambda text: file.write(text.encode())


def _insert_blanks(lines: str, skipped: tuple[int, ...]) -> str:
    """Insert an empty line for each bad one; `skipped` counts the good lines before each."""
    if not skipped:
        return lines
    split = lines.splitlines(keepends=True)
    for k in reversed(skipped):
        split.insert(k, "\n")
    return "".join(split)


def _print_bad_lines(bad: SkippedLines, blank: bool) -> None:
    """Print which lines have no prediction, the first ones in full."""
    has = "an empty line" if blank else "no line (--on-bad blank writes an empty one)"
    print_note(f"{bad.count:,} bad lines were skipped; each has {has} in the output:")
    for message in bad.first:
        print_error(f"  {message}")
    if bad.count > len(bad.first):
        print_error(f"  and {bad.count - len(bad.first):,} more")


def _class_formatter(is_terminal: bool):
    """Return a function from a class to text; a terminal needs more characters escaped."""
    escape = for_terminal if is_terminal else for_line
    return functools.cache(lambda value: escape(label(value)))


def _format_predictions(model, X, proba: bool, format_class) -> str:
    """Return predictions or probabilities as text, one line a row."""
    if proba:
        return "".join(
            "\t".join(f"{p:.9g}" for p in row) + "\n" for row in model.predict_proba(X).tolist()
        )
    predictions = model.predict(X)
    if predictions.ndim > 1:
        outputs = range(predictions.shape[1])
        names = [
            format_class(c)
            for c in (model.reading_.get("labels") or getattr(model, "classes_", outputs))
        ]
        if hasattr(model, "classes_"):
            return "".join(
                ",".join(name for name, on in zip(names, row, strict=True) if on) + "\n"
                for row in predictions.tolist()
            )
        return "".join("\t".join(repr(v) for v in row) + "\n" for row in predictions.tolist())
    return "".join(
        f"{format_class(v) if hasattr(model, 'classes_') else repr(v)}\n"
        for v in predictions.tolist()
    )
