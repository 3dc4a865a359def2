"""Support vector machines over a mixture of kernels: one or several that share it, with the cutting
plane of their total value.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.method import (
    CuttingPlane,
    MKLSolution,
    fixed_weights,
    level_method,
    norm_method,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.solvers.svm_dual.dual import SVMSolution, solve_svm

MIN_SVM_TOLERANCE = 1e-9
# Each divides the tolerance of the machines by ten; more than lead from any start to the minimum.
MAX_TIGHTENINGS = 10


class SVMDual(NamedTuple):
    """The dual problem of one machine: arguments of `solve_svm`, one entry for each row, or two in
    regression.
    """

    signs: np.ndarray
    linear: np.ndarray
    caps: np.ndarray
    rows: np.ndarray | None = None
    epsilon: float = 0.0
    """Half the width of the tube of regression."""


def hinge_entries(signs: np.ndarray, caps: np.ndarray) -> SVMDual:
    """Return the dual problem of two classes with signs +1 and -1; `caps` are the row costs."""
    return SVMDual(signs, np.ones(len(signs)), caps)


def tube_entries(targets: np.ndarray, caps: np.ndarray, epsilon: float) -> SVMDual:
    """Return the dual problem of regression with errors up to `epsilon` free: one entry for each
    side of the tube.
    """
    n = len(targets)
    signs, rows = np.r_[np.ones(n), -np.ones(n)], np.r_[np.arange(n), np.arange(n)]
    linear = signs * np.r_[targets, targets] - epsilon
    return SVMDual(signs, linear, np.r_[caps, caps], rows, epsilon)


class Machines:
    """Machines over the usable kernels of a store; every call starts from the last solution."""

    def __init__(self, store: KernelStore, problems: list[SVMDual], tol: float = 1e-3):
        self.store, self.problems, self.tol = store, problems, tol
        self.usable_kernels = np.flatnonzero(store.usable)
        self.last_alphas: list = [None] * len(problems)

    def expand(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights of all kernels, 0 for those that are not usable."""
        full = np.zeros(self.store.n_kernels)
        full[self.usable_kernels] = theta
        return full

    def __call__(self, theta: np.ndarray, tol: float) -> CuttingPlane:
        """Solve all machines at these weights, to a relative duality gap of `tol` where they
        reach it, and return their cutting plane.
        """
        kernel = self.store.mixture(self.expand(theta))
        for _ in range(MAX_TIGHTENINGS):
            solutions = [self._solve(kernel, k) for k in range(len(self.problems))]
            constant = sum(
                float(p.linear @ s.alpha) for p, s in zip(self.problems, solutions, strict=True)
            )
            value = sum(s.objective for s in solutions)
            svm_gap = sum(max(s.gap, 0.0) for s in solutions)
            converged = all(s.converged for s in solutions)
            if svm_gap <= tol * abs(value) or self.tol <= MIN_SVM_TOLERANCE or not converged:
                break
            self.tol = max(0.1 * self.tol, MIN_SVM_TOLERANCE)
        forms = self.store.forms(np.array([s.beta for s in solutions]))
        return CuttingPlane(constant, forms[self.usable_kernels], svm_gap, solutions, converged)

    def _solve(self, kernel, k: int) -> SVMSolution:
        p = self.problems[k]
        solutions = solve_svm(
            kernel, p.signs, p.linear, p.caps, rows=p.rows, start=self.last_alphas[k], tol=self.tol
        )
        self.last_alphas[k] = solutions.alpha
        return solutions


def learn_weights(
    machines: Machines,
    l1_ratio: float,
    p: float,
    tol: float,
    max_iter: int,
    *,
    uniform: bool = False,
) -> MKLSolution:
    """Learn the weights of the kernels for `l1_ratio` and `p`, or set equal ones."""
    n_kernels = len(machines.usable_kernels)
    if uniform:
        return fixed_weights(machines, np.full(n_kernels, 1.0 / n_kernels), tol)
    if l1_ratio == 0.0:
        return norm_method(machines, p, n_kernels, tol, max_iter)
    return level_method(machines, WeightSet(l1_ratio), n_kernels, tol, max_iter)
