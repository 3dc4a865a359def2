"""Lazy equals eager, for every valid combination of loss, penalty, optimizer, step and average.

All loops run as Python on tiny data.
"""

import functools
import itertools
from types import SimpleNamespace

import eager
import numpy as np
import pytest
import tiny
from registry import LEARNING_RATES, LOSSES, OPTIMIZERS, PENALTIES

from tamis.base.model_terms import combine_terms
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.state import FirstOrderState
from tamis.terms import (
    L1,
    Averaged,
    ByColumn,
    Constant,
    Descent,
    DualAveraging,
    ElasticNet,
    Free,
    Hinge,
    InverseSqrt,
    Logistic,
    Poisson,
    Ridge,
    Squared,
)

TOLERANCE = 1e-12
# Intercept, automatic eta, automatic alpha.
FLAGS = [(1.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0)]
# How often all cells are settled: as shipped (never on 24 rows), often, or as soon as the scale has
# fallen a little.
LEDGERS = {
    "as shipped": {},
    "settled often": {"FLUSH_EVERY": 5.0},
    "settled on scale": {"SMALLEST": 0.7},
}


def rows(kind="usual"):
    """24 rows, their targets and weights; in a drift the norms fall sixtyfold. Or 200 rows."""
    if kind == "long":
        X = tiny.matrix(200, 6, seed=1)
        return X, tiny.signs(X, seed=1)[:, None], np.ones(200)
    X = tiny.matrix(24, 6, seed=1)
    if kind == "drift":
        X *= np.geomspace(8.0, 0.125, 24)[:, None]
    return X, tiny.signs(X, seed=1)[:, None], tiny.weights(24, seed=1)


def is_valid(loss, penalty, rule, step, average):
    try:
        model = SimpleNamespace(average=average, fit_intercept=True)
        combine_terms(model, loss, penalty, rule, step, auto_eta=False, auto_alpha=False)
    except ValueError:
        return False
    return True


def lazy(
    X,
    targets,
    weights,
    loss,
    penalty,
    rule,
    step,
    flags,
    average,
    codes=None,
    n_jobs=1,
    columns=None,
):
    rule = rule if columns is None else ByColumn(rule)
    engine = FirstOrderState(
        (loss, penalty, Averaged(rule) if average else rule, step),
        flags,
        X.shape[1],
        targets.shape[1],
        columns,
    )
    coded = EncodedTargets(targets if codes is None else codes)
    engine.learn(tiny.trusted(X), coded, weights, n_jobs=n_jobs)
    return engine.weights(), engine.intercepts()


def relative_difference(a, b):
    """Largest difference, in units of the largest weight or 1."""
    return max(np.abs(a[0] - b[0]).max(), np.abs(a[1] - b[1]).max()) / max(1.0, np.abs(b[0]).max())


@functools.cache  # ledgers of all kinds are compared with it
def eagerly(kind, *given):
    return eager.learn(*rows(kind), *given)


def differences(combinations, kind="usual", **named):
    """The combinations on which lazy and eager part."""
    differing, data = [], rows(kind)
    for k, (loss, penalty, rule, step, average) in enumerate(combinations):
        flags = named.get("flags", FLAGS[k % len(FLAGS)])
        given = (loss, penalty, rule, step, flags, average)
        gap = relative_difference(lazy(*data, *given), eagerly(kind, *given))
        if not gap <= TOLERANCE:
            differing.append(
                f"{gap:.1e} {loss} {penalty} {rule} {step} average={average} flags={flags}"
            )
    return differing


@pytest.mark.parametrize("lazy", LEDGERS)
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
def test_every_combination(interpreted, rule, average, lazy):
    interpreted(**LEDGERS[lazy])
    every = itertools.product(LOSSES, PENALTIES, [rule], LEARNING_RATES, [average])
    valid = [combination for combination in every if is_valid(*combination)]
    assert len(valid) >= len(LOSSES) * 3
    differing = differences(valid)
    assert not differing, f"{len(differing)} of {len(valid)}, first " + "\n".join(differing[:3])


@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
def test_drifting_norms_under_automatic_constants(interpreted, rule, average):
    """The automatic step then grows, so that a dual toll may fall: a weight may come back without a
    touch.
    """
    every = itertools.product(
        [Logistic(), Hinge()],
        PENALTIES,
        [rule],
        [InverseSqrt(0.5, 2.0), InverseSqrt(0.5, 100.0)],
        [average],
    )
    valid = [combination for combination in every if is_valid(*combination)]
    differing = differences(valid, "drift", flags=(1.0, 1.0, 1.0))
    assert not differing, f"{len(differing)} of {len(valid)}, first " + "\n".join(differing[:3])


@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
def test_long_walks_down_to_tiny_scales(interpreted, rule, average):
    """A ridge shrinks the ledger's scale by orders of magnitude; what is stored in its units must
    not lose its digits meanwhile.
    """
    every = itertools.product(
        [Logistic(), Hinge()],
        [Ridge(0.3), ElasticNet(0.1, 1.5)],
        [rule],
        [Constant(0.2), InverseSqrt(0.5, 2.0)],
        [average],
    )
    valid = [combination for combination in every if is_valid(*combination)]
    differing = differences(valid, "long", flags=(1.0, 0.0, 0.0))
    assert not differing, f"{len(differing)} of {len(valid)}, first " + "\n".join(differing[:3])


