"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib
from typing import TYPE_CHECKING, Any

if (
    TYPE_CHECKING
):  # what type checkers and editors see; at run time names are loaded at their first use
    from tamis import datasets, terms, testing
    from tamis.judge.protocol import compare
    from tamis.judge.record import Record
    from tamis.judge.selector import StabilitySelector
    from tamis.judge.stability import selection_kappa, selection_stability
    from tamis.methods.batch_confidence.bcw import BCWClassifier
    from tamis.methods.batch_confidence.sparse_bcw import SparseBCWClassifier
    from tamis.methods.confidence.arow import AROWClassifier, NAROWClassifier, SecondOrderPerceptron
    from tamis.methods.confidence.confidence_weighted import CWClassifier, SCWClassifier
    from tamis.methods.confidence.passive_aggressive import PAClassifier, PARegressor
    from tamis.methods.confidence.sofs import SOFSClassifier
    from tamis.methods.few_labels.estimator import TriClassSVC
    from tamis.methods.fourier.estimator import SparseFourierFeatures
    from tamis.methods.groups.estimator import GroupLassoClassifier, GroupLassoRegressor
    from tamis.methods.groups.estimator_cv import GroupLassoClassifierCV, GroupLassoRegressorCV
    from tamis.methods.groups.finding import (
        groups_by_correlation,
        groups_from_dummies,
        groups_from_names,
    )
    from tamis.methods.groups.online_estimator import (
        OnlineGroupLassoClassifier,
        OnlineGroupLassoRegressor,
    )
    from tamis.methods.kernels.choice import kernel_dictionary
    from tamis.methods.kernels.estimator import GMKLClassifier, GMKLRegressor
    from tamis.methods.low_rank.classifier import LowRankClassifier
    from tamis.methods.low_rank.factorization import LowRankFactorization
    from tamis.methods.low_rank.lasso import LowRankLasso
    from tamis.methods.low_rank.rank_one import RankOneLasso
    from tamis.methods.low_rank.words import associations
    from tamis.methods.metric.estimator import SDist, SDistClassifier
    from tamis.methods.online.dual_averaging import RDAClassifier, RDARegressor
    from tamis.methods.online.fobos import FOBOSClassifier, FOBOSRegressor
    from tamis.methods.online.ftrl import FTRLClassifier, FTRLRegressor
    from tamis.methods.online.composed import OnlineClassifier, OnlineRegressor
    from tamis.methods.online.truncated import (
        TruncatedGradientClassifier,
        TruncatedGradientRegressor,
    )
    from tamis.methods.robust.classifier import RobustSVC
    from tamis.methods.robust.regressor import RobustRegressor
    from tamis.methods.sieve.estimator import SieveClassifier, SieveRegressor
    from tamis.methods.stabilized.estimator import StabilizedSGDClassifier, StabilizedSGDRegressor
    from tamis.methods.stabilized.search import StabilizedSGDClassifierCV, StabilizedSGDRegressorCV
    from tamis.methods.tasks.classifier import MultiTaskClassifier
    from tamis.methods.tasks.online_estimator import (
        OnlineMultiTaskClassifier,
        OnlineMultiTaskRegressor,
    )
    from tamis.methods.tasks.regressor import MultiTaskRegressor
    from tamis.methods.thresholding.estimator import ThresholdedClassifier
    from tamis.methods.thresholding.transformer import DataThresholder
    from tamis.persist import load, save
    from tamis.read.opening import open_rows
    from tamis.report.displays.few_labels import TriClassDisplay
    from tamis.report.displays.groups import GroupPathDisplay, TaskMatrixDisplay
    from tamis.report.displays.kernels import KernelWeightsDisplay
    from tamis.report.displays.low_rank import RankOnePathDisplay, SingularValueDisplay
    from tamis.report.displays.metric import (
        MetricHistogramDisplay,
        MetricStepsDisplay,
        MetricSurfaceDisplay,
    )
    from tamis.report.displays.metric_columns import InteractionDisplay, PixelDisplay
    from tamis.report.displays.selection import SelectionPathDisplay, SelectionProbabilityDisplay
    from tamis.report.displays.stability import StabilityDisplay
    from tamis.report.displays.thresholding import ThresholdDisplay
    from tamis.report.displays.training import DensityBiasDisplay, TrainingDisplay
    from tamis.report.page.page import write_page
    from tamis.report.page.rank_page import write_association_page
    from tamis.training.walk import train

__version__ = "0.1.0"

