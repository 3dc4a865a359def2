"""The one-standard-error rule: along a path, and among settings of any order."""

import numpy as np
import pytest

from tamis.solvers.selection import one_standard_error

pytestmark = pytest.mark.quick

LOSSES = np.array([[3.0, 3.2], [1.2, 1.0], [0.8, 1.2], [1.0, 1.1]])  # means 3.1, 1.1, 1.0, 1.05


def test_the_first_of_a_path_within_the_limit():
    place, limit = one_standard_error(LOSSES)
    assert limit == pytest.approx(1.0 + np.std([0.8, 1.2], ddof=1) / np.sqrt(2))
    assert place == 1
    assert one_standard_error(LOSSES, se=0.0) == (2, pytest.approx(1.0))
    assert one_standard_error(LOSSES[:, :1])[0] == 2  # one fold says nothing about an error


def test_the_sparsest_of_settings_and_of_equals_the_better():
    assert one_standard_error(LOSSES, sizes=np.array([1, 9, 7, 4]))[0] == 3
    assert one_standard_error(LOSSES, sizes=np.array([1, 4, 7, 4]))[0] == 3
    assert one_standard_error(LOSSES, sizes=np.array([1, 0, 7, 4]))[0] == 3  # an empty one is none
    assert one_standard_error(LOSSES, sizes=np.array([1, 0, 0, 4]))[0] == 2
