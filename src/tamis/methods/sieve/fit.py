"""The sieve on a table of rows: standard columns, folds by content, base settings, size, final
phase. No scikit-learn.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.border import warn_user
from tamis.base.rows import NOTHING, Csr, hash_rows
from tamis.methods.sieve.errors import Error, beats, class_error, margins, number_error
from tamis.methods.sieve.ladder import Choice, choose_size, ladder, place_size
from tamis.methods.sieve.loop import standardise, sum_columns
from tamis.methods.sieve.paths import Group, Setting, Table, Task, crew, descend
from tamis.methods.sieve.settings import settings_for

DENSE = 0.9  # density above which a column is centred
RELIEF = 0.3  # strength of the final phase, against that of the ladder
FINAL_PASSES = 3
SURE = 1.0  # standard errors by which the bold base must win
_NONE_HELD_OUT = (
    "all rows fell into one fold, because they are few or alike, so that none could be held out: "
    "the number of features was not chosen by "
    "held-out errors, which are nan in path_ and resolved_params_."
)


class Columns(NamedTuple):
    """How columns were brought to standard units: z = (x - shift) * scale."""

    n_columns: int
    kept: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class Wishes(NamedTuple):
    """What the user asked for, settled into numbers."""

    n_features: float | None
    se: float
    strength: float | None
    paths: int | None
    folds: int
    smallest: int
    seed: int
    threads: int


# --------------------------------------------------------------------------- rows
def fold_of(hashes: np.ndarray, folds: int) -> np.ndarray:
    """Fold of each row by its content."""
    return ((hashes >> np.uint64(11)) * 2.0**-53 * folds).astype(np.int64)


def hashed(rows: Csr) -> np.ndarray:
    """A word for the content of each row."""
    words = np.empty(rows.n_rows, dtype=np.uint64)
    hash_rows(*rows[:3], words)
    return words


def settled_order(hashes, targets, weights) -> np.ndarray:
    """Rows of weight above 0 in an order that depends on their contents alone, so that the order
    they came in is forgotten.
    """
    present = np.flatnonzero(weights > 0.0) if len(weights) else np.arange(len(hashes))
    keys = [hashes, *targets.T[::-1]] if not len(weights) else [hashes, *targets.T[::-1], weights]
    return present[np.lexsort([key[present] for key in keys[::-1]])]


def tabulate(
    rows: Csr, targets, weights, order, outputs: int, centred: bool
) -> tuple[Table, Columns]:
    """The rows in standard units."""
    weights = weights[order] * (len(order) / weights[order].sum()) if len(weights) else NOTHING
    n, p = len(order), rows.n_features
    order = order.astype(np.uint64)
    counts, sums, squares = np.zeros(p), np.zeros(p), np.zeros(p)
    sum_columns(*rows[:3], order, weights, NOTHING, counts, sums, squares)
    full = (counts > DENSE * n) & centred
    kept = np.flatnonzero((counts > 0.0) & (squares > 0.0))
    scale, shift = np.sqrt(counts[kept] / squares[kept]), np.zeros(len(kept))
    if full.any():
        means, squares = np.where(full, sums / n, 0.0), np.zeros(p)
        sum_columns(*rows[:3], order, weights, means, np.zeros(p), np.zeros(p), squares)
        spread = np.sqrt((squares + np.maximum(n - counts, 0.0) * means**2) / n)
        alive = ~full | (spread > 1e-9 * np.abs(means))
        kept = kept[alive[kept]]
        scale = np.where(
            full[kept],
            1.0 / np.where(full[kept], spread[kept], 1.0),
            np.sqrt(counts[kept] / np.maximum(squares[kept], 1e-300)),
        )
        shift = means[kept]
    dense = np.flatnonzero(full[kept]).astype(np.uint64)
    place = np.full(p, len(kept), dtype=np.uint32)
    place[kept] = np.arange(len(kept), dtype=np.uint32)
    room = len(rows.data) + n * len(dense)
    data, indices, indptr = (
        np.empty(room),
        np.empty(room, dtype=np.uint32),
        np.empty(n + 1, dtype=np.uint64),
    )
    standardise(
        *rows[:3],
        order,
        place,
        scale,
        shift,
        dense,
        np.zeros(len(kept), dtype=np.uint64),
        data,
        indices,
        indptr,
    )
    used = int(indptr[-1])
    targets = np.ascontiguousarray(targets[order])
    return Table(
        data[:used],
        indices[:used],
        indptr,
        targets,
        weights,
        np.minimum(counts[kept] / n, 1.0),
        outputs,
    ), Columns(p, kept, scale, shift)


# --------------------------------------------------------------------------- targets
def class_units(outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit and center of class targets: as they are."""
    return np.ones(outputs), np.zeros(outputs)


