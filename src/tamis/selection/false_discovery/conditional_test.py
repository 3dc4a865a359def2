"""Tests of single columns given controls: self-normalised products of two residuals.

Both the target and the column are fitted on the controls and a constant, by least squares, or for
classes by logistic regression and least squares under its curvature; what is left of them is
multiplied row by row. Rows come in blocks, as often as they are asked for.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from tamis.solvers.logistic import logistic_newton, solve_ridge

GRAM_RIDGE = 1e-12  # on the diagonal of least squares in units of deviations: controls may be twins
MIN_CURVATURE = 1e-5  # curvature of a row
MIN_RESIDUAL_FRACTION = 1e-6  # of a column's square: where less is left of it there is nothing to test

Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # columns with a constant last, targets, weights


class DesignBlocks(NamedTuple):
    """The few columns that tests look at, in blocks of rows, and the sum of the row weights."""

    blocks: Callable[[], Iterable[Block]]
    total: float
    width: int  # columns, the constant among them


class ConditionalTest(NamedTuple):
    """A column, the target's number, and the controls; all by their places on the sheet."""

    output: int
    column: int
    controls: np.ndarray  # without the constant


class ConditionalResults(NamedTuple):
    """Of every test: z, its p-value, and the effect of the column with its standard error."""

    scores: np.ndarray
    pvalues: np.ndarray
    effects: np.ndarray
    errors: np.ndarray

    def of(self, tests) -> "Found":
        """Of some of the tests."""
        return ConditionalResults(*(column[tests] for column in self))


class ResidualSums(NamedTuple):
    """Of every test, sums over the rows of e r, e^2 r^2, e^2, x^2, e^3 r, e^4 and of the bent e x;
    e is what is left of the column, r of the target.
    """

    product: np.ndarray
    square: np.ndarray
    left: np.ndarray
    whole: np.ndarray
    third: np.ndarray
    fourth: np.ndarray
    bent: np.ndarray


def run_linear_tests(sheet: DesignBlocks, tests: Sequence[ConditionalTest]) -> ConditionalResults:
    """Tests of targets that are numbers; effects are slopes."""
    fits = _fit_linear(sheet, tests)
    sums = ResidualSums(*(np.zeros(len(tests)) for _ in ResidualSums._fields))
    outputs = np.array([test.output for test in tests], dtype=np.int64)
    columns = np.array([test.column for test in tests], dtype=np.int64)
    for table, targets, weights in sheet.blocks():
        own = table[:, columns]
        left = own - table @ fits[0]
        rest = targets[:, outputs] - table @ fits[1]
        _add_rows(sums, slice(None), own, left, rest, weights, 1.0)
    taken = np.array([len(test.controls) + 1.0 for test in tests])
    free = (sheet.total - taken) / sheet.total
    scores, pvalues = _scores(sums, free)
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = sums.product / sums.left
        wide = sums.square - 2.0 * effects * sums.third + effects**2 * sums.fourth
        lost = np.maximum(free - 1.0 / sheet.total, 1.0 / sheet.total)
        errors = np.sqrt(np.maximum(wide, 0.0) / lost) / sums.left
    return ConditionalResults(scores, pvalues, effects, errors)


def run_logistic_tests(
    sheet: DesignBlocks, tests: Sequence[ConditionalTest], starts: np.ndarray, own: bool = False
) -> ConditionalResults:
    """Tests of targets that are 0 or 1; with the columns' `own` weights in the model, effects are
    changes of the log odds, and scores those of what is left beside them.

    The regressions start from weights (outputs, places).
    """
    everything = [_controls(sheet, test, own) for test in tests]
    sizes = _sizes(sheet, tests) if own else None
    weights = fit_target_logistic(sheet, tests, starts, own, sizes)
    fits = _fit_columns_weighted(sheet, tests, everything, weights)
    sums = ResidualSums(*(np.zeros(len(tests)) for _ in ResidualSums._fields))
    for table, targets, of_rows in sheet.blocks():
        for k, test in enumerate(tests):
            controls = table[:, _controls(sheet, test, False)]
            likely = expit(table[:, everything[k]] @ weights[k])
            x, y = table[:, test.column], targets[:, test.output]
            left, bend = x - controls @ fits[k], np.maximum(likely * (1.0 - likely), MIN_CURVATURE)
            _add_rows(sums, k, x, left, y - likely, of_rows, bend)
    free = (sheet.total - np.array([len(test.controls) + 1.0 for test in tests])) / sheet.total
    scores, pvalues = _scores(sums, free)
    if sizes is None:
        return ConditionalResults(scores, pvalues, np.full(len(tests), np.nan), np.full(len(tests), np.nan))
    lost = np.maximum(free - 1.0 / sheet.total, 1.0 / sheet.total)
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = np.array([w[-1] for w in weights])
        likely = expit(sizes * effects)
        bent = sums.bent + sizes**2 * likely * (1.0 - likely)
        # Where a column parts the classes no spread is left to be seen, but little curvature too.
        errors = np.sqrt(np.maximum(sums.square / lost, bent)) / bent
    return ConditionalResults(scores, pvalues, effects, errors)


def _sizes(sheet: DesignBlocks, tests: Sequence[ConditionalTest]) -> np.ndarray:
    """How large a column's numbers are: of one of 0 and 1 the step between them, of a normal one
    two and a half deviations. Twice the mean square about the mean over the mean distance.
    """
    columns = np.array([test.column for test in tests], dtype=np.int64)
    means = sum(weights @ table[:, columns] for table, _, weights in sheet.blocks()) / sheet.total
    sums = np.zeros((2, len(tests)))
    for table, _, weights in sheet.blocks():
        far = np.abs(table[:, columns] - means)
        sums += [weights @ far**2, weights @ far]
    return 2.0 * sums[0] / np.maximum(sums[1], 1e-300)


def _controls(sheet: DesignBlocks, test: ConditionalTest, own: bool) -> np.ndarray:
    """Places of the controls, the constant, and the column itself where it is its `own`."""
    last = [sheet.width - 1, test.column] if own else [sheet.width - 1]
    return np.concatenate([test.controls, np.array(last, dtype=np.int64)])


def _add_rows(sums: ResidualSums, at, x, left, rest, weights, bend) -> None:
    """Add a block's rows to the sums of one test or of all."""
    product = left * rest
    square = left**2
    parts = (product, product**2, square, x**2, square * product, square**2, bend * left * x)
    for total, part in zip(sums, parts, strict=True):
        total[at] += weights @ part


def _scores(sums: ResidualSums, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z and p-values; where too little is left of a column, or of the rows, 0 and 1."""
    idle = (sums.left < MIN_RESIDUAL_FRACTION * sums.whole) | (free <= 0.0) | (sums.square <= 0.0)
    root = np.sqrt(np.where(idle, 1.0, sums.square))
    scores = np.where(idle, 0.0, np.sqrt(np.maximum(free, 0.0)) * sums.product / root)
    return scores, np.where(idle, 1.0, 2.0 * norm.sf(np.abs(scores)))


# --------------------------------------------------------------------------- fits
def _fit_linear(sheet: DesignBlocks, tests: Sequence[ConditionalTest]) -> tuple[np.ndarray, np.ndarray]:
    """Weights (places, tests) of the fits of the columns and of the targets on the controls."""
    gram = np.zeros((sheet.width, sheet.width))
    slopes: np.ndarray | None = None
    for table, targets, weights in sheet.blocks():
        weighted = table * weights[:, None]
        gram += weighted.T @ table
        slopes = weighted.T @ targets + (0.0 if slopes is None else slopes)
    assert slopes is not None
    fits = np.zeros((2, sheet.width, len(tests)))
    for k, test in enumerate(tests):
        at = _controls(sheet, test, False)
        wanted = np.column_stack([gram[at, test.column], slopes[at, test.output]])
        fits[:, at, k] = solve_ridge(gram[np.ix_(at, at)], wanted, GRAM_RIDGE * sheet.total).T
    return fits[0], fits[1]


def fit_target_logistic(
    sheet: DesignBlocks,
    tests: Sequence[ConditionalTest],
    starts: np.ndarray,
    own: bool = False,
    sizes: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Weights of the targets' regressions on the controls and the constant, and last on the column
    where it is its `own`; from weights (outputs, places).
    """
    columns = [_controls(sheet, test, own) for test in tests]
    outputs = [test.output for test in tests]
    begin = [starts[output, at] for output, at in zip(outputs, columns, strict=True)]
    return logistic_newton(sheet.blocks, outputs, columns, begin, sheet.total, sizes)


def initial_coefs(sheet: DesignBlocks, tests: Sequence[ConditionalTest]) -> np.ndarray:
    """Weights (outputs, places) of the first test of every output: the others differ from it by a
    few controls.
    """
    level = sum(weights @ targets for _, targets, weights in sheet.blocks()) / sheet.total
    level = np.clip(level, 1e-9, 1.0 - 1e-9)  # a half of the rows may lack a class
    starts = np.zeros((len(level), sheet.width))
    starts[:, -1] = np.log(level / (1.0 - level))
    firsts = list({test.output: test for test in reversed(tests)}.values())
    for test, weights in zip(firsts, fit_target_logistic(sheet, firsts, starts), strict=True):
        starts[test.output, _controls(sheet, test, False)] = weights
    return starts


def _fit_columns_weighted(
    sheet: DesignBlocks, tests: Sequence[ConditionalTest], everything: list[np.ndarray], weights: list[np.ndarray]
) -> list[np.ndarray]:
    """Weights of the fits of the columns on the controls, under the curvature of the rows."""
    at = [_controls(sheet, test, False) for test in tests]
    grams = [np.zeros((len(a), len(a))) for a in at]
    wanted = [np.zeros(len(a)) for a in at]
    for table, _, of_rows in sheet.blocks():
        for k, test in enumerate(tests):
            likely = expit(table[:, everything[k]] @ weights[k])
            bend = of_rows * np.maximum(likely * (1.0 - likely), MIN_CURVATURE)
            controls = table[:, at[k]]
            bent = controls * bend[:, None]
            grams[k] += controls.T @ bent
            wanted[k] += bent.T @ table[:, test.column]
    return [
        solve_ridge(gram, goal, GRAM_RIDGE * float(np.trace(gram)))
        for gram, goal in zip(grams, wanted, strict=True)
    ]
