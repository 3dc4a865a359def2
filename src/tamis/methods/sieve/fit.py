"""One run of the sieve: base settings tried on folds, a size chosen, paths over all rows down to
it, the final phase; and what it shows, in the units of X and y.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tamis.base.contents import array, count, indices, plain, size
from tamis.methods.sieve.columns import Sample
from tamis.methods.sieve.errors import Error, beats, class_error, margins, number_error
from tamis.methods.sieve.ladder import Choice, choose_size, ladder, place_size
from tamis.methods.sieve.paths import Group, Setting, Start, Task, crew, descend
from tamis.methods.sieve.settings import Options, settings_for

RELIEF = 0.3  # strength of the final phase, against that of the ladder
FINAL_PASSES = 3
SURE = 1.0  # standard errors by which the bold base must win


# --------------------------------------------------------------------------- what a fit shows
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

    def __init__(self, n_columns: int, columns, weights, bias, seen, shares):
        self.n_columns, self.n_outputs = int(n_columns), len(bias)
        self.columns, self.weights, self.bias = columns, weights, bias
        self.seen, self.shares = seen, shares

    def described(self, path: Any, history: list, resolved: Any, n_iter: int) -> "Result":
        """The result with what is told of how it was found."""
        self.path, self.history, self.resolved, self.n_iter = path, history, resolved, n_iter
        return self

    @classmethod
    def of_nothing(cls, n_columns: int, n_outputs: int) -> "Result":
        """The model of no rows."""
        none = np.zeros(0, dtype=np.int64)
        weights, errors = np.zeros((0, n_outputs)), np.zeros(0)
        path = {"n_features": none, "soft_error": errors, "error": errors}
        resolved = {"n_features": 0, "level": 0, "threshold": np.nan}
        result = cls(n_columns, none, weights, np.zeros(n_outputs), none, weights)
        return result.described(path, [], resolved, 0)

    def is_judged(self) -> bool:
        """Whether rows could be held out, so that sizes have errors."""
        paths = self.path if isinstance(self.path, list) else [self.path]
        return not any(np.isnan(path["error"]).all() for path in paths)

    def places(self) -> np.ndarray:
        """Row of `padded` for each column."""
        place = np.full(self.n_columns, len(self.columns), dtype=np.uint32)
        place[self.columns] = np.arange(len(self.columns), dtype=np.uint32)
        return place

    def padded(self) -> np.ndarray:
        """Weights of the kept columns, and a row of zeros for all others."""
        return np.vstack([self.weights, np.zeros((1, self.n_outputs))])

    def all_weights(self) -> np.ndarray:
        """Weights of all columns, (outputs, columns)."""
        return self._spread(self.columns, self.weights)

    def all_shares(self) -> np.ndarray:
        """Selection shares of all columns, (outputs, columns)."""
        return self._spread(self.seen, self.shares)

    def _spread(self, at, values) -> np.ndarray:
        whole = np.zeros((self.n_outputs, self.n_columns))
        whole[:, at] = values.T
        return whole


def sieve(
    sample: Sample, task: Task, options: Options, start: dict[str, list[Start]] | None = None
) -> Result:
    """Sieve all outputs with one support, or each with its own."""
    many = sample.table.outputs
    if not options.per_class or many == 1:
        return Run(sample, task, options, start).result()
    parts = [
        Run(_own_sample(sample, c), task, options, _own_start(start, c, many)).result()
        for c in range(many)
    ]
    return _joined(parts)


def _own_sample(sample: Sample, c: int) -> Sample:
    """The sample with the targets of one output."""
    table, units = sample.table, sample.units
    if table.targets.shape[1] > 1:
        targets = np.ascontiguousarray(table.targets[:, c : c + 1])
    else:
        targets = np.where(table.targets == c, 1.0, -1.0)
    return sample._replace(
        table=table._replace(targets=targets, outputs=1),
        units=type(units)(*(part[c : c + 1] for part in units)),
    )


def _own_start(start: dict[str, list[Start]] | None, c: int, many: int):
    """The level-0 models of one output."""
    if start is None:
        return None
    at = [0, 1 + c, 1 + many + c]
    return {
        base: [
            Start(
                np.ascontiguousarray(group.states[..., at]),
                np.ascontiguousarray(group.biases[..., at]),
                group.steps,
            )
            for group in groups
        ]
        for base, groups in start.items()
    }


def _joined(parts: list[Result]) -> Result:
    """The outputs of all parts side by side."""
    columns, seen = (
        np.unique(np.concatenate([getattr(part, name) for part in parts]))
        for name in ("columns", "seen")
    )
    weights, shares = np.zeros((len(columns), len(parts))), np.zeros((len(seen), len(parts)))
    for c, part in enumerate(parts):
        weights[np.searchsorted(columns, part.columns), c] = part.weights[:, 0]
        shares[np.searchsorted(seen, part.seen), c] = part.shares[:, 0]
    bias = np.concatenate([part.bias for part in parts])
    return Result(parts[0].n_columns, columns, weights, bias, seen, shares).described(
        [part.path for part in parts],
        [part.history for part in parts],
        [part.resolved for part in parts],
        max(part.n_iter for part in parts),
    )


# --------------------------------------------------------------------------- the run
class Trial(NamedTuple):
    """A setting on the folds: errors of each level on rows that the paths never saw, and the last
    level that each feature reached in each group.
    """

    errors: list[Error]
    survived: np.ndarray


class Found(NamedTuple):
    """Where a run ended: the setting and its trial, the size, and the paths over all rows."""

    setting: Setting
    trial: Trial
    choice: Choice
    group: Group


class Run:
    """One run of the sieve over a sample."""

    def __init__(self, sample: Sample, task: Task, options: Options, start=None):
        self.sample, self.table, self.folds = sample, sample.table, sample.folds
        self.task, self.options, self.start = task, options, start
        smallest = options.smallest if options.size is None else min(options.smallest, options.size)
        self.sizes = ladder(len(self.table.density), smallest)
        self.rows = np.arange(self.table.n_rows, dtype=np.uint64)
        self.history: list[dict] = []

    def result(self) -> Result:
        """The run, told in the units of X and y."""
        (unit, center), columns = self.sample.units, self.sample.columns
        setting, (errors, survived), choice, group = self.find()
        at = group.columns
        weights = group.weights * columns.scale[at, None] * unit
        bias = group.bias * unit + center - columns.shift[at] @ weights
        reached = survived >= choice.level
        shares = reached.mean(axis=0) if len(survived) else np.zeros(len(self.table.density))
        chosen = np.flatnonzero(shares)
        unknown = [np.nan] * len(self.sizes)
        path = {
            "n_features": self.sizes.copy(),
            "soft_error": np.array([error.soft for error in errors] or unknown),
            "error": np.array([error.plain for error in errors] or unknown),
        }
        resolved = {
            "base": setting.name,
            "step": [float(v) for v in setting.steps],
            "strength": [float(v) for v in setting.strengths],
            "n_paths": setting.paths,
            "n_fold_paths": setting.fold_paths,
            "n_features": choice.size,
            "level": choice.level,
            "threshold": choice.threshold,
        }
        # Shares of a common support count for every output.
        each = np.repeat(shares[chosen][:, None], len(bias), axis=1)
        return Result(
            columns.n_columns, columns.kept[at], weights, bias, columns.kept[chosen], each
        ).described(path, self.history, resolved, group.turns)

    def find(self) -> Found:
        """Fold groups under each setting, choice of setting and size, all rows down to that size,
        final phase.
        """
        options = self.options
        settings, balanced = settings_for(self.table, self.task.loss, options)
        with crew(options.threads) as run:
            trials = [self._try(setting, balanced, run) for setting in settings]
            at = self._prefer([trial.errors for trial in trials])
            choice = self._choose(trials[at].errors)
            group = self._finish(settings[at], choice, run)
        return Found(settings[at], trials[at], choice, group)

    def _try(self, setting: Setting, balanced: bool, run) -> Trial:
        """Groups of paths, each without one fold, down the whole ladder."""
        groups, folds = [], []
        for fold in range(self.options.folds):
            inside = self.folds == fold
            if inside.any() and not inside.all():
                rows, held = self.rows[~inside], self.rows[inside]
                keys = path_keys(0, fold, setting.fold_paths)
                folds.append(fold)
                groups.append((rows, held, keys, self._started(setting, fold)))
        scores = np.zeros((len(self.sizes), self.table.n_rows, self.table.outputs))
        survived = np.zeros((len(groups), len(self.table.density)), dtype=np.uint8)
        for first in range(0, len(groups), self.options.threads):
            wave = [
                Group(self.table, self.task, setting, *given)
                for given in groups[first : first + self.options.threads]
            ]
            numbers = {id(group): first + k for k, group in enumerate(wave)}
            if self.sample.open is not None:
                for group, fold in zip(wave, folds[first:], strict=False):
                    group.narrow(np.flatnonzero(self.sample.open[fold]))

            def seen(group, level, numbers=numbers):
                group.judge(scores[level])
                survived[numbers[id(group)], group.columns] = level

            descend(wave, self.sizes, run, seen)
        errors = [self._error(level, balanced) for level in scores] if groups else []
        best = _least(errors) if errors else None
        return Trial([error if error is best else error.summary() for error in errors], survived)

    def _started(self, setting: Setting, group: int) -> Start | None:
        """The models of level 0 that a group starts from, if there are any."""
        return None if self.start is None else self.start[setting.name][group]

    def _error(self, scores, balanced: bool) -> Error:
        table = self.table
        if not self.options.classes:
            residual, unit = scores - table.targets, self.sample.units.unit
            return number_error(residual, table.weights, self.task.loss, unit)
        return class_error(margins(scores, table.targets), table.targets, table.weights, balanced)

    def _prefer(self, trials: list[list[Error]]) -> int:
        """The first setting, unless another is surely better on the same rows, each at its best
        size.
        """
        best, weights = 0, self.table.weights
        for at, errors in enumerate(trials[1:], start=1):
            if errors and beats(_least(errors), _least(trials[best]), weights, SURE):
                best = at
        return best

    def _choose(self, errors: list[Error]) -> Choice:
        if self.options.size is not None:
            return place_size(self.sizes, self.options.size)
        if not errors:
            return Choice(0, int(self.sizes[0]), np.nan)
        soft, spread = np.array([error.soft for error in errors]), _least(errors).spread
        return choose_size(self.sizes, soft, self.options.se * spread)

    def _finish(self, setting: Setting, choice: Choice, run) -> Group:
        """Paths over all rows, down to the level above the chosen size, then the final phase."""
        folds = self.options.folds
        keys = path_keys(self.options.seed + 1, folds, setting.paths)
        start, none = self._started(setting, folds), self.rows[:0]
        group = Group(self.table, self.task, setting, self.rows, none, keys, start)
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


def path_keys(seed: int, group: int, paths: int) -> np.ndarray:
    """A key for the orders of each path of a group."""
    return np.random.SeedSequence([seed, group]).generate_state(paths, np.uint64)


def _least(errors: list[Error]) -> Error:
    """The first of the least soft errors."""
    return min(errors, key=lambda error: error.soft)
