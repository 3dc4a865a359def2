"""Files that a command names: checked, opened, profiled, and found to hold classes or numbers."""

import argparse
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tamis.base.estimators.column_names import names_from_reading
from tamis.cli.columns import summarize_columns
from tamis.cli.messages import print_note
from tamis.cli.methods import UsageError
from tamis.cli.output import label
from tamis.data.bag import default_vocabulary_path
from tamis.data.opening import open_rows
from tamis.data.options import KINDS
from tamis.data.source import RowSource
from tamis.data.survey import Survey
from tamis.data.tables.remote import local_name
from tamis.reporting.page.formatting import count_noun
from tamis.system.files import is_replaced, refuse_overwriting
from tamis.system.progress import Progress

NamesOf = Callable[[Iterable[int]], list[str]]
# Options that name files, in all commands.
INPUTS = ("model", "train", "file", "test", "corpus", "vocabulary")
OUTPUTS = ("out", "report", "page")


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse an output that cannot be written, or that replaces an input, another output or a file
    in the folder of checkpoints. This runs before any work.
    """
    inputs, earlier = list(_input_paths(args)), list[str]()
    checkpoint = getattr(args, "checkpoint", None)
    try:
        refuse_overwriting("/dev/stdout", inputs)  # an input that grows while it is read
        for path in filter(None, (getattr(args, name, None) for name in OUTPUTS)):
            refuse_overwriting(path, inputs)
            if is_replaced(path) or os.path.isdir(path):
                _check_new_file(path, earlier, checkpoint)
                earlier.append(path)
        if checkpoint:
            refuse_overwriting(checkpoint, inputs)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _input_paths(args: argparse.Namespace) -> Iterator[str]:
    """Yield the files that a command reads: their names, and what globs match."""
    for option in INPUTS:
        value = getattr(args, option, None) or []
        for name in [value] if isinstance(value, str) else value:
            name = local_name(name)
            yield name
            if glob.has_magic(name):
                yield from glob.iglob(name, recursive=True)
            if option == "corpus" and not args.vocabulary:
                yield str(default_vocabulary_path(Path(name)))


def _check_new_file(path: str, earlier: list[str], checkpoint: str | None) -> None:
    """Refuse a path where no file can be made, an earlier output, or the folder of checkpoints."""
    resolved = Path(path).resolve()
    if checkpoint and resolved.is_relative_to(Path(checkpoint).resolve()):
        raise ValueError(
            f"{path}: this is inside the folder of checkpoints, {checkpoint}, which holds nothing "
            "else. Choose another folder."
        )
    if resolved in (Path(other).resolve() for other in earlier):
        raise ValueError(f"{path}: two outputs have this name. Choose another name for one.")
    if resolved.is_dir():
        raise ValueError(f"{path}: this is a folder. Name a file in it.")
    if not resolved.parent.is_dir() or not os.access(resolved.parent, os.W_OK):
        raise ValueError(f"{path}: its folder does not exist or may not be written to.")


def open_source(files: list[str], args: argparse.Namespace, **options: Any) -> RowSource:
    """Open files as one source of rows, by the reading options and by further `options`."""
    if len(files) > 1 and "-" in files:
        raise UsageError("- (standard input) cannot be read together with files.")
    return open_rows(list(files), **(reading_options(args) | options))


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the reading options of a command as keywords of `open_rows`."""
    options: dict[str, Any] = {
        "format": args.format,
        "on_bad": "skip" if args.on_bad == "blank" else args.on_bad,
        "chunk_rows": args.chunk_rows,
        "max_line_bytes": args.max_line_bytes,
        "delimiter": getattr(args, "delimiter", None),
        "encoding": getattr(args, "encoding", None),
    }
    if hasattr(args, "zero_based"):
        answers = {"auto": "auto", "yes": True, "no": False}
        options |= {
            "target": args.target,
            "weight": args.weight,
            "zero_based": answers[args.zero_based],
            "multilabel": answers[args.multilabel],
            "hash_bits": args.hash_bits,
            "missing": args.missing,
            "categorical": args.categorical,
            "ignore": args.ignore,
            "kinds": parse_kinds(args.kinds),
            "units": args.units,
            "rare": args.rare,
            "ngrams": args.ngrams,
            "decimal": args.decimal,
        }
    return options


