"""Majorise-minimise for support vector machines with unlabelled rows: every step is one convex
problem of hinge and tube rows.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.linear import solve_linear_svm
from tamis.methods.triclass_svm.loop import Entries
from tamis.methods.triclass_svm.tasks import Task
from tamis.numerics.csr import NOTHING, Csr
from tamis.solvers.svm_dual.dual import solve_svm

SMALL = 1e-6  # least share of the objective that a step must win
STAGES = (0.03, 0.1, 0.3, 1.0)  # shares of the price of unlabelled rows, annealed
TIGHTER = (1.0, 0.1, 0.01)


class Solved(NamedTuple):
    """A machine: weights of the rows, scores of the rows, and how it was found."""

    beta: np.ndarray
    intercept: float
    scores: np.ndarray
    sqnorm: float
    gap: float
    held: float = 0.0
    """Weight of the mean of unlabelled rows, where it is held."""
    converged: bool = True
    labels: np.ndarray = NOTHING
    objective: float = np.nan
    n_iter: int = 0
    history: tuple = ()


class KernelRows:
    """Rows known by their kernel matrix."""

    def __init__(self, kernel, wider=None):
        self.kernel, self.wider = kernel, wider

    def held(self, shares) -> "KernelRows":
        """The same rows and their weighted mean as a last row, whose score can be held."""
        column = self.kernel @ shares
        return KernelRows(
            self.kernel, np.block([[self.kernel, column[:, None]], [column[None], shares @ column]])
        )

    def solve(
        self, entries: Entries, before: Solved | None, mean: float | None, tol: float, exact: bool
    ) -> Solved:
        """One convex problem. A held mean is two entries without a cap."""
        signs, linear, caps, rows = entries
        n, kernel, start = len(self.kernel), self.kernel, None
        if mean is not None:
            signs, linear = np.append(signs, (1.0, -1.0)), np.append(linear, (mean, -mean))
            caps, rows = np.append(caps, (np.inf, np.inf)), np.append(rows, (n, n))
            kernel = self.wider
        if before is not None:
            start = signs * np.append(before.beta, before.held)[rows]
        done = solve_svm(kernel, signs, linear, caps, rows=rows, start=start, tol=tol, exact=exact)
        return Solved(
            done.beta[:n],
            done.intercept,
            (done.scores + done.intercept)[:n],
            float(done.beta @ done.scores),
            done.gap,
            0.0 if mean is None else done.beta[n],
            done.converged,
        )


class SparseRows:
    """Rows of a linear kernel as they are."""

    def __init__(self, matrix: Csr, centre=None):
        self.matrix, self.centre = matrix, centre

    def held(self, shares) -> "SparseRows":
        """The same rows and their weighted mean, whose score can be held."""
        return SparseRows(self.matrix, shares @ self.matrix.scipy())

    def solve(
        self, entries: Entries, before: Solved | None, mean: float | None, tol: float, exact: bool
    ) -> Solved:
        """One convex problem."""
        start = None if before is None else entries.signs * before.beta[entries.rows]
        held = {} if mean is None else {"centre": self.centre, "level": mean}
        done = solve_linear_svm(self.matrix, entries, start=start, tol=tol, **held)
        beta = np.bincount(entries.rows, entries.signs * done.alpha, self.matrix.n_rows)
        return Solved(
            beta,
            done.intercept,
            self.matrix.scipy() @ done.coef + done.intercept,
            float(done.coef @ done.coef),
            done.gap,
            -beta.sum() if held else 0.0,
            done.converged,
        )


# --------------------------------------------------------------------------- one convex problem
def entries_of(task: Task, labels) -> Entries:
    """The entries of a convex problem: a hinge row has one, a tube row two."""
    taking = task.prices > 0.0
    hinge = np.flatnonzero(taking & (np.abs(labels) == 1.0))
    tube = np.flatnonzero(taking & (labels == 0.0))
    rows = np.concatenate((hinge, tube, tube))
    signs = np.concatenate((labels[hinge], np.ones(len(tube)), -np.ones(len(tube))))
    linear = np.concatenate((np.ones(len(hinge)), np.full(2 * len(tube), -task.epsilon)))
    return Entries(signs, linear, task.prices[rows], rows)


def minimise(
    rows, task: Task, labels, before: Solved | None, tol: float, exact: bool = False
) -> Solved:
    """Solve the convex problem of these labels, from where the last one ended."""
    done = rows.solve(entries_of(task, labels), before, task.mean, tol, exact)
    return done._replace(labels=labels, objective=task.value(done.scores, done.sqnorm))


# --------------------------------------------------------------------------- many
def descend(rows, task: Task, init, tol: float, max_iter: int) -> Solved:
    """Minimise the objective of a task from a start: "svm", "usvm", "anneal", or scores of all
    rows.
    """
    if task.mean is not None:
        rows = rows.held(task.shares)
    if task.mode in ("svm", "usvm") or not task.unlabelled.any():
        done = minimise(rows, task, task.filled(task.labels), None, tol)
        done = _finished(rows, task, done._replace(n_iter=1), [], tol)
    elif isinstance(init, str):
        first = np.where(task.unlabelled, 0.0 if init == "usvm" else np.nan, task.labels)
        done = minimise(rows, task, first, None, tol)
        for stage in STAGES if init == "anneal" else STAGES[-1:]:
            done = _steps(rows, task.cheaper(stage), done, tol, max_iter)
    else:
        first = task.filled(np.asarray(init, dtype=np.float64))
        done = _steps(rows, task, minimise(rows, task, first, None, tol), tol, max_iter)
    return done if task.mean is None else done._replace(beta=done.beta + done.held * task.shares)


def _steps(rows, task: Task, done: Solved, tol: float, max_iter: int) -> Solved:
    """Majorise at the scores and minimise, until the labels stay, or the objective does; it never
    rises.
    """
    done, made, ended = done._replace(objective=task.value(done.scores, done.sqnorm)), 1, False
    history = [_record(task, done, made)]
    # A machine that did not converge tells no labels to trust.
    while not ended and done.converged and made < max_iter:
        wanted = task.filled(done.scores)
        if np.array_equal(wanted, done.labels, equal_nan=True):
            ended = True
            break
        better = _step(rows, task, wanted, done, tol)
        made += 1
        least = SMALL * max(1.0, abs(done.objective))
        ended = better is None or done.objective - better.objective <= least
        if better is not None:
            done = better
            history.append(_record(task, done, made))
    return _finished(
        rows, task, done._replace(n_iter=made, converged=ended and done.converged), history, tol
    )


def _finished(rows, task: Task, done: Solved, history: list, tol: float) -> Solved:
    """The last machine, solved once more to the last digits where that can be had; the history ends
    with it.
    """
    last = minimise(rows, task, done.labels, done, tol, exact=True) if done.converged else done
    if last.objective <= done.objective:
        done = last._replace(n_iter=done.n_iter, converged=done.converged)
    return done._replace(history=(*history[:-1], _record(task, done, done.n_iter)))


def _step(rows, task: Task, labels, done: Solved, tol: float) -> Solved | None:
    """The next machine; solved more tightly where a loose solution would let the objective rise,
    None where none is lower.
    """
    for share in TIGHTER:
        better = minimise(rows, task, labels, done, share * tol)
        if better.objective <= done.objective:
            return better
        if not better.converged:
            break
    return None


def _record(task: Task, done: Solved, made: int) -> dict:
    """What a step did, for the history; `relevant` unlabelled rows are taken for rows of a class by
    the next one.
    """
    relevant = np.abs(task.filled(done.scores)[task.unlabelled]) == 1.0
    return {
        "iteration": made,
        "objective": done.objective,
        "gap": done.gap,
        "relevant": int(np.count_nonzero(relevant)),
    }
