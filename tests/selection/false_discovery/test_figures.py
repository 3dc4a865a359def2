"""Figures of tests by hand: standard errors, claims of pairs, controls that make a column, order of
screens, and readings at their edges.
"""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from tamis import FDRSelector, FDRStream
from tamis.selection.false_discovery import inputs
from tamis.selection.false_discovery.conditional_test import (
    ConditionalTest,
    DesignBlocks,
    initial_coefs,
    run_linear_tests,
    run_logistic_tests,
)
from tamis.selection.false_discovery.controls import find_collinear_controls
from tamis.selection.false_discovery.fit import prepare_tests
from tamis.selection.false_discovery.multiple_testing import (
    benjamini_hochberg,
    representative_qvalues,
)
from tamis.selection.false_discovery.screening import by_pass
from tamis.selection.false_discovery.screening.by_path import screen_path
from tamis.selection.false_discovery.screening.path import L1Path
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.selection.false_discovery.stream import (
    ColumnMoments,
    ColumnScaling,
    DesignStore,
    OutcomeChunk,
    _build_design,
)


def design_of(table, y):
    table = np.column_stack([table, np.ones(len(table))])
    weights = np.ones(len(table))
    return DesignBlocks(
        lambda: [(table, y[:, None], weights)], float(len(table)), table.shape[1]
    ), table


@pytest.mark.parametrize("n", [6, 40])
def test_errors_of_slopes_are_those_of_white_with_the_degrees_of_freedom(n):
    rng = np.random.default_rng(n)
    table = rng.normal(size=(n, 4))
    y = table[:, 3] + rng.normal(size=n) * (0.5 + table[:, 0] ** 2)
    design, Z = design_of(table, y)
    actual = run_linear_tests(design, [ConditionalTest(0, 3, np.arange(3))])
    bread = np.linalg.inv(Z.T @ Z)
    fit = bread @ Z.T @ y
    rest = y - Z @ fit
    cover = bread @ (Z.T * rest**2) @ Z @ bread * n / (n - 5.0)
    assert actual.effects[0] == pytest.approx(fit[3])
    assert actual.standard_errors[0] == pytest.approx(np.sqrt(cover[3, 3]))