_HOMES = {
    "Record": "tamis.judge.record",
    "StabilitySelector": "tamis.judge.selector",
    "compare": "tamis.judge.protocol",
    "selection_kappa": "tamis.judge.stability",
    "selection_stability": "tamis.judge.stability",
    "AROWClassifier": "tamis.methods.confidence.arow",
    "CWClassifier": "tamis.methods.confidence.confidence_weighted",
    "BCWClassifier": "tamis.methods.batch_confidence.bcw",
    "DataThresholder": "tamis.methods.thresholding.transformer",
    "FOBOSClassifier": "tamis.methods.online.fobos",
    "FOBOSRegressor": "tamis.methods.online.fobos",
    "FTRLClassifier": "tamis.methods.online.ftrl",
    "FTRLRegressor": "tamis.methods.online.ftrl",
    "GMKLClassifier": "tamis.methods.kernels.estimator",
    "GMKLRegressor": "tamis.methods.kernels.estimator",
    "LowRankClassifier": "tamis.methods.low_rank.classifier",
    "LowRankFactorization": "tamis.methods.low_rank.factorization",
    "LowRankLasso": "tamis.methods.low_rank.lasso",
    "NAROWClassifier": "tamis.methods.confidence.arow",
    "OnlineClassifier": "tamis.methods.online.composed",
    "OnlineGroupLassoClassifier": "tamis.methods.groups.online_estimator",
    "OnlineGroupLassoRegressor": "tamis.methods.groups.online_estimator",
    "OnlineMultiTaskClassifier": "tamis.methods.tasks.online_estimator",
    "OnlineMultiTaskRegressor": "tamis.methods.tasks.online_estimator",
    "OnlineRegressor": "tamis.methods.online.composed",
    "PAClassifier": "tamis.methods.confidence.passive_aggressive",
    "PARegressor": "tamis.methods.confidence.passive_aggressive",
    "RankOneLasso": "tamis.methods.low_rank.rank_one",
    "RDAClassifier": "tamis.methods.online.dual_averaging",
    "RDARegressor": "tamis.methods.online.dual_averaging",
    "RobustRegressor": "tamis.methods.robust.regressor",
    "RobustSVC": "tamis.methods.robust.classifier",
    "SCWClassifier": "tamis.methods.confidence.confidence_weighted",
    "SDist": "tamis.methods.metric.estimator",
    "SDistClassifier": "tamis.methods.metric.estimator",
    "SecondOrderPerceptron": "tamis.methods.confidence.arow",
    "SieveClassifier": "tamis.methods.sieve.estimator",
    "SieveRegressor": "tamis.methods.sieve.estimator",
    "SOFSClassifier": "tamis.methods.confidence.sofs",
    "SparseFourierFeatures": "tamis.methods.fourier.estimator",
    "SparseBCWClassifier": "tamis.methods.batch_confidence.sparse_bcw",
    "StabilizedSGDClassifier": "tamis.methods.stabilized.estimator",
    "StabilizedSGDClassifierCV": "tamis.methods.stabilized.search",
    "StabilizedSGDRegressor": "tamis.methods.stabilized.estimator",
    "StabilizedSGDRegressorCV": "tamis.methods.stabilized.search",
    "ThresholdedClassifier": "tamis.methods.thresholding.estimator",
    "TriClassSVC": "tamis.methods.few_labels.estimator",
    "TruncatedGradientClassifier": "tamis.methods.online.truncated",
    "TruncatedGradientRegressor": "tamis.methods.online.truncated",
    "associations": "tamis.methods.low_rank.words",
    "groups_by_correlation": "tamis.methods.groups.finding",
    "groups_from_dummies": "tamis.methods.groups.finding",
    "groups_from_names": "tamis.methods.groups.finding",
    "kernel_dictionary": "tamis.methods.kernels.choice",
    "load": "tamis.persist",
    "open_rows": "tamis.read.opening",
    "save": "tamis.persist",
    "DensityBiasDisplay": "tamis.report.displays.training",
    "KernelWeightsDisplay": "tamis.report.displays.kernels",
    "RankOnePathDisplay": "tamis.report.displays.low_rank",
    "InteractionDisplay": "tamis.report.displays.metric_columns",
    "MetricHistogramDisplay": "tamis.report.displays.metric",
    "MetricStepsDisplay": "tamis.report.displays.metric",
    "MetricSurfaceDisplay": "tamis.report.displays.metric",
    "PixelDisplay": "tamis.report.displays.metric_columns",
    "SelectionPathDisplay": "tamis.report.displays.selection",
    "SelectionProbabilityDisplay": "tamis.report.displays.selection",
    "SingularValueDisplay": "tamis.report.displays.low_rank",
    "StabilityDisplay": "tamis.report.displays.stability",
    "ThresholdDisplay": "tamis.report.displays.thresholding",
    "TrainingDisplay": "tamis.report.displays.training",
    "write_association_page": "tamis.report.page.rank_page",
    "TriClassDisplay": "tamis.report.displays.few_labels",
    "write_page": "tamis.report.page.page",
    "train": "tamis.training.walk",
    "GroupLassoClassifier": "tamis.methods.groups.estimator",
    "GroupLassoRegressor": "tamis.methods.groups.estimator",
    "GroupLassoClassifierCV": "tamis.methods.groups.estimator_cv",
    "GroupLassoRegressorCV": "tamis.methods.groups.estimator_cv",
    "MultiTaskClassifier": "tamis.methods.tasks.classifier",
    "MultiTaskRegressor": "tamis.methods.tasks.regressor",
    "GroupPathDisplay": "tamis.report.displays.groups",
    "TaskMatrixDisplay": "tamis.report.displays.groups",
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
