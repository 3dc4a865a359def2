"""Limits of magnitudes: numbers that are too large are refused with their position, tiny ones count
as 0.

This holds for all forms of rows and in chunks.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from odd import quick, takes_classes, takes_weights
from registry import ESTIMATORS, STREAMS
from sklearn.base import is_classifier
from tiny import one_pass, quiet

from tamis import (
    FOBOSClassifier,
    FOBOSRegressor,
    GroupLassoRegressor,
    LowRankLasso,
    RobustSVC,
    StabilitySelector,
    compare,
    groups_by_correlation,
)
from tamis.base.validation import (
    MAX_MAGNITUDE,
    MIN_MAGNITUDE,
    validate_array,
    validate_columns,
    validate_matrix,
)

N = 30
X = tiny.matrix(N, 6)
FORMS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
TAKES = {"matrix": validate_matrix, "blocks": validate_array, "columns": validate_columns}
TAKERS = pytest.mark.parametrize("take", TAKES)
CONTAINERS = pytest.mark.parametrize("form", FORMS)
PREDICTORS = [cls for cls in ESTIMATORS if hasattr(cls, "predict")]


def targets(model):
    return (tiny.signs(X) > 0).astype(int) if takes_classes(model) else tiny.numbers(X)


def with_cell(value, at=(7, 2)):
    table = X.copy()
    table[at] = value
    return table


def as_dense(rows):
    """Whatever the border hands on, as a dense array."""
    rows = rows.to_scipy() if hasattr(rows, "to_scipy") else rows
    return rows.toarray() if sp.issparse(rows) else rows


# --------------------------------------------------------------------------- X
@CONTAINERS
@TAKERS
@pytest.mark.parametrize("value", [1.1e50, -1e160, 1.7e308])
def test_a_number_too_large_is_refused_with_its_place_and_the_way_out(form, take, value):
    with pytest.raises(ValueError, match=r"^X .*row 7, column 2.*1e\+50.*MaxAbsScaler") as caught:
        TAKES[take](FOBOSClassifier(), FORMS[form](with_cell(value)), reset=True)
    assert f"{value:g}" in str(caught.value)


@CONTAINERS
@TAKERS
@pytest.mark.parametrize("value", [9e-51, -1e-160, 5e-324, -0.0])
def test_a_number_too_small_counts_as_zero(form, take, value):
    user_rows = FORMS[form](with_cell(value))
    assert np.array_equal(
        as_dense(TAKES[take](FOBOSClassifier(), user_rows, reset=True)), with_cell(0.0)
    )
    assert np.array_equal(
        user_rows.toarray() if sp.issparse(user_rows) else user_rows, with_cell(value)
    ), "the user's array was changed"


@CONTAINERS
@TAKERS
def test_the_limits_themselves_are_let_through(form, take):
    for value in (MAX_MAGNITUDE, -MAX_MAGNITUDE, MIN_MAGNITUDE, -MIN_MAGNITUDE):
        table = as_dense(TAKES[take](FOBOSClassifier(), FORMS[form](with_cell(value)), reset=True))
        assert np.array_equal(table, with_cell(value))


@CONTAINERS
@TAKERS
def test_nothing_but_small_numbers_is_refused_in_a_fit_and_zeros_in_a_prediction(form, take):
    model, user_rows = FOBOSClassifier(), FORMS[form](X * 1e-160)
    with pytest.raises(ValueError, match=r"X .*e-160.*MaxAbsScaler"):
        TAKES[take](model, user_rows, reset=True)
    TAKES[take](model, FORMS[form](X), reset=True)
    assert not as_dense(TAKES[take](model, user_rows, reset=False)).any()
    assert not as_dense(TAKES[take](model, FORMS[form](0.0 * X), reset=True)).any()


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "csr", "csc"]
)
def test_float32_is_let_through_as_far_as_it_reaches_and_its_negative_zeros_are_zeros(form):
    table = X.astype(np.float32)
    table[0, :3], table[1, :2], table[2, :2] = (3e38, -3e38, 1e-45), -0.0, 0.0
    user_rows = form(np.where(table == 0.0, np.float32(1.0), table))
    stored = user_rows.data if sp.issparse(user_rows) else user_rows
    stored[stored == 1.0] = -0.0
    rows = validate_matrix(FOBOSClassifier(), user_rows, reset=True)
    assert np.array_equal(as_dense(rows), table)
    assert rows.data.all()


def test_duplicates_are_summed_before_they_are_looked_at():
    rows = sp.csr_array(
        (np.array([6e49, 6e49, 6e-51, 6e-51]), np.array([1, 1, 0, 0]), np.array([0, 2, 4])),
        shape=(2, 2),
    )
    with pytest.raises(ValueError, match=r"X holds 1.2e\+50 in row 0, column 1"):
        validate_matrix(FOBOSClassifier(), rows, reset=True)
    rows.data[:2] = 1.0, -0.5
    assert as_dense(validate_matrix(FOBOSClassifier(), rows, reset=True)).tolist() == [
        [0.0, 0.5],
        [1.2e-50, 0.0],
    ]


@pytest.mark.parametrize("cls", PREDICTORS)
def test_predictions_refuse_what_fits_refuse(cls):
    model = quick(cls)
    quiet(model.fit, X, targets(model))
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match=r"X holds -1e\+120 in row 7, column 2"):
            model.predict(form(with_cell(-1e120)))


@pytest.mark.parametrize("cls", STREAMS)
def test_chunks_of_small_numbers_give_the_bits_of_the_whole(cls):
    """The first chunk, and some weights of others, count as 0; a stream cannot know what comes."""
    table, y, loads = X.copy(), targets(cls()), np.where(np.arange(N) % 5, 1.0, 1e-60)
    table[:4] *= 1e-60
    named = {"classes": [0, 1]} if is_classifier(cls()) else {}
    whole, parts, zeros = one_pass(cls), one_pass(cls), one_pass(cls)
    quiet(whole.partial_fit, table, y, sample_weight=loads, **named)
    for start in range(0, N, 4):
        part = slice(start, start + 4)
        quiet(parts.partial_fit, table[part], y[part], sample_weight=loads[part], **named)
    quiet(
        zeros.partial_fit,
        np.where(np.abs(table) < 1e-50, 0.0, table),
        y,
        sample_weight=np.round(loads),
        **named,
    )
    tiny.assert_same(whole, parts, X)
    tiny.assert_same(whole, zeros, X)


# --------------------------------------------------------------------------- weights and targets
@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if takes_weights(cls)])
def test_weights_too_large_and_all_too_small_are_refused(cls):
    model, loads = quick(cls), np.ones(N)
    loads[4] = 1e51
    y = targets(model)
    with pytest.raises(ValueError, match=r"sample_weight holds 1e\+51 in row 4"):
        model.fit(X, y, sample_weight=loads)
    with pytest.raises(ValueError, match=r"non-zero.* 1e-60"):
        model.fit(X, y, sample_weight=np.full(N, 1e-60))


@pytest.mark.parametrize("cls", [FOBOSRegressor, GroupLassoRegressor, LowRankLasso])
def test_targets_have_the_same_limits(cls):
    model, y = quick(cls), tiny.numbers(X)
    y[5] = -2e50
    with pytest.raises(ValueError, match=r"y holds -2e\+50 in row 5; .* Divide y"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"the largest target is .*Multiply y"):
        model.fit(X, tiny.numbers(X) * 1e-60)
    y[5] = 1e-60
    assert np.array_equal(
        quiet(model.fit, X, y).coef_, quiet(model.fit, X, np.where(y == 1e-60, 0.0, y)).coef_
    )


def test_sparse_targets_have_the_same_limits():
    y = np.abs(tiny.numbers(X, 3))
    y[5, 1] = 2e50
    with pytest.raises(ValueError, match=r"y holds 2e\+50 in row 5"):
        LowRankLasso().fit(X, sp.csc_array(y))


def test_class_weights_have_the_same_limits():
    for bad in (1e51, -1.0, np.nan):
        with pytest.raises(ValueError, match=r"class_weight of class 1 .*1e\+50"):
            FOBOSClassifier(class_weight={1: bad}).fit(X, targets(FOBOSClassifier()))


# ----------------------------------------------------- rows that are split before a model sees them
def test_the_place_is_that_in_the_users_own_rows():
    bad, y = with_cell(1e60, (23, 1)), targets(FOBOSClassifier())
    for call in (
        lambda: StabilitySelector(FOBOSClassifier()).fit(bad, y),
        lambda: StabilitySelector(FOBOSClassifier()).fit(sp.csr_array(bad), y),
        lambda: compare({"one": FOBOSClassifier()}, bad, y),
        lambda: groups_by_correlation(bad),
    ):
        with pytest.raises(ValueError, match=r"X holds 1e\+60 in row 23, column 1"):
            call()


def test_matrices_among_the_parameters_have_a_limit():
    with pytest.raises(ValueError, match=r"ellipsoid holds a number of size 1e\+60"):
        RobustSVC("ellipsoid", ellipsoid=np.full(6, 1e60)).fit(X, targets(RobustSVC()))
