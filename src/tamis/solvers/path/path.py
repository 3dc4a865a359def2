"""Solutions along falling strengths, each begun where the last one ended."""

from numbers import Integral

import numpy as np

from tamis.solvers.path.problem import Outcome, Problem
from tamis.solvers.path.solver import largest_alpha, multiply_strength, solve

# smallest alpha over the largest, and where there are more columns than rows
EPS, EPS_WIDE = 0.01, 0.05


def alpha_grid(largest: float, n_alphas: int, wide: bool) -> np.ndarray:
    """Strengths from the largest down, geometric; where no strength keeps anything, from 1."""
    largest = largest if largest > 0.0 else 1.0
    if n_alphas == 1:
        return np.array([largest])
    return np.geomspace(largest, largest * (EPS_WIDE if wide else EPS), n_alphas)


def take_alphas(alphas, problem: Problem, penalty) -> np.ndarray:
    """Strengths in falling order: as many as a number says, or those that are given."""
    if isinstance(alphas, Integral):
        wide = problem.design.n_rows < problem.blocks.n_columns
        largest = largest_alpha(problem, penalty)
        if np.isnan(largest):
            raise ValueError(
                f"{penalty!r} has no dual_scale, so that no strength is known to keep nothing. "
                "Pass alphas as a list of strengths."
            )
        return alpha_grid(largest, int(alphas), wide)
    given = np.sort(np.asarray(alphas, dtype=float).ravel())[::-1]
    if not len(given) or not np.isfinite(given).all() or given[-1] < 0.0:
        raise ValueError(
            "alphas must be a number of strengths, or strengths that are finite and 0 or more. "
            f"Got {alphas!r}."
        )
    return given


def solve_path(
    problem: Problem, penalty, alphas, tol: float, max_iter: int, largest: float = 0.0
) -> list[Outcome]:
    """Outcomes for strengths in falling order; `largest` is the one that keeps nothing, where it is
    known.
    """
    start, found = None, []
    for alpha in alphas:
        strength = multiply_strength(penalty, float(alpha))
        outcome = solve(problem, strength, tol, max_iter, start, largest * penalty.alpha)
        start = outcome[:2]
        found.append(outcome)
    return found


def shown_path(problem: Problem, alphas: np.ndarray, outcomes: list[Outcome]) -> dict:
    """A path as plain arrays."""
    starts = problem.blocks.starts.astype(np.int64)[:-1]
    shown = [problem.shown(outcome.w, outcome.bias) for outcome in outcomes]
    norms = [np.sqrt(np.add.reduceat((o.w**2).sum(axis=1), starts)) for o in outcomes]
    return {
        "alpha": alphas,
        "coef": np.array([coef.T for coef, _ in shown]),
        "intercept": np.array([intercept for _, intercept in shown]),
        "dual_gap": np.array([outcome.gap for outcome in outcomes]),
        "group_norm": np.array(norms),
    }
