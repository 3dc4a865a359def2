"""Cutting planes that cannot close their gap stop with a warning."""

import re
import warnings

import numpy as np
import pytest

from tamis import RobustRegressor, RobustSVC
from tamis.methods.robust.cutting_planes import STALL_ITERATIONS

pytestmark = pytest.mark.usefixtures("bounded")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 8))
NUMBERS = 2.0 * X[:, 0] + 0.3 * RNG.normal(size=60)
MODELS = [
    (RobustSVC, (NUMBERS > 0.0).astype(int)),
    (RobustSVC, np.digitize(NUMBERS, [-1.0, 1.0])),
    (RobustRegressor, NUMBERS),
]


@pytest.mark.parametrize(("cls", "y"), MODELS)
@pytest.mark.parametrize(
    ("rows", "weights"),
    [
        (1e40 * X, None),
        (X * np.where(np.arange(8) % 2, 1e40, 1e-40), None),
        (X, np.where(np.arange(60) % 2, 1e40, 1.0)),
        (X, np.full(60, 1e40)),
    ],
    ids=["huge", "mixed columns", "mixed weights", "huge weights"],
)
def test_planes_that_do_not_narrow_the_gap_end_the_fit_with_a_warning(cls, y, rows, weights):
    """Most of these cannot close their gap, depending on rounding; the model must warn exactly
    then.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls().fit(rows, y, sample_weight=weights)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (model.gap_ > model.tol)
    assert all(
        re.search(
            r" \d+ planes, .*gap .*\d.*Scale the columns",
            text,
        )
        for text in messages
    )
    assert model.n_iter_ < 3 * STALL_ITERATIONS
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize(("cls", "y"), MODELS)
def test_constant_columns_leave_the_intercept(cls, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cls().fit(np.full((60, 8), 3.0), y).coef_.any()
