"""The loops by hand that benchmarks compare with do the same work: they end with the same cells."""

import numpy as np
import pytest

from benchmarks.floor import Sides, hand_written, lengths
from benchmarks.speed import _model
from benchmarks.workloads import make
from tamis.numerics.csr import Csr, readonly_view


@pytest.mark.parametrize("rule", ["SGD", "FOBOS", "RDA", "FTRL", "AdaGrad"])
def test_same_cells(interpreted, rule):
    """A pass by hand and one of tamis, automatic constants and intercept included."""
    work = make("20 a row", quick=True)
    X, y = work.X[:300], work.y[:300].astype(float)
    rows = (X.data, X.indices.view(np.uint32), X.indptr.astype(np.uint64))
    model = _model(rule, "squared_hinge", True)
    engine = model._new_state(model._model(), Sides(1), X.shape[1], True)
    walk, numbers = hand_written(rule, "squared_hinge")
    cells = np.zeros((X.shape[1] + 1, numbers))
    eta, l1 = lengths(engine, rule, "squared_hinge")
    walk.py_func(*rows, y, np.zeros(0, np.uint64), cells, True, eta, l1)
    trusted = Csr(*map(readonly_view, rows), X.shape[1])
    engine.learn(trusted, Sides(1, readonly_view(y[:, None].copy())), readonly_view(np.zeros(0)))
    # Not to the bit: norms of rows are 1 by hand, and measured by tamis.
    assert np.abs(engine.state[0] - cells[:-1, 0]).max() < 0.01 * np.abs(cells[:, 0]).max()
