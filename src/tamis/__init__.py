"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Where public names live; they are loaded at their first use. What type checkers see is written
# from this table by ``python tests/house/stub.py``.
_PUBLIC = {
    "base.estimators.explaining": "explain",
    "exporting.export": "export",
    "selection.anytime.estimator": "FDRStream",
    "selection.false_discovery.estimator": "FDRSelector",
    "evaluation.compare": "compare",
    "evaluation.comparison": "Record",
    "selection.stability_selection": "StabilitySelector",
    "selection.agreement": "selection_kappa selection_stability",
    "methods.batch_confidence_weighted.bcw": "BCWClassifier",
    "methods.batch_confidence_weighted.sparse_bcw": "SparseBCWClassifier",
    "methods.confidence_weighted.arow": "AROWClassifier NAROWClassifier SecondOrderPerceptron",
    "methods.confidence_weighted.confidence_weighted": "CWClassifier SCWClassifier",
    "methods.confidence_weighted.passive_aggressive": "PAClassifier PARegressor",
    "methods.confidence_weighted.sofs": "SOFSClassifier",
    "methods.triclass_svm.triclass": "TriClassSVC",
    "methods.sparse_fourier.estimator": "SparseFourierFeatures",
    "methods.group_lasso.estimator": "GroupLassoClassifier GroupLassoRegressor",
    "methods.group_lasso.group_detection": "groups_by_correlation groups_from_dummies "
    "groups_from_names",
    "methods.group_lasso.online_estimator": "OnlineGroupLassoClassifier OnlineGroupLassoRegressor",
    "methods.group_lasso.cross_validation": "GroupLassoClassifierCV GroupLassoRegressorCV",
    "methods.multiple_kernels.dictionary": "kernel_dictionary",
    "methods.multiple_kernels.gmkl": "GMKLClassifier GMKLRegressor",
    "methods.low_rank_lasso.classifier": "LowRankClassifier",
    "methods.low_rank_lasso.factorization": "LowRankFactorization",
    "methods.low_rank_lasso.lasso": "LowRankLasso",
    "methods.low_rank_lasso.rank_one": "RankOneLasso",
    "methods.low_rank_lasso.associations": "associations",
    "methods.metric_learning.sdist": "SDist SDistClassifier",
    "methods.sparse_online.composed": "OnlineClassifier OnlineRegressor",
    "methods.sparse_online.dual_averaging": "RDAClassifier RDARegressor",
    "methods.sparse_online.fobos": "FOBOSClassifier FOBOSRegressor",
    "methods.sparse_online.ftrl": "FTRLClassifier FTRLRegressor",
    "methods.sparse_online.truncated_gradient": "TruncatedGradientClassifier "
    "TruncatedGradientRegressor",
    "methods.robust.classifier": "RobustSVC",
    "methods.robust.regressor": "RobustRegressor",
    "methods.sieve.estimator": "SieveClassifier SieveRegressor",
    "methods.stabilized_sgd.estimator": "StabilizedSGDClassifier StabilizedSGDRegressor",
    "methods.stabilized_sgd.search": "StabilizedSGDClassifierCV StabilizedSGDRegressorCV",
    "methods.multitask.estimator": "MultiTaskClassifier MultiTaskRegressor",
    "methods.multitask.online_estimator": "OnlineMultiTaskClassifier OnlineMultiTaskRegressor",
    "methods.data_thresholding.estimator": "ThresholdedClassifier",
    "methods.data_thresholding.transformer": "DataThresholder",
    "model_files": "load save",
    "data.columns.transformer": "Table",
    "data.opening": "open_rows",
    "reporting.displays.few_labels": "TriClassDisplay",
    "reporting.displays.groups": "GroupPathDisplay TaskMatrixDisplay",
    "reporting.displays.kernels": "KernelWeightsDisplay",
    "reporting.displays.low_rank": "RankOnePathDisplay SingularValueDisplay",
    "reporting.displays.metric": (
        "InteractionDisplay MetricHistogramDisplay MetricStepsDisplay MetricSurfaceDisplay"
    ),
    "reporting.displays.selection": "PixelDisplay SelectionPathDisplay SelectionProbabilityDisplay",
    "reporting.displays.stability": "StabilityDisplay",
    "reporting.displays.thresholding": "ThresholdDisplay",
    "reporting.displays.training": "DensityBiasDisplay TrainingDisplay",
    "reporting.page.page": "write_page",
    "reporting.page.association_page": "write_association_page",
    "reporting.evaluation.report": "report",
    "serving.live": "live",
    "training.trainer": "train",
}
_HOMES = {name: f"tamis.{home}" for home, names in _PUBLIC.items() for name in names.split()}
_MODULES = ("datasets", "distributed", "reporting", "terms", "testing")

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return globals()[name]
    if name in _MODULES:
        return importlib.import_module(f"tamis.{name}")
    raise AttributeError(f"module 'tamis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