def test_errors_of_log_odds_are_those_of_white_beside_a_prior():
    """The prior of a column is half a success and half a failure at the size of its numbers."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 4))
    y = (table[:, 3] + table[:, 0] + rng.logistic(size=300) > 0).astype(float)
    design, Z = design_of(table, y)
    tests = [ConditionalTest(0, 3, np.arange(3))]
    actual = run_logistic_tests(design, tests, initial_coefs(design, tests), include_column=True)
    away = np.abs(table[:, 3] - table[:, 3].mean())
    size, fit = 2.0 * (away**2).sum() / away.sum(), np.zeros(5)
    for _ in range(30):
        likely, prior = expit(Z @ fit), expit(size * fit[3])
        slope, curvature = Z.T @ (y - likely), (Z.T * (likely * (1.0 - likely))) @ Z
        slope[3] += size * (0.5 - prior)
        curvature[3, 3] += size**2 * prior * (1.0 - prior)
        fit = fit + np.linalg.solve(curvature, slope)
    bread = np.linalg.inv(curvature)
    cover = bread @ (Z.T * (y - likely) ** 2) @ Z @ bread * 300 / 295.0
    assert actual.effects[0] == pytest.approx(fit[3], rel=1e-5)
    expected = np.sqrt(max(cover[3, 3], bread[3, 3]))
    assert actual.standard_errors[0] == pytest.approx(expected, rel=1e-5)


def test_pairs_are_corrected_by_their_number_and_their_columns_by_theirs():
    pvalues, columns = np.array([1e-4, 2e-3, 0.03, 0.5]), np.array([4, 4, 7, 9])
    heads = np.arange(4)
    actual = representative_qvalues(pvalues, columns, heads, 3, (300, 100))
    include_column = benjamini_hochberg(pvalues, 300)
    by_column = benjamini_hochberg(np.array([3e-4, 0.09, 1.0]), 100)
    assert actual == pytest.approx(np.maximum(include_column, by_column[[0, 0, 1, 2]]))
    assert actual[1] == include_column[1] > by_column[0]
    # Of few columns and many outputs it is the column's that counts.
    few = representative_qvalues(pvalues, columns, heads, 100, (300, 3))
    wide = benjamini_hochberg(np.array([1e-2, 1.0, 1.0]), 3)
    assert few == pytest.approx(np.maximum(include_column, wide[[0, 0, 1, 2]]))
    alike = representative_qvalues(np.full(3, 1e-4), np.full(3, 4), np.arange(3), 100, (300, 3))
    assert alike == pytest.approx(3 * 100 * 1e-4)  # of pairs it would be a third
    # A test that joins the group of another is no claim, and none of those that are corrected for.
    joined = representative_qvalues(pvalues, columns, np.array([0, 1, 1, 3]), 3, (300, 100))
    assert joined[2] == 1.0
    assert joined[[0, 1, 3]] == pytest.approx(
        representative_qvalues(pvalues[[0, 1, 3]], columns[[0, 1, 3]], np.arange(3), 3, (300, 100))
    )


def test_claims_come_first_where_q_values_do_not_follow_p_values():
    """Of several outputs a q-value is the larger of a pair's and its column's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 40))
    Y = X[:, rng.integers(40, size=12)] * 0.25 + rng.normal(size=(150, 12))
    table = FDRSelector(q=0.1, substitutes=None, n_candidates=5).fit(X, Y).table_
    qvalues, pvalues = ([row[name] for row in table] for name in ("qvalue", "pvalue"))
    assert pvalues != sorted(pvalues)
    assert qvalues == sorted(qvalues)


def test_levels_make_the_last_one_and_others_make_nothing():
    rng = np.random.default_rng(0)
    levels = np.eye(4)[rng.integers(0, 4, 200)]
    _, Z = design_of(np.column_stack([levels, rng.normal(size=200)]), np.zeros(200))
    gram = Z.T @ Z
    assert find_collinear_controls(
        gram, ConditionalTest(0, 3, np.array([0, 1, 2, 4])), 6
    ).tolist() == [0, 1, 2]
    assert (
        find_collinear_controls(gram, ConditionalTest(0, 3, np.array([0, 1, 4])), 6).tolist() == []
    )
    assert (
        find_collinear_controls(gram, ConditionalTest(0, 4, np.array([0, 1, 2])), 6).tolist() == []
    )


def test_stronger_columns_come_first_within_a_step_and_among_controls():
    rng = np.random.default_rng(0)
    X, _ = np.linalg.qr(rng.normal(size=(200, 12)) - 0.0)
    X -= X.mean(axis=0)
    columns = StandardizedColumns(X, np.ones(200))
    target = columns.dense_columns(np.arange(12)) @ np.array(
        [0, 2.97, 0, 3.0, 0, 0, 1.5, 0, 0, 0, 0, 0]
    )
    screen = screen_path(columns, target + 0.3 * rng.normal(size=200), False, 6)
    assert screen.candidates[:3].tolist() == [3, 1, 6]
    assert screen.controls[:3].tolist() == [3, 1, 6]


def test_passes_rank_by_the_first_penalty_that_keeps_a_column_and_then_by_weight():
    """Controls are those of the penalty itself, or of the one before which enough are met."""
    weights = [np.zeros(6) for _ in by_pass.PENALTY_RATIOS]
    for include_column, factor in zip(weights, by_pass.PENALTY_RATIOS, strict=True):
        include_column[2] = -3.0
        include_column[4] = 1.0
        include_column[1] = 2.0 if factor <= 1.0 else 0.0
        include_column[5] = 9.0 if factor < 1.0 else 0.0
    actual = by_pass._rank_columns(weights, 4, 5)
    assert actual.candidates[:4].tolist() == [2, 4, 1, 5]
    assert actual.controls.tolist() == [2, 1, 4]
    few = by_pass._rank_columns(weights, 2, 1)
    assert few.candidates[:2].tolist() == [2, 4]
    assert few.controls.tolist() == [2]


