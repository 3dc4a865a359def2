"""Classes that exclude each other: one multinomial model under the logistic loss."""

from tamis.models.classifier import Classes
from tamis.solvers.group_losses import softmax


class SoftmaxClasses(Classes):
    """Classes whose probabilities are the softmax of their scores, where the loss is the logistic one."""

    def _divide(self, scores, likely):
        """Probabilities of several classes."""
        return softmax(scores)
