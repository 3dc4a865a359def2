"""Errors on rows that were not learnt from: smooth ones, to choose by, and plain ones, to show."""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.loop import fill_losses

TEMPERATURE = 0.5  # of the soft error, in units of the mean absolute margin


class Error(NamedTuple):
    """A mean error to choose by, its standard error, the plain error, and both for every row."""

    soft: float
    spread: float
    plain: float
    soft_rows: np.ndarray
    plain_rows: np.ndarray

    def summary(self) -> "Error":
        """The same without those of the rows."""
        return self._replace(
            soft_rows=self.soft_rows[:0].copy(), plain_rows=self.plain_rows[:0].copy()
        )


def beats(one: Error, other: Error, weights: np.ndarray, by: float) -> bool:
    """Whether the first is better than the second row by row, in soft and plain error, by so many
    standard errors.
    """
    mass = weights if len(weights) else np.ones(len(one.soft_rows))
    for gain in (other.soft_rows - one.soft_rows, other.plain_rows - one.plain_rows):
        mean, variance = _stratified(gain, np.zeros(len(gain)), mass)
        if mean <= by * np.sqrt(variance):
            return False
    return True


def margins(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """How far each row is on the right side: of 0, or for classes of the best wrong class."""
    if scores.shape[1] == 1 or targets.shape[1] > 1:
        return scores * targets
    mine = targets[:, 0].astype(np.int64)
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, mine] = -np.inf
    return (scores[rows, mine] - others.max(axis=1))[:, None]


def soft_errors(margin: np.ndarray) -> np.ndarray:
    """Smooth 0/1 errors, free of the scale of the margins; 1/2 where all are 0."""
    heat = TEMPERATURE * np.abs(margin).mean(axis=0)
    return 0.5 * (1.0 - np.tanh(0.5 * margin / np.where(heat > 0.0, heat, 1.0)))


def class_error(
    margin: np.ndarray, strata: np.ndarray, weights: np.ndarray, balanced: bool
) -> Error:
    """Error of margins (rows, outputs); balanced, the mean of the errors of the strata (rows,
    outputs).
    """
    soft = soft_errors(margin)
    mass = weights if len(weights) else np.ones(len(margin))
    wrong = (margin <= 0.0).mean(axis=1)
    parts = [
        _stratified(soft[:, c], strata[:, c] if balanced else np.zeros(len(margin)), mass)
        for c in range(margin.shape[1])
    ]
    means, variances = zip(*parts, strict=True)
    # The outputs of a row are not independent: the mean of their standard errors is the safe side.
    return Error(
        float(np.mean(means)),
        float(np.mean(np.sqrt(variances))),
        float(np.average(wrong, weights=mass)),
        soft.mean(axis=1),
        wrong,
    )


def number_error(residual: np.ndarray, weights: np.ndarray, loss, unit: np.ndarray) -> Error:
    """Mean loss of residuals (rows, outputs) in standard units, and the mean absolute error in
    those of the targets.
    """
    mass = weights if len(weights) else np.ones(len(residual))
    losses = np.empty(residual.shape)
    fill_losses(loss, residual, losses)
    costs, plain = losses.mean(axis=1), np.abs(residual * unit).mean(axis=1)
    mean, variance = _stratified(costs, np.zeros(len(costs)), mass)
    error = float(np.average(plain, weights=mass))
    return Error(mean, float(np.sqrt(variance)), error, costs, plain)


def _stratified(values, strata, mass):
    """Mean over the strata of the weighted means in each, and its variance."""
    means, variances = [], []
    for stratum in np.unique(strata):
        inside = strata == stratum
        mean = float(np.average(values[inside], weights=mass[inside]))
        share = mass[inside] / mass[inside].sum()
        means.append(mean)
        variances.append(float((share * (values[inside] - mean) ** 2).sum() * (share**2).sum()))
    return float(np.mean(means)), float(np.sum(variances)) / len(means) ** 2
