"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib

__version__ = "0.1.0"

_HOMES = {  # public name -> module that holds it, loaded at the first use
    "FOBOSClassifier": "tamis.models.fobos",
    "FOBOSRegressor": "tamis.models.fobos",
    "FTRLClassifier": "tamis.models.leader",
    "FTRLRegressor": "tamis.models.leader",
    "OnlineClassifier": "tamis.models.online",
    "OnlineRegressor": "tamis.models.online",
    "RDAClassifier": "tamis.models.averaging",
    "RDARegressor": "tamis.models.averaging",
    "TruncatedGradientClassifier": "tamis.models.truncated",
    "TruncatedGradientRegressor": "tamis.models.truncated",
    "load": "tamis.persist",
    "save": "tamis.persist",
}
_MODULES = ("datasets", "terms", "testing")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"tamis.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    thing = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = thing
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
