"""Forms of input: the same numbers in any container give the same bits.

Input is never changed; names are kept.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import tiny
from odd import quick, takes_classes
from registry import ESTIMATORS, MODELS, STREAMS
from sklearn.base import is_classifier
from tiny import one_pass, quiet

import tamis
from tamis import (
    FDRSelector,
    FOBOSClassifier,
    FTRLClassifier,
    OnlineClassifier,
    SOFSClassifier,
    Table,
)
from tamis.base.validation import validate_matrix
from tamis.numerics.csr import has_duplicates

N = 30
X = tiny.matrix(N, 6)  # exact in float32
NAMES = [f"word {k}" for k in range(6)]


def unsorted(X):
    rows = sp.csr_array(X)
    for i in range(N):
        span = slice(rows.indptr[i], rows.indptr[i + 1])
        rows.indices[span], rows.data[span] = (
            rows.indices[span][::-1].copy(),
            rows.data[span][::-1].copy(),
        )
    rows.has_sorted_indices = False
    return rows


def duplicated(X):
    """Every entry as two that sum to it without rounding, and a pair that cancels."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    extra = ([0, 0], [3, 3], [1.5, -1.5])
    at = (np.r_[rows, rows, extra[0]], np.r_[columns, columns, extra[1]])
    coo = sp.coo_array((np.r_[values * 0.5, values * 0.5, extra[2]], at), shape=X.shape)
    order = np.argsort(coo.row, kind="stable")
    pointers = np.r_[0, np.cumsum(np.bincount(coo.row, minlength=len(X)))]
    return sp.csr_array(
        (coo.data[order], coo.col[order].astype(np.int32), pointers.astype(np.int32)), shape=X.shape
    )


def explicit_zeros(X):
    full = sp.csr_array(np.ones_like(X))
    full.data[:] = X.ravel()
    full.data[full.data == 0.0] = np.where(np.arange((full.data == 0.0).sum()) % 2, 0.0, -0.0)
    return full


def surplus(X):
    """Arrays longer than the last pointer, as SciPy leaves them behind."""
    rows = sp.csr_array(X)
    rows.data, rows.indices = (
        np.r_[rows.data, np.nan, 7.0],
        np.r_[rows.indices, np.array([10**6, -1], dtype=np.int32)],
    )
    return rows


def wide(X, form=sp.csr_array):
    rows = form(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def mixed(X):
    rows = sp.csr_array(X)
    rows.indptr = rows.indptr.astype(np.int64)
    return rows


FORMS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "swapped bytes": lambda X: X.astype(X.dtype.newbyteorder()),
    "list": lambda X: X.tolist(),
    "DataFrame": pd.DataFrame,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo": sp.coo_array,
    "bsr": lambda X: sp.bsr_array(X, blocksize=(2, 3)),
    "lil": sp.lil_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "int64 indices": wide,
    "int64 indices, matrix": lambda X: wide(X, sp.csr_matrix),
    "int64 indices, csc": lambda X: wide(X, sp.csc_array),
    "int64 pointers": mixed,
    "unsorted": unsorted,
    "duplicated": duplicated,
    "explicit zeros": explicit_zeros,
    "surplus": surplus,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
    "float32 unsorted": lambda X: unsorted(X.astype(np.float32)),
    "float32 int64": lambda X: wide(X.astype(np.float32)),
    "longdouble": lambda X: X.astype(np.longdouble),
}


# Sums over a row are rounded in the order of its columns, and streams do not sort them.
SHUFFLED = ("unsorted", "float32 unsorted")


def fit(model, X, y):
    return quiet(model.fit, X, y)


# --------------------------------------------------------------------------- the same numbers
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_bits(interpreted, form):
    y = (tiny.signs(X) > 0).astype(int)
    parameters = {"penalty": "elasticnet", "average": True}
    container = FORMS[form](X)
    model, other = (
        fit(one_pass(OnlineClassifier, **parameters), X, y),
        fit(one_pass(OnlineClassifier, **parameters), container, y),
    )
    if form in SHUFFLED:
        tiny.assert_close(model, other, X, wide=container)
    else:
        tiny.assert_same(model, other, X)
        assert np.array_equal(model.decision_function(X), other.decision_function(container))
    assert other.n_features_in_ == 6


SIBLINGS = (
    ("FOBOSRegressor", "FTRL", "RDA", "Truncated", "OnlineClassifier", "OnlineRegressor"),
    ("OnlineGroupLassoRegressor",),
)  # of FOBOSClassifier and OnlineGroupLassoClassifier
BY_LOOP = [cls for cls in MODELS if not cls.__name__.startswith(sum(SIBLINGS, ()))]


