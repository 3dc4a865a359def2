"""Batch multi-task feature selection for classes: one model a task, features chosen together."""

from tamis.methods.tasks.batch import TASKS, TaskModel
from tamis.methods.tasks.rows import TaskRows, TaskScores
from tamis.solvers.block_descent.targets import CLASS_WEIGHT, BatchClasses

TASK_CLASSES = {**TASKS, **CLASS_WEIGHT}


class MultiTaskClassifier(TaskScores, TaskRows, BatchClasses, TaskModel):
    r"""Batch classifier of several tasks that choose their features together.

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task,

    .. math:: \sum_q \frac{1}{\sum_{i \in q} s_i} \sum_{i \in q} s_i\, \ell(W_{\cdot q}^T x_i + b_q,
    y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by FISTA on working sets of features, until the duality gap is small.

    Choose it where many small tasks look at the same columns and fit into memory. For streams there
    is `OnlineMultiTaskClassifier`; where tasks have nothing in common, separate models do as well.
    With several classes a row :math:`W_{j\cdot}` holds those of all classes of all tasks.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty. "auto" is a tenth of the smallest strength that keeps nothing.
    penalty : {"individual", "shared", "shared+sparse"}, default="shared"
        "individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a
        feature is kept for all tasks or for none (:math:`a = 1, r = 0`; aMTFS). "shared+sparse":
        shared features, of which a task may drop some (:math:`a = 1, r =` `l1_weight`; MTFTS).
    l1_weight : float, default=0.3
        Weight :math:`r` of L1 under "shared+sparse".
    loss : str or term, default="logistic"
        "logistic" (or "log_loss"; multinomial for several classes), "squared_hinge" or
        "squared_error" (one against the rest), or a smooth term of `tamis.terms`.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most `tol` times the loss of the best intercept
        alone.
    max_iter : int, default=100
        Most iterations: looks at all columns, each followed by a solve of a working set.
    positive : bool, default=False
        Whether weights must not be negative.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is never penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features) or (n_tasks, n_classes, n_features)
        Weights, for more than two classes one row each; zeros are exact. With one task the first
        axis is left out where there are several classes.
    intercept_ : ndarray of shape (n_tasks,) or (n_tasks, n_classes)
        Intercepts, likewise.
    support_ : ndarray of int
        Indices of the features that some task keeps.
    tasks_ : ndarray
        Labels of the tasks, in the order in which they come; rows of `coef_` are in this order.
    alpha_, alpha_max_ : float
        Strength used, and the smallest that keeps nothing.
    dual_gap_, objective_ : float
        Duality gap and objective at the solution.
    n_iter_ : int
        Iterations made.
    history_ : list of dict
        Per iteration: objective, duality gap, features with weights, features screened.
    classes_ : ndarray
        Class labels, the same in all tasks; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    GroupLassoClassifier : One task, groups of columns.
    MultiTaskRegressor : The same for numbers.

    References
    ----------
    G. Obozinski, B. Taskar and M. I. Jordan, "Joint covariate selection and joint subspace
    selection for multiple classification problems", Statistics and Computing 20, 2010, equation 2;
    H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MultiTaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task, truth = rng.normal(size=(300, 20)), np.arange(300) % 3, rng.choice([-2.0, 2.0], size=(3, 3))
    >>> y = np.array([X[i, :3] @ truth[:, q] for i, q in enumerate(task)]) > 0
    >>> model = MultiTaskClassifier(alpha=0.2).fit(X, y, task)
    >>> model.coef_.shape, model.support_.tolist()
    ((3, 20), [0, 1, 2])
    >>> model.predict(X[:2], task=[0, 2]).shape
    (2,)
    """

    _parameter_constraints: dict = TASK_CLASSES

    def __init__(
        self,
        alpha="auto",
        penalty="shared",
        l1_weight=0.3,
        *,
        loss="logistic",
        tol=1e-6,
        max_iter=100,
        positive=False,
        fit_intercept=True,
        class_weight=None,
    ):
        self.alpha = alpha
        self.penalty = penalty
        self.l1_weight = l1_weight
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    def fit(self, X, y, task=None, sample_weight=None):
        """Learn from all rows of all tasks.

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
        return self._fit(X, y, sample_weight, task=task)
