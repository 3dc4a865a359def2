"""What all tests share: quiet, repeatable property tests, and loops that run as Python."""

import faulthandler

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from plain import Interpreter

settings.register_profile(
    "tamis",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("tamis")


@pytest.fixture
def interpreted(monkeypatch):
    """Loops run as Python source: nothing is compiled. Call it with module constants to replace."""
    from tamis import _jit

    def use(**constants):
        monkeypatch.setattr(_jit.Loop, "__call__", Interpreter(**constants).method())

    use()
    with np.errstate(over="ignore"):  # the shuffle's uint64 products wrap around, and NumPy scalars say so
        yield use


@pytest.fixture
def bounded():
    """A test that does not end is killed, and shows where it was: a limit far above what any machine needs."""
    faulthandler.dump_traceback_later(240, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
