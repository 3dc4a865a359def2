"""Compiled loops equal their Python source, bit for bit.

A user's own term uses a dispatcher without a cache.
"""

from typing import NamedTuple

import numpy as np
import pytest
import tiny
from plain import Interpreter, plain
from registry import CLASSIFIERS, MODELS, REGRESSORS
from sklearn.base import is_classifier
from tiny import quiet

from tamis import AROWClassifier, FOBOSClassifier, FTRLClassifier, OnlineClassifier
from tamis.numerics import csr as csr_loops
from tamis.numerics import numba as _jit
from tamis.numerics import random as order
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order import loop as online
from tamis.solvers.first_order import loop_weights as weights
from tamis.solvers.first_order.state import FirstOrderState
from tamis.terms import L1, Constant, Descent, Logistic

X = tiny.matrix(50, 8)


def twice(monkeypatch, make, y, settings=None, **named):
    """The model fitted by machine code, and by the source of the same loops, with other
    `settings`.
    """
    compiled = quiet(make().fit, X, y, **named)
    with monkeypatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(_jit.Loop, "__call__", Interpreter(**(settings or {})).method())
        source = quiet(make().fit, X, y, **named)
    return compiled, source


def assert_engines_equal(a, b):
    for name in ("state", "bias", "costs"):
        assert np.array_equal(getattr(a._solver_state, name), getattr(b._solver_state, name)), name
    for name in ("lazy", "bias_lazy", "stats", "flags", "terms"):
        assert getattr(a._solver_state, name) == getattr(b._solver_state, name), name
    assert a.history_ == b.history_
    tiny.assert_same(a, b, X)


@pytest.mark.parametrize("cls", MODELS)
def test_one_output(cls, monkeypatch):
    y = tiny.targets_for(cls(), X)
    a, b = twice(
        monkeypatch,
        lambda: cls(random_state=1, max_iter=3, tol=None),
        y,
        sample_weight=tiny.weights(50),
    )
    assert_engines_equal(a, b)
    assert a.coef_.any()


@pytest.mark.parametrize("cls", MODELS)
def test_many_outputs(cls, monkeypatch):
    y = tiny.classes(50) if is_classifier(cls()) else tiny.numbers(X, 3)
    a, b = twice(monkeypatch, lambda: cls(random_state=1, max_iter=3, tol=None), y)
    assert_engines_equal(a, b)
    assert a.coef_.shape == (3, 8)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("cls", [FTRLClassifier, AROWClassifier])
def test_rows_too_long_to_keep_their_weights_leave_the_same_bits(cls, outputs, monkeypatch):
    """With room for two numbers, in place of a thousand, they are computed a second time."""
    y = tiny.classes(50) if outputs > 1 else tiny.targets_for(cls(), X)
    make = lambda: cls(random_state=1, max_iter=3, tol=None)  # noqa: E731
    a, b = twice(monkeypatch, make, y, {"ROOM": 2})
    assert np.array_equal(a._solver_state.state, b._solver_state.state)
    assert a.coef_.any()


@pytest.mark.parametrize(
    "parameters",
    [{"average": True}, {"loss": "hinge", "penalty": None, "learning_rate": "pa1"}],
    ids=repr,
)
def test_settings_beyond_the_recipes(parameters, monkeypatch):
    y = tiny.targets_for(OnlineClassifier(), X)
    a, b = twice(
        monkeypatch, lambda: OnlineClassifier(random_state=1, max_iter=3, tol=None, **parameters), y
    )
    assert_engines_equal(a, b)


def test_the_registry_has_models_of_both_kinds():
    assert len(CLASSIFIERS) >= 5
    assert len(REGRESSORS) >= 5
    assert set(CLASSIFIERS) | set(REGRESSORS) == set(MODELS)


# --------------------------------------------------------------------------- loops beside the pass
def test_inspection_counts_what_is_wrong():
    data = np.array([1.0, 0.0, -0.0, np.nan, -np.inf, 5e-324])
    indices = np.array([0, 2, 1, 9, 9, 10], dtype=np.uint32)
    pointers = np.array([0, 3, 6], dtype=np.uint64)
    limits = [np.uint64(2**63 - 1), *np.array([1e-50, 1e50]).view(np.uint64)]
    given = (pointers, indices, data.view(np.uint64), *limits, np.uint64(10))
    assert tuple(map(int, csr_loops.inspect_rows(*given))) == (0, 1, 2, 3, 2)
    assert tuple(map(int, plain(csr_loops.inspect_rows.python_function)(*given))) == (0, 1, 2, 3, 2)
    for bad in ([1, 3, 6], [0, 4, 3], [0, 3, 7]):
        falls, *others = csr_loops.inspect_rows(np.array(bad, dtype=np.uint64), *given[1:])
        assert falls > 0
        assert not any(others)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 64, 1000])
