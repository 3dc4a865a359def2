"""Batch group lasso that chooses its strength by cross-validation, with the one-standard-error
rule.
"""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from tamis.base.estimators.estimator import validate_training
from tamis.base.estimators.group_batch import (
    smooth_loss_parameter,
)
from tamis.base.estimators.offsets import OffsetClassifier, OffsetRegressor
from tamis.base.parameters import (
    ARRAY_LIKE,
    NON_NEGATIVE,
    POSITIVE_INTEGER,
    TermLike,
    estimator,
    parameter,
)
from tamis.base.scores import one_standard_error_of_folds
from tamis.base.splits import make_folds
from tamis.base.validation import warn_user
from tamis.methods.group_lasso.estimator import BatchGroupLasso
from tamis.methods.group_lasso.group_parameters import FeatureGroupParameters, GroupWeightParameters
from tamis.solvers.path.path import path_arrays, resolve_alphas, solve_path
from tamis.solvers.path.problem import GroupProblem
from tamis.solvers.path.solver import compute_alpha_max
from tamis.system.schema import array, number, record, statistic


@estimator
class AlphaSearchParameters:
    """Parameters of models that choose their strength; stands left of the other base classes."""

    alphas: Any = parameter(
        100,
        [POSITIVE_INTEGER, ARRAY_LIKE],
        "Strengths, or how many of them: geometric, from the smallest that keeps nothing to a "
        "hundredth of it (a twentieth with more columns than rows).",
    )
    cv: Any = parameter(5, ["cv_object"], "Folds.", "int, splitter or iterable")
    se: float = parameter(
        1.0,
        [NON_NEGATIVE],
        "How many standard errors of held-out loss to give up for fewer groups. 0 takes the "
        "strength of least loss.",
    )
    n_jobs: int | None = parameter(None, [Integral, None], "Folds at a time, by joblib.")


