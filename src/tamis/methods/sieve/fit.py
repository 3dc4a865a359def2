"""A fit of the sieve on a sample: candidates on folds, a size, paths over all rows down to it, the
final phase.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tamis.methods.sieve.cross_validation import (
    CrossValidation,
    check_scores_fit,
    evaluate_scores,
    pooled_scores,
)
from tamis.methods.sieve.held_out_errors import (
    Held,
    Rows,
    baseline_rows,
    error_of,
    prior_line,
    rows_of,
)
from tamis.methods.sieve.paths import (
    FINAL_PATHS,
    Candidate,
    InitialState,
    PathGroup,
    PathPoint,
    Task,
    descend,
    in_turn,
    path_keys,
    polish,
    thread_pool,
)
from tamis.methods.sieve.result import Result, joined
from tamis.methods.sieve.settings import Options, candidates_for
from tamis.methods.sieve.size_choice import (
    ChosenSize,
    SizeRule,
    choose_size,
    size_path,
    trained_sizes,
)
from tamis.methods.sieve.size_path import SizePath
from tamis.methods.sieve.table.columns import Sample, to_original_units

# Standard errors by which the targets must be less surprising than by the prior: at the chosen
# size, or by scores of many sizes together, which no choice has flattered.
Z_THRESHOLD, POOLED_Z_THRESHOLD = 3.0, 2.25
MAX_POOLED_SIZE = 16  # sizes up to this one, and up to a quarter of the rows, are taken together
OTHER_SIZES = 2**12  # points at least up to this size are stored for other sizes, and up to
OTHER_SIZES_RATIO = 4  # times the chosen size


class Trainer(Protocol):
    """Who trains groups of paths: on rows in memory, or on rows that lie in partitions."""

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column, in the units of X."""

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path, and fill in their held-out scores and points."""

    def group(self, candidate: Candidate, keys: np.ndarray) -> Any:
        """Paths over all rows, before their first pass."""

    def descend(self, group: Any, sizes: np.ndarray, observe: Callable, first: int = 0) -> None:
        """Take a group down the size path; `observe(group, level)` is called at every level."""

    def polish(self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray) -> Any:
        """Paths over all rows after their final phase, from a point and with that size."""

    def polish_folds(
        self, validation: CrossValidation, chosen: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Give fold fits their final phase at the chosen size: fill in their held-out scores
        (splits, rows, outputs), and return how many of them keep each column.
        """