def test_the_shuffle_is_a_permutation_that_depends_on_the_key(n):
    shuffled = order.permuted_index.py_func
    with np.errstate(over="ignore"):
        source = plain(shuffled)
        images = [
            [int(source(np.uint64(i), np.uint64(n), np.uint64(key))) for i in range(n)]
            for key in (1, 3, 2**63 + 1)
        ]
    for image in images:
        assert sorted(image) == list(range(n))
    if n > 4:
        assert images[0] != images[1] != images[2]
    compiled = [
        int(order.permuted_index(np.uint64(i), np.uint64(n), np.uint64(3))) for i in range(n)
    ]
    assert compiled == images[1]


def test_first_places_of_the_shuffle_are_even():
    """Which row comes first is spread evenly: 1600 keys, 16 rows, each about 100 times."""
    with np.errstate(over="ignore"):
        source = plain(order.permuted_index.py_func)
        first = [
            int(source(np.uint64(0), np.uint64(16), np.uint64(2 * key + 1))) for key in range(1600)
        ]
    counts = np.bincount(first, minlength=16)
    # Chi-square, 15 degrees of freedom: beyond the 0.9999 quantile.
    assert ((counts - 100.0) ** 2 / 100.0).sum() < 45.0


def test_listing_weights_stops_at_the_room_it_has():
    engine = FirstOrderState(
        (Logistic(), L1(0.001), Descent(), Constant(0.5)), (1.0, 0.0, 0.0), 8, 1
    )
    engine.learn(tiny.trusted(X), EncodedTargets(tiny.signs(X)[:, None]), np.zeros(0))
    cells, found = np.empty(2, dtype=np.uint64), np.empty(2)
    total = weights.list_weights(
        engine.state, *engine.terms[1:3], engine.lazy, np.uint64(1), cells, found
    )
    assert total == np.count_nonzero(engine.weights()) > 2
    assert np.array_equal(found, engine.nonzeros()[1][:2])
    assert np.array_equal(np.flatnonzero(engine.weights()[0]), engine.nonzeros()[0])


# --------------------------------------------------------------------------- terms of a user
@_jit.term
class Pinball(NamedTuple):
    """A loss that tamis does not ship: a hinge with a steep side."""

    steep: float = 2.0

    @property
    def smooth(self):
        return False

    def value(self, score, target):
        return self.steep * max(0.0, 1.0 - target * score)

    def gradient(self, score, target):
        return -self.steep * target if target * score < 1.0 else 0.0

    def hessian_bound(self):
        return float("inf")


def classes_of(kinds):
    for kind in kinds:
        yield from classes_of(kind) if isinstance(kind, tuple) else [kind]


def test_a_users_loss_works_through_the_uncached_twin(monkeypatch):
    y = tiny.targets_for(FOBOSClassifier(), X)
    a, b = twice(
        monkeypatch,
        lambda: FOBOSClassifier(loss=Pinball(2), random_state=0, max_iter=2, tol=None),
        y,
    )
    assert_engines_equal(a, b)
    assert a.coef_.any()
    twins = online.learn_one.dispatchers.items()
    foreign = [twin for kinds, twin in twins if (Pinball,) in kinds]
    shipped = [
        twin
        for kinds, twin in twins
        if all(cls.__module__.startswith("tamis.") for cls in classes_of(kinds))
    ]
    assert len(foreign) == 1
    assert foreign[0].stats.cache_path is None, "a loop with a foreign term is kept on disk"
    assert all(twin.stats.cache_path for twin in shipped)
    assert not hasattr(a, "predict_proba")


def test_a_users_loss_equals_the_shipped_one_it_copies():
    """Pinball(1) is Hinge(1) written anew."""
    y = tiny.targets_for(FOBOSClassifier(), X)
    a = quiet(FOBOSClassifier(loss=Pinball(1), random_state=0).fit, X, y)
    b = quiet(FOBOSClassifier(loss="hinge", random_state=0).fit, X, y)
    tiny.assert_same(a, b, X)
