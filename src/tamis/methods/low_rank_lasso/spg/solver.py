"""Many lassos on one low-rank matrix at once: spectral projected gradients, all targets in one
product, the duality gap as judge.

For each target, with ``c = U'y``, rest s and ``V = W S``: the minimum of ``rho + eta ||b||_2`` over
``||b||_1 <= radius``, where ``rho = sqrt(||c - V'b||^2 + s^2)``. What a step needs beside two
products with V is read from k numbers a target.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.low_rank_lasso.compression import Compressed, are_zero, smoothed, unbounded
from tamis.methods.low_rank_lasso.spg.batch import Batch, Solved
from tamis.system.threads import one_thread

CELLS = 2**21  # of one array of a batch: rows times columns
ROWS = 64  # most targets in a batch
TURNS = 4  # batches a thread takes at once
# largest singular values within this factor of 1 are taken as they are: the limits of a step suit
# them
USUAL = 1e6


class Rules(NamedTuple):
    """What to solve and when to stop: price of the 2-norm, gap as a share of ``||y||``, most
    iterations.
    """

    eta: float
    tol: float
    max_iter: int


class Outcome(NamedTuple):
    """Weights as a CSR array, one row a target, and figures as arrays of one number a target."""

    weights: sp.csr_array
    zero: np.ndarray
    closed: np.ndarray
    figures: dict


def solve(
    W,
    S,
    targets: Compressed,
    radius,
    rules: Rules,
    *,
    share: float | None = None,
    dtype=np.float64,
    threads: int = 1,
    rows: int | None = None,
) -> Outcome:
    """Solve for all targets; the bits do not depend on the number of threads.

    `radius` is one number a target; with `share` it is that share of the L1 norm of the solution
    without a bound. `rows` is the most targets in a batch.
    """
    targets, unit = smoothed(targets), unit_of(S)
    S, radius, rules = S / unit, radius * unit, rules._replace(eta=rules.eta / unit)
    V = np.ascontiguousarray((W * S).astype(dtype))
    zero = (targets.norm == 0.0) | are_zero(targets, V, S, rules.eta)
    rows = max(1, min(rows or ROWS, max(8, CELLS // max(len(V), 1))))
    awake = np.flatnonzero(~zero)
    parts = [awake[at : at + TURNS * rows] for at in range(0, len(awake), TURNS * rows)]

    def run(part):
        solved = _solve_part(
            V, W.astype(dtype), S, targets.picked(part), radius[part], rules, share, rows
        )
        return part, solved

    with one_thread(), ThreadPoolExecutor(max(1, threads)) as pool:
        done = list(pool.map(run, parts)) if threads > 1 else [run(part) for part in parts]
    found = _gathered(done, len(V), zero, targets, radius, dtype)
    return found if unit == 1.0 else _in_units(found, unit)


def unit_of(S) -> float:
    """What singular values of an unusual size are divided by: a power of two costs no digit."""
    top = float(S.max(initial=0.0))
    return 1.0 if top == 0.0 or 1.0 / USUAL <= top <= USUAL else 2.0 ** round(math.log2(top))


def _in_units(found: Outcome, unit: float) -> Outcome:
    """An outcome in terms of the singular values as they were given."""
    figures = (
        found.figures
        | {name: found.figures[name] / unit for name in ("radius", "length")}
        | {"nu": found.figures["nu"] * unit}
    )
    return found._replace(weights=found.weights.astype(np.float64) / unit, figures=figures)


def _solve_part(V, W, S, targets, radius, rules, share, rows) -> Solved:
    """Some targets, at most `rows` of them at a time; those that are done make room for others."""
    solved = Solved(len(targets.C), V.shape[0], V.dtype)
    free = unbounded(targets, S, rules.eta).astype(V.dtype)
    batch = Batch(V, targets, radius.astype(np.float64), rules, rows, solved)
    begun = 0
    while begun < len(free) or batch.count:
        if begun < len(free) and batch.count <= rows // 2:
            new = np.arange(begun, min(begun + rows - batch.count, len(free)))
            batch.admit(new, free[new] @ W.T, share)
            begun += len(new)
        if batch.count:
            batch.advance()
    return solved


def _gathered(done, width: int, zero, targets, radius, dtype) -> Outcome:
    """Parts put together in the order of the targets."""
    count = len(zero)
    figures = {name: np.zeros(count) for name in Solved.FIGURES}
    figures["rho"][zero] = figures["objective"][zero] = targets.norm[zero]
    figures["converged"][zero], figures["radius"][zero] = 1.0, radius[zero]
    counts, pieces = np.zeros(count, np.int64), {}
    for part, solved in done:
        for name, values in solved.figures.items():
            figures[name][part] = values
        for k, target in enumerate(part):
            pieces[int(target)] = solved.rows[k]
            counts[target] = len(solved.rows[k][0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    order = sorted(pieces)
    indices = np.concatenate([np.zeros(0, np.int32), *(pieces[t][0] for t in order)])
    data = np.concatenate([np.zeros(0, dtype), *(pieces[t][1] for t in order)])
    weights = sp.csr_array(
        (data, indices, indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)),
        shape=(count, width),
    )
    return Outcome(weights, zero, figures.pop("closed") > 0, figures)