def fit_sample(sample: Sample, task: Task, options: Options, trainer: Trainer) -> Result:
    """Fit the sieve: the model in the units of X and y, with its errors and its other sizes."""
    table = sample.table
    choosable = size_path(table.n_groups)
    sizes = trained_sizes(choosable, table.always)
    candidates = candidates_for(table, task.loss, options)
    check_scores_fit(table, candidates, sizes)
    held_out = Held(
        table.targets, table.weights, table.outputs, options.classes, task.loss,
        task.intercept > 0.0,
    )  # fmt: skip
    prior = prior_line(held_out)
    prior_rows = rows_of(np.zeros((table.n_rows, table.outputs)), prior, held_out)
    baseline = float(np.average(baseline_rows(held_out, sample.folds[0]), weights=held_out.mass))

    # Every candidate on every fold, down the whole path.
    validations = [CrossValidation(one, sample, sizes, options.folds) for one in candidates]
    trainer.cross_validate(validations, sizes)
    log_losses = [_smallest_log_loss(one, table, prior_rows, held_out) for one in validations]
    pooled_gain = 0.0
    if validations[0].fits:
        limit = max(MAX_POOLED_SIZE, table.n_rows / 4)
        pooled, _ = evaluate_scores(pooled_scores(validations, sizes, limit)[None], held_out)
        pooled_gain = error_of(pooled, log_losses[0], held_out).gain
    for validation, log_loss in zip(validations, log_losses, strict=True):
        validation.evaluate(held_out, log_loss)

    # Candidate and size; no feature where nothing is surely better than the prior.
    expected_error = np.nan
    if validations[0].errors:
        # Losses of numbers may have heavy tails, which differences do not.
        rule = SizeRule(choosable, options.se, options.tolerance, options.size, not options.classes)
        counted = [one.errors[: len(choosable)] for one in validations]
        best, chosen, expected_error = choose_size(counted, held_out.mass, rule)
        gain = validations[best].errors[chosen.level].gain
        is_better = gain > Z_THRESHOLD or pooled_gain > POOLED_Z_THRESHOLD
        if options.size is None and not is_better:
            level = len(sizes) - 1 if table.always else chosen.level
            chosen = chosen._replace(level=level, size=0)
    else:
        size = int(sizes[0]) if options.size is None else options.size
        best, chosen = 0, ChosenSize(0, size, np.nan)
    validation, candidate = validations[best], candidates[best]
    del validations

    # Paths over all rows, down to that size and further; the final phase there.
    points, history = _fit_all_rows(trainer, candidate, options, sizes, chosen)
    if chosen.size or table.always:
        group = _polish_all_rows(trainer, candidate, options, points[chosen.level], chosen.size)
        history.append(_history_of(group, chosen.level + 1))
        columns, weights, bias = group.columns, group.weights, group.bias
        calibration, frequency = _final_folds(trainer, validation, chosen, table, held_out)
    else:
        columns, weights = np.zeros(0, dtype=np.int64), np.zeros((0, table.outputs))
        bias, calibration = np.zeros(table.outputs), prior
        frequency = np.zeros(len(table.density))

    # What the user sees.
    column_std = trainer.column_std()
    standard_error = validation.errors[chosen.level].plain_spread if validation.errors else np.nan
    if validation.errors and not chosen.size:
        expected_error = validation.errors[-1].plain if table.always else baseline
    first = _first_stored(sizes, chosen)
    stored = {level: point for level, point in points.items() if level >= first}
    return Result(
        **to_original_units(
            sample.columns, sample.units, columns, weights, bias, calibration, column_std[columns],
            frequency,
        ),
        sizes=_size_table(sizes, validation, table, prior_rows, baseline, held_out),
        history=history,
        resolved={
            "base": candidate.name,
            "step": [float(v) for v in candidate.steps],
            "strength": [float(v) for v in candidate.strengths],
            "n_paths": candidate.paths,
            "n_fold_paths": candidate.fold_paths,
            "n_splits": candidate.splits,
            "n_features": chosen.size,
            "level": chosen.level,
            "threshold": chosen.threshold,
        },
        n_iter=history[-1]["passes"] if history else 0,
        error=np.array([expected_error]),
        standard_error=np.array([standard_error]),
        baseline_error=np.array([baseline]),
        size_paths=[
            SizePath(
                stored,
                dict(enumerate(validation.calibrations)) or dict.fromkeys(stored, calibration),
                candidate, sample, column_std, validation.last_level,
                prior[:, 1] * sample.units.unit + sample.units.center,
            )
        ],
    )  # fmt: skip


# --------------------------------------------------------------------------- steps
def _smallest_log_loss(
    validation: CrossValidation, table, prior_rows: Rows, held_out: Held
) -> np.ndarray:
    """Log loss of every row by what is there at size 0: the prior, or what always stays."""
    if not table.always or not validation.fits:
        return prior_rows.surprise
    return evaluate_scores(validation.scores[:, -1], held_out)[0].surprise


def _first_stored(sizes: np.ndarray, chosen: ChosenSize) -> int:
    """Level of the smallest point that is not below the limit of other sizes."""
    limit = max(OTHER_SIZES, OTHER_SIZES_RATIO * chosen.size)
    return max(int(np.count_nonzero(sizes >= limit)) - 1, 0)


def _fit_all_rows(
    trainer: Trainer, candidate: Candidate, options: Options, sizes: np.ndarray, chosen: ChosenSize
) -> tuple[dict[int, PathPoint], list[dict]]:
    """Take paths over all rows down to the level above the chosen size, a few of them further;
    where they stood, and what they did down to there.
    """
    points: dict[int, PathPoint] = {}
    history: list[dict] = []
    first = min(_first_stored(sizes, chosen), chosen.level)

    def observe(group, level: int) -> None:
        if level >= first:
            points[level] = group.point()
        if level <= chosen.level:
            history.append(_history_of(group, level))

    keys = path_keys(options.seed + 1, options.folds, candidate.paths)
    group = trainer.group(candidate, keys if chosen.size else keys[: candidate.fold_paths])
    trainer.descend(group, sizes[: chosen.level + 1], observe)
    group.thin(candidate.fold_paths)
    if chosen.level + 1 < len(sizes):
        trainer.descend(group, sizes, observe, chosen.level + 1)
    return points, history