@pytest.mark.parametrize(
    ("form", "cls"),
    [
        (form, cls)
        for form in (
            "csr_matrix",
            "float32",
            "float32 csr",
            "int64 indices",
            "float32 int64",
            "explicit zeros",
        )
        # Every model on either type; on both at once one a loop, since models that share a loop
        # differ in what it calls, not in what it reads.
        for cls in (BY_LOOP if form == "float32 int64" else MODELS)
    ],
)
def test_compiled_recipes_on_every_type_of_numbers(form, cls):
    """All the types of arrays that reach compiled code: two of values, two of indices."""
    y = tiny.targets_for(cls(), X)
    model, other = (
        fit(cls(random_state=0, max_iter=2, tol=None), X, y),
        fit(cls(random_state=0, max_iter=2, tol=None), FORMS[form](X), y),
    )
    tiny.assert_same(model, other, X, wide=FORMS[form](X))


@pytest.mark.parametrize(
    "form",
    ["unsorted", "duplicated", "explicit zeros", "surplus", "coo", "float32 unsorted", "list"],
)
def test_trusted_rows_are_canonical(interpreted, form):
    """What reaches the loops: sorted, without duplicates and zeros, unsigned, read-only."""
    rows = validate_matrix(FOBOSClassifier(), FORMS[form](X), reset=True)
    wanted = sp.csr_array(X)
    assert np.array_equal(rows.data[: wanted.nnz], wanted.data)
    assert np.array_equal(rows.indices[: wanted.nnz], wanted.indices)
    assert np.array_equal(rows.indptr, wanted.indptr)
    assert [array.dtype.kind for array in rows[:3]] == ["f", "u", "u"]
    assert not any(array.flags.writeable for array in rows[:3])


@pytest.mark.parametrize("cls", STREAMS)
def test_the_order_of_a_rows_columns_is_a_matter_of_rounding(cls):
    y, container = tiny.targets_for(cls(), X), unsorted(X)
    model, other = (
        fit(cls(random_state=0, max_iter=2, tol=None), rows, y) for rows in (X, container)
    )
    same = tiny.assert_same if cls is SOFSClassifier else tiny.assert_close  # its ties need order
    same(model, other, X)
    tiny.assert_close(model, other, X, wide=container)


def test_rows_of_any_order_are_taken_as_they_are_but_for_duplicates(interpreted):
    container = unsorted(X)
    rows = validate_matrix(FOBOSClassifier(), container, reset=True, ordered=False)
    assert np.shares_memory(rows.data, container.data)
    assert np.array_equal(rows.indices, container.indices)
    rows = validate_matrix(FOBOSClassifier(), duplicated(X), reset=True, ordered=False)
    assert np.array_equal(rows.indices, sp.csr_array(X).indices)
    assert np.array_equal(rows.data, sp.csr_array(X).data)


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize("length", [2, 5, 70, 256, 257, 3000])
def test_duplicates_are_found_in_rows_of_any_length(length, index):
    """Short rows meet in a small table, long ones go to a hash set at once."""
    random = np.random.default_rng(length)
    high = np.iinfo(np.uint32).max if index is np.uint32 else 2**62
    columns = np.unique(random.integers(0, high, 2 * length)).astype(index)
    for turn in range(40):
        many = [random.choice(columns, length, replace=False) for _ in range(8)]
        indptr = np.arange(9, dtype=np.uint64) * np.uint64(length)
        indices = np.concatenate(many)
        assert not has_duplicates(indptr, indices)
        first, second = random.choice(length, 2, replace=False)
        row = length * (turn % 8)
        indices[row + first] = indices[row + second]
        assert has_duplicates(indptr, indices)


def test_a_column_in_two_rows_is_no_duplicate():
    """Marks of earlier rows, more of them than marks can tell apart, mean nothing."""
    indices = np.tile(np.array([7, 3, 5], np.uint32), 1000)
    indptr = np.arange(1001, dtype=np.uint64) * np.uint64(3)
    assert not has_duplicates(indptr, indices)
    indices[-1] = 7
    assert has_duplicates(indptr, indices)


