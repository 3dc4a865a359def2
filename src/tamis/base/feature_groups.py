"""The parameter `feature_groups` as the blocks that loops read."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from tamis.base.parameters import ARRAY_LIKE, parameter
from tamis.solvers.path.loop import CoefBlocks

_ACCEPTED_GROUPS = (
    "a list of index arrays, one label per column, or prefixes of the column names of a DataFrame"
)


def feature_groups_parameter(
    unpenalized_text: str, weights_text: str = "", overlap: bool = True, kw_only: bool = False
) -> Any:
    """Return the parameter `feature_groups`.

    `unpenalized_text` describes columns with the label None, and `weights_text` is a further
    sentence.
    """
    return parameter(
        None,
        [ARRAY_LIKE, None],
        "Groups of columns: a list of arrays of column numbers or names, which may "
        f"{'' if overlap else 'not '}overlap; one label per column (-1 is a group of one column, "
        f"None a column that {unpenalized_text}); or, for a DataFrame, a list of prefixes of "
        "column names, of which the longest match counts. A column in no group is a group. None "
        f"makes each column a group. {weights_text}A stream keeps the groups of its first call.",
        "list of array-like, array-like of shape (n_features,) or None",
        kw_only=kw_only,
    )


def parse_feature_groups(
    groups, n_columns: int, names=None, group_weights=None, l1_ratio: float = 0.0, l1_weights=None
) -> CoefBlocks:
    """Return the blocks of a model's parameters.

    The norm of group g has the weight ``(1 - l1_ratio) * sqrt(size)`` or `group_weights`; L1 inside
    it has the weight `l1_ratio`, or `l1_weights` in addition to the full weight of the norm. A
    column in no group is a group of weight 1; a column with the label None is not penalized.
    """
    members, sizes, unpenalized = _parse_groups(groups, n_columns, names)
    ungrouped = np.ones(n_columns, dtype=bool)
    ungrouped[members], ungrouped[unpenalized] = False, False
    ungrouped, n_named = np.flatnonzero(ungrouped), len(sizes)
    members = np.concatenate((members, ungrouped, unpenalized))
    sizes = np.concatenate((sizes, np.ones(len(ungrouped) + len(unpenalized), dtype=np.int64)))
    weights = _group_weights("group_weights", group_weights, n_named, np.sqrt(sizes))
    l1 = _group_weights("l1_weights", l1_weights, n_named, np.full(len(sizes), float(l1_ratio)))
    if l1_weights is None:
        weights *= 1.0 - l1_ratio
    elif l1_ratio:
        raise ValueError(
            f"l1_ratio={l1_ratio} and l1_weights were both given; leave l1_ratio at 0 to set the "
            "weights of L1 yourself."
        )
    if len(unpenalized):
        weights[-len(unpenalized) :] = l1[-len(unpenalized) :] = 0.0
    return CoefBlocks(
        members.astype(np.uint64),
        np.r_[0, np.cumsum(sizes)].astype(np.uint64),
        weights,
        l1,
        n_columns,
    )


def _parse_groups(groups, n_columns: int, names) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of all groups in order, the group sizes, and the unpenalized columns."""
    if groups is None:
        return np.arange(n_columns), np.ones(n_columns, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if isinstance(groups, str | bytes | Real):
        raise TypeError(
            f"feature_groups={groups!r} is one value; feature_groups must be {_ACCEPTED_GROUPS}."
        )
    if isinstance(groups, np.ndarray) and groups.shape == (n_columns,) and groups.dtype.kind == "i":
        return _groups_by_integer(groups)
    entries = list(groups)
    if entries and not any(_is_label(entry) for entry in entries):
        groups_of_columns = [
            parse_columns(f"group {i}", entry, n_columns, names) for i, entry in enumerate(entries)
        ]
        return _concatenate_groups(groups_of_columns)
    if len(entries) != n_columns and entries and all(isinstance(entry, str) for entry in entries):
        return _concatenate_groups(_groups_by_prefix(entries, names))
    if len(entries) != n_columns:
        raise ValueError(
            f"feature_groups has {len(entries)} labels for {n_columns} columns; it must be "
            f"{_ACCEPTED_GROUPS}."
        )
    return _groups_by_label(entries)


def _concatenate_groups(groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.concatenate(groups),
        np.array([len(group) for group in groups]),
        np.zeros(0, dtype=np.int64),
    )


def _is_label(entry) -> bool:
    return entry is None or isinstance(entry, str | bytes | Real)


def parse_columns(
    label: str, entry, n_columns: int, names=None, noun: str = "a group"
) -> np.ndarray:
    """Return the indices of columns that are given by index or name.

    `label` names the parameter in messages.
    """
    columns = np.asarray(entry).ravel()
    if not len(columns):
        raise ValueError(f"{label} is empty; leave it out.")
    if columns.dtype.kind in "OUT":
        if names is None:
            raise ValueError(
                f"{label} names columns ({columns.tolist()[0]!r}), but X has no column names; "
                "pass a DataFrame or column numbers."
            )
        index_by_name = {name: j for j, name in enumerate(names)}
        unknown = [name for name in columns.tolist() if name not in index_by_name]
        if unknown:
            raise ValueError(f"{label} names {unknown[0]!r}, which is no column of X.")
        columns = np.array([index_by_name[name] for name in columns])
    if columns.dtype.kind not in "iu":
        raise TypeError(
            f"{label} holds {columns.tolist()[0]!r}; {noun} is an array of column numbers or "
            "column names."
        )
    columns = np.unique(columns.astype(np.int64))
    if columns[0] < 0 or columns[-1] >= n_columns:
        wrong = columns[0] if columns[0] < 0 else columns[-1]
        raise ValueError(f"{label} names column {wrong}, outside 0..{n_columns - 1}.")
    return columns


def _groups_by_prefix(prefixes, names) -> list[np.ndarray]:
    """Return the columns of each prefix; a name with several belongs to its longest one."""
    if names is None:
        raise ValueError(
            f"feature_groups={prefixes[:3]!r} are prefixes of column names, but X has none; pass a "
            f"DataFrame, or {_ACCEPTED_GROUPS}."
        )
    groups: dict[str, list[int]] = {prefix: [] for prefix in prefixes}
    for j, name in enumerate(names):
        matches = [prefix for prefix in groups if str(name).startswith(prefix)]
        if matches:
            groups[max(matches, key=len)].append(j)
    for prefix, columns in groups.items():
        if not columns:
            raise ValueError(
                f"no column of X is left for the prefix {prefix!r} of groups; the columns are "
                f"{list(names)[:5]}."
            )
    return [np.array(columns) for columns in groups.values()]


def _groups_by_label(labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns, group sizes and unpenalized columns from labels, in order of first
    occurrence.

    A label -1 is a group with one column; None means not penalized.
    """
    numbers: dict = {}
    codes = np.array(
        [_label_code(label, j, numbers) for j, label in enumerate(labels)], dtype=np.int64
    )
    order = np.argsort(codes, kind="stable")
    n_unpenalized = np.count_nonzero(codes < 0)
    return (
        order[n_unpenalized:],
        np.bincount(codes[codes >= 0], minlength=len(numbers)),
        order[:n_unpenalized],
    )


def _groups_by_integer(labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_groups_by_label` for an integer array, without a loop over the columns."""
    labels, no_columns = labels.astype(np.int64), np.zeros(0, dtype=np.int64)
    left, right = labels[:-1], labels[1:]
    if len(labels) and labels[0] >= 0 and (left <= right).all():  # groups one after the other
        ends = np.concatenate(([0], np.flatnonzero(left < right) + 1, [len(labels)]))
        return np.arange(len(labels)), np.diff(ends), no_columns
    is_single = labels == -1
    labels[is_single] = labels.max(initial=0) + 1 + np.arange(np.count_nonzero(is_single))
    codes = number_labels(labels)
    return np.argsort(codes, kind="stable"), np.bincount(codes), no_columns


def number_labels(labels: np.ndarray) -> np.ndarray:
    """Return the labels as 0, 1, ... in order of first occurrence."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _label_code(label, j: int, numbers: dict) -> int:
    """Return the number of a label, -1 if its column is not penalized.

    That is the label None, or nan in an array of numbers.
    """
    if label is None or label != label:
        return -1
    is_single = isinstance(label, Integral) and label == -1
    return numbers.setdefault(("alone", j) if is_single else label, len(numbers))


def _group_weights(name: str, user_weights, n_named: int, default: np.ndarray) -> np.ndarray:
    """Return the weights of the groups: the default, one for all, or one per named group."""
    if user_weights is None:
        return default.copy()
    if isinstance(user_weights, Real):
        user_weights = np.full(n_named, float(user_weights))
        default = np.full(len(default), user_weights[0] if n_named else 0.0)
    weights = np.asarray(user_weights, dtype=np.float64)
    if weights.shape != (n_named,):
        raise ValueError(
            f"{name} has shape {weights.shape}, but there are {n_named} groups; pass one number a "
            "group, or one for all."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"{name} must be finite and 0 or more; got "
            f"{weights[~((weights >= 0) & np.isfinite(weights))][0]!r}."
        )
    return np.r_[weights, default[n_named:]]
