"""Group solvers at the limits of floating point: constant columns, extreme scales, no penalty,
overflow.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tamis import GroupLassoClassifier, GroupLassoRegressor, MultiTaskClassifier, MultiTaskRegressor
from tamis.numerics.csr import Csr
from tamis.solvers.path.design import Design, TaskDesign, constant_columns
from tamis.solvers.path.inner.models import GramCache
from tamis.solvers.path.loop import CoefBlocks
from tamis.solvers.path.losses import BoundRowLoss
from tamis.solvers.path.problem import GroupProblem
from tamis.solvers.path.solver import solve_problem
from tamis.terms import GroupL2, Logistic, Squared

pytestmark = pytest.mark.usefixtures("bounded")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 10))
NUMBERS = 2.0 * X[:, 0] + 0.3 * RNG.normal(size=80) + 1.0
CLASSES = (NUMBERS > 1.0).astype(int)
THREE = np.digitize(NUMBERS, [0.0, 2.0])


def fit_quietly(model, *data, **options):
    """Fit with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*data, **options)


@pytest.mark.parametrize("solver", ["auto", "fista", "blocks"])
@pytest.mark.parametrize("table", [np.array, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("value", [3.0, 0.1, 1e40])
def test_constant_columns_leave_the_intercept(solver, table, value):
    flat = table(np.full((80, 10), value))
    model = fit_quietly(GroupLassoClassifier(solver=solver), flat, CLASSES)
    assert not model.coef_.any()
    assert model.n_iter_ == 1
    assert model.alpha_max_ == 0.0
    share = CLASSES.mean()
    assert np.allclose(model.intercept_, np.log(share / (1.0 - share)))
    model = fit_quietly(GroupLassoRegressor(solver=solver), flat, NUMBERS)
    assert not model.coef_.any()
    assert np.allclose(model.intercept_, NUMBERS.mean())
    assert not fit_quietly(GroupLassoClassifier(solver=solver), flat, THREE).coef_.any()


@pytest.mark.parametrize("table", [np.array, sp.csr_array])
def test_constant_columns_beside_others_change_nothing(table):
    options = np.column_stack([X, np.full(80, 7.3), 1e3 + 1e-11 * X[:, 1]])
    alone, both = (
        fit_quietly(GroupLassoClassifier(), table(part), CLASSES) for part in (X, options)
    )
    assert np.allclose(both.coef_[:, :10], alone.coef_, atol=1e-9)
    assert not both.coef_[:, 10:].any()
    given = options.copy()
    fit_quietly(GroupLassoRegressor(), options, NUMBERS)
    assert np.array_equal(given, options)


def test_which_columns_are_constant():
    table = np.column_stack(
        [
            np.full(5, 2.0),
            np.zeros(5),
            [1e6, 1e6, 1e6 + 1e-8, 1e6, 1e6],
            [1.0, 1.0, 1.0, 2.0, 1.0],
            1e9 + np.arange(5),
        ]
    )
    assert (
        constant_columns(table).tolist() == constant_columns(sp.csc_array(table)).tolist() == [0, 2]
    )
    assert len(constant_columns(table[:0])) == len(constant_columns(sp.csc_array(table[:0]))) == 0


@pytest.mark.parametrize(
    ("cls", "y"),
    [(MultiTaskClassifier, CLASSES), (MultiTaskClassifier, THREE), (MultiTaskRegressor, NUMBERS)],
)
def test_a_column_may_be_constant_in_one_task(cls, y):
    task = np.arange(80) % 2
    assert not fit_quietly(cls(), np.full((80, 10), 0.1), y, task=task).coef_.any()
    mixed = np.where((task == 0)[:, None] & (np.arange(10) < 5), 0.1, X)
    model = fit_quietly(cls(), mixed, y, task=task)
    first, second = np.reshape(model.coef_, (2, -1, 10))
    assert not first[:, :5].any()
    assert second[:, :5].any()


def test_a_task_of_one_row_has_no_spread():
    task = np.r_[1, np.zeros(79, dtype=int)]
    model = fit_quietly(MultiTaskRegressor(), X, NUMBERS, task=task)
    alone, others = model.coef_[np.argsort(model.tasks_)][::-1]
    assert not alone.any()
    assert others.any()


def test_a_warm_start_forgets_columns_that_became_constant():
    model = fit_quietly(GroupLassoRegressor(warm_start=True), X, NUMBERS)
    assert model.coef_[0] != 0.0
    again = fit_quietly(model, np.column_stack([np.full(80, 3.0), X[:, 1:]]), NUMBERS)
    assert again.coef_[0] == 0.0


@pytest.mark.parametrize(
    ("cls", "y"),
    [
        (GroupLassoClassifier, CLASSES),
        (GroupLassoClassifier, THREE),
        (GroupLassoRegressor, NUMBERS),
        (MultiTaskClassifier, THREE),
    ],
)
@pytest.mark.parametrize("scale", [1e40, 1e-40])
def test_scales_of_all_columns_only_scale_the_weights(cls, y, scale):
    plain, scaled = fit_quietly(cls(), X, y), fit_quietly(cls(), scale * X, y)
    assert np.allclose(scale * scaled.coef_, plain.coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_small_targets_have_an_intercept(loss):
    model = fit_quietly(GroupLassoRegressor(loss=loss), X, 1e-20 * NUMBERS)
    assert np.allclose(
        1e20 * model.predict(X),
        fit_quietly(GroupLassoRegressor(), X, NUMBERS).predict(X),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("cls", "y"),
    [
        (GroupLassoClassifier, CLASSES),
        (GroupLassoClassifier, THREE),
        (GroupLassoRegressor, NUMBERS),
        (MultiTaskClassifier, CLASSES),
    ],
)
@pytest.mark.parametrize(
    "columns",
    [X, np.repeat(X[:, :1], 10, axis=1), np.column_stack([X, 10.0 * CLASSES])],
    ids=["plain", "equal", "separable"],
)
def test_no_penalty_ends_with_a_closed_gap(cls, y, columns):
    model = fit_quietly(cls(alpha=0.0), columns, y)
    assert np.isfinite(model.coef_).all()
    assert model.dual_gap_ <= 2e-6 * model.history_[0]["objective"]  # the null deviance


def test_no_penalty_is_least_squares():
    model = fit_quietly(GroupLassoRegressor(alpha=0.0), X, NUMBERS)
    assert np.allclose(
        np.r_[model.intercept_, model.coef_],
        np.linalg.lstsq(np.column_stack([np.ones(80), X]), NUMBERS)[0],
        atol=1e-6,
    )


@pytest.mark.parametrize("cls", [GroupLassoRegressor, MultiTaskRegressor])
def test_a_gap_that_is_rounding_ends_the_fit_and_is_told(cls):
    # One row bears all, and the loss of the others is below its last digit.
    weights = np.where(np.arange(80) == 0, 1e40, 1.0)
    with pytest.warns(ConvergenceWarning, match=r" \d+ iterations.*gap, \d.*[Rr]ounding") as caught:
        model = cls().fit(X, NUMBERS, sample_weight=weights)
    assert len(caught) == 1
    assert model.n_iter_ < 20
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("solver", ["auto", "fista"])
@pytest.mark.parametrize("loss", [Logistic(), Squared()])
@pytest.mark.parametrize("tasks", [False, True])
def test_numbers_beyond_double_precision_end_at_the_last_finite_point(solver, loss, tasks):
    weights, table = np.full(80, 1.0 / 80.0), 1e200 * X
    targets = np.where(CLASSES == 1, 1.0, -1.0)[:, None] * (
        1.0 if isinstance(loss, Logistic) else 1e160
    )
    design = Design(table, weights, 1, True)
    if tasks:
        rows = sp.csr_array(table)
        rows = Csr(rows.data, rows.indices.astype(np.uint32), rows.indptr.astype(np.uint64), 10)
        design = TaskDesign(rows, np.zeros(80, dtype=np.int64), weights, 1, 1, True)
    blocks = CoefBlocks(
        np.arange(10, dtype=np.uint64),
        np.arange(11, dtype=np.uint64),
        np.ones(10),
        np.zeros(10),
        10,
    )
    problem = GroupProblem(
        design, BoundRowLoss(loss, targets, weights), blocks, True, solver, GramCache()
    )
    with np.errstate(all="ignore"):
        solution = solve_problem(problem, GroupL2(1e-3, 0.0), 1e-6, 100)
    assert np.isfinite(solution.w).all()
    assert np.isfinite(solution.bias).all()
