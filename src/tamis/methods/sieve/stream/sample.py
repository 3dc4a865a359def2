"""A sample of rows that does not depend on the order in which they arrive: those with the smallest
keys.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.csr import Csr
from tamis.numerics.hashing import MIX_MULTIPLIER_1, MIX_MULTIPLIER_2


class KeyedRows(NamedTuple):
    """Rows with a key for the content of each, their targets (an array, or a CSR array) and
    weights, all above 0.
    """

    rows: sp.csr_array
    keys: np.ndarray
    targets: Any
    weights: np.ndarray

    @classmethod
    def select(cls, rows: Csr, keys, targets, weights, key_limit) -> "KeyedRows":
        """Return the rows with keys up to `key_limit`, in float64; no weights mean 1 each."""
        is_small = keys <= np.uint64(key_limit)
        indices = np.flatnonzero(is_small & (weights > 0.0) if len(weights) else is_small)
        weights = weights[indices] if len(weights) else np.ones(len(indices))
        # Most rows of a long stream are not selected: do not convert the chunk for none.
        selected = sp.csr_array((0, rows.n_features))
        if len(indices):
            selected = rows.to_scipy()[indices].astype(float)
        return cls(selected, keys[indices], targets[indices], weights)


def smallest_keys(
    chunks: list[KeyedRows], max_rows: int, max_entries: int | None = None
) -> tuple[KeyedRows, bool]:
    """Return the rows with the smallest keys, sorted, and whether any rows were left out.

    There are at most `max_rows` rows and `max_entries` entries, but at least one row. Rows with
    equal keys become one row with the sum of their weights.
    """
    rows, keys, targets, weights = zip(*chunks, strict=True)
    unique, first, inverse = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    total_weights = np.bincount(inverse, weights=np.concatenate(weights))
    stacked = _stack(rows)
    if max_entries is not None:
        n_entries = np.cumsum(np.diff(stacked.indptr)[first])
        n_fitting = int(np.searchsorted(n_entries, max_entries, side="right"))
        max_rows = min(max_rows, max(1, n_fitting))
    first = first[:max_rows]
    if sp.issparse(targets[0]):
        sample_targets = _stack(targets)[first]
    else:
        sample_targets = np.ascontiguousarray(np.concatenate(targets)[first])
    sample = KeyedRows(
        sp.csr_array(stacked[first]), unique[:max_rows], sample_targets, total_weights[:max_rows]
    )
    return sample, len(unique) > max_rows


def _stack(matrices):
    """Stack sparse matrices; narrower ones get empty columns at the right."""
    width = max(matrix.shape[1] for matrix in matrices)
    widened = [
        matrix
        if matrix.shape[1] == width
        else sp.csr_array(
            (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width)
        )
        for matrix in matrices
    ]
    return sp.vstack(widened, format="csr")


def sampling_keys(hashes: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return a second hash of the content of each row and its targets; folds use the first one."""
    keys = hashes ^ np.uint64(0x2545F4914F6CDD1D)
    for column in np.ascontiguousarray(targets).T:
        keys = (keys ^ (keys >> np.uint64(29)) ^ column.copy().view(np.uint64)) * MIX_MULTIPLIER_1
        keys ^= keys >> np.uint64(32)
    return keys * MIX_MULTIPLIER_2
