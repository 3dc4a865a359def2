"""Passes of the border: what a CSR matrix holds, and CSR from dense rows."""

import numpy as np

from tamis._jit import compiled


@compiled
def inspect_rows(indptr, indices, bits, unsigned, smallest, largest, n_features):
    """Return (pointers fall, index too large, index not above the one before, too small, too large) as counts.

    `bits` is the data viewed as unsigned integers. Without the sign, which the mask `unsigned` takes away, these are ordered as the sizes of
    the numbers are, zeros first, infinities and nans last, and integer tests run many at a time: `smallest` and `largest` are limits in that order.
    The second and later counts are taken only if the pointers are sound.
    """
    n = np.uint64(indptr.shape[0]) - np.uint64(1)
    one = np.uint64(1)
    falls, wild, unsorted, small, large = 0, 0, 0, 0, 0
    for i in range(n):
        falls += indptr[i + one] < indptr[i]
    if falls or indptr[0] or indptr[n] > indices.shape[0]:
        return falls + 1, wild, unsorted, small, large
    for k in range(indptr[n]):
        size = bits[k] & unsigned
        small += size < smallest
        large += size > largest
    for i in range(n):
        for k in range(indptr[i] + one, indptr[i + one]):
            unsorted += indices[k] <= indices[k - one]
    if unsorted:
        for k in range(indptr[n]):
            wild += indices[k] >= n_features
    else:  # the last index of a row is its largest
        for i in range(n):
            if indptr[i + one] > indptr[i]:
                wild += indices[indptr[i + one] - one] >= n_features
    return falls, wild, unsorted, small, large


@compiled
def inspect_values(bits, unsigned, smallest, largest):
    """Return (too small but not 0, too large) as counts; see `inspect_rows`."""
    small, large = 0, 0
    for k in range(bits.shape[0]):
        size = bits[k] & unsigned
        small += (size < smallest) & (size != 0)
        large += size > largest
    return small, large


@compiled
def count_nonzeros(X, indptr):
    """Fill `indptr` with the row pointers of dense X without its zeros."""
    total = np.uint64(0)
    indptr[0] = total
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += np.uint64(X[i, j] != 0)
        indptr[i + 1] = total


@compiled
def pack_nonzeros(X, indices, data):
    """Fill the indices and data of dense X without its zeros."""
    k = np.uint64(0)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                indices[k], data[k] = j, X[i, j]
                k += np.uint64(1)
