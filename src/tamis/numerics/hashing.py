"""Hashes of 64 bits: the finalizer of SplitMix64, hashes of rows, and duplicate rows."""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled, force_inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: its multiples spread evenly
MIX_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
ROW_SALT = np.uint64(0xD1B54A32D192ED03)
ONE, SHIFT_27, SHIFT_30, SHIFT_31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)
CHUNK_ENTRIES = 1 << 20  # numbers in a chunk of dense rows


def mix64_array(x):
    """Return words whose bits each depend on all bits of the words in x.

    This is the finalizer of SplitMix64.
    """
    x = (x ^ (x >> SHIFT_30)) * MIX_MULTIPLIER_1
    x = (x ^ (x >> SHIFT_27)) * MIX_MULTIPLIER_2
    return x ^ (x >> SHIFT_31)


mix64 = force_inlined(mix64_array)  # of one word, in compiled loops


# --------------------------------------------------------------------------- rows
@compiled
def hash_rows(data, indices, indptr, hashes):
    """Fill a hash of the (index, value) pairs of each row, whatever their order, type or width."""
    word = np.empty(1)
    bits = word.view(np.uint64)
    for i in range(np.uint64(hashes.shape[0])):
        total = np.uint64(0)
        for k in range(indptr[i], indptr[i + ONE]):
            word[0] = data[k]
            total += mix64(mix64(np.uint64(indices[k]) + GOLDEN) ^ (bits[0] * ROW_SALT))
        hashes[i] = mix64(total + ROW_SALT)


def row_hashes(X) -> np.ndarray:
    """Return a hash of the content of each row, the same for dense arrays, sparse ones and `Csr`.

    Stored zeros count as content.
    """
    if sp.issparse(X):
        X = X.tocsr()
    if hasattr(X, "indptr"):
        hashes = np.empty(len(X.indptr) - 1, dtype=np.uint64)
        unsigned = np.uint64 if X.indices.itemsize == 8 else np.uint32
        hash_rows(X.data, X.indices.view(unsigned), X.indptr.astype(np.uint64, copy=False), hashes)
        return hashes
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    step = max(1, CHUNK_ENTRIES // max(1, X.shape[1]))
    for start in range(0, len(hashes), step):
        block = np.ascontiguousarray(X[start : start + step])
        nonzeros = np.flatnonzero(block)
        indptr = np.zeros(len(block) + 1, dtype=np.uint64)
        np.cumsum(np.count_nonzero(block, axis=1), out=indptr[1:], dtype=np.uint64)
        indices = (nonzeros % block.shape[1]).astype(np.uint32)
        hash_rows(block.ravel()[nonzeros], indices, indptr, hashes[start : start + step])
    return hashes


# --------------------------------------------------------------------------- duplicate rows
def count_duplicates(hashes: np.ndarray) -> int:
    """Return how many rows equal an earlier row, by their hashes.

    Two of a million different rows share a hash in 3 of 10^8 cases.
    """
    return len(hashes) - len(np.unique(hashes))


def group_duplicates(X, labels: np.ndarray, *ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the rows of X that depends on their content only, and the start of each
    group of equal rows with one label in that order.

    Equal rows are sorted by their labels (integers), then by `ties`. Rows with equal hashes are
    compared number by number.
    """
    hashes = row_hashes(X)
    order = np.lexsort((*ties[::-1], labels, hashes))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(hashes[order]) != 0) | (np.diff(labels[order]) != 0)
    same = np.flatnonzero(~is_first)
    if len(same):
        difference = X[order[same]] - X[order[same - 1]]
        is_first[same] = np.ravel(abs(difference).sum(axis=1)) > 0
    return order, np.flatnonzero(is_first)


def merge_duplicates(X, signs: np.ndarray, weights: np.ndarray):
    """Return X, signs and weights with equal rows merged and their weights summed, and an order of
    the rows that depends on their content only.

    A row of weight 2 then equals a row that occurs twice, and the order of the rows has no effect.
    Without duplicates X, signs and weights are returned unchanged.
    """
    rows = sp.csr_array(X) if sp.issparse(X) else X
    labels = (signs > 0) @ np.random.default_rng(0).integers(1, 2**40, signs.shape[1])
    order, starts = group_duplicates(rows, labels, weights)
    if len(starts) == len(order):
        return X, signs, weights, order
    first = order[starts]
    summed = np.add.reduceat(weights[order], starts)
    return rows[first], signs[first], summed, np.arange(len(first))
