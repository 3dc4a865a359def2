"""Proximal Newton on a working set: one quadratic model for the squared loss, a new model at each
step for other losses.
"""

from itertools import combinations_with_replacement

import numpy as np

from tamis.solvers.path.inner.models import DenseModel, GramModel, SparseModel, block_arrays
from tamis.solvers.path.inner.quadratic import solve_quadratic
from tamis.solvers.path.loop import CoefBlocks, distance_blocks, value_blocks

MAX_GRAM_COORDS = 4000  # coordinates up to which a Gram matrix is computed
# The same for coordinates times outputs whose curvatures differ; more cost as much as many
# iterations of FISTA.
MAX_JOINT_COORDS = 600
MAX_CACHED_COLUMNS = 6000  # columns whose Gram matrix is cached
MAX_NEWTON_STEPS, MAX_SWEEP_CYCLES = 50, 400  # steps, and cycles of sweeps in each
MAX_HALVINGS = 21  # halvings of a Newton step, down to a millionth of it
# Tolerance with the Gram matrix of a quadratic loss over the requested one: more digits are cheap.
EXACT_TOL_RATIO = 1e-4
COLUMNS_PER_CYCLE = 130  # columns whose Gram matrix costs as much as one cycle of sweeps


def proximal_newton(
    problem,
    set_blocks: CoefBlocks,
    columns: np.ndarray,
    block_indices: np.ndarray,
    penalty,
    w,
    bias,
    tol: float,
    scores,
    w_gradient,
):
    """Return the stacked coefficients, intercepts and scores that minimise the problem over some
    blocks, from a point with these scores and this stacked gradient.
    """
    design, bound_loss = problem.design, problem.bound_loss
    arrays, n_outputs = block_arrays(set_blocks), np.uint64(w.shape[1])
    # A single step needs no copy of the columns.
    uses_full_design = bound_loss.is_quadratic and design.shares_rows
    set_design = design if uses_full_design else design.select_columns(columns)
    for step in range(MAX_NEWTON_STEPS):
        if step:
            w_gradient = set_blocks.to_stacked(
                set_design.coef_gradient(bound_loss.weights[:, None] * bound_loss.gradient(scores))
            )
        flat_gradient = np.ascontiguousarray(w_gradient).ravel()
        distance = distance_blocks(w.ravel(), flat_gradient, *arrays, penalty, n_outputs)
        if distance <= tol:
            break
        model_tol = tol
        if not bound_loss.is_quadratic:
            model_tol = max(0.5 * tol, (0.1 if step == 0 else 0.01) * distance)
        new_w, score_change = w.copy(), None
        if shares_gram(problem):
            score_change = _solve_shared(
                problem,
                set_design,
                set_blocks,
                columns,
                block_indices,
                penalty,
                new_w,
                w_gradient,
                scores,
                model_tol,
            )
        else:  # outputs have different curvatures: each becomes a coordinate of one model
            all_coords = np.arange(w.size, dtype=np.uint64)
            coord_blocks = set_blocks._replace(
                starts=set_blocks.starts * n_outputs, members=all_coords
            )
            gram = _joint_gram(problem, set_design, set_blocks, scores)
            model = GramModel(gram, w_gradient.reshape(-1, 1), w.reshape(-1, 1), coord_blocks)
            solver_tol = EXACT_TOL_RATIO * model_tol if bound_loss.is_quadratic else model_tol
            solve_quadratic(model, new_w.reshape(-1, 1), coord_blocks, penalty, solver_tol)
        objective = bound_loss.value(scores) + value_blocks(w.ravel(), *arrays, penalty, n_outputs)
        change = new_w - w
        if score_change is None:
            coef_change = set_blocks.sum_copies(change)
            if uses_full_design:
                coef_change = _embed_columns(coef_change, columns, len(design.means))
            score_change = set_design.scores(coef_change)
        for length in 0.5 ** np.arange(MAX_HALVINGS):
            trial = w + length * change if length < 1.0 else new_w
            new_bias, new_scores = bias, scores + length * score_change
            if problem.fit_intercept:
                new_bias, new_scores = bound_loss.center(design, new_scores, bias)
            new_objective = bound_loss.value(new_scores) + value_blocks(
                trial.ravel(), *arrays, penalty, n_outputs
            )
            if new_objective <= objective + 1e-14 * abs(objective):
                break
        w, bias, scores = trial, new_bias, new_scores
        if bound_loss.is_quadratic or objective - new_objective <= 1e-15 * abs(objective):
            break
    return w, bias, scores


