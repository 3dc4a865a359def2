"""Parameters as terms: names, automatic constants, and which terms work together."""

import math
from typing import NamedTuple

import numpy as np
from sklearn.base import is_regressor

from tamis.base.column_penalties import is_by_column, is_positive
from tamis.base.parameters import resolve_term
from tamis.terms.learning_rates import LEARNING_RATES, PassiveAggressive
from tamis.terms.losses import LOSSES, accepts_classes, accepts_numbers
from tamis.terms.optimizers import Averaged, ByColumn
from tamis.terms.penalties import L1, ElasticNet, Free, Ridge

AUTO_ALPHA = 1e-4  # in units of (gradient at score 0) x (norm of a row)
AUTO_FTRL_ETA = 1.0  # for FTRL, in units of (gradient at score 0) / (norm of a row)
PENALTIES = {"l1": 1.0, "l2": 0.0, "ridge": 0.0, "elasticnet": None}


def is_smooth(loss) -> bool:
    """Return whether a loss has no kink."""
    return getattr(loss, "smooth", True)


def resolve_loss(model):
    """Return the loss term of a model, from its parameter `loss`.

    A classifier takes losses of classes, a regressor losses of numbers. A model with
    `_residual_loss` takes only losses of score - target.
    """
    loss = resolve_term("loss", model.loss, LOSSES, ("value", "gradient", "hessian_bound"))
    accepts = accepts_numbers if is_regressor(model) else accepts_classes
    residual = getattr(model, "_residual_loss", False) and is_regressor(model)
    if accepts(loss) and not (residual and hasattr(loss, "accepts")):
        return loss
    names = [
        repr(name)
        for name, term in LOSSES.items()
        if accepts(term) and not (residual and hasattr(term, "accepts"))
    ]
    domain = getattr(loss, "domain", "other targets")
    term_text = "a term of score - target" if is_regressor(model) else "a term of classes"
    raise ValueError(
        f"loss={model.loss!r} is a loss of {domain}; {type(model).__name__} takes "
        f"{', '.join(names)}, or {term_text}."
    )


def check_targets(loss, targets: np.ndarray) -> None:
    """Refuse targets that a loss does not take; the message names the first such row."""
    if not hasattr(loss, "accepts"):
        return
    refused = ~np.asarray(loss.accepts(targets), dtype=bool)
    if refused.any():
        row, output = np.argwhere(refused)[0]
        domain = getattr(loss, "domain", "other targets")
        raise ValueError(
            f"y holds {targets[row, output]:g} in row {row}; the loss {loss!r} takes {domain}."
        )


def resolve_penalty(alpha, l1_ratio: float, positive):
    """Return the penalty term, and whether its strength is automatic."""
    automatic = isinstance(alpha, str)
    strength = AUTO_ALPHA if automatic else float(alpha)
    l1, l2 = strength * l1_ratio, strength * (1.0 - l1_ratio)
    sign = float(is_positive(positive))
    if l1 and l2:
        return ElasticNet(l1, l2, sign), automatic
    if l1:
        return L1(l1, sign), automatic
    return (Ridge(l2, sign) if l2 or sign else Free()), automatic


def resolve_learning_rate(learning_rate, eta, automatic_eta: float):
    """Return the learning rate, and whether its size is automatic."""
    term = resolve_term("learning_rate", learning_rate, LEARNING_RATES, ("step_size",))
    if not isinstance(learning_rate, str):
        if not isinstance(eta, str):
            raise ValueError(
                f"learning_rate={learning_rate!r} contains a step size; leave eta at 'auto'."
            )
        return term, False
    if isinstance(term, PassiveAggressive):
        return (term if isinstance(eta, str) else term._replace(C=float(eta))), False
    automatic = isinstance(eta, str)
    return term._replace(eta=automatic_eta if automatic else float(eta)), automatic


def check_curvature(model, loss, optimizer) -> None:
    """Refuse a smooth loss with unbounded second derivative if steps could be far too long.

    Learning rates per coordinate limit such steps, and a loss with `implicit_gradient` takes
    implicit steps.
    """
    bounded = not is_smooth(loss) or math.isfinite(loss.hessian_bound())
    if not (bounded or optimizer.adapts() or hasattr(loss, "implicit_gradient")):
        raise TypeError(
            f"{type(model).__name__}: the second derivative of {loss!r} has no bound, and it lacks "
            f"the method implicit_gradient, which steps of {optimizer!r} then need. Add it, or use "
            "an optimizer with learning rates per coordinate, 'ftrl' or 'adagrad'; if the loss has "
            "a kink, give it a property `smooth` that is False."
        )


class FirstOrderModel(NamedTuple):
    """The terms of a first-order model, and flags.

    The terms are loss, penalty, optimizer and learning rate. The flags tell whether there is an
    intercept, and whether the step size and the penalty strength are automatic.
    """

    terms: tuple
    flags: tuple[float, float, float]


def combine_terms(
    model, loss, penalty, optimizer, learning_rate, *, auto_eta: bool, auto_alpha: bool
) -> FirstOrderModel:
    """Return the model of these terms, or raise an error if they do not work together."""
    name = type(model).__name__
    check_curvature(model, loss, optimizer)
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
    optimizer = ByColumn(optimizer) if is_by_column(model) else optimizer
    optimizer = Averaged(optimizer) if model.average else optimizer
    flags = float(model.fit_intercept), float(auto_eta), float(auto_alpha)
    return FirstOrderModel((loss, penalty, optimizer, learning_rate), flags)
