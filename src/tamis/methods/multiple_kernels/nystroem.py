"""Machines for more rows than a matrix of kernels can hold: the weights of the kernels stay, the
mixture becomes features (Nyström).
"""

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from tamis.methods.multiple_kernels.fit import Group
from tamis.methods.multiple_kernels.machines import Entries
from tamis.methods.multiple_kernels.rows import KernelRows

LEAST = 1e-10  # share of the largest eigenvalue below which a direction is noise


def spread_to_all(
    groups: list[Group],
    rows: KernelRows,
    matrix,
    problems: list[Entries],
    scales: np.ndarray,
) -> list[Group]:
    """Machines over all rows, each as weights of the sampled rows.

    The mixture of the sample has the eigenvectors U and values L; the features of a row x are K(x,
    sample) U L^(-1/2). A linear machine over them, by liblinear, is the machine of the Nyström
    approximation; its intercept is a feature, weakly penalised.
    """
    done, at = [], 0
    for group in groups:
        factors = group.theta * scales
        values, vectors = np.linalg.eigh(rows.mixture(rows.matrix, factors))
        kept = values > LEAST * values.max()
        basis = vectors[:, kept] / np.sqrt(values[kept])
        features = _features(rows, matrix, factors, basis)
        own = problems[at : at + len(group.betas)]
        at += len(own)
        lines = [_linear(problem, features) for problem in own]
        betas = np.array([basis @ slopes for slopes, _ in lines])
        intercepts = np.array([intercept for _, intercept in lines])
        done.append(group._replace(betas=betas, intercepts=intercepts))
    return done


def _features(rows, matrix, factors, basis) -> np.ndarray:
    """Features of all rows, a block at a time."""
    step = max(1, (1 << 21) // len(basis))
    parts = [
        rows.mixture(matrix[first : first + step], factors) @ basis
        for first in range(0, matrix.shape[0], step)
    ]
    return np.concatenate(parts)


def _linear(problem: Entries, features) -> tuple[np.ndarray, float]:
    """Slopes and intercept of a linear machine with the caps of a problem's entries as costs."""
    count = len(features)
    unit = float(np.sqrt(np.einsum("ij,ij->i", features, features).mean()))
    common = {
        "C": 1.0,
        "dual": True,
        "intercept_scaling": 10.0 * unit,
        "random_state": 0,
        "max_iter": 10_000,
        "tol": 1e-3,
    }
    if problem.rows is not None:
        numbers = problem.linear[:count] + problem.epsilon
        machine = LinearSVR(epsilon=problem.epsilon, **common).fit(
            features, numbers, sample_weight=problem.caps[:count]
        )
    elif np.ptp(problem.signs) == 0.0:  # one class alone: nothing to tell apart
        return np.zeros(features.shape[1]), float(problem.signs[0])
    else:
        machine = LinearSVC(loss="hinge", **common).fit(
            features, problem.signs, sample_weight=problem.caps
        )
    return machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
