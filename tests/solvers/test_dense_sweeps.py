"""Sweeps over dense columns, whose Lipschitz constants are found by backtracking."""

from itertools import pairwise

import numpy as np
import pytest

from tamis.solvers.path.inner.models import DenseModel, block_arrays
from tamis.solvers.path.inner.quadratic import solve_quadratic
from tamis.solvers.path.loop import CoefBlocks, distance_blocks, value_blocks
from tamis.terms.group_penalties import GroupL2, SparseGroup

SIZES = (1, 3, 4, 6, 9)  # columns are taken four at a time
ROWS = 2300  # not a whole number of stretches


def make_problem(shared_scale: float, centred: bool):
    """Return columns whose blocks share one direction, the model of their sum, and its blocks."""
    rng = np.random.default_rng(0)
    column_block = np.repeat(np.arange(len(SIZES)), SIZES)
    columns = rng.normal(size=(len(column_block), ROWS)) + 1.0
    columns += shared_scale * rng.normal(size=(len(SIZES), ROWS))[column_block]
    target = columns.sum(axis=0) + rng.normal(size=ROWS)
    means = columns.mean(axis=1) if centred else np.zeros(len(column_block))
    residuals = -(target - target.mean()) if centred else -target
    starts = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.uint64)
    blocks = CoefBlocks(
        np.arange(len(column_block), dtype=np.uint64),
        starts,
        np.sqrt(SIZES),
        np.full(len(SIZES), 0.1),
        len(column_block),
    )
    model = DenseModel(columns, np.arange(len(column_block)), means, 1.0 / ROWS, residuals, blocks)
    return columns - means[:, None], model, blocks


@pytest.mark.parametrize("penalty", [GroupL2(0.1, 0.0), SparseGroup(0.1, 1.0)])
@pytest.mark.parametrize("shared_scale", [0.0, 5.0])
@pytest.mark.parametrize("centred", [False, True])
def test_every_sweep_descends_and_keeps_the_residuals(penalty, shared_scale, centred):
    """Also where the columns of a block are nearly equal, with a curvature far above their mean."""
    columns, model, blocks = make_problem(shared_scale, centred)
    w, old_residuals, previous = np.zeros((len(columns), 1)), model.residuals.copy(), np.inf
    everywhere, first = np.arange(len(SIZES), dtype=np.uint64), model.blocks.lipschitz.copy()
    for _ in range(20):
        model.sweep(w, everywhere, penalty, 1)
        objective = model.value(w) + value_blocks(
            w.ravel(), *block_arrays(blocks), penalty, np.uint64(1)
        )
        assert objective <= previous * (1.0 + 1e-12)
        previous = objective
    np.testing.assert_allclose(model.residuals, old_residuals + w[:, 0] @ columns, atol=1e-9)
    found, starts = model.blocks.lipschitz, blocks.starts.astype(int)
    for g, (low, high) in enumerate(pairwise(starts)):
        block = columns[low:high]
        values = np.linalg.eigvalsh(block @ block.T / ROWS)
        np.testing.assert_allclose(first[g], values.mean(), rtol=1e-9)
        assert first[g] <= found[g] <= max(values[-1], first[g]) * (1.0 + 1e-9)
    assert (found > 2.0 * first).any() == (shared_scale > 0.0 or not centred)


def test_they_end_at_the_optimum():
    columns, model, blocks = make_problem(1.0, True)
    penalty, w = GroupL2(0.1, 0.0), np.zeros((len(columns), 1))
    assert solve_quadratic(model, w, blocks, penalty, 1e-8)
    slope = columns @ model.residuals / ROWS
    penalty_args = (*block_arrays(blocks), penalty, np.uint64(1))
    assert distance_blocks(w.ravel(), slope, *penalty_args) <= 2e-8


def test_a_constant_column_stays_out():
    """Centred it is 0, and has no curvature."""
    rng = np.random.default_rng(0)
    columns = np.stack([np.full(ROWS, 3.0), rng.normal(size=ROWS)])
    at, ones = np.arange(2), np.ones(2)
    blocks = CoefBlocks(at.astype(np.uint64), np.arange(3, dtype=np.uint64), ones, 0 * ones, 2)
    model = DenseModel(columns, at, columns.mean(axis=1), 1.0 / ROWS, -columns[1], blocks)
    w = np.zeros((2, 1))
    model.sweep(w, np.arange(2, dtype=np.uint64), GroupL2(0.1, 0.0), 3)
    assert model.blocks.lipschitz[0] == 0.0
    assert w[0, 0] == 0.0 < w[1, 0]
