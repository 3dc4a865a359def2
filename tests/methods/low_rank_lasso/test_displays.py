"""Figures of low-rank models."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from tamis import (
    FOBOSRegressor,
    LowRankFactorization,
    LowRankLasso,
    RankOneLasso,
    RankOnePathDisplay,
    SingularValueDisplay,
)

RANDOM = np.random.default_rng(0)
X = np.outer(RANDOM.normal(size=80), [3.0, -2.0, 1.0, 0.5]) + 0.1 * RANDOM.normal(size=(80, 4))


def test_singular_values_and_error():
    factors = LowRankFactorization(2, random_state=0).fit(X)
    display = SingularValueDisplay.from_estimator(factors)
    assert display.line_.get_ydata() == pytest.approx(factors.S_)
    assert display.band_.get_y() == pytest.approx(factors.error_lower_)
    model = LowRankLasso(2, random_state=0).fit(X, X[:, 0])
    assert SingularValueDisplay.from_estimator(model).values == pytest.approx(factors.S_)
    with pytest.raises(TypeError, match=r"SingularValueDisplay .*FOBOSRegressor"):
        SingularValueDisplay.from_estimator(FOBOSRegressor().fit(X, X[:, 0]))


def test_the_rank_one_path():
    display = RankOnePathDisplay.from_data(
        X, X[:, 0], RankOneLasso(random_state=0), names=["a", "b", "c", "d"]
    )
    assert len(display.lines_) == int((display.weights != 0).any(axis=0).sum())
    assert display.ax_.get_xscale() == "log"
    assert {text.get_text() for text in display.ax_.texts} <= {"a", "b", "c", "d"}
    with pytest.raises(ValueError, match="do not fit 2 alphas"):
        RankOnePathDisplay(alphas=[1.0, 2.0], weights=np.zeros((3, 4)))
    with pytest.raises(TypeError, match="which LowRankFactorization does not have"):
        RankOnePathDisplay.from_data(X, X[:, 0], LowRankFactorization())
