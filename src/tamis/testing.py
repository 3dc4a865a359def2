"""Expected failures of scikit-learn's common tests for estimators of tamis."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["expected_failed_checks"]

_ONE_PASS = (
    "a row of weight 2 is one step with twice the gradient, a repeated row is two steps, so an "
    "online learner gives different results. (A row of weight 0 has no effect.)"
)


def expected_failed_checks(estimator: "BaseEstimator") -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator of tamis fails by design.

    Pass it to scikit-learn's common tests of an estimator of tamis, or of your own subclass. Only
    the two checks of sample-weight equivalence can be in it, and only for online learners, which
    learn from one row at a time.

    Parameters
    ----------
    estimator : estimator
        An instance, fitted or not.

    Returns
    -------
    reasons : dict of {str: str}
        Name of the check: reason of the failure. Empty for all models but the online ones.

    See Also
    --------
    sklearn.utils.estimator_checks.parametrize_with_checks : Accepts this function.
    sklearn.utils.estimator_checks.check_estimator : Accepts its result.

    Examples
    --------
    >>> from tamis import FOBOSClassifier
    >>> from tamis.testing import expected_failed_checks
    >>> sorted(expected_failed_checks(FOBOSClassifier()))
    ['check_sample_weight_equivalence_on_dense_data',
    'check_sample_weight_equivalence_on_sparse_data']
    """
    if not getattr(estimator, "_steps_by_row", False):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": _ONE_PASS for kind in ("dense", "sparse")
    }
