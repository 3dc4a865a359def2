"""Losses, penalties, optimizers, learning rates and confidence updates, as terms that compiled
loops accept.
"""

from tamis.numerics.numba import term
from tamis.terms.confidence_updates import (
    AROWGain,
    CWGain,
    NAROWGain,
    PAGain,
    SCWGain,
    Sides,
    SOPGain,
    Tube,
)
from tamis.terms.group_penalties import MCP, GroupL2, SparseGroup
from tamis.terms.learning_rates import Constant, InverseSqrt, InverseTime, PassiveAggressive
from tamis.terms.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Squared,
    SquaredHinge,
)
from tamis.terms.optimizers import (
    FTRL,
    AdaGrad,
    Averaged,
    ByColumn,
    CappedDescent,
    Descent,
    DualAveraging,
)
from tamis.terms.penalties import L1, ElasticNet, Free, Ridge, Signed

__all__ = [
    "FTRL",
    "L1",
    "MCP",
    "AROWGain",
    "AdaGrad",
    "Averaged",
    "ByColumn",
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
    "Poisson",
    "Ridge",
    "SCWGain",
    "SOPGain",
    "Sides",
    "Signed",
    "SparseGroup",
    "Squared",
    "SquaredHinge",
    "Tube",
    "term",
]
