"""Scores of rows that were not learnt from: set right by a line, and the errors that they then
make: smooth ones to choose by, plain ones to show, and surprise to judge whether there is anything.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.scores import mean_with_error, paired_difference
from tamis.methods.sieve.loop import fill_losses, fill_slopes
from tamis.solvers.calibration import fit_sigmoid, sigmoid

TEMPERATURE = 0.25  # of the soft error, in units of the mean absolute margin
ROWS = 20_000  # rows whose errors are kept one by one; they come in an order without meaning


class Held(NamedTuple):
    """What held-out scores are held against: targets (of classes -1 and 1, or one column of
    numbers of the classes), weights, and whether they are classes; the loss, and whether there is
    an intercept.
    """

    targets: np.ndarray
    weights: np.ndarray
    outputs: int
    classes: bool
    loss: tuple
    intercept: bool

    @property
    def mass(self) -> np.ndarray:
        """Weight of each row."""
        return self.weights if len(self.weights) else np.ones(len(self.targets))

    def signs(self, c: int) -> np.ndarray:
        """Targets of an output, -1 and 1."""
        if self.targets.shape[1] > 1 or self.outputs == 1:
            return self.targets[:, c]
        return np.where(self.targets[:, 0] == c, 1.0, -1.0)


class Error(NamedTuple):
    """The error to choose by and the plain one, with their standard errors; both for rows one by
    one; and how much less surprising than the prior it makes the targets, in standard errors.
    """

    soft: float
    spread: float
    plain: float
    plain_spread: float
    gain: float
    soft_rows: np.ndarray
    plain_rows: np.ndarray


class Rows(NamedTuple):
    """Row by row: the soft error (weighed so that its mean counts all classes alike) and what it is
    off from the mean of its class, the plain error, and the surprise.
    """

    soft: np.ndarray
    off: np.ndarray
    plain: np.ndarray
    surprise: np.ndarray


# --------------------------------------------------------------------------- lines
def line_of(scores: np.ndarray, held: Held) -> np.ndarray:
    """Slope and offset of each output (outputs, 2) that make held-out scores right: those of
    classes log odds, those of numbers without bias.

    An offset is taken as far as it is surer than chance (1 - 1 / z^2 of it); a slope that is not
    above 0 is 0, which leaves the prior.
    """
    lines = np.empty((held.outputs, 2))
    for c in range(held.outputs):
        if held.classes:
            lines[c] = _odds_line(scores[:, c], held.signs(c), held)
        else:
            lines[c] = _number_line(scores[:, c], held.targets[:, c], held)
    return lines


def prior_line(held: Held) -> np.ndarray:
    """The line that no score takes part in."""
    lines = line_of(np.zeros((len(held.targets), held.outputs)), held)
    lines[:, 0] = 0.0
    return lines


def _odds_line(scores, signs, held: Held) -> tuple[float, float]:
    line = fit_sigmoid(scores, signs > 0.0, held.mass)
    if not held.intercept:
        return max(line.slope, 0.0), 0.0
    if line.slope <= 0.0:
        return 0.0, fit_sigmoid(np.zeros_like(scores), signs > 0.0, held.mass).offset
    sure = line.offset**2 * line.information
    return line.slope, line.offset * (1.0 - 1.0 / sure if sure > 1.0 else 0.0)


def _number_line(scores, targets, held: Held) -> tuple[float, float]:
    """Least squares, reweighted for other losses."""
    mass, slope, offset = held.mass, 1.0 if scores.any() else 0.0, 0.0
    for _ in range(20):
        residual = slope * scores + offset - targets
        slopes = np.empty_like(residual)
        fill_slopes(held.loss, residual, slopes)
        away = np.abs(residual) > 1e-12
        pull = mass * np.where(away, slopes / np.where(away, residual, 1.0), 1.0)
        pull = np.maximum(pull, 1e-9 * pull.max(initial=1e-300))
        center = np.average(scores, weights=pull) if held.intercept else 0.0
        middle = np.average(targets, weights=pull) if held.intercept else 0.0
        spread = pull @ (scores - center) ** 2
        before = slope, offset
        along = pull @ ((scores - center) * (targets - middle)) / spread if spread > 0.0 else 0.0
        slope = max(along, 0.0)
        offset = middle - slope * center
        if abs(slope - before[0]) + abs(offset - before[1]) < 1e-6:
            break
    return slope, offset


# --------------------------------------------------------------------------- errors
def rows_of(scores: np.ndarray, line: np.ndarray, held: Held) -> Rows:
    """Errors of every row, the scores set right by the line."""
    right = scores * line[:, 0] + line[:, 1]
    strata: np.ndarray
    if not held.classes:
        return _number_rows(right, held)
    if held.targets.shape[1] > 1 or held.outputs == 1:
        margin, strata = right * held.targets, held.targets > 0.0
        wrong = np.where(strata, right <= 0.0, right > 0.0).mean(axis=1)
        surprise = np.logaddexp(0.0, -margin).mean(axis=1)
    else:
        mine, at = held.targets[:, 0].astype(np.int64), np.arange(len(right))
        likely = np.maximum(sigmoid(right), 1e-300)
        surprise = -np.log(likely[at, mine] / likely.sum(axis=1))
        wrong = (right.argmax(axis=1) != mine).astype(float)
        others = right.copy()
        others[at, mine] = -np.inf
        margin, strata = (right[at, mine] - others.max(axis=1))[:, None], mine[:, None]
    soft, off = np.zeros((2, len(right)))
    for c in range(margin.shape[1]):
        for total, part in zip(
            (soft, off), _softened(margin[:, c], strata[:, c], held), strict=True
        ):
            total += part / margin.shape[1]
    return Rows(soft, off, wrong, surprise)


def _softened(margin: np.ndarray, strata: np.ndarray, held: Held) -> tuple[np.ndarray, np.ndarray]:
    """Smooth 0/1 errors, free of the scale of the margins and weighed so that all strata count
    alike; and what each is off from the mean of its stratum.
    """
    mass = held.mass
    heat = TEMPERATURE * float(np.average(np.abs(margin), weights=mass))
    soft = sigmoid(-margin / (heat if heat > 0.0 else 1.0))
    off, kinds = np.empty_like(soft), np.unique(strata)
    for kind in kinds:
        inside = strata == kind
        share = max(mass[inside].sum() / mass.sum(), 1e-9)
        mean = np.average(soft[inside], weights=mass[inside])
        off[inside] = (soft[inside] - mean) / (share * len(kinds))
        soft[inside] /= share * len(kinds)
    return soft, off


def _number_rows(right: np.ndarray, held: Held) -> Rows:
    """Losses in standard units, and squared residuals in units of the variance of the targets."""
    residual, mass = right - held.targets, held.mass
    losses = np.empty(residual.shape)
    fill_losses(held.loss, residual, losses)
    mean = np.average(held.targets, axis=0, weights=mass) if held.intercept else 0.0
    variance = np.average((held.targets - mean) ** 2, axis=0, weights=mass)
    squares = np.minimum(residual**2 / np.where(variance > 0.0, variance, 1.0), 1e30)
    cost = losses.mean(axis=1)
    return Rows(cost, cost - np.average(cost, weights=mass), squares.mean(axis=1), cost)


def error_of(rows: Rows, prior: np.ndarray, held: Held) -> Error:
    """Means and standard errors; `prior` is the surprise of every row by the prior alone."""
    mass = held.mass
    soft = float(np.average(rows.soft, weights=mass))
    _, spread = mean_with_error(rows.off, mass, ddof=0)
    plain, plain_spread = mean_with_error(rows.plain, mass, ddof=0)
    gain, doubt = paired_difference(prior, rows.surprise, mass, ddof=0)
    few = slice(0, ROWS)
    return Error(
        soft,
        spread,
        plain,
        plain_spread,
        gain / doubt if doubt > 1e-9 else 0.0,  # less is rounding: the line is the prior's
        rows.soft[few].astype(np.float32),
        rows.plain[few].astype(np.float32),
    )


def beats(one: np.ndarray, other: np.ndarray, mass: np.ndarray, by: float) -> bool:
    """Whether the first errors are lower than the second row by row, by so many standard errors."""
    mean, doubt = paired_difference(other, one, mass, ddof=0)
    return mean > by * doubt


def baseline_rows(held: Held, folds: np.ndarray) -> np.ndarray:
    """Plain error of every row when its class is guessed by the shares in the other folds; classes
    whose share is less than the largest by no more than two standard errors are guessed in turn.
    """
    if not held.classes:
        return np.ones(len(held.targets))
    if held.targets.shape[1] > 1 or held.outputs == 1:
        coded = [(held.targets[:, c] > 0.0).astype(np.int64) for c in range(held.outputs)]
        count = 2
    else:
        coded, count = [held.targets[:, 0].astype(np.int64)], held.outputs
    errors = np.zeros((len(coded), len(held.targets)))
    for row, codes in zip(errors, coded, strict=True):
        for fold in np.unique(folds):
            inside = folds == fold
            rest = ~inside if not inside.all() else inside
            share = np.bincount(codes[rest], held.mass[rest], minlength=count)
            share = share / max(share.sum(), 1e-300)
            lead = share.max()
            doubt = np.sqrt(np.maximum(lead + share - (lead - share) ** 2, 0.0) / rest.sum())
            near = lead - share <= 2.0 * doubt * (share < lead)
            row[inside] = 1.0 - near[codes[inside]] / near.sum()
    return errors.mean(axis=0)