def test_passes_take_outcomes_about_their_mean(monkeypatch):
    spreads = []

    class Learners:
        def __init__(self, n_columns, total_weight, deviation, logistic, screen):
            spreads.append(deviation)

        def learn(self, *_):
            pass

        def results(self, n_candidates):
            return []

    monkeypatch.setattr(by_pass, "OnePassScreen", Learners)
    rng = np.random.default_rng(0)
    outcomes = 7.0 + rng.normal(size=(50, 2))
    by_pass.screen_pass(StandardizedColumns(np.eye(50), np.ones(50)), outcomes, False, 5, "ftrl")
    assert spreads == [pytest.approx(outcomes.std(axis=0).mean())]


def test_paths_of_classes_reach_their_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    y = (3.0 * X[:, 0] - 2.0 * X[:, 1] + rng.logistic(size=150) > 0).astype(float)
    columns = StandardizedColumns(X, np.ones(150))
    path = L1Path(columns, y, True)
    penalty = 0.1 * path.max_penalty
    step = path.solve_next(penalty)
    Z = columns.dense_columns(np.arange(30))
    weights = np.zeros(30)
    weights[step.columns] = step.weights
    slope = Z.T @ (expit(path.bias + Z @ weights) - y) / 150
    on = weights != 0.0
    assert slope[on] == pytest.approx(-penalty * np.sign(weights[on]), rel=2e-3)
    assert np.abs(slope[~on]).max() <= 1.002 * penalty


# --------------------------------------------------------------------------- claims
def test_the_table_holds_a_group_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    X[:, 4] = X[:, 3] + 0.1 * rng.normal(size=150)
    model = FDRSelector().fit(X, 2.0 * X[:, 3] + rng.normal(size=150), also=[3, 4])
    assert {3, 4} <= set(model.candidates_)
    assert [row["column"] for row in model.table_ if row["column"] in (3, 4)] == [3]


def test_rows_that_are_all_in_one_half_have_no_score_in_the_other():
    for value in range(1, 7):
        X = np.repeat([[0.0], [float(value)]], 20, axis=0)
        model = FDRSelector().fit(X, X[:, 0] + np.tile([0.0, 1.0], 20))
        assert np.isfinite(model.effects_["halves"]).all()


def test_strengths_of_substitutes_are_at_most_1():
    with pytest.raises(ValueError, match="substitutes"):
        FDRSelector(substitutes=1.5).fit(np.eye(8), np.arange(8.0))


# --------------------------------------------------------------------------- readings
def pairs(X, y, size=90):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(X), size)]


@pytest.mark.parametrize("memory", [0, 1 << 30])
def test_a_sheet_of_what_is_read_is_that_of_the_arrays(memory):
    """Full columns are centred, and common factors are in units of their spread."""
    rng = np.random.default_rng(0)
    X = 5.0 + rng.normal(size=(300, 60)) + 0.9 * rng.normal(size=(300, 1))
    X[:, 7] *= rng.random(300) < 0.1
    y = (X[:, 3] - X[:, 7] - X[:, 9] + rng.normal(size=300))[:, None]
    columns, moments = StandardizedColumns(X, np.ones(300)), ColumnMoments()
    moments.add(sp.csr_array(X), np.ones(300))
    screened = [screen_path(columns, y[:, 0], False, 12).with_candidates([7])]
    plan, loadings, design = prepare_tests(columns, y, screened, 0.5, 5)
    chunks = [
        OutcomeChunk(sp.csr_array(X[k : k + 90]), y[k : k + 90], np.ones(90)) for k in (0, 90, 180)
    ]
    chunks.append(OutcomeChunk(sp.csr_array(X[270:]), y[270:], np.ones(30)))
    scaling = ColumnScaling(moments)
    with DesignStore(memory, len(plan.design_columns)) as store:
        read, _ = _build_design(lambda: iter(chunks), scaling, plan, loadings, memory, store)
        expected, actual = (
            np.vstack([table for table, *_ in one.blocks()]) for one in (design, read)
        )
    sparse = np.searchsorted(plan.design_columns, 7)
    assert plan.design_columns[sparse] == 7
    assert (actual[:, sparse] == 0.0).sum() > 200  # it stays where it is
    actual[:, sparse] -= actual[:, sparse].mean()
    assert loadings.shape[1] == 1
    assert actual == pytest.approx(expected, abs=1e-9)


