"""Machines for more rows than a kernel matrix can hold: the weights of the kernels stay, and the
mixture becomes Nyström features.
"""

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from tamis.methods.multiple_kernels.fit import WeightGroup
from tamis.methods.multiple_kernels.machines import SVMDual
from tamis.methods.multiple_kernels.rows import KernelRows

MIN_EIGENVALUE_RATIO = 1e-10  # to the largest eigenvalue; smaller ones are rounding errors


def fit_on_all_rows(
    groups: list[WeightGroup],
    rows: KernelRows,
    matrix,
    problems: list[SVMDual],
    scales: np.ndarray,
) -> list[WeightGroup]:
    """Refit the machines on all rows; each is stored as weights of the sampled rows.

    The mixture of the sample has the eigenvectors U and eigenvalues L; the features of a row x are
    K(x, sample) U L^(-1/2). A linear machine over them, by liblinear, is the machine of the Nyström
    approximation; its intercept is a weakly penalised feature.
    """
    refitted, n_done = [], 0
    for group in groups:
        factors = group.theta * scales
        values, vectors = np.linalg.eigh(rows.mixture(rows.matrix, factors))
        is_large = values > MIN_EIGENVALUE_RATIO * values.max()
        basis = vectors[:, is_large] / np.sqrt(values[is_large])
        features = _nystroem_features(rows, matrix, factors, basis)
        group_problems = problems[n_done : n_done + len(group.betas)]
        n_done += len(group_problems)
        linear_models = [_fit_linear(problem, features) for problem in group_problems]
        betas = np.array([basis @ coef for coef, _ in linear_models])
        intercepts = np.array([intercept for _, intercept in linear_models])
        refitted.append(group._replace(betas=betas, intercepts=intercepts))
    return refitted


def _nystroem_features(rows, matrix, factors, basis) -> np.ndarray:
    """Return the features of all rows, computed in blocks."""
    step = max(1, (1 << 21) // len(basis))
    blocks = [
        rows.mixture(matrix[first : first + step], factors) @ basis
        for first in range(0, matrix.shape[0], step)
    ]
    return np.concatenate(blocks)


def _fit_linear(problem: SVMDual, features) -> tuple[np.ndarray, float]:
    """Return the coefficients and the intercept of a linear machine; the caps of the entries are
    the costs of the rows.
    """
    n_rows = len(features)
    feature_norm = float(np.sqrt(np.einsum("ij,ij->i", features, features).mean()))
    options = {
        "C": 1.0,
        "dual": True,
        "intercept_scaling": 10.0 * feature_norm,
        "random_state": 0,
        "max_iter": 10_000,
        "tol": 1e-3,
    }
    if problem.rows is not None:
        targets = problem.linear[:n_rows] + problem.epsilon
        machine = LinearSVR(epsilon=problem.epsilon, **options).fit(
            features, targets, sample_weight=problem.caps[:n_rows]
        )
    elif np.ptp(problem.signs) == 0.0:  # only one class
        return np.zeros(features.shape[1]), float(problem.signs[0])
    else:
        machine = LinearSVC(loss="hinge", **options).fit(
            features, problem.signs, sample_weight=problem.caps
        )
    return machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