def _embed_columns(w: np.ndarray, columns: np.ndarray, n_columns: int) -> np.ndarray:
    """Return coefficients of some columns as coefficients of all columns."""
    embedded = np.zeros((n_columns, w.shape[1]))
    embedded[columns] = w
    return embedded


def _solve_shared(
    problem,
    set_design,
    set_blocks: CoefBlocks,
    columns,
    block_indices,
    penalty,
    w,
    w_gradient,
    scores,
    tol: float,
) -> np.ndarray | None:
    """Minimise the quadratic model at the scores in place, with the representation that sweeps
    fastest; return the change of the scores, or None if it is not known.

    Where a Gram matrix pays but is expensive, sweeps over the columns come first, for about as long
    as the Gram matrix would take: nearly orthogonal columns need only a few.
    """
    bound_loss, design, n_coords = problem.bound_loss, problem.design, len(set_blocks.members)
    curvature, has_one_output = bound_loss.curvature(scores, 0, 0), w_gradient.shape[1] == 1
    if has_one_output and design.sparse:
        columns_csc = set_design.X if set_design is not design else design.X[:, columns]
        if n_coords > MAX_GRAM_COORDS or 3 * columns_csc.nnz < n_coords * n_coords:
            residuals = _divide_by_curvature(
                bound_loss.weights * bound_loss.gradient(scores)[:, 0], curvature
            )
            sparse = SparseModel(columns_csc, curvature, design.centred, residuals, set_blocks)
            solve_quadratic(sparse, w, set_blocks, penalty, tol)
            return None
    gram_cache = problem.gram_cache
    if has_one_output and not design.sparse:
        needs_no_gram = n_coords > MAX_GRAM_COORDS or design.n_rows < n_coords
        reads_in_place = set_design is design and design.has_contiguous_columns
        max_cycles = 0
        if needs_no_gram:
            max_cycles = MAX_SWEEP_CYCLES
        elif reads_in_place:
            max_cycles = _cycles_before_gram(gram_cache, columns)
        if max_cycles:
            known_lipschitz = None
            if bound_loss.is_quadratic:
                known_lipschitz = gram_cache.get_lipschitz(block_indices)
            model = _dense_model(
                problem, set_design, set_blocks, columns, curvature, scores, known_lipschitz
            )
            old_residuals = model.state()
            solved = solve_quadratic(model, w, set_blocks, penalty, tol, max_cycles)
            if known_lipschitz is not None:
                gram_cache.update_lipschitz(
                    block_indices, np.maximum(known_lipschitz, model.blocks.lipschitz)
                )
            if solved or needs_no_gram:
                return (model.residuals - old_residuals)[:, None] if reads_in_place else None
            w_gradient = model.coef_gradient()
    all_columns, members = np.arange(len(columns)), set_blocks.members.astype(np.int64)
    if bound_loss.is_quadratic:
        gram = gram_cache.get(design, curvature, columns, MAX_CACHED_COLUMNS)
    else:
        gram = set_design.gram(curvature, all_columns, all_columns)
    if len(members) != len(columns) or (members != all_columns).any():
        gram = np.ascontiguousarray(gram[np.ix_(members, members)])
    model_tol = EXACT_TOL_RATIO * tol if bound_loss.is_quadratic else tol
    gram_model = GramModel(gram, w_gradient, w, set_blocks)
    solve_quadratic(gram_model, w, set_blocks, penalty, model_tol)
    return None


