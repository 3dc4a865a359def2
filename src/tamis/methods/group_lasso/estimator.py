"""Batch group lasso and sparse group lasso."""

from itertools import pairwise
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from tamis.base.estimators.estimator import TrainingData, validate_training
from tamis.base.estimators.group_batch import (
    PENALTY_NAMES,
    BatchAlphaMixin,
    BatchGroupModel,
    bind_loss,
    resolve_group_penalty,
    smooth_loss_parameter,
    uses_l1_weights,
)
from tamis.base.estimators.offsets import OffsetClassifier, OffsetRegressor
from tamis.base.parameters import (
    BOOL,
    TERM,
    TermLike,
    estimator,
    is_auto,
    one_of_strings,
    parameter,
)
from tamis.base.targets import Targets
from tamis.base.validation import validate_offset
from tamis.methods.group_lasso.group_parameters import (
    FeatureGroupParameters,
    GroupWeightParameters,
    make_blocks,
)
from tamis.solvers.path.design import Design
from tamis.solvers.path.inner.models import GramCache
from tamis.solvers.path.loop import CoefBlocks
from tamis.solvers.path.path import path_arrays, resolve_alphas, solve_path
from tamis.solvers.path.problem import GroupProblem, GroupSolution, nonzero_blocks
from tamis.system.schema import indices, list_of, separate_sizes


@estimator(kw_only=True)
class BatchGroupLasso(BatchGroupModel):
    """Base of the batch models of one table with groups of columns."""

    solver: str = parameter(
        "auto",
        [one_of_strings("auto", "fista", "blocks")],
        '"blocks": working sets of groups, solved by block coordinate descent and Newton steps on '
        "the support, or by FISTA where they have too many weights of several outputs. "
        '"fista": accelerated proximal gradient steps with restart on all groups not yet '
        'screened. "auto" is "blocks".',
    )
    _contents: ClassVar[dict] = {
        "feature_groups_": list_of(
            separate_sizes(indices("members", below="columns", distinct=True), "columns"), "groups"
        ),
        "group_support_": indices("kept_groups", below="groups", increasing=True),
    }
    _attributes: ClassVar[str] = """\
        feature_groups_ : list of ndarray
            The groups as arrays of columns: those of the user, then columns of no group, then
            columns that are not penalised.
        group_support_ : ndarray of int
            Indices of the selected groups."""

    penalty: TermLike = parameter(
        "auto",
        TERM,
        '"auto": the group lasso, and with L1 (`l1_ratio`, `l1_weights`) the sparse group lasso. '
        f"Else {PENALTY_NAMES}. `l1_ratio` must then be 0.",
    )

    def _penalty(self, blocks: CoefBlocks):
        """Return the penalty term, of strength 1."""
        if is_auto(self.penalty):
            return super()._penalty(blocks)
        penalty_term = resolve_group_penalty(self)
        if self.l1_ratio or (self.l1_weights is not None and not uses_l1_weights(penalty_term)):
            name = "l1_ratio" if self.l1_ratio else "l1_weights"
            raise ValueError(
                f"{name}={getattr(self, name)!r} has no effect with penalty={self.penalty!r}. "
                "Omit it, or use penalty='auto'."
            )
        return penalty_term

    def _problem(
        self, training_data: TrainingData, offset=None, **options
    ) -> tuple[Targets, GroupProblem]:
        targets, weights = (
            training_data.targets,
            training_data.weights / training_data.weights.sum(),
        )
        if offset is not None:
            offset = validate_offset(offset, training_data.n_user_rows)[training_data.row_indices]
        design = Design(training_data.rows, weights, targets.outputs, self.fit_intercept)
        bound_loss = bind_loss(self._loss(), targets, training_data.columns, weights, offset)
        blocks = make_blocks(self, training_data.rows.shape[1])
        return targets, GroupProblem(
            design, bound_loss, blocks, self.fit_intercept, self.solver, GramCache()
        )

    def _set_solution(
        self, targets, problem: GroupProblem, outcome: GroupSolution, **attributes
    ) -> None:
        blocks = problem.blocks
        starts, members = blocks.starts.astype(np.int64), blocks.members.astype(np.int64)
        groups = [members[first:last] for first, last in pairwise(starts.tolist())]
        attributes |= {
            "feature_groups_": groups,
            "group_support_": np.flatnonzero(nonzero_blocks(blocks, outcome.w)),
        }
        super()._set_solution(targets, problem, outcome, **attributes)

    def path(self, X, y, alphas=100, sample_weight=None, offset=None):
        """Compute solutions for decreasing strengths, each started at the last one; the model
        itself does not change.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        alphas : int or array-like, default=100
            Strengths, or their number: from the smallest whose solution is 0 to a hundredth of it
            (a twentieth with more columns than rows).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score.

        Returns
        -------
        path : dict of ndarray
            "alpha", "coef" of shape (n_alphas, n_outputs, n_features), "intercept", "dual_gap", and
            "group_norm" of shape (n_alphas, n_groups).
        """
        model = clone(self)
        model._validate_params()
        model._loss()
        training_data = validate_training(model, X, y, sample_weight, layout=self._layout)
        _, problem, penalty = model._problem_and_penalty(training_data, offset=offset)
        strengths = resolve_alphas(alphas, problem, penalty)
        outcomes = solve_path(problem, penalty, strengths, self.tol, self.max_iter)
        return path_arrays(problem, strengths, outcomes)


