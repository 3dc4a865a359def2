"""Batch multi-task feature selection: one model a task, features chosen together."""

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import ProbabilisticClassifier
from tamis.base.estimators.estimator import TrainingData
from tamis.base.estimators.group_batch import (
    PENALTY_NAMES,
    BatchAlphaMixin,
    BatchGroupModel,
    bind_loss,
    resolve_group_penalty,
    smooth_loss_parameter,
    uses_l1_weights,
)
from tamis.base.estimators.regressor import Regressor
from tamis.base.feature_groups import parse_feature_groups
from tamis.base.parameters import TERM, TermLike, estimator, parameter
from tamis.base.validation import inconsistent_state_error, validate_matrix, validate_offset
from tamis.methods.multitask.offset_prediction import (
    OffsetTaskClassifierMixin,
    OffsetTaskRegressorMixin,
)
from tamis.methods.multitask.task_penalties import (
    PENALTY_DESCRIPTION,
    PENALTY_WEIGHTS,
    L1WeightParameter,
    TaskPenaltyParameter,
    make_blocks,
)
from tamis.methods.multitask.task_targets import TaskTargets, labels_of_rows
from tamis.solvers.path.design import TaskDesign
from tamis.solvers.path.inner.models import GramCache
from tamis.solvers.path.loop import CoefBlocks, score_by_task
from tamis.solvers.path.problem import GroupProblem
from tamis.system.schema import array, one_of


