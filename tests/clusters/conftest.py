"""Fixtures of the tests of this folder."""

import pytest
from clusters.helpers import SimulatedWorkers

from tamis.distributed import fitting


@pytest.fixture
def simulated_workers(monkeypatch):
    """Let `fit` find another executor than the one that works here and now."""

    def use(*given, **named):
        made = SimulatedWorkers(*given, **named)
        monkeypatch.setattr(fitting, "LocalExecutor", lambda: made)
        return made

    return use
