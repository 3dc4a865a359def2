"""Base class of selectors with a stated false discovery rate: shared parameters and targets."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.selector import Selector
from tamis.base.fast_checks import target_type
from tamis.base.parameters import POSITIVE_INTEGER, Auto, estimator, one_of_strings, parameter
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.system.schema import nested_object
from tamis.system.schema import one_of as either

CLASS_TARGET_TYPES = ("binary", "multiclass", "multilabel-indicator", "multiclass-multioutput")


@estimator
class BaseFDRSelector(Selector, Estimator):
    """Base class of `FDRSelector` and `FDRStream`."""

    q: float = parameter(
        0.1,
        [Interval(Real, 0.0, 1.0, closed="neither")],
        "Largest expected fraction of false features among the selected ones.",
    )
    substitutes: float | None = parameter(
        0.5,
        [Interval(Real, 0.0, 1.0, closed="right"), None],
        "Absolute correlation above which a column is a substitute of another: a claim is then "
        "about a group. None claims single features.",
    )
    n_candidates: int = parameter(
        60,
        [POSITIVE_INTEGER],
        "How many columns are tested: those that enter the path first. Raise it where more "
        "features are expected to be real.",
    )
    n_controls: int = parameter(
        10,
        [Interval(Integral, 0, None, closed="left")],
        "Largest number of correlates among the controls of a test, in addition to the columns "
        "that the path selects.",
    )
    targets: str | Auto = parameter(
        "auto",
        [one_of_strings("auto", "classes", "numbers")],
        'What y holds: "classes", or "numbers". "auto" is numbers for fractions, and classes '
        "otherwise, as in scikit-learn.",
        '{"auto", "classes", "numbers"}',
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_targets": either(
            nested_object(ClassTargets, "outputs", "targets"),
            nested_object(NumberTargets, "outputs", "targets"),
        ),
    }

    def _substitute_threshold(self) -> float | None:
        """Return `substitutes` as a float, or None."""
        return None if self.substitutes is None else float(self.substitutes)

    def _has_class_targets(self, y) -> bool:
        """Return whether y holds classes: by `targets`, or by its values."""
        if self.targets == "auto":
            return y is not None and target_type(y) in CLASS_TARGET_TYPES
        return self.targets == "classes"

    def _weight_rows(self, targets, columns, weights, **stream):
        """Return targets and row weights unchanged."""
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
    """Return the outcomes (rows, outputs), 0 and 1 for classes, and whether they are classes."""
    if isinstance(targets, NumberTargets):
        return np.ascontiguousarray(columns), False
    return (targets.signs(columns) > 0).astype(float), True
