"""Files as commands name them: opened, surveyed, and judged to be of classes or numbers."""

import argparse
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tamis.base.estimators.column_names import names_by_reading
from tamis.cli.columns import columns_of
from tamis.cli.messages import note
from tamis.cli.methods import UsageError
from tamis.cli.output import label
from tamis.data.bag import beside
from tamis.data.opening import open_rows
from tamis.data.options import KINDS
from tamis.data.source import RowSource
from tamis.data.survey import Survey
from tamis.data.tables.outside import local_name
from tamis.reporting.page.formatting import counted
from tamis.system.files import is_replaced, refuse_inputs
from tamis.system.progress import Progress

NamesOf = Callable[[Iterable[int]], list[str]]
# Options that name files, in all commands.
INPUTS = ("model", "train", "file", "test", "corpus", "vocabulary")
OUTPUTS = ("out", "report", "page")
# Columns times outputs above which another method than a sieve is suggested; its 40 paths over all
# rows hold three numbers of each, 10 GB.
MOST_WEIGHTS = 10_000_000


def check_outputs(given: argparse.Namespace) -> None:
    """Refuse, before any work, an output that cannot be written, or that replaces an input, another
    output, or what a checkpoint needs.
    """
    inputs, before = list(_inputs(given)), list[str]()
    checkpoint = getattr(given, "checkpoint", None)
    try:
        refuse_inputs("/dev/stdout", inputs)  # that grows while it is read
        for path in filter(None, (getattr(given, name, None) for name in OUTPUTS)):
            refuse_inputs(path, inputs)
            if is_replaced(path) or os.path.isdir(path):
                _check_place(path, before, checkpoint)
                before.append(path)
        if checkpoint:
            refuse_inputs(checkpoint, inputs)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _inputs(given: argparse.Namespace) -> Iterator[str]:
    """Files that a command reads, as it names them or as a glob finds them."""
    for option in INPUTS:
        said = getattr(given, option, None) or []
        for name in [said] if isinstance(said, str) else said:
            name = local_name(name)
            yield name
            if glob.has_magic(name):
                yield from glob.iglob(name, recursive=True)
            if option == "corpus" and not given.vocabulary:
                yield str(beside(Path(name)))


def _check_place(path: str, before: list[str], checkpoint: str | None) -> None:
    """Refuse a new file where none can be made, where another output goes, or among checkpoints."""
    place = Path(path).resolve()
    if checkpoint and place.is_relative_to(Path(checkpoint).resolve()):
        raise ValueError(
            f"{path}: it lies in the folder of the checkpoints, {checkpoint}, which is theirs "
            "alone. Write it somewhere else."
        )
    if place in (Path(other).resolve() for other in before):
        raise ValueError(f"{path}: two outputs go there. Write one of them somewhere else.")
    if place.is_dir():
        raise ValueError(f"{path}: this is a folder. Name a file in it.")
    if not place.parent.is_dir() or not os.access(place.parent, os.W_OK):
        raise ValueError(f"{path}: its folder does not exist or may not be written to.")


def source_of(files: list[str], given: argparse.Namespace, **more: Any) -> RowSource:
    """The rows of some files, by the reading options."""
    if len(files) > 1 and "-" in files:
        raise UsageError("- (standard input) cannot be read together with files.")
    return open_rows(list(files), **(reading_of(given) | more))


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """What the reading options tell `open_rows`."""
    options: dict[str, Any] = {
        "format": given.format,
        "on_bad": "skip" if given.on_bad == "blank" else given.on_bad,
        "chunk_rows": given.chunk_rows,
        "max_line_bytes": given.max_line_bytes,
        "delimiter": getattr(given, "delimiter", None),
        "encoding": getattr(given, "encoding", None),
    }
    if hasattr(given, "zero_based"):
        answers = {"auto": "auto", "yes": True, "no": False}
        options |= {
            "target": given.target,
            "weight": given.weight,
            "zero_based": answers[given.zero_based],
            "multilabel": answers[given.multilabel],
            "hash_bits": given.hash_bits,
            "missing": given.missing,
            "categorical": given.categorical,
            "ignore": given.ignore,
            "kinds": kinds_of(given.kinds),
            "units": given.units,
            "rare": given.rare,
            "ngrams": given.ngrams,
            "decimal": given.decimal,
        }
    return options


