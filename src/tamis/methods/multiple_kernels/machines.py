"""Support vector machines over a mixture of kernels, one or several that share it, as one value
with a cutting plane.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.method import (
    Cut,
    Weighing,
    fixed_weights,
    level_method,
    norm_method,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.solvers.svm_dual.dual import SvmOutcome, solve_svm

FINEST = 1e-9
# Tenfold, of the machines' tolerance: more than lie between any start and the finest.
TIGHTENINGS = 10


class Entries(NamedTuple):
    """The entries of one machine, as `solve_svm` takes them."""

    signs: np.ndarray
    linear: np.ndarray
    caps: np.ndarray
    rows: np.ndarray | None = None
    epsilon: float = 0.0
    """Half the width of the tube of rows with numbers."""


def hinge_entries(signs: np.ndarray, caps: np.ndarray) -> Entries:
    """Rows of two classes."""
    return Entries(signs, np.ones(len(signs)), caps)


def tube_entries(targets: np.ndarray, caps: np.ndarray, epsilon: float) -> Entries:
    """Rows with numbers as targets, errors up to `epsilon` free: one entry for each side."""
    n = len(targets)
    signs, rows = np.r_[np.ones(n), -np.ones(n)], np.r_[np.arange(n), np.arange(n)]
    linear = signs * np.r_[targets, targets] - epsilon
    return Entries(signs, linear, np.r_[caps, caps], rows, epsilon)


class Machines:
    """Machines over the usable kernels of a store; every call starts from the last solution."""

    def __init__(self, store: KernelStore, problems: list[Entries], tol: float = 1e-3):
        self.store, self.problems, self.tol = store, problems, tol
        self.places = np.flatnonzero(store.usable)
        self.starts: list = [None] * len(problems)

    def spread(self, theta: np.ndarray) -> np.ndarray:
        """Weights of all kernels, 0 where a kernel cannot be used."""
        full = np.zeros(self.store.count)
        full[self.places] = theta
        return full

    def __call__(self, theta: np.ndarray, tol: float) -> Cut:
        """Solve all machines at some weights; their own gap is at most `tol` of their value, if
        that can be had.
        """
        kernel = self.store.mixture(self.spread(theta))
        for _ in range(TIGHTENINGS):
            found = [self._solve(kernel, k) for k in range(len(self.problems))]
            constant = sum(
                float(p.linear @ f.alpha) for p, f in zip(self.problems, found, strict=True)
            )
            value, slack = sum(f.objective for f in found), sum(max(f.gap, 0.0) for f in found)
            settled = all(f.converged for f in found)
            if slack <= tol * abs(value) or self.tol <= FINEST or not settled:
                break
            self.tol = max(0.1 * self.tol, FINEST)
        forms = self.store.forms(np.array([f.beta for f in found]))
        return Cut(constant, forms[self.places], slack, found, settled)

    def _solve(self, kernel, k: int) -> SvmOutcome:
        p = self.problems[k]
        found = solve_svm(
            kernel, p.signs, p.linear, p.caps, rows=p.rows, start=self.starts[k], tol=self.tol
        )
        self.starts[k] = found.alpha
        return found


def learn_weights(
    machines: Machines,
    l1_ratio: float,
    p: float,
    tol: float,
    max_iter: int,
    *,
    uniform: bool = False,
) -> Weighing:
    """Weights of the kernels: learnt for `l1_ratio` and `p`, or equal ones."""
    count = len(machines.places)
    if uniform:
        return fixed_weights(machines, np.full(count, 1.0 / count), tol)
    if l1_ratio == 0.0:
        return norm_method(machines, p, count, tol, max_iter)
    return level_method(machines, WeightSet(l1_ratio), count, tol, max_iter)
