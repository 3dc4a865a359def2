"""Fit the sieve to a sample: cross-validate the candidates, choose a size, take paths over all rows
down to it, and run the final phase.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tamis.methods.sieve.cross_validation import (
    CrossValidation,
    check_score_memory,
    evaluate_scores,
    pooled_scores,
)
from tamis.methods.sieve.held_out_errors import (
    HeldOutTargets,
    RowErrors,
    baseline_row_errors,
    mean_error,
    prior_calibration,
    row_errors,
)
from tamis.methods.sieve.paths import (
    FINAL_PATHS,
    Candidate,
    InitialState,
    Objective,
    PathGroup,
    PathPoint,
    descend,
    finalize,
    path_keys,
    run_serially,
    thread_runner,
)
from tamis.methods.sieve.result import SieveResult, concatenate_outputs
from tamis.methods.sieve.settings import SieveOptions, make_candidates
from tamis.methods.sieve.size_choice import (
    ChosenSize,
    SizeRule,
    choose_size,
    path_sizes,
    trained_sizes,
)
from tamis.methods.sieve.size_path import SizePath
from tamis.methods.sieve.table.standard_units import Sample, TargetUnits, to_original_units

# Smallest gain in log loss over the prior, in standard errors: at the chosen size, or that
# of the pooled scores of all small sizes, which no choice has made optimistic.
MIN_GAIN_Z, MIN_POOLED_GAIN_Z = 3.0, 2.25
MAX_POOLED_SIZE = 16  # sizes up to this one, or up to a quarter of the rows, are pooled
# Points are stored for `resize` up to this size, and up to this multiple of the chosen size.
MIN_STORED_SIZE, STORED_SIZE_RATIO = 2**12, 4


class Trainer(Protocol):
    """Trains groups of paths, on rows in memory or on rows that lie in partitions."""

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column, in the units of X."""

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path, and fill in their held-out scores and points."""

    def make_group(self, candidate: Candidate, keys: np.ndarray) -> Any:
        """Return paths over all rows, one for each random key, before their first pass."""

    def descend(self, group: Any, sizes: np.ndarray, observe: Callable, first: int = 0) -> None:
        """Take a group down the size path; call ``observe(group, level)`` at every level."""

    def finalize(self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray) -> Any:
        """Return paths over all rows after a final phase at a size, started from a path point."""

    def finalize_folds(
        self, validation: CrossValidation, chosen_size: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Run the final phase of all fold fits, and return how many select each column.

        It runs at the chosen size, and fills in the held-out scores (splits, rows, outputs).
        """


