"""The cost of unlabelled rows under ``C_unlabeled="auto"``: chosen by held-out labelled rows, and 0
where unlabelled rows gain nothing.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.numerics.roc import fraction_below

COST_RATIOS = (0.1, 1.0)  # costs tried, as multiples of C
MAX_SPLITS = 3  # ways to split the labelled rows into folds


class LabelledRows(NamedTuple):
    """The labelled rows: whether they are positive for each output, their weights, their classes,
    and the function that maps scores to classes.
    """

    is_positive: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    predict: Callable[[np.ndarray], np.ndarray]

    @property
    def smallest_class(self) -> int:
        """Number of rows of the rarest class."""
        return int(np.unique(self.classes, return_counts=True)[1].min())

    def error(self, split_scores: list[np.ndarray]) -> float:
        """Return the weighted error of held-out scores, the mean over splits."""
        wrong = np.mean([self.predict(scores) != self.classes for scores in split_scores], axis=0)
        return float(np.average(wrong, weights=self.weights))


def choose_cost(
    labelled: LabelledRows,
    costs: Sequence[float],
    held_out_scores: Callable[[float, int], np.ndarray],
) -> tuple[float, list[dict]]:
    """Return the cost of unlabelled rows whose machines rank held-out labelled rows best, and one
    record for each cost tried.

    `held_out_scores` maps a cost and a seed to the scores of the labelled rows by machines trained
    without them, in folds that the seed determines. A cost above 0 is chosen where its machines
    make fewer errors than the plain machine (cost 0), and where their gain in the area under the
    ROC curve is above its standard error: with few labels, error counts are too coarse, and one
    split is too noisy. A cost that gains nothing in the first split is not tried again.
    """
    if labelled.smallest_class < 2:
        return 0.0, []
    plain = [held_out_scores(0.0, 0)]
    if labelled.error(plain) == 0.0:
        return 0.0, [{"C_unlabeled": 0.0, "error": 0.0}]
    split_scores = {cost: [held_out_scores(cost, 0)] for cost in costs}
    promising = [cost for cost in costs if auc_gain(split_scores[cost], plain, labelled)[0] > 0.0]
    for seed in range(1, MAX_SPLITS) if promising else ():
        plain.append(held_out_scores(0.0, seed))
        for cost in promising:
            split_scores[cost].append(held_out_scores(cost, seed))
    records = [{"C_unlabeled": 0.0, "error": labelled.error(plain)}]
    best_cost, best_gain = 0.0, 0.0
    for cost, scores in split_scores.items():
        gain, standard_error = auc_gain(scores, plain, labelled)
        error = labelled.error(scores)
        records.append(
            {"C_unlabeled": cost, "error": error, "gain": gain, "standard_error": standard_error}
        )
        if gain > max(standard_error, best_gain) and error < records[0]["error"]:
            best_cost, best_gain = cost, gain
    return best_cost, records


def auc_gain(split_scores: list, plain: list, labelled: LabelledRows) -> tuple[float, float]:
    """Return the gain in the area under the ROC curve over the plain machine, the mean over outputs
    and splits, and its standard error.

    The error combines the influence of every row on the gain (E. R. DeLong, D. M. DeLong and D. L.
    Clarke-Pearson, Biometrics 1988) with the weight of a single row, since a handful of rows may
    have equal influences.
    """
    weights, gains = labelled.weights, []
    influences = np.zeros(len(weights))
    for k, positive in enumerate(labelled.is_positive.T):
        pairs = zip(split_scores, plain, strict=False)  # splits that both have
        row_gains = np.mean(
            [
                _rank_fractions(a[:, k], positive, weights)
                - _rank_fractions(b[:, k], positive, weights)
                for a, b in pairs
            ],
            axis=0,
        )
        gains.append(float(np.average(row_gains, weights=weights * positive)))
        class_weights = np.where(positive, weights @ positive, weights @ ~positive)
        influences += weights * (row_gains - gains[-1]) / class_weights
    row_weight = weights @ weights / weights.sum() ** 2  # 1 / effective number of rows
    influence_error = np.sqrt(influences @ influences) / len(gains)
    return float(np.mean(gains)), float(np.hypot(influence_error, row_weight))


def _rank_fractions(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return, for each row, the weighted fraction of rows of the other class that it is ranked
    correctly against; a tie counts half.
    """
    fractions = np.empty(len(scores))
    for members in (positive, ~positive):
        fractions[members] = fraction_below(scores[members], scores[~members], weights[~members])
    return np.where(positive, fractions, 1.0 - fractions)


def explain_zero_cost(records: list[dict]) -> str:
    """Return the reason why no cost above 0 was chosen, for a warning."""
    if not records:
        return "a class has one labelled row, and none can be held out to choose by"
    if len(records) == 1:
        return "the labelled rows alone get every labelled row right that is held out"
    best = max(records[1:], key=lambda record: record["gain"])
    return (
        "on labelled rows that are held out they gain no more than chance may (wrong without them "
        f"{records[0]['error']:.1%}, with them {best['error']:.1%}; area under the ROC curve "
        f"{best['gain']:+.3f} ± {best['standard_error']:.3f})"
    )
