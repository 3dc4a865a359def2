"""Passive-aggressive models: first-order members of the family, whose covariance is the
identity.
"""

from tamis.base.parameters import NON_NEGATIVE, POSITIVE, estimator, one_of_strings, parameter
from tamis.methods.confidence_weighted.estimator import (
    ConfidenceTerms,
    ConfidenceWeightedModel,
    ConfidentRegressor,
    WeightedConfidentClassifier,
)
from tamis.terms.confidence_updates import PAGain, Tube

VARIANT_CODES = {"PA": 0.0, "PA-I": 1.0, "PA-II": 2.0}


@estimator
class _PassiveAggressive(ConfidenceWeightedModel):
    """Models with passive-aggressive updates."""

    variant: str = parameter(
        "PA-I", [one_of_strings(*VARIANT_CODES)], "No slack, linear slack, squared slack."
    )
    C: float = parameter(
        1.0,
        [POSITIVE],
        "Price of the slack: the larger, the longer the steps. Row weights multiply it. "
        'Without effect for "PA", which has no slack.',
    )

    def _update(self) -> PAGain:
        return PAGain(float(self.C), VARIANT_CODES[self.variant])


@estimator
class PAClassifier(_PassiveAggressive, WeightedConfidentClassifier):
    r"""Passive-aggressive classifier: the smallest step that corrects each margin error.

    Choose it as the cheapest learner of its family, or as a successor to scikit-learn's
    passive-aggressive classes. `AROWClassifier` costs little more and usually has lower error,
    since it adapts its steps to the frequency of columns. PA without slack fits every wrong label.
    With rows of unit length the intercept takes half of every step and oscillates; use
    ``fit_intercept=False`` then. The covariance is the identity, so that the confidence depends
    only on the distance to the boundary.

    A row of side y moves the weights to

    .. math:: \arg\min_w \tfrac{1}{2} \|w - w_t\|^2 + C \xi, \quad y\, w^T x \ge 1 - \xi

    which is a step of length :math:`\min(C, (1 - y\, w_t^T x) / \|x\|^2)` along x (PA-I). PA has no
    slack and no cap; PA-II pays :math:`C \xi^2`, which makes the step :math:`(1 - y\, w_t^T x) /
    (\|x\|^2 + 1 / 2C)`.

    {parameters}

    {attributes}

    See Also
    --------
    AROWClassifier : Second order: rare columns take longer steps than frequent ones.
    OnlineClassifier : ``learning_rate="pa1"`` takes the same steps, with an intercept outside
        the norm.
    sklearn.linear_model.SGDClassifier : ``learning_rate="pa1"`` without intercept takes the same
        steps, to the bit.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online Passive-Aggressive
    Algorithms", Journal of Machine Learning Research 7, 2006, figure 1.

    Examples
    --------
    >>> from tamis import PAClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = PAClassifier(random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    """

    def _model(self):
        return self._classifier_model(self._update())


@estimator
class PARegressor(_PassiveAggressive, ConfidentRegressor):
    r"""Passive-aggressive regressor: the smallest step that brings each prediction back into a tube
    around its target.

    Choose it for streams whose target drifts, or as a successor to scikit-learn's
    passive-aggressive classes. For a stationary target `FTRLRegressor` converges and has lower
    error. `predict_margin` and `predict_confidence` refer to the prediction and to its sign.

    A row moves the weights to

    .. math:: \arg\min_w \tfrac{1}{2} \|w - w_t\|^2 + C \xi, \quad |w^T x - y| \le \epsilon + \xi

    which is a step of length :math:`\min(C, (|w_t^T x - y| - \epsilon) / \|x\|^2)` along x (PA-I).
    PA has no slack and no cap; PA-II pays :math:`C \xi^2`.

    {parameters}

    {attributes}

    See Also
    --------
    PAClassifier : The same for classes.
    FTRLRegressor : Sparse, and converges.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online Passive-Aggressive
    Algorithms", Journal of Machine Learning Research 7, 2006, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 20))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1]
    >>> model = PARegressor(max_iter=5, tol=None, epsilon=0.01, random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    epsilon: float = parameter(
        0.1,
        [NON_NEGATIVE],
        "Half the width of the tube, in units of the target.",
    )

    def _model(self):
        terms = Tube(float(self.epsilon)), self._update()
        return ConfidenceTerms(terms, (float(self.fit_intercept), 1.0))
