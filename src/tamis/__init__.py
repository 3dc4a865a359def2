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
    from tamis.models.fourier import SparseFourierFeatures
    from tamis.models.gmkl import GMKLClassifier, GMKLRegressor
    from tamis.models.group_lasso import GroupLassoClassifier, GroupLassoRegressor
    from tamis.models.group_lasso_cv import GroupLassoClassifierCV, GroupLassoRegressorCV
    from tamis.models.grouped import OnlineGroupLassoClassifier, OnlineGroupLassoRegressor
    from tamis.models.grouping import groups_by_correlation, groups_from_dummies, groups_from_names
    from tamis.models.kernel_choice import kernel_dictionary
    from tamis.models.leader import FTRLClassifier, FTRLRegressor
    from tamis.models.lowrank import LowRankFactorization
    from tamis.models.lowrank_classifier import LowRankClassifier
    from tamis.models.lowrank_lasso import LowRankLasso
    from tamis.models.lowrank_words import associations
    from tamis.models.multitask import OnlineMultiTaskClassifier, OnlineMultiTaskRegressor
    from tamis.models.online import OnlineClassifier, OnlineRegressor
    from tamis.models.passive import PAClassifier, PARegressor
    from tamis.models.rankone import RankOneLasso
    from tamis.models.robust import RobustSVC
    from tamis.models.robust_regressor import RobustRegressor
    from tamis.models.sdist import SDist, SDistClassifier
    from tamis.models.sieve import SieveClassifier, SieveRegressor
    from tamis.models.sofs import SOFSClassifier
    from tamis.models.sparse_bcw import SparseBCWClassifier
    from tamis.models.stabilized import StabilizedSGDClassifier, StabilizedSGDRegressor
    from tamis.models.stabilized_cv import StabilizedSGDClassifierCV, StabilizedSGDRegressorCV
    from tamis.models.task_classifier import MultiTaskClassifier
    from tamis.models.task_regressor import MultiTaskRegressor
    from tamis.models.thresholded import ThresholdedClassifier
    from tamis.models.thresholder import DataThresholder
    from tamis.models.triclass import TriClassSVC
    from tamis.models.truncated import TruncatedGradientClassifier, TruncatedGradientRegressor
    from tamis.persist import load, save
    from tamis.read.opening import open_rows
    from tamis.report.data_display import DensityBiasDisplay, TrainingDisplay
    from tamis.report.group_display import GroupPathDisplay, TaskMatrixDisplay
    from tamis.report.kernel_display import KernelWeightsDisplay
    from tamis.report.metric_columns import InteractionDisplay, PixelDisplay
    from tamis.report.metric_display import MetricHistogramDisplay, MetricStepsDisplay, MetricSurfaceDisplay
    from tamis.report.page import write_page
    from tamis.report.rank_display import RankOnePathDisplay, SingularValueDisplay
    from tamis.report.rank_page import write_association_page
    from tamis.report.selection_display import SelectionPathDisplay, SelectionProbabilityDisplay
    from tamis.report.stability_display import StabilityDisplay
    from tamis.report.threshold_display import ThresholdDisplay
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
    "DataThresholder": "tamis.models.thresholder",
    "FOBOSClassifier": "tamis.models.fobos",
    "FOBOSRegressor": "tamis.models.fobos",
    "FTRLClassifier": "tamis.models.leader",
    "FTRLRegressor": "tamis.models.leader",
    "GMKLClassifier": "tamis.models.gmkl",
    "GMKLRegressor": "tamis.models.gmkl",
    "LowRankClassifier": "tamis.models.lowrank_classifier",
    "LowRankFactorization": "tamis.models.lowrank",
    "LowRankLasso": "tamis.models.lowrank_lasso",
    "NAROWClassifier": "tamis.models.arow",
    "OnlineClassifier": "tamis.models.online",
    "OnlineGroupLassoClassifier": "tamis.models.grouped",
    "OnlineGroupLassoRegressor": "tamis.models.grouped",
    "OnlineMultiTaskClassifier": "tamis.models.multitask",
    "OnlineMultiTaskRegressor": "tamis.models.multitask",
    "OnlineRegressor": "tamis.models.online",
    "PAClassifier": "tamis.models.passive",
    "PARegressor": "tamis.models.passive",
    "RankOneLasso": "tamis.models.rankone",
    "RDAClassifier": "tamis.models.averaging",
    "RDARegressor": "tamis.models.averaging",
    "RobustRegressor": "tamis.models.robust_regressor",
    "RobustSVC": "tamis.models.robust",
    "SCWClassifier": "tamis.models.cw",
    "SDist": "tamis.models.sdist",
    "SDistClassifier": "tamis.models.sdist",
    "SecondOrderPerceptron": "tamis.models.arow",
    "SieveClassifier": "tamis.models.sieve",
    "SieveRegressor": "tamis.models.sieve",
    "SOFSClassifier": "tamis.models.sofs",
    "SparseFourierFeatures": "tamis.models.fourier",
    "SparseBCWClassifier": "tamis.models.sparse_bcw",
    "StabilizedSGDClassifier": "tamis.models.stabilized",
    "StabilizedSGDClassifierCV": "tamis.models.stabilized_cv",
    "StabilizedSGDRegressor": "tamis.models.stabilized",
    "StabilizedSGDRegressorCV": "tamis.models.stabilized_cv",
    "ThresholdedClassifier": "tamis.models.thresholded",
    "TriClassSVC": "tamis.models.triclass",
    "TruncatedGradientClassifier": "tamis.models.truncated",
    "TruncatedGradientRegressor": "tamis.models.truncated",
    "associations": "tamis.models.lowrank_words",
    "groups_by_correlation": "tamis.models.grouping",
    "groups_from_dummies": "tamis.models.grouping",
    "groups_from_names": "tamis.models.grouping",
    "kernel_dictionary": "tamis.models.kernel_choice",
    "load": "tamis.persist",
    "open_rows": "tamis.read.opening",
    "save": "tamis.persist",
    "DensityBiasDisplay": "tamis.report.data_display",
    "KernelWeightsDisplay": "tamis.report.kernel_display",
    "RankOnePathDisplay": "tamis.report.rank_display",
    "InteractionDisplay": "tamis.report.metric_columns",
    "MetricHistogramDisplay": "tamis.report.metric_display",
    "MetricStepsDisplay": "tamis.report.metric_display",
    "MetricSurfaceDisplay": "tamis.report.metric_display",
    "PixelDisplay": "tamis.report.metric_columns",
    "SelectionPathDisplay": "tamis.report.selection_display",
    "SelectionProbabilityDisplay": "tamis.report.selection_display",
    "SingularValueDisplay": "tamis.report.rank_display",
    "StabilityDisplay": "tamis.report.stability_display",
    "ThresholdDisplay": "tamis.report.threshold_display",
    "TrainingDisplay": "tamis.report.data_display",
    "write_association_page": "tamis.report.rank_page",
    "TriClassDisplay": "tamis.report.tri_display",
    "write_page": "tamis.report.page",
    "train": "tamis.training.walk",
    "GroupLassoClassifier": "tamis.models.group_lasso",
    "GroupLassoRegressor": "tamis.models.group_lasso",
    "GroupLassoClassifierCV": "tamis.models.group_lasso_cv",
    "GroupLassoRegressorCV": "tamis.models.group_lasso_cv",
    "MultiTaskClassifier": "tamis.models.task_classifier",
    "MultiTaskRegressor": "tamis.models.task_regressor",
    "GroupPathDisplay": "tamis.report.group_display",
    "TaskMatrixDisplay": "tamis.report.group_display",
}

