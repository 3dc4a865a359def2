"""SimpleMKL as a loop over scikit-learn's SVC: reduced gradients on the simplex, for comparison."""

import time

import numpy as np
from sklearn.svm import SVC


class Loop:
    """State of the loop: a full stack of kernels, and the machine at the present weights."""

    def __init__(self, stack: np.ndarray, signs: np.ndarray, cost: float):
        self.stack, self.signs, self.cost = stack.reshape(len(stack), -1), signs, cost
        self.machines = 0

    def solve(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value of the machine at some weights, and its weights of the rows."""
        n = len(self.signs)
        kernel = (weights @ self.stack).reshape(n, n)
        machine = SVC(kernel="precomputed", C=self.cost, tol=1e-4).fit(kernel, self.signs)
        self.machines += 1
        beta = np.zeros(n)
        beta[machine.support_] = machine.dual_coef_[0]
        return float(np.abs(beta).sum() - 0.5 * beta @ kernel @ beta), beta

    def forms(self, beta: np.ndarray) -> np.ndarray:
        """Quadratic forms of all kernels: asked for once a step, not once a machine."""
        return self.stack @ np.outer(beta, beta).ravel()

    def direction(self, weights: np.ndarray, forms: np.ndarray) -> np.ndarray:
        """Descent direction that keeps the sum: the heaviest kernel gives what the others gain."""
        slopes, top = -0.5 * forms, int(weights.argmax())
        reduced = slopes - slopes[top]
        move = np.where((weights > 0) | (reduced < 0), -reduced, 0.0)
        move[top] = 0.0
        move[top] = -move.sum()
        return move

    def run(self, tol: float, seconds: float) -> tuple[float, float, int]:
        """Seconds, relative gap reached and machines solved."""
        begin, weights = time.thread_time(), np.full(len(self.stack), 1.0 / len(self.stack))
        value, beta = self.solve(weights)
        while True:
            forms = self.forms(beta)
            gap = 0.5 * (forms.max() - weights @ forms) / value
            if gap <= tol or time.thread_time() - begin > seconds:
                return time.thread_time() - begin, float(gap), self.machines
            weights, value, beta = self.step(weights, value, beta, forms)

    def step(self, weights, value, beta, forms):
        """Walk along the direction to the face of the simplex as long as that descends, then halve
        the step until it does.
        """
        move = self.direction(weights, forms)
        while True:
            falling = move < 0
            longest = float((-weights[falling] / move[falling]).min()) if falling.any() else 0.0
            if longest <= 0.0:
                break
            face = np.maximum(weights + longest * move, 0.0)
            face[face < 1e-12] = 0.0
            face /= face.sum()
            after = self.solve(face)
            if after[0] >= value:
                break
            weights, (value, beta) = face, after
            move = np.where(weights > 0, move, 0.0)
            move[weights.argmax()] -= move.sum()
        size = 0.5 * longest
        for _ in range(20):
            trial = np.maximum(weights + size * move, 0.0)
            trial /= trial.sum()
            after = self.solve(trial)
            if after[0] < value:
                return trial, *after
            size *= 0.3
        return weights, value, beta
