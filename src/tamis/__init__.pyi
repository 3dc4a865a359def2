from . import datasets as datasets, terms as terms, testing as testing
from tamis.base.estimators.explaining import explain as explain
from tamis.data.columns.transformer import Table as Table
from tamis.data.opening import open_rows as open_rows
from tamis.evaluation.compare import compare as compare
from tamis.evaluation.comparison import Record as Record
from tamis.exporting.export import export as export
from tamis.methods.batch_confidence_weighted.bcw import BCWClassifier as BCWClassifier
from tamis.methods.batch_confidence_weighted.sparse_bcw import SparseBCWClassifier as SparseBCWClassifier
from tamis.methods.confidence_weighted.arow import AROWClassifier as AROWClassifier
from tamis.methods.confidence_weighted.arow import NAROWClassifier as NAROWClassifier
from tamis.methods.confidence_weighted.arow import SecondOrderPerceptron as SecondOrderPerceptron
from tamis.methods.confidence_weighted.confidence_weighted import CWClassifier as CWClassifier
from tamis.methods.confidence_weighted.confidence_weighted import SCWClassifier as SCWClassifier
from tamis.methods.confidence_weighted.passive_aggressive import PAClassifier as PAClassifier
from tamis.methods.confidence_weighted.passive_aggressive import PARegressor as PARegressor
from tamis.methods.confidence_weighted.sofs import SOFSClassifier as SOFSClassifier
from tamis.methods.data_thresholding.estimator import ThresholdedClassifier as ThresholdedClassifier
from tamis.methods.data_thresholding.transformer import DataThresholder as DataThresholder
from tamis.methods.group_lasso.cross_validation import GroupLassoClassifierCV as GroupLassoClassifierCV
from tamis.methods.group_lasso.cross_validation import GroupLassoRegressorCV as GroupLassoRegressorCV
from tamis.methods.group_lasso.estimator import GroupLassoClassifier as GroupLassoClassifier
from tamis.methods.group_lasso.estimator import GroupLassoRegressor as GroupLassoRegressor
from tamis.methods.group_lasso.group_detection import groups_by_correlation as groups_by_correlation
from tamis.methods.group_lasso.group_detection import groups_from_dummies as groups_from_dummies
from tamis.methods.group_lasso.group_detection import groups_from_names as groups_from_names
from tamis.methods.group_lasso.online_estimator import OnlineGroupLassoClassifier as OnlineGroupLassoClassifier
from tamis.methods.group_lasso.online_estimator import OnlineGroupLassoRegressor as OnlineGroupLassoRegressor
from tamis.methods.low_rank_lasso.associations import associations as associations
from tamis.methods.low_rank_lasso.classifier import LowRankClassifier as LowRankClassifier
from tamis.methods.low_rank_lasso.factorization import LowRankFactorization as LowRankFactorization
from tamis.methods.low_rank_lasso.lasso import LowRankLasso as LowRankLasso
from tamis.methods.low_rank_lasso.rank_one import RankOneLasso as RankOneLasso
from tamis.methods.metric_learning.sdist import SDist as SDist
from tamis.methods.metric_learning.sdist import SDistClassifier as SDistClassifier
from tamis.methods.multiple_kernels.dictionary import kernel_dictionary as kernel_dictionary
from tamis.methods.multiple_kernels.gmkl import GMKLClassifier as GMKLClassifier
from tamis.methods.multiple_kernels.gmkl import GMKLRegressor as GMKLRegressor
from tamis.methods.multitask.estimator import MultiTaskClassifier as MultiTaskClassifier
from tamis.methods.multitask.estimator import MultiTaskRegressor as MultiTaskRegressor
from tamis.methods.multitask.online_estimator import OnlineMultiTaskClassifier as OnlineMultiTaskClassifier
from tamis.methods.multitask.online_estimator import OnlineMultiTaskRegressor as OnlineMultiTaskRegressor
from tamis.methods.robust.classifier import RobustSVC as RobustSVC
from tamis.methods.robust.regressor import RobustRegressor as RobustRegressor
from tamis.methods.sieve.estimator import SieveClassifier as SieveClassifier
from tamis.methods.sieve.estimator import SieveRegressor as SieveRegressor
from tamis.methods.sparse_fourier.estimator import SparseFourierFeatures as SparseFourierFeatures
from tamis.methods.sparse_online.composed import OnlineClassifier as OnlineClassifier
from tamis.methods.sparse_online.composed import OnlineRegressor as OnlineRegressor
from tamis.methods.sparse_online.dual_averaging import RDAClassifier as RDAClassifier
from tamis.methods.sparse_online.dual_averaging import RDARegressor as RDARegressor
from tamis.methods.sparse_online.fobos import FOBOSClassifier as FOBOSClassifier
from tamis.methods.sparse_online.fobos import FOBOSRegressor as FOBOSRegressor
from tamis.methods.sparse_online.ftrl import FTRLClassifier as FTRLClassifier
from tamis.methods.sparse_online.ftrl import FTRLRegressor as FTRLRegressor
from tamis.methods.sparse_online.truncated_gradient import TruncatedGradientClassifier as TruncatedGradientClassifier
from tamis.methods.sparse_online.truncated_gradient import TruncatedGradientRegressor as TruncatedGradientRegressor
from tamis.methods.stabilized_sgd.estimator import StabilizedSGDClassifier as StabilizedSGDClassifier
from tamis.methods.stabilized_sgd.estimator import StabilizedSGDRegressor as StabilizedSGDRegressor
from tamis.methods.stabilized_sgd.search import StabilizedSGDClassifierCV as StabilizedSGDClassifierCV
from tamis.methods.stabilized_sgd.search import StabilizedSGDRegressorCV as StabilizedSGDRegressorCV
from tamis.methods.triclass_svm.triclass import TriClassSVC as TriClassSVC
from tamis.model_files import load as load
from tamis.model_files import save as save
from tamis.reporting.displays.few_labels import TriClassDisplay as TriClassDisplay
from tamis.reporting.displays.groups import GroupPathDisplay as GroupPathDisplay
from tamis.reporting.displays.groups import TaskMatrixDisplay as TaskMatrixDisplay
from tamis.reporting.displays.kernels import KernelWeightsDisplay as KernelWeightsDisplay
from tamis.reporting.displays.low_rank import RankOnePathDisplay as RankOnePathDisplay
from tamis.reporting.displays.low_rank import SingularValueDisplay as SingularValueDisplay
from tamis.reporting.displays.metric import InteractionDisplay as InteractionDisplay
from tamis.reporting.displays.metric import MetricHistogramDisplay as MetricHistogramDisplay
from tamis.reporting.displays.metric import MetricStepsDisplay as MetricStepsDisplay
from tamis.reporting.displays.metric import MetricSurfaceDisplay as MetricSurfaceDisplay
from tamis.reporting.displays.selection import PixelDisplay as PixelDisplay
from tamis.reporting.displays.selection import SelectionPathDisplay as SelectionPathDisplay
from tamis.reporting.displays.selection import SelectionProbabilityDisplay as SelectionProbabilityDisplay
from tamis.reporting.displays.stability import StabilityDisplay as StabilityDisplay
from tamis.reporting.displays.thresholding import ThresholdDisplay as ThresholdDisplay
from tamis.reporting.displays.training import DensityBiasDisplay as DensityBiasDisplay
from tamis.reporting.displays.training import TrainingDisplay as TrainingDisplay
from tamis.reporting.evaluation.report import report as report
from tamis.reporting.page.association_page import write_association_page as write_association_page
from tamis.reporting.page.page import write_page as write_page
from tamis.selection.agreement import selection_kappa as selection_kappa
from tamis.selection.agreement import selection_stability as selection_stability
from tamis.selection.anytime.estimator import FDRStream as FDRStream
from tamis.selection.false_discovery.estimator import FDRSelector as FDRSelector
from tamis.selection.stability_selection import StabilitySelector as StabilitySelector
from tamis.serving.live import live as live
from tamis.training.trainer import train as train

__version__: str
_HOMES: dict[str, str]
__all__ = [
    "AROWClassifier",
    "BCWClassifier",
    "CWClassifier",
    "DataThresholder",
    "DensityBiasDisplay",
    "FDRSelector",
    "FDRStream",
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
    "Table",
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
    "distributed",
    "explain",
    "export",
    "groups_by_correlation",
    "groups_from_dummies",
    "groups_from_names",
    "kernel_dictionary",
    "live",
    "load",
    "open_rows",
    "report",
    "reporting",
    "save",
    "selection_kappa",
    "selection_stability",
    "terms",
    "testing",
    "train",
    "write_association_page",
    "write_page",
]
