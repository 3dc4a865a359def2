"""Targets as loops read them."""

from typing import NamedTuple

import numpy as np

NO_TASKS, NO_OFFSET = np.zeros(0, dtype=np.uint64), np.zeros(0)
NO_TASKS.flags.writeable = NO_OFFSET.flags.writeable = False


class EncodedTargets(NamedTuple):
    """Targets of some rows: float64, read-only; the task of each row, where there are tasks, and
    what is added to its score, where there is an offset.
    """

    columns: np.ndarray
    tasks: np.ndarray = NO_TASKS
    offset: np.ndarray = NO_OFFSET
