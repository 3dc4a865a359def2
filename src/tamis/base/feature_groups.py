"""What users say about groups of columns, as the blocks that loops read."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from tamis.base.parameters import ARRAY, parameter
from tamis.solvers.path.loop import Blocks

_WAYS = (
    "a list of index arrays, one label per column, or prefixes of the column names of a DataFrame"
)


def groups_parameter(
    free: str, sizes: str = "", overlap: bool = True, kw_only: bool = False
) -> Any:
    """The parameter `feature_groups`; `free` says what becomes of columns labelled None, and
    `sizes` what else is to be said.
    """
    return parameter(
        None,
        [ARRAY, None],
        "Groups of columns: a list of arrays of column numbers or names, which may "
        f"{'' if overlap else 'not '}overlap; one label a column (-1 is a group of its own, None "
        f"a column that {free}); or, for a DataFrame, a list of prefixes of column names, of which "
        "the longest that fits counts. Columns in no group are groups of their own. None makes "
        f"each column a group. {sizes}A stream keeps the groups of its first call.",
        "list of array-like, array-like of shape (n_features,) or None",
        kw_only=kw_only,
    )


def take_groups(
    groups, n_columns: int, names=None, group_weights=None, l1_ratio: float = 0.0, l1_weights=None
) -> Blocks:
    """Blocks from the parameters of a model.

    The norm of group g weighs ``(1 - l1_ratio) * sqrt(size)``, or what `group_weights` says; L1
    inside it weighs `l1_ratio`, or what `l1_weights` says, beside the whole weight of the norm.
    Columns in no group are groups of their own, of weight 1; labels None make columns that are not
    penalised.
    """
    members, sizes, free = _stack(groups, n_columns, names)
    lone = np.ones(n_columns, dtype=bool)
    lone[members], lone[free] = False, False
    lone, named = np.flatnonzero(lone), len(sizes)
    members = np.concatenate((members, lone, free))
    sizes = np.concatenate((sizes, np.ones(len(lone) + len(free), dtype=np.int64)))
    weights = _weights("group_weights", group_weights, named, np.sqrt(sizes))
    inside = _weights("l1_weights", l1_weights, named, np.full(len(sizes), float(l1_ratio)))
    if l1_weights is None:
        weights *= 1.0 - l1_ratio
    elif l1_ratio:
        raise ValueError(
            f"l1_ratio={l1_ratio} and l1_weights were both given; leave l1_ratio at 0 to set the "
            "weights of L1 yourself."
        )
    if len(free):
        weights[-len(free) :] = inside[-len(free) :] = 0.0
    return Blocks(
        members.astype(np.uint64),
        np.r_[0, np.cumsum(sizes)].astype(np.uint64),
        weights,
        inside,
        n_columns,
    )


def _stack(groups, n_columns: int, names) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of all groups, one group after the other, the groups' sizes, and the columns that are
    not penalised.
    """
    if groups is None:
        return np.arange(n_columns), np.ones(n_columns, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if isinstance(groups, str | bytes | Real):
        raise TypeError(f"feature_groups={groups!r} is one value; feature_groups must be {_WAYS}.")
    if isinstance(groups, np.ndarray) and groups.shape == (n_columns,) and groups.dtype.kind == "i":
        return _by_number(groups)
    entries = list(groups)
    if entries and not any(_is_label(e) for e in entries):
        sets = [take_columns(f"group {at}", e, n_columns, names) for at, e in enumerate(entries)]
        return _joined(sets)
    if len(entries) != n_columns and entries and all(isinstance(e, str) for e in entries):
        return _joined(_by_prefix(entries, names))
    if len(entries) != n_columns:
        raise ValueError(
            f"feature_groups has {len(entries)} labels for {n_columns} columns; it must be {_WAYS}."
        )
    return _by_label(entries)


def _joined(sets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.concatenate(sets), np.array([len(s) for s in sets]), np.zeros(0, dtype=np.int64)


def _is_label(entry) -> bool:
    return entry is None or isinstance(entry, str | bytes | Real)


def take_columns(said: str, entry, n_columns: int, names=None, noun: str = "a group") -> np.ndarray:
    """Columns given by their numbers or names; `said` is what sentences call them."""
    given = np.asarray(entry).ravel()
    if not len(given):
        raise ValueError(f"{said} is empty; leave it out.")
    if given.dtype.kind in "OUT":
        if names is None:
            raise ValueError(
                f"{said} names columns ({given.tolist()[0]!r}), but X has no column names; "
                "pass a DataFrame or column numbers."
            )
        place = {name: j for j, name in enumerate(names)}
        unknown = [name for name in given.tolist() if name not in place]
        if unknown:
            raise ValueError(f"{said} names {unknown[0]!r}, which is no column of X.")
        given = np.array([place[name] for name in given])
    if given.dtype.kind not in "iu":
        raise TypeError(
            f"{said} holds {given.tolist()[0]!r}; {noun} is an array of column numbers or "
            "column names."
        )
    given = np.unique(given.astype(np.int64))
    if given[0] < 0 or given[-1] >= n_columns:
        bad = given[0] if given[0] < 0 else given[-1]
        raise ValueError(f"{said} names column {bad}, outside 0..{n_columns - 1}.")
    return given


def _by_prefix(prefixes, names) -> list[np.ndarray]:
    """Columns by the longest prefix of their names."""
    if names is None:
        raise ValueError(
            f"feature_groups={prefixes[:3]!r} are prefixes of column names, but X has none; pass a "
            f"DataFrame, or {_WAYS}."
        )
    found: dict[str, list[int]] = {prefix: [] for prefix in prefixes}
    for j, name in enumerate(names):
        fitting = [prefix for prefix in found if str(name).startswith(prefix)]
        if fitting:
            found[max(fitting, key=len)].append(j)
    for prefix, columns in found.items():
        if not columns:
            raise ValueError(
                f"no column of X is left for the prefix {prefix!r} of groups; the columns are "
                f"{list(names)[:5]}."
            )
    return [np.array(columns) for columns in found.values()]


def _by_label(labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns by their labels, in the order in which labels come first; -1 is a group of its own,
    None is not penalised.
    """
    numbers: dict = {}
    codes = np.array([_code(label, j, numbers) for j, label in enumerate(labels)], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    free = np.count_nonzero(codes < 0)
    return order[free:], np.bincount(codes[codes >= 0], minlength=len(numbers)), order[:free]


def _by_number(labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for an array of whole numbers, without a walk over the columns."""
    labels, none = labels.astype(np.int64), np.zeros(0, dtype=np.int64)
    before, after = labels[:-1], labels[1:]
    if len(labels) and labels[0] >= 0 and (before <= after).all():  # groups one after the other
        ends = np.concatenate(([0], np.flatnonzero(before < after) + 1, [len(labels)]))
        return np.arange(len(labels)), np.diff(ends), none
    alone = labels == -1
    labels[alone] = labels.max(initial=0) + 1 + np.arange(np.count_nonzero(alone))
    codes = number_labels(labels)
    return np.argsort(codes, kind="stable"), np.bincount(codes), none


def number_labels(labels: np.ndarray) -> np.ndarray:
    """Return the same labels as 0, 1, ... in the order in which they come first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _code(label, j: int, numbers: dict) -> int:
    """Number of a label; -1 where its column is not penalised (None, or nan, which is how an array
    of numbers says it).
    """
    if label is None or label != label:
        return -1
    alone = isinstance(label, Integral) and label == -1
    return numbers.setdefault(("alone", j) if alone else label, len(numbers))


def _weights(name: str, given, named: int, usual: np.ndarray) -> np.ndarray:
    """Weights of the groups: as usual, one number for all, or one a group that the user named."""
    if given is None:
        return usual.copy()
    if isinstance(given, Real):
        given = np.full(named, float(given))
        usual = np.full(len(usual), given[0] if named else 0.0)
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (named,):
        raise ValueError(
            f"{name} has shape {weights.shape}, but there are {named} groups; pass one number a "
            "group, or one for all."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"{name} must be finite and 0 or more; got "
            f"{weights[~((weights >= 0) & np.isfinite(weights))][0]!r}."
        )
    return np.r_[weights, usual[named:]]
