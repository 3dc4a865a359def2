"""Sweeps over dense columns, whose Lipschitz constants are found by trying."""

from itertools import pairwise

import numpy as np
import pytest

from tamis.solvers.path.inner.models import DenseModel, block_arrays
from tamis.solvers.path.inner.quadratic import solve_quadratic
from tamis.solvers.path.loop import Blocks, distance_blocks, value_blocks
from tamis.terms.group_penalties import GroupL2, SparseGroup

SIZES = (1, 3, 4, 6, 9)  # columns are taken four at a time
ROWS = 2300  # not a whole number of stretches


def made(alike: float, centred: bool):
    """Columns whose blocks have one direction in common, the model of their sum, and its blocks."""
    rng = np.random.default_rng(0)
    mine = np.repeat(np.arange(len(SIZES)), SIZES)
    columns = rng.normal(size=(len(mine), ROWS)) + 1.0
    columns += alike * rng.normal(size=(len(SIZES), ROWS))[mine]
    target = columns.sum(axis=0) + rng.normal(size=ROWS)
    means = columns.mean(axis=1) if centred else np.zeros(len(mine))
    rest = -(target - target.mean()) if centred else -target
    starts = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.uint64)
    blocks = Blocks(
        np.arange(len(mine), dtype=np.uint64),
        starts,
        np.sqrt(SIZES),
        np.full(len(SIZES), 0.1),
        len(mine),
    )
    model = DenseModel(columns, np.arange(len(mine)), means, 1.0 / ROWS, rest, blocks)
    return columns - means[:, None], model, blocks


@pytest.mark.parametrize("penalty", [GroupL2(0.1, 0.0), SparseGroup(0.1, 1.0)])
@pytest.mark.parametrize("alike", [0.0, 5.0])
@pytest.mark.parametrize("centred", [False, True])
def test_every_sweep_descends_and_keeps_the_residuals(penalty, alike, centred):
    """Also where columns of a block are nearly the same, and bend far more than their mean."""
    columns, model, blocks = made(alike, centred)
    w, old_residuals, before = np.zeros((len(columns), 1)), model.residuals.copy(), np.inf
    everywhere, first = np.arange(len(SIZES), dtype=np.uint64), model.blocks.lipschitz.copy()
    for _ in range(20):
        model.sweep(w, everywhere, penalty, 1)
        now = model.value(w) + value_blocks(w.ravel(), *block_arrays(blocks), penalty, np.uint64(1))
        assert now <= before * (1.0 + 1e-12)
        before = now
    np.testing.assert_allclose(model.residuals, old_residuals + w[:, 0] @ columns, atol=1e-9)
    found, starts = model.blocks.lipschitz, blocks.starts.astype(int)
    for g, (low, high) in enumerate(pairwise(starts)):
        block = columns[low:high]
        values = np.linalg.eigvalsh(block @ block.T / ROWS)
        np.testing.assert_allclose(first[g], values.mean(), rtol=1e-9)
        assert first[g] <= found[g] <= max(values[-1], first[g]) * (1.0 + 1e-9)
    assert (found > 2.0 * first).any() == (alike > 0.0 or not centred)


def test_they_end_at_the_optimum():
    columns, model, blocks = made(1.0, True)
    penalty, w = GroupL2(0.1, 0.0), np.zeros((len(columns), 1))
    assert solve_quadratic(model, w, blocks, penalty, 1e-8)
    slope = columns @ model.residuals / ROWS
    given = (*block_arrays(blocks), penalty, np.uint64(1))
    assert distance_blocks(w.ravel(), slope, *given) <= 2e-8


def test_a_constant_column_stays_out():
    """Centred it is 0, and has no curvature."""
    rng = np.random.default_rng(0)
    columns = np.stack([np.full(ROWS, 3.0), rng.normal(size=ROWS)])
    at, ones = np.arange(2), np.ones(2)
    blocks = Blocks(at.astype(np.uint64), np.arange(3, dtype=np.uint64), ones, 0 * ones, 2)
    model = DenseModel(columns, at, columns.mean(axis=1), 1.0 / ROWS, -columns[1], blocks)
    w = np.zeros((2, 1))
    model.sweep(w, np.arange(2, dtype=np.uint64), GroupL2(0.1, 0.0), 3)
    assert model.blocks.lipschitz[0] == 0.0
    assert w[0, 0] == 0.0 < w[1, 0]
