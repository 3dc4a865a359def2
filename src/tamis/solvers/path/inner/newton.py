"""Proximal Newton steps on a working set: one quadratic model for the squared loss, a new one a
step for others.
"""

from itertools import combinations_with_replacement

import numpy as np

from tamis.solvers.path.inner.models import DenseModel, GramModel, SparseModel, parts_of
from tamis.solvers.path.inner.quadratic import solve_quadratic
from tamis.solvers.path.loop import Blocks, distance_blocks, value_blocks

LARGEST = 4000  # places above which no Gram matrix is made
# the same for places times outputs with curvatures of their own, where it costs as much as many
# steps of FISTA
JOINT = 600
MOST_KNOWN = 6000  # columns whose Gram matrix is kept
STEPS, TURNS = 50, 400  # most Newton steps, and turns of sweeps in each
HALVINGS = 21  # of a Newton step: as many make a millionth of it
# of the distance wanted: with the Gram matrix of the loss itself the rest of the way costs next to
# nothing
CHEAP = 1e-4
DEAR = 130  # columns whose Gram matrix costs as much as one turn of sweeps over them


def newton(
    problem,
    part: Blocks,
    columns: np.ndarray,
    kept: np.ndarray,
    penalty,
    w,
    bias,
    enough: float,
    scores,
    slope,
):
    """Weights of the places, intercepts and scores that minimise the problem of some groups, from
    weights of that scores and slope.
    """
    design, smooth = problem.design, problem.smooth
    parts, many = parts_of(part), np.uint64(w.shape[1])
    # one step, with no need of a copy of the columns
    whole = smooth.quadratic and design.one_table
    picked = design if whole else design.picked(columns)
    for step in range(STEPS):
        if step:
            slope = part.stacked(picked.slopes(smooth.weights[:, None] * smooth.gradient(scores)))
        flat = np.ascontiguousarray(slope).ravel()
        distance = distance_blocks(w.ravel(), flat, *parts, penalty, many)
        if distance <= enough:
            break
        aim = enough
        if not smooth.quadratic:
            aim = max(0.5 * enough, (0.1 if step == 0 else 0.01) * distance)
        moved, push = w.copy(), None
        if shares_gram(problem):
            push = _solve_shared(
                problem, picked, part, columns, kept, penalty, moved, slope, scores, aim
            )
        else:  # outputs with curvatures of their own: every output of a place is a place
            everywhere = np.arange(w.size, dtype=np.uint64)
            wide = part._replace(starts=part.starts * many, members=everywhere)
            gram = _joint_gram(problem, picked, part, scores)
            model = GramModel(gram, slope.reshape(-1, 1), w.reshape(-1, 1), wide)
            close = CHEAP * aim if smooth.quadratic else aim
            solve_quadratic(model, moved.reshape(-1, 1), wide, penalty, close)
        before = smooth.value(scores) + value_blocks(w.ravel(), *parts, penalty, many)
        change = moved - w
        if push is None:
            of_columns = part.gathered(change)
            if whole:
                of_columns = _spread(of_columns, columns, len(design.means))
            push = picked.scores(of_columns)
        for length in 0.5 ** np.arange(HALVINGS):
            trial = w + length * change if length < 1.0 else moved
            lifted, reached = bias, scores + length * push
            if problem.fit_intercept:
                lifted, reached = smooth.center(design, reached, bias)
            after = smooth.value(reached) + value_blocks(trial.ravel(), *parts, penalty, many)
            if after <= before + 1e-14 * abs(before):
                break
        w, bias, scores = trial, lifted, reached
        if smooth.quadratic or before - after <= 1e-15 * abs(before):
            break
    return w, bias, scores


def _spread(w: np.ndarray, columns: np.ndarray, many: int) -> np.ndarray:
    """Weights of some columns among those of all."""
    whole = np.zeros((many, w.shape[1]))
    whole[columns] = w
    return whole


