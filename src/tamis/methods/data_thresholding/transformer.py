"""Thresholding as a transformer: small entries become 0."""

from typing import ClassVar

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from tamis.base.estimators.estimator import Transformer, plain_rows, take_asked
from tamis.base.parameters import AUTO, NUMBER, SHARE, Auto, estimator, is_auto, parameter
from tamis.methods.data_thresholding.thresholds import drop_small, keeping, sizes_of
from tamis.system.schema import number
from tamis.system.threads import locked


@estimator
class DataThresholder(OneToOneFeatureMixin, Transformer):
    r"""Transformer that drops small entries: those of size at most t become 0.

    Choose it to make data smaller and fits faster before any model. What it costs is known only
    where the model is an L1 classifier: choose `ThresholdedClassifier` there, which has the same
    cut inside, says how far from the optimum it leaves the model, and predicts rows as they are.

    .. math:: x_{ij}(t) = x_{ij} \text{ if } |x_{ij}| > t, \text{ else } 0

    In a pipeline the rows to be predicted are cut too; with thresholds that drop much, models have
    been worse on cut rows than on whole ones. Features should be of one scale, since one threshold
    cuts them all.

    {parameters}

    {attributes}

    See Also
    --------
    ThresholdedClassifier : The cut inside an L1 classifier, with a certificate.
    sklearn.preprocessing.Binarizer : Entries above a threshold become 1.

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
        [NUMBER, AUTO],
        'Entries of this size or less are dropped. "auto" takes the threshold that leaves a share '
        "`fraction` of the nonzero entries of the training rows.",
    )
    fraction: float = parameter(
        0.5,
        [SHARE],
        "That share, between 0 and 1; about, where several entries are of the same size, which "
        "stay or leave together.",
    )
    _contents: ClassVar[dict] = {
        "threshold_": number(float, least=0.0),
        "kept_fraction_": number(float, least=0.0, most=1.0),
        "dropped_": number(float, least=0.0),
    }
    _attributes: ClassVar[str] = """\
        threshold_ : float
            Threshold in use.
        kept_fraction_ : float
            Share of the nonzero entries of the training rows above it.
        dropped_ : float
            Largest size of the entries dropped from them; 0 where none was.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    @locked
    def fit(self, X, y=None):
        """Find the threshold.

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
        matrix = plain_rows(self, X, reset=True)
        self.threshold_ = (
            keeping(matrix, float(self.fraction))
            if is_auto(self.threshold)
            else float(self.threshold)
        )
        sizes = sizes_of(matrix)
        small = sizes[sizes <= self.threshold_]
        self.kept_fraction_ = 1.0 - len(small) / len(sizes) if len(sizes) else 1.0
        self.dropped_ = float(small.max(initial=0.0))
        return self

    def transform(self, X):
        """The rows without their small entries; X itself is never changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray or CSR array of shape (n_samples, n_features)
            Sparse where X is.
        """
        matrix = take_asked(self, X)
        if isinstance(matrix, np.ndarray):
            return np.where(np.abs(matrix) > self.threshold_, matrix, matrix.dtype.type(0))
        kept = drop_small(matrix, self.threshold_).matrix
        return kept.copy() if kept is matrix else kept
