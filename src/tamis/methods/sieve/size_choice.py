"""The sieve's path of sizes, where to stop on it, and what error to expect of a stop that was
chosen by looking at errors.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from tamis.methods.sieve.held_out_errors import Error, beats

SIZE_EXPONENT = 0.5  # a step of the path in powers of two
MAX_SECOND_SIZE = 0.85  # the second size is at most this share of the first
Z_TO_WIN = 1.0  # standard errors by which a later candidate must win
DRAWS = 200
BATCH = 50  # draws at a time, for the sake of memory


class ChosenSize(NamedTuple):
    """A size: the last level of the path that is not below it, and the number of features."""

    level: int
    size: int
    threshold: float


class SizeRule(NamedTuple):
    """How a size is chosen: that many standard errors (of the least error, or of the difference to
    it row by row), or that share of the least error, may be given up; or the size is given.
    """

    sizes: np.ndarray
    se: float
    tolerance: float
    size: int | None
    paired: bool = False


def size_path(n_seen: int) -> np.ndarray:
    """Falling sizes: all seen features, then the roundings of 2^(i/2), the same for all data, down
    to 1. None, the intercept alone, is no size to learn: it is judged beside them.
    """
    sizes = [n_seen]
    if n_seen > 1:
        start = int(np.floor(np.log2(max(MAX_SECOND_SIZE * n_seen, 1.0)) / SIZE_EXPONENT))
        sizes += [round(2.0 ** (SIZE_EXPONENT * i)) for i in range(start, -1, -1)]
    return np.unique(np.array(sizes, dtype=np.int64))[::-1]


def trained_sizes(sizes: np.ndarray, always: int) -> np.ndarray:
    """The sizes that paths learn: columns that always stay alone are a last one."""
    return np.append(sizes, 0) if always and sizes[-1] else sizes


def smallest_size(sizes: np.ndarray, errors: np.ndarray, room: np.ndarray | float) -> ChosenSize:
    """The smallest size whose smoothed error is within `room` of the least (one for all sizes, or
    one a size), between two levels of the path if need be.
    """
    best = int(np.argmin(errors))
    smooth = np.array(errors, dtype=float)
    smooth[best:] = isotonic_regression(smooth[best:]).x
    # Pooling equal errors may round upwards.
    limits = float(max(errors[best], smooth[best])) + np.broadcast_to(room, len(sizes))
    slack = limits - smooth
    level = best + int(np.flatnonzero(slack[best:] >= 0.0)[-1])
    if level == len(sizes) - 1:
        return ChosenSize(level, int(sizes[level]), float(limits[level]))
    share = slack[level] / (slack[level] - slack[level + 1])
    high, low = np.log(sizes[level]), np.log(sizes[level + 1])
    size = int(np.rint(np.exp(high + share * (low - high))))
    size = min(max(size, int(sizes[level + 1])), int(sizes[level]))
    return ChosenSize(level, size, float(limits[level]))


def place_size(sizes: np.ndarray, size: int) -> ChosenSize:
    """A size that the user wants, on the path."""
    size = min(size, int(sizes[0]))
    return ChosenSize(int(np.flatnonzero(sizes >= size)[-1]), size, np.nan)


# --------------------------------------------------------------------------- by held-out errors
def prefer(candidates: list[list[Error]], mass: np.ndarray) -> int:
    """The first candidate, unless another is surely better on the same rows, both at their best."""
    best, mass = 0, mass[: len(candidates[0][0].soft_rows)]
    for at in range(1, len(candidates)):
        one, other = (min(candidates[t], key=lambda error: error.soft) for t in (at, best))
        if beats(one.soft_rows, other.soft_rows, mass, Z_TO_WIN):
            best = at
    return best


def choose(errors: list[Error], rule: SizeRule) -> ChosenSize:
    """A size by its held-out errors."""
    return pick(np.array([error.soft for error in errors]), spreads(errors, rule), rule)


def spreads(errors: list[Error], rule: SizeRule) -> np.ndarray:
    """Standard errors (levels, least level) of the least error, or of the difference to it."""
    alone = np.array([error.spread for error in errors])
    if not rule.paired:
        return np.broadcast_to(alone, (len(errors), len(errors)))
    rows = np.stack([error.soft_rows for error in errors]).astype(float)
    rows -= rows.mean(axis=1, keepdims=True)
    shared = rows @ rows.T / rows.shape[1]
    of_one = np.diag(shared)
    apart = np.sqrt(np.maximum(of_one[:, None] + of_one - 2.0 * shared, 0.0))
    # What the weights of the rows do to a standard error, they do to that of a difference.
    plain = np.sqrt(np.maximum(of_one, 1e-300))
    return apart * (alone / plain)


def pick(soft: np.ndarray, apart: np.ndarray, rule: SizeRule) -> ChosenSize:
    """A size by the errors of the path's levels and their standard errors."""
    if rule.size is not None:
        return place_size(rule.sizes, rule.size)
    least = int(np.argmin(soft))
    room = np.maximum(rule.se * apart[:, least], rule.tolerance * float(soft[least]))
    return smallest_size(rule.sizes, soft, room)


def choose_size(
    candidates: list[list[Error]], mass: np.ndarray, rule: SizeRule
) -> tuple[int, ChosenSize, float]:
    """Candidate, size, and the error to expect of a choice that was made by looking at errors.

    Rows are drawn with replacement, candidate and size chosen by these, and judged by the others.
    The mean of many draws is the error to expect. The size is the (geometric) mean over the draws
    that choose the candidate which all rows choose: that of all rows alone jumps when a few rows
    change.

    The errors of all rows at all sizes are known, so that this costs no fit (Tsamardinos,
    Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and
    accurate cross-validation", Machine Learning 107, 2018).
    """
    preferred = prefer(candidates, mass)
    plainly = choose(candidates[preferred], rule)
    soft = [np.stack([error.soft_rows for error in errors]) for errors in candidates]
    plain = [np.stack([error.plain_rows for error in errors]) for errors in candidates]
    apart = [spreads(errors, rule) for errors in candidates]
    many = soft[0].shape[1]
    mass, random = mass[:many].astype(np.float32), np.random.default_rng(0)
    errors, sizes = [], []
    for _ in range(0, DRAWS, BATCH):
        draws = random.poisson(1.0, (BATCH, many)).astype(np.float32)
        inside = draws * mass
        total = np.maximum(inside.sum(axis=1), 1e-30)[:, None]
        means = [inside @ rows.T / total for rows in soft]
        for t in range(BATCH):
            left = mass * (draws[t] == 0.0)
            if left.any() and inside[t].any():
                best, choice = _chosen(candidates, apart, [m[t] for m in means], inside[t], rule)
                errors.append(float(np.average(plain[best][choice.level], weights=left)))
                if best == preferred:
                    sizes.append(choice.size)
    size = round(float(np.exp(np.mean(np.log(sizes))))) if any(sizes) else plainly.size
    level = int(np.flatnonzero(rule.sizes >= size)[-1])
    choice = ChosenSize(level, size, plainly.threshold)
    return preferred, choice, float(np.mean(errors)) if errors else np.nan


def _chosen(candidates, apart, means, inside, rule: SizeRule) -> tuple[int, ChosenSize]:
    """Candidate and size that the drawn rows would choose."""
    least, best = [int(np.argmin(mean)) for mean in means], 0
    for at in range(1, len(candidates)):
        one = candidates[at][least[at]].soft_rows
        other = candidates[best][least[best]].soft_rows
        best = at if beats(one, other, inside, Z_TO_WIN) else best
    return best, pick(means[best].astype(float), apart[best], rule)
