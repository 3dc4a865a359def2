"""Bound losses: the weighted loss of all rows as a function of their scores, with gradient,
curvature, dual value and best intercepts. `BoundRowLoss` binds any row loss, `BoundMultinomialLoss`
is the multinomial loss.
"""

import numpy as np
from sklearn.utils.extmath import softmax

from tamis.solvers.path.loop import (
    sum_conjugates,
    sum_values,
    write_gradients,
    write_hessians,
    write_inverse_links,
)

MIN_INTERCEPT_STEP = 1e-15  # step of the intercept, in scores, below which nothing changes
MIN_SAFE_STEP = 1e-6  # step of the intercept below which Newton's method converges without halving
MAX_HALVINGS = 200  # halvings from the largest valid number to MIN_INTERCEPT_STEP


def _halve_step(bound_loss, design, scores, step, min_step: float) -> np.ndarray:
    """Halve a step of the intercepts until it does not raise the loss or is below `min_step`."""
    loss = bound_loss.value(scores)
    for _ in range(MAX_HALVINGS):
        new_loss = bound_loss.value(scores + design.intercept_scores(step))
        if not (new_loss > loss + 1e-15 * abs(loss) and np.abs(step).max() > min_step):
            break
        step = 0.5 * step
    return step


def inverse_links(loss, scores: np.ndarray) -> np.ndarray:
    """Return the inverse link of a loss at all scores."""
    means = np.empty_like(scores)
    write_inverse_links(loss, np.ascontiguousarray(scores), means)
    return means


class InterceptDesign:
    """Design without columns: scores are one constant an output."""

    def intercept_scores(self, bias: np.ndarray) -> np.ndarray:
        """Return what intercepts add to the scores."""
        return bias[None, :]

    def sum_by_output(self, weighted_gradients: np.ndarray) -> np.ndarray:
        """Return the sums over the rows for each output."""
        return weighted_gradients.sum(axis=0)


class BoundRowLoss:
    """Weighted sum of a row loss over all rows, with their targets and offsets, as a function of
    the scores without the offset.
    """

    def __init__(self, loss, targets: np.ndarray, weights: np.ndarray, offset=None):
        self.loss, self.weights, self.lipschitz = loss, weights, float(loss.hessian_bound())
        self.targets = np.ascontiguousarray(targets, dtype=float)
        self.offset = offset  # of each row; None is 0
        # Unit of second derivatives: their bound, or 1 if there is none.
        self.hessian_scale = self.lipschitz if np.isfinite(self.lipschitz) else 1.0

    def select_rows(self, indices: np.ndarray, weights: np.ndarray) -> "BoundRowLoss":
        """Return the bound loss of some of the rows with other weights."""
        offset = None if self.offset is None else self.offset[indices]
        return BoundRowLoss(self.loss, self.targets[indices], weights, offset)

    @property
    def is_quadratic(self) -> bool:
        """Whether the loss is quadratic, so that one quadratic model is exact."""
        return hasattr(self.loss, "is_quadratic")

    def _with_offset(self, scores) -> np.ndarray:
        """Return the scores with the offset."""
        return np.ascontiguousarray(
            scores if self.offset is None else scores + self.offset[:, None]
        )

    def curvature(self, scores, first: int, second: int) -> np.ndarray | None:
        """Return the weighted second derivatives of the rows by two outputs; None where they are 0.

        Rows of no curvature get a fraction of the mean one, so that every direction has some.
        """
        if first != second:
            return None
        if self.is_quadratic:
            return self.weights * self.lipschitz
        hessians = self.hessians(scores)[:, first]
        mean = float(self.weights @ hessians) / self.weights.sum()
        return self.weights * np.maximum(
            hessians, 1e-3 * (mean if mean > 0.0 else self.hessian_scale)
        )

    def value(self, scores) -> float:
        """Return the weighted loss."""
        return sum_values(self.loss, self._with_offset(scores), self.targets, self.weights)

    def gradient(self, scores) -> np.ndarray:
        """Return the derivatives of the rows in their scores, without row weights."""
        gradients = np.empty_like(self.targets)
        write_gradients(self.loss, self._with_offset(scores), self.targets, gradients)
        return gradients

    def hessians(self, scores) -> np.ndarray:
        """Return the second derivatives of the rows in their scores, without row weights."""
        hessians = np.empty_like(self.targets)
        write_hessians(self.loss, self._with_offset(scores), self.targets, hessians)
        return hessians

    def dual_value(self, gradients) -> float:
        """Return the dual value of feasible row gradients."""
        gradients = np.ascontiguousarray(gradients)
        conjugates = sum_conjugates(self.loss, gradients, self.targets, self.weights)
        if self.offset is not None:
            conjugates -= float((self.weights * self.offset) @ gradients.sum(axis=1))
        return -conjugates

    def best_loss(self) -> float:
        """Return the smallest possible loss of any scores."""
        zeros = np.zeros_like(self.targets)
        return -sum_conjugates(self.loss, zeros, self.targets, self.weights)

    def null_loss(self, design=None, fit_intercept: bool = True) -> float:
        """Return the loss of the best intercepts alone; without intercepts, of scores 0."""
        scores = np.zeros_like(self.targets)
        if fit_intercept:
            design = InterceptDesign() if design is None else design
            bias = np.zeros(len(design.sum_by_output(scores)))
            scores = self.center(design, scores, bias)[1]
        return self.value(scores)

    def center(self, design, scores, bias) -> tuple[np.ndarray, np.ndarray]:
        """Return the best intercepts for scores that contain the present ones, and the new scores,
        by Newton's steps that are halved where they fail.
        """
        # Intercepts of small targets are small.
        min_step = MIN_INTERCEPT_STEP * min(1.0, float(np.abs(self.targets).max(initial=0.0)))
        # The value of a loss whose minimum is not 0 may be near 0 at any scores. Its change by a
        # short step is then rounding, so that short Newton steps are not halved.
        min_line_step = min_step if np.isfinite(self.lipschitz) else MIN_SAFE_STEP
        for _ in range(50):
            weighted_gradients = self.weights[:, None] * self.gradient(scores)
            gradient = design.sum_by_output(weighted_gradients)
            if np.abs(gradient).max() <= 1e-13 * np.abs(weighted_gradients).sum():
                break
            hessian = design.sum_by_output(self.weights[:, None] * self.hessians(scores))
            # If all rows are in linear parts of the loss, there is no curvature.
            step = -gradient / np.where(
                hessian > 1e-12 * self.hessian_scale, hessian, 1e-3 * self.hessian_scale
            )
            step = _halve_step(self, design, scores, step, min_line_step)
            if np.abs(step).max() <= min_step:
                break
            bias, scores = bias + step, scores + design.intercept_scores(step)
        return bias, scores