@estimator(kw_only=True)
class GroupLasso(GroupWeightParameters, BatchAlphaMixin, FeatureGroupParameters, BatchGroupLasso):
    r"""The batch models of one strength.

    Choose this {kind} for tables that fit into memory and have groups such as one-hot columns, lags
    or pathways, which should be selected together. For streams, files and very wide sparse rows
    there is `OnlineGroupLasso{Kind}`. Columns are not scaled: scale them if their units differ.

    Minimises

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i)
       + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g \|w_g\|_1\big)

    with :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` (`l1_ratio`) for a group of
    :math:`d_g` columns. With several classes or targets a group holds the weights of all of them.
    Where groups overlap, weights are sums of one vector a group, each with its own norm (the latent
    form): a union of groups is selected. The duality gap bounds the error of the objective.

    {parameters}

    {attributes}

    See Also
    --------
    GroupLasso{Kind}CV : Chooses the strength by cross-validation.
    OnlineGroupLasso{Kind} : The same penalty for streams.

    References
    ----------
    M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables",
    Journal of the Royal Statistical Society B 68, 2006, equation 2.1; N. Simon, J. Friedman, T.
    Hastie and R. Tibshirani, "A Sparse-Group Lasso", Journal of Computational and Graphical
    Statistics 22, 2013, equation 3; E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, "Gap Safe
    Screening Rules for Sparsity Enforcing Penalties", Journal of Machine Learning Research 18,
    2017, theorem 6; G. Obozinski, L. Jacob and J.-P. Vert, "Group Lasso with Overlaps: the Latent
    Group Lasso approach", 2011, equation 4.
    """

    warm_start: bool = parameter(
        False,
        [BOOL],
        "Whether `fit` begins at the last solution, where it has as many columns and outputs.",
    )

    def _initial_solution(self, problem: GroupProblem):
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef = np.atleast_2d(self.coef_).T
        has_same_shape = coef.shape == (problem.blocks.n_columns, problem.design.outputs)
        return problem.from_coef(coef, self.intercept_) if has_same_shape else None


@estimator(kw_only=True)
class GroupLassoClassifier(OffsetClassifier, GroupLasso):
    """Batch classifier that keeps or drops whole groups of columns (group lasso, sparse group
    lasso).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=200) > 0
    >>> model = GroupLassoClassifier(feature_groups=np.arange(12) // 3, alpha=0.05).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    """

    loss: TermLike = smooth_loss_parameter("logistic")
    _is_multinomial = True


@estimator(kw_only=True)
class GroupLassoRegressor(OffsetRegressor, GroupLasso):
    """Batch regressor that keeps or drops whole groups of columns (group lasso, sparse group
    lasso).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressor(feature_groups=np.arange(12) // 3, alpha=0.1).fit(X, y)
    >>> model.group_support_.tolist(), model.support_.tolist()
    ([0], [0, 1, 2])
    """

    loss: TermLike = smooth_loss_parameter("squared_error")
