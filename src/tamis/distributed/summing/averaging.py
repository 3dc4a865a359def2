"""Dual averaging by sums: gradients of a share of every partition at common weights, then one step
by all of them.
"""

import copy
import math
from typing import Any

import numpy as np

from tamis.base.model_parts import is_smooth
from tamis.base.validation import take_matrix
from tamis.distributed.agreement import coded, wants_classes
from tamis.distributed.checkpoint import Rounds
from tamis.distributed.rounds import AccountError
from tamis.distributed.summing.given import class_weights, pieces
from tamis.distributed.summing.tree import Counted, Sums
from tamis.distributed.visits import Path
from tamis.solvers.first_order.batch import Slopes, stepped
from tamis.system.progress import Progress
from tamis.terms.optimizers import Averaged, ByColumn, DualAveraging

STEPS = 64  # of a sweep
POWERS = 8  # rounds that look for the direction in which rows are longest
FEW = 32  # rows of a partition that are looked at for it, where it has so many
MARGIN = 2.0  # what is found in some rows may be less than in all, and the intercept pulls too


def objection(model: Any) -> str:
    """Why a first-order model has no sum; nothing where it has one."""
    loss, _, optimizer, _ = model._model().terms
    if is_smooth(loss) and not math.isfinite(loss.hessian_bound()):
        return "a step by many rows at once needs a bound of the loss's second derivative"
    averaged = isinstance(optimizer, Averaged)
    while isinstance(optimizer, Averaged | ByColumn):
        optimizer = optimizer.optimizer
    if isinstance(optimizer, DualAveraging) and not averaged:
        return ""
    if isinstance(optimizer, DualAveraging):
        return "its averages are kept a feature's stay each; pass average=False"
    return "its weights are no function of a sum of gradients"


def learn(
    model: Any, sums: Sums, sweeps: int, folder: Rounds | None, task: dict, shown: bool | str
) -> Any:
    """All sweeps, from the last checkpoint on."""
    kept = None if folder is None else folder.found(task)
    done, (path,) = (0, [Path(sums.first(_begun, model))]) if kept is None else kept
    if _weighs(model):
        path.model.class_weight = class_weights(model, path.model._targets, sums)
    stretch = _stretch(path.model, sums)
    with Progress("fit", sweeps * STEPS, shown) as bar:
        bar.advance(done * STEPS)
        for sweep in range(done, sweeps):
            rows = 0
            for step in range(STEPS):
                found = sums.counted(_slopes, path.model, merge=Slopes.added, share=(step, STEPS))
                path.model._engine = stepped(path.model._engine, found.value, stretch)
                rows += found.rows
                bar.advance(1, f"sweep {sweep + 1} of {sweeps}")
            path = _accounted(path, sums, rows)
            if folder is not None:
                folder.put(sweep + 1, [path])
    if _weighs(model):
        path.model.class_weight = model.class_weight
    path.model._look(0.0)
    return path.model


def _weighs(model: Any) -> bool:
    return hasattr(model, "class_weight")


def _begun(blocks: Counted, model: Any) -> Any:
    """A model that knows columns and classes, and has learnt nothing new: of a row of weight 0."""
    block = next(iter(blocks))
    found, y, named = copy.deepcopy(model), block.y, {}
    if wants_classes(model):
        y = coded(model, y, blocks.agreed, blocks.name)
        if blocks.agreed.classes is not None and not hasattr(model, "classes_"):
            named["classes"] = blocks.agreed.classes
    found.partial_fit(block.X[:1], y[:1], sample_weight=np.zeros(1), **named)
    return found


def _rows_of(model: Any, X: Any) -> Any:
    return take_matrix(model, X, reset=False, chunk=True, ordered=False)


def _slopes(blocks: Counted, model: Any) -> Slopes:
    """Sums of gradients at the weights of a model."""
    found = Slopes.none(model._engine)
    for X, targets, weights in pieces(model, model._targets, blocks):
        found.take(model._engine, _rows_of(model, X), targets, weights)
    return found


def _stretch(model: Any, sums: Sums) -> float:
    """Largest mean square of the rows along one direction, which decides how far a step by many
    rows may go: by power iterations on the first rows of every partition.
    """
    least = min(sums.agreed.seen[k].survey.rows for k in sums.agreed.full)
    share = (0, max(1, min(STEPS, least // FEW)))
    along, found = np.zeros(0), 0.0
    for _ in range(POWERS):
        along, rows = sums.total(_stretched, model, along, share=share)
        size = float(np.linalg.norm(along))
        if size == 0.0:
            break
        along, found = along / size, size / rows
    return MARGIN * found


def _stretched(blocks: Counted, model: Any, along: np.ndarray) -> tuple[np.ndarray, float]:
    """X'Xv and the number of rows; where there is no v yet, it is one a row, and a bit of chance
    for columns whose sums are 0.
    """
    total, count = np.zeros(model.n_features_in_), 0.0
    for block in blocks:
        rows = _rows_of(model, block.X).scipy()
        if len(along):
            images = rows @ along
        else:
            images = 1.0 + np.random.default_rng(0).normal(size=rows.shape[0])
        total += rows.T @ images
        count += rows.shape[0]
    return total, count


def _accounted(path: Path, sums: Sums, rows: int) -> Path:
    """The path after a sweep; refuse one that has not learnt every row once in it."""
    due, agreed = sum(sums.agreed.learnt), sums.agreed
    if rows != due:
        raise AccountError(
            f"a sweep has learnt {rows:,} rows, where {due:,} were due. It is thrown away."
        )
    visited = (*path.visited, *agreed.full)
    return Path(path.model, visited, path.rows + rows, path.model.t_)
