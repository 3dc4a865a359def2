"""What all partitions agree on before anyone learns: columns, classes, rows."""

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.read.rows import ReadError
from tamis.read.survey import Survey
from tamis.training.judge import constant


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
    target: str | None = None  # of frames

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
        raise ReadError("more than 10,000 different targets; these are no classes.")
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
    odd = targets != np.floor(targets)
    if odd.any():
        raise ReadError(
            f"{name}: target {float(targets[odd][0])!r} is no class; classes are whole numbers or "
            "words. Use a regressor for numbers."
        )
    return targets.astype(np.int64)