@estimator
class MultiTask(L1WeightParameter, TaskPenaltyParameter, BatchAlphaMixin, BatchGroupModel):
    r"""Batch models whose rows each belong to a task.

    Choose this {kind} where many small tasks have the same columns and fit into memory. For
    streams there is `OnlineMultiTask{Kind}`; where tasks have nothing in common, separate models
    are as good. With the same rows in all tasks, the squared loss and the penalty "shared" it is
    scikit-learn's `MultiTaskLasso`.

    Minimises, with one column :math:`W_{\cdot q}` and one intercept a task,

    .. math:: \sum_q \frac{1}{\sum_{i \in q} s_i}
       \sum_{i \in q} s_i\, \ell(W_{\cdot q}^T x_i + b_q, y_i)
       + \alpha \sum_j \big(a \|W_{j\cdot}\|_2 + r \|W_{j\cdot}\|_1\big)

    by FISTA or Newton steps on working sets of features, until the duality gap is small. With
    several classes or targets a row :math:`W_{j\cdot}` holds those of all of them in all tasks.

    {parameters}

    {attributes}

    See Also
    --------
    OnlineMultiTask{Kind} : The same penalties for streams.
    GroupLasso{Kind} : One task, groups of columns.

    References
    ----------
    G. Obozinski, B. Taskar and M. I. Jordan, "Joint covariate selection and joint subspace
    selection for multiple classification problems", Statistics and Computing 20, 2010, equation 2;
    H. Yang, I. King and M. R. Lyu, "Online Learning for Multi-Task Feature Selection", CIKM 2010.
    """

    penalty: TermLike = parameter(
        "shared",
        TERM,
        f"{PENALTY_DESCRIPTION} Else, of the weights of a feature in all tasks, {PENALTY_NAMES}.",
    )
    _contents: ClassVar[dict] = {
        "coef_": one_of(
            array("f8", "tasks*outputs", "columns"),
            array("f8", "tasks", "outputs", "columns"),
            array("f8", "tasks*outputs*columns"),
        ),
        "intercept_": one_of(array("f8", "tasks*outputs"), array("f8", "tasks", "outputs")),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_tasks, n_features) or (n_tasks, n_outputs, n_features)
            Weights, with more than two classes or with several targets one row each; zeros are
            exact. With one task the first axis is left out where there are several outputs, and of
            a regressor always.
        intercept_ : ndarray of shape (n_tasks,) or (n_tasks, n_outputs)
            Intercepts, likewise.
        support_ : ndarray of int
            Indices of the features that some task keeps.
        tasks_ : ndarray
            Labels of the tasks in the order of their first rows; rows of `coef_` are in this
            order.
        history_ : list of dict
            Per iteration: objective, duality gap, features with weights, features screened."""
    _layout = "rows"

    def _penalty(self, blocks: CoefBlocks):
        """Return the penalty term, of strength 1."""
        return super()._penalty(blocks) if self._is_named() else resolve_group_penalty(self)

    def _is_named(self) -> bool:
        """Return whether `penalty` is one of the multi-task names."""
        return isinstance(self.penalty, str) and self.penalty in PENALTY_WEIGHTS

    def _blocks(self, n_columns: int) -> CoefBlocks:
        """Return one block a feature, over all tasks."""
        if self._is_named():
            return make_blocks(self, n_columns)
        inside = float(self.l1_weight) if uses_l1_weights(resolve_group_penalty(self)) else 0.0
        return parse_feature_groups(None, n_columns, group_weights=1.0, l1_weights=inside)

    def _problem(
        self, training_data: TrainingData, task=None, offset=None, **options
    ) -> tuple[TaskTargets, GroupProblem]:
        """Return the targets and the problem. Row weights sum to 1 in every task; rows of weight 0
        are left out, and so are tasks without other rows.
        """
        labels = labels_of_rows(task, training_data.n_user_rows)[training_data.row_indices]
        targets, codes = TaskTargets.of(training_data.targets, labels)
        tasks, codes = len(targets.tasks), codes.astype(np.int64)
        weights = training_data.weights / np.bincount(codes, weights=training_data.weights)[codes]
        rows = training_data.rows._replace(
            data=training_data.rows.data.astype(np.float64, copy=False)
        )
        design = TaskDesign(rows, codes, weights, tasks, targets.outputs, self.fit_intercept)
        if offset is not None:
            offset = validate_offset(offset, training_data.n_user_rows)[training_data.row_indices]
        bound_loss = bind_loss(
            self._loss(), training_data.targets, training_data.columns, weights, offset
        )
        blocks = self._blocks(rows.n_features)
        return targets, GroupProblem(
            design, bound_loss, blocks, self.fit_intercept, "auto", GramCache()
        )

    def _intercepts(self, targets, intercept):
        return targets.shape_intercepts(intercept)

    def _scores(self, X, task=None):
        """Return the scores (rows, outputs), each row by the coefficients of its task."""
        check_is_fitted(self)
        rows = validate_matrix(self, X, reset=False)
        targets, coef, intercept = self._targets, self.coef_, self.intercept_
        codes = targets.prediction_codes(task, rows.n_rows, type(self).__name__)
        intercept_shape = (len(targets.tasks), targets.outputs)
        n_outputs = intercept_shape[0] * intercept_shape[1]
        if (np.size(coef), np.size(intercept)) != (n_outputs * rows.n_features, n_outputs):
            raise inconsistent_state_error(self)
        weights = np.ascontiguousarray(np.reshape(coef, (n_outputs, -1)).T)
        scores = np.empty((rows.n_rows, targets.outputs))
        score_by_task(*rows[:3], codes, weights, scores)
        return scores + np.reshape(intercept, intercept_shape)[codes]


@estimator(kw_only=True)
class MultiTaskClassifier(OffsetTaskClassifierMixin, ProbabilisticClassifier, MultiTask):  # type: ignore[misc]
    """Batch classifier of several tasks that choose their features together.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MultiTaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(300, 20)), np.arange(300) % 3
    >>> truth = rng.choice([-2.0, 2.0], size=(3, 3))
    >>> y = np.array([X[i, :3] @ truth[:, q] for i, q in enumerate(task)]) > 0
    >>> model = MultiTaskClassifier(alpha=0.2).fit(X, y, task)
    >>> model.coef_.shape, model.support_.tolist()
    ((3, 20), [0, 1, 2])
    >>> model.predict(X[:2], task=[0, 2]).shape
    (2,)
    """

    loss: TermLike = smooth_loss_parameter("logistic")
    _is_multinomial = True


@estimator(kw_only=True)
class MultiTaskRegressor(OffsetTaskRegressorMixin, Regressor, MultiTask):  # type: ignore[misc]
    """Batch regressor of several tasks that choose their features together.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MultiTaskRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(300, 20)), np.arange(300) % 3
    >>> truth = rng.choice([-2.0, 2.0], size=(3, 3))
    >>> y = np.array([X[i, :3] @ truth[:, q] for i, q in enumerate(task)])
    >>> model = MultiTaskRegressor(alpha=1.0).fit(X, y, task)
    >>> model.coef_.shape, model.support_.tolist()
    ((3, 20), [0, 1, 2])
    >>> model.predict(X[:2], task=[0, 2]).shape
    (2,)
    """

    loss: TermLike = smooth_loss_parameter("squared_error")
