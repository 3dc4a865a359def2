"""Problems of two classes: what each row is in them, what its loss costs, and the objective."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.labels import UNLABELLED, FewLabels
from tamis.numerics.csr import NOTHING


class Options(NamedTuple):
    """What rows cost and what unlabelled ones mean: parameters of the model, under their names."""

    mode: str
    C: float
    C_unlabeled: float
    C_irrelevant: float | None
    epsilon: float
    ramp: float
    balance: str | float | None
    multi_class: str

    @property
    def beside(self) -> float:
        """Cost of a row known as irrelevant."""
        return self.C_unlabeled if self.C_irrelevant is None else self.C_irrelevant

    def priced(self, price: float) -> "Options":
        """The same with unlabelled rows at a price. At 0 it is the plain machine, which holds no
        mean of theirs, and whose only tubes are those of a price of their own.
        """
        if price > 0.0:
            return self._replace(C_unlabeled=price)
        tubes = self.C_irrelevant is not None and self.mode in ("3c", "usvm")
        return self._replace(C_unlabeled=0.0, balance=None, mode="usvm" if tubes else "svm")


class Task(NamedTuple):
    """One problem of two classes: what each row is, and what its loss costs."""

    labels: np.ndarray
    """+1 and -1 of the classes, 0 of rows known as irrelevant, nan of unlabelled rows."""
    prices: np.ndarray
    """Price of a row's loss; rows of price 0 sit out."""
    epsilon: float
    """Half the width of the tube."""
    mode: str
    ramp: float = 0.0
    """Minus the score up to which the loss of "s3vm" is flat."""
    mean: float | None = None
    """Mean score of the unlabelled rows, where it is held."""
    shares: np.ndarray = NOTHING
    """Weights of the rows in that mean."""

    @property
    def unlabelled(self) -> np.ndarray:
        """Which rows have no label."""
        return np.isnan(self.labels)

    def cheaper(self, share: float) -> "Task":
        """The same with unlabelled rows at a share of their price."""
        return self._replace(prices=np.where(self.unlabelled, share * self.prices, self.prices))

    def filled(self, scores) -> np.ndarray:
        """Labels of the step that majorises the loss at these scores: nan for rows that sit out."""
        labels, open_ = self.labels.copy(), self.unlabelled
        size, side = np.abs(scores[open_]), np.where(scores[open_] >= 0.0, 1.0, -1.0)
        if self.mode == "3c":
            labels[open_] = np.where(
                np.maximum(1.0 - size, 0.0) <= np.maximum(size - self.epsilon, 0.0), side, 0.0
            )
        elif self.mode == "s3vm":
            labels[open_] = np.where(size < -self.ramp, np.nan, side)
        elif self.mode == "usvm":
            labels[open_] = 0.0
        return labels

    def value(self, scores, sqnorm: float) -> float:
        """The objective."""
        size, known = np.abs(scores), self.labels
        hinge, tube = np.maximum(1.0 - size, 0.0), np.maximum(size - self.epsilon, 0.0)
        unknown = {
            "3c": np.minimum(hinge, tube),
            "usvm": tube,
            "s3vm": np.minimum(hinge, 1.0 + self.ramp),
            "svm": 0.0 * size,
        }[self.mode]
        loss = np.where(
            np.isnan(known),
            unknown,
            np.where(known == 0.0, tube, np.maximum(1.0 - known * scores, 0.0)),
        )
        return 0.5 * sqnorm + float(self.prices @ loss)


def shares_of(labels: FewLabels, weights: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Weights of the labelled rows, those of their classes included."""
    return weights[labels.known] * factors if len(factors) else weights[labels.known]


def tasks_of(
    labels: FewLabels, weights: np.ndarray, factors: np.ndarray, options: Options
) -> list[Task]:
    """The problems: one for two classes, else one a pair of classes or one a class; `factors` are
    the weights of the classes of labelled rows.
    """
    many = np.arange(len(labels.targets.classes))
    if len(many) == 2 or options.multi_class == "ovo":
        sides = [(np.array([low]), high) for low, high in combinations(many, 2)]
    else:
        sides = [(np.delete(many, own), own) for own in many]
    return [_task(labels, weights, factors, options, low, high) for low, high in sides]


def _task(labels: FewLabels, weights, factors, options: Options, low, high) -> Task:
    """One problem: rows of classes on neither side are irrelevant to it, which the modes with a
    tube make use of.
    """
    codes, open_ = labels.codes, labels.codes == UNLABELLED
    sides = np.where(codes == high, 1.0, np.where(np.isin(codes, low), -1.0, 0.0))
    costs = np.where(open_, options.C_unlabeled, np.where(sides == 0.0, options.beside, options.C))
    prices = costs * weights
    if options.mode in ("svm", "s3vm"):
        prices[(sides == 0.0) & (codes >= 0)] = 0.0
    if len(factors):
        prices[labels.known] *= factors
    shares, mean = np.where(open_, weights, 0.0), options.balance
    if mean is not None and not isinstance(mean, str):
        mean = float(mean)
    elif mean is not None:
        mean = float(np.average(sides[sides != 0.0], weights=weights[sides != 0.0]))
    if not shares.any():
        mean = None
    return Task(
        np.where(open_, np.nan, sides),
        prices,
        float(options.epsilon),
        options.mode,
        float(options.ramp),
        mean,
        NOTHING if mean is None else shares / shares.sum(),
    )
