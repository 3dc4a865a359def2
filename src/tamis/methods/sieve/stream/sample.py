"""A sample of rows that does not depend on the order in which they come: those with the smallest
keys.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.csr import Csr
from tamis.numerics.hashing import FIRST, SECOND


class Keyed(NamedTuple):
    """Rows with a key of their content each, their targets (an array, or a CSR array) and weights,
    all above 0.
    """

    rows: sp.csr_array
    keys: np.ndarray
    targets: Any
    weights: np.ndarray

    @classmethod
    def picked(cls, rows: Csr, keys, targets, weights, bar) -> "Keyed":
        """Of some rows those with keys up to `bar`, in float64; no weights mean 1 each."""
        small = keys <= np.uint64(bar)
        at = np.flatnonzero(small & (weights > 0.0) if len(weights) else small)
        masses = weights[at] if len(weights) else np.ones(len(at))
        # Most rows of a long stream are passed over.
        part = rows.scipy()[at].astype(float) if len(at) else sp.csr_array((0, rows.n_features))
        return cls(part, keys[at], targets[at], masses)


def smallest(parts: list[Keyed], most: int, most_entries: int | None = None) -> tuple[Keyed, bool]:
    """The rows with the smallest keys, in their order: as many as are allowed, and at least one;
    and whether any were left out. A row that came before, with the same target, adds to its weight.
    """
    rows, keys, targets, weights = zip(*parts, strict=True)
    known, where, which = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    masses = np.bincount(which, weights=np.concatenate(weights))
    width = max(part.shape[1] for part in rows)
    stacked = sp.vstack([_widened(part, width) for part in rows], format="csr")
    if most_entries is not None:
        reach = np.cumsum(np.diff(stacked.indptr)[where])
        most = min(most, max(1, int(np.searchsorted(reach, most_entries, side="right"))))
    where = where[:most]
    if sp.issparse(targets[0]):
        width = max(part.shape[1] for part in targets)
        aims = sp.vstack([_widened(part, width) for part in targets], format="csr")[where]
    else:
        aims = np.ascontiguousarray(np.concatenate(targets)[where])
    found = Keyed(sp.csr_array(stacked[where]), known[:most], aims, masses[:most])
    return found, len(known) > most


def _widened(part, width: int):
    """The same rows with empty columns at the right."""
    if part.shape[1] == width:
        return part
    return sp.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width))


def keys_of(hashes: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The second hash, of a row's content and its targets: folds go by the first one."""
    keys = hashes ^ np.uint64(0x2545F4914F6CDD1D)
    for column in np.ascontiguousarray(targets).T:
        keys = (keys ^ (keys >> np.uint64(29)) ^ column.copy().view(np.uint64)) * FIRST
        keys ^= keys >> np.uint64(32)
    return keys * SECOND
