"""Polish a sparse solution: solve the problem exactly on its support."""

import numpy as np

MAX_COLUMNS = 128  # solutions with more nonzero weights are not polished
MAX_ROUNDS = 6  # iterations of the fixed point
RIDGE_TOL = 1e-9  # relative change of the ridge at which the fixed point ends


def polish(weights, V, c, fixed_residual: float, radius: float, eta: float, value: float):
    """Return a better solution with the same signs on a subset of the columns, as (columns,
    weights, objective), or None.

    With known signs s the solution on the columns A solves ``(V_A V_A' + ridge I) b = V_A c - tau
    s``, where tau is the multiplier of the L1 norm and ``ridge = eta rho / ||b||`` is a fixed point
    in one number. A solution with an objective above `value` is rejected.
    """
    columns = np.flatnonzero(weights)
    if not 0 < len(columns) <= (MAX_COLUMNS if eta > 0.0 else min(MAX_COLUMNS, V.shape[1])):
        return None
    b = weights[columns].astype(np.float64)
    is_active = np.abs(b).sum() >= radius * (1.0 - 1e-6)
    rows = V[columns].astype(np.float64)
    problem = SignedProblem(rows, np.sign(b), c, fixed_residual, radius if is_active else None, eta)
    ridge = problem.ridge_at(b)
    try:
        for _ in range(MAX_ROUNDS):
            b, new_ridge = problem.step(ridge)
            has_wrong_sign = b * problem.signs <= 0.0
            if has_wrong_sign.all():
                return None
            if has_wrong_sign.any():  # the weights of these columns are 0 in the solution
                columns, rows = columns[~has_wrong_sign], rows[~has_wrong_sign]
                problem = SignedProblem(
                    rows, problem.signs[~has_wrong_sign], c, fixed_residual, problem.radius, eta
                )
                continue
            if abs(new_ridge - ridge) <= RIDGE_TOL * ridge:
                break
            ridge = _aitken_limit(ridge, new_ridge, problem.step(new_ridge)[1])
    except np.linalg.LinAlgError:
        return None
    if len(b) != len(columns) or (b * problem.signs <= 0.0).any():
        return None
    b *= min(1.0, radius / np.abs(b).sum())
    objective = problem.rho(b) + eta * float(np.linalg.norm(b))
    return (columns, b, objective) if objective <= value else None


class SignedProblem:
    """The problem on some columns with weights of known signs."""

    def __init__(self, rows, signs, c, fixed_residual, radius, eta):
        self.rows, self.signs, self.c = rows, signs, c
        self.fixed_residual, self.radius, self.eta = fixed_residual, radius, eta
        self.gram, self.right_hand_sides = rows @ rows.T, np.column_stack([rows @ c, signs])

    def rho(self, b) -> float:
        """Return the norm of the residual at these weights."""
        residual = self.c - b @ self.rows
        return float(np.sqrt(residual @ residual + self.fixed_residual * self.fixed_residual))

    def ridge_at(self, b) -> float:
        """Return ``eta rho / ||b||`` at these weights."""
        return self.eta * self.rho(b) / float(np.linalg.norm(b))

    def step(self, ridge: float):
        """Return the weights for a value of the ridge, and the ridge at these weights."""
        matrix = self.gram.copy()
        matrix.flat[:: len(matrix) + 1] += ridge
        unconstrained, sign_solution = np.linalg.solve(matrix, self.right_hand_sides).T
        b = unconstrained
        if self.radius is not None:
            b = (
                unconstrained
                - (self.signs @ unconstrained - self.radius)
                / (self.signs @ sign_solution)
                * sign_solution
            )
        return b, self.ridge_at(b)


def _aitken_limit(first: float, second: float, third: float) -> float:
    """Return Aitken's estimate of the limit of a sequence, or its last member if the estimate is
    not within a factor of 10 of that.
    """
    curvature = third - 2.0 * second + first
    limit = first - (second - first) ** 2 / curvature if curvature else third
    return limit if 0.1 * third < limit < 10.0 * third else third
