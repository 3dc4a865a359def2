"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; at run time names are loaded at their first use
    from tamis import datasets, terms, testing
    from tamis.judge.protocol import compare
    from tamis.judge.record import Record
    from tamis.judge.selector import StabilitySelector
    from tamis.judge.stability import selection_kappa, selection_stability
    from tamis.models.arow import AROWClassifier, NAROWClassifier, SecondOrderPerceptron
    from tamis.models.averaging import RDAClassifier, RDARegressor
    from tamis.models.bcw import BCWClassifier
    from tamis.models.cw import CWClassifier, SCWClassifier
    from tamis.models.fobos import FOBOSClassifier, FOBOSRegressor
    from tamis.models.gmkl import GMKLClassifier, GMKLRegressor
    from tamis.models.grouped import OnlineGroupLassoClassifier, OnlineGroupLassoRegressor
    from tamis.models.grouping import groups_by_correlation, groups_from_dummies, groups_from_names
    from tamis.models.kernel_choice import kernel_dictionary
    from tamis.models.leader import FTRLClassifier, FTRLRegressor
    from tamis.models.multitask import OnlineMultiTaskClassifier, OnlineMultiTaskRegressor
    from tamis.models.online import OnlineClassifier, OnlineRegressor
    from tamis.models.passive import PAClassifier, PARegressor
    from tamis.models.sieve import SieveClassifier, SieveRegressor
    from tamis.models.sofs import SOFSClassifier
    from tamis.models.sparse_bcw import SparseBCWClassifier
    from tamis.models.stabilized import StabilizedSGDClassifier, StabilizedSGDRegressor
    from tamis.models.stabilized_cv import StabilizedSGDClassifierCV, StabilizedSGDRegressorCV
    from tamis.models.triclass import TriClassSVC
    from tamis.models.truncated import TruncatedGradientClassifier, TruncatedGradientRegressor
    from tamis.persist import load, save
    from tamis.read.opening import open_rows
    from tamis.report.data_display import DensityBiasDisplay, TrainingDisplay
    from tamis.report.kernel_display import KernelWeightsDisplay
    from tamis.report.page import write_page
    from tamis.report.selection_display import SelectionPathDisplay, SelectionProbabilityDisplay
    from tamis.report.stability_display import StabilityDisplay
    from tamis.report.tri_display import TriClassDisplay
    from tamis.training.walk import train

__version__ = "0.1.0"

_HOMES = {
    "Record": "tamis.judge.record",
    "StabilitySelector": "tamis.judge.selector",
    "compare": "tamis.judge.protocol",
    "selection_kappa": "tamis.judge.stability",
    "selection_stability": "tamis.judge.stability",
    "AROWClassifier": "tamis.models.arow",
    "CWClassifier": "tamis.models.cw",
    "BCWClassifier": "tamis.models.bcw",
    "FOBOSClassifier": "tamis.models.fobos",
    "FOBOSRegressor": "tamis.models.fobos",
    "FTRLClassifier": "tamis.models.leader",
    "FTRLRegressor": "tamis.models.leader",
    "GMKLClassifier": "tamis.models.gmkl",
    "GMKLRegressor": "tamis.models.gmkl",
    "NAROWClassifier": "tamis.models.arow",
    "OnlineClassifier": "tamis.models.online",
    "OnlineGroupLassoClassifier": "tamis.models.grouped",
    "OnlineGroupLassoRegressor": "tamis.models.grouped",
    "OnlineMultiTaskClassifier": "tamis.models.multitask",
    "OnlineMultiTaskRegressor": "tamis.models.multitask",
    "OnlineRegressor": "tamis.models.online",
    "PAClassifier": "tamis.models.passive",
    "PARegressor": "tamis.models.passive",
    "RDAClassifier": "tamis.models.averaging",
    "RDARegressor": "tamis.models.averaging",
    "SCWClassifier": "tamis.models.cw",
    "SecondOrderPerceptron": "tamis.models.arow",
    "SieveClassifier": "tamis.models.sieve",
    "SieveRegressor": "tamis.models.sieve",
    "SOFSClassifier": "tamis.models.sofs",
    "SparseBCWClassifier": "tamis.models.sparse_bcw",
    "StabilizedSGDClassifier": "tamis.models.stabilized",
    "StabilizedSGDClassifierCV": "tamis.models.stabilized_cv",
    "StabilizedSGDRegressor": "tamis.models.stabilized",
    "StabilizedSGDRegressorCV": "tamis.models.stabilized_cv",
    "TriClassSVC": "tamis.models.triclass",
    "TruncatedGradientClassifier": "tamis.models.truncated",
    "TruncatedGradientRegressor": "tamis.models.truncated",
    "groups_by_correlation": "tamis.models.grouping",
    "groups_from_dummies": "tamis.models.grouping",
    "groups_from_names": "tamis.models.grouping",
    "kernel_dictionary": "tamis.models.kernel_choice",
    "load": "tamis.persist",
    "open_rows": "tamis.read.opening",
    "save": "tamis.persist",
    "DensityBiasDisplay": "tamis.report.data_display",
    "KernelWeightsDisplay": "tamis.report.kernel_display",
    "SelectionPathDisplay": "tamis.report.selection_display",
    "SelectionProbabilityDisplay": "tamis.report.selection_display",
    "StabilityDisplay": "tamis.report.stability_display",
    "TrainingDisplay": "tamis.report.data_display",
    "TriClassDisplay": "tamis.report.tri_display",
    "write_page": "tamis.report.page",
    "train": "tamis.training.walk",
}

__all__ = [
    "AROWClassifier",
    "BCWClassifier",
    "CWClassifier",
    "DensityBiasDisplay",
    "FOBOSClassifier",
    "FOBOSRegressor",
    "FTRLClassifier",
    "FTRLRegressor",
    "GMKLClassifier",
    "GMKLRegressor",
    "KernelWeightsDisplay",
    "NAROWClassifier",
    "OnlineClassifier",
    "OnlineGroupLassoClassifier",
    "OnlineGroupLassoRegressor",
    "OnlineMultiTaskClassifier",
    "OnlineMultiTaskRegressor",
    "OnlineRegressor",
    "PAClassifier",
    "PARegressor",
    "RDAClassifier",
    "RDARegressor",
    "Record",
    "SCWClassifier",
    "SOFSClassifier",
    "SecondOrderPerceptron",
    "SelectionPathDisplay",
    "SelectionProbabilityDisplay",
    "SieveClassifier",
    "SieveRegressor",
    "SparseBCWClassifier",
    "StabilityDisplay",
    "StabilitySelector",
    "StabilizedSGDClassifier",
    "StabilizedSGDClassifierCV",
    "StabilizedSGDRegressor",
    "StabilizedSGDRegressorCV",
    "TrainingDisplay",
    "TriClassDisplay",
    "TriClassSVC",
    "TruncatedGradientClassifier",
    "TruncatedGradientRegressor",
    "__version__",
    "compare",
    "datasets",
    "groups_by_correlation",
    "groups_from_dummies",
    "groups_from_names",
    "kernel_dictionary",
    "load",
    "open_rows",
    "save",
    "selection_kappa",
    "selection_stability",
    "terms",
    "testing",
    "train",
    "write_page",
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
