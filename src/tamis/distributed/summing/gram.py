"""Batch confidence-weighted learning by sums: the Gram matrix of all rows is one, and the means are
moved by sweeps that walk from partition to partition, one after another.
"""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from tamis.base.estimators.estimator import take
from tamis.distributed.agreement import coded
from tamis.distributed.placing import replayed
from tamis.distributed.summing.given import class_weights, columns_of, first_targets
from tamis.distributed.summing.tree import Counted, Sums, Total, added
from tamis.distributed.visits import Partition
from tamis.methods.batch_confidence_weighted.bcw import BCWClassifier
from tamis.methods.batch_confidence_weighted.belief import Belief, check_room
from tamis.methods.batch_confidence_weighted.dual import SPARSE, Raw, Whitened, check_finite
from tamis.methods.batch_confidence_weighted.rows import Rows
from tamis.system.threads import one_thread

SEEDS = 2**31 - 1


def objection(model: Any) -> str:
    """Why it has no sum; nothing where it has one."""
    if model.solver == "kernel":
        return "solver='kernel' holds the rows themselves; pass solver='auto'"
    return ""


# --------------------------------------------------------------------------- what workers do
def _taken(blocks: Counted, model: Any, targets: Any) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows of weight above 0 of a partition, their signs and weights."""
    rows, signs, weights = [], [], []
    for block in blocks:
        y = coded(model, block.y, blocks.agreed, blocks.name)
        found = take(model, block.X, y, block.weights, whole=False, known=targets)
        rows.append(found.rows)
        signs.append(targets.signs(found.columns))
        weights.append(found.weights)
    if len(rows) > 1 and any(map(sp.issparse, rows)):
        whole: Any = sp.csr_array(sp.vstack([sp.csr_array(one) for one in rows], format="csr"))
    else:
        whole = np.concatenate(rows) if len(rows) > 1 else rows[0]
    constant = model._constant()
    return Rows(whole, constant), np.concatenate(signs), np.concatenate(weights)


def _gram(blocks: Counted, model: Any, targets: Any) -> tuple:
    """Sum of weight x x', and what the way of the sweeps is chosen by: rows, entries, rows of
    dense blocks.
    """
    rows, _, weights = _taken(blocks, model, targets)
    price = float(model.C if model.cov_C is None else model.cov_C)
    gram = rows.gram(weights * price) if price else np.zeros((0, 0))
    entries = rows.matrix.nnz if rows.sparse else rows.matrix.size
    return gram, float(rows.count), float(entries), 0.0 if rows.sparse else float(rows.count)


def _prepared(partition: Partition, common: tuple) -> tuple[int, int, Any]:
    """A partition ready for sweeps: its number, rows, and dual variables of 0."""
    model, targets, belief, way = common
    blocks = Counted(partition)
    with one_thread():
        rows, signs, weights = _taken(blocks, model, targets)
        dual = model._dual(signs, weights)
        if way == "raw":
            made: Any = Raw(belief, rows, dual, belief.mean)
        else:
            made = Whitened(belief, rows, dual, belief.mean, keep=model.max_iter > 1)
    return partition.number, blocks.learnt, made


def _swept(held: tuple[int, int, Any], weights: np.ndarray, seed: int | None) -> tuple:
    """The same after a sweep that goes on from these weights."""
    number, learnt, before = held
    made, count = copy.copy(before), before.rows.count
    made.alpha = before.alpha.copy()
    _set_weights(made, weights.copy())
    order = np.arange(count) if seed is None else np.random.RandomState(seed).permutation(count)
    with one_thread():
        made.sweep(order)
    return number, learnt, made


def _set_weights(solver: Any, weights: np.ndarray) -> None:
    """Let a solver go on from these weights."""
    if isinstance(solver, Raw):
        solver.now = weights
    else:
        solver.weights = weights


def _weights_of(held: tuple[int, int, Any]) -> np.ndarray:
    """What goes on to the next partition."""
    return held[2].now if isinstance(held[2], Raw) else held[2].weights


def _figured(held: tuple[int, int, Any], weights: np.ndarray, mean: np.ndarray) -> Total:
    """Losses and gains of the dual at the end of a sweep, and the sums of alpha y x."""
    number, learnt, made = held[0], held[1], copy.copy(held[2])
    _set_weights(made, weights)
    with one_thread():
        losses, gains = made.dual.losses(made.scores(mean)), made.dual.gains(made.alpha)
        sums = made.dual_sum() if isinstance(made, Raw) else np.zeros(0)
    return Total((losses, gains, sums), (number,), learnt)


# --------------------------------------------------------------------------- what is done here
def learn(model: BCWClassifier, sums: Sums) -> BCWClassifier:
    """All rows as one batch."""
    own = columns_of(model, sums)
    own._validate_params()
    targets = sums.first(first_targets, own)
    own.class_weight = class_weights(own, targets, sums)
    belief = Belief(targets.outputs, own.n_features_in_, own._constant())
    check_room(belief.width)
    gram, count, entries, dense = sums.total(_gram, own, targets)
    if len(gram):
        belief.absorb_gram(gram)
    thin = not dense and entries < SPARSE * count * own.n_features_in_
    way = own.solver if own.solver != "auto" else "raw" if thin else "cholesky"
    if not len(gram) and not dense:
        way = "raw"
    history = replayed(
        lambda: _sweeps(own, sums, belief, (own, targets, belief, way)), sums.places.forget
    )
    gap = history[-1]["gap"]
    model._targets, model._belief, model.n_features_in_ = targets, belief, own.n_features_in_
    model.n_iter_, model.gap_, model.history_ = len(history), gap, history
    if model.max_iter > 1 and not (model.tol is None or gap <= model.tol):
        model._warn_unfinished(gap)
    return model


def _sweeps(model: Any, sums: Sums, belief: Belief, common: tuple) -> list[dict]:
    """Sweeps until the gap is small; what they did. The belief takes means and sums."""
    executor, full, spots = sums.executor, sums.agreed.full, sums.places.open()
    homes = {k: spots[k][0] for k in full}
    shared = executor.put(common, homes[full[0]])
    held = {k: executor.submit(_prepared, spots[k][1], shared, home=homes[k]) for k in full}
    random, raw = check_random_state(copy.deepcopy(model.random_state)), common[3] == "raw"
    weights, history = np.zeros_like(belief.mean), list[dict]()
    for turn in range(1, model.max_iter + 1):
        carried: Any = executor.put(weights, homes[full[0]])
        order, seeds = full, list[int | None]([None] * len(full))
        if model.shuffle:
            order = [full[k] for k in random.permutation(len(full))]
            seeds = random.randint(SEEDS, size=len(full)).tolist()
        for k, seed in zip(order, seeds, strict=True):
            held[k] = executor.submit(_swept, held[k], carried, seed, home=homes[k])
            carried = executor.submit(_weights_of, held[k], home=homes[k])
        (weights,) = executor.gather([carried])
        mean = weights if raw else belief.unwhitened(weights)
        losses, gains, moved = _totalled(sums, held, homes, carried, mean)
        if not raw:
            moved = weights if belief.factor is None else weights @ belief.factor.T
        history.append({"pass": turn, **_figures(losses, gains, moved, mean)})
        if model.tol is not None and history[-1]["gap"] <= model.tol:
            break
    belief.mean, belief.dual_sum = mean.copy(), moved
    return history


def _totalled(sums: Sums, held: dict, homes: dict, carried: Any, mean: np.ndarray) -> tuple:
    """Losses, gains and sums over all partitions, by the tree."""
    there = sums.executor.put(mean, next(iter(homes.values())))
    nodes = [
        (homes[k], sums.executor.submit(_figured, held[k], carried, there, home=homes[k]))
        for k in held
    ]
    (total,) = sums.executor.gather([sums.joined(nodes, added)])
    sums.account(total)
    return total.value


def _figures(losses, gains, moved, mean) -> dict:
    """Objective, dual and relative gap, as a batch of one machine has them from means of 0."""
    half = 0.5 * np.einsum("ij,ij->i", moved, mean)
    primal, dual = half + losses, gains - half
    check_finite(float(primal.sum()))
    gap = (primal - dual) / np.maximum(np.abs(primal), np.finfo(float).tiny)
    return {"objective": float(primal.sum()), "dual": float(dual.sum()), "gap": float(gap.max())}