def fit_sample(
    sample: Sample, objective: Objective, options: SieveOptions, trainer: Trainer
) -> SieveResult:
    """Fit the sieve, and return the model in the units of X and y with its errors and its other
    sizes.
    """
    table = sample.table
    choosable = path_sizes(table.n_groups)
    sizes = trained_sizes(choosable, table.n_unpenalized)
    candidates = make_candidates(table, objective.loss, options)
    check_score_memory(table, candidates, sizes)
    held_out = HeldOutTargets(
        table.targets, table.weights, table.outputs, options.is_classification, objective.loss,
        objective.intercept > 0.0,
    )  # fmt: skip
    prior = prior_calibration(held_out)
    prior_errors = row_errors(np.zeros((table.n_rows, table.outputs)), prior, held_out)
    baseline = baseline_row_errors(held_out, sample.folds[0])
    baseline_error = float(np.average(baseline, weights=held_out.row_weights))

    # Every candidate on every fold, down the whole path.
    validations = [
        CrossValidation(candidate, sample, sizes, options.n_folds) for candidate in candidates
    ]
    trainer.cross_validate(validations, sizes)
    log_losses = [_reference_log_loss(v, table, prior_errors, held_out) for v in validations]
    pooled_gain_z = 0.0
    if validations[0].fits:
        limit = max(MAX_POOLED_SIZE, table.n_rows / 4)
        pooled_errors, _ = evaluate_scores(pooled_scores(validations, sizes, limit)[None], held_out)
        pooled_gain_z = mean_error(pooled_errors, log_losses[0], held_out).gain_z
    for validation, log_loss in zip(validations, log_losses, strict=True):
        validation.evaluate(held_out, log_loss)

    # Candidate and size; no feature where nothing is better than the prior.
    expected_error = np.nan
    if validations[0].errors:
        # Losses of numbers may have heavy tails, which their paired differences do not have.
        is_paired = not options.is_classification
        rule = SizeRule(choosable, options.se, options.tolerance, options.size, is_paired)
        errors = [validation.errors[: len(choosable)] for validation in validations]
        best_index, chosen_size, expected_error = choose_size(errors, held_out.row_weights, rule)
        gain_z = validations[best_index].errors[chosen_size.level].gain_z
        is_better = gain_z > MIN_GAIN_Z or pooled_gain_z > MIN_POOLED_GAIN_Z
        if options.size is None and not is_better:
            level = len(sizes) - 1 if table.n_unpenalized else chosen_size.level
            chosen_size = chosen_size._replace(level=level, size=0)
    else:
        size = int(sizes[0]) if options.size is None else options.size
        best_index, chosen_size = 0, ChosenSize(0, size, np.nan)
    validation, candidate = validations[best_index], candidates[best_index]
    del validations

    # Paths over all rows, down to that size and further; the final phase there.
    points, history = _fit_all_rows(trainer, candidate, options, sizes, chosen_size)
    if chosen_size.size or table.n_unpenalized:
        point = points[chosen_size.level]
        group = _finalize_all_rows(trainer, candidate, options, point, chosen_size.size)
        history.append(_history_entry(group, chosen_size.level + 1))
        columns, weights, bias = group.columns, group.weights, group.bias
        calibration, frequency = _finalize_folds(trainer, validation, chosen_size, table, held_out)
    else:
        columns, weights = np.zeros(0, dtype=np.int64), np.zeros((0, table.outputs))
        bias, calibration = np.zeros(table.outputs), prior
        frequency = np.zeros(len(table.density))

    # The model in the units of X and y.
    column_std = trainer.column_std()
    standard_error = np.nan
    if validation.errors:
        standard_error = validation.errors[chosen_size.level].plain_standard_error
    if validation.errors and not chosen_size.size:
        expected_error = validation.errors[-1].plain if table.n_unpenalized else baseline_error
    first = _first_stored_level(sizes, chosen_size)
    stored_points = {level: point for level, point in points.items() if level >= first}
    return SieveResult(
        **to_original_units(
            sample.scaling, sample.units, columns, weights, bias, calibration, column_std[columns],
            frequency,
        ),
        sizes=_size_table(sizes, validation, table, prior_errors, baseline_error, held_out),
        history=history,
        resolved={
            "base": candidate.name,
            "step": [float(step) for step in candidate.step_constants],
            "strength": [float(strength) for strength in candidate.strengths],
            "n_paths": candidate.n_paths,
            "n_fold_paths": candidate.n_fold_paths,
            "n_splits": candidate.n_splits,
            "n_features": chosen_size.size,
            "level": chosen_size.level,
            "threshold": chosen_size.threshold,
        },
        n_iter=history[-1]["passes"] if history else 0,
        error=np.array([expected_error]),
        standard_error=np.array([standard_error]),
        baseline_error=np.array([baseline_error]),
        size_paths=[
            SizePath(
                stored_points,
                dict(enumerate(validation.calibrations))
                or dict.fromkeys(stored_points, calibration),
                candidate, sample, column_std, validation.last_level,
                prior[:, 1] * sample.units.unit + sample.units.center,
            )
        ],
    )  # fmt: skip


# --------------------------------------------------------------------------- steps
def _reference_log_loss(
    validation: CrossValidation, table, prior_errors: RowErrors, held_out: HeldOutTargets
) -> np.ndarray:
    """Return the log loss of every row at size 0: that of the unpenalized columns, or of the
    prior.
    """
    if not table.n_unpenalized or not validation.fits:
        return prior_errors.log_loss
    return evaluate_scores(validation.scores[:, -1], held_out)[0].log_loss


