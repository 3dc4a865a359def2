"""Targets where some rows have no label, and some are known to belong to no class."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import assert_all_finite

from tamis.base.fast_checks import along_one, check_classes, check_length, refuse_none
from tamis.base.targets import ClassTargets

IRRELEVANT, UNLABELLED = -1, -2


class FewLabels(NamedTuple):
    """Classes, and of every row the number of its class, or one of the two marks above."""

    targets: ClassTargets
    codes: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Numbers of the labelled rows."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def columns(self) -> np.ndarray:
        """Columns of the targets of the labelled rows."""
        return self.targets.columns(self.codes[self.known])


def is_missing(label) -> bool:
    """Whether a mark stands for missing labels: None, nan, or what pandas has for them."""
    return (
        label is None
        or bool(np.isscalar(label) and label != label)
        or type(label).__name__ in ("NAType", "NaTType")
    )


def read_labels(model: str, y, counted, unlabeled, irrelevant_label) -> FewLabels:
    """Sort the rows of y into classes, unlabelled rows and rows known as irrelevant; classes are
    those of the rows that are `counted`.
    """
    n_rows = len(counted)
    refuse_none(y, model)
    y = along_one(np.asarray(y) if isinstance(y, list | tuple) else y)
    check_length(y, n_rows)
    open_, beside = marked(y, unlabeled), np.zeros(n_rows, dtype=bool)
    if irrelevant_label is not None:
        beside = marked(y, irrelevant_label)
    if (open_ & beside).any():
        raise ValueError(
            f"{model}: unlabeled={unlabeled!r} and irrelevant_label={irrelevant_label!r} mark the "
            "same rows; give them two labels."
        )
    known = counted & ~(open_ | beside)
    classes, numbers = _classes(model, y[known], unlabeled, int(np.count_nonzero(open_)))
    codes = np.where(open_, UNLABELLED, IRRELEVANT)
    codes[known] = numbers
    return FewLabels(ClassTargets(classes), codes)


def marked(y, label) -> np.ndarray:
    """Rows that carry a label, or for None and nan, rows whose label is missing."""
    if is_missing(label):
        may_miss = y.dtype.kind in "Of"
        return np.array([may_miss and is_missing(v) for v in y.tolist()], dtype=bool)
    return np.array([not is_missing(v) and bool(v == label) for v in y.tolist()], dtype=bool)


def _classes(model: str, labels, unlabeled, n_unlabelled: int):
    """Classes and class numbers of the labelled rows."""
    if labels.dtype.kind == "O":
        missing = [v for v in labels.tolist() if is_missing(v)]
        if missing:
            raise ValueError(
                f"{model}: y holds {missing[0]!r}, but unlabeled={unlabeled!r}. Pass "
                "unlabeled=None for rows whose label is missing."
            )
        kinds = {isinstance(v, str) for v in labels.tolist()}
        if len(kinds) > 1:
            raise ValueError(f"{model}: y mixes text and numbers as classes; use one kind.")
        labels = labels if kinds == {True} else np.asarray(labels.tolist())
    elif labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    if len(labels):
        check_classes(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        found = f"one class alone, {classes.tolist()[0]!r}" if len(classes) else "no class"
        raise ValueError(
            f"{model} needs labelled rows of at least 2 classes, but y holds {found}, besides "
            f"{n_unlabelled} unlabelled rows (unlabeled={unlabeled!r}). Mark unlabelled rows in y "
            "by that label; if it is a class of yours, set unlabeled to another one, or to None or "
            "nan, and mark unlabelled rows by that."
        )
    return classes, numbers


def irrelevant_mark(classes, unlabeled, irrelevant_label):
    """The label that predictions use for irrelevant rows: the user's, else one that is no class."""
    if irrelevant_label is not None:
        return irrelevant_label
    taken = [*classes.tolist(), unlabeled]
    if classes.dtype.kind in "OUS":
        words = ("irrelevant", "(irrelevant)", "(of no class)")
        return next(word for word in words if word not in taken)
    return next(-k for k in range(len(taken) + 1) if -k not in taken)
