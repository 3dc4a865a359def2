"""Nearest rows at the edge of numbers."""

import numpy as np
import pytest

from tamis.solvers.neighbors import NeighborSearch


def test_distances_beyond_all_numbers_are_refused():
    points = np.array([[0.0], [1e300], [-1e300]])
    with pytest.raises(ValueError, match="Scale the columns"):
        NeighborSearch(points, np.arange(3)).nearest(np.arange(3), 2)
