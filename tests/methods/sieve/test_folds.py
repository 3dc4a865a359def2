"""Folds: equal rows share one, unless there are too few distinct rows."""

import numpy as np
import pytest

from tamis import SieveClassifier, SieveRegressor

pytestmark = pytest.mark.quick

BITS = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
NOISE = np.random.default_rng(1).integers(0, 2, 100)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("cls", [SieveClassifier, SieveRegressor])
def test_a_column_equal_to_y_is_selected_with_few_distinct_rows(cls, columns):
    X, y = BITS[:, :columns], BITS[:, 0]
    with pytest.warns(UserWarning, match=f"only {2**columns} of the 100 rows are distinct"):
        model = cls(random_state=0).fit(X, y)
    assert list(model.support_) == [0]
    assert model.error_ < 1e-6
    assert model.score(X, y) > 1.0 - 1e-6


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_few_distinct_rows_of_noise_give_the_error_of_guessing():
    with pytest.warns(UserWarning, match="distinct"):
        model = SieveClassifier(random_state=0).fit(BITS, NOISE)
    assert not len(model.support_)
    assert 0.35 < model.error_ < 0.65
    assert 0.35 < model.baseline_error_ < 0.65


def test_the_order_of_rows_does_not_matter():
    order, y = np.random.default_rng(2).permutation(100), BITS[:, 0]
    with pytest.warns(UserWarning, match="distinct"):
        a = SieveClassifier(random_state=0).fit(BITS, y)
    with pytest.warns(UserWarning, match="distinct"):
        b = SieveClassifier(random_state=0).fit(BITS[order], y[order])
    assert np.array_equal(a.coef_, b.coef_)
    assert a.error_ == b.error_


@pytest.mark.filterwarnings("error")
def test_repeats_of_many_distinct_rows_give_no_warning():
    X = np.repeat(np.random.default_rng(3).normal(size=(40, 2)), 4, axis=0)
    SieveClassifier(random_state=0, n_paths=2, n_features_to_select=1).fit(X, X[:, 0] > 0.0)
