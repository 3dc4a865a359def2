"""What the first reading measures, the constants that trials were made with, and which claim of
several is told.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.evaluation.evaluation import EvaluationData
from tamis.selection.anytime import evidence
from tamis.selection.false_discovery import conditional_test, controls, standardized_columns, stream
from tamis.selection.false_discovery.inputs import RepeatedReader
from tamis.selection.false_discovery.screening import by_pass, by_path
from tamis.selection.false_discovery.stream import ColumnScaling


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((60, 8), density=0.6, rng=rng, format="csr")
    return X, rng.integers(0, 2, 60), rng.integers(1, 4, 60).astype(float)


def test_moments_are_weighted():
    X, y, weights = table()
    reader = RepeatedReader([(X[:25], y[:25], weights[:25]), (X[25:], y[25:], weights[25:])], False)
    dense = X.toarray()
    assert reader.moments.total_weight == weights.sum()
    assert (reader.moments.n_rows, reader.moments.nonzeros) == (60, X.nnz)
    assert reader.moments.sums == pytest.approx(
        np.array([weights @ dense, weights @ dense**2, (dense != 0.0).sum(axis=0)])
    )
    scaling, mean = ColumnScaling(reader.moments), np.average(dense, axis=0, weights=weights)
    assert scaling.means == pytest.approx(mean)
    spread = np.sqrt(np.average((dense - mean) ** 2, axis=0, weights=weights))
    assert scaling.units == pytest.approx(1.0 / spread)


def test_a_row_of_weight_0_was_not_met():
    """Neither its numbers nor its class."""
    X, y, weights = table()
    y[7], weights[[7, 20]] = 2, 0.0
    counted = weights > 0.0
    reader = RepeatedReader([(X, y, weights)], False)
    expected = RepeatedReader([(X[counted], y[counted], weights[counted])], False)
    assert np.array_equal(reader.moments.sums, expected.moments.sums)
    assert reader.moments.n_rows == expected.moments.n_rows == 58
    assert reader.resolve_targets("auto").classes.tolist() == [0, 1]
    all_rows = reader.read_all(reader.resolve_targets("auto"))
    assert all_rows.X.shape == (58, 8)
    assert np.array_equal(all_rows.outcomes[:, 0], y[counted])


def test_constants_are_those_of_the_trials():
    """Whoever changes one makes the table of guarantees anew, and says on what it was chosen."""
    assert (by_path.NOISE_PENALTY_RATIO, by_path.REGRESSION_GRID, by_path.CLASSIFICATION_GRID) == (
        0.8,
        (40, 1.02, 0.08),
        (25, 1.02, 0.5),
    )
    assert (by_path.MAX_NOISE_ESTIMATES, by_path.ROWS_PER_CONTROL, by_pass.CLASS_DEVIATION) == (
        6,
        4,
        0.5,
    )
    assert by_pass.PENALTY_RATIOS == (2.0, 1.4, 1.0, 0.7, 0.5, 0.35)
    assert (
        standardized_columns.MIN_NONZEROS,
        controls.MAX_COMPONENTS,
        controls.NOISE_EDGE_RATIO,
    ) == (5, 8, 1.1)
    assert (
        conditional_test.MIN_CURVATURE,
        controls.TWIN_CORRELATION,
        conditional_test.MIN_RESIDUAL_FRACTION,
    ) == (
        1e-5,
        0.99,
        1e-6,
    )
    assert (evidence.BLOCK_ROWS, evidence.PRIOR_DIVISOR, stream.SAMPLE_ROWS) == (100, 12.0, 4096)


def test_the_best_claim_over_outputs_is_told():
    """A column's q-value is that of the head of its group; -1 is a column that was not tested."""
    head = np.array([[1, 1, -1], [0, 1, -1]])
    claims = SimpleNamespace(head_=head, qvalues_=np.array([[0.3, 0.2, 1.0], [0.05, 0.4, 1.0]]))
    with_claims = SimpleNamespace(claims=claims)
    assert EvaluationData.find_claim(with_claims, 0) == (0.05, 0)
    assert EvaluationData.find_claim(with_claims, 1) == (0.2, 1)
    assert EvaluationData.find_claim(with_claims, 2) == (1.0, 2)