@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_many_outputs(interpreted, rule, average, n_jobs):
    """Three classes from their numbers, three labels from columns; one model a column in the
    textbook.
    """
    X, _, weights = rows()
    codes = tiny.classes(24, 3, seed=1).astype(float)[:, None]
    labels = np.where(codes == np.arange(3), 1.0, -1.0)
    real = tiny.numbers(X, 3, seed=1)
    every = itertools.product(
        [Logistic(), Hinge(), Squared()],
        [Free(), L1(0.05), Ridge(0.3), ElasticNet(0.02, 0.2, 1.0)],
        FLAGS[:3],
    )
    for loss, penalty, flags in every:
        step = InverseSqrt(0.3, 5.0)
        if not is_valid(loss, penalty, rule, step, average):
            continue
        terms = (loss, penalty, rule, step, flags, average)
        wanted = eager.learn(X, labels, weights, *terms)
        assert (
            relative_difference(
                lazy(X, labels, weights, *terms, codes=codes, n_jobs=n_jobs), wanted
            )
            <= TOLERANCE
        )
        assert (
            relative_difference(lazy(X, labels, weights, *terms, n_jobs=n_jobs), wanted)
            <= TOLERANCE
        )
        if isinstance(loss, Squared):
            assert (
                relative_difference(
                    lazy(X, real, weights, *terms), eager.learn(X, real, weights, *terms)
                )
                <= TOLERANCE
            )


def test_the_average_keeps_zeros_and_restarts():
    """The textbook's own average: a weight that left the support is 0, one that came back counts
    from there.
    """
    path = [[1.0, 1.0, 0.0], [0.0, 2.0, 0.0], [3.0, 3.0, 4.0], [5.0, 0.0, 4.0]]
    assert eager.stay_mean(path).tolist() == [2.0, 0.0, 2.0]


@pytest.mark.own_seeds  # it is about the data of these seeds
@pytest.mark.parametrize("penalty", [L1(0.3), ElasticNet(0.3, 0.5), L1(0.3, 1.0)], ids=repr)
@pytest.mark.parametrize(
    "rule", [r for r in OPTIMIZERS if isinstance(r, Descent | DualAveraging)], ids=repr
)
def test_tiny_data_is_sparse_enough_to_test_zeros(interpreted, rule, penalty):
    """A guard of the laws above: their penalties do empty cells, so that the threshold's kink is
    walked over.
    """
    strong = lazy(*rows(), Logistic(), penalty, rule, Constant(0.5), (1.0, 0.0, 0.0), False)[0]
    free = lazy(*rows(), Logistic(), Free(), rule, Constant(0.5), (1.0, 0.0, 0.0), False)[0]
    assert (strong == 0.0).sum() > (free == 0.0).sum()


@pytest.mark.parametrize("lazy_state", LEDGERS)
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
def test_weights_and_signs_of_columns(interpreted, rule, average, lazy_state):
    """One output and three, under every penalty; what a ridge cannot be multiplied by is refused
    elsewhere.
    """
    interpreted(**LEDGERS[lazy_state])
    X, _, weights = rows()
    real = tiny.numbers(X, 3, seed=1)
    signs, count = np.array([0.0, 1.0, -1.0, 0.0, 1.0, -1.0]), 0
    every = itertools.product([Logistic(), Squared()], PENALTIES, FLAGS, [1, 3])
    for k, (loss, penalty, flags, outputs) in enumerate(every):
        step = [InverseSqrt(0.3, 5.0), Constant(0.1)][k % 2]
        ridge = penalty.rates()[1] > 0.0
        if not is_valid(loss, penalty, rule, step, average) or (ridge and average):
            continue
        any_weight = np.array([0.5, 0.0, 1.0, 3.0, 0.1, 0.0])
        column_weights = (
            np.ceil(any_weight).clip(0.0, 1.0)
            if ridge and isinstance(rule, Descent)
            else any_weight
        )
        terms = (loss, penalty, rule, step, flags, average)
        y = real[:, :outputs] if isinstance(loss, Squared) else np.sign(real[:, :outputs])
        y = np.ascontiguousarray(y)
        columns = np.array([column_weights, signs])
        wanted = eager.learn(X, y, weights, *terms, columns=columns)
        differing = lazy(X, y, weights, *terms, columns=columns)
        assert relative_difference(differing, wanted) <= TOLERANCE, terms
        assert (differing[0] * signs >= 0.0).all()
        count += 1
    assert count >= 10


@pytest.mark.parametrize("loss", [Poisson(), Squared()], ids=repr)
@pytest.mark.parametrize("rule", OPTIMIZERS, ids=repr)
def test_offsets(interpreted, rule, loss):
    """One output and several, with all constants automatic."""
    X, _, weights = rows()
    targets = np.abs(tiny.numbers(X, 3, seed=1))
    offset = np.linspace(-2.0, 3.0, 24)
    terms = (loss, L1(0.05), rule, InverseSqrt(0.3, 5.0), (1.0, 1.0, 1.0), False)
    for y in (targets, targets[:, :1]):
        engine = FirstOrderState(terms[:4], terms[4], X.shape[1], y.shape[1])
        coded = EncodedTargets(np.ascontiguousarray(y), offset=offset)
        engine.learn(tiny.trusted(X), coded, weights)
        wanted = eager.learn(X, y, weights, *terms, offset=offset)
        assert relative_difference((engine.weights(), engine.intercepts()), wanted) <= TOLERANCE


def test_no_step_before_the_first_row(interpreted):
    engine = FirstOrderState(
        (Logistic(), L1(0.1), Averaged(Descent()), Constant(0.1)), (1.0, 1.0, 1.0), 3, 1
    )
    engine.learn(tiny.trusted(np.zeros((2, 3))), EncodedTargets(np.ones((2, 1))), np.zeros(2))
    assert engine.lazy[0] == 0.0
    assert not engine.state.any()
    assert engine.stats == (0.0, 0.0, 0.0)
