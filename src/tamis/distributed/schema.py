"""What all partitions share before any model learns: columns, their kinds and levels, classes."""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.base.class_messages import too_many_classes_message
from tamis.data.columns.layout_builder import build_layout, table_module
from tamis.data.columns.merging import merge_profiles, merge_texts
from tamis.data.columns.profile import Profile, TableHead
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError, class_numbers
from tamis.data.survey import Survey
from tamis.data.tables.frames import Reading
from tamis.data.tables.layout import CATEGORY, Column
from tamis.training.validation import constant_target_message

TABLES = ("csv", "tsv", "parquet", "arrow")


@dataclass
class PartitionSummary:
    """Summary of a partition: its survey, the names of its columns where blocks have them, and a
    digest of its content.
    """

    survey: Survey
    names: list[str] | None = None
    digest: dict = field(default_factory=dict)


@dataclass
class SharedSchema:
    """How every partition is read and learnt."""

    summaries: list[PartitionSummary]
    survey: Survey  # of all partitions
    classes: np.ndarray | None = None  # for the first `partial_fit` of a classifier
    whole_classes: bool = False  # whether class targets that are floats become integers
    file_schema: dict | None = None
    reading: dict = field(default_factory=dict)  # keywords of `open_rows`

    @property
    def row_counts(self) -> list[int]:
        """Number of rows of weight above 0 in each partition."""
        return [one.survey.learnt for one in self.summaries]

    @property
    def nonempty(self) -> list[int]:
        """Numbers of the partitions that have rows."""
        return [k for k, one in enumerate(self.summaries) if one.survey.rows]

    def of_partition(self, number: int) -> "SharedSchema":
        """The schema as the worker of one partition needs it, without the other summaries."""
        return replace(self, summaries=[self.summaries[number]], survey=Survey())

    def csr_bytes(self, number: int) -> int:
        """Bytes of a partition as CSR."""
        survey = self.summaries[number].survey
        return 12 * survey.nonzeros + 24 * survey.rows


def shared_schema(
    model: Any, summaries: list[PartitionSummary], names: list[str], are_files: bool
) -> SharedSchema:
    """Merge the summaries of all partitions; refuse partitions that do not fit together."""
    merged = Survey.merge([one.survey for one in summaries])
    if not merged.rows:
        raise ReadError(f"{names[0]}: no rows, nor in any other of {len(names)} partitions.")
    if not are_files:
        _compare_columns(summaries, names)
    schema = SharedSchema(summaries, merged)
    if wants_classes(model):
        if not hasattr(model, "classes_") and not merged.several:
            schema.classes = _first_classes(model, merged)
        known = getattr(model, "classes_", schema.classes)
        schema.whole_classes = known is not None and known.dtype.kind != "f"
    return schema


def _compare_columns(summaries: list[PartitionSummary], names: list[str]) -> None:
    """Refuse blocks whose columns differ from those of the first block."""
    nonempty = [k for k, one in enumerate(summaries) if one.survey.rows]
    first = nonempty[0]
    for k in nonempty[1:]:
        width, expected = summaries[k].survey.features, summaries[first].survey.features
        if width != expected:
            raise ValueError(
                f"{names[k]} has {width:,} columns, {names[first]} {expected:,}: all need the same."
            )
        if summaries[k].names != summaries[first].names:
            raise ValueError(f"{names[k]} has columns of other names than {names[first]}.")


def wants_classes(model: Any) -> bool:
    """Whether a model learns classes."""
    partial_fit = getattr(model, "partial_fit", None)
    if partial_fit is None:
        return model is not None and is_classifier(model)
    return "classes" in inspect.signature(partial_fit).parameters


def _first_classes(model: Any, survey: Survey) -> np.ndarray:
    """All classes, for the first call of `partial_fit`."""
    if survey.many:
        raise ReadError(too_many_classes_message())
    if len(survey.classes) == 1:
        raise ValueError(constant_target_message(model, survey.classes[0]))
    classes = np.array(survey.classes)
    return classes.astype(np.int64) if classes.dtype.kind == "f" and survey.is_integer else classes


def class_targets(targets: Any, schema: SharedSchema, name: str) -> Any:
    """Targets as the model takes them: float targets of a classifier become integers where its
    classes are integers. `name` is the partition's, for messages.
    """
    if getattr(targets.dtype, "kind", "") != "f" or targets.ndim > 1 or not schema.whole_classes:
        return targets
    return class_numbers(targets, name)


# --------------------------------------------------------------------------- tables
def table_schema(files: list[str], options: Options, run_on_all: Callable) -> dict[str, Any]:
    """The schema of a table in several files, as plain data: column kinds and levels are merged.

    ``run_on_all(make_task)`` returns the results of a task for every file, run on its worker.
    """
    layout, *_ = build_layout(files, options, RemoteTable(options, run_on_all))
    schema: dict[str, Any] = {"format": options.format, "zero_based": None}
    schema |= {"hash_bits": options.hash_bits, "n_features": layout.width}
    schema |= {"labels": None, "several": None, "layout": layout.to_dict()}
    if options.encoding != "utf-8":
        schema["encoding"] = options.encoding
    return Reading(schema)


class RemoteTable:
    """A table whose files the workers read; `build_layout` reads it by these three methods."""

    def __init__(self, options: Options, run_on_all: Callable):
        self.options, self.run_on_all = options, run_on_all

    def look(self) -> list[TableHead]:
        """The first rows of every file that has some."""
        heads = self.run_on_all(lambda k, source, worker: (read_head, source.value, self.options))
        if isinstance(heads[0], ReadError):
            raise heads[0]
        return [one for one in heads if not isinstance(one, ReadError)]

    def profile(self, columns: list[Column], may_turn: Callable[[str], bool]) -> Profile:
        """Profile of all columns; a column is numeric in all files or in none."""
        free = [c.name for c in columns if may_turn(c.name)]
        while True:
            args = (self.options, columns, free)
            profiles = self.run_on_all(
                lambda k, source, worker, args=args: (profile_file, source.value, *args)
            )
            turned = set().union(*(words for _, words in profiles))
            late = [c for c in columns if c.name in turned and not c.words]
            if not late:
                return merge_profiles([profile for profile, _ in profiles])
            for c in late:
                c.role, c.words = CATEGORY, True

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """Counts of the words of text columns."""
        counts = self.run_on_all(
            lambda k, source, worker: (count_words, source.value, self.options, columns, names)
        )
        return merge_texts(counts)


def read_head(name: str, options: Options) -> TableHead | ReadError:
    """The first rows of a file, or the error that says why there are none."""
    try:
        return table_module(options.format).look(name, options)
    except ReadError as error:
        return error


def profile_file(
    name: str, options: Options, columns: list[Column], free: list[str]
) -> tuple[Profile, set[str]]:
    """Profile of a file, and the names of the columns that hold words in it."""
    columns = copy.deepcopy(columns)
    profile = table_module(options.format).read_profile([name], options, columns, free.__contains__)
    return profile, {c.name for c in columns if c.words}


def count_words(
    name: str, options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """Counts of the words of a file's text columns."""
    return table_module(options.format).read_texts([name], options, columns, names)
