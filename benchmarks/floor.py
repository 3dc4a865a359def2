"""Hand-written passes: what a rule costs at least, without terms, contract, sums of the loss,
automatic constants, weights of rows or checks.

One function a rule, as one would write it for one data set: the least that the rule needs, the lazy
L1 toll where it has one. Compiled in memory for each loss; never a part of tamis.
"""

import copy
import functools
import math
import time
from typing import NamedTuple

import numpy as np

from benchmarks.clock import interleaved
from benchmarks.workloads import Workload
from tamis.numerics.csr import EMPTY, Csr, readonly_view
from tamis.numerics.numba import compiled_helper

ALPHA = 1e-4  # L1, in units of the slope at 0
CALM = 0.0625  # steps of the intercept, against those of a row
KEY = 12345  # of a shuffle


class Sides(NamedTuple):
    """Targets of one output, coded."""

    outputs: int
    columns: np.ndarray = EMPTY
    offset: np.ndarray = EMPTY


# ------------------------------------------------------------------------------- slopes of losses
def logistic(score, y):
    """Slope of the logistic loss, by one exponential."""
    return -y / (1.0 + math.exp(y * score))


def hinge(score, y):
    """Slope of the hinge loss."""
    return -y if y * score < 1.0 else 0.0


def squared_hinge(score, y):
    """Slope of the squared hinge loss."""
    return -y * max(0.0, 1.0 - y * score)


def squared_error(score, y):
    """Slope of the squared loss."""
    return score - y


def huber(score, y):
    """Slope of the Huber loss."""
    return min(max(score - y, -1.35), 1.35)


def epsilon_insensitive(score, y):
    """Slope of the absolute loss beyond a tube."""
    r = score - y
    return 1.0 if r > 0.1 else (-1.0 if r < -0.1 else 0.0)


SLOPES = {
    slope.__name__: slope
    for slope in (logistic, hinge, squared_hinge, squared_error, huber, epsilon_insensitive)
}
ONE = np.uint64(1)


# ------------------------------------------------------------------------------------------ passes
# Each takes (data, indices, indptr, y, order or nothing, cells, intercept or not, eta, l1), where
# `cells` are (features + 1, numbers a cell), the intercept last, and returns nothing that matters.
# Steps are as long as those of tamis, so that as many rows have a loss and move something.
def descent(slope):
    """Plain stochastic gradient descent, eta / sqrt(1 + t / 100)."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        w, bias = cells[:, 0].copy(), np.uint64(cells.shape[0] - 1)
        for t in range(np.uint64(y.shape[0])):
            i = order[t] if order.shape[0] else t
            score = w[bias] if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                score += w[indices[k]] * data[k]
            g = slope(score, y[i])
            if g != 0.0:
                g *= eta / math.sqrt(1.0 + t / 100.0)
                for k in range(indptr[i], indptr[i + ONE]):
                    w[indices[k]] -= g * data[k]
                if intercept:
                    w[bias] -= CALM * g
        cells[:, 0] = w

    return walk


def fobos(slope):
    """Descent with a lazy L1 toll: a cell stores its weight plus the toll paid so far."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        w, bias, toll = cells[:, 0].copy(), np.uint64(cells.shape[0] - 1), 0.0
        for t in range(np.uint64(y.shape[0])):
            i = order[t] if order.shape[0] else t
            score = w[bias] if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                c = w[indices[k]]
                score += (c - min(max(c, -toll), toll)) * data[k]
            step = eta / math.sqrt(1.0 + t / 100.0)
            g = step * slope(score, y[i])
            if g != 0.0:
                for k in range(indptr[i], indptr[i + ONE]):
                    c = w[indices[k]]
                    u = c - min(max(c, -toll), toll) - g * data[k]
                    w[indices[k]] = u + math.copysign(toll, u)
                if intercept:
                    w[bias] -= CALM * g
            toll += step * l1
        cells[:, 0] = w

    return walk


def dual_averaging(slope):
    """Dual averaging with L1: a cell stores its sum of gradients."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        total, bias, scale = cells[:, 0].copy(), np.uint64(cells.shape[0] - 1), 0.0
        for t in range(np.uint64(y.shape[0])):
            i, toll = order[t] if order.shape[0] else t, l1 * t
            score = total[bias] if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                c = total[indices[k]]
                score += (c - min(max(c, -toll), toll)) * data[k]
            g = slope(scale * score, y[i])
            if g != 0.0:
                for k in range(indptr[i], indptr[i + ONE]):
                    total[indices[k]] -= g * data[k]
                if intercept:
                    total[bias] -= CALM * g
            scale = eta / math.sqrt(1.0 + t / 256.0)
        cells[:, 0] = total

    return walk


def ftrl(slope):
    """FTRL-proximal, one rate a coordinate: a cell stores z and the root of summed squares."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        bias, toll = np.uint64(cells.shape[0] - 1), 0.0
        for t in range(np.uint64(y.shape[0])):
            i = order[t] if order.shape[0] else t
            score = cells[bias, 0] / (1e-300 + cells[bias, 1]) if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                j = indices[k]
                z = cells[j, 0]
                score += (z - min(max(z, -toll), toll)) / (1e-300 + cells[j, 1]) * data[k]
            g = slope(score, y[i])
            if g != 0.0:
                for k in range(indptr[i], indptr[i + ONE]):
                    j = indices[k]
                    z, m = cells[j, 0], cells[j, 1]
                    w = (z - min(max(z, -toll), toll)) / (1e-300 + m)
                    grown = math.sqrt(m * m + g * data[k] * (g * data[k]))
                    cells[j, 0] = z + (grown - m) * w - eta * g * data[k]
                    cells[j, 1] = grown
                if intercept:
                    m = cells[bias, 1]
                    cells[bias, 1] = math.sqrt(m * m + g * g)
                    w = cells[bias, 0] / (1e-300 + m)
                    cells[bias, 0] += (cells[bias, 1] - m) * w - CALM * eta * g
            toll += eta * l1

    return walk


def adagrad(slope):
    """Descent at a rate a coordinate, with a lazy toll."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        bias, toll = np.uint64(cells.shape[0] - 1), 0.0
        for t in range(np.uint64(y.shape[0])):
            i = order[t] if order.shape[0] else t
            score = cells[bias, 0] / (1e-300 + cells[bias, 1]) if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                j = indices[k]
                c = cells[j, 0]
                score += (c - min(max(c, -toll), toll)) / (1e-300 + cells[j, 1]) * data[k]
            g = slope(score, y[i])
            if g != 0.0:
                for k in range(indptr[i], indptr[i + ONE]):
                    j, x = indices[k], data[k]
                    c, m = cells[j, 0], cells[j, 1]
                    w = (c - min(max(c, -toll), toll)) / (1e-300 + m)
                    grown = math.sqrt(m * m + g * x * (g * x))
                    u = grown * w - eta * g * x
                    cells[j, 0], cells[j, 1] = u + math.copysign(toll, u), grown
                if intercept:
                    m = cells[bias, 1]
                    cells[bias, 1] = math.sqrt(m * m + g * g)
                    w = cells[bias, 0] / (1e-300 + m)
                    cells[bias, 0] = cells[bias, 1] * w - CALM * eta * g
            toll += eta * l1

    return walk


def arow(slope):
    """AROW with a diagonal covariance: a cell stores the mean and the precision; `eta` is 1 / r."""

    @compiled_helper
    def walk(data, indices, indptr, y, order, cells, intercept, eta, l1):
        bias = np.uint64(cells.shape[0] - 1)
        for t in range(np.uint64(y.shape[0])):
            i = order[t] if order.shape[0] else t
            score = cells[bias, 0] if intercept else 0.0
            variance = 1.0 / (1.0 + cells[bias, 1]) if intercept else 0.0
            for k in range(indptr[i], indptr[i + ONE]):
                j, x = indices[k], data[k]
                score += cells[j, 0] * x
                variance += x * x / (1.0 + cells[j, 1])
            short = 1.0 - y[i] * score
            if short > 0.0:
                gain = y[i] * short / (variance + 1.0 / eta)
                for k in range(indptr[i], indptr[i + ONE]):
                    j, x = indices[k], data[k]
                    cells[j, 0] += gain * x / (1.0 + cells[j, 1])
                    cells[j, 1] += eta * x * x
                if intercept:
                    cells[bias, 0] += gain / (1.0 + cells[bias, 1])
                    cells[bias, 1] += eta

    return walk


PASSES = {
    "SGD": (descent, 1),
    "FOBOS": (fobos, 1),
    "RDA": (dual_averaging, 1),
    "FTRL": (ftrl, 2),
    "AdaGrad": (adagrad, 2),
    "AROW": (arow, 2),
}


@functools.cache
def hand_written(rule: str, loss: str):
    """The pass of that rule for that loss, and the numbers of its cells."""
    make, numbers = PASSES[rule]
    return make(compiled_helper(SLOPES[loss])), numbers


# ------------------------------------------------------------------------------------------ a race
class Race(NamedTuple):
    """Nanoseconds per nonzero of the hand-written pass and of the loop of tamis."""

    hand: float
    tamis: float

    @property
    def ratio(self) -> float:
        """What the abstraction costs."""
        return self.tamis / self.hand


def lengths(engine, rule: str, loss: str) -> tuple[float, float]:
    """Size of the first step and price of L1, as tamis finds them on rows of length 1."""
    unit = abs(SLOPES[loss](0.0, 1.0))
    if rule == "AROW":
        return 1.0, 0.0
    return engine.terms[3].eta * (unit if engine.terms[2].adapts() else 1.0), ALPHA * unit


def race(model, rule: str, loss: str, work: Workload, shuffle: bool, rounds: int) -> Race:
    """One pass from empty cells, hand-written and by the engine of `model`, in turn."""
    X, y = work.X, work.y.astype(float)
    rows = Csr(
        *(
            readonly_view(a)
            for a in (X.data, X.indices.view(np.uint32), X.indptr.astype(np.uint64))
        ),
        X.shape[1],
    )
    order = np.random.default_rng(0).permutation(len(y)).astype(np.uint64)[: len(y) * shuffle]
    walk, numbers = hand_written(rule, loss)
    engine = model._new_state(model._model(), Sides(1), X.shape[1], True)
    coded, none = Sides(1, readonly_view(y[:, None].copy())), readonly_view(np.zeros(0))
    (eta, l1), intercept = lengths(engine, rule, loss), bool(model.fit_intercept)

    def by_hand():
        cells = np.zeros((X.shape[1] + 1, numbers))
        begin = time.thread_time()
        walk(*rows[:3], y, order, cells, intercept, eta, l1)
        return time.thread_time() - begin

    def by_tamis():
        fresh = copy.deepcopy(engine)
        begin = time.thread_time()
        fresh.learn(rows, coded, none, key=KEY * shuffle)
        return time.thread_time() - begin

    order_words = "shuffled" if shuffle else "stored"
    what = f"{rule}, {loss}, {X.nnz / X.shape[0]:.0f} a row, {order_words}"
    contestants = {"hand": by_hand, "tamis": by_tamis}
    times = interleaved(contestants, rounds, clock=time.thread_time, what=what)
    return Race(*(1e9 * times[name].least / X.nnz for name in ("hand", "tamis")))
