"""Online multi-task feature selection: one model a task, features chosen together."""

from typing import ClassVar

from tamis.base.estimators.classifier import ProbabilisticClassifier
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import TermLike, estimator, loss_parameter
from tamis.methods.multitask.prediction import TaskClassifierMixin, TaskRegressorMixin
from tamis.methods.multitask.stream import (
    OnlineTaskClassifierMixin,
    OnlineTaskModel,
    OnlineTaskRegressorMixin,
)


class OnlineMultiTask(OnlineTaskModel):
    r"""Online models of several tasks.

    Choose this {kind} where many small tasks have the same columns, and few of them matter to any
    task: schools, patients, users, sensors. Where tasks have nothing in common,
    ``penalty="individual"`` or separate models do as well.

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task and the rows :math:`i`
    of task :math:`q`,

    .. math:: \sum_q \frac{1}{n_q} \sum_i \ell(W_{\cdot q}^T x_i + b_q, y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by dual averaging: with the sum of all gradients :math:`U`, the soft threshold :math:`T`,
    :math:`\beta_t = \sqrt{t + t_0} / \eta` and :math:`\rho` the `fading_threshold`,

    .. math:: C_{j\cdot} = T\big(U_{j\cdot},\; \alpha r t + \rho \beta_t\big), \qquad
       W_{j\cdot} = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a t}{\|C_{j\cdot}\|_2}\Big]_+
       C_{j\cdot} .

    {parameters}

    {attributes}

    See Also
    --------
    MultiTask{Kind} : The same penalties for tables that fit into memory.
    OnlineGroupLasso{Kind} : One task, groups of columns.

    References
    ----------
    H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010,
    equations of iMTFS, aMTFS and MTFTS.
    """

    _attributes: ClassVar[str] = """\
        tasks_ : ndarray
            Labels of the tasks in the order of their first rows; rows of `coef_` are in this
            order. With several tasks `coef_` has shape (n_tasks, n_features), or (n_tasks,
            n_outputs, n_features) where a task has more than two classes, or several targets."""


@estimator
class OnlineMultiTaskClassifier(  # type: ignore[misc]
    TaskClassifierMixin, OnlineTaskClassifierMixin, ProbabilisticClassifier, OnlineMultiTask
):
    """Online classifier of several tasks that choose their features together (iMTFS, aMTFS, MTFTS).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineMultiTaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task, truth = rng.normal(size=(1200, 30)), np.arange(1200) % 6, rng.normal(size=(4, 6))
    >>> y = np.array([X[i, :4] @ truth[:, t] for i, t in enumerate(task)]) > 0
    >>> model = OnlineMultiTaskClassifier(alpha=0.2, random_state=0).fit(X, y, task)
    >>> model.coef_.shape
    (6, 30)
    >>> model.support_.tolist()  # the same for all tasks
    [0, 1, 2, 3]
    >>> model.predict(X[:2], task=[0, 5]).shape
    (2,)
    """

    loss: TermLike = loss_parameter("logistic")
    _is_multinomial = True


@estimator
class OnlineMultiTaskRegressor(  # type: ignore[misc]
    TaskRegressorMixin, OnlineTaskRegressorMixin, Regressor, OnlineMultiTask
):
    """Online regressor of several tasks that choose their features together (iMTFS, aMTFS, MTFTS).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineMultiTaskRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, task, truth = rng.normal(size=(1200, 30)), np.arange(1200) % 6, rng.normal(size=(4, 6))
    >>> y = np.array([X[i, :4] @ truth[:, t] for i, t in enumerate(task)])
    >>> model = OnlineMultiTaskRegressor(alpha=0.5, random_state=0).fit(X, y, task)
    >>> model.coef_.shape
    (6, 30)
    >>> model.support_.tolist()  # the same for all tasks
    [0, 1, 2, 3]
    >>> model.predict(X[:2], task=[0, 5]).shape
    (2,)
    """

    loss: TermLike = loss_parameter("squared_error")
