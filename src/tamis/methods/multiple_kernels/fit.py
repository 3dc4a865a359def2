"""One fit: the weights of the kernels and the machines over their sum, from rows and kernels; and
sigmoids on scores of rows that were held out.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.splits import calibration_scores
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.choice import name_of
from tamis.methods.multiple_kernels.level.method import Weighing
from tamis.methods.multiple_kernels.machines import Entries, Machines, learn_weights
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.methods.multiple_kernels.rows import KernelRows
from tamis.solvers.calibration import fit_sigmoid
from tamis.solvers.svm_dual.dual import solve_svm


class Options(NamedTuple):
    """How weights are learnt: parameters of the models, under their names."""

    l1_ratio: float
    p: float
    weights: str
    normalize: str | None
    share_weights: bool
    tol: float
    max_iter: int
    max_kernel_bytes: float


class Group(NamedTuple):
    """Machines that share their weights of kernels: weights of all kernels, of the rows,
    intercepts, and how they were found.
    """

    theta: np.ndarray
    betas: np.ndarray
    intercepts: np.ndarray
    found: Weighing


class Learnt(NamedTuple):
    """What a fit found: groups of machines, and the kernels over the rows that they learnt from."""

    groups: list[Group]
    store: KernelStore

    @property
    def converged(self) -> bool:
        """Whether all gaps were reached."""
        return all(group.found.converged for group in self.groups)

    def attributes(self) -> dict:
        """Bounds and history, as attributes of a model."""
        numbered = len(self.groups) > 1
        return {
            "objective_": float(sum(group.found.upper for group in self.groups)),
            "gap_": float(max(group.found.gap for group in self.groups)),
            "n_iter_": max(len(group.found.history) for group in self.groups),
            "history_": [
                {"output": k, **line} if numbered else line
                for k, group in enumerate(self.groups)
                for line in group.found.history
            ],
        }


def learn(
    rows: KernelRows, weights: np.ndarray, problems: list[Entries], options: Options
) -> Learnt:
    """Weights of the kernels and machines, one a problem."""
    store = KernelStore.of(
        rows.standard,
        len(weights),
        rows.blocks(),
        weights=weights,
        normalize=options.normalize,
        max_bytes=options.max_kernel_bytes,
    )
    if not store.usable.all():
        _warn_dropped(store, rows.kernels)
    shared = [problems] if options.share_weights else [[problem] for problem in problems]
    return Learnt([_learn_group(Machines(store, group), options) for group in shared], store)


def _learn_group(machines: Machines, options: Options) -> Group:
    found = learn_weights(
        machines,
        float(options.l1_ratio),
        float(options.p),
        float(options.tol),
        options.max_iter,
        uniform=options.weights == "uniform",
    )
    return Group(
        machines.spread(found.theta),
        np.array([machine.beta for machine in found.machine]),
        np.array([machine.intercept for machine in found.machine]),
        found,
    )


def _warn_dropped(store: KernelStore, kernels: list) -> None:
    lost = np.flatnonzero(~store.usable)
    if len(lost) == store.count:
        raise ValueError(
            "all kernels have trace 0 on the training rows; nothing can be learnt from them."
        )
    names = ", ".join(name_of(kernels[k], k) for k in lost[:3])
    warn_user(
        f"{len(lost)} kernels have trace 0 or less on the training rows and were dropped: {names}.",
        UserWarning,
    )


# ---------------------------------------------------------------- probabilities
def calibrate(
    learnt: Learnt, problems: list[Entries], weights: np.ndarray, seed
) -> tuple[np.ndarray, list[float]]:
    """Sigmoids on held-out scores, one a problem, the weights of the kernels frozen; and the gaps
    of machines that did not converge.
    """
    lines: list[tuple[float, float]] = []
    gaps: list[float] = []
    for group in learnt.groups:
        kernel = learnt.store.mixture(group.theta)
        for problem in problems[len(lines) : len(lines) + len(group.betas)]:

            def score(train, test, kernel=kernel, problem=problem):
                """Scores of some rows by a machine that learns from others, of the same kernel."""
                part = np.ascontiguousarray(kernel[np.ix_(train, train)])
                found = solve_svm(
                    part, problem.signs[train], problem.linear[train], problem.caps[train]
                )
                if not found.converged:
                    gaps.append(found.gap)
                return kernel[np.ix_(test, train)] @ found.beta + found.intercept

            scores = calibration_scores(problem.signs, score, seed)
            lines.append(fit_sigmoid(scores, problem.signs > 0, weights)[:2])
    return np.array(lines), gaps
