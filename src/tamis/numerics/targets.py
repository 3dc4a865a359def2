"""Targets as loops read them."""

from typing import NamedTuple

import numpy as np

NO_TASKS = np.zeros(0, dtype=np.uint64)
NO_TASKS.flags.writeable = False


class EncodedTargets(NamedTuple):
    """Targets of some rows: float64, read-only; and the task of each row, where there are tasks."""

    columns: np.ndarray
    tasks: np.ndarray = NO_TASKS
