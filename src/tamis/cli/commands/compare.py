"""``tamis compare``: methods side by side on the user's rows."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from tamis.cli.data import ColumnNames, audit_rows, choose_task, open_source, survey_rows
from tamis.cli.messages import print_line, print_note
from tamis.cli.methods import GRIDS, UsageError, build, parse_methods
from tamis.cli.output import format_bytes, print_json
from tamis.data.source import MAX_CACHED_BYTES, RowSource
from tamis.data.survey import Survey
from tamis.evaluation.comparison import Record


def run(args: argparse.Namespace) -> None:
    """Read all rows, compare the methods, and print and write the result."""
    methods = parse_methods(args.methods)
    if args.runs < 2:
        raise UsageError("--runs must be 2 or more.")
    rows = open_source(args.train, args)
    rows.keep()
    survey = survey_rows(rows, columns=True, memory=MAX_CACHED_BYTES)
    task = choose_task(rows, args.task, survey)
    X, y = read_all(rows, survey)
    test_data = {}
    if args.test:
        test = open_source([args.test], args, schema=rows.schema, target=False)
        test_data = dict(zip(("X_test", "y_test"), read_all(test), strict=True))
    silence = [code for code in args.silence.split(",") if code]
    names = ColumnNames(rows.names_of)
    record = compare_methods(methods, task, X, y, args, test_data, names=names, silence=silence)
    if args.report:
        write_report(args, record, rows, survey)
    print_record(record, args)
    for text in rows.notes:
        print_note(text)


def read_all(rows: RowSource, survey: Survey | None = None) -> tuple[sp.csr_array, np.ndarray]:
    """Return all rows in memory; the survey tells whether that deserves a note."""
    if survey is not None and 12 * survey.nonzeros > 1_000_000_000:
        print_note(f"compare keeps all rows in memory: {format_bytes(12 * survey.nonzeros)}")
    chunks = list(rows)
    X = sp.csr_array(sp.vstack([chunk.X for chunk in chunks], format="csr"))
    if hasattr(chunks[0].targets, "tocsr"):
        raise UsageError("compare takes one label a row; this file has several.")
    return X, np.concatenate([chunk.targets for chunk in chunks])


def compare_methods(
    methods: list[str],
    task: str,
    X: sp.csr_array,
    y: np.ndarray,
    args: argparse.Namespace,
    test_data: dict[str, Any],
    grids: dict[str, dict] | None = None,
    keep_supports: bool = True,
    **options: Any,
) -> Record:
    """Return the record of a comparison; `test_data` holds X_test and y_test, if any."""
    from tamis.evaluation.compare import compare

    models = {method: build(method, task, seed=args.seed, threads=1) for method in methods}
    grids = GRIDS if grids is None else grids
    tune = {method: grids[method] for method in methods if method in grids}
    if task == "classify" and y.dtype.kind == "f" and (y == np.floor(y)).all():
        y = y.astype(np.int64)
        test_data = {
            name: value.astype(np.int64) if name == "y_test" else value
            for name, value in test_data.items()
        }
    jobs = -1 if args.threads is None else args.threads
    return compare(
        models,
        X,
        y,
        **test_data,
        runs=args.runs,
        tune=tune,
        keep_supports=keep_supports,
        random_state=args.seed,
        n_jobs=jobs,
        **options,
    )


def print_record(record: Record, args: argparse.Namespace) -> None:
    """Print a record as a table with sentences, or as JSON."""
    if args.json:
        print_json(record.to_dict())
        return
    from rich.console import Console

    console = Console(file=sys.stdout)
    console = console if console.is_terminal else Console(file=sys.stdout, width=120)
    console.print(record.table(rich=True))
    for sentence in record.found():
        print_line(sentence)
    if args.report:
        print_line(f"page: {args.report}")


def write_report(
    args: argparse.Namespace,
    record: Record,
    rows: RowSource,
    survey: Survey,
    model: BaseEstimator | None = None,
    names: list[str] | None = None,
    history: list[dict] | None = None,
    **test_rows: Any,
) -> None:
    """Write the page of a comparison.

    With a model the page also shows the model, judged by `test_rows` (X and y).
    """
    from tamis.reporting.page.page import write_page

    facts = {
        "command": " ".join(args.command_line),
        "seed": str(args.seed),
        "skipped": f"{rows.bad.count} bad lines",
        **record.versions,
    }
    title = f"Methods compared on {', '.join(Path(name).name for name in rows.files)}"
    audit = audit_rows(rows, survey)
    if model is not None:  # the demo's files no longer exist
        audit["files"] = [Path(name).name for name in audit["files"]]
    write_page(
        args.report,
        title=title,
        audit=audit,
        model=model,
        names=names or rows.names,
        density=survey.shares(),
        record=record,
        history=history,
        facts=facts,
        **test_rows,
    )