def _polish_all_rows(
    trainer: Trainer, candidate: Candidate, options: Options, point: PathPoint, size: int
) -> Any:
    """Give paths over all rows their final phase."""
    keys = path_keys(options.seed + 1, options.folds, min(candidate.paths, FINAL_PATHS))
    return trainer.polish(candidate, point, size, keys)


def _final_folds(
    trainer: Trainer, validation: CrossValidation, chosen: ChosenSize, table, held_out: Held
) -> tuple[np.ndarray, np.ndarray]:
    """Calibration of the held-out scores at the chosen size, and the share of the fold fits that
    keep each column there.
    """
    if not validation.fits:
        return np.tile([1.0, 0.0], (table.outputs, 1)), np.zeros(len(table.density))
    if chosen.level not in validation.fits[0].points:
        level = chosen.level
        return validation.calibrations[level], validation.selection_frequency(level)
    scores = np.zeros((validation.n_splits, table.n_rows, table.outputs))
    counts = trainer.polish_folds(validation, chosen, scores)
    return evaluate_scores(scores, held_out)[1], counts / len(validation.fits)


def _size_table(
    sizes, validation: CrossValidation, table, prior_rows: Rows, baseline: float, held_out: Held
) -> dict[str, np.ndarray]:
    """The size path with the errors of its levels; the last is what always stays, or the prior."""
    prior = []
    if not table.always:
        error = error_of(prior_rows, prior_rows.surprise, held_out)
        prior = [error._replace(plain=baseline)]
    columns = {"error": "plain", "standard_error": "plain_spread", "soft_error": "soft"}
    found = {"size": np.append(sizes, np.zeros(len(prior), dtype=np.int64))}
    for name, kind in columns.items():
        known = [getattr(error, kind) for error in validation.errors] or [np.nan] * len(sizes)
        found[name] = np.array([*known, *[getattr(error, kind) for error in prior]])
    return found


def _history_of(group, level: int) -> dict:
    """What is written down of a level."""
    return {
        "level": level,
        "n_features": len(group.columns),
        "passes": group.passes,
        "strength": float(np.mean(group.strengths)),
        "step": float(np.mean(group.rates)),
    }


# --------------------------------------------------------------------------- outputs
def fit_outputs(
    sample: Sample, task: Task, options: Options, trainer_of: Callable[[Sample, int], Trainer]
) -> Result:
    """Fit all outputs with one support, or each with its own; `trainer_of(sample, output)` trains
    one output, or all where that is -1.
    """
    outputs = sample.table.outputs
    if not options.per_class or outputs == 1:
        return fit_sample(sample, task, options, trainer_of(sample, -1))
    samples = [one_output(sample, c) for c in range(outputs)]
    return joined(
        [fit_sample(own, task, options, trainer_of(own, c)) for c, own in enumerate(samples)]
    )


def one_output(sample: Sample, c: int) -> Sample:
    """The sample with the targets of one output."""
    table, units = sample.table, sample.units
    if table.targets.shape[1] > 1:
        targets = np.ascontiguousarray(table.targets[:, c : c + 1])
    else:
        targets = np.where(table.targets == c, 1.0, -1.0)
    return sample._replace(
        table=table._replace(targets=targets, outputs=1),
        units=type(units)(*(one[c : c + 1] for one in units)),
    )


