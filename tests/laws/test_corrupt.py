"""Corrupt index arrays raise ValueError and never crash.

One model is tried in a separate process, so that a crash is visible.
"""

import ast
import functools
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from odd import quick, takes_classes
from processes import run_process
from registry import ESTIMATORS

import tamis

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
    taken = {
        name: outcome for name, outcome in results.items() if not outcome.startswith("ValueError")
    }
    assert not taken, taken


@pytest.mark.parametrize("form", STRANGE)
def test_odd_arrays_are_refused_or_read_well(form):
    results = results_of(form, "odd")
    assert len(results) >= 60
    assert not {name: outcome for name, outcome in results.items() if outcome.startswith("misread")}


def test_the_words_name_the_array_and_the_way_out():
    results = results_of("csr_array", "bad")
    assert "column index -1 is outside 0..7" in results["negative index, float, fit"]
    assert "column index 1000000 is outside 0..7" in results["index far too large, float, score"]
    assert "indptr must start at 0, never fall" in results["falling pointers, float, partial_fit"]
    for name in ("negative index", "falling pointers", "short data"):
        assert "sparse X in CSR format" in results[f"{name}, float, fit"]
        assert "scipy.sparse" in results[f"{name}, float, fit"]


# --------------------------------------------------------------------------- every method
X = tiny.matrix(24, 6)
X[0, 0] = X[5, 5] = 1.0


def spoilt(form, array, at, value, matrix=X):
    """A matrix of which one entry of one array is wrong."""
    found = getattr(sp, form)(matrix)
    wrong = getattr(found, array).copy()
    wrong[at] = value
    setattr(found, array, wrong)
    return found


def wrong_column(matrix=X):
    found = sp.coo_array(matrix)
    found.coords = (found.coords[0], np.where(found.coords[1] == 5, 10**6, found.coords[1]))
    return found


def short(form):
    found = getattr(sp, form)(X)
    found.data = found.data[:3].copy()
    return found


def fractional_offsets():
    found = sp.dia_array(X)
    found.offsets = found.offsets + 0.5
    return found


def uneven_lists():
    found = sp.lil_array(X)
    found.rows[1], found.data[1] = [0, 1, 2], [1.0]
    return found


CORRUPT = [
    spoilt("csr_array", "indices", 2, 10**6),
    spoilt("csr_matrix", "indices", 1, -(10**6)),
    spoilt("csr_array", "indptr", 1, 40),
    spoilt("csr_array", "indptr", -1, 10**8),
    spoilt("csc_array", "indices", 2, 10**6),
    spoilt("csc_matrix", "indptr", -1, 10**8),
    wrong_column(),
    *(short(form) for form in ("csr_array", "csc_array", "coo_array")),
    uneven_lists(),
    fractional_offsets(),
]


WITHOUT_TARGETS = ("DataThresholder", "LowRankFactorization", "Table")


def methods_of(cls):
    """Names of the public methods that take rows."""
    for name, method in inspect.getmembers(cls, callable):
        parameters = (
            [] if name.startswith(("_", "set_")) else [*inspect.signature(method).parameters]
        )
        if parameters[1:2] in (["X"], ["Z"]):
            yield name


def targets_of(model):
    return (tiny.signs(X) > 0).astype(int) if takes_classes(model) else tiny.numbers(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_method_refuses_corrupt_matrices(cls):
    """SciPy and scikit-learn convert them, and read or write past the end of their arrays."""
    fitted = quick(cls)
    y = targets_of(fitted)
    fitted.fit(X, y)
    for name in methods_of(cls):
        if not hasattr(fitted, name):
            continue
        trains = name in ("fit", "fit_transform", "partial_fit")
        method = getattr(quick(cls) if trains else fitted, name)
        known = inspect.signature(method).parameters
        arguments = {"y": y, "classes": [0, 1], "radii": [1.0], "alphas": [1.0], "max_error": 0.1}
        more = {key: value for key, value in arguments.items() if key in known}
        for matrix in CORRUPT:
            with pytest.raises(ValueError, match=r"sparse X in [A-Z]{3} format"):
                method(matrix, **more)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_fit_refuses_corrupt_targets(cls):
    labels = (X[:, :3] > 0).astype(float)
    spoilt_targets = [
        spoilt("csr_array", "indices", 2, 10**6, labels),
        spoilt("csc_array", "indptr", -1, 10**8, labels),
        wrong_column(np.c_[labels, labels]),
    ]
    if "y" in inspect.signature(cls.fit).parameters and cls.__name__ not in WITHOUT_TARGETS:
        for y in spoilt_targets:
            with pytest.raises((ValueError, TypeError)):
                quick(cls).fit(X, y)


def test_functions_refuse_corrupt_matrices():
    y = (tiny.signs(X) > 0).astype(int)
    model = tamis.FOBOSClassifier().fit(X, y)
    for matrix in CORRUPT:
        for call in (
            lambda X: tamis.compare({"a": tamis.FOBOSClassifier()}, X, y, runs=2),
            lambda X: tamis.report(model, X, y),
            lambda X: tamis.groups_by_correlation(X),
            lambda X: tamis.groups_from_dummies(X),
            lambda X: tamis.FDRSelector().fit_rows([(X, y)]),
            lambda X: tamis.selection_stability(X),
        ):
            with pytest.raises(ValueError, match=r"sparse .* format"):
                call(matrix)


@pytest.mark.parametrize("function", ["open_rows", "distributed.column_statistics"])
def test_functions_that_take_blocks_or_names_iterate_over_no_matrix(function):
    """SciPy slices a matrix by columns for its rows, and reads past the end of its arrays."""
    code = r"""
import sys, operator, scipy.sparse as sp, tamis
for wide in (10**6, 10**9):
    matrix = sp.csc_array([[1.0, 0.0], [2.0, 3.0]])
    matrix.indices = matrix.indices + wide
    try:
        operator.attrgetter(sys.argv[1])(tamis)(matrix)
    except TypeError as error:
        print(error)
"""
    assert run_process(code, function).count("csc_array") == 2


def test_rows_pass_one_door():
    """scikit-learn's functions convert before they look; those of `looks` look first."""
    home = Path(tamis.__file__).parent
    doors = {"check_array", "check_X_y", "validate_data", "SelectorMixin"}
    known = {"base/fast_checks.py", "base/estimators/selector.py"}
    for path in sorted(home.rglob("*.py")):
        imported = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
            for alias in node.names
        }
        assert path.relative_to(home).as_posix() in known or not imported & doors, path
