"""Counter-based random numbers: functions of (key, position), without state, for any thread."""

import numpy as np

from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import compiled_helper


@compiled_helper
def permuted_index(position, n, key):
    """Return the image of `position` under a permutation of 0..n-1 that `key` selects.

    The permutation is a Feistel network with cycle walking.
    """
    bits = ONE
    while (n - ONE) >> (bits + bits):
        bits += ONE
    mask = (ONE << bits) - ONE
    while True:
        left, right = position >> bits, position & mask
        for r in range(np.uint64(4)):
            left, right = right, left ^ (mix64(right + (key + r) * GOLDEN) & mask)
        position = (left << bits) | right
        if position < n:
            return position