class GroupLassoCV(
    AlphaSearchParameters, GroupWeightParameters, FeatureGroupParameters, BatchGroupLasso
):
    r"""The batch models that choose their strength.

    Choose this {kind} over `GroupLasso{Kind}` whenever the selected groups matter. `se=0` is for
    prediction only.

    Minimises, for every strength of a falling grid and on every fold,

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i)
       + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g \|w_g\|_1\big)

    each solution started at the last one, and takes the largest strength whose held-out loss is
    within `se` standard errors of the smallest: at the smallest loss itself, too many groups are
    selected. Then it fits all rows along the grid.

    {parameters}

    {attributes}

    See Also
    --------
    GroupLasso{Kind} : The model itself.

    References
    ----------
    M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables",
    Journal of the Royal Statistical Society B 68, 2006, equation 2.1, and the works that
    `GroupLasso{Kind}` names.
    """

    _contents: ClassVar[dict] = {
        "best_index_": number(int, minimum=0),
        "path_": record(
            {
                "alpha": array("f8", "alphas", minimum=0.0),
                "coef": array("f8", "alphas", "outputs", "columns"),
                "intercept": array("f8", "alphas", "outputs"),
                "dual_gap": array("f8", "alphas", finite=False),
                "group_norm": array("f8", "alphas", "groups", finite=False),
            }
        ),
        "cv_results_": record(
            {
                "alpha": array("f8", "alphas", minimum=0.0),
                "split_test_loss": array("f8", "alphas", "folds", finite=False, order=None),
                "mean_test_loss": array("f8", "alphas", finite=False),
                "limit": statistic(finite=False),
            }
        ),
    }
    _attributes: ClassVar[str] = """\
        path_ : dict of ndarray
            Solutions of all rows along all strengths, as the method `path` gives them.
        cv_results_ : dict
            "alpha", "split_test_loss" of shape (n_alphas, n_folds), "mean_test_loss" and "limit",
            the smallest mean loss plus `se` standard errors.
        best_index_ : int
            Index of `alpha_` in the strengths."""

    def _fit(self, X, y, sample_weight, **options):
        """Fit the paths of all folds and of all rows, and choose the strength."""
        self._validate_params()
        self._loss()
        training_data = validate_training(self, X, y, sample_weight, layout=self._layout)
        targets, problem, penalty = self._problem_and_penalty(training_data, **options)
        alphas = resolve_alphas(self.alphas, problem, penalty)
        largest = compute_alpha_max(problem, penalty)
        path_args = (penalty, alphas, self.tol, self.max_iter, largest)
        folds = make_folds(
            self.cv, training_data.n_user_rows, targets.strata(training_data.columns),
            stratify=is_classifier(self), rows=training_data.row_indices,
        )  # fmt: skip
        fold_rows = [
            [np.flatnonzero(np.isin(training_data.row_indices, side)) for side in fold]
            for fold in folds
        ]
        tasks = (delayed(held_out_losses)(problem, *fold, *path_args) for fold in fold_rows)
        losses, shortfalls = map(np.array, zip(*Parallel(n_jobs=self.n_jobs)(tasks), strict=True))
        losses = losses.T
        best_index, limit = one_standard_error_of_folds(losses, se=float(self.se))
        outcomes = solve_path(problem, *path_args)
        results = {
            "alpha": alphas,
            "split_test_loss": losses,
            "mean_test_loss": losses.mean(axis=1),
            "limit": limit,
        }
        self._set_solution(
            targets,
            problem,
            outcomes[best_index],
            alpha_=float(alphas[best_index]),
            alpha_max_=largest,
            best_index_=best_index,
            path_=path_arrays(problem, alphas, outcomes),
            cv_results_=results,
        )
        if outcomes[best_index].relative_gap > 1.0:
            self._warn_unfinished(outcomes[best_index])
        else:
            final_shortfalls = [outcome.relative_gap for outcome in outcomes]
            self._warn_search(np.vstack([shortfalls, final_shortfalls]))
        return self

    def _warn_search(self, shortfalls: np.ndarray) -> None:
        """Warn if the choice depends on solutions that did not converge."""
        is_unfinished = shortfalls > 1.0
        if is_unfinished.any():
            warn_user(
                f"{type(self).__name__} chose among {is_unfinished.size} solutions, of which "
                f"{is_unfinished.sum()} did not reach tol={self.tol:g} in "
                f"max_iter={self.max_iter} iterations; the largest gap or violation is "
                f"{shortfalls.max():.2g} times its limit. "
                "Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
            )


def held_out_losses(problem: GroupProblem, train, test, *path_args) -> tuple[list, list]:
    """Return the mean loss of the rows `test` under the solutions of the rows `train`, one a
    strength, and the remaining gap over its limit of each solution.
    """
    train_problem, test_problem, losses = problem.select_rows(train), problem.select_rows(test), []
    outcomes = solve_path(train_problem, *path_args)
    for outcome in outcomes:
        coef = problem.blocks.sum_copies(outcome.w)
        bias = (
            outcome.bias
            - train_problem.design.intercept_shift(coef)
            + test_problem.design.intercept_shift(coef)
        )
        scores = test_problem.design.scores(coef) + test_problem.design.intercept_scores(bias)
        losses.append(test_problem.bound_loss.value(scores))
    return losses, [outcome.relative_gap for outcome in outcomes]


@estimator(kw_only=True)
class GroupLassoClassifierCV(OffsetClassifier, GroupLassoCV):
    """Batch classifier that keeps or drops whole groups of columns, tuned by cross-validation
    (group lasso, sparse group lasso).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=200) > 0
    >>> model = GroupLassoClassifierCV(feature_groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> 0 in model.group_support_, len(model.group_support_) < 4
    (True, True)
    """

    loss: TermLike = smooth_loss_parameter("logistic")
    _is_multinomial = True


@estimator(kw_only=True)
class GroupLassoRegressorCV(OffsetRegressor, GroupLassoCV):
    """Batch regressor that keeps or drops whole groups of columns, tuned by cross-validation (group
    lasso, sparse group lasso).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressorCV(feature_groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> model.group_support_.tolist(), model.support_.tolist()
    ([0], [0, 1, 2])
    """

    loss: TermLike = smooth_loss_parameter("squared_error")
