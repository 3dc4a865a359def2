"""Tests of single columns given controls: self-normalised products of two residuals.

The target and the column are both regressed on the controls and a constant: by least squares, or
for classes by logistic regression and least squares weighted by its curvature. The test statistic
sums the products of their residuals r and e. Rows come in blocks and are read several times.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from tamis.solvers.logistic import logistic_newton, solve_ridge

GRAM_RIDGE = 1e-12  # on the diagonal, over the squares of a column: controls may be duplicates
MIN_CURVATURE = 1e-5  # of a row, p (1 - p)
MIN_RESIDUAL_FRACTION = 1e-6  # squares of e over those of x; below this, p = 1

Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # columns with a constant last, targets, weights


class DesignBlocks(NamedTuple):
    """The columns of all tests, in blocks of rows, with the sum of the row weights."""

    blocks: Callable[[], Iterable[Block]]
    total_weight: float
    n_columns: int  # including the constant, which is last


class ConditionalTest(NamedTuple):
    """A test: its output, and its column and controls by their indices in the design."""

    output: int
    column: int
    controls: np.ndarray  # without the constant


class ConditionalResults(NamedTuple):
    """Results of tests: z, p-value, and effect of the column with its standard error."""

    scores: np.ndarray
    pvalues: np.ndarray
    effects: np.ndarray
    standard_errors: np.ndarray

    def subset(self, tests) -> "ConditionalResults":
        """Return the results of some of the tests."""
        return ConditionalResults(*(values[tests] for values in self))


class ResidualSums(NamedTuple):
    """Weighted sums over the rows, for every test: e and r are the residuals of the column x and
    the target, v is the curvature of a row.
    """

    e_r: np.ndarray
    e2_r2: np.ndarray
    e2: np.ndarray
    x2: np.ndarray
    e3_r: np.ndarray
    e4: np.ndarray
    v_e_x: np.ndarray


def run_linear_tests(design: DesignBlocks, tests: Sequence[ConditionalTest]) -> ConditionalResults:
    """Test numeric targets by least squares; effects are regression coefficients."""
    fits = _fit_linear(design, tests)
    sums = ResidualSums(*(np.zeros(len(tests)) for _ in ResidualSums._fields))
    outputs = np.array([test.output for test in tests], dtype=np.int64)
    columns = np.array([test.column for test in tests], dtype=np.int64)
    for table, targets, weights in design.blocks():
        x = table[:, columns]
        e = x - table @ fits[0]
        r = targets[:, outputs] - table @ fits[1]
        _add_rows(sums, slice(None), x, e, r, weights, 1.0)
    n_controls = np.array([len(test.controls) + 1.0 for test in tests])
    df_fraction = (design.total_weight - n_controls) / design.total_weight
    scores, pvalues = _scores(sums, df_fraction)
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = sums.e_r / sums.e2
        sandwich = sums.e2_r2 - 2.0 * effects * sums.e3_r + effects**2 * sums.e4
        residual_df_fraction = np.maximum(
            df_fraction - 1.0 / design.total_weight, 1.0 / design.total_weight
        )
        standard_errors = np.sqrt(np.maximum(sandwich, 0.0) / residual_df_fraction) / sums.e2
    return ConditionalResults(scores, pvalues, effects, standard_errors)


def run_logistic_tests(
    design: DesignBlocks,
    tests: Sequence[ConditionalTest],
    initial_weights: np.ndarray,
    include_column: bool = False,
) -> ConditionalResults:
    """Test 0/1 targets by logistic regression from `initial_weights` (outputs, design columns).

    With `include_column` the tested column is in the model too: then effects are changes of the log
    odds, and the scores are those of the residuals that remain.
    """
    model_columns = [_controls(design, test, include_column) for test in tests]
    column_scales = _sizes(design, tests) if include_column else None
    coefs = fit_target_logistic(design, tests, initial_weights, include_column, column_scales)
    fits = _fit_columns_weighted(design, tests, model_columns, coefs)
    sums = ResidualSums(*(np.zeros(len(tests)) for _ in ResidualSums._fields))
    for table, targets, weights in design.blocks():
        for k, test in enumerate(tests):
            controls = table[:, _controls(design, test, False)]
            probabilities = expit(table[:, model_columns[k]] @ coefs[k])
            x, y = table[:, test.column], targets[:, test.output]
            e, v = (
                x - controls @ fits[k],
                np.maximum(probabilities * (1.0 - probabilities), MIN_CURVATURE),
            )
            _add_rows(sums, k, x, e, y - probabilities, weights, v)
    df_fraction = (
        design.total_weight - np.array([len(test.controls) + 1.0 for test in tests])
    ) / design.total_weight
    scores, pvalues = _scores(sums, df_fraction)
    if column_scales is None:
        return ConditionalResults(
            scores, pvalues, np.full(len(tests), np.nan), np.full(len(tests), np.nan)
        )
    residual_df_fraction = np.maximum(
        df_fraction - 1.0 / design.total_weight, 1.0 / design.total_weight
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = np.array([w[-1] for w in coefs])
        probabilities = expit(column_scales * effects)
        information = sums.v_e_x + column_scales**2 * probabilities * (1.0 - probabilities)
        # Where a column separates the classes the residuals vanish, but so does the information.
        standard_errors = (
            np.sqrt(np.maximum(sums.e2_r2 / residual_df_fraction, information)) / information
        )
    return ConditionalResults(scores, pvalues, effects, standard_errors)


def _sizes(design: DesignBlocks, tests: Sequence[ConditionalTest]) -> np.ndarray:
    """Return the scale of each tested column: twice its variance over its mean absolute deviation.

    For a 0/1 column this is 1, the difference of its values; for a normal one 2.5 deviations.
    """
    columns = np.array([test.column for test in tests], dtype=np.int64)
    means = (
        sum(weights @ table[:, columns] for table, _, weights in design.blocks())
        / design.total_weight
    )
    moments = np.zeros((2, len(tests)))
    for table, _, weights in design.blocks():
        deviations = np.abs(table[:, columns] - means)
        moments += [weights @ deviations**2, weights @ deviations]
    return 2.0 * moments[0] / np.maximum(moments[1], 1e-300)


def _controls(design: DesignBlocks, test: ConditionalTest, include_column: bool) -> np.ndarray:
    """Return the indices of the controls, the constant, and the column if `include_column`."""
    extra = [design.n_columns - 1, test.column] if include_column else [design.n_columns - 1]
    return np.concatenate([test.controls, np.array(extra, dtype=np.int64)])


def _add_rows(sums: ResidualSums, index, x, e, r, weights, v) -> None:
    """Add a block of rows to the sums at `index`: one test, or all."""
    e_r = e * r
    e2 = e**2
    terms = (e_r, e_r**2, e2, x**2, e2 * e_r, e2**2, v * e * x)
    for accumulator, term in zip(sums, terms, strict=True):
        accumulator[index] += weights @ term


def _scores(sums: ResidualSums, df_fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z and p-values; 0 and 1 where too little of the column or too few rows remain."""
    is_untestable = (
        (sums.e2 < MIN_RESIDUAL_FRACTION * sums.x2) | (df_fraction <= 0.0) | (sums.e2_r2 <= 0.0)
    )
    denominator = np.sqrt(np.where(is_untestable, 1.0, sums.e2_r2))
    scores = np.where(
        is_untestable, 0.0, np.sqrt(np.maximum(df_fraction, 0.0)) * sums.e_r / denominator
    )
    return scores, np.where(is_untestable, 1.0, 2.0 * norm.sf(np.abs(scores)))


