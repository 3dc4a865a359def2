"""What scikit-learn's common tests may find in a model of tamis, and why."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["expected_failed_checks"]

_ONE_PASS = (
    "a row of weight 2 is one step of twice the slope, a repeated row two steps: an online learner "
    "tells them apart. (A row of weight 0 is exactly nothing.)"
)


def expected_failed_checks(estimator: "BaseEstimator") -> dict[str, str]:
    """Checks of scikit-learn that an estimator of tamis fails for a reason.

    Hand it to scikit-learn's common tests when you test an estimator of tamis, or your own subclass
    of one. Only the two checks of sample-weight equivalence can be in it, and only for online
    learners, which walk the rows one by one.

    Parameters
    ----------
    estimator : estimator
        An instance, fitted or not.

    Returns
    -------
    reasons : dict of {str: str}
        Name of the check: why it fails. Empty for all models but the online ones.

    See Also
    --------
    sklearn.utils.estimator_checks.parametrize_with_checks : Takes this function.
    sklearn.utils.estimator_checks.check_estimator : Takes its result.

    Examples
    --------
    >>> from tamis import FOBOSClassifier
    >>> from tamis.testing import expected_failed_checks
    >>> sorted(expected_failed_checks(FOBOSClassifier()))
    ['check_sample_weight_equivalence_on_dense_data',
    'check_sample_weight_equivalence_on_sparse_data']
    """
    if not getattr(estimator, "_walks_rows", False):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": _ONE_PASS for kind in ("dense", "sparse")
    }
