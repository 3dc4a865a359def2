"""The composed model: any loss, penalty, rule and step that go together."""

from tamis.base.border import take_term
from tamis.base.classifier import Classes
from tamis.base.parameters import STEPPING, STRENGTH, TERM
from tamis.base.recipe import recipe
from tamis.base.regressor import Numbers
from tamis.base.stream import OnlineLinear
from tamis.solvers.pairing import (
    LEADER_ETA,
    PENALTIES,
    descent_eta,
    is_auto,
    loss_of,
    pair,
    penalty_of,
    step_of,
)
from tamis.terms.rules import RULES

_CONSTRAINTS = {**STRENGTH, **STEPPING, "penalty": TERM, "rule": TERM}
_RULE_VERBS = (
    "settle",
    "absorb",
    "accrue",
    "owes",
    "rebase",
    "line",
    "final",
    "unit",
    "tame",
    "columns",
    "signs",
    "objection",
)
_PENALTY_VERBS = ("value", "prox", "rates", "collect", "carry", "lean")


class _Composed(OnlineLinear):
    """Models whose terms are all parameters."""

    def _terms(self):
        loss = loss_of(self)
        rule = take_term("rule", self.rule, RULES, _RULE_VERBS)
        penalty, auto_alpha = self._penalty()
        leading = rule.unit(2.0, 1.0) == 0.5  # one rate a coordinate
        schedule = ("constant" if leading else "inverse_sqrt") if is_auto(self.step) else self.step
        step, auto_eta = step_of(schedule, self.eta, LEADER_ETA if leading else descent_eta(loss))
        return pair(self, loss, penalty, rule, step), self._flags(auto_eta, auto_alpha)

    def _penalty(self):
        """Penalty term and whether its strength is automatic."""
        if self.penalty is None:
            return penalty_of(0.0, 0.0, self.positive)
        if isinstance(self.penalty, str) and self.penalty in PENALTIES:
            ratio = PENALTIES[self.penalty]
            return penalty_of(self.alpha, self.l1_ratio if ratio is None else ratio, self.positive)
        return take_term("penalty", self.penalty, PENALTIES, _PENALTY_VERBS), False


@recipe(
    _CONSTRAINTS,
    loss="logistic",
    penalty="l1",
    rule="descent",
    step="auto",
    alpha="auto",
    l1_ratio=0.5,
    eta="auto",
)
class OnlineClassifier(Classes, _Composed):
    r"""Online linear classifier of any loss, penalty, rule and step.

    Walks the rows once a pass and keeps, for each feature, what its rule needs: with loss
    :math:`\ell`, penalty :math:`\psi` and step sizes :math:`\eta_t`, it minimises :math:`\frac1n
    \sum_i \ell(w^T x_i + b, y_i) + \alpha\, \psi(w)`.

    The recipes are settings of it. Choose it for other combinations: plain SGD (``penalty=None``),
    passive-aggressive (``loss="hinge", penalty=None, step="passive_aggressive"``), AdaGrad
    (``rule="adagrad"``), ridge, or a loss of your own. Terms that do not go together are refused
    with the reason.

    Parameters
    ----------
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    penalty : {"l1", "l2", "elasticnet"}, term or None, default="l1"
        Penalty of the weights ("ridge" is another name of "l2"). None is plain SGD.
    rule : str or term, default="descent"
        "descent", "dual_averaging", "ftrl" or "adagrad".
    step : str or term, default="auto"
        Schedule of the step sizes: "inverse_sqrt", "inverse_time", "constant",
        "passive_aggressive", or a term. "auto" is constant for rules with one rate a feature,
        "ftrl" and "adagrad", and "inverse_sqrt" for others.
    alpha : float or "auto", default="auto"
        Strength of a penalty given by name, in units of the mean loss. "auto" is 1e-4 times the
        mean slope of the loss at score 0 times the mean norm of the rows so far.
    l1_ratio : float, default=0.5
        Share of L1 in the elastic net.
    eta : float or "auto", default="auto"
        Size of the first steps; with passive-aggressive steps their cap C. "auto" follows the
        curvature of the loss and the mean norm of the rows so far.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    FOBOSClassifier : Descent with a prox.
    TruncatedGradientClassifier : Descent with a truncation after each burst.
    RDAClassifier : Dual averaging.
    FTRLClassifier : Follow the regularized leader.

    References
    ----------
    S. Shalev-Shwartz, "Online Learning and Online Convex Optimization", Foundations and Trends in
    Machine Learning 4, 2012.

    K. Crammer et al., "Online Passive-Aggressive Algorithms", Journal of Machine Learning Research
    7, 2006.

    Examples
    --------
    >>> from tamis import OnlineClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = OnlineClassifier(loss="hinge", penalty=None, step="passive_aggressive", max_iter=5, tol=None, random_state=0)
    >>> model.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.6
    True
    >>> OnlineClassifier(rule="adagrad", penalty="l2").fit(X, y)
    Traceback (most recent call last):
        ...
    ValueError: OnlineClassifier: AdaGrad(delta=0.0) does not go with Ridge(...): a ridge would
    divide each coordinate by another ...
    """


@recipe(
    _CONSTRAINTS,
    loss="squared_error",
    penalty="l1",
    rule="descent",
    step="auto",
    alpha="auto",
    l1_ratio=0.5,
    eta="auto",
)
class OnlineRegressor(Numbers, _Composed):
    r"""Online linear regressor of any loss, penalty, rule and step.

    Walks the rows once a pass and keeps, for each feature, what its rule needs: with loss
    :math:`\ell`, penalty :math:`\psi` and step sizes :math:`\eta_t`, it minimises :math:`\frac1n
    \sum_i \ell(w^T x_i + b, y_i) + \alpha\, \psi(w)`.

    The recipes are settings of it. Choose it for other combinations: plain SGD (``penalty=None``),
    passive-aggressive (``loss="epsilon_insensitive", penalty=None, step="passive_aggressive"``),
    AdaGrad (``rule="adagrad"``), ridge, or a loss of your own. Terms that do not go together are
    refused with the reason.

    Parameters
    ----------
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    penalty : {"l1", "l2", "elasticnet"}, term or None, default="l1"
        Penalty of the weights ("ridge" is another name of "l2"). None is plain SGD.
    rule : str or term, default="descent"
        "descent", "dual_averaging", "ftrl" or "adagrad".
    step : str or term, default="auto"
        Schedule of the step sizes: "inverse_sqrt", "inverse_time", "constant",
        "passive_aggressive", or a term. "auto" is constant for rules with one rate a feature,
        "ftrl" and "adagrad", and "inverse_sqrt" for others.
    alpha : float or "auto", default="auto"
        Strength of a penalty given by name, in units of the mean loss. "auto" is 1e-4 times the
        mean slope of the loss at score 0 times the mean norm of the rows so far.
    l1_ratio : float, default=0.5
        Share of L1 in the elastic net.
    eta : float or "auto", default="auto"
        Size of the first steps; with passive-aggressive steps their cap C. "auto" follows the
        curvature of the loss and the mean norm of the rows so far.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    FOBOSRegressor : Descent with a prox.
    TruncatedGradientRegressor : Descent with a truncation after each burst.
    RDARegressor : Dual averaging.
    FTRLRegressor : Follow the regularized leader.

    References
    ----------
    S. Shalev-Shwartz, "Online Learning and Online Convex Optimization", Foundations and Trends in
    Machine Learning 4, 2012.

    K. Crammer et al., "Online Passive-Aggressive Algorithms", Journal of Machine Learning Research
    7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = OnlineRegressor(loss="huber", random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """
