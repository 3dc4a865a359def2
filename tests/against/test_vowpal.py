"""Against Vowpal Wabbit: what its --l1 computes, to the accuracy of its float32.

Established by experiment, and held by the tests below. VW keeps raw weights u and one global
number, the gravity g = sum of l1 * eta over all examples whose loss is not 0. It trains u by plain
SGD, u <- u - eta * slope * x, and wherever a weight is read (to predict, and so inside the next
slope) it reads soft(u, g). With a constant rate u = -eta * G, G being the sum of all gradients, so
under losses that are never 0 (logistic, squared) the weight read is -eta * soft(G, l1 * t): *dual
averaging* with a constant step, not truncated gradient. Under the hinge t counts only the examples
that were learnt from, while dual averaging (and truncated gradient) charge for every example.

Truncated gradient as published (Langford, Li and Zhang 2009; K = 1, theta = inf) truncates the
weight itself and adds the next gradient to what is left: w <- soft(w - eta * slope * x, eta * l1).
They differ twice. VW charges a feature also for the examples before its first. And where a gradient
meets a weight that has been charged, VW has given the charge back (the raw weight was never
reduced) and charges anew, all of g, from the side that the raw weight is on: a weight must outgrow
the charge of the whole past, as in RDA, while TG forgets what it has taken from a weight that
reached 0.
"""

import numpy as np
import pytest

from tamis import FOBOSClassifier, OnlineClassifier, OnlineRegressor, TruncatedGradientClassifier

vowpalwabbit = pytest.importorskip("vowpalwabbit")
pytestmark = [pytest.mark.peer, pytest.mark.usefixtures("interpreted")]

N, P = 200, 12
FLOAT32 = 5e-6
ONCE = {"shuffle": False, "max_iter": 1, "tol": None, "fit_intercept": False}


def data(seed=0):
    """Rows that are exact in VW's float32, classes -1 and +1, and real targets."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.5)).astype(np.float32).astype(float)
    score = X @ rng.normal(size=P) + 0.3 * rng.normal(size=N)
    return X, np.where(score > 0, 1, -1), score.astype(np.float32).astype(float)


def soft(v, a):
    return np.sign(v) * np.maximum(np.abs(v) - a, 0.0)


def vowpal(X, y, *, loss, eta, l1):
    """Weights that VW predicts with after one pass, and those it stores."""
    options = (
        f"--sgd --noconstant --quiet --power_t 0 -b 10 --loss_function {loss} -l {eta} --l1 "
        f"{l1} --min_prediction -1000 --max_prediction 1000"
    )
    learner = vowpalwabbit.Workspace(options)
    for row, target in zip(X, y, strict=True):
        learner.learn(
            f"{float(target)!r} | "
            + " ".join(f"{j}:{float(row[j])!r}" for j in np.flatnonzero(row))
        )
    read = np.array([learner.predict(f"| {j}:1") for j in range(P)])
    stored = np.array([learner.get_weight(j) for j in range(P)])
    learner.finish()
    return read, stored


CASES = [("logistic", 0.1, 0.02), ("logistic", 0.05, 0.1)]


@pytest.mark.parametrize(("loss", "eta", "l1"), CASES)
def test_vowpals_l1_is_dual_averaging_with_a_constant_step(loss, eta, l1):
    X, y, _ = data()
    read, stored = vowpal(X, y, loss=loss, eta=eta, l1=l1)
    ours = OnlineClassifier(
        loss=loss,
        optimizer="dual_averaging",
        learning_rate="constant",
        eta=eta,
        penalty="l1",
        alpha=l1,
        **ONCE,
    ).fit(X, y)
    assert ours.coef_[0] == pytest.approx(read, abs=FLOAT32)
    assert np.array_equal(ours.coef_[0] != 0.0, read != 0.0)
    assert 0 < np.count_nonzero(read) < P
    # The stored weights carry no charge: soft(stored, eta * l1 * t) is what is read.
    assert read == pytest.approx(soft(stored, eta * l1 * N), abs=FLOAT32)


@pytest.mark.parametrize(("eta", "l1"), [(0.1, 0.02), (0.02, 0.05)])
def test_under_the_hinge_vowpal_charges_only_for_examples_it_learns_from(eta, l1):
    X, y, _ = data()
    read, stored = vowpal(X, y, loss="hinge", eta=eta, l1=l1)
    raw, gravity = np.zeros(P), 0.0
    for row, target in zip(X, y, strict=True):
        if target * (soft(raw, gravity) @ row) < 1.0:
            raw += eta * target * row
            gravity += eta * l1
    assert stored == pytest.approx(raw, abs=FLOAT32)
    assert read == pytest.approx(soft(raw, gravity), abs=FLOAT32)
    ours = OnlineClassifier(
        loss="hinge",
        optimizer="dual_averaging",
        learning_rate="constant",
        eta=eta,
        penalty="l1",
        alpha=l1,
        **ONCE,
    ).fit(X, y)
    assert gravity < eta * l1 * N
    assert np.abs(ours.coef_).sum() < np.abs(read).sum()


def test_vowpals_l1_regression_too():
    """VW's squared loss is (f - y)^2, twice ours: our step is twice its rate, our penalty half of
    its l1.
    """
    X, _, y = data(1)
    eta, l1 = 0.02, 0.2
    read, _ = vowpal(X, y, loss="squared", eta=eta, l1=l1)
    doubled = OnlineRegressor(
        optimizer="dual_averaging",
        learning_rate="constant",
        eta=2 * eta,
        penalty="l1",
        alpha=l1 / 2,
        **ONCE,
    ).fit(X, y)
    assert doubled.coef_ == pytest.approx(read, abs=FLOAT32)
    assert 0 < np.count_nonzero(read) < P


@pytest.mark.parametrize(("loss", "eta", "l1"), [*CASES, ("hinge", 0.02, 0.05)])
def test_vowpals_l1_is_not_truncated_gradient_as_published(loss, eta, l1):
    X, y, _ = data()
    read, _ = vowpal(X, y, loss=loss, eta=eta, l1=l1)
    fobos = FOBOSClassifier(loss=loss, learning_rate="constant", eta=eta, alpha=l1, **ONCE).fit(
        X, y
    )
    truncated = TruncatedGradientClassifier(
        loss=loss, learning_rate="constant", eta=eta, gravity=eta * l1, burst=1, **ONCE
    ).fit(X, y)
    assert truncated.coef_ == pytest.approx(fobos.coef_, rel=1e-12)  # with K = 1 they are one
    assert np.abs(fobos.coef_[0] - read).max() > 0.01


def test_vowpal_charges_a_feature_for_the_examples_before_its_first():
    """Rows that share no feature: nothing is touched twice, and the rest of the difference is seen
    alone.
    """
    X, y = np.eye(P), np.where(np.arange(P) % 2, 1, -1)
    read, _ = vowpal(X, y, loss="logistic", eta=0.5, l1=0.02)
    fobos = FOBOSClassifier(learning_rate="constant", eta=0.5, alpha=0.02, **ONCE).fit(X, y)
    late = 0.5 * 0.02 * np.arange(P)
    assert np.abs(fobos.coef_[0]) - np.abs(read) == pytest.approx(
        np.minimum(late, np.abs(fobos.coef_[0])), abs=FLOAT32
    )


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_without_l1_they_are_one_sgd(loss):
    X, y, _ = data()
    read, _ = vowpal(X, y, loss=loss, eta=0.1, l1=0.0)
    ours = OnlineClassifier(loss=loss, penalty=None, learning_rate="constant", eta=0.1, **ONCE).fit(
        X, y
    )
    assert ours.coef_[0] == pytest.approx(read, abs=FLOAT32)