def _solve_shared(
    problem, picked, part: Blocks, columns, kept, penalty, w, slope, scores, aim: float
) -> np.ndarray | None:
    """Minimise in place the quadratic model at the scores, by the kind that sweeps fastest; how the
    scores change, where that is known.

    Where a Gram matrix is worth having but dear, sweeps over the columns come first, for as long as
    it would take to make one: columns that are nearly orthogonal need only a few.
    """
    smooth, design, many = problem.smooth, problem.design, len(part.members)
    curvature, alone = smooth.curvature(scores, 0, 0), slope.shape[1] == 1
    if alone and design.sparse:
        table = picked.X if picked is not design else design.X[:, columns]
        if many > LARGEST or 3 * table.nnz < many * many:
            rest = _over(smooth.weights * smooth.gradient(scores)[:, 0], curvature)
            sparse = SparseModel(table, curvature, design.centred, rest, part)
            solve_quadratic(sparse, w, part, penalty, aim)
            return None
    store = problem.store
    if alone and not design.sparse:
        no_gram = many > LARGEST or design.n_rows < many
        in_place = picked is design and design.by_columns
        turns = TURNS if no_gram else _sweeps_first(store, columns) if in_place else 0
        if turns:
            known = store.lipschitz_of(kept) if smooth.quadratic else None
            model = _dense_model(problem, picked, part, columns, curvature, scores, known)
            before = model.state()
            solved = solve_quadratic(model, w, part, penalty, aim, turns)
            if known is not None:
                store.learn(kept, np.maximum(known, model.blocks.lipschitz))
            if solved or no_gram:
                return (model.rest - before)[:, None] if in_place else None
            slope = model.slopes()
    everywhere, members = np.arange(len(columns)), part.members.astype(np.int64)
    if smooth.quadratic:
        gram = store.get(design, curvature, columns, MOST_KNOWN)
    else:
        gram = picked.gram(curvature, everywhere, everywhere)
    if len(members) != len(columns) or (members != everywhere).any():
        gram = np.ascontiguousarray(gram[np.ix_(members, members)])
    exact = GramModel(gram, slope, w, part)
    solve_quadratic(exact, w, part, penalty, CHEAP * aim if smooth.quadratic else aim)
    return None


def _sweeps_first(store, columns: np.ndarray) -> int:
    """Turns of sweeps that cost about as much as what is missing of the Gram matrix."""
    known = store.known(columns)
    return (len(columns) ** 2 - known**2) // (DEAR * len(columns))


def _dense_model(problem, picked, part: Blocks, columns, curvature, scores, known) -> DenseModel:
    """The columns in place where the table allows it, else a copy of them, centred and scaled by
    the root of the curvature.
    """
    smooth, design = problem.smooth, problem.design
    residuals, members = (
        smooth.weights * smooth.gradient(scores)[:, 0],
        part.members.astype(np.int64),
    )
    if picked is design and design.by_columns:
        rest, at = residuals / curvature[0], columns[members]
        return DenseModel(design.X.T, at, design.means, float(curvature[0]), rest, part, known)
    root = np.sqrt(curvature)
    table = picked.X if picked is not design else design.X[:, columns]
    rows = np.ascontiguousarray(table.T)[members]
    if design.centred:
        rows -= (rows @ curvature)[:, None] / curvature.sum()
    rows *= root
    at, none = np.arange(len(members)), np.zeros(len(members))
    return DenseModel(rows, at, none, 1.0, _over(residuals, root), part, known)


def shares_gram(problem) -> bool:
    """Whether all outputs have one Gram matrix."""
    design = problem.design
    return design.one_table and (design.outputs == 1 or problem.smooth.quadratic)


def _joint_gram(problem, picked, part: Blocks, scores) -> np.ndarray:
    """Second derivatives by the outputs of all places, with the intercepts at their best."""
    outputs, members = picked.outputs, part.members.astype(np.int64)
    gram, level = np.zeros((len(members), outputs) * 2), np.zeros((outputs, outputs))
    cross = np.zeros((len(members), outputs, outputs))
    everywhere = np.arange(len(picked.means))
    for table, rows, start in picked.shares():
        for first, second in combinations_with_replacement(range(table.outputs), 2):
            curvature = problem.smooth.curvature(scores, first, second)
            if curvature is None:
                continue
            product, sums = table.products(curvature[rows], everywhere, everywhere)
            a, b = start + first, start + second
            gram[:, a, :, b] = gram[:, b, :, a] = product[np.ix_(members, members)]
            cross[:, a, b] = cross[:, b, a] = sums[0][members]
            level[a, b] = level[b, a] = curvature[rows].sum()
    gram = gram.reshape(len(members) * outputs, -1)
    cross = cross.reshape(len(members) * outputs, outputs)
    if problem.fit_intercept:
        gram -= cross @ np.linalg.pinv(level, rcond=1e-12, hermitian=True) @ cross.T
    # Classes may be shifted together: a direction without curvature.
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-9
    return gram


def _over(residuals, curvature) -> np.ndarray:
    """Residuals over loads; rows of weight 0 have neither."""
    return residuals / np.where(curvature > 0.0, curvature, 1.0)
