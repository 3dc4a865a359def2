"""Encoded targets for compiled loops."""

from typing import NamedTuple

import numpy as np

NO_TASKS, NO_OFFSET = np.zeros(0, dtype=np.uint64), np.zeros(0)
NO_TASKS.flags.writeable = NO_OFFSET.flags.writeable = False


class EncodedTargets(NamedTuple):
    """Targets of some rows: float64 and read-only.

    `tasks` has the task of each row if there are tasks, and `offset` a number that is added to its
    score if there is an offset.
    """

    columns: np.ndarray
    tasks: np.ndarray = NO_TASKS
    offset: np.ndarray = NO_OFFSET
