"""Bounds on the expected number of falsely selected features of stability selection."""

import itertools
import math
import warnings

import numpy as np
from scipy.optimize import brentq, minimize_scalar

ASSUMPTIONS = ("none", "unimodal", "r-concave")
DEFAULT_THRESHOLD, DEFAULT_MAX_FALSE = 0.75, 1.0


def effective_threshold(threshold: float, n_pairs: int) -> float:
    """Return the smallest frequency of 2 `n_pairs` runs that reaches the threshold."""
    return math.ceil(threshold * 2 * n_pairs - 1e-9) / (2 * n_pairs)


def false_selections(
    q: float, n_features: int, threshold: float, n_pairs: int, assumption: str = "none"
) -> float:
    """Bound the expected number of false selections; runs select `q` features on average."""
    theta, threshold = q / n_features, effective_threshold(threshold, n_pairs)
    if theta == 0.0:
        return 0.0
    bounds = [
        float(n_features),
        q * theta / (2.0 * threshold - 1.0),
    ]  # Meinshausen and Buhlmann, theorem 1; Shah and Samworth, equation 4
    if assumption == "unimodal":
        bounds.append(_unimodal_factor(theta, threshold, n_pairs) * q * theta)
    elif assumption == "r-concave":
        count = round(threshold * 2 * n_pairs)
        pair_tail = concave_tail(theta**2, count - n_pairs, n_pairs, -0.5)
        bounds.append(n_features * min(pair_tail, concave_tail(theta, count, 2 * n_pairs, -0.25)))
    return float(min(bounds))


def _unimodal_factor(theta: float, threshold: float, n_pairs: int) -> float:
    """Return the factor of Shah and Samworth, theorem 2; infinite where its conditions fail."""
    start = min(0.5 + theta**2, 0.5 + 0.5 / n_pairs + 0.75 * theta**2)
    if theta > 1.0 / math.sqrt(3.0) or threshold <= start or 2.0 * threshold - 1.0 <= 0.5 / n_pairs:
        return math.inf
    if threshold <= 0.75:
        return 0.5 / (2.0 * threshold - 1.0 - 0.5 / n_pairs)
    return 4.0 * (1.0 - threshold + 0.5 / n_pairs) / (1.0 + 1.0 / n_pairs)


def concave_tail(mean: float, count: int, steps: int, power: float) -> float:
    """Return the largest P(Y >= count / steps) of a `power`-concave mass function with this mean.

    Shah and Samworth, section 3.3: the extremal mass functions are (a + i)^(1/power) for i <= k,
    with a remainder at k + 1 that sets the mean.
    """
    mean_count, exponent, first_count = mean * steps, 1.0 / power, math.ceil(2.0 * mean * steps) + 1
    if count < first_count or first_count > steps:
        return 1.0
    values = np.arange(steps + 1.0)

    def excess(a, k):
        mass = (a + values[: k + 1]) ** exponent
        return (values[: k + 1] * mass).sum() / mass.sum() - mean_count

    def head_probability(a, k):
        mass = (a + values[: k + 1]) ** exponent
        return (
            (k + 1.0 - mean_count) * mass[:count].sum() / ((k + 1.0 - values[: k + 1]) * mass).sum()
        )

    first_end = count - 1  # shorter mass functions have no such tail
    offsets = [_root(excess, k) for k in range(first_end, steps + 1)]
    largest_tail = 0.0
    for k, (high, low) in enumerate(itertools.pairwise(offsets), first_end):
        smallest_head = min(head_probability(low, k), head_probability(high, k))
        if high > low:
            interior_head = minimize_scalar(
                head_probability, bounds=(low, high), args=(k,), method="bounded"
            ).fun
            smallest_head = min(smallest_head, interior_head)
        largest_tail = max(largest_tail, 1.0 - smallest_head)
    return float(min(largest_tail, 1.0))


def _root(excess, k: int) -> float:
    """Return the offset a at which the truncated mass function has the given mean."""
    low, high = 1e-9, 1e9
    if excess(low, k) >= 0.0:
        return low
    if excess(high, k) <= 0.0:
        return high
    return math.exp(
        brentq(lambda u: excess(math.exp(u), k), math.log(low), math.log(high), xtol=1e-13)
    )


def max_features_per_run(
    max_false: float, n_features: int, threshold: float, n_pairs: int, assumption: str
) -> int:
    """Return the largest q for which the bound is at most `max_false`; 0 if there is none."""
    low, high = 0, n_features
    while low < high:
        middle = (low + high + 1) // 2
        if false_selections(middle, n_features, threshold, n_pairs, assumption) <= max_false:
            low = middle
        else:
            high = middle - 1
    return low


def min_threshold(
    max_false: float, n_features: int, q: int, n_pairs: int, assumption: str
) -> float | None:
    """Return the smallest threshold above 1/2 whose bound is at most `max_false`, or None."""
    for count in range(n_pairs + 1, 2 * n_pairs + 1):
        threshold = count / (2 * n_pairs)
        if false_selections(q, n_features, threshold, n_pairs, assumption) <= max_false:
            return threshold
    return None


def resolve_error_control(
    threshold: float | None,
    q: int | None,
    max_false: float | None,
    n_features: int,
    n_pairs: int,
    assumption: str,
) -> tuple[float, int | None]:
    """Return the threshold and the limit q of a run (None: no limit), from two of the three."""
    if threshold is not None and q is not None and max_false is not None:
        raise ValueError(
            "threshold, n_selected and max_false depend on each other; give at most two of "
            "them, and the bound gives the third."
        )
    if q is not None and max_false is not None:
        q = min(int(q), n_features)
        return _solve_threshold(max_false, n_features, q, n_pairs, assumption), q
    if threshold is not None and q is None and max_false is None:
        return float(threshold), None
    threshold = DEFAULT_THRESHOLD if threshold is None else float(threshold)
    if q is not None:
        return threshold, min(int(q), n_features)
    limit = DEFAULT_MAX_FALSE if max_false is None else float(max_false)
    max_selected = max_features_per_run(limit, n_features, threshold, n_pairs, assumption)
    if not max_selected:
        warnings.warn(
            f"{n_features} features are too few to promise at most {limit:g} false selections at "
            f"threshold {threshold:g}: runs keep one feature each, and the bound is "
            f"{false_selections(1, n_features, threshold, n_pairs, assumption):.3g}.",
            UserWarning,
            stacklevel=4,
        )
    return threshold, max(max_selected, 1)


def _solve_threshold(
    max_false: float, n_features: int, q: int, n_pairs: int, assumption: str
) -> float:
    """Return the smallest threshold with this bound; raise an error where there is none."""
    threshold = min_threshold(max_false, n_features, q, n_pairs, assumption)
    if threshold is None:
        max_selected = max_features_per_run(max_false, n_features, 1.0, n_pairs, assumption)
        raise ValueError(
            f"no threshold keeps the expected number of false selections at {max_false:g} when "
            f"runs keep {q} of {n_features} features; "
            + (f"n_selected may be {max_selected} at most." if max_selected else "raise max_false.")
        )
    return threshold
