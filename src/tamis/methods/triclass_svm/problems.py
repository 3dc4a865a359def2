"""Problems of two classes: the labels of their rows, the costs of the losses, and the objective."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.labels import UNLABELLED, FewLabels
from tamis.numerics.csr import EMPTY


class TriClassOptions(NamedTuple):
    """The parameters of TriClassSVC that set costs and losses, under their names."""

    mode: str
    C: float
    C_unlabeled: float
    C_irrelevant: float | None
    epsilon: float
    ramp: float
    balance: str | float | None
    multi_class: str

    @property
    def irrelevant_cost(self) -> float:
        """Cost of a row known as irrelevant."""
        return self.C_unlabeled if self.C_irrelevant is None else self.C_irrelevant

    def with_unlabeled_cost(self, cost: float) -> "TriClassOptions":
        """Return the options with another cost of unlabelled rows. At 0 the machine is the plain
        SVM: it fixes no mean score, and has tubes only for rows with a cost of `C_irrelevant`.
        """
        if cost > 0.0:
            return self._replace(C_unlabeled=cost)
        has_tubes = self.C_irrelevant is not None and self.mode in ("3c", "usvm")
        return self._replace(C_unlabeled=0.0, balance=None, mode="usvm" if has_tubes else "svm")


class BinaryProblem(NamedTuple):
    """One problem of two classes: the labels of the rows and the costs of their losses."""

    labels: np.ndarray
    """+1 and -1 of the classes, 0 of rows known as irrelevant, nan of unlabelled rows."""
    costs: np.ndarray
    """Cost of the loss of each row; rows of cost 0 are left out."""
    epsilon: float
    """Half the width of the tube."""
    mode: str
    ramp: float = 0.0
    """Minus the score up to which the loss of "s3vm" is flat."""
    mean_score: float | None = None
    """Fixed mean score of the unlabelled rows, or None."""
    mean_weights: np.ndarray = EMPTY
    """Weights of the rows in that mean."""

    @property
    def is_unlabelled(self) -> np.ndarray:
        """Mask of the rows without a label."""
        return np.isnan(self.labels)

    def scale_unlabelled_costs(self, factor: float) -> "BinaryProblem":
        """Return the problem with the costs of unlabelled rows multiplied by a factor."""
        return self._replace(costs=np.where(self.is_unlabelled, factor * self.costs, self.costs))

    def majoriser_labels(self, scores) -> np.ndarray:
        """Return the labels whose convex losses majorise the loss at these scores: +1 or -1 for a
        hinge, 0 for a tube, nan for rows that are left out.
        """
        labels, unlabelled = self.labels.copy(), self.is_unlabelled
        size = np.abs(scores[unlabelled])
        sign = np.where(scores[unlabelled] >= 0.0, 1.0, -1.0)
        if self.mode == "3c":
            labels[unlabelled] = np.where(
                np.maximum(1.0 - size, 0.0) <= np.maximum(size - self.epsilon, 0.0), sign, 0.0
            )
        elif self.mode == "s3vm":
            labels[unlabelled] = np.where(size < -self.ramp, np.nan, sign)
        elif self.mode == "usvm":
            labels[unlabelled] = 0.0
        return labels

    def objective(self, scores, sqnorm: float) -> float:
        """Return the objective of scores and the squared norm of the weights."""
        size, labels = np.abs(scores), self.labels
        hinge, tube = np.maximum(1.0 - size, 0.0), np.maximum(size - self.epsilon, 0.0)
        unlabelled_loss = {
            "3c": np.minimum(hinge, tube),
            "usvm": tube,
            "s3vm": np.minimum(hinge, 1.0 + self.ramp),
            "svm": 0.0 * size,
        }[self.mode]
        loss = np.where(
            np.isnan(labels),
            unlabelled_loss,
            np.where(labels == 0.0, tube, np.maximum(1.0 - labels * scores, 0.0)),
        )
        return 0.5 * sqnorm + float(self.costs @ loss)


def labelled_weights(
    labels: FewLabels, weights: np.ndarray, class_factors: np.ndarray
) -> np.ndarray:
    """Return the weights of the labelled rows, class weights included."""
    row_weights = weights[labels.labelled_rows]
    return row_weights * class_factors if len(class_factors) else row_weights


def binary_problems(
    labels: FewLabels, weights: np.ndarray, class_factors: np.ndarray, options: TriClassOptions
) -> list[BinaryProblem]:
    """Return one problem for two classes, else one for each pair of classes or for each class.
    `class_factors` are the class weights of the labelled rows.
    """
    classes = np.arange(len(labels.targets.classes))
    if len(classes) == 2 or options.multi_class == "ovo":
        pairs = [(np.array([low]), high) for low, high in combinations(classes, 2)]
    else:
        pairs = [(np.delete(classes, c), c) for c in classes]
    return [
        _binary_problem(labels, weights, class_factors, options, negative, positive)
        for negative, positive in pairs
    ]


def _binary_problem(
    labels: FewLabels, weights, class_factors, options: TriClassOptions, negative, positive
) -> BinaryProblem:
    """Return the problem of one class against others. Rows of the remaining classes are irrelevant
    to it; the modes with a tube use them.
    """
    codes, unlabelled = labels.codes, labels.codes == UNLABELLED
    signs = np.where(codes == positive, 1.0, np.where(np.isin(codes, negative), -1.0, 0.0))
    costs = np.where(
        unlabelled,
        options.C_unlabeled,
        np.where(signs == 0.0, options.irrelevant_cost, options.C),
    )
    costs = costs * weights
    if options.mode in ("svm", "s3vm"):
        costs[(signs == 0.0) & (codes >= 0)] = 0.0
    if len(class_factors):
        costs[labels.labelled_rows] *= class_factors
    mean_weights, mean_score = np.where(unlabelled, weights, 0.0), options.balance
    if mean_score is not None and not isinstance(mean_score, str):
        mean_score = float(mean_score)
    elif mean_score is not None:
        mean_score = float(np.average(signs[signs != 0.0], weights=weights[signs != 0.0]))
    if not mean_weights.any():
        mean_score = None
    return BinaryProblem(
        np.where(unlabelled, np.nan, signs),
        costs,
        float(options.epsilon),
        options.mode,
        float(options.ramp),
        mean_score,
        EMPTY if mean_score is None else mean_weights / mean_weights.sum(),
    )
