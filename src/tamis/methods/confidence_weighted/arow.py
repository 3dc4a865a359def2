"""AROW, NAROW and the second-order perceptron."""

from tamis.base.parameters import POSITIVE, estimator, parameter
from tamis.methods.confidence_weighted.estimator import (
    ConfidentClassifier,
    FullCovarianceModel,
    WeightedConfidentClassifier,
)
from tamis.terms.confidence_updates import AROWGain, NAROWGain, SOPGain


@estimator
class AROWClassifier(FullCovarianceModel, WeightedConfidentClassifier):
    r"""Adaptive regularization of weights (AROW): a confidence-weighted classifier that is robust
    to wrong labels.

    Choose it as the first of its family: one pass over sparse rows is often close to a tuned batch
    model, and wrong labels do little harm. With ``covariance="full"`` it also knows which columns
    go together, at a cost that grows with their square: for up to about a thousand columns. Choose
    `FTRLClassifier` or `SieveClassifier` where few features are wanted: no weight is 0 here.

    The weights are a normal distribution of mean :math:`\mu` and covariance :math:`\Sigma`. A row
    of side y with margin below 1 moves it to

    .. math:: \arg\min_{\mu, \Sigma} \mathrm{KL}\big(N(\mu, \Sigma) \,\|\, N(\mu_t, \Sigma_t)\big)
        + \frac{1}{2r} \max(0, 1 - y\, \mu^T x)^2 + \frac{1}{2r} x^T \Sigma x

    Its mean is ridge regression of penalty r on the rows it learnt from. The weights of frequent
    columns have a small variance and change little; those of rare columns change much.

    {parameters}

    {attributes}

    See Also
    --------
    SCWClassifier : A margin that grows with the uncertainty; often as good.
    NAROWClassifier : Shrinks the covariance only for rows that are still uncertain.
    SOFSClassifier : Keeps a fixed number of features.

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, "Adaptive Regularization of Weight Vectors", Advances in
    Neural Information Processing Systems 22, 2009, equations 7 and 9.

    Examples
    --------
    >>> from tamis import AROWClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = AROWClassifier(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    >>> sure = model.predict_confidence(X[3000:]) > 0.9
    >>> model.score(X[3000:][sure], y[3000:][sure]) > model.score(X[3000:], y[3000:])
    True
    """

    r: float = parameter(
        1.0,
        [POSITIVE],
        "How little a single row is trusted: the larger, the shorter the steps. Divided by the "
        "row's weight.",
    )

    def _model(self):
        return self._classifier_model(AROWGain(float(self.r)))


@estimator
class NAROWClassifier(FullCovarianceModel, ConfidentClassifier):
    r"""Narrow AROW: a confidence-weighted classifier that shrinks its covariance for uncertain
    rows.

    Choose it where later rows should keep their weight: its covariance does not shrink for ever.
    For rows of unit length b must exceed 1, or the covariance never moves. `AROWClassifier` had the
    lower error in most comparisons.

    As AROW, with an r for each row of variance :math:`v = x^T \Sigma x`:

    .. math:: r_t = \frac{v}{b v - 1} \text{ if } b v > 1, \text{ else } \infty

    so that a row's variance falls to :math:`1 / b` and not below. Rows of smaller variance change
    the mean by :math:`y \Sigma x` and leave the covariance unchanged. The mean equals
    :math:`\mu = \Sigma \sum y x` over the rows it learnt from.

    {parameters}

    {attributes}

    See Also
    --------
    AROWClassifier : One r for all rows.

    References
    ----------
    F. Orabona and K. Crammer, "New Adaptive Algorithms for Online Classification", Advances in
    Neural Information Processing Systems 23, 2010, section 5.

    Examples
    --------
    >>> from tamis import NAROWClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = NAROWClassifier(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    """

    b: float = parameter(
        1.0,
        [POSITIVE],
        "Inverse of the variance at which a row counts as sure: the larger, the more the "
        "covariance narrows.",
    )

    def _model(self):
        return self._classifier_model(NAROWGain(float(self.b)))


@estimator
class SecondOrderPerceptron(FullCovarianceModel, WeightedConfidentClassifier):
    r"""Second-order perceptron: ridge regression on the rows that it misclassified.

    Choose it for its mistake bound, or where updates must be few. `AROWClassifier`, which also
    learns from small margins, has lower error.

    A row of side y on the wrong side of the boundary (or on it) moves the weights to

    .. math:: \mu = \Big(a I + \sum_s x_s x_s^T\Big)^{-1} \sum_s y_s x_s

    the sums over all mistakes so far. It is AROW with :math:`r = 1`, triggered by mistakes in place
    of margin errors.

    {parameters}

    {attributes}

    See Also
    --------
    AROWClassifier : Learns from margin errors too.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi and C. Gentile, "A Second-Order Perceptron Algorithm", SIAM Journal
    on Computing 34(3), 2005, section 3.

    Examples
    --------
    >>> from tamis import SecondOrderPerceptron
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = SecondOrderPerceptron(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    """

    a: float = parameter(
        1.0,
        [POSITIVE],
        "Precision of each weight before the first row: the larger, the shorter the first steps.",
    )

    def _model(self):
        return self._classifier_model(SOPGain(1.0), start=float(self.a))
