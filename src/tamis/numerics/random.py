"""Counter-based random numbers: a function of (key, position), so that no state is carried and any
thread may ask.
"""

import numpy as np

from tamis.numerics.numba import helper

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
ONE, S27, S30, S31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)


@helper
def mixed(x):
    """A uint64 whose bits all depend on all bits of x (the finaliser of SplitMix64)."""
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


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
            left, right = right, left ^ (mixed(right + (key + r) * GOLDEN) & mask)
        position = (left << bits) | right
        if position < n:
            return position
