"""Machines for more rows than a matrix of kernels can hold: the weights of the kernels stay, the mixture becomes features (Nyström)."""

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

LEAST = 1e-10  # share of the largest eigenvalue below which a direction is noise


def spread_to_all(model, fits, rows, matrix, problems, scales):
    """Machines over all rows, each as weights of the sampled rows.

    The mixture of the sample has the eigenvectors U and values L; the features of a row x are K(x, sample) U L^(-1/2). A linear machine over
    them, by liblinear, is the machine of the Nyström approximation; its intercept is a feature, weakly penalised.
    """
    done, at = [], 0
    for fit in fits:
        factors = fit.theta * scales
        values, vectors = np.linalg.eigh(rows.mixture(rows.matrix, factors))
        kept = values > LEAST * values.max()
        basis = vectors[:, kept] / np.sqrt(values[kept])
        features = _features(rows, matrix, factors, basis)
        own = problems[at : at + len(fit.betas)]
        at += len(own)
        machines = [_linear(problem, features, model) for problem in own]
        betas = np.array([basis @ machine.coef_.ravel() for machine in machines])
        done.append(fit._replace(betas=betas, intercepts=np.array([float(np.ravel(machine.intercept_)[0]) for machine in machines])))
    return done


def _features(rows, matrix, factors, basis) -> np.ndarray:
    """Features of all rows, a block at a time."""
    step = max(1, (1 << 21) // len(basis))
    parts = [rows.mixture(matrix[first : first + step], factors) @ basis for first in range(0, matrix.shape[0], step)]
    return np.concatenate(parts)


def _linear(problem, features, model):
    """A linear machine with the caps of a problem's entries as costs."""
    unit = float(np.sqrt(np.einsum("ij,ij->i", features, features).mean()))
    common = {"C": 1.0, "dual": True, "intercept_scaling": 10.0 * unit, "random_state": 0, "max_iter": 10_000, "tol": 1e-3}
    if problem.rows is None:
        return LinearSVC(loss="hinge", **common).fit(features, problem.signs, sample_weight=problem.caps)
    count = len(features)
    targets = problem.linear[:count] + model.epsilon
    return LinearSVR(epsilon=model.epsilon, **common).fit(features, targets, sample_weight=problem.caps[:count])