def _first_stored_level(sizes: np.ndarray, chosen_size: ChosenSize) -> int:
    """Return the level of the smallest size that is at least as large as all stored sizes."""
    limit = max(MIN_STORED_SIZE, STORED_SIZE_RATIO * chosen_size.size)
    return max(int(np.count_nonzero(sizes >= limit)) - 1, 0)


def _fit_all_rows(
    trainer: Trainer,
    candidate: Candidate,
    options: SieveOptions,
    sizes: np.ndarray,
    chosen_size: ChosenSize,
) -> tuple[dict[int, PathPoint], list[dict]]:
    """Take paths over all rows down to the chosen level, and a few of them to the end of the path.

    Returns the points of the levels to store, and the history down to the chosen level.
    """
    points: dict[int, PathPoint] = {}
    history: list[dict] = []
    first = min(_first_stored_level(sizes, chosen_size), chosen_size.level)

    def observe(group, level: int) -> None:
        if level >= first:
            points[level] = group.point()
        if level <= chosen_size.level:
            history.append(_history_entry(group, level))

    keys = path_keys(options.seed + 1, options.n_folds, candidate.n_paths)
    group = trainer.make_group(
        candidate, keys if chosen_size.size else keys[: candidate.n_fold_paths]
    )
    trainer.descend(group, sizes[: chosen_size.level + 1], observe)
    group.keep_first_paths(candidate.n_fold_paths)
    if chosen_size.level + 1 < len(sizes):
        trainer.descend(group, sizes, observe, chosen_size.level + 1)
    return points, history


def _finalize_all_rows(
    trainer: Trainer, candidate: Candidate, options: SieveOptions, point: PathPoint, size: int
) -> Any:
    """Return paths over all rows after their final phase."""
    n_paths = min(candidate.n_paths, FINAL_PATHS)
    keys = path_keys(options.seed + 1, options.n_folds, n_paths)
    return trainer.finalize(candidate, point, size, keys)