def _cycles_before_gram(gram_cache, columns: np.ndarray) -> int:
    """Return the number of cycles of sweeps that cost about as much as the missing part of the Gram
    matrix.
    """
    n_known = gram_cache.count_known(columns)
    return (len(columns) ** 2 - n_known**2) // (COLUMNS_PER_CYCLE * len(columns))


def _dense_model(
    problem, set_design, set_blocks: CoefBlocks, columns, curvature, scores, lipschitz
) -> DenseModel:
    """Return a model of the columns in place if the design allows it, else of a copy of them,
    centred and scaled by the root of the curvature.
    """
    bound_loss, design = problem.bound_loss, problem.design
    weighted_gradients = bound_loss.weights * bound_loss.gradient(scores)[:, 0]
    members = set_blocks.members.astype(np.int64)
    if set_design is design and design.has_contiguous_columns:
        scaled_residuals, coord_columns = weighted_gradients / curvature[0], columns[members]
        return DenseModel(
            design.X.T,
            coord_columns,
            design.means,
            float(curvature[0]),
            scaled_residuals,
            set_blocks,
            lipschitz,
        )
    root = np.sqrt(curvature)
    columns_array = set_design.X if set_design is not design else design.X[:, columns]
    weighted_columns = np.ascontiguousarray(columns_array.T)[members]
    if design.centred:
        weighted_columns -= (weighted_columns @ curvature)[:, None] / curvature.sum()
    weighted_columns *= root
    coord_columns, zero_means = np.arange(len(members)), np.zeros(len(members))
    return DenseModel(
        weighted_columns,
        coord_columns,
        zero_means,
        1.0,
        _divide_by_curvature(weighted_gradients, root),
        set_blocks,
        lipschitz,
    )


def shares_gram(problem) -> bool:
    """Return whether all outputs have the same Gram matrix."""
    design = problem.design
    return design.shares_rows and (design.outputs == 1 or problem.bound_loss.is_quadratic)


def _joint_gram(problem, set_design, set_blocks: CoefBlocks, scores) -> np.ndarray:
    """Return the Hessian of all coordinates and outputs together, with the intercepts
    eliminated.
    """
    outputs, members = set_design.outputs, set_blocks.members.astype(np.int64)
    gram, intercept_hessian = np.zeros((len(members), outputs) * 2), np.zeros((outputs, outputs))
    cross_hessian = np.zeros((len(members), outputs, outputs))
    all_columns = np.arange(len(set_design.means))
    for task_design, rows, start in set_design.task_designs():
        for first, second in combinations_with_replacement(range(task_design.outputs), 2):
            curvature = problem.bound_loss.curvature(scores, first, second)
            if curvature is None:
                continue
            products, weighted_sums = task_design.weighted_products(
                curvature[rows], all_columns, all_columns
            )
            a, b = start + first, start + second
            gram[:, a, :, b] = gram[:, b, :, a] = products[np.ix_(members, members)]
            cross_hessian[:, a, b] = cross_hessian[:, b, a] = weighted_sums[0][members]
            intercept_hessian[a, b] = intercept_hessian[b, a] = curvature[rows].sum()
    gram = gram.reshape(len(members) * outputs, -1)
    cross_hessian = cross_hessian.reshape(len(members) * outputs, outputs)
    if problem.fit_intercept:
        gram -= (
            cross_hessian
            @ np.linalg.pinv(intercept_hessian, rcond=1e-12, hermitian=True)
            @ cross_hessian.T
        )
    # A shift of all classes together has no curvature.
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-9
    return gram


def _divide_by_curvature(residuals, curvature) -> np.ndarray:
    """Return residuals over curvatures; rows of weight 0 have residual 0."""
    return residuals / np.where(curvature > 0.0, curvature, 1.0)
