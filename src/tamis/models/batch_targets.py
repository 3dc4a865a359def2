"""Targets of batch models: classes with multinomial probabilities, and numbers; neither has a stream."""

from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from tamis.models.classifier import Classes
from tamis.models.regressor import Numbers
from tamis.solvers.group_losses import softmax
from tamis.terms.losses import Logistic

CLASS_WEIGHT = {"class_weight": [dict, StrOptions({"balanced"}), None]}


def _never(model):
    """A batch model learns from all rows at once; the online models of tamis have `partial_fit`."""
    return False


def is_logistic(model):
    """Probabilities come from the logistic loss alone."""
    if type(model._loss()) is Logistic:
        return True
    raise AttributeError(f"predict_proba needs loss='logistic'; this {type(model).__name__} has loss={model.loss!r}.")


class SoftmaxClasses(Classes):
    """Classes of a batch model; several of them are one multinomial model."""

    partial_fit = available_if(_never)(Classes.partial_fit)

    @available_if(is_logistic)
    def predict_proba(self, X):
        """Probabilities of the classes, for ``loss="logistic"``; multinomial for several classes, independent for labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        return softmax(scores) if self._outputs() > 1 and not self.multilabel_ else super().predict_proba(X)


class BatchNumbers(Numbers):
    """Numbers of a batch model."""

    partial_fit = available_if(_never)(Numbers.partial_fit)
