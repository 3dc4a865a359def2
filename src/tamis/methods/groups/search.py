"""Cross-validation along a path of strengths."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from tamis.base.border import warn_user
from tamis.base.contents import array, early, figure, number, record
from tamis.base.parameters import NUMBER
from tamis.solvers.block_descent.estimator import SOLVING, GroupedColumns, shown_path, take_alphas
from tamis.solvers.block_descent.models import GramStore
from tamis.solvers.block_descent.path import one_standard_error, solve_path
from tamis.solvers.block_descent.solver import largest_alpha

GRIDS = {
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "cv": ["cv_object"],
    "se": [NUMBER],
    "n_jobs": [Integral, None],
}
WITHOUT = {name: rule for name, rule in SOLVING.items() if name not in ("alpha", "warm_start")}


def held_out_losses(
    problem, penalty, alphas, train, test, tol: float, max_iter: int, largest: float
) -> tuple[list, list]:
    """Mean loss of the rows `test` under the solutions of the rows `train`, one a strength; and the
    gaps of these.
    """
    inside = part_of(problem, train)
    outcomes = solve_path(inside, penalty, alphas, tol, max_iter, largest)
    outside = part_of(problem, test)
    losses = []
    for outcome in outcomes:
        coef = problem.blocks.gathered(outcome.w)
        bias = outcome.bias - inside.design.shift(coef) + outside.design.shift(coef)
        losses.append(
            outside.smooth.value(outside.design.scores(coef) + outside.design.level(bias))
        )
    return losses, gaps_of(outcomes)


def gaps_of(outcomes) -> list:
    """Duality gaps as shares of the loss of the empty model, which `tol` is about."""
    return [outcome.gap / outcome.scale for outcome in outcomes]


def part_of(problem, rows):
    """The same problem of some rows."""
    weights = problem.design.weights[rows]
    weights = weights / weights.sum()
    return problem._replace(
        design=problem.design.cut(rows, weights),
        smooth=problem.smooth.cut(rows, weights),
        store=GramStore(),
    )


class Tuned(GroupedColumns):
    """Search along the path, then a fit of all rows."""

    _contents: ClassVar[dict] = {
        "_last": None,
        "best_index_": early(number(int, least=0)),
        "path_": early(
            record(
                {
                    "alpha": array("f8", "alphas", least=0.0),
                    "coef": array("f8", "alphas", "outputs", "columns"),
                    "intercept": array("f8", "alphas", "outputs"),
                    "dual_gap": array("f8", "alphas", finite=False),
                    "group_norm": array("f8", "alphas", "groups", finite=False),
                }
            )
        ),
        "cv_results_": early(
            record(
                {
                    "alpha": array("f8", "alphas", least=0.0),
                    "split_test_loss": array("f8", "alphas", "folds", finite=False, order=None),
                    "mean_test_loss": array("f8", "alphas", finite=False),
                    "limit": figure(finite=False),
                }
            )
        ),
    }
    warm_start, alpha = False, "auto"

    def _fit(self, X, y, sample_weight):
        """Check, cut into folds, solve their paths and that of all rows, store."""
        self._validate_params()
        problem, targets, rows = self._take(X, y, sample_weight)
        penalty = self._penalty(problem)
        alphas = take_alphas(self.alphas, problem, penalty)
        self.alpha_max_ = largest_alpha(problem, penalty)
        folds = self._folds(self._strata(targets), rows)
        given, limits = (problem, penalty, alphas), (self.tol, self.max_iter, self.alpha_max_)
        tasks = (delayed(held_out_losses)(*given, train, test, *limits) for train, test in folds)
        losses, gaps = (
            np.array(part) for part in zip(*Parallel(n_jobs=self.n_jobs)(tasks), strict=True)
        )
        losses = losses.T
        self.best_index_, limit = one_standard_error(losses, float(self.se))
        outcomes = solve_path(*given, *limits)
        self.alpha_ = float(alphas[self.best_index_])
        self.path_ = shown_path(problem, alphas, outcomes)
        self.cv_results_ = {
            "alpha": alphas,
            "split_test_loss": losses,
            "mean_test_loss": losses.mean(axis=1),
            "limit": limit,
        }
        self._store(problem, outcomes[self.best_index_])
        if (
            outcomes[self.best_index_].gap <= self.tol * outcomes[self.best_index_].scale
        ):  # else that was said
            self._warn_search(np.vstack([gaps, gaps_of(outcomes)]))
        return self

    def _warn_search(self, gaps: np.ndarray) -> None:
        """Say it where the choice rests on solutions that were not reached."""
        late = gaps > self.tol
        if late.any():
            warn_user(
                f"{type(self).__name__} chose among {late.size} solutions, of which {late.sum()} "
                f"did not reach tol={self.tol:g} in "
                f"max_iter={self.max_iter} iterations; their largest relative duality gap is "
                f"{gaps.max():.2g}. "
                "Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
            )

    def _folds(self, labels, rows) -> list:
        """Folds of the rows that have a weight; pairs of index arrays are about all rows, as given."""
        if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
            return list(
                check_cv(self.cv, labels, classifier=is_classifier(self)).split(
                    np.zeros((len(rows), 1)), labels
                )
            )
        return [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in self.cv]
