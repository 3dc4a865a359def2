"""First-order online models: one loop, and recipes that choose its terms."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from tamis._checks import take_term
from tamis.models.linear import OnlineLinear
from tamis.models.pairing import PENALTIES, is_auto, loss_of, pair, penalty_of, step_of
from tamis.models.recipe import recipe
from tamis.models.targets import Classes, Numbers
from tamis.terms.penalties import Free
from tamis.terms.rules import FTRL, RULES, CappedDescent, Descent, DualAveraging

DESCENT_ETA, LEADER_ETA = 4.0, 0.5  # automatic step sizes, in units of the rows' mean squared norm (its root)

_NUMBER = Interval(Real, 0, None, closed="left")
_ABOVE = Interval(Real, 0, None, closed="neither")
_SHARE = Interval(Real, 0, 1, closed="both")
_AUTO = StrOptions({"auto"})
_ANY = "no_validation"
_STEP = {"loss": _ANY, "step": _ANY, "eta": [_ABOVE, _AUTO]}


class _Descent(OnlineLinear):
    """Recipes that take descent steps and shrink after each."""

    def _terms(self):
        penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio, self.positive)
        step, auto_eta = step_of(self.step, self.eta, DESCENT_ETA)
        terms = pair(self, loss_of(self, isinstance(self, Classes)), penalty, Descent(), step)
        return terms, (float(self.fit_intercept), float(auto_eta), float(auto_alpha))


class _Truncated(OnlineLinear):
    """Recipes that shrink by a gravity after each burst."""

    def _terms(self):
        automatic = is_auto(self.gravity)
        penalty, _ = penalty_of(self.gravity, 1.0, self.positive)
        step, auto_eta = step_of(self.step, self.eta, DESCENT_ETA)
        priced = float(automatic)  # a gravity given as a number is in units of the weights
        rule = Descent(float(self.burst), priced) if self.theta is None else CappedDescent(float(self.burst), float(self.theta), priced)
        terms = pair(self, loss_of(self, isinstance(self, Classes)), penalty, rule, step)
        return terms, (float(self.fit_intercept), float(auto_eta), float(automatic))

    def _name_constants(self, eta, l1, l2):
        return {"eta": float(eta), "gravity": float(l1 * (eta if is_auto(self.gravity) else 1.0))}

    def _advice(self):
        return "Lower gravity, or pass gravity='auto'."


class _Averaging(OnlineLinear):
    """Recipes that follow the mean of all gradients."""

    def _terms(self):
        penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio, self.positive)
        automatic = is_auto(self.gamma)
        step, _ = step_of("inverse_sqrt", DESCENT_ETA if automatic else 1.0 / self.gamma, DESCENT_ETA)
        terms = pair(self, loss_of(self, isinstance(self, Classes)), penalty, DualAveraging(float(self.rho)), step)
        return terms, (float(self.fit_intercept), float(automatic), float(auto_alpha))

    def _name_constants(self, eta, l1, l2):
        return {"gamma": float(1.0 / (eta * max(self.t_, 1) ** 0.5)), "l1": float(l1), "l2": float(l2)}

    def _advice(self):
        return "Lower alpha or rho, or pass alpha='auto' and gamma='auto'."


class _Leader(OnlineLinear):
    """Recipes that follow the regularized leader."""

    def _terms(self):
        penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio, self.positive)
        step, auto_eta = step_of("constant", self.eta, LEADER_ETA)
        terms = pair(self, loss_of(self, isinstance(self, Classes)), penalty, FTRL(float(self.beta)), step)
        return terms, (float(self.fit_intercept), float(auto_eta), float(auto_alpha))


class _Composed(OnlineLinear):
    """Any loss, penalty, rule and step."""

    def _terms(self):
        rule = take_term("rule", self.rule, RULES, ("settle", "absorb", "accrue", "rebase", "line", "final", "unit", "columns", "objection"))
        if self.penalty is None:
            penalty, auto_alpha = (penalty_of(0.0, 0.0, True) if self.positive else (Free(), False))
        elif isinstance(self.penalty, str) and self.penalty in PENALTIES:
            ratio = PENALTIES[self.penalty]
            penalty, auto_alpha = penalty_of(self.alpha, self.l1_ratio if ratio is None else ratio, self.positive)
        else:
            penalty = take_term("penalty", self.penalty, PENALTIES, ("value", "prox", "rates", "collect", "carry"))
            auto_alpha = False
        per_coordinate = rule.unit(4.0) != 0.25
        step, auto_eta = step_of(self.step, self.eta, LEADER_ETA if per_coordinate else DESCENT_ETA)
        terms = pair(self, loss_of(self, isinstance(self, Classes)), penalty, rule, step)
        return terms, (float(self.fit_intercept), float(auto_eta), float(auto_alpha))


_STRENGTH = {**_STEP, "alpha": [_NUMBER, _AUTO], "l1_ratio": [_SHARE]}
_COMPOSED = {**_STRENGTH, "penalty": _ANY, "rule": _ANY}
_GRAVITY = {**_STEP, "gravity": [_NUMBER, _AUTO], "burst": [Interval(Integral, 1, None, closed="left")], "theta": [_ABOVE, None]}
_DUAL = {"loss": _ANY, "alpha": [_NUMBER, _AUTO], "gamma": [_ABOVE, _AUTO], "rho": [_NUMBER], "l1_ratio": [_SHARE]}
_LEAD = {"loss": _ANY, "alpha": [_NUMBER, _AUTO], "l1_ratio": [_SHARE], "eta": [_ABOVE, _AUTO], "beta": [_ABOVE]}


@recipe(_COMPOSED, loss="logistic", penalty="l1", rule="descent", step="inverse_sqrt", alpha="auto", l1_ratio=0.5, eta="auto")
class OnlineClassifier(Classes, _Composed):
    """Online linear classifier."""


@recipe(_COMPOSED, loss="squared_error", penalty="l1", rule="descent", step="inverse_sqrt", alpha="auto", l1_ratio=0.5, eta="auto")
class OnlineRegressor(Numbers, _Composed):
    """Online linear regressor."""


@recipe(_STRENGTH, alpha="auto", l1_ratio=1.0, loss="logistic", step="inverse_sqrt", eta="auto")
class FOBOSClassifier(Classes, _Descent):
    """FOBOS."""


@recipe(_STRENGTH, alpha="auto", l1_ratio=1.0, loss="squared_error", step="inverse_sqrt", eta="auto")
class FOBOSRegressor(Numbers, _Descent):
    """FOBOS."""


@recipe(_GRAVITY, gravity="auto", burst=5, theta=None, loss="logistic", step="inverse_sqrt", eta="auto")
class TruncatedGradientClassifier(Classes, _Truncated):
    """TG."""


@recipe(_GRAVITY, gravity="auto", burst=5, theta=None, loss="squared_error", step="inverse_sqrt", eta="auto")
class TruncatedGradientRegressor(Numbers, _Truncated):
    """TG."""


@recipe(_DUAL, alpha="auto", gamma="auto", rho=0.0, l1_ratio=1.0, loss="logistic")
class RDAClassifier(Classes, _Averaging):
    """RDA."""


@recipe(_DUAL, alpha="auto", gamma="auto", rho=0.0, l1_ratio=1.0, loss="squared_error")
class RDARegressor(Numbers, _Averaging):
    """RDA."""


@recipe(_LEAD, alpha="auto", l1_ratio=1.0, loss="logistic", eta="auto", beta=1.0)
class FTRLClassifier(Classes, _Leader):
    """FTRL."""


@recipe(_LEAD, alpha="auto", l1_ratio=1.0, loss="squared_error", eta="auto", beta=1.0)
class FTRLRegressor(Numbers, _Leader):
    """FTRL."""
