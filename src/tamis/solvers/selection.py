"""Which of several settings to take, when the simpler one is nearly as good."""

import numpy as np


def one_standard_error(
    losses: np.ndarray, se: float = 1.0, sizes: np.ndarray | None = None
) -> tuple[int, float]:
    """The setting that keeps least among those whose mean loss is within `se` standard errors of
    the least one, and that limit.

    Parameters
    ----------
    losses : ndarray of shape (n_settings, n_folds)
        Held-out losses.
    se : float, default=1.0
        How many standard errors, over the folds of the best setting, to give up. 0 takes the
        setting of least loss.
    sizes : ndarray of shape (n_settings,), default=None
        How much each setting keeps; of equals the better one is taken, and one that keeps nothing
        only where the best setting keeps nothing. None where every setting keeps at least as much
        as the one before it.

    Returns
    -------
    place : int
        Number of the setting.
    limit : float
        Largest mean loss that counts as near the least one.
    """
    means, folds = losses.mean(axis=1), losses.shape[1]
    lowest = int(np.argmin(means))
    limit = means[lowest] + se * losses[lowest].std(ddof=1 if folds > 1 else 0) / np.sqrt(folds)
    near = means <= limit
    if sizes is None:
        return int(np.flatnonzero(near)[0]), float(limit)
    places = np.flatnonzero(near & ((sizes > 0) | (sizes[lowest] == 0)))
    return int(places[np.lexsort((means[places], sizes[places]))[0]]), float(limit)
