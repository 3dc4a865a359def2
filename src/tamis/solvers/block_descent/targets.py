"""Targets of batch models: classes and numbers as those of the online models, without a stream."""

from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from tamis.base.regressor import Numbers
from tamis.solvers.block_descent.softmax import SoftmaxClasses

CLASS_WEIGHT = {"class_weight": [dict, StrOptions({"balanced"}), None]}


def _never(model):
    """A batch model learns from all rows at once; the online models of tamis have `partial_fit`."""
    return False


class BatchClasses(SoftmaxClasses):
    """Classes of a batch model."""

    partial_fit = available_if(_never)(SoftmaxClasses.partial_fit)


class BatchNumbers(Numbers):
    """Numbers of a batch model."""

    partial_fit = available_if(_never)(Numbers.partial_fit)
