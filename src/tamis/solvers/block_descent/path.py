"""Solutions along falling strengths, each begun where the last one ended."""

import numpy as np

from tamis.solvers.block_descent.solver import Outcome, Problem, solve

EPS, EPS_WIDE = (
    0.01,
    0.05,
)  # smallest alpha over the largest, and where there are more columns than rows


def alpha_grid(largest: float, n_alphas: int, wide: bool) -> np.ndarray:
    """Strengths from the largest down, geometric; where no strength keeps anything, from 1."""
    largest = largest if largest > 0.0 else 1.0
    return (
        np.geomspace(largest, largest * (EPS_WIDE if wide else EPS), n_alphas)
        if n_alphas > 1
        else np.array([largest])
    )


def solve_path(
    problem: Problem, penalty, alphas, tol: float, max_iter: int, largest: float = 0.0
) -> list[Outcome]:
    """Outcomes for strengths in falling order; `largest` is the one that keeps nothing, where it is
    known.
    """
    start, found = None, []
    for alpha in alphas:
        outcome = solve(
            problem, penalty._replace(alpha=float(alpha)), tol, max_iter, start, largest
        )
        start = outcome[:2]
        found.append(outcome)
    return found


def one_standard_error(losses: np.ndarray, se: float) -> tuple[int, float]:
    """First row of losses (strengths in falling order, folds) whose mean is within `se` standard
    errors of the least, and that limit.
    """
    means = losses.mean(axis=1)
    lowest = int(np.argmin(means))
    folds = losses.shape[1]
    limit = means[lowest] + se * losses[lowest].std(ddof=1 if folds > 1 else 0) / np.sqrt(folds)
    return int(np.flatnonzero(means <= limit)[0]), float(limit)