def kinds_of(said: Iterable[str]) -> dict[str, str]:
    """COLUMN=KIND,... as a dict; a name may hold an equals sign."""
    found = {}
    for entry in ",".join(said).split(",") if said else ():
        column, equals, kind = entry.rpartition("=")
        if not equals or kind not in KINDS:
            raise UsageError(
                f"--as {entry!r} is not COLUMN=KIND with a kind of {', '.join(KINDS)}."
            )
        found[column] = kind
    return found


def survey_of(
    rows: RowSource, columns: bool = False, label: str = "survey", memory: int = 0
) -> Survey:
    """What is in all rows, under a progress bar."""
    with Progress(label, max(rows.total, 1)) as bar:
        tell = lambda done: bar.advance(done - bar.done)  # noqa: E731
        return rows.survey(columns=columns, tell=tell, memory=memory)


def task_of(rows: RowSource, asked: str, survey: Survey | None = None) -> str:
    """Whether the targets are classes or numbers; where nothing is surveyed, by the first chunk."""
    if asked != "auto":
        refuse_words(asked, survey)
        return asked
    if survey is None:
        survey = Survey()
        rows.keep()
        for chunk in rows:
            survey.add(chunk, False)
            break
    if not survey.as_classes():
        refuse_words("regress", survey)
        note("the targets look like numbers; --task classify says otherwise")
        return "regress"
    if not survey.several and len(survey.classes) > 2 and not isinstance(survey.classes[0], str):
        note("the targets look like classes; --task regress says otherwise")
    return "classify"


def refuse_words(task: str, survey: Survey | None) -> None:
    """Refuse words where numbers are to be predicted."""
    if task == "regress" and survey is not None and survey.words:
        different = f"{len(survey.labels):,} different ones" if survey.labels else "too many"
        raise ValueError(
            f"the target is words, {different} in {survey.rows:,} rows, and no numbers. Pass "
            "--task classify if they are classes, --decimal , if they are numbers with a decimal "
            "comma, or --target for another column."
        )


def audit_of(rows: RowSource, survey: Survey) -> dict:
    """What `tamis check` says of a file, as plain data."""
    suggested, reason = suggest(survey)
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
        "columns": columns_of(rows),
        "suggested": suggested,
        "reason": reason,
        "notes": rows.notes,
    }


def suggest(survey: Survey) -> tuple[str, str]:
    """A method, and why."""
    n_classes = len(survey.labels) if survey.as_classes() else 0
    n_weights = survey.features * (n_classes if n_classes > 2 else 1)
    if n_weights > MOST_WEIGHTS:
        return "ftrl", f"{n_weights:,} weights are too many for the paths of a sieve"
    filled = survey.nonzeros / max(survey.rows, 1)
    filled_words = f"{filled:,.0f}" if filled >= 100 else f"{filled:.3g}"
    said = (
        f"{counted(survey.features, 'column')}, {filled_words} of them filled in a row on average"
    )
    if survey.density > 0.15 and survey.features < min(5000, survey.rows):
        return "ftrl", f"{said}: few and dense"
    return "sieve", said


def names_for(model: Any) -> NamesOf:
    """Names of columns as the model's own file knows them: a function of column numbers."""
    return names_by_reading(getattr(model, "reading_", None) or {})


def schema_of(model: Any, path: str, way_out: str) -> dict:
    """How the file was read that a model was trained from; a model of no file is refused."""
    schema = getattr(model, "reading_", None)
    if schema is None:
        raise UsageError(
            f"{path}: the model was not trained from a file, so nobody knows what its columns "
            f"mean. {way_out}"
        )
    return schema
