"""The mathematics: losses, penalties, steps and rules, as terms that compiled loops accept."""

from tamis._jit import term
from tamis.terms.adaptive import FTRL, AdaGrad
from tamis.terms.blocks import GroupL2, SparseGroup
from tamis.terms.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Squared, SquaredHinge
from tamis.terms.penalties import L1, ElasticNet, Free, Ridge
from tamis.terms.rules import Averaged, CappedDescent, Descent, DualAveraging
from tamis.terms.steps import Constant, InverseSqrt, InverseTime, PassiveAggressive

__all__ = [
    "FTRL",
    "L1",
    "AdaGrad",
    "Averaged",
    "CappedDescent",
    "Constant",
    "Descent",
    "DualAveraging",
    "ElasticNet",
    "EpsilonInsensitive",
    "Free",
    "GroupL2",
    "Hinge",
    "Huber",
    "InverseSqrt",
    "InverseTime",
    "Logistic",
    "PassiveAggressive",
    "Ridge",
    "SparseGroup",
    "Squared",
    "SquaredHinge",
    "term",
]
