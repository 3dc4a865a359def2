"""tamis: sparse learning for high-dimensional data, as scikit-learn estimators that stream."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Where public names live; they are loaded at their first use. What type checkers see is written
# from this table by ``python tests/house/stub.py``.
_PUBLIC = {
    "base.estimators.explaining": "explain",
    "exporting.export": "export",
    "judge.anytime.estimator": "FDRStream",
    "judge.discovery.estimator": "FDRSelector",
    "judge.protocol": "compare",
    "judge.record": "Record",
    "judge.selector": "StabilitySelector",
    "judge.stability": "selection_kappa selection_stability",
    "methods.batch_confidence.bcw": "BCWClassifier",
    "methods.batch_confidence.sparse_bcw": "SparseBCWClassifier",
    "methods.confidence.arow": "AROWClassifier NAROWClassifier SecondOrderPerceptron",
    "methods.confidence.confidence_weighted": "CWClassifier SCWClassifier",
    "methods.confidence.passive_aggressive": "PAClassifier PARegressor",
    "methods.confidence.sofs": "SOFSClassifier",
    "methods.few_labels.triclass": "TriClassSVC",
    "methods.fourier.estimator": "SparseFourierFeatures",
    "methods.groups.estimator": "GroupLassoClassifier GroupLassoRegressor",
    "methods.groups.finding": "groups_by_correlation groups_from_dummies groups_from_names",
    "methods.groups.online_estimator": "OnlineGroupLassoClassifier OnlineGroupLassoRegressor",
    "methods.groups.search": "GroupLassoClassifierCV GroupLassoRegressorCV",
    "methods.kernels.choice": "kernel_dictionary",
    "methods.kernels.gmkl": "GMKLClassifier GMKLRegressor",
    "methods.low_rank.classifier": "LowRankClassifier",
    "methods.low_rank.factorization": "LowRankFactorization",
    "methods.low_rank.lasso": "LowRankLasso",
    "methods.low_rank.rank_one": "RankOneLasso",
    "methods.low_rank.words": "associations",
    "methods.metric.sdist": "SDist SDistClassifier",
    "methods.online.composed": "OnlineClassifier OnlineRegressor",
    "methods.online.dual_averaging": "RDAClassifier RDARegressor",
    "methods.online.fobos": "FOBOSClassifier FOBOSRegressor",
    "methods.online.ftrl": "FTRLClassifier FTRLRegressor",
    "methods.online.truncated": "TruncatedGradientClassifier TruncatedGradientRegressor",
    "methods.robust.classifier": "RobustSVC",
    "methods.robust.regressor": "RobustRegressor",
    "methods.sieve.estimator": "SieveClassifier SieveRegressor",
    "methods.stabilized.estimator": "StabilizedSGDClassifier StabilizedSGDRegressor",
    "methods.stabilized.search": "StabilizedSGDClassifierCV StabilizedSGDRegressorCV",
    "methods.tasks.estimator": "MultiTaskClassifier MultiTaskRegressor",
    "methods.tasks.online_estimator": "OnlineMultiTaskClassifier OnlineMultiTaskRegressor",
    "methods.thresholding.estimator": "ThresholdedClassifier",
    "methods.thresholding.transformer": "DataThresholder",
    "persist": "load save",
    "read.columns.transformer": "Table",
    "read.opening": "open_rows",
    "report.displays.few_labels": "TriClassDisplay",
    "report.displays.groups": "GroupPathDisplay TaskMatrixDisplay",
    "report.displays.kernels": "KernelWeightsDisplay",
    "report.displays.low_rank": "RankOnePathDisplay SingularValueDisplay",
    "report.displays.metric": (
        "InteractionDisplay MetricHistogramDisplay MetricStepsDisplay MetricSurfaceDisplay"
    ),
    "report.displays.selection": "PixelDisplay SelectionPathDisplay SelectionProbabilityDisplay",
    "report.displays.stability": "StabilityDisplay",
    "report.displays.thresholding": "ThresholdDisplay",
    "report.displays.training": "DensityBiasDisplay TrainingDisplay",
    "report.page.page": "write_page",
    "report.page.rank_page": "write_association_page",
    "serve.live": "live",
    "training.walk": "train",
}
_HOMES = {name: f"tamis.{home}" for home, names in _PUBLIC.items() for name in names.split()}
_MODULES = ("datasets", "distributed", "report", "terms", "testing")

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
