"""What the verdict finds out about columns, by hand: correlations with what is left over, shifts,
importances, and checks of handmade evidence.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tamis.evaluation.checks import NotChecked, density_bias, leak
from tamis.evaluation.columns import mean_shifts, residual_z_scores
from tamis.evaluation.evaluation import EvaluationData

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] > 0).astype(int)


def test_what_is_left_over_is_correlated_in_standard_errors():
    residuals = [X[:, 0] + RNG.normal(size=200), X[:, 1]]
    actual = residual_z_scores(sp.csr_array(X), X.std(axis=0), np.full(4, 200.0), residuals)
    expected = [
        [
            abs((X[:, j] @ (r - r.mean())) / (X[:, j].std() * r.std() * np.sqrt(200)))
            for r in residuals
        ]
        for j in range(4)
    ]
    assert actual == pytest.approx(np.max(expected, axis=1))
    few = residual_z_scores(
        sp.csr_array(X), X.std(axis=0), np.array([200.0, 1.0, 200.0, 200.0]), residuals
    )
    assert few == pytest.approx(np.where(np.arange(4) == 1, 0.0, actual))


def test_shifts_are_in_units_of_spread_and_of_standard_errors():
    first, second = (
        (np.array([1.0, 5.0]), np.array([2.0, 0.0])),
        (np.zeros(2), np.array([1.0, 0.0])),
    )
    shifts, z_scores = mean_shifts(first, second, (100, 25))
    assert shifts == pytest.approx([1.0 / np.sqrt(2.5), 0.0])
    assert z_scores == pytest.approx([1.0 / np.sqrt(4.0 / 100 + 1.0 / 25), 0.0])


def test_importances_without_rows_are_sizes_of_weights():
    model = LogisticRegression().fit(X, Y)
    evidence = EvaluationData(model)
    assert evidence.importance == pytest.approx(np.abs(model.coef_[0])[evidence.kept])
    seen = EvaluationData(model, X, Y)
    assert seen.importance == pytest.approx((np.abs(model.coef_[0]) * X.std(axis=0))[seen.kept])


def test_chances_are_those_of_one_label_a_row():
    model = LogisticRegression().fit(X, Y)
    assert EvaluationData(model, X, Y).probabilities == pytest.approx(model.predict_proba(X))
    several = OneVsRestClassifier(model).fit(X, np.column_stack([Y, X[:, 1] > 0]).astype(int))
    assert EvaluationData(several, X, several.predict(X)).probabilities is None
    assert EvaluationData(LinearRegression().fit(X, X[:, 1]), X, X[:, 1]).probabilities is None


def test_columns_filled_as_often_as_others_are_no_preference():
    densities = np.linspace(0.2, 0.8, 40)
    moments = None, np.ones(40), densities
    evidence = SimpleNamespace(moments=moments, kept=np.arange(0, 40, 8), y=np.zeros(1))
    assert "about as often" in density_bias(evidence)


@pytest.mark.parametrize("missing", [{"rows": None}, {"kept": None}, {"kept": np.zeros(0, int)}])
def test_a_leak_is_looked_for_where_there_are_rows_and_kept_columns(missing):
    evidence = {"rows": sp.csr_array(X), "kept": np.arange(2), "ranked": np.arange(2)}
    evidence |= {"sampled_targets": Y, "classes": True, "name": str}
    assert "0 (1.000)" in leak(SimpleNamespace(**evidence)).said
    if missing.get("kept") is not None:
        missing = {**missing, "ranked": np.zeros(0, int)}
    assert isinstance(leak(SimpleNamespace(**(evidence | missing))), NotChecked)
