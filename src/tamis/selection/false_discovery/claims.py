"""What selectors at a stated false discovery rate have in common: how much may be false, what is
tested and against what, and what the targets are.
"""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.selector import Selector
from tamis.base.fast_checks import kind_of_targets
from tamis.base.parameters import COUNT, Auto, estimator, one_of, parameter
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.system.schema import one_of as either
from tamis.system.schema import part

CLASSES = ("binary", "multiclass", "multilabel-indicator", "multiclass-multioutput")


@estimator
class BaseFDRSelector(Selector, Estimator):
    """A selector that keeps `support_`."""

    q: float = parameter(
        0.1,
        [Interval(Real, 0.0, 1.0, closed="neither")],
        "Largest expected share of false features among those kept.",
    )
    substitutes: float | None = parameter(
        0.5,
        [Interval(Real, 0.0, 1.0, closed="right"), None],
        "Correlation above which a column may stand in for another: a claim is then about a group. "
        "None claims single features.",
    )
    n_candidates: int = parameter(
        60,
        [COUNT],
        "How many columns are tested, those that enter the path first; raise it where more are "
        "real.",
    )
    n_controls: int = parameter(
        10,
        [Interval(Integral, 0, None, closed="left")],
        "Most correlates that a column is tested against, beside what the path keeps.",
    )
    targets: str | Auto = parameter(
        "auto",
        [one_of("auto", "classes", "numbers")],
        'What y holds: "classes", or "numbers". "auto" takes fractions for numbers, and all else '
        "for classes, as scikit-learn does.",
        '{"auto", "classes", "numbers"}',
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_targets": either(
            part(ClassTargets, "outputs", "targets"), part(NumberTargets, "outputs", "targets")
        ),
    }

    def _bar(self) -> float | None:
        """Correlation of substitutes, as loops take it."""
        return None if self.substitutes is None else float(self.substitutes)

    def _holds_classes(self, y) -> bool:
        """Whether targets are classes: as asked, or as they look."""
        if self.targets == "auto":
            return y is not None and kind_of_targets(y) in CLASSES
        return self.targets == "classes"

    def _weigh(self, targets, columns, weights, **stream):
        """Row weights as they are."""
        return targets, weights

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        targets = vars(self).get("_targets")
        if not isinstance(targets, ClassTargets):
            raise AttributeError(f"{type(self).__name__} has classes_ once it has seen classes.")
        return targets.classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def outcome_matrix(targets, columns: np.ndarray) -> tuple[np.ndarray, bool]:
    """Targets (rows, outputs), 0 and 1 for classes; and whether they are that."""
    if isinstance(targets, NumberTargets):
        return np.ascontiguousarray(columns), False
    return (targets.signs(columns) > 0).astype(float), True
