"""Batch multi-task feature selection for two classes: one model a task, features chosen together."""

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from tamis.models.batch_targets import CLASS_WEIGHT, SoftmaxClasses, is_logistic
from tamis.models.task_batch import TASKS, TaskModel

TASK_CLASSES = {**TASKS, **CLASS_WEIGHT}


class MultiTaskClassifier(SoftmaxClasses, TaskModel):
    r"""Batch classifier of several tasks that choose their features together.

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task,

    .. math:: \sum_q \frac{1}{\sum_{i \in q} s_i} \sum_{i \in q} s_i\, \ell(W_{\cdot q}^T x_i + b_q, y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by FISTA on working sets of features, until the duality gap is small.

    Choose it where many small tasks look at the same columns and fit into memory. For streams there is
    `OnlineMultiTaskClassifier`; where tasks have nothing in common, separate models do as well. A task has two classes.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Strength of the penalty. "auto" is a tenth of the smallest strength that keeps nothing.
    penalty : {"individual", "shared", "shared+sparse"}, default="shared"
        "individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a feature is kept for all tasks or for none
        (:math:`a = 1, r = 0`; aMTFS). "shared+sparse": shared features, of which a task may drop some (:math:`a = 1, r =` `l1_weight`; MTFTS).
    l1_weight : float, default=0.3
        Weight :math:`r` of L1 under "shared+sparse".
    loss : str or term, default="logistic"
        "logistic" (or "log_loss"), "squared_hinge" or "squared_error", or a smooth
        term of `tamis.terms`.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most `tol` times the loss of the best intercept alone.
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
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights; zeros are exact.
    intercept_ : ndarray of shape (n_tasks,)
        Intercepts.
    support_ : ndarray of int
        Indices of the features that some task keeps.
    tasks_ : ndarray
        Labels of the tasks, sorted.
    alpha_, alpha_max_ : float
        Strength used, and the smallest that keeps nothing.
    dual_gap_, objective_ : float
        Duality gap and objective at the solution.
    n_iter_ : int
        Iterations made.
    history_ : list of dict
        Per iteration: objective, duality gap, features with weights, features screened.
    classes_ : ndarray
        Class labels.
    multilabel_ : bool
        False.
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
    G. Obozinski, B. Taskar and M. I. Jordan, "Joint covariate selection and joint subspace selection for multiple classification problems",
    Statistics and Computing 20, 2010, equation 2; H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010.

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
        y : array-like of shape (n_samples,)
            Two classes, the same in all tasks.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, task=task)

    def _take_targets(self, y, n_rows, *, first, whole):
        targets = super()._take_targets(y, n_rows, first=first, whole=whole)
        if self._outputs() > 1:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {'multilabel' if self.multilabel_ else 'multiclass'}: "
                f"{type(self).__name__} takes two classes, but y holds {len(self.classes_)}. Make one task a class, or use OnlineMultiTaskClassifier."
            )
        return targets

    def decision_function(self, X, task=None):
        """Scores of the rows, each by the weights of its task; positive speaks for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores_of(X, task)[:, 0]

    def predict(self, X, task=None):
        """Classes of the rows: ``classes_[1]`` iff the score is above 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        right = self.decision_function(X, task) > 0
        return self.classes_[right.astype(int)]

    @available_if(is_logistic)
    def predict_proba(self, X, task=None):
        """Probabilities of the two classes, for ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, 2)
        """
        scores = self.decision_function(X, task)
        return 0.5 * (1.0 + np.tanh(0.5 * np.column_stack((-scores, scores))))

    @available_if(is_logistic)
    def predict_log_proba(self, X, task=None):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, 2)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task))

    def score(self, X, y, task=None, sample_weight=None):
        """Accuracy over all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Two classes, the same in all tasks.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        accuracy : float
        """
        return float(accuracy_score(y, self.predict(X, task), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = tags.classifier_tags.multi_label = False
        return tags
