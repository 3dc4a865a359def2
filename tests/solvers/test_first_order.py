"""State of the first-order models: slices of the outputs on threads, and the running loss."""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis import FOBOSRegressor, FTRLClassifier, OnlineClassifier
from tamis.solvers.first_order import loop, state

RANDOM = np.random.default_rng(0)
ROWS = sp.random_array((400, 30), density=0.4, format="csr", rng=RANDOM)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("cls", [FOBOSRegressor, FTRLClassifier])
def test_threads_with_a_share_of_the_outputs_each_leave_the_same_bits(cls, average, monkeypatch):
    calls = []
    monkeypatch.setattr(
        state.FirstOrderState,
        "_learn_span_on_threads",
        lambda self, *args, learn=state.FirstOrderState._learn_span_on_threads: (
            calls.append(1),
            learn(self, *args),
        ),
    )
    outputs = 3 * state.MIN_OUTPUTS_PER_THREAD + 5
    y = RANDOM.normal(size=(400, outputs))
    y = y if cls is FOBOSRegressor else (y > 0).astype(int)
    models = [
        cls(n_jobs=jobs, average=average, max_iter=3, tol=None, random_state=0)
        for jobs in (1, 2, 3)
    ]
    one, two, three = (model.fit(ROWS, y) for model in models)
    assert len(calls) == 2 * 3
    for other in (two, three):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        assert one.history_ == other.history_


def test_few_outputs_stay_on_one_thread(monkeypatch):
    monkeypatch.delattr(state.FirstOrderState, "_learn_span_on_threads")
    y = RANDOM.integers(0, 20, 400)
    FTRLClassifier(n_jobs=2, max_iter=1, tol=None).fit(ROWS, y)


def test_the_running_loss_is_the_sum_of_the_losses_of_the_rows(monkeypatch):
    """Also where its product of factors becomes a sum, with and without weights."""
    y = RANDOM.integers(0, 2, 400)
    for weights in (None, RANDOM.uniform(0.5, 2.0, 400)):
        model, total = OnlineClassifier(penalty=None), 0.0
        for k in range(400):
            if k:
                score = model.decision_function(ROWS[[k]])[0]
            else:
                score = 0.0
            weight = 1.0 if weights is None else weights[k]
            total += weight * np.log1p(np.exp(-(2 * y[k] - 1) * score))
            model.partial_fit(
                ROWS[[k]],
                y[[k]],
                classes=[0, 1],
                sample_weight=None if weights is None else [weight],
            )
        assert model._solver_state.loss == pytest.approx(total, rel=1e-12)


def test_a_full_product_becomes_a_sum():
    assert loop.add_loss(1.0, 0.9 * loop.MAX_PRODUCT, 0.5, 2.0, 1.0) == pytest.approx(
        (1.5 + np.log(1.8 * loop.MAX_PRODUCT), 1.0)
    )
    assert loop.add_loss(1.0, 3.0, 0.5, 2.0, 1.0) == (1.5, 6.0)
    assert loop.add_loss(1.0, 3.0, 0.5, 2.0, 2.0) == pytest.approx((2.0 + 2.0 * np.log(2.0), 3.0))


def test_running_losses_with_a_factor_below_1_are_refused():
    model = OnlineClassifier(penalty=None).fit(ROWS, RANDOM.integers(0, 2, 400))
    engine = model._solver_state
    engine.costs[1] = 0.5
    with pytest.raises(ValueError, match="factor below 1"):
        engine._after_load()
