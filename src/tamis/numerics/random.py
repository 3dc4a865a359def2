"""Counter-based random numbers: a function of (key, position), so that no state is carried and any
thread may ask.
"""

import numpy as np

from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import helper


@helper
def shuffled(position, n, key):
    """Image of `position` under the permutation of 0..n-1 named by `key` (Feistel network, cycle
    walking).
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
