"""``tamis export``: a model for use outside of Python."""

import argparse
import sys

import scipy.sparse as sp

from tamis.cli.data import schema_of, source_of
from tamis.cli.messages import note
from tamis.cli.methods import UsageError
from tamis.exporting.export import exported, form_of
from tamis.model_files import load
from tamis.system.files import replacing
from tamis.system.terminal import for_terminal


def run(given: argparse.Namespace) -> None:
    """Read, turn, write."""
    if given.to is None and not given.out:
        raise UsageError("say what to make: --to json, python, sql, onnx or scorecard.")
    form = form_of(given.out or "", given.to)
    if form == "onnx" and not given.out:
        raise UsageError("ONNX is no text: say where to write it, -o MODEL.onnx.")
    if given.test and form != "scorecard":
        raise UsageError("--test is for --to scorecard, whose rounding it measures.")
    model = load(given.model)
    options = {"dialect": given.dialect, "table": given.table, "inputs": given.inputs}
    if form == "scorecard":
        options |= {"points": given.points, "X": _rows(model, given)}
    content = exported(model, form, **options)
    if not given.out:
        text = content.decode()
        if sys.stdout.isatty():  # names come from files
            text = "\n".join(map(for_terminal, text.split("\n")))
        sys.stdout.write(text)
        return
    with replacing(given.out, "write") as file:
        file.write(content)
    note(f"written: {given.out}")


def _rows(model, given: argparse.Namespace):
    """The rows on which a scorecard is measured, if there are some."""
    if not given.test:
        return None
    schema = schema_of(model, given.model, "Leave --test out.")
    rows = source_of([given.test], given, schema=schema, target=False)
    return sp.vstack([chunk.X for chunk in rows], format="csr")