# --------------------------------------------------------------------------- rows in memory
class RowsInMemory:
    """Trains groups of paths on the rows of a sample, on several threads."""

    def __init__(
        self,
        sample: Sample,
        task: Task,
        threads: int,
        run: Callable,
        start: dict[str, list[InitialState]] | None = None,
    ):
        self.sample, self.table, self.task, self.start = sample, sample.table, task, start
        self.threads, self.run = threads, run
        self.rows = np.arange(self.table.n_rows, dtype=np.uint64)

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column, in the units of X."""
        return self.sample.deviations()

    def _initial_state(self, candidate: Candidate, fold: int) -> InitialState | None:
        """The models of level 0 that the paths without a fold start from, if there are any; those
        of all rows come last.
        """
        return None if self.start is None else self.start[candidate.name][fold]

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path; only as many are in memory as run at a time."""
        self.run(
            [
                lambda one=one, number=number: self._descend_fold(one, number, sizes)
                for one in validations
                for number in range(len(one.fits))
            ]
        )

    def _descend_fold(self, validation: CrossValidation, number: int, sizes: np.ndarray) -> None:
        fit, candidate = validation.fits[number], validation.candidate
        start = self._initial_state(candidate, fit.fold)
        group = PathGroup(self.table, self.task, candidate, fit.rows, fit.held_out, fit.keys, start)
        if self.sample.open is not None:
            group.narrow(np.flatnonzero(self.sample.open[fit.fold]))

        def observe(group: PathGroup, level: int) -> None:
            group.score_held_out(validation.scores[fit.split, level])
            validation.record(number, group, level)

        descend(group, sizes, in_turn, observe)

    def group(self, candidate: Candidate, keys: np.ndarray) -> PathGroup:
        """Paths over all rows, before their first pass."""
        start = self._initial_state(candidate, -1)
        return PathGroup(self.table, self.task, candidate, self.rows, self.rows[:0], keys, start)

    def descend(
        self, group: PathGroup, sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take a group down the size path."""
        descend(group, sizes, self.run, observe, first)

    def polish(
        self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray
    ) -> PathGroup:
        """Paths over all rows after their final phase."""
        start = self._initial_state(candidate, -1)
        group = PathGroup.resumed(
            point, size, self.table, self.task, candidate, self.rows, self.rows[:0], keys, start
        )
        polish([group], self.run)
        return group

    def polish_folds(
        self, validation: CrossValidation, chosen: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Give fold fits their final phase at the chosen size."""
        counts, candidate = np.zeros(len(self.table.density)), validation.candidate
        for first in range(0, len(validation.fits), self.threads):  # no more copies than threads
            fits = validation.fits[first : first + self.threads]
            groups = [
                PathGroup.resumed(
                    fit.points[chosen.level], chosen.size, self.table, self.task, candidate,
                    fit.rows, fit.held_out, fit.keys, self._initial_state(candidate, fit.fold),
                )
                for fit in fits
            ]  # fmt: skip
            polish(groups, self.run)
            for group, fit in zip(groups, fits, strict=True):
                group.score_held_out(scores[fit.split])
                counts[group.columns] += 1.0
            del groups, group
        return counts


def fit_in_memory(
    sample: Sample,
    task: Task,
    options: Options,
    start: dict[str, list[InitialState]] | None = None,
) -> Result:
    """Fit all outputs on rows in memory, from models of level 0 where there are some."""

    def trainer_of(own: Sample, output: int) -> RowsInMemory:
        begun = start if output < 0 else _start_of(start, output, sample.table.outputs)
        return RowsInMemory(own, task, options.threads, run, begun)

    with thread_pool(options.threads) as run:
        return fit_outputs(sample, task, options, trainer_of)


def _start_of(start: dict[str, list[InitialState]] | None, c: int, outputs: int):
    """The level-0 models of one output."""
    if start is None:
        return None
    at = [0, 1 + c, 1 + outputs + c]
    return {
        base: [
            InitialState(
                np.ascontiguousarray(group.states[..., at]),
                np.ascontiguousarray(group.biases[..., at]),
                group.steps,
            )
            for group in groups
        ]
        for base, groups in start.items()
    }


def fit_size(
    sample: Sample, task: Task, options: Options, path: SizePath, k: int, base: str
) -> dict:
    """Fields of the model of another size, after a final phase of its own on the rows of the
    fit.
    """
    point = path.point_of(k)
    columns = path.columns[point.columns]
    place = np.full(sample.columns.n_columns, -1)
    place[sample.columns.kept] = np.arange(len(sample.columns.kept))
    place = place[columns]
    if (place < 0).any():
        raise ValueError(
            f"resize: column {columns[place < 0][0]} is constant in these rows, "
            "but was not in those of the fit. Give the rows of the fit."
        )
    candidates = {one.name: one for one in candidates_for(sample.table, task.loss, options)}
    frequency = np.zeros(len(sample.columns.kept))
    with thread_pool(options.threads) as run:
        trainer = RowsInMemory(sample, task, options.threads, run)
        at = PathPoint(place, point.weights, point.bias, point.passes)
        group = _polish_all_rows(trainer, candidates[base], options, at, k)
    frequency[place] = path.selection_frequency(k)[point.columns]
    return to_original_units(
        sample.columns, sample.units, group.columns, group.weights, group.bias,
        path.calibration(k), sample.deviations()[group.columns], frequency,
    )  # fmt: skip
