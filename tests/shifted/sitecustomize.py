"""Shifts every whole-numbered seed by ``TAMIS_TEST_SEED``, in the process that imports this and in
those that it starts.

A test that passes with its own seed and fails with another holds by luck. Seeds pass through two
doors, NumPy's `default_rng` and scikit-learn's `check_random_state`; both are replaced before any
test or model is imported, so that the random data of the tests and the `random_state` of the models
move together. Types stay as they are. Python imports a file of this name when it starts.
"""

import functools
import os
from numbers import Integral

import numpy as np
import sklearn.utils

SHIFT = int(os.environ.get("TAMIS_TEST_SEED") or 0)


def moved(seed):
    """The seed, shifted if it is one that both doors take."""
    if isinstance(seed, (list, tuple)):
        return [moved(part) for part in seed]
    if isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= seed < 2**32:
        return (int(seed) + SHIFT) % 2**32
    return seed


def shifting(make):
    """The door, seeds shifted on their way in."""

    @functools.wraps(make)
    def door(seed=None):
        return make(moved(seed))

    return door


# A process started by a test may come here twice.
if SHIFT and not hasattr(np.random.default_rng, "__wrapped__"):
    np.random.default_rng = shifting(np.random.default_rng)
    sklearn.utils.check_random_state = shifting(sklearn.utils.check_random_state)
