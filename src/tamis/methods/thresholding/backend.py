"""A user's own L1 classifier as the solver of a thresholded problem."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tamis.methods.thresholding.bounds import Problem, dual_start
from tamis.methods.thresholding.fits import Fit


def given_solver(estimator, matrix, problems: list[Problem], mass: float) -> list[Fit]:
    """A fit of every output by clones of the estimator; the dual variables are those of its scores."""
    matrix = _narrow(matrix)
    return [_fit_one(estimator, matrix, problem, mass) for problem in problems]


def _fit_one(estimator, matrix, problem: Problem, mass: float) -> Fit:
    known = estimator.get_params(deep=False)
    if not {"C", "alpha"} & set(known):
        raise ValueError(
            f"estimator={estimator!r} has neither a parameter C nor alpha for the strength of its "
            "penalty. Pass an L1 classifier that has one."
        )
    strength = (
        {"C": 1.0 / (problem.strength * mass)} if "C" in known else {"alpha": problem.strength}
    )
    intercept = {"fit_intercept": problem.intercept} if "fit_intercept" in known else {}
    model = clone(estimator).set_params(**strength, **intercept)
    even = np.ptp(problem.loads) == 0.0 and np.isclose(mass, len(problem.loads))
    model.fit(
        matrix,
        problem.signs.astype(int),
        **({} if even else {"sample_weight": problem.loads * mass}),
    )
    weights = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    if weights.size != matrix.shape[1]:
        raise ValueError(
            f"estimator={estimator!r} has coef_ of shape {weights.shape} for two classes and "
            f"{matrix.shape[1]} columns; a linear model has one row."
        )
    weights, bias = np.ravel(weights).astype(float), float(np.ravel(model.intercept_)[0])
    scores = matrix @ weights + bias
    return Fit(weights, bias, scores, dual_start(problem, scores), 1, True)


def _narrow(matrix):
    """Sparse data with 32-bit indices where that is enough: most solvers take no others."""
    if not sp.issparse(matrix) or max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    return sp.csr_matrix(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )
