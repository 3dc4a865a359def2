"""Parameters into terms: names, automatic constants, and which terms go together."""

from sklearn.base import is_regressor

from tamis.base.parameters import take_term
from tamis.terms.learning_rates import LEARNING_RATES, PassiveAggressive
from tamis.terms.losses import LOSSES
from tamis.terms.optimizers import Averaged
from tamis.terms.penalties import L1, ElasticNet, Free, Ridge

AUTO_ALPHA = 1e-4  # in units of (slope at score 0) x (norm of a row)
LEADER_ETA = 1.0  # in units of (gradient at score 0) / (norm of a row)
PENALTIES = {"l1": 1.0, "l2": 0.0, "ridge": 0.0, "elasticnet": None}
REGRESSION = ("squared_error", "huber", "epsilon_insensitive")


def is_smooth(loss) -> bool:
    """Whether a loss has no kink."""
    return getattr(loss, "smooth", True)


def accepts_numbers(loss) -> bool:
    """Whether a loss takes any numbers as targets. One that does not say so does where it is
    symmetric in the residual.
    """
    if hasattr(loss, "accepts"):
        return bool(loss.accepts(0.5))
    return loss.gradient(2.0, 1.0) == -loss.gradient(0.0, 1.0)


def loss_of(model):
    """The loss term of a model; a regressor takes only losses of the residual."""
    loss = take_term("loss", model.loss, LOSSES, ("value", "gradient", "hessian_bound"))
    if is_regressor(model) and not accepts_numbers(loss):
        raise ValueError(
            f"loss={model.loss!r} is a loss of class margins; {type(model).__name__} takes "
            f"{', '.join(map(repr, REGRESSION))}, "
            "or a term that depends on score - target."
        )
    return loss


def penalty_of(alpha, l1_ratio: float, positive: bool):
    """Penalty term and whether its strength is automatic."""
    automatic = isinstance(alpha, str)
    strength = AUTO_ALPHA if automatic else float(alpha)
    l1, l2 = strength * l1_ratio, strength * (1.0 - l1_ratio)
    sign = float(positive)
    if l1 and l2:
        return ElasticNet(l1, l2, sign), automatic
    if l1:
        return L1(l1, sign), automatic
    return (Ridge(l2, sign) if l2 or positive else Free()), automatic


def learning_rate_of(learning_rate, eta, automatic_eta: float):
    """Learning rate and whether its size is automatic."""
    given = take_term("learning_rate", learning_rate, LEARNING_RATES, ("step_size",))
    if not isinstance(learning_rate, str):
        if not isinstance(eta, str):
            raise ValueError(
                f"learning_rate={learning_rate!r} has a size of its own; leave eta at 'auto' "
                "beside it."
            )
        return given, False
    if isinstance(given, PassiveAggressive):
        return (given if isinstance(eta, str) else given._replace(C=float(eta))), False
    automatic = isinstance(eta, str)
    return given._replace(eta=automatic_eta if automatic else float(eta)), automatic


def pair(model, loss, penalty, optimizer, learning_rate):
    """The terms as the loops take them, or an error that says what is missing."""
    name = type(model).__name__
    objection = optimizer.objection(penalty, model.average)
    if objection:
        raise ValueError(
            f"{name}: {optimizer!r} does not go with "
            f"{penalty!r}{' and average=True' if model.average else ''}: {objection}."
        )
    if isinstance(learning_rate, PassiveAggressive):
        if is_smooth(loss):
            raise ValueError(
                f"{name}: passive-aggressive steps need a loss of slope 1 or 0 (hinge, "
                f"epsilon_insensitive). Got {loss!r}."
            )
        if penalty.rates() != (0.0, 0.0) or not optimizer.takes_any_step():
            raise ValueError(
                f"{name}: passive-aggressive steps depend on the loss of each row, so they set no "
                f"common schedule for {penalty!r} and {optimizer!r}. "
                "Use penalty=None with optimizer='descent', or another step."
            )
    return loss, penalty, Averaged(optimizer) if model.average else optimizer, learning_rate