@pytest.mark.parametrize("cls", STREAMS)
def test_nonzeros_are_counted_alike_where_columns_outnumber_them(cls):
    """There, only columns that occur are looked at after each pass, unless the fit goes on."""
    wide = np.zeros((N, 3 * X.size))
    wide[:, 5 : 5 + 6 * 7 : 7] = X
    wide = sp.csr_array(wide)
    assert wide.nnz < wide.shape[1]
    y = tiny.targets_for(cls(), X)
    model = fit(cls(random_state=0, max_iter=3, tol=None, warm_start=True), wide, y)
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_)
    assert np.count_nonzero(model.coef_) > 1, "the second fit would see all weights in its columns"
    narrow = sp.csr_array(wide)
    narrow.data[narrow.indices > 5] = 0.0
    fit(model, narrow, y)
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_)


@pytest.mark.parametrize(
    ("container", "cls"),
    [
        *((container, cls) for container in ({}, {"early_stopping": True}) for cls in STREAMS),
        *(({"average": True}, cls) for cls in (FOBOSClassifier, FTRLClassifier)),
    ],
)
def test_columns_that_do_not_occur_change_no_bit(container, cls):
    """Where they are many, the passes walk the others alone."""
    if not set(container) <= set(cls().get_params()):
        pytest.skip("has no such parameter")
    wide, y = np.zeros((N, 3 * X.size)), tiny.targets_for(cls(), X)
    wide[:, 5 : 5 + 6 * 7 : 7] = X
    makers = [cls(random_state=0, max_iter=3, tol=None, **container) for _ in range(2)]
    a, b = (
        fit(model, sp.csr_array(rows), y) for model, rows in zip(makers, (X, wide), strict=True)
    )
    assert np.array_equal(a.coef_, b.coef_[..., 5 : 5 + 6 * 7 : 7])
    assert np.array_equal(a.intercept_, b.intercept_)
    assert a.history_ == b.history_
    assert (a.t_, a.n_iter_, a.support_.size) == (b.t_, b.n_iter_, b.support_.size)


@pytest.mark.filterwarnings("ignore:.*kept no feature")
@pytest.mark.parametrize("cls", STREAMS)
def test_rows_without_a_number_are_learnt(cls):
    y = tiny.targets_for(cls(), X)
    model = fit(cls(random_state=0, max_iter=2, tol=None), sp.csr_array((N, 9)), y)
    assert not model.coef_.any()
    assert model.history_[-1]["nonzeros"] == 0


def test_columns_that_occur(interpreted):
    container = unsorted(X)
    rows = validate_matrix(FOBOSClassifier(), container, reset=True, ordered=False)
    for some, of in ((rows, container), (rows.row_slice(3, 5), container[3:5])):
        columns, packed = some.packed_columns()
        assert columns.tolist() == np.unique(of.indices).tolist()
        assert packed.n_features == len(columns)
        first, last = some.indptr[[0, -1]]
        assert (columns[packed.indices[first:last]] == some.indices[first:last]).all()


def test_integers_and_booleans(interpreted):
    whole = np.round(3 * X)
    y = (tiny.signs(X) > 0).astype(int)
    model = fit(one_pass(FOBOSClassifier), whole, y)
    for kind in (np.int64, np.int8, np.int32):
        tiny.assert_same(model, fit(one_pass(FOBOSClassifier), whole.astype(kind), y), whole)
        tiny.assert_same(
            model, fit(one_pass(FOBOSClassifier), sp.csr_array(whole.astype(kind)), y), whole
        )
    tiny.assert_same(
        fit(one_pass(FOBOSClassifier), (X != 0) * 1.0, y),
        fit(one_pass(FOBOSClassifier), X != 0, y),
        X,
    )


def test_a_wrong_flag_of_scipy_is_not_believed(interpreted):
    y = (tiny.signs(X) > 0).astype(int)
    lying = unsorted(X)
    lying.has_sorted_indices = lying.has_canonical_format = True
    tiny.assert_close(
        fit(one_pass(FOBOSClassifier), X, y), fit(one_pass(FOBOSClassifier), lying, y), X
    )


# --------------------------------------------------------------------------- mutation
def arrays_of(container):
    if sp.issparse(container):
        names = {"coo": ("row", "col", "data"), "dia": ("offsets", "data")}.get(
            container.format, ("indptr", "indices", "data")
        )
        return (
            [getattr(container, name) for name in names]
            if container.format not in ("lil", "dok")
            else []
        )
    return [container] if isinstance(container, np.ndarray) else []


@pytest.mark.parametrize("form", FORMS)
def test_input_is_never_mutated_and_may_be_read_only(interpreted, form):
    y, weights = (tiny.signs(X) > 0).astype(int), tiny.weights(N)
    container = FORMS[form](X)
    copies = [a.copy() for a in arrays_of(container)]
    for array in (*arrays_of(container), y, weights):
        array.flags.writeable = False
    model = one_pass(FOBOSClassifier, class_weight="balanced", early_stopping=True)
    quiet(model.fit, container, y, sample_weight=weights)
    quiet(model.partial_fit, container, y, sample_weight=weights)
    model.predict(container)
    assert all(
        a.tobytes() == b.tobytes() and a.dtype == b.dtype
        for a, b in zip(arrays_of(container), copies, strict=True)
    )


@pytest.mark.parametrize("cls", MODELS)
def test_read_only_memory_maps(cls, tmp_path):
    rows, y = sp.csr_array(X), tiny.targets_for(cls(), X)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(rows, name))
    np.save(tmp_path / "dense.npy", X)
    arrays = [
        np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")
    ]
    mapped = sp.csr_array(tuple(arrays), shape=X.shape)
    model = fit(cls(random_state=0, max_iter=2, tol=None), X, y)
    tiny.assert_same(
        model, fit(cls(random_state=0, max_iter=2, tol=None), mapped, y), X, wide=mapped
    )
    dense = np.load(tmp_path / "dense.npy", mmap_mode="r")
    tiny.assert_same(model, fit(cls(random_state=0, max_iter=2, tol=None), dense, y), X, wide=dense)
    assert np.array_equal(np.load(tmp_path / "data.npy"), rows.data)


def test_the_model_keeps_no_view_of_the_input(interpreted):
    rows, y = X.copy(), (tiny.signs(X) > 0).astype(int)
    model = fit(one_pass(FTRLClassifier), rows, y)
    before = tiny.shown(model, X)
    rows[:], y[:] = 1e9, 0
    after = tiny.shown(model, X)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    model.coef_[:] = 7.0  # a copy, made on demand
    assert np.array_equal(model.coef_, before["coef_"])


