"""The sieve's ladder of sizes, where to stop on it, and what error to expect of a stop that was
chosen by looking at errors.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from tamis.methods.sieve.errors import Error, beats

ROOT = 0.5  # a step of the ladder in powers of two
HEAD = 0.85  # the second size is at most this share of the first
SURE = 1.0  # standard errors by which a later base must win
DRAWS = 200
BATCH = 50  # draws at a time, for the sake of memory


class Choice(NamedTuple):
    """A size: the last level of the ladder that is not below it, and the number of features."""

    level: int
    size: int
    threshold: float


class Rule(NamedTuple):
    """How a size is chosen: that many standard errors (of the least error, or of the difference to
    it row by row), or that share of the least error, may be given up; or the size is given.
    """

    sizes: np.ndarray
    se: float
    tolerance: float
    size: int | None
    paired: bool = False


def ladder(n_seen: int) -> np.ndarray:
    """Falling sizes: all seen features, then the roundings of 2^(i/2), the same for all data, down
    to 1. None, the intercept alone, is no rung to walk: it is judged beside them.
    """
    sizes = [n_seen]
    if n_seen > 1:
        start = int(np.floor(np.log2(max(HEAD * n_seen, 1.0)) / ROOT))
        sizes += [round(2.0 ** (ROOT * i)) for i in range(start, -1, -1)]
    return np.unique(np.array(sizes, dtype=np.int64))[::-1]


def walked(sizes: np.ndarray, always: int) -> np.ndarray:
    """The sizes that paths walk: columns that always stay are a last rung of their own."""
    return np.append(sizes, 0) if always and sizes[-1] else sizes


def choose_size(sizes: np.ndarray, errors: np.ndarray, room: np.ndarray | float) -> Choice:
    """The smallest size whose smoothed error is within `room` of the least (one for all sizes, or
    one a size), between two levels of the ladder if need be.
    """
    best = int(np.argmin(errors))
    smooth = np.array(errors, dtype=float)
    smooth[best:] = isotonic_regression(smooth[best:]).x
    # Pooling equal errors may round upwards.
    limits = float(max(errors[best], smooth[best])) + np.broadcast_to(room, len(sizes))
    slack = limits - smooth
    level = best + int(np.flatnonzero(slack[best:] >= 0.0)[-1])
    if level == len(sizes) - 1:
        return Choice(level, int(sizes[level]), float(limits[level]))
    share = slack[level] / (slack[level] - slack[level + 1])
    high, low = np.log(sizes[level]), np.log(sizes[level + 1])
    size = int(np.rint(np.exp(high + share * (low - high))))
    size = min(max(size, int(sizes[level + 1])), int(sizes[level]))
    return Choice(level, size, float(limits[level]))


def place_size(sizes: np.ndarray, size: int) -> Choice:
    """A size that the user wants, on the ladder."""
    size = min(size, int(sizes[0]))
    return Choice(int(np.flatnonzero(sizes >= size)[-1]), size, np.nan)


# --------------------------------------------------------------------------- by held-out errors
def prefer(trials: list[list[Error]], mass: np.ndarray) -> int:
    """The first base, unless another is surely better on the same rows, each at its best size."""
    best, mass = 0, mass[: len(trials[0][0].soft_rows)]
    for at in range(1, len(trials)):
        one, other = (min(trials[t], key=lambda error: error.soft) for t in (at, best))
        if beats(one.soft_rows, other.soft_rows, mass, SURE):
            best = at
    return best


def choose(errors: list[Error], rule: Rule) -> Choice:
    """A size by its held-out errors."""
    return pick(np.array([error.soft for error in errors]), spreads(errors, rule), rule)


def spreads(errors: list[Error], rule: Rule) -> np.ndarray:
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


def pick(soft: np.ndarray, apart: np.ndarray, rule: Rule) -> Choice:
    """A size by the errors of the ladder's levels and their standard errors."""
    if rule.size is not None:
        return place_size(rule.sizes, rule.size)
    least = int(np.argmin(soft))
    room = np.maximum(rule.se * apart[:, least], rule.tolerance * float(soft[least]))
    return choose_size(rule.sizes, soft, room)


def settle(trials: list[list[Error]], mass: np.ndarray, rule: Rule) -> tuple[int, Choice, float]:
    """Base, size, and the error to expect of a choice that was made by looking at errors.

    Rows are drawn with replacement, base and size chosen by these, and judged by the others. The
    mean of many draws is the error to expect. The size is the (geometric) mean over the draws that
    choose the base which all rows choose: that of all rows alone jumps when a few rows change.

    The errors of all rows at all sizes are known, so that this costs no fit (Tsamardinos,
    Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and
    accurate cross-validation", Machine Learning 107, 2018).
    """
    base = prefer(trials, mass)
    plainly = choose(trials[base], rule)
    soft = [np.stack([error.soft_rows for error in errors]) for errors in trials]
    plain = [np.stack([error.plain_rows for error in errors]) for errors in trials]
    apart = [spreads(errors, rule) for errors in trials]
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
                best, choice = _chosen(trials, apart, [m[t] for m in means], inside[t], rule)
                errors.append(float(np.average(plain[best][choice.level], weights=left)))
                if best == base:
                    sizes.append(choice.size)
    size = round(float(np.exp(np.mean(np.log(sizes))))) if any(sizes) else plainly.size
    level = int(np.flatnonzero(rule.sizes >= size)[-1])
    choice = Choice(level, size, plainly.threshold)
    return base, choice, float(np.mean(errors)) if errors else np.nan


def _chosen(trials, apart, means, inside, rule: Rule) -> tuple[int, Choice]:
    """Base and size that the drawn rows would choose."""
    least, best = [int(np.argmin(mean)) for mean in means], 0
    for at in range(1, len(trials)):
        one, other = trials[at][least[at]].soft_rows, trials[best][least[best]].soft_rows
        best = at if beats(one, other, inside, SURE) else best
    return best, pick(means[best].astype(float), apart[best], rule)
