"""Proximal Newton steps on a working set: one quadratic model for the squared loss, a new one a step for others."""

from itertools import combinations_with_replacement

import numpy as np

from tamis.loops.blocks import Blocks, distance_blocks, value_blocks
from tamis.solvers.group_design import Design
from tamis.solvers.group_models import DenseModel, GramModel, SparseModel, parts_of
from tamis.solvers.group_quadratic import solve_quadratic

LARGEST = 4000  # places above which no Gram matrix is made
JOINT = 600  # the same for places times outputs that curve apart, where it costs as much as many steps of FISTA
STEPS = 50


def newton(problem, part: Blocks, columns: np.ndarray, penalty, w, bias, enough: float):
    """Weights of the places and intercepts that minimise the problem of some columns."""
    design, smooth = problem.design, problem.smooth
    parts, many = parts_of(part), np.uint64(w.shape[1])
    picked = design.picked(columns)
    scores = picked.scores(part.gathered(w)) + design.level(bias)
    if problem.fit_intercept:
        bias, scores = smooth.center(design, scores, bias)
    for step in range(STEPS):
        slope = part.stacked(picked.slopes(smooth.weights[:, None] * smooth.slopes(scores)))
        apart = distance_blocks(w.ravel(), np.ascontiguousarray(slope).ravel(), *parts, penalty, many)
        if apart <= enough:
            break
        aim = enough if smooth.quadratic else max(0.5 * enough, (0.1 if step == 0 else 0.01) * apart)
        moved = w.copy()
        if shares_gram(problem):
            solve_quadratic(_model(problem, picked, part, columns, w, slope, scores), moved, part, penalty, aim)
        else:  # outputs that curve apart: every output of a place is a place
            wide = part._replace(starts=part.starts * many, members=np.arange(w.size, dtype=np.uint64))
            gram = _joint_gram(problem, picked, part, scores)
            solve_quadratic(GramModel(gram, slope.reshape(-1, 1), w.reshape(-1, 1), wide), moved.reshape(-1, 1), wide, penalty, aim)
        before = smooth.value(scores) + value_blocks(w.ravel(), *parts, penalty, many)
        change, length = moved - w, 1.0
        push = picked.scores(part.gathered(change))
        while True:
            trial = w + length * change if length < 1.0 else moved
            lifted, reached = bias, scores + length * push
            if problem.fit_intercept:
                lifted, reached = smooth.center(design, reached, bias)
            after = smooth.value(reached) + value_blocks(trial.ravel(), *parts, penalty, many)
            if after <= before + 1e-14 * abs(before) or length < 1e-6:
                break
            length *= 0.5
        w, bias, scores = trial, lifted, reached
        if smooth.quadratic or before - after <= 1e-15 * abs(before):
            break
    return w, bias


def _model(problem, picked, part: Blocks, columns, w, slope, scores):
    """The quadratic model at the scores, of the kind that sweeps fastest."""
    smooth, design, many = problem.smooth, problem.design, len(part.members)
    load = smooth.load(scores, 0, 0)
    if slope.shape[1] == 1 and (many > LARGEST or (3 * picked.X.nnz if design.sparse else design.n_rows * many) < many * many):
        residuals = smooth.weights * smooth.slopes(scores)[:, 0]
        if design.sparse:
            return SparseModel(picked.X, load, picked.centred, _over(residuals, load), part)
        root = np.sqrt(load)
        rows = np.ascontiguousarray(picked.X.T)[part.members.astype(np.int64)] if picked.X.shape[1] != many else np.array(picked.X.T)
        if picked.centred:
            rows -= (rows @ load)[:, None] / load.sum()
        rows *= root
        return DenseModel(rows, _over(residuals, root), part)
    everywhere = np.arange(len(columns))
    if smooth.quadratic:
        gram = problem.store.get(design, load, columns, 3 * LARGEST // 2)
    else:
        gram = picked.gram(load, everywhere, everywhere)
    members = part.members.astype(np.int64)
    if len(members) != len(columns) or (members != everywhere).any():
        gram = np.ascontiguousarray(gram[np.ix_(members, members)])
    return GramModel(gram, slope, w, part)


def shares_gram(problem) -> bool:
    """Whether all outputs have one Gram matrix."""
    return isinstance(problem.design, Design) and (problem.design.outputs == 1 or problem.smooth.quadratic)


def _joint_gram(problem, picked, part: Blocks, scores) -> np.ndarray:
    """Second derivatives by the outputs of all places, with the intercepts at their best."""
    outputs, members = picked.outputs, part.members.astype(np.int64)
    gram, cross, level = np.zeros((len(members), outputs) * 2), np.zeros((len(members), outputs, outputs)), np.zeros((outputs, outputs))
    everywhere = np.arange(len(picked.means))
    for table, rows, start in picked.shares():
        for first, second in combinations_with_replacement(range(table.outputs), 2):
            load = problem.smooth.load(scores, first, second)
            if load is None:
                continue
            product, sums = table.products(load[rows], everywhere, everywhere)
            a, b = start + first, start + second
            gram[:, a, :, b] = gram[:, b, :, a] = product[np.ix_(members, members)]
            cross[:, a, b] = cross[:, b, a] = sums[0][members]
            level[a, b] = level[b, a] = load[rows].sum()
    gram, cross = gram.reshape(len(members) * outputs, -1), cross.reshape(len(members) * outputs, outputs)
    if problem.fit_intercept:
        gram -= cross @ np.linalg.pinv(level, rcond=1e-12, hermitian=True) @ cross.T
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-9  # classes may be shifted together: a direction without curvature
    return gram


def _over(residuals, load) -> np.ndarray:
    """Residuals over loads; rows of weight 0 have neither."""
    return residuals / np.where(load > 0.0, load, 1.0)
