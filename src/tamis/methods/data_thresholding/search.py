"""Search of a threshold: lower it until the certificate meets the requested error."""

from typing import Any, NamedTuple

import numpy as np

from tamis.methods.data_thresholding.bounds import LOSS_AT_ZERO, ThresholdProblem, safe_threshold
from tamis.methods.data_thresholding.certificate import Certificate, certify
from tamis.methods.data_thresholding.solver import Fit, fit_estimator, solve
from tamis.methods.data_thresholding.thresholds import (
    ThresholdedMatrix,
    apply_threshold,
    halving_thresholds,
)

SOLVER_TOL_FRACTION = 0.1  # tolerance of the solver on thresholded data, as a fraction of max_error


class ThresholdOptions(NamedTuple):
    """Parameters of the search."""

    estimator: Any  # None: the solver in tamis
    total_weight: float  # sum of the weights of the rows
    max_error: float | None
    mode: str
    tol: float
    max_iter: int


class ThresholdTrial(NamedTuple):
    """Result at one threshold: the thresholded matrix, a fit and a certificate for each output."""

    threshold: float
    thresholded: ThresholdedMatrix
    fits: list[Fit]
    certificates: list[Certificate]

    def is_within(self, options: ThresholdOptions) -> bool:
        """Return whether the certificate of every output meets `max_error`."""
        error, mode = options.max_error, options.mode
        return error is None or all(
            certificate.is_within(error, mode) for certificate in self.certificates
        )

    def summary(self) -> dict:
        """Return the record of `history_`: threshold, size, and the largest gap of an output."""
        return {
            "threshold": self.threshold,
            "kept_fraction": self.thresholded.share,
            "bytes": self.thresholded.n_bytes,
            "gap": max(certificate.gap for certificate in self.certificates),
            "rel_gap": max(certificate.rel_gap for certificate in self.certificates),
        }


def search(
    matrix,
    problems: list[ThresholdProblem],
    options: ThresholdOptions,
    first: float,
    floor: float = 0.0,
    start=None,
) -> list[ThresholdTrial]:
    """Halve the threshold until the certificate of every output meets `max_error`; return all
    trials.

    The first trial starts from the fits `start`, each later one from the fits of the one before.
    """
    trials: list[ThresholdTrial] = []
    for threshold in (
        [first] if options.max_error is None else halving_thresholds(matrix, first, floor)
    ):
        trials.append(_try_threshold(matrix, problems, threshold, options, start))
        if trials[-1].is_within(options):
            break
        start = trials[-1].fits
    return trials


def _try_threshold(
    matrix, problems: list[ThresholdProblem], threshold: float, options: ThresholdOptions, start
) -> ThresholdTrial:
    """Threshold the matrix, solve the problem of each output, and compute the certificates."""
    thresholded, tol = apply_threshold(matrix, threshold), options.tol
    if options.max_error is not None:
        tol = min(tol, SOLVER_TOL_FRACTION * options.max_error)
    if options.estimator is not None:
        fits = fit_estimator(options.estimator, thresholded.matrix, problems, options.total_weight)
    else:
        initial_fits = start or [None for _ in problems]
        fits = [
            solve(problem, thresholded.matrix, tol, options.max_iter, initial)
            for problem, initial in zip(problems, initial_fits, strict=True)
        ]
    pairs = zip(problems, fits, strict=True)
    return ThresholdTrial(
        threshold,
        thresholded,
        fits,
        [certify(problem, matrix, thresholded, fit) for problem, fit in pairs],
    )


def search_path(
    matrix,
    problems: list[ThresholdProblem],
    options: ThresholdOptions,
    first: float,
    alphas: np.ndarray,
) -> list[ThresholdTrial]:
    """Return one trial for each of decreasing strengths; the search starts at the last threshold,
    and ends at the largest one that the a-priori bounds allow.
    """
    assert options.max_error is not None, "a path needs max_error"
    at_zero, start, trials = LOSS_AT_ZERO[problems[0].loss], None, []
    error_bound, known_objective = (options.max_error, options.mode), at_zero
    for alpha in alphas.tolist():
        floor = safe_threshold(*error_bound, alpha, at_zero, known_objective)
        alpha_problems = [problem._replace(strength=alpha) for problem in problems]
        trial = search(matrix, alpha_problems, options, max(first, floor), floor, start)[-1]
        first, start = trial.threshold, trial.fits
        known_objective = max(certificate.primal_original for certificate in trial.certificates)
        trials.append(trial)
    return trials


def path_arrays(alphas: np.ndarray, trials: list[ThresholdTrial]) -> dict[str, np.ndarray]:
    """Return the path as a dict of arrays."""
    fields = {"primal": "primal_original", "gap": "gap", "rel_gap": "rel_gap"}
    return {
        "alpha": alphas,
        "threshold": np.array([trial.threshold for trial in trials]),
        "kept_fraction": np.array([trial.thresholded.share for trial in trials]),
        "coef": np.array([[fit.weights for fit in trial.fits] for trial in trials]),
        "intercept": np.array([[fit.intercept for fit in trial.fits] for trial in trials]),
        **{
            name: np.array(
                [
                    [getattr(certificate, field) for certificate in trial.certificates]
                    for trial in trials
                ]
            )
            for name, field in fields.items()
        },
    }
