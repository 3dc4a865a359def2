"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; at run time names are loaded at their first use
    from tamis import datasets, terms, testing
    from tamis.judge.protocol import compare
    from tamis.judge.record import Record
    from tamis.judge.selector import StabilitySelector
    from tamis.judge.stability import selection_kappa, selection_stability
    from tamis.models.averaging import RDAClassifier, RDARegressor
    from tamis.models.fobos import FOBOSClassifier, FOBOSRegressor
    from tamis.models.leader import FTRLClassifier, FTRLRegressor
    from tamis.models.online import OnlineClassifier, OnlineRegressor
    from tamis.models.sieve import SieveClassifier, SieveRegressor
    from tamis.models.stabilized import StabilizedSGDClassifier, StabilizedSGDRegressor
    from tamis.models.stabilized_cv import StabilizedSGDClassifierCV, StabilizedSGDRegressorCV
    from tamis.models.truncated import TruncatedGradientClassifier, TruncatedGradientRegressor
    from tamis.persist import load, save
    from tamis.read.opening import open_rows
    from tamis.training.walk import train

__version__ = "0.1.0"

_HOMES = {
    "Record": "tamis.judge.record",
    "StabilitySelector": "tamis.judge.selector",
    "compare": "tamis.judge.protocol",
    "selection_kappa": "tamis.judge.stability",
    "selection_stability": "tamis.judge.stability",
    "FOBOSClassifier": "tamis.models.fobos",
    "FOBOSRegressor": "tamis.models.fobos",
    "FTRLClassifier": "tamis.models.leader",
    "FTRLRegressor": "tamis.models.leader",
    "OnlineClassifier": "tamis.models.online",
    "OnlineRegressor": "tamis.models.online",
    "RDAClassifier": "tamis.models.averaging",
    "RDARegressor": "tamis.models.averaging",
    "SieveClassifier": "tamis.models.sieve",
    "SieveRegressor": "tamis.models.sieve",
    "StabilizedSGDClassifier": "tamis.models.stabilized",
    "StabilizedSGDClassifierCV": "tamis.models.stabilized_cv",
    "StabilizedSGDRegressor": "tamis.models.stabilized",
    "StabilizedSGDRegressorCV": "tamis.models.stabilized_cv",
    "TruncatedGradientClassifier": "tamis.models.truncated",
    "TruncatedGradientRegressor": "tamis.models.truncated",
    "load": "tamis.persist",
    "open_rows": "tamis.read.opening",
    "save": "tamis.persist",
    "train": "tamis.training.walk",
}

__all__ = [
    "FOBOSClassifier",
    "FOBOSRegressor",
    "FTRLClassifier",
    "FTRLRegressor",
    "OnlineClassifier",
    "OnlineRegressor",
    "RDAClassifier",
    "RDARegressor",
    "Record",
    "SieveClassifier",
    "SieveRegressor",
    "StabilitySelector",
    "StabilizedSGDClassifier",
    "StabilizedSGDClassifierCV",
    "StabilizedSGDRegressor",
    "StabilizedSGDRegressorCV",
    "TruncatedGradientClassifier",
    "TruncatedGradientRegressor",
    "__version__",
    "compare",
    "datasets",
    "load",
    "open_rows",
    "save",
    "selection_kappa",
    "selection_stability",
    "terms",
    "testing",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return globals()[name]
    if name in __all__:
        return importlib.import_module(f"tamis.{name}")
    raise AttributeError(f"module 'tamis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
