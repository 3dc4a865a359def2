"""Majorise-minimise for support vector machines with unlabelled rows: every step solves one convex
problem of hinge and tube rows.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.linear import solve_linear_svm
from tamis.methods.triclass_svm.loop import DualEntries
from tamis.methods.triclass_svm.problems import BinaryProblem
from tamis.numerics.csr import EMPTY, Csr
from tamis.solvers.svm_dual.dual import solve_svm

MIN_RELATIVE_DECREASE = 1e-6  # of the objective in a step; below it the steps end
ANNEALING_FACTORS = (0.03, 0.1, 0.3, 1.0)  # of the costs of unlabelled rows, one for each stage
TOLERANCE_FACTORS = (1.0, 0.1, 0.01)  # tried until a step does not raise the objective


class MachineSolution(NamedTuple):
    """A machine: weights of the rows, intercept, scores of the rows, squared norm, and how it was
    solved.
    """

    beta: np.ndarray
    intercept: float
    scores: np.ndarray
    sqnorm: float
    gap: float
    mean_beta: float = 0.0
    """Weight of the mean of unlabelled rows, where its score is fixed."""
    converged: bool = True
    labels: np.ndarray = EMPTY
    objective: float = np.nan
    n_iter: int = 0
    history: tuple = ()


class KernelMatrixRows:
    """Rows represented by their kernel matrix. `extended` has the mean of unlabelled rows as an
    additional row.
    """

    def __init__(self, kernel, extended=None):
        self.kernel, self.extended = kernel, extended

    def with_mean(self, mean_weights) -> "KernelMatrixRows":
        """Return the rows with their weighted mean, so that its score can be fixed."""
        column = self.kernel @ mean_weights
        return KernelMatrixRows(
            self.kernel,
            np.block([[self.kernel, column[:, None]], [column[None], mean_weights @ column]]),
        )

    def solve(
        self,
        entries: DualEntries,
        previous: MachineSolution | None,
        mean_score: float | None,
        tol: float,
        exact: bool,
    ) -> MachineSolution:
        """Solve one convex problem. A fixed mean score is two entries without a cap."""
        signs, linear, caps, rows = entries
        n, kernel, start = len(self.kernel), self.kernel, None
        if mean_score is not None:
            signs = np.append(signs, (1.0, -1.0))
            linear = np.append(linear, (mean_score, -mean_score))
            caps, rows = np.append(caps, (np.inf, np.inf)), np.append(rows, (n, n))
            kernel = self.extended
        if previous is not None:
            start = signs * np.append(previous.beta, previous.mean_beta)[rows]
        solution = solve_svm(
            kernel, signs, linear, caps, rows=rows, start=start, tol=tol, exact=exact
        )
        return MachineSolution(
            solution.beta[:n],
            solution.intercept,
            (solution.scores + solution.intercept)[:n],
            float(solution.beta @ solution.scores),
            solution.gap,
            0.0 if mean_score is None else solution.beta[n],
            solution.converged,
        )


class SparseRows:
    """Sparse rows of a linear kernel, without a kernel matrix. `centre` is the mean of unlabelled
    rows.
    """

    def __init__(self, matrix: Csr, centre=None):
        self.matrix, self.centre = matrix, centre

    def with_mean(self, mean_weights) -> "SparseRows":
        """Return the rows with their weighted mean, so that its score can be fixed."""
        return SparseRows(self.matrix, mean_weights @ self.matrix.to_scipy())

    def solve(
        self,
        entries: DualEntries,
        previous: MachineSolution | None,
        mean_score: float | None,
        tol: float,
        exact: bool,
    ) -> MachineSolution:
        """Solve one convex problem."""
        start = None if previous is None else entries.signs * previous.beta[entries.rows]
        mean = {} if mean_score is None else {"centre": self.centre, "level": mean_score}
        solution = solve_linear_svm(self.matrix, entries, start=start, tol=tol, **mean)
        beta = np.bincount(entries.rows, entries.signs * solution.alpha, self.matrix.n_rows)
        return MachineSolution(
            beta,
            solution.intercept,
            self.matrix.to_scipy() @ solution.coef + solution.intercept,
            float(solution.coef @ solution.coef),
            solution.gap,
            -beta.sum() if mean else 0.0,
            solution.converged,
        )


# --------------------------------------------------------------------------- one convex problem
def dual_entries(problem: BinaryProblem, labels) -> DualEntries:
    """Return the entries of a convex problem: a hinge row has one, a tube row two."""
    has_cost = problem.costs > 0.0
    hinge = np.flatnonzero(has_cost & (np.abs(labels) == 1.0))
    tube = np.flatnonzero(has_cost & (labels == 0.0))
    rows = np.concatenate((hinge, tube, tube))
    signs = np.concatenate((labels[hinge], np.ones(len(tube)), -np.ones(len(tube))))
    linear = np.concatenate((np.ones(len(hinge)), np.full(2 * len(tube), -problem.epsilon)))
    return DualEntries(signs, linear, problem.costs[rows], rows)


def solve_convex(
    rows,
    problem: BinaryProblem,
    labels,
    previous: MachineSolution | None,
    tol: float,
    exact: bool = False,
) -> MachineSolution:
    """Solve the convex problem of these labels, starting from the previous machine."""
    entries = dual_entries(problem, labels)
    solution = rows.solve(entries, previous, problem.mean_score, tol, exact)
    objective = problem.objective(solution.scores, solution.sqnorm)
    return solution._replace(labels=labels, objective=objective)


# --------------------------------------------------------------------------- majorise-minimise
def majorise_minimise(
    rows, problem: BinaryProblem, init, tol: float, max_iter: int
) -> MachineSolution:
    """Minimise the objective of a problem from a start: "svm", "usvm", "anneal", or scores of all
    rows.
    """
    if problem.mean_score is not None:
        rows = rows.with_mean(problem.mean_weights)
    if problem.mode in ("svm", "usvm") or not problem.is_unlabelled.any():
        machine = solve_convex(rows, problem, problem.majoriser_labels(problem.labels), None, tol)
        machine = _solve_exactly(rows, problem, machine._replace(n_iter=1), [], tol)
    elif isinstance(init, str):
        labels = np.where(problem.is_unlabelled, 0.0 if init == "usvm" else np.nan, problem.labels)
        machine = solve_convex(rows, problem, labels, None, tol)
        for factor in ANNEALING_FACTORS if init == "anneal" else ANNEALING_FACTORS[-1:]:
            stage = problem.scale_unlabelled_costs(factor)
            machine = _iterate(rows, stage, machine, tol, max_iter)
    else:
        labels = problem.majoriser_labels(np.asarray(init, dtype=np.float64))
        machine = solve_convex(rows, problem, labels, None, tol)
        machine = _iterate(rows, problem, machine, tol, max_iter)
    if problem.mean_score is None:
        return machine
    return machine._replace(beta=machine.beta + machine.mean_beta * problem.mean_weights)


def _iterate(
    rows, problem: BinaryProblem, machine: MachineSolution, tol: float, max_iter: int
) -> MachineSolution:
    """Repeat majorise-minimise steps until the labels or the objective no longer change; the
    objective never rises.
    """
    machine = machine._replace(objective=problem.objective(machine.scores, machine.sqnorm))
    n_iter, finished = 1, False
    history = [_record(problem, machine, n_iter)]
    # The scores of a machine that did not converge give unreliable labels.
    while not finished and machine.converged and n_iter < max_iter:
        labels = problem.majoriser_labels(machine.scores)
        if np.array_equal(labels, machine.labels, equal_nan=True):
            finished = True
            break
        lower = _descent_step(rows, problem, labels, machine, tol)
        n_iter += 1
        min_decrease = MIN_RELATIVE_DECREASE * max(1.0, abs(machine.objective))
        finished = lower is None or machine.objective - lower.objective <= min_decrease
        if lower is not None:
            machine = lower
            history.append(_record(problem, machine, n_iter))
    machine = machine._replace(n_iter=n_iter, converged=finished and machine.converged)
    return _solve_exactly(rows, problem, machine, history, tol)


def _solve_exactly(
    rows, problem: BinaryProblem, machine: MachineSolution, history: list, tol: float
) -> MachineSolution:
    """Solve the last convex problem again to full precision, where this lowers the objective, and
    store the history.
    """
    exact = machine
    if machine.converged:
        exact = solve_convex(rows, problem, machine.labels, machine, tol, exact=True)
    if exact.objective <= machine.objective:
        machine = exact._replace(n_iter=machine.n_iter, converged=machine.converged)
    return machine._replace(history=(*history[:-1], _record(problem, machine, machine.n_iter)))


def _descent_step(
    rows, problem: BinaryProblem, labels, machine: MachineSolution, tol: float
) -> MachineSolution | None:
    """Return a machine of these labels whose objective is not higher, solved to smaller tolerances
    where necessary, or None.
    """
    for factor in TOLERANCE_FACTORS:
        candidate = solve_convex(rows, problem, labels, machine, factor * tol)
        if candidate.objective <= machine.objective:
            return candidate
        if not candidate.converged:
            break
    return None


def _record(problem: BinaryProblem, machine: MachineSolution, n_iter: int) -> dict:
    """Return the record of a step for the history. `relevant` counts the unlabelled rows that the
    next step treats as rows of a class.
    """
    labels = problem.majoriser_labels(machine.scores)
    relevant = np.abs(labels[problem.is_unlabelled]) == 1.0
    return {
        "iteration": n_iter,
        "objective": machine.objective,
        "gap": machine.gap,
        "relevant": int(np.count_nonzero(relevant)),
    }
