"""What all tests share: quiet, repeatable property tests, seeds that can be shifted, and loops that run as Python."""

import os
import sys
from pathlib import Path

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

if os.environ.get("TAMIS_TEST_SEED"):
    SHIFTED = str(Path(__file__).parent / "shifted")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SHIFTED, os.environ.get("PYTHONPATH")]))  # the processes that tests start
    sys.path.insert(0, SHIFTED)
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


@pytest.fixture
def interpreted(monkeypatch):
    """Loops run as Python source: nothing is compiled. Call it with module constants to replace."""
    from tamis import _jit

    def use(**constants):
        monkeypatch.setattr(_jit.Loop, "__call__", Interpreter(**constants).method())

    use()
    with np.errstate(over="ignore"):  # the shuffle's uint64 products wrap around, and NumPy scalars say so
        yield use