class BoundMultinomialLoss:
    """Multinomial logistic loss of class codes, the weighted sum of log sum_k exp(f_k) - f_y."""

    lipschitz, hessian_scale, is_quadratic = 0.5, 0.5, False

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray):
        self.weights, self.one_hot = weights, np.eye(n_classes)[classes]
        self.class_codes = classes.astype(np.int64)

    def select_rows(self, indices: np.ndarray, weights: np.ndarray) -> "BoundMultinomialLoss":
        """Return the bound loss of some of the rows with other weights."""
        return BoundMultinomialLoss(self.class_codes[indices], self.one_hot.shape[1], weights)

    def value(self, scores) -> float:
        """Return the weighted loss."""
        max_scores = scores.max(axis=1)
        log_sums = max_scores + np.log(np.exp(scores - max_scores[:, None]).sum(axis=1))
        return float(self.weights @ (log_sums - scores[np.arange(len(scores)), self.class_codes]))

    def gradient(self, scores) -> np.ndarray:
        """Return the probabilities minus the one-hot classes."""
        return softmax(scores) - self.one_hot

    def curvature(self, scores, first: int, second: int) -> np.ndarray:
        """Return the weighted second derivatives of the rows by two classes."""
        probabilities = softmax(scores)
        return (
            self.weights * probabilities[:, first] * ((first == second) - probabilities[:, second])
        )

    def dual_value(self, gradients) -> float:
        """Return the dual value: the weighted entropy of the probabilities that belong to the
        gradients.
        """
        probabilities = np.maximum(gradients + self.one_hot, 0.0)
        logs = np.log(np.where(probabilities > 0.0, probabilities, 1.0))
        return float(-self.weights @ (probabilities * logs).sum(axis=1))

    def best_loss(self) -> float:
        """Return the smallest possible loss of any scores."""
        return 0.0

    def null_loss(self, design, fit_intercept: bool = True) -> float:
        """Return the loss of the best intercepts alone; without intercepts, of scores 0."""
        scores = np.zeros_like(self.one_hot)
        if fit_intercept:
            bias = np.zeros(len(design.sum_by_output(scores)))
            scores = self.center(design, scores, bias)[1]
        return self.value(scores)

    def center(self, design, scores, bias) -> tuple[np.ndarray, np.ndarray]:
        """Return the best intercepts for scores that contain the present ones, and the new
        scores.
        """
        for _ in range(100):
            probabilities = softmax(scores)
            gradient = design.sum_by_output(self.weights[:, None] * (probabilities - self.one_hot))
            gradient = gradient.reshape(-1, probabilities.shape[1])
            if np.abs(gradient).max() <= 1e-14:
                break
            step = np.clip(self._newton(design, probabilities, gradient), -5.0, 5.0).ravel()
            step = _halve_step(self, design, scores, step, MIN_INTERCEPT_STEP)
            bias, scores = bias + step, scores + design.intercept_scores(step)
            if np.abs(step).max() <= MIN_INTERCEPT_STEP:
                break
        return bias, scores

    def _newton(self, design, probabilities, gradient) -> np.ndarray:
        """Return Newton's steps of the intercepts (tasks, classes), scaled by the class
        frequencies, so that rare classes are well conditioned.

        A constant added to all classes of a task changes nothing; this null direction of the
        Hessian is filled in.
        """
        tasks, classes = gradient.shape
        expected_weights = design.sum_by_output(self.weights[:, None] * probabilities).reshape(
            tasks, classes
        )
        weighted_probabilities = self.weights[:, None] * probabilities
        products = [
            design.sum_by_output(weighted_probabilities * probabilities[:, [c]])
            for c in range(classes)
        ]
        cross_products = np.stack([sums.reshape(tasks, classes) for sums in products], axis=2)
        root = np.sqrt(np.maximum(expected_weights, 1e-300))
        outer = root[:, :, None] * root[:, None, :]
        hessian = (1.0 + 1e-10) * np.eye(classes) - cross_products / outer + outer
        return -np.linalg.solve(hessian, (gradient / root)[:, :, None])[:, :, 0] / root
