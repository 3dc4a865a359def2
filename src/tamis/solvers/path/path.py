"""Solutions for decreasing strengths, each started at the last one."""

from numbers import Integral

import numpy as np

from tamis.solvers.path.problem import GroupProblem, GroupSolution
from tamis.solvers.path.solver import compute_alpha_max, scale_penalty, solve_problem

# Smallest alpha over the largest, and the same where there are more columns than rows.
MIN_ALPHA_RATIO, MIN_ALPHA_RATIO_WIDE = 0.01, 0.05


def alpha_grid(largest: float, n_alphas: int, is_wide: bool) -> np.ndarray:
    """Return strengths from the largest down, in geometric progression; from 1 if the
    largest is 0.
    """
    largest = largest if largest > 0.0 else 1.0
    if n_alphas == 1:
        return np.array([largest])
    return np.geomspace(
        largest, largest * (MIN_ALPHA_RATIO_WIDE if is_wide else MIN_ALPHA_RATIO), n_alphas
    )


def resolve_alphas(alphas, problem: GroupProblem, penalty) -> np.ndarray:
    """Return strengths in decreasing order: the given ones or, for a number, a grid of that
    length.
    """
    if isinstance(alphas, Integral):
        is_wide = problem.design.n_rows < problem.blocks.n_columns
        largest = compute_alpha_max(problem, penalty)
        if np.isnan(largest):
            raise ValueError(
                f"{penalty!r} has no dual_scale, so the largest useful strength is not known. "
                "Pass alphas as a list of strengths."
            )
        return alpha_grid(largest, int(alphas), is_wide)
    strengths = np.sort(np.asarray(alphas, dtype=float).ravel())[::-1]
    if not len(strengths) or not np.isfinite(strengths).all() or strengths[-1] < 0.0:
        raise ValueError(
            "alphas must be a number of strengths, or strengths that are finite and 0 or more. "
            f"Got {alphas!r}."
        )
    return strengths


def solve_path(
    problem: GroupProblem, penalty, alphas, tol: float, max_iter: int, largest: float = 0.0
) -> list[GroupSolution]:
    """Return the solutions for strengths in decreasing order; `largest` is the smallest strength
    whose solution is 0, if it is known.
    """
    warm_start, outcomes = None, []
    for alpha in alphas:
        scaled_penalty = scale_penalty(penalty, float(alpha))
        outcome = solve_problem(
            problem, scaled_penalty, tol, max_iter, warm_start, largest * penalty.alpha
        )
        warm_start = outcome[:2]
        outcomes.append(outcome)
    return outcomes


def path_arrays(problem: GroupProblem, alphas: np.ndarray, outcomes: list[GroupSolution]) -> dict:
    """Return a path as a dict of arrays."""
    starts = problem.blocks.starts.astype(np.int64)[:-1]
    solutions = [problem.to_coef(outcome.w, outcome.bias) for outcome in outcomes]
    group_norms = [np.sqrt(np.add.reduceat((o.w**2).sum(axis=1), starts)) for o in outcomes]
    return {
        "alpha": alphas,
        "coef": np.array([coef.T for coef, _ in solutions]),
        "intercept": np.array([intercept for _, intercept in solutions]),
        "dual_gap": np.array([outcome.gap for outcome in outcomes]),
        "group_norm": np.array(group_norms),
    }
