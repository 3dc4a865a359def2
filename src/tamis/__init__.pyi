from . import datasets as datasets, terms as terms, testing as testing
from tamis.report.verdict.report import report as report
from tamis.base.estimators.explaining import explain as explain
from tamis.exporting.export import export as export
from tamis.judge.anytime.estimator import FDRStream as FDRStream
from tamis.judge.discovery.estimator import FDRSelector as FDRSelector
from tamis.judge.protocol import compare as compare
from tamis.judge.record import Record as Record
from tamis.judge.selector import StabilitySelector as StabilitySelector
from tamis.judge.stability import selection_kappa as selection_kappa
from tamis.judge.stability import selection_stability as selection_stability
from tamis.methods.batch_confidence.bcw import BCWClassifier as BCWClassifier
from tamis.methods.batch_confidence.sparse_bcw import SparseBCWClassifier as SparseBCWClassifier
from tamis.methods.confidence.arow import AROWClassifier as AROWClassifier
from tamis.methods.confidence.arow import NAROWClassifier as NAROWClassifier
from tamis.methods.confidence.arow import SecondOrderPerceptron as SecondOrderPerceptron
from tamis.methods.confidence.confidence_weighted import CWClassifier as CWClassifier
from tamis.methods.confidence.confidence_weighted import SCWClassifier as SCWClassifier
from tamis.methods.confidence.passive_aggressive import PAClassifier as PAClassifier
from tamis.methods.confidence.passive_aggressive import PARegressor as PARegressor
from tamis.methods.confidence.sofs import SOFSClassifier as SOFSClassifier
from tamis.methods.few_labels.triclass import TriClassSVC as TriClassSVC
from tamis.methods.fourier.estimator import SparseFourierFeatures as SparseFourierFeatures
from tamis.methods.groups.estimator import GroupLassoClassifier as GroupLassoClassifier
from tamis.methods.groups.estimator import GroupLassoRegressor as GroupLassoRegressor
from tamis.methods.groups.finding import groups_by_correlation as groups_by_correlation
from tamis.methods.groups.finding import groups_from_dummies as groups_from_dummies
from tamis.methods.groups.finding import groups_from_names as groups_from_names
from tamis.methods.groups.online_estimator import OnlineGroupLassoClassifier as OnlineGroupLassoClassifier
from tamis.methods.groups.online_estimator import OnlineGroupLassoRegressor as OnlineGroupLassoRegressor
from tamis.methods.groups.search import GroupLassoClassifierCV as GroupLassoClassifierCV
from tamis.methods.groups.search import GroupLassoRegressorCV as GroupLassoRegressorCV
from tamis.methods.kernels.choice import kernel_dictionary as kernel_dictionary
from tamis.methods.kernels.gmkl import GMKLClassifier as GMKLClassifier
from tamis.methods.kernels.gmkl import GMKLRegressor as GMKLRegressor
from tamis.methods.low_rank.classifier import LowRankClassifier as LowRankClassifier
from tamis.methods.low_rank.factorization import LowRankFactorization as LowRankFactorization
from tamis.methods.low_rank.lasso import LowRankLasso as LowRankLasso
from tamis.methods.low_rank.rank_one import RankOneLasso as RankOneLasso
from tamis.methods.low_rank.words import associations as associations
from tamis.methods.metric.sdist import SDist as SDist
from tamis.methods.metric.sdist import SDistClassifier as SDistClassifier
from tamis.methods.online.composed import OnlineClassifier as OnlineClassifier
from tamis.methods.online.composed import OnlineRegressor as OnlineRegressor
from tamis.methods.online.dual_averaging import RDAClassifier as RDAClassifier
from tamis.methods.online.dual_averaging import RDARegressor as RDARegressor
from tamis.methods.online.fobos import FOBOSClassifier as FOBOSClassifier
from tamis.methods.online.fobos import FOBOSRegressor as FOBOSRegressor
from tamis.methods.online.ftrl import FTRLClassifier as FTRLClassifier
from tamis.methods.online.ftrl import FTRLRegressor as FTRLRegressor
from tamis.methods.online.truncated import TruncatedGradientClassifier as TruncatedGradientClassifier
from tamis.methods.online.truncated import TruncatedGradientRegressor as TruncatedGradientRegressor
from tamis.methods.robust.classifier import RobustSVC as RobustSVC
from tamis.methods.robust.regressor import RobustRegressor as RobustRegressor
from tamis.methods.sieve.estimator import SieveClassifier as SieveClassifier
from tamis.methods.sieve.estimator import SieveRegressor as SieveRegressor
from tamis.methods.stabilized.estimator import StabilizedSGDClassifier as StabilizedSGDClassifier
from tamis.methods.stabilized.estimator import StabilizedSGDRegressor as StabilizedSGDRegressor
from tamis.methods.stabilized.search import StabilizedSGDClassifierCV as StabilizedSGDClassifierCV
from tamis.methods.stabilized.search import StabilizedSGDRegressorCV as StabilizedSGDRegressorCV
from tamis.methods.tasks.estimator import MultiTaskClassifier as MultiTaskClassifier
from tamis.methods.tasks.estimator import MultiTaskRegressor as MultiTaskRegressor
from tamis.methods.tasks.online_estimator import OnlineMultiTaskClassifier as OnlineMultiTaskClassifier
from tamis.methods.tasks.online_estimator import OnlineMultiTaskRegressor as OnlineMultiTaskRegressor
from tamis.methods.thresholding.estimator import ThresholdedClassifier as ThresholdedClassifier
from tamis.methods.thresholding.transformer import DataThresholder as DataThresholder
from tamis.persist import load as load
from tamis.persist import save as save
from tamis.read.columns.transformer import Table as Table
from tamis.read.opening import open_rows as open_rows
from tamis.report.displays.few_labels import TriClassDisplay as TriClassDisplay
from tamis.report.displays.groups import GroupPathDisplay as GroupPathDisplay
from tamis.report.displays.groups import TaskMatrixDisplay as TaskMatrixDisplay
from tamis.report.displays.kernels import KernelWeightsDisplay as KernelWeightsDisplay
from tamis.report.displays.low_rank import RankOnePathDisplay as RankOnePathDisplay
from tamis.report.displays.low_rank import SingularValueDisplay as SingularValueDisplay
from tamis.report.displays.metric import InteractionDisplay as InteractionDisplay
from tamis.report.displays.metric import MetricHistogramDisplay as MetricHistogramDisplay
from tamis.report.displays.metric import MetricStepsDisplay as MetricStepsDisplay
from tamis.report.displays.metric import MetricSurfaceDisplay as MetricSurfaceDisplay
from tamis.report.displays.selection import PixelDisplay as PixelDisplay
from tamis.report.displays.selection import SelectionPathDisplay as SelectionPathDisplay
from tamis.report.displays.selection import SelectionProbabilityDisplay as SelectionProbabilityDisplay
from tamis.report.displays.stability import StabilityDisplay as StabilityDisplay
from tamis.report.displays.thresholding import ThresholdDisplay as ThresholdDisplay
from tamis.report.displays.training import DensityBiasDisplay as DensityBiasDisplay
from tamis.report.displays.training import TrainingDisplay as TrainingDisplay
from tamis.report.page.page import write_page as write_page
from tamis.report.page.rank_page import write_association_page as write_association_page
from tamis.serve.live import live as live
from tamis.training.walk import train as train

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
    "save",
    "selection_kappa",
    "selection_stability",
    "terms",
    "testing",
    "train",
    "write_association_page",
    "write_page",
]
