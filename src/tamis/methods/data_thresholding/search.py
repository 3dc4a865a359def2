"""Thresholds one after the other, until what a model of the kept entries costs is small enough."""

from typing import Any, NamedTuple

import numpy as np

from tamis.methods.data_thresholding.bounds import AT_ZERO, Problem, safe_threshold
from tamis.methods.data_thresholding.certificate import Certificate, certify
from tamis.methods.data_thresholding.solver import Fit, given_solver, solve
from tamis.methods.data_thresholding.thresholds import Kept, drop_small, halvings

TIGHTER = 0.1  # of the error allowed: how well a thresholded problem is solved


class Options(NamedTuple):
    """Parameters of a search."""

    estimator: Any  # None: the solver in tamis
    mass: float  # sum of the weights of the rows
    max_error: float | None
    mode: str
    tol: float
    max_iter: int


class Tried(NamedTuple):
    """One threshold: what is left of the data, and a fit and a certificate of every output."""

    threshold: float
    kept: Kept
    fits: list[Fit]
    certificates: list[Certificate]

    def holds(self, options: Options) -> bool:
        """Whether every output is near enough to its optimum."""
        error, mode = options.max_error, options.mode
        return error is None or all(one.holds(error, mode) for one in self.certificates)

    def figures(self) -> dict:
        """What it kept, and the worst output's distance from its optimum."""
        return {
            "threshold": self.threshold,
            "kept_fraction": self.kept.share,
            "bytes": self.kept.size,
            "gap": max(one.gap for one in self.certificates),
            "rel_gap": max(one.rel_gap for one in self.certificates),
        }


def search(
    matrix, problems: list[Problem], options: Options, first: float, floor: float = 0.0, start=None
) -> list[Tried]:
    """Halve the threshold until the certificate of every output holds; each fit starts where the
    last one ended, the first one at the fits `start`.
    """
    found: list[Tried] = []
    for threshold in [first] if options.max_error is None else halvings(matrix, first, floor):
        found.append(_try(matrix, problems, threshold, options, start))
        if found[-1].holds(options):
            break
        start = found[-1].fits
    return found


def _try(matrix, problems: list[Problem], threshold: float, options: Options, start) -> Tried:
    """Drop, solve, certify."""
    kept, tol = drop_small(matrix, threshold), options.tol
    if options.max_error is not None:
        tol = min(tol, TIGHTER * options.max_error)
    if options.estimator is not None:
        fits = given_solver(options.estimator, kept.matrix, problems, options.mass)
    else:
        begun = start or [None for _ in problems]
        fits = [
            solve(problem, kept.matrix, tol, options.max_iter, at)
            for problem, at in zip(problems, begun, strict=True)
        ]
    pairs = zip(problems, fits, strict=True)
    return Tried(threshold, kept, fits, [certify(one, matrix, kept, fit) for one, fit in pairs])


def search_path(
    matrix, problems: list[Problem], options: Options, first: float, alphas: np.ndarray
) -> list[Tried]:
    """A threshold for each of falling strengths: it begins at that of the one before, and does not
    fall below what the bounds allow beforehand.
    """
    assert options.max_error is not None, "a path needs to know what it may lose"
    at_zero, start, steps = AT_ZERO[problems[0].loss], None, []
    allowed, reached = (options.max_error, options.mode), at_zero
    for alpha in alphas.tolist():
        floor = safe_threshold(*allowed, alpha, at_zero, reached)
        own = [problem._replace(strength=alpha) for problem in problems]
        tried = search(matrix, own, options, max(first, floor), floor, start)[-1]
        first, start = tried.threshold, tried.fits
        reached = max(one.primal_original for one in tried.certificates)
        steps.append(tried)
    return steps


def shown_path(alphas: np.ndarray, steps: list[Tried]) -> dict[str, np.ndarray]:
    """A path as arrays."""
    shown = {"primal": "primal_original", "gap": "gap", "rel_gap": "rel_gap"}
    return {
        "alpha": alphas,
        "threshold": np.array([one.threshold for one in steps]),
        "kept_fraction": np.array([one.kept.share for one in steps]),
        "coef": np.array([[fit.weights for fit in one.fits] for one in steps]),
        "intercept": np.array([[fit.intercept for fit in one.fits] for one in steps]),
        **{
            name: np.array([[getattr(c, field) for c in one.certificates] for one in steps])
            for name, field in shown.items()
        },
    }
