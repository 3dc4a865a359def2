"""All terms and all public models of tamis, found by introspection."""

import importlib
import inspect
import pkgutil

from sklearn.base import BaseEstimator, is_classifier, is_regressor

import tamis
import tamis.terms
from tamis.base.estimators.stream import PassesModel
from tamis.methods.confidence_weighted.estimator import ConfidenceWeightedModel
from tamis.terms import (
    L1,
    AdaGrad,
    CappedDescent,
    Constant,
    Descent,
    DualAveraging,
    ElasticNet,
    GroupL2,
    InverseSqrt,
    InverseTime,
    PAGain,
    PassiveAggressive,
    Ridge,
    SCWGain,
    SparseGroup,
)


# --------------------------------------------------------------------------- terms
def _term_classes():
    for module_info in pkgutil.iter_modules(tamis.terms.__path__, "tamis.terms."):
        module = importlib.import_module(module_info.name)
        for member in vars(module).values():
            if (
                isinstance(member, type)
                and getattr(member, "is_tamis_term", False)
                and member.__module__ == module.__name__
            ):
                yield member


# Settings that exercise a term on data of scale 1; a class not named here gets its defaults, and
# each number moved.
CHOSEN = {
    L1: [L1(0.03), L1(0.2), L1(0.03, 1.0)],
    Ridge: [Ridge(0.3), Ridge(0.3, 1.0), Ridge(0.0, 1.0)],
    ElasticNet: [ElasticNet(0.02, 0.2), ElasticNet(0.1, 1.5), ElasticNet(0.02, 0.2, 1.0)],
    GroupL2: [GroupL2(0.3), GroupL2(1.0), GroupL2(0.3, 1.0)],
    SparseGroup: [SparseGroup(0.3), SparseGroup(1.0), SparseGroup(0.3, 1.0)],
    Descent: [Descent(), Descent(3.0, 0.0), Descent(4.0, 1.0)],
    CappedDescent: [
        CappedDescent(2.0, 0.3, 0.0),
        CappedDescent(1.0, 0.1, 1.0),
        CappedDescent(3.0, 1e9, 0.0),
    ],
    DualAveraging: [DualAveraging(), DualAveraging(0.05)],
    AdaGrad: [AdaGrad(), AdaGrad(0.1)],
    Constant: [Constant(0.2)],
    InverseSqrt: [InverseSqrt(0.5, 2.0)],
    InverseTime: [InverseTime(0.5, 3.0)],
    PassiveAggressive: [
        PassiveAggressive(0.4, 0.0),
        PassiveAggressive(0.4, 1.0),
        PassiveAggressive(0.4, 2.0),
    ],
    PAGain: [PAGain(), PAGain(2.25), PAGain(1.0, 0.0), PAGain(1.0, 2.0)],
    SCWGain: [SCWGain(), SCWGain(1.6), SCWGain(C=2.25), SCWGain(variant=2.0)],
}


def settings(cls):
    """Return a few terms of a class."""
    if cls in CHOSEN:
        return CHOSEN[cls]
    if len(cls._field_defaults) < len(cls._fields):
        # a term around another term, such as Averaged: the laws of rules wrap every rule in it
        return []
    usual = cls()
    return [
        usual,
        *(
            usual._replace(**{name: 2.0 * value + 0.25})
            for name, value in usual._asdict().items()
            if name != "unused"
        ),
    ]


CLASSES = list(_term_classes())
TERMS = [term for cls in CLASSES for term in settings(cls)]


def _answering(method):
    return [term for term in TERMS if hasattr(term, method)]


def _is_of_groups(penalty):
    """Whether a penalty is of groups: its prox also takes two weights and where to write."""
    return len(inspect.signature(penalty.prox).parameters) == 5


LOSSES, PENALTIES, OPTIMIZERS, LEARNING_RATES = (
    _answering("gradient"),
    [term for term in _answering("prox") if not _is_of_groups(term)],
    _answering("current_weight"),
    _answering("step_size"),
)
MARGIN_TERMS, CONFIDENCE_UPDATES = (
    _answering("direction_and_margin"),
    _answering("confidence_update"),
)
GROUP_PENALTIES = [term for term in _answering("prox") if _is_of_groups(term)]


# --------------------------------------------------------------------------- models
def _estimators():
    for name in sorted(tamis._HOMES):
        member = getattr(tamis, name)
        if isinstance(member, type) and issubclass(member, BaseEstimator):
            yield member


ESTIMATORS = list(_estimators())
# Those under the streaming contract.
STREAMS = [cls for cls in ESTIMATORS if issubclass(cls, PassesModel)]
# Of the first order: with penalties, growth and averages.
MODELS = [cls for cls in STREAMS if not issubclass(cls, ConfidenceWeightedModel)]
CONFIDENT = [cls for cls in STREAMS if issubclass(cls, ConfidenceWeightedModel)]
# Searches are slow with their defaults: the laws take small ones. Resampling is slow in any size:
# tests/methods/stabilized_sgd and tests/selection run scikit-learn's checks on it.
SMALL = {
    "FDRStream": {"n_screen": 20},
    "GroupLassoClassifierCV": {"alphas": (0.3, 0.1), "cv": 2, "tol": 1e-4},
    "GroupLassoRegressorCV": {"alphas": 4, "cv": 2},
    "SparseFourierFeatures": {"max_iter": 1000},
    "StabilitySelector": {"n_pairs": 4},
    "StabilizedSGDClassifierCV": {
        "eta_factors": (1.0, 16.0),
        "burn_ins": (1.0,),
        "rejections": (0.7,),
        "purges": (0.7,),
        "cv": 2,
    },
    "StabilizedSGDRegressorCV": {
        "eta_factors": (0.25, 1.0),
        "burn_ins": (1.0,),
        "rejections": (0.7,),
        "purges": (0.7,),
        "cv": 2,
    },
    "TriClassSVC": {"C_unlabeled": 0.1},
}


def small(cls):
    """A model with its defaults, or a search with few settings."""
    return cls(**SMALL.get(cls.__name__, {}))


# TriClassSVC takes -1 for the mark of unlabelled rows, which is a class in one of those checks:
# tests/methods/triclass_svm gives it another mark.
CHECKED = [
    cls
    for cls in ESTIMATORS
    if not cls.__name__.startswith(("StabilizedSGD", "StabilitySelector", "TriClassSVC"))
]
CLASSIFIERS = [cls for cls in MODELS if is_classifier(cls())]
REGRESSORS = [cls for cls in MODELS if is_regressor(cls())]
