"""The sizes of the size path, the choice among them by held-out errors, and the error to expect of
the choice.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from tamis.methods.sieve.held_out_errors import HeldOutError, has_lower_error

SIZE_EXPONENT = 0.5  # consecutive sizes differ by this power of two
MAX_SECOND_SIZE = 0.85  # the second size is at most this fraction of the first
Z_TO_WIN = 1.0  # standard errors by which a later candidate must be better
N_DRAWS = 200  # bootstrap draws of the rows
DRAW_BATCH = 50  # draws computed together, which bounds memory


class ChosenSize(NamedTuple):
    """A size: the last level of the path with at least this size, the number of features, and the
    threshold of the error.
    """

    level: int
    size: int
    threshold: float


class SizeRule(NamedTuple):
    """Rule for the choice of a size: how much error may be given up for fewer features.

    `se` is in standard errors (of the smallest error, or if `paired` of the difference to it row by
    row), `tolerance` is a fraction of the smallest error; the larger one counts. `size` is the size
    that the user wants, or None.
    """

    sizes: np.ndarray
    se: float
    tolerance: float
    size: int | None
    paired: bool = False


def path_sizes(n_seen: int) -> np.ndarray:
    """Return the falling sizes of the path: all features, then the rounded 2^(i/2), which do not
    depend on the data, down to 1.
    """
    sizes = [n_seen]
    if n_seen > 1:
        start = int(np.floor(np.log2(max(MAX_SECOND_SIZE * n_seen, 1.0)) / SIZE_EXPONENT))
        sizes += [round(2.0 ** (SIZE_EXPONENT * i)) for i in range(start, -1, -1)]
    return np.unique(np.array(sizes, dtype=np.int64))[::-1]


def trained_sizes(sizes: np.ndarray, n_unpenalized: int) -> np.ndarray:
    """Return the sizes that paths learn, with size 0 where there are unpenalized columns."""
    return np.append(sizes, 0) if n_unpenalized and sizes[-1] else sizes


def smallest_size(
    sizes: np.ndarray, errors: np.ndarray, allowance: np.ndarray | float
) -> ChosenSize:
    """Return the smallest size whose isotonic error is at most `allowance` (one, or one for each
    size) above the smallest error; sizes between two levels are interpolated.
    """
    best = int(np.argmin(errors))
    smooth = np.array(errors, dtype=float)
    smooth[best:] = isotonic_regression(smooth[best:]).x
    # Pooling equal errors may round upwards.
    limits = float(max(errors[best], smooth[best])) + np.broadcast_to(allowance, len(sizes))
    slack = limits - smooth
    level = best + int(np.flatnonzero(slack[best:] >= 0.0)[-1])
    if level == len(sizes) - 1:
        return ChosenSize(level, int(sizes[level]), float(limits[level]))
    fraction = slack[level] / (slack[level] - slack[level + 1])
    high, low = np.log(sizes[level]), np.log(sizes[level + 1])
    size = int(np.rint(np.exp(high + fraction * (low - high))))
    size = min(max(size, int(sizes[level + 1])), int(sizes[level]))
    return ChosenSize(level, size, float(limits[level]))


def requested_size(sizes: np.ndarray, size: int) -> ChosenSize:
    """Return a size that the user wants, with its level."""
    size = min(size, int(sizes[0]))
    return ChosenSize(int(np.flatnonzero(sizes >= size)[-1]), size, np.nan)


# --------------------------------------------------------------------------- by held-out errors
def choose_candidate(candidates: list[list[HeldOutError]], row_weights: np.ndarray) -> int:
    """Return the number of the first candidate, unless another one has a significantly lower error
    on the same rows, both at their best sizes.
    """
    best, row_weights = 0, row_weights[: len(candidates[0][0].soft_by_row)]
    for index in range(1, len(candidates)):
        errors, best_errors = (
            min(candidates[t], key=lambda error: error.soft) for t in (index, best)
        )
        if has_lower_error(errors.soft_by_row, best_errors.soft_by_row, row_weights, Z_TO_WIN):
            best = index
    return best


def size_by_error(errors: list[HeldOutError], rule: SizeRule) -> ChosenSize:
    """Choose a size by its held-out errors."""
    soft = np.array([error.soft for error in errors])
    return size_within_allowance(soft, comparison_errors(errors, rule), rule)


def comparison_errors(errors: list[HeldOutError], rule: SizeRule) -> np.ndarray:
    """Return standard errors (levels, best level) of the smallest error, or of the difference to
    it.
    """
    level_errors = np.array([error.soft_standard_error for error in errors])
    if not rule.paired:
        return np.broadcast_to(level_errors, (len(errors), len(errors)))
    rows = np.stack([error.soft_by_row for error in errors]).astype(float)
    rows -= rows.mean(axis=1, keepdims=True)
    covariance = rows @ rows.T / rows.shape[1]
    variances = np.diag(covariance)
    difference_errors = np.sqrt(np.maximum(variances[:, None] + variances - 2.0 * covariance, 0.0))
    # Row weights change the standard error of a difference by the same factor as that of an error.
    unweighted_errors = np.sqrt(np.maximum(variances, 1e-300))
    return difference_errors * (level_errors / unweighted_errors)


def size_within_allowance(
    soft: np.ndarray, standard_errors: np.ndarray, rule: SizeRule
) -> ChosenSize:
    """Choose a size by the errors of the levels and their standard errors."""
    if rule.size is not None:
        return requested_size(rule.sizes, rule.size)
    best_level = int(np.argmin(soft))
    allowance = np.maximum(
        rule.se * standard_errors[:, best_level], rule.tolerance * float(soft[best_level])
    )
    return smallest_size(rule.sizes, soft, allowance)


def choose_size(
    candidates: list[list[HeldOutError]], row_weights: np.ndarray, rule: SizeRule
) -> tuple[int, ChosenSize, float]:
    """Choose candidate and size, and return them with the expected error of the choice.

    Rows are drawn with replacement; candidate and size are chosen by the drawn rows, and their
    error is computed on the others. The expected error is the mean over many draws. The size is the
    geometric mean over the draws that choose the same candidate as all rows do: the size chosen on
    all rows alone changes abruptly when a few rows change.

    The errors of all rows at all sizes are known, so no further fit is needed (Tsamardinos,
    Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and
    accurate cross-validation", Machine Learning 107, 2018).
    """
    preferred = choose_candidate(candidates, row_weights)
    full_choice = size_by_error(candidates[preferred], rule)
    soft = [np.stack([error.soft_by_row for error in errors]) for errors in candidates]
    plain = [np.stack([error.plain_by_row for error in errors]) for errors in candidates]
    standard_errors = [comparison_errors(errors, rule) for errors in candidates]
    n_rows = soft[0].shape[1]
    row_weights, random = row_weights[:n_rows].astype(np.float32), np.random.default_rng(0)
    errors, sizes = [], []
    for _ in range(0, N_DRAWS, DRAW_BATCH):
        draws = random.poisson(1.0, (DRAW_BATCH, n_rows)).astype(np.float32)
        drawn_weights = draws * row_weights
        total_weights = np.maximum(drawn_weights.sum(axis=1), 1e-30)[:, None]
        means = [drawn_weights @ rows.T / total_weights for rows in soft]
        for t in range(DRAW_BATCH):
            left_out_weights = row_weights * (draws[t] == 0.0)
            if left_out_weights.any() and drawn_weights[t].any():
                best, choice = _choose_on_draw(
                    candidates, standard_errors, [m[t] for m in means], drawn_weights[t], rule
                )
                errors.append(
                    float(np.average(plain[best][choice.level], weights=left_out_weights))
                )
                if best == preferred:
                    sizes.append(choice.size)
    size = round(float(np.exp(np.mean(np.log(sizes))))) if any(sizes) else full_choice.size
    level = int(np.flatnonzero(rule.sizes >= size)[-1])
    choice = ChosenSize(level, size, full_choice.threshold)
    return preferred, choice, float(np.mean(errors)) if errors else np.nan


def _choose_on_draw(
    candidates, standard_errors, means, drawn_weights, rule: SizeRule
) -> tuple[int, ChosenSize]:
    """Return candidate and size chosen by the drawn rows."""
    best_levels, best = [int(np.argmin(mean)) for mean in means], 0
    for index in range(1, len(candidates)):
        errors = candidates[index][best_levels[index]].soft_by_row
        best_errors = candidates[best][best_levels[best]].soft_by_row
        best = index if has_lower_error(errors, best_errors, drawn_weights, Z_TO_WIN) else best
    return best, size_within_allowance(means[best].astype(float), standard_errors[best], rule)
