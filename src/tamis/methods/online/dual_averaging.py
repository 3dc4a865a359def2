"""Regularized dual averaging: weights are a function of the mean gradient."""

from tamis.base.classifier import Classes
from tamis.base.parameters import ABOVE, AUTO, NUMBER, STRENGTH
from tamis.base.recipe import recipe
from tamis.base.regressor import Numbers
from tamis.base.stream import OnlineLinear
from tamis.solvers.pairing import descent_eta, is_auto, loss_of, pair, penalty_of
from tamis.terms.rules import DualAveraging
from tamis.terms.steps import InverseSqrt

DELAY = 256.0  # rows before the automatic scale starts to fall: without it the first rows overshoot
_CONSTRAINTS = {**STRENGTH, "gamma": [ABOVE, AUTO], "rho": [NUMBER]}


class _Averaging(OnlineLinear):
    """Recipes that follow the mean of all gradients."""

    def _terms(self):
        loss = loss_of(self)
        penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio, self.positive)
        automatic = is_auto(self.gamma)
        step = (
            InverseSqrt(descent_eta(loss), DELAY)
            if automatic
            else InverseSqrt(1.0 / self.gamma, 1.0)
        )
        return pair(self, loss, penalty, DualAveraging(float(self.rho)), step), self._flags(
            automatic, auto_alpha
        )

    def _name_constants(self, eta, l1, l2):
        return {
            "gamma": float(1.0 / (eta * max(self.t_, 1) ** 0.5)),
            "l1": float(l1),
            "l2": float(l2),
        }

    def _advice(self):
        return "Lower alpha or rho, or pass alpha='auto' and gamma='auto'."


@recipe(_CONSTRAINTS, alpha="auto", gamma="auto", rho=0.0, l1_ratio=1.0, loss="logistic")
class RDAClassifier(Classes, _Averaging):
    r"""Sparse online classifier by regularized dual averaging (RDA).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2}
    \|w\|_2^2\Big)

    by dual averaging: with the sum of all gradients :math:`G_t`, :math:`\lambda = \alpha r` and the
    soft threshold :math:`T`,

    .. math:: w_{t+1} = -\frac{1}{\gamma \sqrt t}\, T\big(G_t,\; \lambda t + \gamma \rho \sqrt
    t\big)

    (a ridge adds :math:`\alpha (1 - r) t` to the divisor). A weight is a function of the sum of its
    gradients, so nothing is owed.

    Choose it for very sparse models that stay the same when rows are reordered. Its scale matters:
    with the published :math:`\gamma = 5000` the model stays empty on rows of unit norm, so the
    default takes it from the data.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" is a 16th of the loss's curvature (of 1/4 where it has none)
        times the squared mean norm of the rows so far, and during the first 256 rows more.
    rho : float, default=0.0
        Extra threshold, large at first, that fades as :math:`1 / \sqrt t`; in units of the weights.
    l1_ratio : float, default=1.0
        Share of L1 in the penalty; the rest is ridge.
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    FTRLClassifier : One rate a feature; usually the lowest error.
    FOBOSClassifier : Descent and shrinkage at every row.

    References
    ----------
    L. Xiao, "Dual Averaging Methods for Regularized Stochastic Learning and Online Optimization",
    Journal of Machine Learning Research 11, 2010, algorithms 1 and 2.

    Examples
    --------
    >>> from tamis import RDAClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = RDAClassifier(alpha=1e-3, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 25  # of 5000, all of them planted:
    True
    >>> bool(set(model.support_.tolist()) <= set(planted.tolist()))
    True
    """


@recipe(_CONSTRAINTS, alpha="auto", gamma="auto", rho=0.0, l1_ratio=1.0, loss="squared_error")
class RDARegressor(Numbers, _Averaging):
    r"""Sparse online regressor by regularized dual averaging (RDA).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2}
    \|w\|_2^2\Big)

    by dual averaging: with the sum of all gradients :math:`G_t`, :math:`\lambda = \alpha r` and the
    soft threshold :math:`T`,

    .. math:: w_{t+1} = -\frac{1}{\gamma \sqrt t}\, T\big(G_t,\; \lambda t + \gamma \rho \sqrt
    t\big)

    (a ridge adds :math:`\alpha (1 - r) t` to the divisor). A weight is a function of the sum of its
    gradients, so nothing is owed.

    Choose it for very sparse models that stay the same when rows are reordered. Its scale matters:
    with the published :math:`\gamma = 5000` the model stays empty on rows of unit norm, so the
    default takes it from the data.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" is a 16th of the loss's curvature (of 1/4 where it has none)
        times the squared mean norm of the rows so far, and during the first 256 rows more.
    rho : float, default=0.0
        Extra threshold, large at first, that fades as :math:`1 / \sqrt t`; in units of the weights.
    l1_ratio : float, default=1.0
        Share of L1 in the penalty; the rest is ridge.
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    FTRLRegressor : One rate a feature; usually the lowest error.
    FOBOSRegressor : Descent and shrinkage at every row.

    References
    ----------
    L. Xiao, "Dual Averaging Methods for Regularized Stochastic Learning and Online Optimization",
    Journal of Machine Learning Research 11, 2010, algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import RDARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = RDARegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [2.9, -1.9]
    """
