"""``tamis compare``: methods side by side on the user's own rows."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from tamis.cli.data import audit_of, source_of, survey_of, task_of
from tamis.cli.messages import note, say
from tamis.cli.methods import GRIDS, UsageError, build, chosen
from tamis.cli.output import print_json, size
from tamis.data.source import SMALL_BYTES, RowSource
from tamis.data.survey import Survey
from tamis.evaluation.comparison import Record


class Names:
    """Names of columns, each looked up when a check speaks of it."""

    def __init__(self, rows: RowSource):
        self.rows = rows

    def __getitem__(self, column: int) -> str:
        return self.rows.names_of([int(column)])[0]


def run(given: argparse.Namespace) -> None:
    """Read everything, compare, show."""
    methods = chosen(given.methods)
    if given.runs < 2:
        raise UsageError("--runs must be 2 or more.")
    rows = source_of(given.train, given)
    rows.keep()
    survey = survey_of(rows, columns=True, memory=SMALL_BYTES)
    task = task_of(rows, given.task, survey)
    X, y = gather(rows, survey)
    held = {}
    if given.test:
        test = source_of([given.test], given, schema=rows.schema, target=False)
        held = dict(zip(("X_test", "y_test"), gather(test), strict=True))
    silence = [code for code in given.silence.split(",") if code]
    record = compared(methods, task, X, y, given, held, names=Names(rows), silence=silence)
    if given.report:
        report(given, record, rows, survey)
    show(record, given)
    for text in rows.notes:
        note(text)


def gather(rows: RowSource, survey: Survey | None = None) -> tuple[sp.csr_array, np.ndarray]:
    """All rows in memory."""
    if survey is not None and 12 * survey.nonzeros > 1_000_000_000:
        note(f"compare keeps all rows in memory: {size(12 * survey.nonzeros)}")
    chunks = list(rows)
    X = sp.csr_array(sp.vstack([chunk.X for chunk in chunks], format="csr"))
    if hasattr(chunks[0].targets, "tocsr"):
        raise UsageError("compare takes one label a row; this file has several.")
    return X, np.concatenate([chunk.targets for chunk in chunks])


def compared(
    methods: list[str],
    task: str,
    X: sp.csr_array,
    y: np.ndarray,
    given: argparse.Namespace,
    held: dict[str, Any],
    grids: dict[str, dict] | None = None,
    keep: bool = True,
    **more: Any,
) -> Record:
    """The record of the comparison."""
    from tamis.evaluation.compare import compare

    models = {word: build(word, task, seed=given.seed, threads=1) for word in methods}
    grids = GRIDS if grids is None else grids
    tune = {word: grids[word] for word in methods if word in grids}
    if task == "classify" and y.dtype.kind == "f" and (y == np.floor(y)).all():
        y = y.astype(np.int64)
        held = {
            name: value.astype(np.int64) if name == "y_test" else value
            for name, value in held.items()
        }
    jobs = -1 if given.threads is None else given.threads
    return compare(
        models,
        X,
        y,
        **held,
        runs=given.runs,
        tune=tune,
        keep_supports=keep,
        random_state=given.seed,
        n_jobs=jobs,
        **more,
    )


def show(record: Record, given: argparse.Namespace) -> None:
    """Print the record."""
    if given.json:
        print_json(record.to_dict())
        return
    from rich.console import Console

    console = Console(file=sys.stdout)
    console = console if console.is_terminal else Console(file=sys.stdout, width=120)
    console.print(record.table(rich=True))
    for sentence in record.found():
        say(sentence)
    if given.report:
        say(f"page: {given.report}")


def report(
    given: argparse.Namespace,
    record: Record,
    rows: RowSource,
    survey: Survey,
    model: BaseEstimator | None = None,
    names: list[str] | None = None,
    history: list[dict] | None = None,
    **unseen: Any,
) -> None:
    """The page of a comparison; `unseen` rows, X and y, are what a model is judged by."""
    from tamis.reporting.page.page import write_page

    facts = {
        "command": " ".join(given.words),
        "seed": str(given.seed),
        "skipped": f"{rows.bad.count} bad lines",
        **record.versions,
    }
    title = f"Methods compared on {', '.join(Path(name).name for name in rows.files)}"
    audit = audit_of(rows, survey)
    if model is not None:  # files of the demo are gone by now
        audit["files"] = [Path(name).name for name in audit["files"]]
    write_page(
        given.report,
        title=title,
        audit=audit,
        model=model,
        names=names or rows.names,
        density=survey.shares(),
        record=record,
        history=history,
        facts=facts,
        **unseen,
    )
