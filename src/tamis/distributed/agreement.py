"""What all partitions agree on before anyone learns: columns, their kinds and levels, classes,
rows.
"""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.base.class_messages import too_many_classes_message
from tamis.data.columns.making import lay_out, reader_of
from tamis.data.columns.merging import merge_profiles, merge_texts
from tamis.data.columns.profile import First, Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError, class_numbers
from tamis.data.survey import Survey
from tamis.data.tables.frames import Reading
from tamis.data.tables.layout import WORDS, Column
from tamis.training.judge import constant

TABLES = ("csv", "tsv", "parquet", "arrow")


@dataclass
class Seen:
    """What a worker has seen of a partition."""

    survey: Survey
    names: list[str] | None = None  # of the columns, where blocks have them
    digest: dict = field(default_factory=dict)  # what tells it from another


@dataclass
class Agreed:
    """What every partition is read and learnt by."""

    seen: list[Seen]
    survey: Survey
    classes: np.ndarray | None = None  # for the first rows of a classifier
    schema: dict | None = None  # of files
    reading: dict = field(default_factory=dict)  # what `open_rows` is told

    @property
    def learnt(self) -> list[int]:
        """Rows of weight above 0, a partition each."""
        return [one.survey.learnt for one in self.seen]

    @property
    def full(self) -> list[int]:
        """Numbers of the partitions with rows."""
        return [k for k, one in enumerate(self.seen) if one.survey.rows]

    def own(self, number: int) -> "Agreed":
        """What the worker of one partition needs to know, and nothing of the others."""
        return replace(self, seen=[self.seen[number]], survey=Survey())

    def bytes_of(self, number: int) -> int:
        """Bytes of a partition as CSR."""
        survey = self.seen[number].survey
        return 12 * survey.nonzeros + 24 * survey.rows


def agree(model: Any, seen: list[Seen], names: list[str], files: bool) -> Agreed:
    """One survey of all partitions; refuse those that do not go together."""
    surveys = [one.survey for one in seen]
    merged = Survey.merge(surveys)
    if not merged.rows:
        raise ReadError(f"{names[0]}: no rows, nor in any other of {len(names)} partitions.")
    if not files:
        _compare_blocks(seen, names)
    found = Agreed(seen, merged)
    if wants_classes(model) and not hasattr(model, "classes_") and not merged.several:
        found.classes = _classes(model, merged)
    return found


def _compare_blocks(seen: list[Seen], names: list[str]) -> None:
    """Refuse blocks of other columns than the first."""
    full = [k for k, one in enumerate(seen) if one.survey.rows]
    first = full[0]
    for k in full[1:]:
        mine, other = seen[k].survey.features, seen[first].survey.features
        if mine != other:
            raise ValueError(
                f"{names[k]} has {mine:,} columns, {names[first]} {other:,}: all need the same."
            )
        if seen[k].names != seen[first].names:
            raise ValueError(f"{names[k]} has columns of other names than {names[first]}.")


def wants_classes(model: Any) -> bool:
    """Whether a model learns classes."""
    learns = getattr(model, "partial_fit", None)
    if learns is None:
        return model is not None and is_classifier(model)
    return "classes" in inspect.signature(learns).parameters


def _classes(model: Any, survey: Survey) -> np.ndarray:
    """All classes, for the first call."""
    if survey.many:
        raise ReadError(too_many_classes_message())
    if len(survey.classes) == 1:
        raise ValueError(constant(model, survey.classes[0]))
    classes = np.array(survey.classes)
    return classes.astype(np.int64) if classes.dtype.kind == "f" and survey.whole else classes


def coded(model: Any, targets: Any, agreed: Agreed, name: str) -> Any:
    """Targets as a classifier takes them: whole numbers where they are."""
    if getattr(targets.dtype, "kind", "") != "f" or targets.ndim > 1:
        return targets
    known = getattr(model, "classes_", agreed.classes)
    if known is None or known.dtype.kind == "f":
        return targets
    return class_numbers(targets, name)


# --------------------------------------------------------------------------- tables
def schema_of_tables(files: list[str], options: Options, asked: Callable) -> dict[str, Any]:
    """What the columns of all files of a table mean, as plain data: kinds and levels are merged.
    `asked` brings what comes of a task for every file, done where it lies.
    """
    layout, *_ = lay_out(files, options, Apart(options, asked))
    facts: dict[str, Any] = {"format": options.format, "zero_based": None}
    facts |= {"hash_bits": options.hash_bits, "n_features": layout.width}
    facts |= {"labels": None, "several": None, "layout": layout.to_dict()}
    if options.encoding != "utf-8":
        facts["encoding"] = options.encoding
    return Reading(facts)


class Apart:
    """Files that are read where they lie."""

    def __init__(self, options: Options, asked: Callable):
        self.options, self.asked = options, asked

    def look(self) -> list[First]:
        """The first rows of every file that has some."""
        found = self.asked(lambda k, part, home: (look_at_head, part.what, self.options))
        if isinstance(found[0], ReadError):
            raise found[0]
        return [one for one in found if not isinstance(one, ReadError)]

    def profile(self, columns: list[Column], may_turn: Callable[[str], bool]) -> Profile:
        """Figures of all columns, each a number in all files or in none."""
        free = [c.name for c in columns if may_turn(c.name)]
        while True:
            found = self.asked(
                lambda k, part, home: (profile_file, part.what, self.options, columns, free)
            )
            turned = set().union(*(words for _, words in found))
            late = [c for c in columns if c.name in turned and not c.words]
            if not late:
                return merge_profiles([profile for profile, _ in found])
            for c in late:
                c.role, c.words = WORDS, True

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """Words of texts."""
        found = self.asked(
            lambda k, part, home: (count_words, part.what, self.options, columns, names)
        )
        return merge_texts(found)


def look_at_head(name: str, options: Options) -> First | ReadError:
    """The first rows of a file, or why there are none."""
    try:
        return reader_of(options.format).look(name, options)
    except ReadError as error:
        return error


def profile_file(
    name: str, options: Options, columns: list[Column], free: list[str]
) -> tuple[Profile, set[str]]:
    """Figures of a file, and the columns that hold words in it."""
    own = copy.deepcopy(columns)
    found = reader_of(options.format).read_profile([name], options, own, free.__contains__)
    return found, {c.name for c in own if c.words}


def count_words(
    name: str, options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """Words of the texts of a file."""
    return reader_of(options.format).read_texts([name], options, columns, names)
