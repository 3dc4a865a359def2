"""Online multi-task feature selection: one model a task, features chosen together."""

from tamis.base.recipe import recipe
from tamis.base.regressor import Numbers
from tamis.methods.tasks.rows import TaskScores
from tamis.methods.tasks.stream import TASKS_CONSTRAINTS, TASKS_WITHOUT, Tasks
from tamis.solvers.block_descent.softmax import SoftmaxClasses
from tamis.solvers.online_blocks.estimator import Grouped


@recipe(
    TASKS_CONSTRAINTS,
    TASKS_WITHOUT,
    penalty="shared",
    alpha="auto",
    l1_weight=0.3,
    rho=0.0,
    gamma="auto",
    t0="auto",
    protocol="auto",
    balance_tasks=True,
    loss="logistic",
)
class OnlineMultiTaskClassifier(TaskScores, Tasks, SoftmaxClasses, Grouped):
    r"""Online classifier of several tasks that choose their features together (iMTFS, aMTFS, MTFTS).

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task and the rows :math:`i`
    of task :math:`q`,

    .. math:: \sum_q \frac{1}{n_q} \sum_i \ell(W_{\cdot q}^T x_i + b_q, y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and
    :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: C_{j\cdot} = T\big(U_{j\cdot},\; \alpha r t + \rho \beta_t\big), \qquad
       W_{j\cdot} = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a t}{\|C_{j\cdot}\|_2}\Big]_+
       C_{j\cdot} .

    Choose it where many small tasks look at the same columns, and few of those matter to any task:
    schools, patients, users, sensors. Where tasks have nothing in common, ``penalty="individual"``
    or separate models do as well.

    Parameters
    ----------
    penalty : {"individual", "shared", "shared+sparse"}, default="shared"
        "individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a
        feature is kept for all tasks or for none (:math:`a = 1, r = 0`; aMTFS). "shared+sparse":
        shared features, of which a task may drop some (:math:`a = 1, r =` `l1_weight`; MTFTS).
    alpha : float or "auto", default="auto"
        Strength of the penalty: :math:`\alpha` above. "auto" is 1e-4 times the mean slope of the
        loss at score 0 times the mean norm of the rows so far.
    l1_weight : float, default=0.3
        Weight :math:`r` of L1 under "shared+sparse".
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights.
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t /
        t_0}` over the rows so far.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma`, else 0, the
        update as published.
    protocol : {"auto", "round", "stream"}, default="auto"
        "round": a step takes one row of every task; short tasks come round again. "stream": a step
        takes one row, as it comes, and the penalty is divided by the number of tasks, so that the
        same `alpha` means the same model. "auto" makes rounds in `fit` and streams in
        `partial_fit`, where only "stream" can be.
    balance_tasks : bool, default=True
        Whether rows of a stream are weighed so that every task counts alike; `partial_fit` counts
        the rows so far. In rounds they do without.
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    {shared}

    Attributes
    ----------
    {attributes}
    tasks_ : ndarray
        Labels of the tasks, in the order in which they came; rows of `coef_` are in this order.
        With several tasks `coef_` has shape (n_tasks, n_features), or (n_tasks, classes,
        n_features) where a task has several classes.

    See Also
    --------
    OnlineGroupLassoClassifier : One task, groups of columns.

    References
    ----------
    H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010,
    equations of iMTFS, aMTFS and MTFTS.

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

    def fit(self, X, y, task=None, sample_weight=None):
        """Learn from all rows of all tasks, in several passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit_tasks(X, y, task, sample_weight)

    def partial_fit(self, X, y, task=None, classes=None, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; tasks may be new, and chunks
        do not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        classes : array-like, default=None
            All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._stream_tasks(X, y, task, sample_weight, classes=classes)


@recipe(
    TASKS_CONSTRAINTS,
    TASKS_WITHOUT,
    penalty="shared",
    alpha="auto",
    l1_weight=0.3,
    rho=0.0,
    gamma="auto",
    t0="auto",
    protocol="auto",
    balance_tasks=True,
    loss="squared_error",
)
class OnlineMultiTaskRegressor(Tasks, Numbers, Grouped):
    r"""Online regressor of several tasks that choose their features together (iMTFS, aMTFS, MTFTS).

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task and the rows :math:`i`
    of task :math:`q`,

    .. math:: \sum_q \frac{1}{n_q} \sum_i \ell(W_{\cdot q}^T x_i + b_q, y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and
    :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: C_{j\cdot} = T\big(U_{j\cdot},\; \alpha r t + \rho \beta_t\big), \qquad
       W_{j\cdot} = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a t}{\|C_{j\cdot}\|_2}\Big]_+
       C_{j\cdot} .

    Choose it where many small tasks look at the same columns, and few of those matter to any task:
    schools, patients, users, sensors. Where tasks have nothing in common, ``penalty="individual"``
    or separate models do as well.

    Parameters
    ----------
    penalty : {"individual", "shared", "shared+sparse"}, default="shared"
        "individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a
        feature is kept for all tasks or for none (:math:`a = 1, r = 0`; aMTFS). "shared+sparse":
        shared features, of which a task may drop some (:math:`a = 1, r =` `l1_weight`; MTFTS).
    alpha : float or "auto", default="auto"
        Strength of the penalty: :math:`\alpha` above. "auto" is 1e-4 times the mean slope of the
        loss at score 0 times the mean norm of the rows so far.
    l1_weight : float, default=0.3
        Weight :math:`r` of L1 under "shared+sparse".
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights.
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t /
        t_0}` over the rows so far.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma`, else 0, the
        update as published.
    protocol : {"auto", "round", "stream"}, default="auto"
        "round": a step takes one row of every task; short tasks come round again. "stream": a step
        takes one row, as it comes, and the penalty is divided by the number of tasks, so that the
        same `alpha` means the same model. "auto" makes rounds in `fit` and streams in
        `partial_fit`, where only "stream" can be.
    balance_tasks : bool, default=True
        Whether rows of a stream are weighed so that every task counts alike; `partial_fit` counts
        the rows so far. In rounds they do without.
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    {shared}

    Attributes
    ----------
    {attributes}
    tasks_ : ndarray
        Labels of the tasks, in the order in which they came; rows of `coef_` are in this order.
        With several tasks `coef_` has shape (n_tasks, n_features), or (n_tasks, targets,
        n_features) where a task has several targets.

    See Also
    --------
    OnlineGroupLassoRegressor : One task, groups of columns.

    References
    ----------
    H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010,
    equations of iMTFS, aMTFS and MTFTS.

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

    def fit(self, X, y, task=None, sample_weight=None):
        """Learn from all rows of all tasks, in several passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit_tasks(X, y, task, sample_weight)

    def partial_fit(self, X, y, task=None, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; tasks may be new, and chunks
        do not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._stream_tasks(X, y, task, sample_weight)
