"""Dual averaging by sums: the gradients of a slice of every partition at common weights are added,
then one step is made by all of them.
"""

import copy
from typing import Any

import numpy as np

from tamis.base.partition_sums import class_weights, encoded_blocks
from tamis.base.validation import validate_matrix
from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.schedule import AccountError
from tamis.distributed.schema import wants_classes
from tamis.distributed.summing.sums import CountedBlocks, Sums
from tamis.distributed.worker_tasks import PathState
from tamis.solvers.first_order.batch import GradientSums, dual_averaging_step
from tamis.system.progress import Progress

STEPS = 64  # of a sweep
POWER_ITERATIONS = 8  # that look for the direction in which rows are longest
MIN_SLICE_ROWS = 32  # rows of a partition that they use, where it has so many
MARGIN = 2.0  # some rows may be shorter than all of them, and the intercept adds to the curvature


def learn(
    model: Any,
    sums: Sums,
    sweeps: int,
    checkpoints: PathCheckpoints | None,
    task: dict,
    progress: bool | str,
) -> Any:
    """Make all sweeps, or those after the last checkpoint."""
    loaded = None if checkpoints is None else checkpoints.load(task)
    done, (path,) = (0, [PathState(sums.first(_begin, model))]) if loaded is None else loaded
    has_class_weight = hasattr(model, "class_weight")
    if has_class_weight:
        path.model.class_weight = class_weights(model, path.model._targets, sums)
    mean_square = _largest_mean_square(path.model, sums)
    with Progress("fit", sweeps * STEPS, progress) as bar:
        bar.advance(done * STEPS)
        for sweep in range(done, sweeps):
            rows = 0
            for step in range(STEPS):
                total = sums.counted(
                    _gradient_sums, path.model, merge=GradientSums.merged, row_slice=(step, STEPS)
                )
                path.model._solver_state = dual_averaging_step(
                    path.model._solver_state, total.value, mean_square
                )
                rows += total.rows
                bar.advance(1, f"sweep {sweep + 1} of {sweeps}")
            path = _after_sweep(path, sums, rows)
            if checkpoints is not None:
                checkpoints.put(sweep + 1, [path])
    if has_class_weight:
        path.model.class_weight = model.class_weight
    path.model._check_progress(0.0)
    return path.model


def _begin(blocks: CountedBlocks, model: Any) -> Any:
    """A copy of the model that knows columns and classes (a task): it has learnt a row of weight
    0, which changes nothing else.
    """
    block = next(iter(blocks))
    model, named = copy.deepcopy(model), {}
    if wants_classes(model) and blocks.classes is not None and not hasattr(model, "classes_"):
        named["classes"] = blocks.classes
    model.partial_fit(block.X[:1], block.y[:1], sample_weight=np.zeros(1), **named)
    return model


def _validated_rows(model: Any, X: Any) -> Any:
    return validate_matrix(model, X, reset=False, chunk=True, ordered=False)


def _gradient_sums(blocks: CountedBlocks, model: Any) -> GradientSums:
    """Sums of gradients at the weights of a model (a task)."""
    sums = GradientSums.zeros(model._solver_state)
    for X, coded, weights in encoded_blocks(model, model._targets, blocks):
        sums.add_rows(model._solver_state, _validated_rows(model, X), coded, weights)
    return sums


def _largest_mean_square(model: Any, sums: Sums) -> float:
    """Largest mean square of the rows along one direction, which bounds a step by many rows: by
    power iterations on the first rows of every partition.
    """
    schema = sums.schema
    smallest = min(schema.summaries[k].survey.rows for k in schema.nonempty)
    row_slice = (0, max(1, min(STEPS, smallest // MIN_SLICE_ROWS)))
    direction, mean_square = np.zeros(0), 0.0
    for _ in range(POWER_ITERATIONS):
        direction, rows = sums.total(_power_iteration, model, direction, row_slice=row_slice)
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            break
        direction, mean_square = direction / length, length / rows
    return MARGIN * mean_square


def _power_iteration(
    blocks: CountedBlocks, model: Any, direction: np.ndarray
) -> tuple[np.ndarray, float]:
    """X'Xv and the number of rows (a task). Without v, Xv is 1 a row plus noise, for columns whose
    sums are 0.
    """
    total, count = np.zeros(model.n_features_in_), 0.0
    for block in blocks:
        rows = _validated_rows(model, block.X).to_scipy()
        if len(direction):
            images = rows @ direction
        else:
            images = 1.0 + np.random.default_rng(0).normal(size=rows.shape[0])
        total += rows.T @ images
        count += rows.shape[0]
    return total, count


def _after_sweep(path: PathState, sums: Sums, rows: int) -> PathState:
    """The path after a sweep; refuse one that has not learnt every row once in it."""
    expected, schema = sum(sums.schema.row_counts), sums.schema
    if rows != expected:
        raise AccountError(
            f"a sweep has learnt {rows:,} rows, where {expected:,} were due. It is thrown away."
        )
    visited = (*path.visited, *schema.nonempty)
    return PathState(path.model, visited, path.rows + rows, path.model.t_)
