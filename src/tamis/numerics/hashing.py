"""Hashes of 64 bits: the finaliser of SplitMix64, hashes of rows by their content, and duplicate
rows.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled, inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples scatter
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
SALT = np.uint64(0xD1B54A32D192ED03)
ONE, S27, S30, S31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)
CHUNK = 1 << 20  # numbers of a dense piece of rows


def mix64_array(x):
    """Words whose bits all depend on all bits of the words in x (the finaliser of SplitMix64)."""
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


mix64 = inlined(mix64_array)  # of one word, in compiled loops


# --------------------------------------------------------------------------- rows
@compiled
def hash_rows(data, indices, indptr, hashes):
    """Fill a hash of each row's (index, value) pairs, whatever their order, type or width."""
    word = np.empty(1)
    bits = word.view(np.uint64)
    for i in range(np.uint64(hashes.shape[0])):
        total = np.uint64(0)
        for k in range(indptr[i], indptr[i + ONE]):
            word[0] = data[k]
            total += mix64(mix64(np.uint64(indices[k]) + GOLDEN) ^ (bits[0] * SALT))
        hashes[i] = mix64(total + SALT)


def row_hashes(X) -> np.ndarray:
    """Return a hash of the content of each row, the same for a dense array, a sparse one and `Csr`;
    zeros that are stored count as content.
    """
    if sp.issparse(X):
        X = X.tocsr()
    if hasattr(X, "indptr"):
        hashes = np.empty(len(X.indptr) - 1, dtype=np.uint64)
        unsigned = np.uint64 if X.indices.itemsize == 8 else np.uint32
        hash_rows(X.data, X.indices.view(unsigned), X.indptr.astype(np.uint64, copy=False), hashes)
        return hashes
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    step = max(1, CHUNK // max(1, X.shape[1]))
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
    """Return how many rows equal an earlier one, by their hashes: among a million different rows
    two have one hash in 3 of 10^8 cases.
    """
    return len(hashes) - len(np.unique(hashes))


def group_duplicates(X, labels: np.ndarray, *ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the rows of X that depends on their content alone, and where in it each
    group of equal rows of one label begins.

    Equal rows are sorted by their labels (whole numbers), then by `ties`. Rows of equal hashes are
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
    """Return X, signs and weights with rows of equal content and signs as one row of their summed
    weight, and an order of these rows that depends on their content alone.

    So a row of weight 2 is a row that comes twice, and the order in which rows are given means
    nothing. Without duplicates X, signs and weights are returned as they are.
    """
    rows = sp.csr_array(X) if sp.issparse(X) else X
    labels = (signs > 0) @ np.random.default_rng(0).integers(1, 2**40, signs.shape[1])
    order, starts = group_duplicates(rows, labels, weights)
    if len(starts) == len(order):
        return X, signs, weights, order
    first = order[starts]
    summed = np.add.reduceat(weights[order], starts)
    return rows[first], signs[first], summed, np.arange(len(first))