def parse_kinds(values: Iterable[str]) -> dict[str, str]:
    """Return COLUMN=KIND,... as a dict; the name of a column may hold an equals sign."""
    kinds = {}
    for entry in ",".join(values).split(",") if values else ():
        column, equals, kind = entry.rpartition("=")
        if not equals or kind not in KINDS:
            raise UsageError(
                f"--as {entry!r} is not COLUMN=KIND with a kind of {', '.join(KINDS)}."
            )
        kinds[column] = kind
    return kinds


def survey_rows(
    rows: RowSource, columns: bool = False, title: str = "survey", memory: int = 0
) -> Survey:
    """Read all rows, under a progress bar, and return their survey."""
    with Progress(title, max(rows.total, 1)) as bar:
        tell = lambda done: bar.advance(done - bar.done)  # noqa: E731
        return rows.survey(columns=columns, tell=tell, memory=memory)


def choose_task(rows: RowSource, task: str, survey: Survey | None = None) -> str:
    """Return "classify" or "regress": the `task` of the user, or for "auto" that of the targets.

    Without a survey the first chunk decides.
    """
    if task != "auto":
        refuse_text_targets(task, survey)
        return task
    if survey is None:
        survey = Survey()
        rows.keep()
        for chunk in rows:
            survey.add(chunk, False)
            break
    if not survey.as_classes():
        refuse_text_targets("regress", survey)
        print_note("the targets look like numbers; --task classify says otherwise")
        return "regress"
    if not survey.several and len(survey.classes) > 2 and not isinstance(survey.classes[0], str):
        print_note("the targets look like classes; --task regress says otherwise")
    return "classify"


def refuse_text_targets(task: str, survey: Survey | None) -> None:
    """Refuse targets that are text where a regressor needs numbers."""
    if task == "regress" and survey is not None and survey.words:
        different = f"{len(survey.labels):,} different ones" if survey.labels else "too many"
        raise ValueError(
            f"the target is words, {different} in {survey.rows:,} rows, and no numbers. Pass "
            "--task classify if they are classes, --decimal , if they are numbers with a decimal "
            "comma, or --target for another column."
        )


def audit_rows(rows: RowSource, survey: Survey) -> dict:
    """Return the result of `tamis check` as plain data."""
    suggested, reason = suggest_method(survey)
    return {
        "files": list(rows.files),
        "format": rows.format,
        "rows": survey.rows,
        "features": survey.features,
        "nonzeros": survey.nonzeros,
        "density": survey.density,
        "labels": {label(value): survey.labels[value] for value in survey.classes},
        "bad": {"count": survey.bad.count, "first": list(survey.bad.first)},
        "memory_bytes": survey.csr_bytes(),
        "file_bytes": rows.total,
        "columns": summarize_columns(rows),
        "suggested": suggested,
        "reason": reason,
        "notes": rows.notes,
    }


def suggest_method(survey: Survey, max_weights: int = 10_000_000) -> tuple[str, str]:
    """Return a method for the rows of a survey, and the reason as text.

    A sieve keeps three numbers of each weight for each of its 40 paths: 10 GB at `max_weights`
    (columns times outputs).
    """
    n_classes = len(survey.labels) if survey.as_classes() else 0
    n_weights = survey.features * (n_classes if n_classes > 2 else 1)
    if n_weights > max_weights:
        return "ftrl", f"{n_weights:,} weights are too many for the paths of a sieve"
    row_nonzeros = survey.nonzeros / max(survey.rows, 1)
    average = f"{row_nonzeros:,.0f}" if row_nonzeros >= 100 else f"{row_nonzeros:.3g}"
    columns = count_noun(survey.features, "column")
    reason = f"{columns}, {average} of them filled in a row on average"
    if survey.density > 0.15 and survey.features < min(5000, survey.rows):
        return "ftrl", f"{reason}: few and dense"
    return "sieve", reason


def column_names(model: Any) -> NamesOf:
    """Return a function from column numbers to names, as the file of the model's rows had them."""
    return names_from_reading(getattr(model, "reading_", None) or {})


class ColumnNames:
    """Names of columns, each looked up when it is needed: `names[3]`."""

    def __init__(self, names_of: NamesOf):
        self.names_of = names_of

    def __getitem__(self, column: int) -> str:
        return self.names_of([int(column)])[0]


def require_schema(model: Any, path: str, way_out: str) -> dict:
    """Return how the training file was read; refuse a model that was not trained from a file."""
    schema = getattr(model, "reading_", None)
    if schema is None:
        raise UsageError(
            f"{path}: the model was not trained from a file, so the meaning of its columns is not "
            f"known. {way_out}"
        )
    return schema
