"""What tests of rounds share."""

import pytest
from clusters.ground import Team

from tamis.distributed import fitting


@pytest.fixture
def team(monkeypatch):
    """Let `fit` find another executor than the one that works here and now."""

    def use(*given, **named):
        made = Team(*given, **named)
        monkeypatch.setattr(fitting, "Inline", lambda: made)
        return made

    return use
