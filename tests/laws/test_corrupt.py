"""Corrupt index arrays are a ValueError, never a crash: all cases run in processes of their own, so
that a crash is seen.
"""

import functools
import json

import pytest
from processes import run_process

# Each line of `CASES` spoils one array of a good matrix; SciPy lets all of them through.
SPOIL = r"""
import json, sys, warnings
import numpy as np, scipy.sparse as sp

warnings.simplefilter("ignore")
HUGE = 10**6

def base(form, kind=float):
    rng = np.random.default_rng(0)
    X = (np.ceil(4 * rng.random((6, 8))) * (rng.random((6, 8)) < 0.5)).astype(kind)
    X[0, 0] = X[5, 7] = 1.0
    if form == "bsr":
        return sp.bsr_array(X, blocksize=(2, 2))
    return getattr(sp, form)(X)

def place(array, at, value):
    array = array.copy()
    array[at] = value
    return array

def widen(m):
    m.indices, m.indptr = m.indices.astype(np.int64), m.indptr.astype(np.int64)

COMPRESSED = {
    "negative index": lambda m: setattr(m, "indices", place(m.indices, 1, -1)),
    "very negative index": lambda m: setattr(m, "indices", place(m.indices, 1, -(2**31))),
    "index too large": lambda m: setattr(m, "indices", place(m.indices, 2, 8)),
    "index far too large": lambda m: setattr(m, "indices", place(m.indices, 2, HUGE)),
    "last index too large": lambda m: setattr(m, "indices", place(m.indices, -1, HUGE)),
    "falling pointers": lambda m: setattr(m, "indptr", place(m.indptr, 1, m.indptr[2] + 1)),
    "negative pointer": lambda m: setattr(m, "indptr", place(m.indptr, 1, -5)),
    "wrong first pointer": lambda m: setattr(m, "indptr", place(m.indptr, 0, 1)),
    "negative first pointer": lambda m: setattr(m, "indptr", place(m.indptr, 0, -1)),
    "last pointer too large": lambda m: setattr(m, "indptr", place(m.indptr, -1, HUGE)),
    "middle pointer too large": lambda m: setattr(m, "indptr", place(m.indptr, 2, HUGE)),
    "short pointers": lambda m: setattr(m, "indptr", m.indptr[:-1].copy()),
    "long pointers": lambda m: setattr(m, "indptr", np.r_[m.indptr, m.indptr[-1:]]),
    "no pointers": lambda m: setattr(m, "indptr", m.indptr[:0].copy()),
    "short data": lambda m: setattr(m, "data", m.data[:3].copy()),
    "short indices": lambda m: setattr(m, "indices", m.indices[:3].copy()),
    "no data": lambda m: setattr(m, "data", m.data[:0].copy()),
    "64-bit negative": lambda m: (widen(m), setattr(m, "indices", place(m.indices, 1, -1))),
    "64-bit too large": lambda m: (widen(m), setattr(m, "indices", place(m.indices, 1, 2**40))),
    "64-bit pointer": lambda m: (widen(m), setattr(m, "indptr", place(m.indptr, -1, 2**40))),
    "unsigned too large": lambda m: setattr(
        m, "indices", place(m.indices.astype(np.uint32), 1, 2**32 - 1)
    ),
}
COORDINATES = {
    "negative row": lambda m: setattr(m, "coords", (place(m.coords[0], 1, -1), m.coords[1])),
    "row too large": lambda m: setattr(m, "coords", (place(m.coords[0], 1, HUGE), m.coords[1])),
    "negative column": lambda m: setattr(m, "coords", (m.coords[0], place(m.coords[1], 1, -1))),
    "column too large": lambda m: setattr(m, "coords", (m.coords[0], place(m.coords[1], 1, 8))),
    "column far too large": lambda m: setattr(
        m, "coords", (m.coords[0], place(m.coords[1], 1, HUGE))
    ),
    "short data": lambda m: setattr(m, "data", m.data[:2].copy()),
    "short rows": lambda m: setattr(m, "coords", (m.coords[0][:2].copy(), m.coords[1])),
    "short columns": lambda m: setattr(m, "coords", (m.coords[0], m.coords[1][:2].copy())),
}
# Odd types of indices may be read as SciPy reads them or be refused, but never be misread and
# never crash.
ODD = {
    "int8 indices": lambda m: setattr(m, "indices", m.indices.astype(np.int8)),
    "int16 indices": lambda m: setattr(m, "indices", m.indices.astype(np.int16)),
    "uint8 indices": lambda m: setattr(m, "indices", m.indices.astype(np.uint8)),
    "uint64 indices": lambda m: setattr(m, "indices", m.indices.astype(np.uint64)),
    "float32 indices": lambda m: setattr(m, "indices", m.indices.astype(np.float32)),
    "float64 indices": lambda m: setattr(m, "indices", m.indices.astype(np.float64)),
    "fractional indices": lambda m: setattr(m, "indices", m.indices + 0.5),
    "nan pointers": lambda m: setattr(m, "indptr", place(m.indptr.astype(float), 2, np.nan)),
    "int16 pointers": lambda m: setattr(m, "indptr", m.indptr.astype(np.int16)),
    "float64 pointers": lambda m: setattr(m, "indptr", m.indptr.astype(np.float64)),
    "strided indices": lambda m: setattr(m, "indices", np.repeat(m.indices, 2)[::2]),
    "strided data": lambda m: setattr(m, "data", np.repeat(m.data, 2, axis=0)[::2]),
}
"""
RUN = r"""
from tamis import FOBOSClassifier

y = np.array([0, 1, 0, 1, 1, 0])
fitted = FOBOSClassifier().partial_fit(base("csr_array"), y, classes=[0, 1])
truth = fitted.decision_function(base("csr_array"))
once = lambda: FOBOSClassifier(shuffle=False, max_iter=1, tol=None)
growing = lambda: FOBOSClassifier(grow=True)
calls = {
    "fit": lambda X: once().fit(X, y).decision_function(base("csr_array")),
    "partial_fit": lambda X: growing().partial_fit(X, y).decision_function(base("csr_array")),
    "score": fitted.decision_function,
}
found = {}
for form, case in json.loads(sys.argv[1]):
    table = COORDINATES if form == "coo_array" else ODD if case == "odd" else COMPRESSED
    results = found.setdefault(f"{form} {case}", {})
    for name, spoil in table.items():
        for kind in (float, np.float32, np.int64):
            for call, learn in calls.items():
                X = base(form, kind)
                try:
                    spoil(X)
                except Exception:
                    continue  # SciPy itself refuses
                about = f"{name}, {kind.__name__}, {call}"
                # The last line before a crash.
                print(form, case, about, file=sys.stderr, flush=True)
                try:
                    result = learn(X)
                    well = np.allclose(result, truth, rtol=1e-4)
                    results[about] = "read well" if well else f"misread {result}"
                except (ValueError, TypeError) as error:
                    results[about] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""
BAD = ["csr_array", "csr_matrix", "csc_array", "coo_array", "bsr"]
STRANGE = ["csr_array", "csc_array", "bsr"]


@functools.cache
def all_results():
    """What each spoilt matrix led to, in one process: a crash shows where it was."""
    cases = [*((form, "bad") for form in BAD), *((form, "odd") for form in STRANGE)]
    return json.loads(run_process(SPOIL + RUN, json.dumps(cases)))


def results_of(form, case):
    """What each spoilt matrix of a form led to."""
    return all_results()[f"{form} {case}"]


@pytest.mark.parametrize("form", BAD)
def test_corrupt_arrays_are_refused(form):
    results = results_of(form, "bad")
    assert len(results) >= 60
    taken = {name: said for name, said in results.items() if not said.startswith("ValueError")}
    assert not taken, taken


@pytest.mark.parametrize("form", STRANGE)
def test_odd_arrays_are_refused_or_read_well(form):
    results = results_of(form, "odd")
    assert len(results) >= 60
    assert not {name: said for name, said in results.items() if said.startswith("misread")}


def test_the_words_name_the_array_and_the_way_out():
    results = results_of("csr_array", "bad")
    assert "column index -1 is outside 0..7" in results["negative index, float, fit"]
    assert "column index 1000000 is outside 0..7" in results["index far too large, float, score"]
    assert "indptr must start at 0, never fall" in results["falling pointers, float, partial_fit"]
    for name in ("negative index", "falling pointers", "short data"):
        assert "sparse X in CSR format" in results[f"{name}, float, fit"]
        assert "scipy.sparse" in results[f"{name}, float, fit"]
