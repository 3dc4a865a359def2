"""From screened columns to claims: plan the tests, build their design, run and correct them."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from tamis.selection.false_discovery.conditional_test import (
    Block,
    ConditionalResults,
    ConditionalTest,
    DesignBlocks,
    initial_coefs,
    run_linear_tests,
    run_logistic_tests,
)
from tamis.selection.false_discovery.controls import (
    CorrelatedColumns,
    add_claimed_controls,
    correlated_columns,
    exclude_group,
    find_collinear_controls,
    leading_components,
)
from tamis.selection.false_discovery.multiple_testing import (
    find_representatives,
    representative_qvalues,
)
from tamis.selection.false_discovery.screening.by_path import ScreenResult, noise_correlation
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.system.threads import count_threads

# A factor with more of its squared loadings in one group belongs to that group.
MAX_GROUP_LOADING = 0.9


class SelectionOptions(NamedTuple):
    """Parameters of a selection, with the names that `FDRSelector` gives them."""

    logistic: bool
    substitutes: float | None
    n_candidates: int
    n_controls: int
    correction: str
    n_jobs: int | None
    q: float


class SelectionResult(NamedTuple):
    """Outputs, columns and controls of all tests, their results, and the claims made from them."""

    outputs: np.ndarray
    columns: np.ndarray
    controls: list[np.ndarray]
    groups: list[np.ndarray]
    correlations: list[np.ndarray]
    results: ConditionalResults
    representatives: np.ndarray  # for each test, the test that represents its group
    qvalues: np.ndarray
    n_components: int
    # Of the tests with a q-value below 1: effects in standard deviations of the columns, and z in
    # two halves of the rows.
    effects: dict[str, np.ndarray]


class DesignPlan(NamedTuple):
    """Tests and their controls by columns of the table, and the columns that the design holds."""

    outputs: np.ndarray
    columns: np.ndarray
    controls: list[np.ndarray]
    ranked_controls: list[np.ndarray]  # strongest first: by the screen, then by correlation
    correlated: list[CorrelatedColumns]
    design_columns: np.ndarray

    def tests(self, loadings: np.ndarray) -> list[ConditionalTest]:
        """Return the tests by design indices: `design_columns` first, then the common factors.

        A factor that lies within a column and its substitutes is no control of that column: it
        would remove the effect that the claim is about.
        """
        control_indices = [np.searchsorted(self.design_columns, each) for each in self.controls]
        column_indices = np.searchsorted(self.design_columns, self.columns)
        tests = []
        for k, correlated in enumerate(self.correlated):
            group = np.append(correlated.substitutes, self.columns[k])
            is_common = np.square(loadings[group]).sum(axis=0) <= MAX_GROUP_LOADING
            factors = len(self.design_columns) + np.flatnonzero(is_common)
            controls = np.concatenate([control_indices[k], factors])
            tests.append(ConditionalTest(int(self.outputs[k]), int(column_indices[k]), controls))
        return tests


def plan_tests(
    screened: list[ScreenResult], correlated: dict[int, CorrelatedColumns]
) -> DesignPlan:
    """Plan one test for each candidate of each output, with its controls.

    `correlated` holds the correlated columns of every candidate.
    """
    outputs, columns, controls, ranked_controls, correlated_lists = [], [], [], [], []
    for output, screen in enumerate(screened):
        for column in screen.candidates.tolist():
            related = correlated[column]
            from_screen = exclude_group(
                screen.controls[screen.controls != column], related.substitutes
            )
            outputs.append(output)
            columns.append(column)
            ranked_controls.append(
                np.append(from_screen, exclude_group(related.correlates, np.sort(from_screen)))
            )
            controls.append(np.sort(ranked_controls[-1]))
            correlated_lists.append(related)
    design_columns = np.unique(np.concatenate([np.array(columns, dtype=np.int64), *controls]))
    return DesignPlan(
        np.array(outputs, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        controls,
        ranked_controls,
        correlated_lists,
        design_columns.astype(np.int64),
    )


def prepare_tests(
    columns: StandardizedColumns,
    targets: np.ndarray,
    screened: list[ScreenResult],
    substitutes: float | None,
    n_controls: int,
) -> tuple[DesignPlan, np.ndarray, DesignBlocks]:
    """Return the plan of the tests, the loadings of the common factors, and the design of both."""
    distinct = np.unique(np.concatenate([screen.candidates for screen in screened]))
    min_correlation = noise_correlation(columns.n_columns, columns.total_weight)
    n_correlates = max_correlates(n_controls, columns.total_weight)
    correlated = correlated_columns(columns, distinct, substitutes, n_correlates, min_correlation)
    plan = plan_tests(screened, dict(zip(distinct.tolist(), correlated, strict=True)))
    loadings = leading_components(columns)
    return plan, loadings, build_design(columns, targets, plan.design_columns, loadings)


def run_and_correct(
    design: DesignBlocks,
    plan: DesignPlan,
    shape: tuple[int, int],
    options: SelectionOptions,
    loadings: np.ndarray,
    row_halves=None,
) -> SelectionResult:
    """Run the tests and return their results with q-values over all columns and outputs.

    `shape` is (columns, outputs) of the table. With `row_halves`, the half of each row, the effects
    hold z of both halves too.
    """
    plan = drop_collinear_controls(design, plan, loadings)
    tests = plan.tests(loadings)
    initial_weights = initial_coefs(design, tests) if options.logistic and tests else None
    results = run_tests(design, tests, options, initial_weights)
    groups = [correlated.substitutes for correlated in plan.correlated]
    representatives = find_representatives(results.pvalues, plan.outputs, plan.columns, groups)
    families = shape[0] * shape[1], shape[0]
    qvalues = representative_qvalues(
        results.pvalues, plan.columns, representatives, shape[1], families, options.correction
    )
    reported = np.flatnonzero(qvalues < 1.0)
    # With several outputs a q-value is the larger of two, which need not rise with the p-value.
    reported = reported[np.lexsort((results.pvalues[reported], qvalues[reported]))]
    n_claimed = int(np.count_nonzero(qvalues[reported] <= options.q))  # these come first
    effect_tests = [tests[k] for k in reported]
    if options.logistic:
        in_design = [np.intersect1d(groups[k], plan.design_columns) for k in reported]
        excluded = [np.searchsorted(plan.design_columns, group) for group in in_design]
        max_controls = int(design.total_weight / 10.0)
        effect_tests = add_claimed_controls(effect_tests, n_claimed, excluded, max_controls)
    effects = estimate_effects(
        design,
        [tests[k] for k in reported],
        effect_tests,
        reported,
        results,
        options,
        initial_weights,
        row_halves,
    )
    return SelectionResult(
        plan.outputs,
        plan.columns,
        plan.controls,
        groups,
        [correlated.correlations for correlated in plan.correlated],
        results,
        representatives,
        qvalues,
        loadings.shape[1],
        effects,
    )


def drop_collinear_controls(
    design: DesignBlocks, plan: DesignPlan, loadings: np.ndarray
) -> DesignPlan:
    """Return the plan without controls that jointly determine the tested column.

    The last level of a category is known from all others, though none of them is its twin: then the
    weakest of these controls is dropped, until something is left to test.
    """
    gram: np.ndarray | float = 0.0
    for table, _, weights in design.blocks():
        gram = gram + (table * weights[:, None]).T @ table
    reduced = []
    for k, test in enumerate(plan.tests(loadings)):
        controls = plan.controls[k]
        ranked = np.searchsorted(plan.design_columns, plan.ranked_controls[k])
        while len(collinear := find_collinear_controls(gram, test, design.n_columns)):
            weakest = ranked[np.isin(ranked, collinear)][-1:]
            if not len(weakest):  # only common factors are collinear
                break
            controls = controls[controls != plan.design_columns[weakest[0]]]
            test = test._replace(controls=test.controls[test.controls != weakest[0]])
        reduced.append(controls)
    return plan._replace(controls=reduced)


def estimate_effects(
    design: DesignBlocks,
    tests: list[ConditionalTest],
    effect_tests: list[ConditionalTest],
    reported,
    results: ConditionalResults,
    options: SelectionOptions,
    initial_weights,
    row_halves,
) -> dict[str, np.ndarray]:
    """Return the effects of the reported tests, and z of each in two halves of the rows.

    For classes the effects come from the models of `effect_tests`, which have more controls.
    """
    if options.logistic:
        fits = run_tests(design, effect_tests, options, initial_weights, include_column=True)
    else:
        fits = results.subset(reported)
    halves = np.zeros((len(tests), 2))
    if row_halves is not None and len(tests):
        for half in (False, True):
            half_design = _restrict_to_half(design, row_halves, half)
            if half_design.total_weight > 0.0:
                half_results = run_tests(half_design, tests, options, initial_weights)
                halves[:, int(half)] = half_results.scores
    return {
        "test": reported,
        "estimate": fits.effects,
        "error": fits.standard_errors,
        "halves": halves,
    }


def _restrict_to_half(design: DesignBlocks, row_halves: np.ndarray, half: bool) -> DesignBlocks:
    """Return the design with weight 0 for the rows of the other half."""

    def blocks():
        start = 0
        for table, targets, weights in design.blocks():
            in_half = row_halves[start : start + len(weights)] == half
            start += len(weights)
            yield table, targets, weights * in_half

    total_weight = sum(float(weights.sum()) for _, _, weights in blocks())
    return DesignBlocks(blocks, total_weight, design.n_columns)


def max_correlates(n_controls: int, total_weight: float) -> int:
    """Return the largest number of correlates that a test may control for: one in ten rows."""
    return min(n_controls, int(total_weight / 10.0))


def build_design(
    columns: StandardizedColumns,
    targets: np.ndarray,
    design_columns: np.ndarray,
    loadings: np.ndarray,
    *,
    block_entries: int = 2_000_000,
    max_cached_entries: int = 32_000_000,
) -> DesignBlocks:
    """Return the design of the tests in blocks of rows: columns, common factors and a constant.

    A block holds at most `block_entries` numbers; a design of at most `max_cached_entries` is built
    once and stays in memory.
    """
    factors = columns.scores(loadings)
    factors /= np.sqrt(columns.weights @ factors**2 / columns.total_weight)
    width = len(design_columns) + loadings.shape[1] + 1
    step = max(1, block_entries // width)
    X: Any = sp.csr_array(columns.X[:, design_columns]) if columns.sparse else columns.X
    means, units = columns.means[design_columns], columns.units[design_columns]

    def block(start: int) -> Block:
        rows = slice(start, min(start + step, columns.n_rows))
        if columns.sparse:
            values = (X[rows].toarray() - means) * units
        else:
            values = X[rows][:, design_columns]
        ones = np.ones((len(values), 1))
        table = np.asfortranarray(np.hstack([values, factors[rows], ones]))
        return table, targets[rows], columns.weights[rows]

    starts = range(0, columns.n_rows, step)
    is_cached = columns.n_rows * width <= max_cached_entries
    cached = [block(start) for start in starts] if is_cached else []

    def blocks():
        return cached or map(block, starts)

    return DesignBlocks(blocks, columns.total_weight, width)


def run_tests(
    design: DesignBlocks,
    tests: list[ConditionalTest],
    options: SelectionOptions,
    initial_weights,
    include_column: bool = False,
) -> ConditionalResults:
    """Run all tests and return their results; logistic ones run on several threads."""
    if not tests:
        return ConditionalResults(*(np.zeros(0) for _ in ConditionalResults._fields))
    if not options.logistic:
        return run_linear_tests(design, tests)
    threads = min(count_threads(options.n_jobs), len(tests))
    if threads == 1:
        return run_logistic_tests(design, tests, initial_weights, include_column)
    batches = [np.arange(len(tests))[k::threads] for k in range(threads)]
    jobs = (
        delayed(run_logistic_tests)(
            design, [tests[k] for k in batch], initial_weights, include_column
        )
        for batch in batches
    )
    results = Parallel(n_jobs=threads, prefer="threads")(jobs)
    order = np.argsort(np.concatenate(batches))
    columns = (np.concatenate(column) for column in zip(*results, strict=True))
    return ConditionalResults(*columns).subset(order)
