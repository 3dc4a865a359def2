"""Confidence-weighted (CW) and soft confidence-weighted (SCW) classifiers."""

import math
from numbers import Real

from scipy.special import ndtri
from sklearn.utils._param_validation import Interval

from tamis.base.parameters import (
    AUTO,
    POSITIVE,
    Auto,
    estimator,
    is_auto,
    one_of_strings,
    parameter,
)
from tamis.methods.confidence_weighted.estimator import (
    ConfidentClassifier,
    FullCovarianceModel,
    WeightedConfidentClassifier,
)
from tamis.terms.confidence_updates import CWGain, SCWGain

CONFIDENCE_INTERVAL = Interval(Real, 0.5, 1, closed="neither")
AUTO_CONFIDENCE = {"I": 0.75, "II": 0.9}


@estimator
class CWClassifier(FullCovarianceModel, ConfidentClassifier):
    r"""Confidence-weighted classifier: every row is made correct with a given probability.

    Choose it for clean labels in very high dimension, such as text, where it learns fast. It fits
    every wrong label exactly, and becomes confident of it: with noise choose `AROWClassifier` or
    `SCWClassifier`.

    The weights are a normal distribution of mean :math:`\mu` and covariance :math:`\Sigma`. A row
    of side y moves it to the nearest that is right with probability :math:`\eta` (`confidence`),

    .. math:: \arg\min_{\mu, \Sigma} \mathrm{KL}\big(N(\mu, \Sigma) \,\|\, N(\mu_t, \Sigma_t)\big),
       \quad y\, \mu^T x \ge \phi\, x^T \Sigma x \text{ (variance) or }
       \phi \sqrt{x^T \Sigma x} \text{ (std)}

    with :math:`\phi = \Phi^{-1}(\eta)`.

    {parameters}

    {attributes}

    See Also
    --------
    SCWClassifier : The same with slack.
    AROWClassifier : A squared loss in place of the constraint.

    References
    ----------
    M. Dredze, K. Crammer and F. Pereira, "Confidence-Weighted Linear Classification", International
    Conference on Machine Learning, 2008, section 3 (variance). K. Crammer, M. Dredze and F.
    Pereira, "Exact Convex Confidence-Weighted Learning", Advances in Neural Information Processing
    Systems 21, 2009, figure 1 (std).

    Examples
    --------
    >>> from tamis import CWClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = CWClassifier(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    """

    confidence: float = parameter(
        0.7,
        [CONFIDENCE_INTERVAL],
        "Probability with which each row must be right, between 0.5 and 1.",
    )
    form: str = parameter(
        "variance",
        [one_of_strings("std", "variance")],
        "Whether the margin grows with the variance of the row (the first form, 2008) or with "
        "its standard deviation (the exact one, 2009).",
    )

    def _model(self):
        phi = float(ndtri(self.confidence))
        exact = SCWGain(phi, math.inf, 1.0)
        return self._classifier_model(CWGain(phi) if self.form == "variance" else exact)


@estimator
class SCWClassifier(FullCovarianceModel, WeightedConfidentClassifier):
    r"""Soft confidence-weighted classifier: rows are made correct with a given probability, or
    violate it at a cost.

    Choose it as an alternative to `AROWClassifier`: their errors mostly differ by noise. Its margin
    shrinks as it becomes confident, so that it updates on fewer rows and is somewhat faster.

    The weights are a normal distribution of mean :math:`\mu` and covariance :math:`\Sigma`. A row
    of side y moves it to

    .. math:: \arg\min_{\mu, \Sigma} \mathrm{KL}\big(N(\mu, \Sigma) \,\|\, N(\mu_t, \Sigma_t)\big)
       + C\, \xi^q, \quad \xi = \max\big(0, \phi \sqrt{x^T \Sigma x} - y\, \mu^T x\big)

    with :math:`\phi = \Phi^{-1}(\eta)`, :math:`\eta` the `confidence`, and q = 1
    (variant I) or 2 (variant II).

    {parameters}

    {attributes}

    See Also
    --------
    AROWClassifier : A fixed margin of 1 and a squared loss.
    CWClassifier : No slack.

    References
    ----------
    J. Wang, P. Zhao and S. C. H. Hoi, "Exact Soft Confidence-Weighted Learning", International
    Conference on Machine Learning, 2012, propositions 1 and 2.

    Examples
    --------
    >>> from tamis import SCWClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = SCWClassifier(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    """

    variant: str = parameter(
        "I",
        [one_of_strings("I", "II")],
        "Linear or squared price of the shortfall.",
    )
    confidence: float | Auto = parameter(
        "auto",
        [CONFIDENCE_INTERVAL, AUTO],
        'Probability with which each row should be right, between 0.5 and 1. "auto" is 0.75 '
        "for variant I and 0.9 for II.",
    )
    C: float = parameter(
        1.0,
        [POSITIVE],
        "Price of the shortfall: the larger, the longer the steps. Row weights multiply it.",
    )

    def _model(self):
        is_automatic = is_auto(self.confidence)
        confidence = AUTO_CONFIDENCE[self.variant] if is_automatic else self.confidence
        variant = float(len(self.variant))
        return self._classifier_model(SCWGain(float(ndtri(confidence)), float(self.C), variant))