# --------------------------------------------------------------------------- names
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize(
    "frame",
    [lambda X: pd.DataFrame(X, columns=NAMES), lambda X: pl.DataFrame(X, schema=NAMES)],
    ids=["pandas", "polars"],
)
def test_column_names_are_kept_and_checked(cls, frame):
    y = tiny.targets_for(cls(), X)
    model = fit(one_pass(cls), frame(X), y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_[model.support_].tolist() == [NAMES[k] for k in model.support_]
    tiny.assert_same(fit(one_pass(cls), X, y), model, X, wide=frame(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X)[NAMES[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


def test_targets_in_series_and_strings(interpreted):
    y = np.where(tiny.signs(X) > 0, "ham", "spam")
    model = fit(one_pass(FOBOSClassifier), X, y)
    assert model.classes_.tolist() == ["ham", "spam"]
    for same in (pd.Series(y), y.tolist(), y.astype(object), pl.Series(y), y[:, None]):
        other = fit(one_pass(FOBOSClassifier), X, same)
        tiny.assert_same(model, other, X)
        assert other.predict(X).tolist() == model.predict(X).tolist()


# ------------------------------------------------------------------------- wrong shapes and numbers
@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize(
    "form",
    [np.asarray, sp.csr_array, sp.csc_array, lambda X: X.astype(np.float32)],
    ids=["dense", "csr", "csc", "float32"],
)
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_not_a_number_is_refused_by_name(cls, form, value, word):
    bad = X.copy()
    bad[7, 2] = value
    y = tiny.targets_for(cls(), X)
    model = fit(one_pass(cls), X, y)
    for call in (
        lambda: cls().fit(form(bad), y),
        lambda: model.partial_fit(form(bad), y),
        lambda: model.predict(form(bad)),
    ):
        with pytest.raises(ValueError, match=f"Input X contains {word}"):
            call()


@pytest.mark.parametrize("cls", STREAMS)
def test_wrong_widths_and_lengths_are_refused(cls):
    y = tiny.targets_for(cls(), X)
    model = fit(one_pass(cls), X, y)
    for call in (
        lambda: model.partial_fit(X[:, :4], y),
        lambda: model.predict(X[:, :4]),
        lambda: model.predict(np.hstack([X, X])),
    ):
        with pytest.raises(ValueError, match="features"):
            call()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cls().fit(X, y[:-1])
    with pytest.raises(ValueError, match="None"):
        cls().fit(X, None)
    if not is_classifier(cls()):
        with pytest.raises(ValueError, match="y contains NaN"):
            cls().fit(X, np.r_[np.nan, y[1:]])
        with pytest.raises(ValueError, match="begun with 1"):
            model.partial_fit(X, np.c_[y, y])


# --------------------------------------------------------------------------- what is no input
HUGE = 10**400  # no float holds it
NO_TARGETS = ("DataThresholder", "LowRankFactorization", "Table")


def with_huge(rows):
    rows = rows.astype(object)
    rows.flat[3] = HUGE
    return rows


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if cls is not Table])
def test_what_is_no_input_is_refused_with_a_sentence(cls):
    y = (tiny.signs(X) > 0).astype(int) if takes_classes(quick(cls)) else tiny.numbers(X)
    repeated = pd.DataFrame(X, columns=["a", "b", "c", "a", "e", "f"])
    masked = np.ma.masked_equal(X, X[1, 0])
    for rows in (
        with_huge(X),
        with_huge(X).tolist(),
        np.array(1.0),
        repeated,
        repeated[[]],
        masked,
    ):
        with pytest.raises(ValueError, match=r"X|array"):
            quick(cls).fit(rows, y)
    if cls.__name__ not in NO_TARGETS:
        masked = np.ma.array(y, mask=np.arange(N) == 1)
        for targets in (np.array(1), with_huge(y), with_huge(y).tolist(), masked):
            with pytest.raises(ValueError, match=r"y|label"):
                quick(cls).fit(X, targets)


def test_masked_classes_are_refused():
    words = np.ma.array(np.where(np.arange(N) % 2, "a", "b"), mask=np.arange(N) == 1)
    with pytest.raises(ValueError, match="y contains NaN"):
        FOBOSClassifier().fit(X, words)
    with pytest.raises(ValueError, match="y contains NaN"):
        FOBOSClassifier().partial_fit(X, words, classes=["a", "b"])
    with pytest.raises(ValueError, match="y contains NaN"):
        FOBOSClassifier().fit(X, words == "a")


def test_tables_of_arrow_are_frames():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra arrow)")
    names, columns = list("abcdef"), [pyarrow.array(column) for column in X.T]
    y = np.arange(N) % 2
    model = FOBOSClassifier().fit(pyarrow.table(columns, names=names), y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="2 columns named 'a'"):
        FOBOSClassifier().fit(pyarrow.table(columns, names=["a", *"abcde"]), y)


@pytest.mark.parametrize("name", ["alpha", "eta", "tol", "max_iter"])
def test_parameters_that_no_float_holds_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        FOBOSClassifier(**{name: HUGE}).fit(X, np.arange(N) % 2)


def test_weights_that_no_float_holds_are_refused():
    for weight in (HUGE, [HUGE] + [1] * (N - 1)):
        with pytest.raises(ValueError, match="sample_weight"):
            FOBOSClassifier().fit(X, np.arange(N) % 2, sample_weight=weight)


def test_words_beside_numbers_are_no_classes():
    words = np.where(np.arange(N) % 2, "a", "b")
    sides = np.arange(N) % 2
    for classes in ([0, "a"], np.array([0, "a"], dtype=object), [0, None], [None, None]):
        with pytest.raises(ValueError, match="kinds"):
            FOBOSClassifier().partial_fit(X, sides, classes=classes)
    with pytest.raises(ValueError, match="empty"):
        FOBOSClassifier().partial_fit(X, sides, classes=[])
    begun = FOBOSClassifier().partial_fit(X, sides, classes=[0, 1, 2])
    for targets in (words, words.astype(object), np.array([None] * N), [0, "a"] * (N // 2)):
        with pytest.raises(ValueError, match=r"y holds|label type"):
            begun.partial_fit(X, targets)
    with pytest.raises(ValueError, match="kind than classes_"):
        tamis.report(begun, X, words)
    with pytest.raises(ValueError, match="label type"):
        tamis.compare({"one": begun}, X, np.array([0, "a"] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match="words in some"):
        tamis.distributed.fit(FOBOSClassifier(), [(X, words), (X, sides)])
    with pytest.raises(ValueError, match="kinds"):
        FDRSelector().fit_rows([(X, words), (X, np.arange(N) % 2)])


@pytest.mark.parametrize("source", [None, 5, X])
def test_what_is_no_name_of_a_file_is_refused(source):
    with pytest.raises(TypeError, match=f"Got {type(source).__name__}"):
        tamis.open_rows(source)


def test_a_frame_without_columns_says_so():
    with pytest.raises(ValueError, match="no columns"):
        Table().fit({"a": [1, 2, 3]}).transform({})