__all__ = [
    "AROWClassifier",
    "BCWClassifier",
    "CWClassifier",
    "DataThresholder",
    "DensityBiasDisplay",
    "FOBOSClassifier",
    "FOBOSRegressor",
    "FTRLClassifier",
    "FTRLRegressor",
    "GMKLClassifier",
    "GMKLRegressor",
    "GroupLassoClassifier",
    "GroupLassoClassifierCV",
    "GroupLassoRegressor",
    "GroupLassoRegressorCV",
    "GroupPathDisplay",
    "InteractionDisplay",
    "KernelWeightsDisplay",
    "LowRankClassifier",
    "LowRankFactorization",
    "LowRankLasso",
    "MetricHistogramDisplay",
    "MetricStepsDisplay",
    "MetricSurfaceDisplay",
    "MultiTaskClassifier",
    "MultiTaskRegressor",
    "NAROWClassifier",
    "OnlineClassifier",
    "OnlineGroupLassoClassifier",
    "OnlineGroupLassoRegressor",
    "OnlineMultiTaskClassifier",
    "OnlineMultiTaskRegressor",
    "OnlineRegressor",
    "PAClassifier",
    "PARegressor",
    "PixelDisplay",
    "RDAClassifier",
    "RDARegressor",
    "RankOneLasso",
    "RankOnePathDisplay",
    "Record",
    "RobustRegressor",
    "RobustSVC",
    "SCWClassifier",
    "SDist",
    "SDistClassifier",
    "SOFSClassifier",
    "SecondOrderPerceptron",
    "SelectionPathDisplay",
    "SelectionProbabilityDisplay",
    "SieveClassifier",
    "SieveRegressor",
    "SingularValueDisplay",
    "SparseBCWClassifier",
    "SparseFourierFeatures",
    "StabilityDisplay",
    "StabilitySelector",
    "StabilizedSGDClassifier",
    "StabilizedSGDClassifierCV",
    "StabilizedSGDRegressor",
    "StabilizedSGDRegressorCV",
    "TaskMatrixDisplay",
    "ThresholdDisplay",
    "ThresholdedClassifier",
    "TrainingDisplay",
    "TriClassDisplay",
    "TriClassSVC",
    "TruncatedGradientClassifier",
    "TruncatedGradientRegressor",
    "__version__",
    "associations",
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
    "write_association_page",
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
