"""Files as commands name them: opened, surveyed, and judged to be of classes or numbers."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from tamis.base.machine.progress import Progress
from tamis.cli.methods import UsageError
from tamis.cli.say import note
from tamis.cli.show import label
from tamis.read.opening import open_rows
from tamis.read.source import RowSource
from tamis.read.survey import Survey
from tamis.training.readings import MEMORY

NamesOf = Callable[[Iterable[int]], list[str]]
MOST = 100_000  # columns that a sieve fits, where all of them are too many
BASE = 250_000_000  # bytes of Python, its libraries and the reader


def source_of(files: list[str], given: argparse.Namespace, **more: Any) -> RowSource:
    """The rows of some files, by the reading options."""
    if len(files) > 1 and "-" in files:
        raise UsageError("- (standard input) cannot be read together with files.")
    options: dict[str, Any] = {
        "format": given.format,
        "on_bad": given.on_bad,
        "chunk_rows": given.chunk_rows,
        "max_line_bytes": given.max_line_bytes,
    }
    if hasattr(given, "zero_based"):
        zero = {"auto": "auto", "yes": True, "no": False}[given.zero_based]
        options |= {
            "target": given.target,
            "weight": given.weight,
            "zero_based": zero,
            "hash_bits": given.hash_bits,
            "missing": given.missing,
            "delimiter": given.delimiter,
            "categorical": given.categorical,
            "ignore": given.ignore,
        }
    return open_rows(list(files), **(options | more))


def survey_of(rows: RowSource, columns: bool = False, label: str = "survey") -> Survey:
    """What is in all rows, under a progress bar."""
    with Progress(label, max(rows.total, 1)) as bar:
        return rows.survey(columns=columns, tell=lambda done: bar.advance(done - bar.done))


def task_of(rows: RowSource, asked: str, survey: Survey | None = None) -> str:
    """Whether the targets are classes or numbers; where nothing is surveyed, by the first chunk."""
    if asked != "auto":
        return asked
    if survey is None:
        survey = Survey()
        rows.keep()
        for chunk in rows:
            survey.add(chunk, False)
            break
    task = "classify" if survey.as_classes() else "regress"
    looks, other = ("classes", "regress") if task == "classify" else ("numbers", "classify")
    note(f"the targets look like {looks}; --task {other} says otherwise")
    return task


def audit_of(rows: RowSource, survey: Survey) -> dict:
    """What `tamis check` says of a file, as plain data."""
    suggested, reason, memory = suggest(survey)
    return {
        "files": list(rows.files),
        "format": rows.format,
        "rows": survey.rows,
        "features": survey.features,
        "nonzeros": survey.nonzeros,
        "density": survey.density,
        "labels": {label(value): survey.labels[value] for value in survey.classes},
        "bad": {"count": survey.bad.count, "first": list(survey.bad.first)},
        "memory_bytes": memory,
        "suggested": suggested,
        "reason": reason,
        "notes": rows.notes,
    }


def suggest(survey: Survey) -> tuple[str, str, int]:
    """A method, why, and the memory that `tamis fit` needs for it."""
    many = survey.as_classes() and (survey.several or len(survey.labels) > 2)
    outputs = len(survey.labels) if many else 1
    entries = 12 * survey.nonzeros
    columns = survey.features if entries <= MEMORY * 10**6 else min(survey.features, MOST)
    # Sums by column, the kept rows with the copies that a fit makes, and its paths.
    sums = 8 * (4 + min(outputs, 16)) * survey.features
    sieve = BASE + sums + 3 * min(entries, MEMORY * 10**6) + 8 * 8 * (1 + 2 * outputs) * columns
    simple = BASE + 16 * outputs * survey.features
    if sieve > 8_000_000_000:
        return "ftrl", "the sieve would need more than 8 GB for so many columns", simple
    if survey.density > 0.15 and survey.features < 5000:
        return "ftrl", "the rows are dense and the columns few", simple
    return "sieve", "many columns, few of them filled in a row", sieve


def names_for(model: Any) -> NamesOf:
    """Names of columns as the model's own file knows them: a function of column numbers."""
    reading = getattr(model, "reading_", None) or {}
    known = {int(column): name for column, name in reading.get("names", [])}
    if "layout" in reading:
        from tamis.read.tables.layout import Layout

        names = Layout.from_dict(reading["layout"]).names()
        return lambda columns: [known.get(int(c), names[int(c)]) for c in columns]
    first = 1 if reading.get("zero_based") is False else 0
    return lambda columns: [known.get(int(c), str(int(c) + first)) for c in columns]
