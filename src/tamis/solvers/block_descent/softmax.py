"""Classes that exclude each other: one multinomial model under the logistic loss."""

from tamis.base.classifier import Classes
from tamis.solvers.block_descent.losses import softmax


class SoftmaxClasses(Classes):
    """Classes whose probabilities are the softmax of their scores, where the loss is the logistic
    one.
    """

    def _divide(self, scores, likely):
        """Probabilities of several classes."""
        return softmax(scores)
