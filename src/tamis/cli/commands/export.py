"""``tamis export``: write a model for use outside of Python."""

import argparse
import sys

import scipy.sparse as sp

from tamis.cli.data import open_source, require_schema
from tamis.cli.messages import print_note
from tamis.cli.methods import UsageError
from tamis.exporting.export import export_bytes, resolve_form
from tamis.model_files import load
from tamis.system.files import atomic_writer
from tamis.system.terminal import for_terminal


def run(args: argparse.Namespace) -> None:
    """Load the model, convert it, and write the result."""
    if args.to is None and not args.out:
        raise UsageError("say what to make: --to json, python, sql, onnx or scorecard.")
    form = resolve_form(args.out or "", args.to)
    if form == "onnx" and not args.out:
        raise UsageError("ONNX is no text: name a file for it, -o MODEL.onnx.")
    if args.test and form != "scorecard":
        raise UsageError("--test is for --to scorecard: it measures the rounding of the points.")
    model = load(args.model)
    options = {"dialect": args.dialect, "table": args.table, "inputs": args.inputs}
    if form == "scorecard":
        options |= {"points": args.points, "X": _read_test_rows(model, args)}
    content = export_bytes(model, form, **options)
    if not args.out:
        text = content.decode()
        if sys.stdout.isatty():  # names come from files and may hold control characters
            text = "\n".join(map(for_terminal, text.split("\n")))
        sys.stdout.write(text)
        return
    with atomic_writer(args.out, "write") as file:
        file.write(content)
    print_note(f"written: {args.out}")


def _read_test_rows(model, args: argparse.Namespace):
    """Return the rows of --test as a matrix, or None."""
    if not args.test:
        return None
    schema = require_schema(model, args.model, "Leave --test out.")
    rows = open_source([args.test], args, schema=schema, target=False)
    return sp.vstack([chunk.X for chunk in rows], format="csr")