# --------------------------------------------------------------------------- fits
def _fit_linear(
    design: DesignBlocks, tests: Sequence[ConditionalTest]
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (design columns, tests) of tested columns and targets on the controls."""
    gram = np.zeros((design.n_columns, design.n_columns))
    products: np.ndarray | None = None
    for table, targets, weights in design.blocks():
        weighted = table * weights[:, None]
        gram += weighted.T @ table
        products = weighted.T @ targets + (0.0 if products is None else products)
    assert products is not None
    fits = np.zeros((2, design.n_columns, len(tests)))
    for k, test in enumerate(tests):
        columns = _controls(design, test, False)
        right_sides = np.column_stack([gram[columns, test.column], products[columns, test.output]])
        fits[:, columns, k] = solve_ridge(
            gram[np.ix_(columns, columns)], right_sides, GRAM_RIDGE * design.total_weight
        ).T
    return fits[0], fits[1]


def fit_target_logistic(
    design: DesignBlocks,
    tests: Sequence[ConditionalTest],
    initial_weights: np.ndarray,
    include_column: bool = False,
    column_scales: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the coefficients of the logistic regressions of the targets on the controls and the
    constant, and last on the column if `include_column`; `initial_weights` is (outputs, columns).
    """
    columns = [_controls(design, test, include_column) for test in tests]
    outputs = [test.output for test in tests]
    starts = [initial_weights[output, used] for output, used in zip(outputs, columns, strict=True)]
    return logistic_newton(
        design.blocks, outputs, columns, starts, design.total_weight, column_scales
    )


def initial_coefs(design: DesignBlocks, tests: Sequence[ConditionalTest]) -> np.ndarray:
    """Return initial coefficients (outputs, design columns): those of the first test of each
    output, since the other tests differ from it by few controls.
    """
    rates = sum(weights @ targets for _, targets, weights in design.blocks()) / design.total_weight
    rates = np.clip(rates, 1e-9, 1.0 - 1e-9)  # one half of the rows may lack a class
    initial_weights = np.zeros((len(rates), design.n_columns))
    initial_weights[:, -1] = np.log(rates / (1.0 - rates))
    first_tests = list({test.output: test for test in reversed(tests)}.values())
    for test, weights in zip(
        first_tests, fit_target_logistic(design, first_tests, initial_weights), strict=True
    ):
        initial_weights[test.output, _controls(design, test, False)] = weights
    return initial_weights


def _fit_columns_weighted(
    design: DesignBlocks,
    tests: Sequence[ConditionalTest],
    model_columns: list[np.ndarray],
    coefs: list[np.ndarray],
) -> list[np.ndarray]:
    """Return the coefficients of tested columns on the controls, weighted by the curvature."""
    controls = [_controls(design, test, False) for test in tests]
    grams = [np.zeros((len(a), len(a))) for a in controls]
    right_sides = [np.zeros(len(a)) for a in controls]
    for table, _, weights in design.blocks():
        for k, test in enumerate(tests):
            probabilities = expit(table[:, model_columns[k]] @ coefs[k])
            v = weights * np.maximum(probabilities * (1.0 - probabilities), MIN_CURVATURE)
            block = table[:, controls[k]]
            weighted = block * v[:, None]
            grams[k] += block.T @ weighted
            right_sides[k] += weighted.T @ table[:, test.column]
    return [
        solve_ridge(gram, right_side, GRAM_RIDGE * float(np.trace(gram)))
        for gram, right_side in zip(grams, right_sides, strict=True)
    ]
