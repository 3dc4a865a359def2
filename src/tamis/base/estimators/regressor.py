"""Regressors: what they are given, and what they answer."""

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from tamis.base.estimators.estimator import Estimator, Left
from tamis.base.estimators.explaining import Explains
from tamis.base.fast_checks import check_scores
from tamis.base.targets import NumberTargets
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import early, part


class Regressor(RegressorMixin, Explains, Estimator):
    """What regressors answer; a method adds `_fit` and `_scores`."""

    _contents: ClassVar[dict] = {"_targets": early(part(NumberTargets, "outputs", "targets"))}

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows."""
        return self._fit(X, y, sample_weight)

    def _code(self, y, n_rows: int, **known) -> tuple[NumberTargets, EncodedTargets]:
        """Targets, and the columns that loops read."""
        return NumberTargets.of(y, n_rows, self, **known)

    def _weigh(self, targets, columns, weights, **stream):
        """Row weights as they are."""
        return targets, weights

    def predict(self, X):
        """Predictions for the rows."""
        targets, scores = self._scored(X)
        return targets.predict(scores)

    def _scored(self, X, *beside) -> tuple[NumberTargets, np.ndarray]:
        """Scores and the targets that they are of."""
        if "_targets" in vars(self):
            check_scores(X, self._targets.outputs)
        scores = self._scores(X, *beside)
        return self._targets, scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NumberStream(Left):
    """Stands left of a regressor: it learns from a stream."""

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.
        """
        return self._partial_fit(X, y, sample_weight)