def number_units(targets, weights, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Robust unit and center of real targets, so that a strength means the same whatever their
    scale.

    Center is the median, unit 1.4826 times the median absolute deviation; where that is 0, the mean
    absolute deviation.
    """
    present = targets[weights > 0.0] if len(weights) else targets
    center = np.median(present, axis=0)
    apart = np.abs(present - center)
    unit = 1.4826 * np.median(apart, axis=0)
    unit = np.where(unit > 0.0, unit, apart.mean(axis=0))
    return np.where(unit > 0.0, unit, 1.0), center if centred else np.zeros_like(center)


# --------------------------------------------------------------------------- the sieve
def as_standard(targets, units) -> np.ndarray:
    """Targets in standard units; those of classes, whose units are 1, stay as they are."""
    unit, center = units
    return targets if (unit == 1.0).all() and not center.any() else (targets - center) / unit


def path_keys(seed: int, group: int, paths: int) -> np.ndarray:
    """A key for the orders of each path of a group."""
    return np.random.SeedSequence([seed, group]).generate_state(paths, np.uint64)


class Sieve:
    """One run of the sieve over a table."""

    def __init__(
        self,
        table: Table,
        folds: np.ndarray,
        task: Task,
        wishes: Wishes,
        classes: bool,
        unit,
        start=None,
    ):
        self.table, self.folds, self.task, self.wishes, self.classes = (
            table,
            folds,
            task,
            wishes,
            classes,
        )
        self.unit, self.start = unit, start
        smallest = (
            wishes.smallest
            if wishes.n_features is None
            else min(wishes.smallest, int(wishes.n_features))
        )
        self.sizes = ladder(len(table.density), smallest)
        self.rows = np.arange(table.n_rows, dtype=np.uint64)
        self.history: list[dict] = []

    def run(self) -> tuple:
        """Fold groups under each setting, choice of setting and size, all rows down to that size,
        final phase.
        """
        wishes = self.wishes
        settings, balanced = settings_for(
            self.table, self.task.loss, wishes.strength, wishes.paths, self.classes
        )
        with crew(wishes.threads) as run:
            trials = [self._try(setting, balanced, run) for setting in settings]
            at = self._prefer([errors for errors, _ in trials])
            errors, survived = trials[at]
            if not errors:
                warn_user(_NONE_HELD_OUT, UserWarning)
            choice = self._choose(errors)
            group = self._finish(settings[at], choice, run)
        return settings[at], errors, choice, survived, group

    def _try(self, setting: Setting, balanced: bool, run):
        """Errors of each level on rows that the paths never saw, and the last level that each
        feature reached in each group.
        """
        groups = []
        for fold in range(self.wishes.folds):
            inside = self.folds == fold
            if inside.any() and not inside.all():
                groups.append(
                    (
                        self.rows[~inside],
                        self.rows[inside],
                        path_keys(0, fold, setting.fold_paths),
                        self._started(setting, fold),
                    )
                )
        scores = np.zeros((len(self.sizes), self.table.n_rows, self.table.outputs))
        survived = np.zeros((len(groups), len(self.table.density)), dtype=np.uint8)
        for start in range(0, len(groups), self.wishes.threads):
            wave = [
                Group(self.table, self.task, setting, *given)
                for given in groups[start : start + self.wishes.threads]
            ]
            numbers = {id(group): start + k for k, group in enumerate(wave)}

            def seen(group, level, numbers=numbers):
                group.judge(scores[level])
                survived[numbers[id(group)], group.columns] = level

            descend(wave, self.sizes, run, seen)
        errors = [self._error(level, balanced) for level in scores] if groups else []
        best = _least(errors) if errors else None
        return [error if error is best else error.summary() for error in errors], survived

    def _started(self, setting: Setting, group: int):
        """State, intercept and steps that a group starts from, or None."""
        if self.start is None:
            return None
        states, biases = self.start[setting.name]
        return states[group], biases[group], self.start["steps"][group]

    def _error(self, scores, balanced: bool) -> Error:
        table = self.table
        if not self.classes:
            return number_error(scores - table.targets, table.weights, self.task.loss, self.unit)
        return class_error(margins(scores, table.targets), table.targets, table.weights, balanced)

    def _prefer(self, trials: list) -> int:
        """The first setting, unless another is surely better on the same rows, each at its best
        size.
        """
        best = 0
        for at in range(1, len(trials)):
            if trials[at] and beats(
                _least(trials[at]), _least(trials[best]), self.table.weights, SURE
            ):
                best = at
        return best

    def _choose(self, errors: list) -> Choice:
        if self.wishes.n_features is not None:
            return place_size(self.sizes, int(self.wishes.n_features))
        if not errors:
            return Choice(0, int(self.sizes[0]), np.nan)
        return choose_size(
            self.sizes,
            np.array([error.soft for error in errors]),
            self.wishes.se * _least(errors).spread,
        )

    def _finish(self, setting: Setting, choice: Choice, run) -> Group:
        """Paths over all rows, down to the level above the chosen size, then the final phase."""
        keys = path_keys(self.wishes.seed + 1, self.wishes.folds, setting.paths)
        group = Group(
            self.table,
            self.task,
            setting,
            self.rows,
            self.rows[:0],
            keys,
            self._started(setting, self.wishes.folds),
        )
        descend([group], self.sizes[: choice.level + 1], run, self._note)
        group.keep(choice.size)
        group.tune(RELIEF)
        run(group.walks(FINAL_PASSES))
        group.pool()
        self._note(group, choice.level + 1)
        return group

    def _note(self, group: Group, level: int) -> None:
        self.history.append(
            {
                "level": level,
                "n_features": len(group.columns),
                "passes": group.turns,
                "strength": float(np.mean(group.strengths)),
                "step": float(np.mean(group.rates)),
            }
        )


def _least(errors: list[Error]) -> Error:
    """The first of the least soft errors."""
    return min(errors, key=lambda error: error.soft)