def test_chunks_may_be_empty_and_numbers_have_one_output():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = X[:, 2] + rng.normal(size=80)
    read = FDRSelector().fit_rows([(X[:0], y[:0]), *pairs(X, y)])
    assert read.scores_.shape == (5,)
    rows = inputs.RepeatedReader(pairs(X, y), False)
    assert rows.resolve_targets("numbers").flat
    assert (rows.resolve_targets("numbers").outputs, rows.resolve_targets("auto").outputs) == (1, 1)
    assert read.scores_ == pytest.approx(FDRSelector().fit(X, y).scores_, abs=1e-6)


def test_so_many_targets_may_be_classes_and_no_more(monkeypatch):
    monkeypatch.setattr(inputs, "MAX_CLASSES", 3)
    monkeypatch.setattr("tamis.base.class_messages.MAX_CLASSES", 3)
    X = np.ones((6, 2))
    known = inputs.RepeatedReader([(X, np.array([0, 1, 2, 0, 1, 2]))], False)
    assert known.resolve_targets("classes").classes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="more than 3 different targets"):
        inputs.RepeatedReader([(X, np.array([0, 1, 2, 3, 1, 2]))], False).resolve_targets("classes")


def bars(monkeypatch):
    """What the bars of readings are called, how far each is, and what they say."""
    messages = []

    class Bar(contextlib.nullcontext):
        def __init__(self, label, total, shown):
            super().__init__(self)
            self.done = 0
            messages.append(label)

        def advance(self, rows, note=""):
            self.done += rows
            messages.append((self.done, note))

    monkeypatch.setattr(inputs, "Progress", Bar)
    return messages


def test_readings_are_counted_and_say_how_many_rows(monkeypatch):
    messages = bars(monkeypatch)
    rows = inputs.RepeatedReader(pairs(np.ones((100, 2)), np.arange(100.0), 60), False)
    list(rows.chunks(rows.resolve_targets("numbers")))
    assert messages == ["reading 2", (0, "60 rows"), (0, "100 rows")]


def test_common_factors_of_a_stream_are_in_units_of_their_spread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 40)) + 0.9 * rng.normal(size=(240, 1))
    model = FDRStream(n_screen=120).partial_fit(X, X[:, 3] + rng.normal(size=240))
    columns = StandardizedColumns(X[:120], np.ones(120))
    scores = columns.scores(model._stage.loadings)
    assert scores.shape[1] == 1
    assert np.mean(scores**2, axis=0) == pytest.approx(1.0)


def test_bars_of_files_move_to_what_is_done(tmp_path, monkeypatch):
    messages = bars(monkeypatch)

    class Rows(inputs.RowSource):
        total, done, surveyed = 10, 0, None

        def __init__(self):
            pass

        def survey(self, watch, tell):
            first = watch()
            first.add((sp.csr_array(np.eye(10)), np.arange(10)))
            self.survey_result = type("Surveyed", (), {"observer": first})()
            for done in (4, 7, 10):
                tell(done)

    inputs.RepeatedReader(Rows(), False)
    assert messages == ["reading 1", (4, ""), (7, ""), (10, "")]
