"""The sparse leading direction by stabilized stochastic steps over signed edges: an option for
columns too many to look at at once.
"""

import numpy as np
import scipy.sparse as sp

from tamis.methods.metric.sparse_eigen import Direction, signed, top_pair

PATHS = 5  # walks that are averaged
STAGES, BURSTS, BURST = 40, 5, 5  # stages, bursts a stage, edges a burst
ETA = 0.5  # step size
KEPT = 0.7  # share of bursts that a column must survive
GRAVITY = 0.03  # of the quantile rule: at full strength it pulls every entry to 0
RATE, DECAY = 0.2, 4.0  # first share of columns to reject, and how it falls with the share removed


def stabilized_direction(block, pull, kappa: int, random) -> Direction:
    """The direction with at most kappa entries; `block` is a dense or CSR array of (rows, columns)."""
    edges = _signed_edges(block, pull)
    start = _start(block, pull)
    alive = start != 0.0
    if edges is None or not alive.any():
        return Direction(np.arange(1), np.ones(1), 0.0)
    vectors = np.tile(start, (PATHS, 1))
    gravity = 0.0
    for _ in range(STAGES):
        seen, kept, counts = (np.zeros(vectors.shape, np.int64) for _ in range(3))
        for _ in range(BURSTS):
            touched = _burst(vectors, block, edges, alive, gravity, random, counts)
            seen += touched
            kept += touched & (vectors != 0.0)
        alive = _survivors(vectors, seen, kept, alive, kappa)
        vectors *= alive
        gravity = _gravity(vectors, counts, alive, start)
    aligned = vectors * np.where(vectors @ vectors[0] < 0.0, -1.0, 1.0)[:, None]
    places = np.sort(np.argpartition(np.abs(aligned.mean(axis=0)), -kappa)[-kappa:])
    inside = _dense(block, places)
    value, entries = top_pair(inside.T @ pull.times(inside))
    return signed(places, entries, value)


def _dense(block, columns):
    part = block[:, columns]
    return part.toarray() if sp.issparse(part) else part


def _rows(block, rows):
    part = block[rows]
    return part.toarray() if sp.issparse(part) else part


def _signed_edges(block, pull):
    """Ends, signs and chances of the edges: an edge is drawn by its weight times its squared
    length.
    """
    width = np.diff(pull.edges.indptr)
    begin, end, weight = np.repeat(pull.bag, width), pull.edges.indices, pull.edges.data
    norms = (
        np.asarray(block.multiply(block).sum(axis=1)).ravel()
        if sp.issparse(block)
        else np.einsum("ij,ij->i", block, block)
    )
    inner = np.empty(len(begin))
    step = max(1, (1 << 22) // block.shape[1])
    for first in range(0, len(begin), step):
        cut = slice(first, first + step)
        a, b = block[begin[cut]], block[end[cut]]
        inner[cut] = (
            np.asarray(a.multiply(b).sum(axis=1)).ravel()
            if sp.issparse(block)
            else np.einsum("ij,ij->i", a, b)
        )
    length = np.maximum(norms[begin] + norms[end] - 2.0 * inner, 0.0)
    chance = np.cumsum(np.abs(weight) * length)
    return (begin, end, np.sign(weight), length, chance) if chance[-1] > 0.0 else None


def _start(block, pull) -> np.ndarray:
    """A e_j + e_j for the column of largest diagonal: zero, a fixed point, is no start, nor is a
    column that no edge touches.
    """
    step = max(1, (1 << 22) // block.shape[0])
    parts = [
        _dense(block, np.arange(b, min(b + step, block.shape[1])))
        for b in range(0, block.shape[1], step)
    ]
    diagonal = np.concatenate([np.einsum("ij,ij->j", part, pull.times(part)) for part in parts])
    best = int(np.argmax(diagonal))
    start = np.asarray(block.T @ pull.times(_dense(block, np.array([best])))).ravel()
    start[best] += 1.0
    return start / np.linalg.norm(start)


def _burst(vectors, block, edges, alive, gravity, random, counts):
    """A few edges in each walk, then the soft threshold; True where a column was touched."""
    begin, end, sign, length, chance = edges
    before, touched = vectors.copy(), np.zeros(vectors.shape, np.int64)
    for _ in range(BURST):
        drawn = np.minimum(
            np.searchsorted(chance, random.random(len(vectors)) * chance[-1]), len(chance) - 1
        )
        apart = (_rows(block, begin[drawn]) - _rows(block, end[drawn])) * alive
        pace = (
            ETA
            * sign[drawn]
            * np.einsum("ij,ij->i", apart, vectors)
            / np.maximum(length[drawn], 1e-300)
        )
        vectors += pace[:, None] * apart
        touched += apart != 0.0
    counts += touched
    np.copyto(vectors, np.sign(vectors) * np.maximum(np.abs(vectors) - gravity * touched, 0.0))
    norms = np.linalg.norm(vectors, axis=1)
    vectors[norms == 0.0] = before[norms == 0.0]
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    return touched > 0


def _survivors(vectors, seen, kept, alive, kappa):
    """Columns that enough bursts kept; never fewer than kappa."""
    total = seen.sum(axis=0)
    share = np.where(total > 0, kept.sum(axis=0) / np.maximum(total, 1), 1.0)
    stay = alive & (share >= KEPT)
    if stay.sum() < kappa:
        size = np.where(alive, np.abs(vectors).mean(axis=0), -1.0)
        stay = np.zeros(len(alive), bool)
        stay[np.argsort(size)[-kappa:]] = True
    return stay


def _gravity(vectors, counts, alive, start) -> float:
    """The pull that would reject a falling share of the columns: the more are gone, the fewer."""
    removed = 1.0 - alive.sum() / max(1, np.count_nonzero(start))
    rate = RATE * np.exp(-DECAY * removed)
    inside = (counts > 0) & alive
    return (
        float(GRAVITY * np.quantile(np.abs(vectors[inside]) / counts[inside], rate))
        if inside.any()
        else 0.0
    )