def _finalize_folds(
    trainer: Trainer,
    validation: CrossValidation,
    chosen_size: ChosenSize,
    table,
    held_out: HeldOutTargets,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the calibration and the selection frequencies of the fold fits at the chosen size.

    The calibration is that of the held-out scores after the final phase.
    """
    if not validation.fits:
        return np.tile([1.0, 0.0], (table.outputs, 1)), np.zeros(len(table.density))
    if chosen_size.level not in validation.fits[0].points:
        level = chosen_size.level
        return validation.calibrations[level], validation.selection_frequency(level)
    scores = np.zeros((validation.n_splits, table.n_rows, table.outputs))
    counts = trainer.finalize_folds(validation, chosen_size, scores)
    return evaluate_scores(scores, held_out)[1], counts / len(validation.fits)


def _size_table(
    sizes,
    validation: CrossValidation,
    table,
    prior_errors: RowErrors,
    baseline_error: float,
    held_out: HeldOutTargets,
) -> dict[str, np.ndarray]:
    """Return the columns of `sizes_`: the sizes of the path, their errors and standard errors.

    The last row is that of the unpenalized columns, or of the prior.
    """
    last_errors = []
    if not table.n_unpenalized:
        error = mean_error(prior_errors, prior_errors.log_loss, held_out)
        last_errors = [error._replace(plain=baseline_error)]
    missing_errors = [np.nan] * len(sizes)
    size_table = {"size": np.append(sizes, np.zeros(len(last_errors), dtype=np.int64))}
    for name, field in {
        "error": "plain",
        "standard_error": "plain_standard_error",
        "soft_error": "soft",
    }.items():
        values = [getattr(error, field) for error in validation.errors] or missing_errors
        size_table[name] = np.array([*values, *[getattr(error, field) for error in last_errors]])
    return size_table


def _history_entry(group, level: int) -> dict:
    """Return the entry of `history_` for a level."""
    return {
        "level": level,
        "n_features": len(group.columns),
        "passes": group.passes,
        "strength": float(np.mean(group.strengths)),
        "step": float(np.mean(group.step_sizes)),
    }


# --------------------------------------------------------------------------- outputs
def fit_outputs(
    sample: Sample,
    objective: Objective,
    options: SieveOptions,
    make_trainer: Callable[[Sample, int], Trainer],
) -> SieveResult:
    """Fit all outputs with one support, or each with its own.

    ``make_trainer(sample, output)`` trains one output, or all where `output` is -1.
    """
    outputs = sample.table.outputs
    if not options.per_class or outputs == 1:
        return fit_sample(sample, objective, options, make_trainer(sample, -1))
    results = []
    for c in range(outputs):
        output_sample = single_output_sample(sample, c)
        trainer = make_trainer(output_sample, c)
        results.append(fit_sample(output_sample, objective, options, trainer))
    return concatenate_outputs(results)


def single_output_sample(sample: Sample, c: int) -> Sample:
    """Return the sample with the targets of one output."""
    table, units = sample.table, sample.units
    if table.targets.shape[1] > 1:
        targets = np.ascontiguousarray(table.targets[:, c : c + 1])
    else:
        targets = np.where(table.targets == c, 1.0, -1.0)
    return sample._replace(
        table=table._replace(targets=targets, outputs=1),
        units=TargetUnits(units.unit[c : c + 1], units.center[c : c + 1]),
    )


# --------------------------------------------------------------------------- rows in memory
class InMemoryTrainer:
    """Trains groups of paths on the rows of a sample, on several threads.

    `initial` has, for each candidate, the models of level 0 that the fold fits start from, and last
    those of the paths over all rows.
    """

    def __init__(
        self,
        sample: Sample,
        objective: Objective,
        n_threads: int,
        run: Callable,
        initial: dict[str, list[InitialState]] | None = None,
    ):
        self.sample, self.table, self.objective = sample, sample.table, objective
        self.n_threads, self.run, self.initial = n_threads, run, initial
        self.rows = np.arange(self.table.n_rows, dtype=np.uint64)

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column, in the units of X."""
        return self.sample.column_std()

    def _initial_state(self, candidate: Candidate, fold: int) -> InitialState | None:
        """Return the model that the fits of a fold (-1: of all rows) start from, if any."""
        return None if self.initial is None else self.initial[candidate.name][fold]

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path; only those that run are in memory."""
        self.run(
            [
                lambda validation=validation, number=number: self._descend_fold(
                    validation, number, sizes
                )
                for validation in validations
                for number in range(len(validation.fits))
            ]
        )

    def _descend_fold(self, validation: CrossValidation, fit_index: int, sizes: np.ndarray) -> None:
        """Take one fold fit down the size path, and record its held-out scores and points."""
        fit, candidate = validation.fits[fit_index], validation.candidate
        group = PathGroup(
            self.table, self.objective, candidate, fit.rows, fit.held_out, fit.keys,
            self._initial_state(candidate, fit.fold),
        )  # fmt: skip
        if self.sample.allowed_columns is not None:
            group.restrict_columns(np.flatnonzero(self.sample.allowed_columns[fit.fold]))

        def observe(group: PathGroup, level: int) -> None:
            group.score_held_out(validation.scores[fit.split, level])
            validation.record(fit_index, group, level)

        descend(group, sizes, run_serially, observe)

    def make_group(self, candidate: Candidate, keys: np.ndarray) -> PathGroup:
        """Return paths over all rows, one for each random key, before their first pass."""
        initial, no_rows = self._initial_state(candidate, -1), self.rows[:0]
        return PathGroup(self.table, self.objective, candidate, self.rows, no_rows, keys, initial)

    def descend(
        self, group: PathGroup, sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take a group down the size path."""
        descend(group, sizes, self.run, observe, first)

    def finalize(
        self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray
    ) -> PathGroup:
        """Return paths over all rows after their final phase."""
        group = PathGroup.from_point(
            point, size, self.table, self.objective, candidate, self.rows, self.rows[:0], keys,
            self._initial_state(candidate, -1),
        )  # fmt: skip
        finalize([group], self.run)
        return group

    def finalize_folds(
        self, validation: CrossValidation, chosen_size: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Run the final phase of all fold fits, and return how many select each column."""
        counts, candidate = np.zeros(len(self.table.density)), validation.candidate
        # As many groups at a time as threads: each has a copy of its entries.
        for first in range(0, len(validation.fits), self.n_threads):
            fits = validation.fits[first : first + self.n_threads]
            groups = [
                PathGroup.from_point(
                    fit.points[chosen_size.level], chosen_size.size, self.table, self.objective,
                    candidate, fit.rows, fit.held_out, fit.keys,
                    self._initial_state(candidate, fit.fold),
                )
                for fit in fits
            ]  # fmt: skip
            finalize(groups, self.run)
            for group, fit in zip(groups, fits, strict=True):
                group.score_held_out(scores[fit.split])
                counts[group.columns] += 1.0
            del groups, group
        return counts


def fit_in_memory(
    sample: Sample,
    objective: Objective,
    options: SieveOptions,
    initial: dict[str, list[InitialState]] | None = None,
) -> SieveResult:
    """Fit all outputs on rows in memory; the paths start from `initial` models, if there are any.

    `initial` has the models of level 0, the first of the size path, that a stream has learned.
    """

    def make_trainer(output_sample: Sample, output: int) -> InMemoryTrainer:
        output_initial = initial
        if output >= 0 and initial is not None:
            output_initial = _output_initial_states(initial, output, sample.table.outputs)
        return InMemoryTrainer(output_sample, objective, options.n_threads, run, output_initial)

    with thread_runner(options.n_threads) as run:
        return fit_outputs(sample, objective, options, make_trainer)


def _output_initial_states(
    initial: dict[str, list[InitialState]], c: int, outputs: int
) -> dict[str, list[InitialState]]:
    """Return the initial models of one output, out of those of all outputs."""
    cell_indices = [0, 1 + c, 1 + outputs + c]  # step factor, weight, and sum of its changes
    return {
        name: [
            InitialState(
                np.ascontiguousarray(state.states[..., cell_indices]),
                np.ascontiguousarray(state.biases[..., cell_indices]),
                state.n_steps,
            )
            for state in states
        ]
        for name, states in initial.items()
    }


def fit_size(
    sample: Sample,
    objective: Objective,
    options: SieveOptions,
    path: SizePath,
    size: int,
    candidate_name: str,
) -> dict:
    """Return the fields of the model of `size` features, made from a path that was fitted earlier.

    Its point of that size gets a final phase on the rows of the fit.
    """
    point = path.select_point(size)
    columns = path.columns[point.columns]
    new_index = np.full(sample.scaling.n_columns, -1)
    new_index[sample.scaling.retained] = np.arange(len(sample.scaling.retained))
    positions = new_index[columns]
    if (positions < 0).any():
        raise ValueError(
            f"resize: column {columns[positions < 0][0]} is constant in these rows, "
            "but was not in those of the fit. Give the rows of the fit."
        )
    candidates = make_candidates(sample.table, objective.loss, options)
    (candidate,) = (entry for entry in candidates if entry.name == candidate_name)
    frequency = np.zeros(len(sample.scaling.retained))
    with thread_runner(options.n_threads) as run:
        trainer = InMemoryTrainer(sample, objective, options.n_threads, run)
        start_point = PathPoint(positions, point.weights, point.bias, point.passes)
        group = _finalize_all_rows(trainer, candidate, options, start_point, size)
    frequency[positions] = path.selection_frequency(size)[point.columns]
    return to_original_units(
        sample.scaling, sample.units, group.columns, group.weights, group.bias,
        path.calibration(size), sample.column_std()[group.columns], frequency,
    )  # fmt: skip
