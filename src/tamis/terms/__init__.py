"""The mathematics: losses, penalties, steps, rules and gains, as terms that loops accept."""

from tamis.base.jit import term
from tamis.terms.adaptive import FTRL, AdaGrad
from tamis.terms.blocks import GroupL2, SparseGroup
from tamis.terms.gains import AROWGain, CWGain, NAROWGain, PAGain, SCWGain, Sides, SOPGain, Tube
from tamis.terms.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Squared, SquaredHinge
from tamis.terms.penalties import L1, ElasticNet, Free, Ridge
from tamis.terms.rules import Averaged, CappedDescent, Descent, DualAveraging
from tamis.terms.steps import Constant, InverseSqrt, InverseTime, PassiveAggressive

__all__ = [
    "FTRL",
    "L1",
    "AROWGain",
    "AdaGrad",
    "Averaged",
    "CWGain",
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
    "NAROWGain",
    "PAGain",
    "PassiveAggressive",
    "Ridge",
    "SCWGain",
    "SOPGain",
    "Sides",
    "SparseGroup",
    "Squared",
    "SquaredHinge",
    "Tube",
    "term",
]
