"""Shared fixtures: repeatable property tests, shifted seeds, loops that run as Python."""

import faulthandler
import gc
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from plain import Interpreter

import tamis

settings.register_profile(
    "tamis",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=10,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.differing_executors,
    ],
)
settings.load_profile("tamis")

SHIFT = os.environ.get("TAMIS_TEST_SEED")
if SHIFT:
    SHIFTED = str(Path(__file__).parent / "shifted")
    # The processes that tests start.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [SHIFTED, os.environ.get("PYTHONPATH")])
    )
    sys.path.insert(0, SHIFTED)
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


def pytest_collection_modifyitems(items):
    """Leave out what is true of its own seeds alone, where they are shifted."""
    for item in items if SHIFT else ():
        given = getattr(item, "callspec", None)
        # scikit-learn's checks have limits that fit their own seeds.
        checked = given and {"estimator", "check"} <= set(given.params)
        if checked or item.get_closest_marker("own_seeds"):
            item.add_marker(pytest.mark.skip("true of its own seeds alone"))


def pytest_collection_finish():
    """What was collected stays: the collector of garbage need not look at it again and again."""
    gc.freeze()


def share_of(nodeid: str) -> str:
    """Return the group of tests that one worker runs: a file, or all tests of a method.

    Two workers that met the same loops at once would both compile them.
    """
    path, _, name = nodeid.partition("::")
    folders = (*path.split("/"), "")
    if folders[1] == "docs":  # those start processes of their own, each for itself
        return nodeid
    if folders[1] == "methods":
        return folders[2]
    words = re.findall(r"\w+", name.partition("[")[2]) if folders[1] == "laws" else []
    homes = [tamis._HOMES[word].split(".") for word in words if word in tamis._HOMES]
    return next((home[2] for home in homes if home[1] == "methods"), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """The largest shares first. (Marks would do, but pytest 9.2 hides them from pytest-xdist.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return Shares(config, log)


@pytest.fixture
def unlimited(monkeypatch):
    """Validation accepts all finite float64 numbers: the checks behind it must hold."""
    from tamis.base import validation as _checks

    word, unsigned, _, _ = _checks._BIT_LIMITS[8]
    monkeypatch.setitem(
        _checks._BIT_LIMITS, 8, (word, unsigned, word(1), np.finfo(np.float64).max.view(word))
    )


@pytest.fixture
def interpreted(monkeypatch):
    """Loops run as Python source: nothing is compiled. Call it with module constants to replace."""
    from tamis.numerics import numba as _jit

    def use(**constants):
        monkeypatch.setattr(_jit.Loop, "__call__", Interpreter(**constants).method())

    use()
    # The shuffle's uint64 products wrap around, and NumPy scalars say so.
    with np.errstate(over="ignore"):
        yield use


@pytest.fixture
def bounded():
    """Kill a test that does not end, and show its traceback."""
    faulthandler.dump_traceback_later(240, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
