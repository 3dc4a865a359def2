"""``tamis predict``: one line a row."""

import argparse
import contextlib
import functools
import sys

import numpy as np

from tamis.cli.data import schema_of, source_of
from tamis.cli.messages import complain, note
from tamis.cli.methods import UsageError
from tamis.cli.output import label
from tamis.data.rows import Bad
from tamis.model_files import load
from tamis.system.files import replacing
from tamis.system.terminal import for_line, for_terminal
from tamis.training.judge import losses


def run(given: argparse.Namespace) -> None:
    """Read, predict, write."""
    model = load(given.model)
    schema = schema_of(model, given.model, "Predict in Python.")
    if given.proba and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"{type(model).__name__} with this loss gives no probabilities; fit with --loss "
            "logistic."
        )
    rows = source_of(given.file, given, schema=schema, target=False)
    named, total, count = _named(sys.stdout.isatty() and not given.out), 0.0, 0
    with _output(given.out) as write:
        if given.proba:
            write("\t".join(named(c) for c in model.classes_) + "\n")
        for chunk in rows:
            lines = _lines(model, chunk.X, given.proba, named)
            write(_with_blanks(lines, chunk.skipped) if given.on_bad == "blank" else lines)
            if chunk.targets is not None and not isinstance(chunk.targets, tuple):
                found = losses(model, chunk.X, chunk.targets)
                total += float(np.nansum(found))
                count += int((~np.isnan(found)).sum())
        if given.on_bad == "blank":
            write("\n" * rows.skipped_last)
    for text in rows.notes:
        note(text)
    if rows.bad.count:
        _tell_bad(rows.bad, given.on_bad == "blank")
    if count:
        share = hasattr(model, "classes_")
        mean = total / count
        said = f"error {mean:.2%}" if share else f"mean squared error {mean:.6g}"
        note(f"{said} on {count:,} rows with a target")


@contextlib.contextmanager
def _output(path):
    """Standard output, or a file that appears when it is whole."""
    if not path:
        yield sys.stdout.write
        return
    with replacing(path, "write") as file:
        yield lambda text: file.write(text.encode())


def _with_blanks(lines: str, skipped: tuple[int, ...]) -> str:
    """Lines of predictions with an empty one for each bad line, after so many of them."""
    if not skipped:
        return lines
    listed = lines.splitlines(keepends=True)
    for at in reversed(skipped):
        listed.insert(at, "\n")
    return "".join(listed)


def _tell_bad(bad: Bad, blank: bool) -> None:
    """Say which lines have no prediction, the first of many."""
    has = "an empty line" if blank else "no line (--on-bad blank writes an empty one)"
    note(f"{bad.count:,} bad lines were skipped; each has {has} in the output:")
    for message in bad.first:
        complain(f"  {message}")
    if bad.count > len(bad.first):
        complain(f"  and {bad.count - len(bad.first):,} more")


def _named(seen: bool):
    """A function that writes a class: odd characters as escapes on a terminal, few in a file."""
    safe = for_terminal if seen else for_line
    return functools.cache(lambda value: safe(label(value)))


def _lines(model, X, proba: bool, named) -> str:
    """Predictions as text."""
    if proba:
        return "".join(
            "\t".join(f"{p:.9g}" for p in row) + "\n" for row in model.predict_proba(X).tolist()
        )
    guess = model.predict(X)
    if guess.ndim > 1:
        names = [
            named(c)
            for c in (
                model.reading_.get("labels") or getattr(model, "classes_", range(guess.shape[1]))
            )
        ]
        if hasattr(model, "classes_"):
            return "".join(
                ",".join(name for name, on in zip(names, row, strict=True) if on) + "\n"
                for row in guess.tolist()
            )
        return "".join("\t".join(repr(v) for v in row) + "\n" for row in guess.tolist())
    return "".join(
        f"{named(v) if hasattr(model, 'classes_') else repr(v)}\n" for v in guess.tolist()
    )
