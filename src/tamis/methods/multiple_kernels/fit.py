"""One fit: the weights of the kernels and the machines over their weighted sum; and the calibration
of the machines by sigmoids on held-out scores.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.splits import calibration_scores
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.dictionary import kernel_name
from tamis.methods.multiple_kernels.level.method import MKLSolution
from tamis.methods.multiple_kernels.machines import Machines, SVMDual, learn_weights
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.methods.multiple_kernels.rows import KernelRows
from tamis.solvers.calibration import fit_sigmoid
from tamis.solvers.svm_dual.dual import solve_svm


class GMKLOptions(NamedTuple):
    """The parameters of the estimators that set how the weights are learnt."""

    l1_ratio: float
    p: float
    weights: str
    normalize: str | None
    share_weights: bool
    tol: float
    max_iter: int
    max_kernel_bytes: float


class WeightGroup(NamedTuple):
    """Machines that share the weights of the kernels: these weights, the weights of the rows and
    the intercept of each machine, and the solution with its bounds.
    """

    theta: np.ndarray
    betas: np.ndarray
    intercepts: np.ndarray
    solution: MKLSolution


class GMKLFit(NamedTuple):
    """Groups of machines, and the kernels over their training rows."""

    groups: list[WeightGroup]
    store: KernelStore

    @property
    def converged(self) -> bool:
        """Whether the gaps of all groups reached the tolerance."""
        return all(group.solution.converged for group in self.groups)

    def attributes(self) -> dict:
        """Return bounds and history as attributes of a model."""
        has_groups = len(self.groups) > 1
        return {
            "objective_": float(sum(group.solution.upper for group in self.groups)),
            "gap_": float(max(group.solution.gap for group in self.groups)),
            "n_iter_": max(len(group.solution.history) for group in self.groups),
            "history_": [
                {"output": k, **line} if has_groups else line
                for k, group in enumerate(self.groups)
                for line in group.solution.history
            ],
        }


def learn(
    rows: KernelRows, weights: np.ndarray, problems: list[SVMDual], options: GMKLOptions
) -> GMKLFit:
    """Learn the weights of the kernels and one machine for each problem."""
    store = KernelStore.of(
        rows.standard,
        len(weights),
        rows.store_kernels(),
        weights=weights,
        normalize=options.normalize,
        max_bytes=options.max_kernel_bytes,
    )
    if not store.usable.all():
        _warn_dropped(store, rows.kernels)
    problem_groups = [problems] if options.share_weights else [[problem] for problem in problems]
    return GMKLFit(
        [_learn_group(Machines(store, group), options) for group in problem_groups], store
    )


def _learn_group(machines: Machines, options: GMKLOptions) -> WeightGroup:
    solution = learn_weights(
        machines,
        float(options.l1_ratio),
        float(options.p),
        float(options.tol),
        options.max_iter,
        uniform=options.weights == "uniform",
    )
    return WeightGroup(
        machines.expand(solution.theta),
        np.array([machine.beta for machine in solution.machine]),
        np.array([machine.intercept for machine in solution.machine]),
        solution,
    )


def _warn_dropped(store: KernelStore, kernels: list) -> None:
    dropped = np.flatnonzero(~store.usable)
    if len(dropped) == store.n_kernels:
        raise ValueError(
            "all kernels have trace 0 on the training rows; nothing can be learnt from them."
        )
    names = ", ".join(kernel_name(kernels[k], k) for k in dropped[:3])
    warn_user(
        f"{len(dropped)} kernels have trace 0 or less on the training rows and were dropped: "
        f"{names}.",
        UserWarning,
    )


# ---------------------------------------------------------------- probabilities
def calibrate(
    fit: GMKLFit, problems: list[SVMDual], weights: np.ndarray, seed
) -> tuple[np.ndarray, list[float]]:
    """Return one sigmoid for each problem, fitted on held-out scores with the weights of the
    kernels fixed, and the gaps of the machines that did not converge.
    """
    sigmoids: list[tuple[float, float]] = []
    gaps: list[float] = []
    for group in fit.groups:
        kernel = fit.store.mixture(group.theta)
        for problem in problems[len(sigmoids) : len(sigmoids) + len(group.betas)]:

            def score(train, test, kernel=kernel, problem=problem):
                """Return the scores of the test rows by a machine that learns from the others."""
                train_kernel = np.ascontiguousarray(kernel[np.ix_(train, train)])
                solution = solve_svm(
                    train_kernel, problem.signs[train], problem.linear[train], problem.caps[train]
                )
                if not solution.converged:
                    gaps.append(solution.gap)
                return kernel[np.ix_(test, train)] @ solution.beta + solution.intercept

            scores = calibration_scores(problem.signs, score, seed)
            sigmoids.append(fit_sigmoid(scores, problem.signs > 0, weights)[:2])
    return np.array(sigmoids), gaps
