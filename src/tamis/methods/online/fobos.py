"""FOBOS: a descent step, then the penalty's prox."""

from tamis.base.classifier import Classes
from tamis.base.parameters import STEPPING, STRENGTH
from tamis.base.recipe import recipe
from tamis.base.regressor import Numbers
from tamis.base.stream import OnlineLinear
from tamis.solvers.pairing import descent_eta, loss_of, pair, penalty_of, step_of
from tamis.terms.rules import Descent

_CONSTRAINTS = {**STRENGTH, **STEPPING}


class _Forward(OnlineLinear):
    """Recipes that take descent steps and shrink after each."""

    def _terms(self):
        loss = loss_of(self)
        penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio, self.positive)
        step, auto_eta = step_of(self.step, self.eta, descent_eta(loss))
        return pair(self, loss, penalty, Descent(), step), self._flags(auto_eta, auto_alpha)


@recipe(_CONSTRAINTS, alpha="auto", l1_ratio=1.0, loss="logistic", step="inverse_sqrt", eta="auto")
class FOBOSClassifier(Classes, _Forward):
    r"""Sparse online classifier by forward-backward splitting (FOBOS).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2}
    \|w\|_2^2\Big)

    by :math:`w \leftarrow \mathrm{prox}_{\eta_t \alpha}(w - \eta_t g_t)` at every row, paid lazily
    and exactly: a row costs as much as its nonzeros.

    Choose it for a solid sparse model by the textbook. It keeps more features than `RDAClassifier`
    at the same strength, because a weight that was just learnt is shrunk only a little.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    l1_ratio : float, default=1.0
        Share of L1 in the penalty; the rest is ridge.
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    step : str or term, default="inverse_sqrt"
        Schedule of the step sizes: "inverse_sqrt", "inverse_time", "constant", or a term.
    eta : float or "auto", default="auto"
        Size of the first steps. "auto" is 1 over the loss's curvature (4 where it has none) over
        the squared mean norm of the rows so far.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RDAClassifier : Follows the mean of all gradients; sparser.
    FTRLClassifier : One rate a feature; usually the lowest error.
    OnlineClassifier : Any loss, penalty, rule and step.

    References
    ----------
    J. Duchi and Y. Singer, "Efficient Online and Batch Learning Using Forward Backward Splitting",
    Journal of Machine Learning Research 10, 2009, section 2.

    Examples
    --------
    >>> from tamis import FOBOSClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = FOBOSClassifier(alpha=1e-3, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 2000
    True
    """


@recipe(
    _CONSTRAINTS, alpha="auto", l1_ratio=1.0, loss="squared_error", step="inverse_sqrt", eta="auto"
)
class FOBOSRegressor(Numbers, _Forward):
    r"""Sparse online regressor by forward-backward splitting (FOBOS).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2}
    \|w\|_2^2\Big)

    by :math:`w \leftarrow \mathrm{prox}_{\eta_t \alpha}(w - \eta_t g_t)` at every row, paid lazily
    and exactly: a row costs as much as its nonzeros.

    Choose it for a solid sparse model by the textbook. It keeps more features than `RDARegressor`
    at the same strength, because a weight that was just learnt is shrunk only a little.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    l1_ratio : float, default=1.0
        Share of L1 in the penalty; the rest is ridge.
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    step : str or term, default="inverse_sqrt"
        Schedule of the step sizes: "inverse_sqrt", "inverse_time", "constant", or a term.
    eta : float or "auto", default="auto"
        Size of the first steps. "auto" is 1 over the loss's curvature (4 where it has none) over
        the squared mean norm of the rows so far.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RDARegressor : Follows the mean of all gradients; sparser.
    FTRLRegressor : One rate a feature; usually the lowest error.
    OnlineRegressor : Any loss, penalty, rule and step.

    References
    ----------
    J. Duchi and Y. Singer, "Efficient Online and Batch Learning Using Forward Backward Splitting",
    Journal of Machine Learning Research 10, 2009, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FOBOSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = FOBOSRegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """
