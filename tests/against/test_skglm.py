"""Against skglm: the minimax concave penalty, where both end at the same stationary point."""

import numpy as np
import pytest

from tamis import GroupLassoRegressor
from tamis.terms import MCP

skglm = pytest.importorskip("skglm")


@pytest.mark.parametrize("gamma", [2.5, 4.0])
def test_minimax_concave_regression(gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = X[:, :4] @ [2.0, -1.5, 1.0, 0.4] + 0.3 * rng.normal(size=120) + 0.7
    theirs = skglm.MCPRegression(alpha=0.15, gamma=gamma, tol=1e-10).fit(X, y)
    ours = GroupLassoRegressor(penalty=MCP(gamma=gamma), alpha=0.15, tol=1e-14).fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert ours.intercept_[0] == pytest.approx(theirs.intercept_, abs=1e-5)
