"""From a table to what a sieve shows: all outputs together, or one run an output; weights back in
the units of X and y.
"""

from typing import ClassVar

import numpy as np

from tamis.base.contents import array, count, indices, plain, size
from tamis.methods.sieve.fit import Columns, Sieve, Wishes
from tamis.methods.sieve.paths import Table, Task


class Result:
    """What a fit shows: kept columns, weights, intercepts, selection shares and how the size was
    found.
    """

    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "n_outputs": size("outputs"),
        "columns": indices("kept", below="columns", increasing=True),
        "weights": array("f8", "kept", "outputs", order=None),
        "bias": array("f8", "outputs"),
        "seen": indices("seen", below="columns", increasing=True),
        "shares": array("f8", "seen", "outputs", least=0.0, most=1.0, order=None),
        "path": plain(),
        "history": plain(),
        "resolved": plain(),
        "n_iter": count(),
    }

    def __init__(self, n_columns: int, columns, weights, bias, seen, shares, told: dict):
        self.n_columns, self.n_outputs = int(n_columns), len(bias)
        self.columns, self.weights, self.bias = columns, weights, bias
        self.seen, self.shares = seen, shares
        self.path, self.history, self.resolved, self.n_iter = (
            told[name] for name in ("path", "history", "resolved", "n_iter")
        )

    def places(self) -> np.ndarray:
        """Row of `padded` for each column."""
        place = np.full(self.n_columns, len(self.columns), dtype=np.uint32)
        place[self.columns] = np.arange(len(self.columns), dtype=np.uint32)
        return place

    def padded(self) -> np.ndarray:
        """Weights of the kept columns, and a row of zeros for all others."""
        return np.vstack([self.weights, np.zeros((1, self.n_outputs))])

    def spread(self, name: str) -> np.ndarray:
        """Weights or shares of all columns, (outputs, columns)."""
        at, values = (self.columns, self.weights) if name == "weights" else (self.seen, self.shares)
        whole = np.zeros((self.n_outputs, self.n_columns))
        whole[:, at] = values.T
        return whole


def sieve_outputs(
    table: Table,
    columns: Columns,
    folds,
    task: Task,
    wishes: Wishes,
    classes: bool,
    per_class: bool,
    units,
    start=None,
) -> Result:
    """Sieve all outputs with one support, or each with its own."""
    if not per_class or table.outputs == 1:
        parts = [_sieve(table, columns, folds, task, wishes, classes, units, start)]
    else:
        parts = []
        for c in range(table.outputs):
            own = table._replace(targets=_own_targets(table, c), outputs=1)
            mine = None if start is None else _own_start(start, c, table.outputs)
            parts.append(
                _sieve(
                    own,
                    columns,
                    folds,
                    task,
                    wishes,
                    classes,
                    tuple(u[c : c + 1] for u in units),
                    mine,
                )
            )
    return _joined(columns.n_columns, parts)


def _own_start(start: dict, c: int, many: int) -> dict:
    """The level-0 models of one output."""
    at = [0, 1 + c, 1 + many + c]
    return {
        name: part
        if name == "steps"
        else tuple(np.ascontiguousarray(array[..., at]) for array in part)
        for name, part in start.items()
    }


def _own_targets(table: Table, c: int):
    """Targets of one output."""
    if table.targets.shape[1] > 1:
        return np.ascontiguousarray(table.targets[:, c : c + 1])
    return np.where(table.targets == c, 1.0, -1.0)


def _sieve(table, columns: Columns, folds, task, wishes, classes, units, start):
    """One run, told in the units of X and y."""
    unit, center = units
    sieve = Sieve(table, folds, task, wishes, classes, unit, start)
    setting, errors, choice, survived, group = sieve.run()
    at = group.columns
    weights = group.weights * columns.scale[at, None] * unit
    bias = group.bias * unit + center - columns.shift[at] @ weights
    shares = (
        (survived >= choice.level).mean(axis=0) if len(survived) else np.zeros(len(table.density))
    )
    told = {
        "path": {
            "n_features": sieve.sizes.copy(),
            "soft_error": np.array([error.soft for error in errors] or [np.nan] * len(sieve.sizes)),
            "error": np.array([error.plain for error in errors] or [np.nan] * len(sieve.sizes)),
        },
        "history": sieve.history,
        "resolved": {
            "base": setting.name,
            "step": [float(v) for v in setting.steps],
            "strength": [float(v) for v in setting.strengths],
            "n_paths": setting.paths,
            "n_fold_paths": setting.fold_paths,
            "n_features": choice.size,
            "level": choice.level,
            "threshold": choice.threshold,
        },
        "n_iter": group.turns,
    }
    chosen = np.flatnonzero(shares)
    return columns.kept[at], weights, bias, columns.kept[chosen], shares[chosen], told


def _joined(n_columns: int, parts) -> Result:
    """The outputs of all parts side by side; shares of a common support count for every output."""
    if len(parts) == 1:
        at, weights, bias, seen, shares, told = parts[0]
        return Result(
            n_columns, at, weights, bias, seen, np.repeat(shares[:, None], len(bias), axis=1), told
        )
    at, seen = (np.unique(np.concatenate([part[k] for part in parts])) for k in (0, 3))
    weights, shares = np.zeros((len(at), len(parts))), np.zeros((len(seen), len(parts)))
    for c, part in enumerate(parts):
        weights[np.searchsorted(at, part[0]), c] = part[1][:, 0]
        shares[np.searchsorted(seen, part[3]), c] = part[4]
    names = ("path", "history", "resolved")
    told = {name: [part[5][name] for part in parts] for name in names}
    return Result(
        n_columns,
        at,
        weights,
        np.concatenate([part[2] for part in parts]),
        seen,
        shares,
        {**told, "n_iter": max(p[5]["n_iter"] for p in parts)},
    )
