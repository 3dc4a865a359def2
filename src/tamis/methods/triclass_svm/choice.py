"""What unlabelled rows cost where nobody said: chosen by labelled rows that were held out, and
nothing where they gain nothing.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.numerics.roc import fraction_below

SHARES = (0.1, 1.0)  # of C, the prices tried
ROUNDS = 3  # ways to cut the labelled rows into folds


class Known(NamedTuple):
    """The labelled rows: on which side of every output they are, what they weigh, their classes,
    and how scores become classes.
    """

    sides: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    predict: Callable[[np.ndarray], np.ndarray]

    @property
    def rarest(self) -> int:
        """Rows of the rarest class."""
        return int(np.unique(self.classes, return_counts=True)[1].min())

    def error(self, cuts: list[np.ndarray]) -> float:
        """Weighed share of rows that scores get wrong, the mean over cuts."""
        wrong = np.mean([self.predict(scores) != self.classes for scores in cuts], axis=0)
        return float(np.average(wrong, weights=self.weights))


def choose_price(
    known: Known, prices: Sequence[float], held_out: Callable[[float, int], np.ndarray]
) -> tuple[float, list[dict]]:
    """The price whose machines order rows that they did not see best, and what was tried.

    `held_out` gives the scores of the labelled rows by machines at a price that had all rows but
    them, cut into folds by a seed. A price above 0, the plain machine, is taken where it gets fewer
    of them wrong, and where its gain in the area under the ROC curve is above the standard error of
    that gain: with few labels counts of wrong rows are too coarse, and one cut tells too little. A
    price that gains nothing in the first cut is not tried again.
    """
    if known.rarest < 2:
        return 0.0, []
    plain = [held_out(0.0, 0)]
    if known.error(plain) == 0.0:
        return 0.0, [{"C_unlabeled": 0.0, "error": 0.0}]
    cuts = {price: [held_out(price, 0)] for price in prices}
    hopeful = [price for price in prices if gained(cuts[price], plain, known)[0] > 0.0]
    for seed in range(1, ROUNDS) if hopeful else ():
        plain.append(held_out(0.0, seed))
        for price in hopeful:
            cuts[price].append(held_out(price, seed))
    tried, chosen, most = [{"C_unlabeled": 0.0, "error": known.error(plain)}], 0.0, 0.0
    for price, scores in cuts.items():
        gain, deviation = gained(scores, plain, known)
        figures = {"error": known.error(scores), "gain": gain, "standard_error": deviation}
        tried.append({"C_unlabeled": price, **figures})
        if gain > max(deviation, most) and figures["error"] < tried[0]["error"]:
            chosen, most = price, gain
    return chosen, tried


def gained(cuts: list, plain: list, known: Known) -> tuple[float, float]:
    """Gain in the area under the ROC curve, the mean over outputs and cuts, and its standard error:
    by the pull of every row on it (E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics
    1988), and what a single row is worth, since a handful of rows may all pull alike.
    """
    weights, gains = known.weights, []
    pulls = np.zeros(len(weights))
    for k, side in enumerate(known.sides.T):
        pairs = zip(cuts, plain, strict=False)  # those that both have
        more = np.mean(
            [_ahead(a[:, k], side, weights) - _ahead(b[:, k], side, weights) for a, b in pairs],
            axis=0,
        )
        gains.append(float(np.average(more, weights=weights * side)))
        totals = np.where(side, weights @ side, weights @ ~side)
        pulls += weights * (more - gains[-1]) / totals
    row = weights @ weights / weights.sum() ** 2  # one of so many, as weights count them
    return float(np.mean(gains)), float(np.hypot(np.sqrt(pulls @ pulls) / len(gains), row))


def _ahead(scores: np.ndarray, side: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of each row the share of rows on the other side that it is ordered rightly against; a tie is
    half of one.
    """
    fractions = np.empty(len(scores))
    for own in (side, ~side):
        fractions[own] = fraction_below(scores[own], scores[~own], weights[~own])
    return np.where(side, fractions, 1.0 - fractions)


def why_plain(tried: list[dict]) -> str:
    """Why no price above 0 was taken."""
    if not tried:
        return "a class has one labelled row, and none can be held out to choose by"
    if len(tried) == 1:
        return "the labelled rows alone get every labelled row right that is held out"
    best = max(tried[1:], key=lambda record: record["gain"])
    return (
        "on labelled rows that are held out they gain no more than chance may (wrong without them "
        f"{tried[0]['error']:.1%}, with them {best['error']:.1%}; area under the ROC curve "
        f"{best['gain']:+.3f} ± {best['standard_error']:.3f})"
    )
