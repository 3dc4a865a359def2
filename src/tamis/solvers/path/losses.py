"""Bound losses: the weighted loss of all rows as a function of their scores, with gradient,
curvature, dual value and best intercepts. `RowLosses` binds any row loss, `Softmax` is multinomial.
"""

import numpy as np
from sklearn.utils.extmath import softmax

from tamis.solvers.path.loop import (
    sum_conjugates,
    sum_values,
    write_curves,
    write_inverse_links,
    write_slopes,
)

LEAST = 1e-15  # of a step of the intercept, in scores: below it nothing changes
SHORT = 1e-6  # of such a step, where Newton's steps are sure to converge
HALVINGS = 200  # of such a step: from the largest number that the border lets in to the least


def _halved(smooth, design, scores, step, least: float) -> np.ndarray:
    """A step of the intercepts, halved until it does not raise the loss, or is below `least`."""
    before = smooth.value(scores)
    for _ in range(HALVINGS):
        after = smooth.value(scores + design.level(step))
        if not (after > before + 1e-15 * abs(before) and np.abs(step).max() > least):
            break
        step = 0.5 * step
    return step


def inverse_links(loss, scores: np.ndarray) -> np.ndarray:
    """The inverse link of a loss at all scores."""
    means = np.empty_like(scores)
    write_inverse_links(loss, np.ascontiguousarray(scores), means)
    return means


class NoColumns:
    """A table without columns: scores are one constant an output."""

    def level(self, bias: np.ndarray) -> np.ndarray:
        """What intercepts add to the scores."""
        return bias[None, :]

    def total(self, residuals: np.ndarray) -> np.ndarray:
        """Sums over the rows of each output."""
        return residuals.sum(axis=0)


class RowLosses:
    """A row loss with targets, row weights and an offset: a function of the scores of all rows, to
    which it adds the offset.
    """

    def __init__(self, loss, targets: np.ndarray, weights: np.ndarray, offset=None):
        self.loss, self.weights, self.lipschitz = loss, weights, float(loss.hessian_bound())
        self.targets = np.ascontiguousarray(targets, dtype=float)
        self.offset = offset  # of each row; None is 0
        # in which second derivatives are measured, where they have no bound
        self.scale = self.lipschitz if np.isfinite(self.lipschitz) else 1.0

    def rows(self, rows: np.ndarray, weights: np.ndarray) -> "RowLosses":
        """The losses of some rows, under weights of their own."""
        offset = None if self.offset is None else self.offset[rows]
        return RowLosses(self.loss, self.targets[rows], weights, offset)

    @property
    def quadratic(self) -> bool:
        """Whether one quadratic model is the loss itself."""
        return hasattr(self.loss, "is_quadratic")

    def _at(self, scores) -> np.ndarray:
        """Scores with the offset."""
        return np.ascontiguousarray(
            scores if self.offset is None else scores + self.offset[:, None]
        )

    def curvature(self, scores, first: int, second: int) -> np.ndarray | None:
        """Weighted second derivatives of the rows by two outputs; None where there are none.

        Rows without curvature get a little of the mean one, so that every direction has some.
        """
        if first != second:
            return None
        if self.quadratic:
            return self.weights * self.lipschitz
        curves = self.curves(scores)[:, first]
        mean = float(self.weights @ curves) / self.weights.sum()
        return self.weights * np.maximum(curves, 1e-3 * (mean if mean > 0.0 else self.scale))

    def value(self, scores) -> float:
        """Weighted loss."""
        return sum_values(self.loss, self._at(scores), self.targets, self.weights)

    def gradient(self, scores) -> np.ndarray:
        """Derivatives of the rows in their scores, without their weights."""
        slopes = np.empty_like(self.targets)
        write_slopes(self.loss, self._at(scores), self.targets, slopes)
        return slopes

    def curves(self, scores) -> np.ndarray:
        """Second derivatives of the rows, without their weights."""
        curves = np.empty_like(self.targets)
        write_curves(self.loss, self._at(scores), self.targets, curves)
        return curves

    def dual(self, slopes) -> float:
        """Dual value of feasible derivatives of the rows."""
        slopes = np.ascontiguousarray(slopes)
        conjugates = sum_conjugates(self.loss, slopes, self.targets, self.weights)
        if self.offset is not None:
            conjugates -= float((self.weights * self.offset) @ slopes.sum(axis=1))
        return -conjugates

    def best_loss(self) -> float:
        """The least loss that any scores have."""
        zeros = np.zeros_like(self.targets)
        return -sum_conjugates(self.loss, zeros, self.targets, self.weights)

    def null_loss(self, design=None, fit_intercept: bool = True) -> float:
        """Loss of the best intercepts alone; without any, of scores 0."""
        scores = np.zeros_like(self.targets)
        if fit_intercept:
            design = NoColumns() if design is None else design
            bias = np.zeros(len(design.total(scores)))
            scores = self.center(design, scores, bias)[1]
        return self.value(scores)

    def center(self, design, scores, bias) -> tuple[np.ndarray, np.ndarray]:
        """Best intercepts for scores that hold the present ones, and the new scores: Newton's
        steps, halved where they fail.
        """
        # Small targets have small intercepts.
        least = LEAST * min(1.0, float(np.abs(self.targets).max(initial=0.0)))
        # A loss whose least value is not 0 may be near 0 elsewhere: how it changes in a short step
        # is rounding, and Newton's steps are left alone.
        shortest = least if np.isfinite(self.lipschitz) else SHORT
        for _ in range(50):
            residuals = self.weights[:, None] * self.gradient(scores)
            gradient = design.total(residuals)
            if np.abs(gradient).max() <= 1e-13 * np.abs(residuals).sum():
                break
            curve = design.total(self.weights[:, None] * self.curves(scores))
            # Where all rows lie on straight parts there is no curvature.
            step = -gradient / np.where(curve > 1e-12 * self.scale, curve, 1e-3 * self.scale)
            step = _halved(self, design, scores, step, shortest)
            if np.abs(step).max() <= least:
                break
            bias, scores = bias + step, scores + design.level(step)
        return bias, scores


class Softmax:
    """Multinomial logistic loss, log sum_k exp(f_k) - f_y, of class numbers."""

    lipschitz, scale, quadratic = 0.5, 0.5, False

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray):
        self.weights, self.mine = weights, np.eye(n_classes)[classes]
        self.picked = classes.astype(np.int64)

    def rows(self, rows: np.ndarray, weights: np.ndarray) -> "Softmax":
        """The losses of some rows, under weights of their own."""
        return Softmax(self.picked[rows], self.mine.shape[1], weights)

    def value(self, scores) -> float:
        """Weighted loss."""
        top = scores.max(axis=1)
        normal = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        return float(self.weights @ (normal - scores[np.arange(len(scores)), self.picked]))

    def gradient(self, scores) -> np.ndarray:
        """Probabilities less the indicator of the class."""
        return softmax(scores) - self.mine

    def curvature(self, scores, first: int, second: int) -> np.ndarray:
        """Weighted second derivatives of the rows by two classes."""
        share = softmax(scores)
        return self.weights * share[:, first] * ((first == second) - share[:, second])

    def dual(self, slopes) -> float:
        """Dual value: the weighted entropy of the probabilities that the slopes stand for."""
        share = np.maximum(slopes + self.mine, 0.0)
        logs = np.log(np.where(share > 0.0, share, 1.0))
        return float(-self.weights @ (share * logs).sum(axis=1))

    def best_loss(self) -> float:
        """The least loss that any scores have."""
        return 0.0

    def null_loss(self, design, fit_intercept: bool = True) -> float:
        """Loss of the best intercepts alone; without any, of scores 0."""
        scores = np.zeros_like(self.mine)
        if fit_intercept:
            bias = np.zeros(len(design.total(scores)))
            scores = self.center(design, scores, bias)[1]
        return self.value(scores)

    def center(self, design, scores, bias) -> tuple[np.ndarray, np.ndarray]:
        """Best intercepts for scores that hold the present ones, and the new scores."""
        for _ in range(100):
            share = softmax(scores)
            gradient = design.total(self.weights[:, None] * (share - self.mine))
            gradient = gradient.reshape(-1, share.shape[1])
            if np.abs(gradient).max() <= 1e-14:
                break
            step = np.clip(self._newton(design, share, gradient), -5.0, 5.0).ravel()
            step = _halved(self, design, scores, step, LEAST)
            bias, scores = bias + step, scores + design.level(step)
            if np.abs(step).max() <= LEAST:
                break
        return bias, scores

    def _newton(self, design, share, gradient) -> np.ndarray:
        """Newton's steps of the intercepts (tasks, classes); scaled by the classes' shares, so that
        rare classes are no trouble.

        One constant for all classes of a task moves nothing; its direction is filled in.
        """
        tasks, classes = gradient.shape
        mass = design.total(self.weights[:, None] * share).reshape(tasks, classes)
        weighted = self.weights[:, None] * share
        products = [design.total(weighted * share[:, [c]]) for c in range(classes)]
        cross = np.stack([part.reshape(tasks, classes) for part in products], axis=2)
        root = np.sqrt(np.maximum(mass, 1e-300))
        outer = root[:, :, None] * root[:, None, :]
        hessian = (1.0 + 1e-10) * np.eye(classes) - cross / outer + outer
        return -np.linalg.solve(hessian, (gradient / root)[:, :, None])[:, :, 0] / root
