"""Errors of held-out scores: calibrate the scores, then compute a smooth error to choose by, a
plain error to report, and the log loss that tests whether the features predict anything.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.scores import mean_with_error, paired_difference
from tamis.methods.sieve.loop import fill_gradients, fill_losses
from tamis.solvers.calibration import fit_sigmoid, sigmoid

TEMPERATURE = 0.25  # of the soft error, in units of the mean absolute margin
# Rows whose errors are stored one by one. Rows are ordered by hash, so the first ones are a sample.
MAX_ROW_ERRORS = 20_000


class HeldOutTargets(NamedTuple):
    """Targets, row weights and loss that held-out scores are compared with.

    The targets of classes are -1 and 1, one column an output, or one column of class numbers.
    """

    targets: np.ndarray
    weights: np.ndarray
    outputs: int
    is_classification: bool
    loss: tuple
    intercept: bool

    @property
    def row_weights(self) -> np.ndarray:
        """Weight of each row."""
        return self.weights if len(self.weights) else np.ones(len(self.targets))

    def output_signs(self, c: int) -> np.ndarray:
        """Targets of output `c`, -1 and 1."""
        if self.targets.shape[1] > 1 or self.outputs == 1:
            return self.targets[:, c]
        return np.where(self.targets[:, 0] == c, 1.0, -1.0)


class HeldOutError(NamedTuple):
    """Mean soft and plain errors with their standard errors, both errors of each row, and the gain
    in log loss over the prior in units of its standard error.
    """

    soft: float
    soft_standard_error: float
    plain: float
    plain_standard_error: float
    gain_z: float
    soft_by_row: np.ndarray
    plain_by_row: np.ndarray


class RowErrors(NamedTuple):
    """Errors of each row: the soft error (weighted so that its mean counts all classes alike), its
    deviation from the mean of the row's class, the plain error, and the log loss.
    """

    soft: np.ndarray
    soft_deviation: np.ndarray
    plain: np.ndarray
    log_loss: np.ndarray


# --------------------------------------------------------------------------- calibration
def fit_calibration(scores: np.ndarray, held_out: HeldOutTargets) -> np.ndarray:
    """Return slope and offset of each output, (outputs, 2), that turn held-out scores into log odds
    of classes or into unbiased numbers.

    The offset of a classifier is shrunk by 1 - 1 / z^2, where z is its size in standard errors. A
    slope below 0 becomes 0, which leaves the prior.
    """
    calibration = np.empty((held_out.outputs, 2))
    for c in range(held_out.outputs):
        if held_out.is_classification:
            calibration[c] = _calibrate_classes(scores[:, c], held_out.output_signs(c), held_out)
        else:
            calibration[c] = _calibrate_numbers(scores[:, c], held_out.targets[:, c], held_out)
    return calibration


def prior_calibration(held_out: HeldOutTargets) -> np.ndarray:
    """Return the calibration of the model without features: slope 0 and the offset of the prior."""
    calibration = fit_calibration(np.zeros((len(held_out.targets), held_out.outputs)), held_out)
    calibration[:, 0] = 0.0
    return calibration


def _calibrate_classes(scores, signs, held_out: HeldOutTargets) -> tuple[float, float]:
    fit = fit_sigmoid(scores, signs > 0.0, held_out.row_weights)
    if not held_out.intercept:
        return max(fit.slope, 0.0), 0.0
    if fit.slope <= 0.0:
        return 0.0, fit_sigmoid(np.zeros_like(scores), signs > 0.0, held_out.row_weights).offset
    z_squared = fit.offset**2 * fit.information
    return fit.slope, fit.offset * (1.0 - 1.0 / z_squared if z_squared > 1.0 else 0.0)


def _calibrate_numbers(scores, targets, held_out: HeldOutTargets) -> tuple[float, float]:
    """Fit a line by least squares, iteratively reweighted for losses other than the squared one."""
    row_weights, slope, offset = held_out.row_weights, 1.0 if scores.any() else 0.0, 0.0
    for _ in range(20):
        residual = slope * scores + offset - targets
        gradients = np.empty_like(residual)
        fill_gradients(held_out.loss, residual, gradients)
        is_nonzero = np.abs(residual) > 1e-12
        ratio = np.where(is_nonzero, gradients / np.where(is_nonzero, residual, 1.0), 1.0)
        weights = row_weights * ratio
        weights = np.maximum(weights, 1e-9 * weights.max(initial=1e-300))
        score_mean = np.average(scores, weights=weights) if held_out.intercept else 0.0
        target_mean = np.average(targets, weights=weights) if held_out.intercept else 0.0
        variance = weights @ (scores - score_mean) ** 2
        previous = slope, offset
        covariance = weights @ ((scores - score_mean) * (targets - target_mean))
        slope = max(covariance / variance if variance > 0.0 else 0.0, 0.0)
        offset = target_mean - slope * score_mean
        if abs(slope - previous[0]) + abs(offset - previous[1]) < 1e-6:
            break
    return slope, offset


# --------------------------------------------------------------------------- errors
def row_errors(scores: np.ndarray, calibration: np.ndarray, held_out: HeldOutTargets) -> RowErrors:
    """Return the errors of every row under calibrated scores."""
    calibrated = scores * calibration[:, 0] + calibration[:, 1]
    strata: np.ndarray
    if not held_out.is_classification:
        return _regression_row_errors(calibrated, held_out)
    if held_out.targets.shape[1] > 1 or held_out.outputs == 1:
        margin, strata = calibrated * held_out.targets, held_out.targets > 0.0
        plain = np.where(strata, calibrated <= 0.0, calibrated > 0.0).mean(axis=1)
        log_loss = np.logaddexp(0.0, -margin).mean(axis=1)
    else:
        codes, rows = held_out.targets[:, 0].astype(np.int64), np.arange(len(calibrated))
        probabilities = np.maximum(sigmoid(calibrated), 1e-300)
        log_loss = -np.log(probabilities[rows, codes] / probabilities.sum(axis=1))
        plain = (calibrated.argmax(axis=1) != codes).astype(float)
        others = calibrated.copy()
        others[rows, codes] = -np.inf
        margin, strata = (calibrated[rows, codes] - others.max(axis=1))[:, None], codes[:, None]
    soft, soft_deviation = np.zeros((2, len(calibrated)))
    for c in range(margin.shape[1]):
        errors, deviations = _soft_errors(margin[:, c], strata[:, c], held_out)
        soft += errors / margin.shape[1]
        soft_deviation += deviations / margin.shape[1]
    return RowErrors(soft, soft_deviation, plain, log_loss)


def _soft_errors(
    margin: np.ndarray, strata: np.ndarray, held_out: HeldOutTargets
) -> tuple[np.ndarray, np.ndarray]:
    """Return smooth 0/1 errors and their deviations from the mean of the stratum.

    The errors do not depend on the scale of the margins and are weighted so that all strata count
    alike.
    """
    row_weights = held_out.row_weights
    temperature = TEMPERATURE * float(np.average(np.abs(margin), weights=row_weights))
    soft = sigmoid(-margin / (temperature if temperature > 0.0 else 1.0))
    deviation, values = np.empty_like(soft), np.unique(strata)
    for value in values:
        inside = strata == value
        fraction = max(row_weights[inside].sum() / row_weights.sum(), 1e-9)
        mean = np.average(soft[inside], weights=row_weights[inside])
        deviation[inside] = (soft[inside] - mean) / (fraction * len(values))
        soft[inside] /= fraction * len(values)
    return soft, deviation


def _regression_row_errors(calibrated: np.ndarray, held_out: HeldOutTargets) -> RowErrors:
    """Return losses in standard units, and squared residuals over the variance of the targets."""
    residual, row_weights = calibrated - held_out.targets, held_out.row_weights
    losses = np.empty(residual.shape)
    fill_losses(held_out.loss, residual, losses)
    mean = np.average(held_out.targets, axis=0, weights=row_weights) if held_out.intercept else 0.0
    variance = np.average((held_out.targets - mean) ** 2, axis=0, weights=row_weights)
    squares = np.minimum(residual**2 / np.where(variance > 0.0, variance, 1.0), 1e30)
    loss = losses.mean(axis=1)
    deviation = loss - np.average(loss, weights=row_weights)
    return RowErrors(loss, deviation, squares.mean(axis=1), loss)


def mean_error(
    errors: RowErrors, prior_log_loss: np.ndarray, held_out: HeldOutTargets
) -> HeldOutError:
    """Return means and standard errors; `prior_log_loss` is the log loss of each row by the prior
    alone.
    """
    row_weights = held_out.row_weights
    soft = float(np.average(errors.soft, weights=row_weights))
    _, soft_standard_error = mean_with_error(errors.soft_deviation, row_weights, ddof=0)
    plain, plain_standard_error = mean_with_error(errors.plain, row_weights, ddof=0)
    gain, standard_error = paired_difference(prior_log_loss, errors.log_loss, row_weights, ddof=0)
    first_rows = slice(0, MAX_ROW_ERRORS)
    return HeldOutError(
        soft,
        soft_standard_error,
        plain,
        plain_standard_error,
        # A smaller standard error is rounding: the calibration is that of the prior.
        gain / standard_error if standard_error > 1e-9 else 0.0,
        errors.soft[first_rows].astype(np.float32),
        errors.plain[first_rows].astype(np.float32),
    )


def has_lower_error(
    errors: np.ndarray, other_errors: np.ndarray, row_weights: np.ndarray, z: float
) -> bool:
    """Return whether paired errors are lower than others by more than `z` standard errors."""
    mean, standard_error = paired_difference(other_errors, errors, row_weights, ddof=0)
    return mean > z * standard_error


def baseline_row_errors(held_out: HeldOutTargets, folds: np.ndarray) -> np.ndarray:
    """Return the plain error of every row when its class is guessed from the other folds.

    The guess is the most frequent class. Classes that are less frequent by at most two standard
    errors are guessed equally often.
    """
    if not held_out.is_classification:
        return np.ones(len(held_out.targets))
    if held_out.targets.shape[1] > 1 or held_out.outputs == 1:
        output_codes = [
            (held_out.targets[:, c] > 0.0).astype(np.int64) for c in range(held_out.outputs)
        ]
        n_classes = 2
    else:
        output_codes, n_classes = [held_out.targets[:, 0].astype(np.int64)], held_out.outputs
    errors = np.zeros((len(output_codes), len(held_out.targets)))
    for output_errors, codes in zip(errors, output_codes, strict=True):
        for fold in np.unique(folds):
            in_fold = folds == fold
            training = ~in_fold if not in_fold.all() else in_fold
            weights = held_out.row_weights[training]
            fractions = np.bincount(codes[training], weights, minlength=n_classes)
            fractions = fractions / max(fractions.sum(), 1e-300)
            largest = fractions.max()
            variance = np.maximum(largest + fractions - (largest - fractions) ** 2, 0.0)
            standard_error = np.sqrt(variance / training.sum())
            is_guessed = largest - fractions <= 2.0 * standard_error * (fractions < largest)
            output_errors[in_fold] = 1.0 - is_guessed[codes[in_fold]] / is_guessed.sum()
    return errors.mean(axis=0)
