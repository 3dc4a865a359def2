"""DataThresholder: a transformer that sets small entries to 0."""

from typing import ClassVar

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from tamis.base.estimators.estimator import Transformer, validate_prediction, validate_rows
from tamis.base.parameters import (
    AUTO,
    NON_NEGATIVE,
    UNIT_INTERVAL,
    Auto,
    estimator,
    is_auto,
    parameter,
)
from tamis.methods.data_thresholding.thresholds import (
    apply_threshold,
    nonzero_magnitudes,
    threshold_for_fraction,
)
from tamis.system.schema import number
from tamis.system.threads import locked


@estimator
class DataThresholder(OneToOneFeatureMixin, Transformer):
    r"""Transformer that drops small entries: those of absolute value at most t become 0.

    Use it before any model to make data smaller and fits faster. A bound on the loss of accuracy is
    known for L1 classifiers only: use `ThresholdedClassifier` there, which thresholds in the same
    way, bounds the distance of the model from the optimum, and predicts from rows that are not
    thresholded.

    .. math:: x_{ij}(t) = x_{ij} \text{ if } |x_{ij}| > t, \text{ else } 0

    In a pipeline the rows to be predicted are thresholded too; with thresholds that drop many
    entries, models had a higher error on such rows than on complete ones. Scale the features first,
    since one threshold applies to all of them.

    {parameters}

    {attributes}

    See Also
    --------
    ThresholdedClassifier : L1 classifier that thresholds its training data, with a certificate.
    sklearn.preprocessing.Binarizer : Sets entries above a threshold to 1.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, chapter 3.

    Examples
    --------
    >>> from tamis import DataThresholder
    >>> DataThresholder(threshold=0.1).fit_transform([[0.05, -0.7], [0.3, 0.1]])
    array([[ 0. , -0.7],
           [ 0.3,  0. ]])
    """

    threshold: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Entries of this absolute value or less are dropped. "auto" is the threshold above which a '
        "fraction `fraction` of the nonzero entries of the training rows lies.",
    )
    fraction: float = parameter(
        0.5,
        [UNIT_INTERVAL],
        "Fraction of the nonzero entries to keep, between 0 and 1. It is approximate if several "
        "entries have the same absolute value.",
    )
    _contents: ClassVar[dict] = {
        "threshold_": number(float, minimum=0.0),
        "kept_fraction_": number(float, minimum=0.0, maximum=1.0),
        "dropped_": number(float, minimum=0.0),
    }
    _attributes: ClassVar[str] = """\
        threshold_ : float
            Threshold.
        kept_fraction_ : float
            Fraction of the nonzero entries of the training rows that are above the threshold.
        dropped_ : float
            Largest absolute value of the entries dropped from the training rows; 0 if there are
            none.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    @locked
    def fit(self, X, y=None):
        """Choose the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._validate_params()
        matrix = validate_rows(self, X, reset=True)
        self.threshold_ = (
            threshold_for_fraction(matrix, float(self.fraction))
            if is_auto(self.threshold)
            else float(self.threshold)
        )
        magnitudes = nonzero_magnitudes(matrix)
        small = magnitudes[magnitudes <= self.threshold_]
        self.kept_fraction_ = 1.0 - len(small) / len(magnitudes) if len(magnitudes) else 1.0
        self.dropped_ = float(small.max(initial=0.0))
        return self

    def transform(self, X):
        """Return a copy of X with entries up to the threshold set to 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray or CSR array of shape (n_samples, n_features)
            Sparse where X is.
        """
        matrix = validate_prediction(self, X)
        if isinstance(matrix, np.ndarray):
            return np.where(np.abs(matrix) > self.threshold_, matrix, matrix.dtype.type(0))
        thresholded = apply_threshold(
            matrix, self.threshold_
        ).matrix  # the input itself if unchanged
        return thresholded.copy() if thresholded is matrix else thresholded
