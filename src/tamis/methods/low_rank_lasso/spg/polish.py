"""The last digits of a sparse solution: solve exactly on the columns that it found."""

import numpy as np

LARGEST = 128  # columns; more are left as they are
ROUNDS = 6
CLOSE = 1e-9  # of two prices of the 2-norm


def polish(weights, V, c, rest: float, radius: float, eta: float, value: float):
    """A better solution with the same signs on some of the same columns, as (columns, weights,
    value), or None.

    With the signs s known the solution on the columns A is ``(V_A V_A' + ridge I) b = V_A c - tau
    s``, tau being the price of the L1 norm and ``ridge = eta rho / ||b||`` that of the 2-norm, a
    fixed point in one number. What is not below `value` is refused, so nothing can go wrong.
    """
    columns = np.flatnonzero(weights)
    if not 0 < len(columns) <= (LARGEST if eta > 0.0 else min(LARGEST, V.shape[1])):
        return None
    b = weights[columns].astype(np.float64)
    met = np.abs(b).sum() >= radius * (1.0 - 1e-6)
    rows = V[columns].astype(np.float64)
    part = _Part(rows, np.sign(b), c, rest, radius if met else None, eta)
    ridge = part.price(b)
    try:
        for _ in range(ROUNDS):
            b, after = part.step(ridge)
            wrong = b * part.signs <= 0.0
            if wrong.all():
                return None
            if wrong.any():  # their true weight is 0
                columns, rows = columns[~wrong], rows[~wrong]
                part = _Part(rows, part.signs[~wrong], c, rest, part.radius, eta)
                continue
            if abs(after - ridge) <= CLOSE * ridge:
                break
            ridge = _accelerated(ridge, after, part.step(after)[1])
    except np.linalg.LinAlgError:
        return None
    if len(b) != len(columns) or (b * part.signs <= 0.0).any():
        return None
    b *= min(1.0, radius / np.abs(b).sum())
    better = part.rho(b) + eta * float(np.linalg.norm(b))
    return (columns, b, better) if better <= value else None


class _Part:
    """The problem on some columns whose weights' signs are known."""

    def __init__(self, rows, signs, c, rest, radius, eta):
        self.rows, self.signs, self.c = rows, signs, c
        self.rest, self.radius, self.eta = rest, radius, eta
        self.gram, self.sides = rows @ rows.T, np.column_stack([rows @ c, signs])

    def rho(self, b) -> float:
        left = self.c - b @ self.rows
        return float(np.sqrt(left @ left + self.rest * self.rest))

    def price(self, b) -> float:
        """Price of the 2-norm at these weights."""
        return self.eta * self.rho(b) / float(np.linalg.norm(b))

    def step(self, ridge: float):
        """Weights at a price, and the price at these weights."""
        matrix = self.gram.copy()
        matrix.flat[:: len(matrix) + 1] += ridge
        free, back = np.linalg.solve(matrix, self.sides).T
        b = free
        if self.radius is not None:
            b = free - (self.signs @ free - self.radius) / (self.signs @ back) * back
        return b, self.price(b)


def _accelerated(first: float, second: float, third: float) -> float:
    """Aitken's guess of the limit of a sequence, or its last member where that makes no sense."""
    curvature = third - 2.0 * second + first
    guess = first - (second - first) ** 2 / curvature if curvature else third
    return guess if 0.1 * third < guess < 10.0 * third else third
