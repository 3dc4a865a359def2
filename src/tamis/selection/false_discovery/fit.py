"""Plans of the tests of screened columns, the table that they look at, their run and correction."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from tamis.selection.false_discovery.conditional_test import (
    Block,
    ConditionalResults,
    DesignBlocks,
    ConditionalTest,
    initial_coefs,
    run_logistic_tests,
    run_linear_tests,
)
from tamis.selection.false_discovery.controls import (
    CorrelatedColumns,
    company,
    leading_components,
    find_collinear_controls,
    add_claimed_controls,
    exclude_group,
)
from tamis.selection.false_discovery.multiple_testing import representative_qvalues, heads_of
from tamis.selection.false_discovery.screening.by_path import ScreenResult, noise_correlation
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.system.threads import count_threads

CELLS = 2_000_000  # numbers of a block of rows
LOCAL = 0.9  # of a factor's loadings: one with more of them in a group belongs to it
MAX_CACHED_ENTRIES = 32_000_000  # numbers of a sheet that is kept as it is


class SelectionOptions(NamedTuple):
    """What a selection goes by."""

    logistic: bool
    substitutes: float | None
    n_candidates: int
    n_controls: int
    correction: str
    n_jobs: int | None
    q: float


class SelectionResult(NamedTuple):
    """All tests: their outputs, columns and controls, what was found, and the claims made of it."""

    outputs: np.ndarray
    columns: np.ndarray
    controls: list[np.ndarray]
    groups: list[np.ndarray]
    correlations: list[np.ndarray]
    found: ConditionalResults
    heads: np.ndarray  # test that each test joins, itself where it is a head
    qvalues: np.ndarray
    n_components: int
    # of the tests that are worth a line: effects in units of the columns' spread, z in two halves
    effects: dict[str, np.ndarray]


class DesignPlan(NamedTuple):
    """Tests by columns of the table, the columns of the sheet, and which company each one keeps."""

    outputs: np.ndarray
    columns: np.ndarray
    controls: list[np.ndarray]
    ranked: list[np.ndarray]  # controls, the strongest first: by the screen, then by correlation
    company: list[CorrelatedColumns]
    union: np.ndarray

    def tests(self, loadings: np.ndarray) -> list[ConditionalTest]:
        """Tests by places on a sheet: the union's columns, then the common factors.

        A factor that lies in a column and its substitutes is not common to others: it would take
        away what the claim is about.
        """
        places = [np.searchsorted(self.union, controls) for controls in self.controls]
        at = np.searchsorted(self.union, self.columns)
        found = []
        for k, mine in enumerate(self.company):
            group = np.append(mine.substitutes, self.columns[k])
            common = np.square(loadings[group]).sum(axis=0) <= LOCAL
            factors = len(self.union) + np.flatnonzero(common)
            controls = np.concatenate([places[k], factors])
            found.append(ConditionalTest(int(self.outputs[k]), int(at[k]), controls))
        return found


def plan(screened: list[ScreenResult], of: dict[int, CorrelatedColumns]) -> DesignPlan:
    """Tests of all candidates of all outputs."""
    outputs, columns, controls, ranked, companies = [], [], [], [], []
    for output, screen in enumerate(screened):
        for column in screen.candidates.tolist():
            mine = of[column]
            shared = exclude_group(screen.controls[screen.controls != column], mine.substitutes)
            outputs.append(output)
            columns.append(column)
            ranked.append(np.append(shared, exclude_group(mine.near, np.sort(shared))))
            controls.append(np.sort(ranked[-1]))
            companies.append(mine)
    union = np.unique(np.concatenate([np.array(columns, dtype=np.int64), *controls]))
    return DesignPlan(
        np.array(outputs, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        controls,
        ranked,
        companies,
        union.astype(np.int64),
    )


def prepare_tests(
    columns: StandardizedColumns,
    targets: np.ndarray,
    screened: list[ScreenResult],
    substitutes: float | None,
    n_controls: int,
) -> tuple[DesignPlan, np.ndarray, DesignBlocks]:
    """Tests of what was screened, loadings of the common factors, and the sheet of both."""
    distinct = np.unique(np.concatenate([screen.candidates for screen in screened]))
    least = noise_correlation(columns.n_columns, columns.total)
    near = max_correlates(n_controls, columns.total)
    companies = company(columns, distinct, substitutes, near, least)
    planned = plan(screened, dict(zip(distinct.tolist(), companies, strict=True)))
    loadings = leading_components(columns)
    return planned, loadings, sheet_of(columns, targets, planned.union, loadings)


def run_and_correct(
    sheet: DesignBlocks,
    planned: DesignPlan,
    sizes: tuple[int, int],
    rules: SelectionOptions,
    loadings: np.ndarray,
    sides=None,
) -> SelectionResult:
    """Run the tests, of as many columns and outputs as `sizes` says, and make claims."""
    planned = drop_collinear_controls(sheet, planned, loadings)
    tests = planned.tests(loadings)
    starts = initial_coefs(sheet, tests) if rules.logistic and tests else None
    found = run(sheet, tests, rules, starts)
    groups = [mine.substitutes for mine in planned.company]
    heads = heads_of(found.pvalues, planned.outputs, planned.columns, groups)
    families = sizes[0] * sizes[1], sizes[0]
    qvalues = representative_qvalues(
        found.pvalues, planned.columns, heads, sizes[1], families, rules.correction
    )
    told = np.flatnonzero(qvalues < 1.0)
    # Of several outputs a q-value is the larger of two, which p-values need not follow.
    told = told[np.lexsort((found.pvalues[told], qvalues[told]))]
    claimed = int(np.count_nonzero(qvalues[told] <= rules.q))  # the first of them
    full = [tests[k] for k in told]
    if rules.logistic:
        apart = [np.intersect1d(groups[k], planned.union) for k in told]
        places = [np.searchsorted(planned.union, group) for group in apart]
        full = add_claimed_controls(full, claimed, places, int(sheet.total / 10.0))
    effects = estimate_effects(sheet, [tests[k] for k in told], full, told, found, rules, starts, sides)
    return SelectionResult(
        planned.outputs,
        planned.columns,
        planned.controls,
        groups,
        [mine.correlations for mine in planned.company],
        found,
        heads,
        qvalues,
        loadings.shape[1],
        effects,
    )


def drop_collinear_controls(sheet: DesignBlocks, planned: DesignPlan, loadings: np.ndarray) -> DesignPlan:
    """Tests whose controls lack those that leave nothing of a column although none of them is its
    twin: the last level of a category is known from all others. The weakest goes.
    """
    gram: np.ndarray | float = 0.0
    for table, _, weights in sheet.blocks():
        gram = gram + (table * weights[:, None]).T @ table
    found = []
    for k, test in enumerate(planned.tests(loadings)):
        controls, ranks = planned.controls[k], np.searchsorted(planned.union, planned.ranked[k])
        while len(makers := find_collinear_controls(gram, test, sheet.width)):
            weakest = ranks[np.isin(ranks, makers)][-1:]
            if not len(weakest):  # common factors alone
                break
            controls = controls[controls != planned.union[weakest[0]]]
            test = test._replace(controls=test.controls[test.controls != weakest[0]])
        found.append(controls)
    return planned._replace(controls=found)


def estimate_effects(
    sheet: DesignBlocks,
    tests: list[ConditionalTest],
    full: list[ConditionalTest],
    told,
    found: ConditionalResults,
    rules: SelectionOptions,
    starts,
    sides,
) -> dict[str, np.ndarray]:
    """Effects of some tests (for classes by their `full` models), and z in two halves of rows."""
    fits = run(sheet, full, rules, starts, own=True) if rules.logistic else found.of(told)
    halves = np.zeros((len(tests), 2))
    if sides is not None and len(tests):
        for side in (False, True):
            half = _restrict_to_half(sheet, sides, side)
            if half.total > 0.0:
                halves[:, int(side)] = run(half, tests, rules, starts).scores
    return {"test": told, "estimate": fits.effects, "error": fits.errors, "halves": halves}


def _restrict_to_half(sheet: DesignBlocks, sides: np.ndarray, side: bool) -> DesignBlocks:
    """A sheet on which the rows of the other half weigh nothing."""

    def blocks():
        start = 0
        for table, targets, weights in sheet.blocks():
            mine = sides[start : start + len(weights)] == side
            start += len(weights)
            yield table, targets, weights * mine

    total = sum(float(weights.sum()) for _, _, weights in blocks())
    return DesignBlocks(blocks, total, sheet.width)


def max_correlates(n_controls: int, total: float) -> int:
    """How many correlates a test is held against at most: one in ten rows."""
    return min(n_controls, int(total / 10.0))


def sheet_of(
    columns: StandardizedColumns, targets: np.ndarray, union: np.ndarray, loadings: np.ndarray
) -> DesignBlocks:
    """The columns that tests look at, with the common factors and a constant, in blocks of rows."""
    factors = columns.scores(loadings)
    factors /= np.sqrt(columns.weights @ factors**2 / columns.total)
    width = len(union) + loadings.shape[1] + 1
    step = max(1, CELLS // width)
    part: Any = sp.csr_array(columns.X[:, union]) if columns.sparse else columns.X
    means, units = columns.means[union], columns.units[union]

    def block(start: int) -> Block:
        rows = slice(start, min(start + step, columns.n_rows))
        own = (part[rows].toarray() - means) * units if columns.sparse else part[rows][:, union]
        ones = np.ones((len(own), 1))
        table = np.asfortranarray(np.hstack([own, factors[rows], ones]))
        return table, targets[rows], columns.weights[rows]

    starts = range(0, columns.n_rows, step)
    kept = [block(start) for start in starts] if columns.n_rows * width <= MAX_CACHED_ENTRIES else []

    def blocks():
        return kept or map(block, starts)

    return DesignBlocks(blocks, columns.total, width)


def run(sheet: DesignBlocks, tests: list[ConditionalTest], rules: SelectionOptions, starts, own: bool = False) -> ConditionalResults:
    """All tests; those of classes on several threads."""
    if not tests:
        return ConditionalResults(*(np.zeros(0) for _ in ConditionalResults._fields))
    if not rules.logistic:
        return run_linear_tests(sheet, tests)
    threads = min(count_threads(rules.n_jobs), len(tests))
    if threads == 1:
        return run_logistic_tests(sheet, tests, starts, own)
    parts = [np.arange(len(tests))[k::threads] for k in range(threads)]
    jobs = (delayed(run_logistic_tests)(sheet, [tests[k] for k in part], starts, own) for part in parts)
    done = Parallel(n_jobs=threads, prefer="threads")(jobs)
    order = np.argsort(np.concatenate(parts))
    return ConditionalResults(*(np.concatenate(column) for column in zip(*done, strict=True))).of(order)
