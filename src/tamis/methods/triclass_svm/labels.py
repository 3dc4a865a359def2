"""Labels of classes, of unlabelled rows and of rows known to belong to no class."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import assert_all_finite

from tamis.base.fast_checks import (
    check_classes,
    check_n_targets,
    flatten_targets,
    refuse_missing_targets,
)
from tamis.base.targets import ClassTargets

IRRELEVANT, UNLABELLED = -1, -2


class FewLabels(NamedTuple):
    """The classes, and the code of each row: the index of its class, IRRELEVANT or UNLABELLED."""

    targets: ClassTargets
    codes: np.ndarray

    @property
    def labelled_rows(self) -> np.ndarray:
        """Indices of the labelled rows."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def target_columns(self) -> np.ndarray:
        """Target columns of the labelled rows."""
        return self.targets.columns(self.codes[self.labelled_rows])


def is_missing(label) -> bool:
    """Return whether a label is missing: None, nan, or NA and NaT of pandas."""
    return (
        label is None
        or bool(np.isscalar(label) and label != label)
        or type(label).__name__ in ("NAType", "NaTType")
    )


def parse_labels(model_name: str, y, has_weight, unlabeled, irrelevant_label) -> FewLabels:
    """Split the rows of y into classes, unlabelled rows and rows known as irrelevant. Only rows
    with weight define classes.
    """
    n_rows = len(has_weight)
    refuse_missing_targets(y, model_name)
    y = flatten_targets(np.asarray(y) if isinstance(y, list | tuple) else y)
    check_n_targets(y, n_rows)
    is_unlabelled, is_irrelevant = has_label(y, unlabeled), np.zeros(n_rows, dtype=bool)
    if irrelevant_label is not None:
        is_irrelevant = has_label(y, irrelevant_label)
    if (is_unlabelled & is_irrelevant).any():
        raise ValueError(
            f"{model_name}: unlabeled={unlabeled!r} and irrelevant_label={irrelevant_label!r} "
            "mark the same rows; use two labels."
        )
    is_labelled = has_weight & ~(is_unlabelled | is_irrelevant)
    n_unlabelled = int(np.count_nonzero(is_unlabelled))
    classes, class_codes = _classes(model_name, y[is_labelled], unlabeled, n_unlabelled)
    codes = np.where(is_unlabelled, UNLABELLED, IRRELEVANT)
    codes[is_labelled] = class_codes
    return FewLabels(ClassTargets(classes), codes)


def has_label(y, label) -> np.ndarray:
    """Return the mask of the rows with a label, or with a missing label for None and nan."""
    if is_missing(label):
        can_be_missing = y.dtype.kind in "Of"
        return np.array([can_be_missing and is_missing(v) for v in y.tolist()], dtype=bool)
    return np.array([not is_missing(v) and bool(v == label) for v in y.tolist()], dtype=bool)


def _classes(model_name: str, labels, unlabeled, n_unlabelled: int):
    """Return the classes and the class codes of the labelled rows."""
    if labels.dtype.kind == "O":
        missing = [v for v in labels.tolist() if is_missing(v)]
        if missing:
            raise ValueError(
                f"{model_name}: y holds {missing[0]!r}, but unlabeled={unlabeled!r}. Pass "
                "unlabeled=None for rows whose label is missing."
            )
        kinds = {isinstance(v, str) for v in labels.tolist()}
        if len(kinds) > 1:
            raise ValueError(f"{model_name}: y mixes text and numbers as classes; use one kind.")
        labels = labels if kinds == {True} else np.asarray(labels.tolist())
    elif labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    if len(labels):
        check_classes(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        description = f"one class alone, {classes.tolist()[0]!r}" if len(classes) else "no class"
        raise ValueError(
            f"{model_name} needs labelled rows of at least 2 classes, but y holds {description}, "
            f"besides {n_unlabelled} unlabelled rows (unlabeled={unlabeled!r}). Mark unlabelled "
            "rows in y by that label; if it is one of your classes, set unlabeled to another "
            "label, or to None or nan, and mark unlabelled rows by it."
        )
    return classes, codes


def choose_irrelevant_label(classes, unlabeled, irrelevant_label):
    """Return the label of irrelevant rows in predictions: the user's, or one that is no class."""
    if irrelevant_label is not None:
        return irrelevant_label
    reserved = [*classes.tolist(), unlabeled]
    if classes.dtype.kind in "OUS":
        candidates = ("irrelevant", "(irrelevant)", "(of no class)")
        return next(candidate for candidate in candidates if candidate not in reserved)
    return next(-k for k in range(len(reserved) + 1) if -k not in reserved)
