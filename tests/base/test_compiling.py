"""What is compiled, and how often: helpers, widths of rows, garbage meanwhile."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.numerics.csr import csr_from_scipy
from tamis.numerics.numba import _dispatcher, compiled_helper


@compiled_helper
def twice(number):
    """Two of it."""
    return number + number


def jit_sum(number):
    """Calls a helper with numbers written out and with one that is not."""
    return twice(-1) + twice(number) + twice(2) - 1


def test_a_helper_is_compiled_once_whatever_numbers_its_callers_write():
    """Numba would compile one version for -1 and one for whole numbers."""
    assert _dispatcher(jit_sum, False, {})(5) == 11  # not from the cache of the last run
    assert len(twice.signatures) == 1


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_rows_handed_to_scipy_keep_their_width(width):
    """Else what is cut from them (folds, rows held out) is a second compilation of every loop."""
    X = sp.csr_array(np.eye(4))
    X.indices, X.indptr = X.indices.astype(width), X.indptr.astype(width)
    rows = csr_from_scipy(X)
    assert rows.to_scipy().indices.dtype == width
    assert np.shares_memory(rows.to_scipy().indices, X.indices)
    assert rows.select_rows(np.array([2, 0])).indices.dtype == rows.indices.dtype


def test_compiling_leaves_the_collector_of_garbage_as_it_was():
    """Garbage is not collected while Numba compiles."""
    for usual in (False, True):
        (gc.enable if usual else gc.disable)()
        try:
            jit_sum(5.0 if usual else np.int32(5))
            assert gc.isenabled() == usual
        finally:
            gc.enable()
