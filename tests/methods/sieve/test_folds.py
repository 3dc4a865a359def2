"""How rows are dealt out to folds: equal ones together, unless there are too few kinds of rows."""

import numpy as np
import pytest

from tamis import SieveClassifier, SieveRegressor

pytestmark = pytest.mark.quick

BITS = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
NOISE = np.random.default_rng(1).integers(0, 2, 100)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("cls", [SieveClassifier, SieveRegressor])
def test_a_column_that_is_the_answer_is_found_among_few_kinds_of_rows(cls, columns):
    X, y = BITS[:, :columns], BITS[:, 0]
    with pytest.warns(UserWarning, match=f"only {2**columns} of the 100 rows are distinct"):
        model = cls(random_state=0).fit(X, y)
    assert list(model.support_) == [0]
    assert model.error_ < 1e-6
    assert model.score(X, y) > 1.0 - 1e-6


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_the_error_of_few_kinds_of_rows_is_that_of_guessing_where_they_say_nothing():
    with pytest.warns(UserWarning, match="distinct"):
        model = SieveClassifier(random_state=0).fit(BITS, NOISE)
    assert not len(model.support_)
    assert 0.35 < model.error_ < 0.65
    assert 0.35 < model.baseline_error_ < 0.65


def test_the_order_of_rows_and_the_order_of_columns_do_not_matter():
    order, y = np.random.default_rng(2).permutation(100), BITS[:, 0]
    with pytest.warns(UserWarning, match="distinct"):
        a = SieveClassifier(random_state=0).fit(BITS, y)
    with pytest.warns(UserWarning, match="distinct"):
        b = SieveClassifier(random_state=0).fit(BITS[order], y[order])
    assert np.array_equal(a.coef_, b.coef_)
    assert a.error_ == b.error_


@pytest.mark.filterwarnings("error")
def test_repeated_rows_of_many_kinds_share_their_fold_without_a_word():
    X = np.repeat(np.random.default_rng(3).normal(size=(40, 2)), 4, axis=0)
    SieveClassifier(random_state=0, n_paths=2, n_features_to_select=1).fit(X, X[:, 0] > 0.0)
