"""Bounds on the expected number of falsely selected features of stability selection."""

import itertools
import math
import warnings

import numpy as np
from scipy.optimize import brentq, minimize_scalar

ASSUMPTIONS = ("none", "unimodal", "r-concave")
DEFAULT_THRESHOLD, DEFAULT_MAX_FALSE = 0.75, 1.0


def effective_threshold(threshold: float, n_pairs: int) -> float:
    """The least frequency on the grid of 2 `n_pairs` runs that reaches the threshold."""
    return math.ceil(threshold * 2 * n_pairs - 1e-9) / (2 * n_pairs)


def false_selections(
    q: float, width: int, threshold: float, n_pairs: int, assumption: str = "none"
) -> float:
    """Bound on the expected number of false selections; runs keep `q` of `width` on average."""
    share, threshold = q / width, effective_threshold(threshold, n_pairs)
    if share == 0.0:
        return 0.0
    bounds = [
        float(width),
        q * share / (2.0 * threshold - 1.0),
    ]  # Meinshausen and Buhlmann, theorem 1; Shah and Samworth, equation 4
    if assumption == "unimodal":
        bounds.append(_unimodal_factor(share, threshold, n_pairs) * q * share)
    elif assumption == "r-concave":
        count = round(threshold * 2 * n_pairs)
        simultaneous = concave_tail(share**2, count - n_pairs, n_pairs, -0.5)
        bounds.append(width * min(simultaneous, concave_tail(share, count, 2 * n_pairs, -0.25)))
    return float(min(bounds))


def _unimodal_factor(share: float, threshold: float, n_pairs: int) -> float:
    """Factor of Shah and Samworth, theorem 2; infinite where its conditions fail."""
    begin = min(0.5 + share**2, 0.5 + 0.5 / n_pairs + 0.75 * share**2)
    if share > 1.0 / math.sqrt(3.0) or threshold <= begin or 2.0 * threshold - 1.0 <= 0.5 / n_pairs:
        return math.inf
    if threshold <= 0.75:
        return 0.5 / (2.0 * threshold - 1.0 - 0.5 / n_pairs)
    return 4.0 * (1.0 - threshold + 0.5 / n_pairs) / (1.0 + 1.0 / n_pairs)


def concave_tail(mean: float, count: int, steps: int, power: float) -> float:
    """Largest P(Y >= count / steps) of a `power`-concave mass (Shah and Samworth, section 3.3).

    The extremal masses are (a + i)^(1/power) for i <= k, and a rest at k + 1 that sets the mean.
    """
    target, exponent, first = mean * steps, 1.0 / power, math.ceil(2.0 * mean * steps) + 1
    if count < first or first > steps:
        return 1.0
    at = np.arange(steps + 1.0)

    def excess(a, k):
        mass = (a + at[: k + 1]) ** exponent
        return (at[: k + 1] * mass).sum() / mass.sum() - target

    def below(a, k):
        mass = (a + at[: k + 1]) ** exponent
        return (k + 1.0 - target) * mass[:count].sum() / ((k + 1.0 - at[: k + 1]) * mass).sum()

    start = count - 1  # shorter masses have no such tail
    offsets = [_root(excess, k) for k in range(start, steps + 1)]
    best = 0.0
    for k, (high, low) in enumerate(itertools.pairwise(offsets), start):
        ends = min(below(low, k), below(high, k))
        if high > low:
            inside = minimize_scalar(below, bounds=(low, high), args=(k,), method="bounded").fun
            ends = min(ends, inside)
        best = max(best, 1.0 - ends)
    return float(min(best, 1.0))


def _root(excess, k: int) -> float:
    """The offset at which the truncated mass has the right mean."""
    low, high = 1e-9, 1e9
    if excess(low, k) >= 0.0:
        return low
    if excess(high, k) <= 0.0:
        return high
    return math.exp(
        brentq(lambda u: excess(math.exp(u), k), math.log(low), math.log(high), xtol=1e-13)
    )


def max_features_per_run(
    max_false: float, width: int, threshold: float, n_pairs: int, assumption: str
) -> int:
    """The most features a run may keep for a bound of at most `max_false`; 0 if not even one."""
    low, high = 0, width
    while low < high:
        middle = (low + high + 1) // 2
        if false_selections(middle, width, threshold, n_pairs, assumption) <= max_false:
            low = middle
        else:
            high = middle - 1
    return low


def min_threshold(
    max_false: float, width: int, q: int, n_pairs: int, assumption: str
) -> float | None:
    """The least threshold above one half whose bound is at most `max_false`, or None."""
    for count in range(n_pairs + 1, 2 * n_pairs + 1):
        threshold = count / (2 * n_pairs)
        if false_selections(q, width, threshold, n_pairs, assumption) <= max_false:
            return threshold
    return None


def resolve_error_control(
    threshold: float | None,
    q: int | None,
    max_false: float | None,
    width: int,
    n_pairs: int,
    assumption: str,
) -> tuple[float, int | None]:
    """Threshold and most features of a run (None: no limit), from two of the three promises."""
    if threshold is not None and q is not None and max_false is not None:
        raise ValueError(
            "threshold, n_selected and max_false hang together; give at most two of them, and the "
            "bound gives the third."
        )
    if q is not None and max_false is not None:
        q = min(int(q), width)
        return _solve_threshold(max_false, width, q, n_pairs, assumption), q
    if threshold is not None and q is None and max_false is None:
        return float(threshold), None
    threshold = DEFAULT_THRESHOLD if threshold is None else float(threshold)
    if q is not None:
        return threshold, min(int(q), width)
    limit = DEFAULT_MAX_FALSE if max_false is None else float(max_false)
    most = max_features_per_run(limit, width, threshold, n_pairs, assumption)
    if not most:
        warnings.warn(
            f"{width} features are too few to promise at most {limit:g} false selections at "
            f"threshold {threshold:g}: runs keep one feature each, and the bound is "
            f"{false_selections(1, width, threshold, n_pairs, assumption):.3g}.",
            UserWarning,
            stacklevel=4,
        )
    return threshold, max(most, 1)


def _solve_threshold(max_false: float, width: int, q: int, n_pairs: int, assumption: str) -> float:
    """The least threshold that keeps the promise; refused where there is none."""
    threshold = min_threshold(max_false, width, q, n_pairs, assumption)
    if threshold is None:
        most = max_features_per_run(max_false, width, 1.0, n_pairs, assumption)
        raise ValueError(
            f"no threshold keeps the expected number of false selections at {max_false:g} when "
            f"runs keep {q} of {width} features; "
            + (f"n_selected may be {most} at most." if most else "raise max_false.")
        )
    return threshold
