"""What batch models with block penalties share: a problem from arrays, one solve, and what a fit
shows.
"""

from itertools import pairwise
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_columns, take_term, take_weights, warn_user
from tamis.base.contents import (
    apart,
    array,
    count,
    early,
    figure,
    indices,
    listing,
    number,
    one_of,
    optional,
    records,
    tuple_of,
)
from tamis.base.estimator import Estimator
from tamis.base.parameters import ABOVE, AUTO, NUMBER, SHARE, TERM
from tamis.solvers.block_descent.design import Design
from tamis.solvers.block_descent.groups import take_groups
from tamis.solvers.block_descent.losses import RowLosses, Softmax
from tamis.solvers.block_descent.models import GramStore
from tamis.solvers.block_descent.path import alpha_grid, solve_path
from tamis.solvers.block_descent.solver import Outcome, Problem, largest_alpha, solve
from tamis.solvers.pairing import loss_of
from tamis.base.parameters import is_auto
from tamis.terms.blocks import GroupL2, SparseGroup
from tamis.terms.losses import LOSSES, Logistic

AUTO_SHARE = 0.1  # alpha="auto" is this share of the smallest alpha that keeps nothing
SOLVING = {
    "alpha": [NUMBER, AUTO],
    "loss": TERM,
    "tol": [ABOVE],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "positive": ["boolean"],
    "fit_intercept": ["boolean"],
    "solver": [StrOptions({"auto", "fista", "blocks"})],
    "warm_start": ["boolean"],
}
GROUPING = {
    "groups": ["array-like", None],
    "l1_ratio": [SHARE],
    "group_weights": ["array-like", NUMBER, None],
    "l1_weights": ["array-like", NUMBER, None],
}


class BatchModel(Estimator):
    """Base of the batch models; one adds `_problem`, from rows that have a weight above 0."""

    _contents: ClassVar[dict] = {
        "alpha_max_": early(number(float, least=0.0)),
        "alpha_": early(number(float, least=0.0)),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "support_": indices("kept", below="columns", increasing=True),
        "dual_gap_": figure(),
        "objective_": figure(),
        "history_": records(),
        "n_iter_": count(),
        "_last": optional(
            tuple_of(
                array("f8", "places", "outputs", order=None, believed=True), array("f8", "outputs")
            )
        ),
    }
    # the shared treatment of classes asks; the classes of a batch model are those of its rows
    grow = False

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, **beside):
        """Check, prepare, solve, store."""
        self._validate_params()
        problem, _, _ = self._take(X, y, sample_weight, **beside)
        penalty = self._penalty(problem)
        self.alpha_max_ = largest_alpha(problem, penalty)
        self.alpha_ = AUTO_SHARE * self.alpha_max_ if is_auto(self.alpha) else float(self.alpha)
        outcome = solve(
            problem,
            penalty._replace(alpha=self.alpha_),
            self.tol,
            self.max_iter,
            self._start(problem),
            self.alpha_max_,
        )
        self._store(problem, outcome)
        return self

    def _take(self, X, y, sample_weight, **beside) -> tuple[Problem, np.ndarray, np.ndarray]:
        """The problem that checked arrays make, its targets, and the rows that it is about: those
        of weight 0 are left out.
        """
        self._loss()
        table = take_columns(self, X, reset=True)
        weights = take_weights(sample_weight, table.shape[0], some=True)
        targets = self._take_targets(y, table.shape[0], first=True, whole=True)
        beside = {
            name: self._take_beside(name, value, table.shape[0]) for name, value in beside.items()
        }
        rows = np.arange(table.shape[0])
        if len(weights) and not weights.all():
            rows = np.flatnonzero(weights)
            table, targets, weights = table[rows], targets[rows], weights[rows]
            beside = {name: value[rows] for name, value in beside.items()}
        weights = self._weigh(targets, weights, whole=True)
        weights = np.array(weights, dtype=float) if len(weights) else np.ones(table.shape[0])
        return (
            self._problem(table, np.asarray(targets), weights, **beside),
            np.asarray(targets),
            rows,
        )

    def _loss(self):
        """The loss term; a batch solver needs its conjugate and a finite curvature."""
        loss = loss_of(self)
        loss = take_term("loss", loss, LOSSES, ("value", "slope", "bend", "curve", "conjugate"))
        if not np.isfinite(loss.bend()):
            raise ValueError(
                f"loss={self.loss!r} has a kink; batch solvers need a smooth loss (logistic, "
                "squared_hinge, squared_error, huber)."
            )
        return loss

    def _terms(self):
        return (self._loss(),), ()

    def _penalty(self, problem: Problem):
        return (SparseGroup if problem.blocks.l1_weights.any() else GroupL2)(
            1.0, float(self.positive)
        )

    def _start(self, problem: Problem):
        """Where a warm start begins: at the last solution, if it is one of as many places."""
        last = self.__dict__.get("_last") if self.warm_start else None
        if last is None or last[0].shape != (len(problem.blocks.members), problem.design.outputs):
            return None
        idle = (
            problem.blocks.stacked(problem.design.norms()) == 0.0
        )  # columns without spread in these rows: no step would ever move them
        return np.where(idle[:, None], 0.0, last[0]), np.array(last[1])

    def _store(self, problem: Problem, outcome: Outcome) -> None:
        """Show a solution; warn where it was not reached."""
        coef = problem.blocks.gathered(outcome.w)
        self.coef_ = self._shape_coef(np.ascontiguousarray(coef.T))
        self.intercept_ = self._shape_intercept(
            outcome.bias - problem.design.shift(coef)
            if self.fit_intercept
            else np.zeros(problem.design.outputs)
        )
        self.support_ = np.flatnonzero(coef.any(axis=1))
        self.dual_gap_, self.objective_ = float(outcome.gap), float(outcome.objective)
        self.history_, self.n_iter_ = outcome.history, len(outcome.history)
        self.__dict__.pop("_last", None)
        if self.warm_start:
            self._last = (outcome.w, outcome.bias)
        if outcome.gap > self.tol * outcome.scale:
            self._warn_unfinished(outcome)

    def _warn_unfinished(self, outcome: Outcome) -> None:
        made, advice = (
            f"used all {self.max_iter} iterations",
            "Raise max_iter or tol, or scale the columns.",
        )
        if outcome.stalled:
            made, advice = (
                f"stopped after {len(outcome.history)} iterations, the last of them in vain",
                "This is rounding: scale the columns, or raise tol.",
            )
        warn_user(
            f"{type(self).__name__} {made}, and its duality gap, {outcome.gap:.2g}, is above tol "
            "times the loss "
            f"of the empty model, {self.tol * outcome.scale:.2g}. {advice}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        check_is_fitted(self)
        table = take_columns(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)
        return np.asarray(table @ coef.T) + self.intercept_

    def __sklearn_is_fitted__(self):
        return "coef_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GroupedColumns(BatchModel):
    """Batch models of one table whose columns are in groups."""

    _contents: ClassVar[dict] = {
        "groups_": listing(
            apart(indices("members", below="columns", distinct=True), "columns"), "groups"
        ),
        "group_support_": indices("kept_groups", below="groups", increasing=True),
    }

    def _problem(self, table, targets, weights) -> Problem:
        weights = weights / weights.sum()
        loss, outputs = self._loss(), self._outputs()
        blocks = take_groups(
            self.groups,
            table.shape[1],
            getattr(self, "feature_names_in_", None),
            self.group_weights,
            float(self.l1_ratio),
            self.l1_weights,
        )
        design = Design(table, weights, outputs, self.fit_intercept)
        return Problem(
            design,
            smooth_of(loss, targets, outputs, weights),
            blocks,
            self.fit_intercept,
            self.solver,
            GramStore(),
        )

    def _store(self, problem: Problem, outcome: Outcome) -> None:
        super()._store(problem, outcome)
        starts = problem.blocks.starts.astype(np.int64)
        members, ends = problem.blocks.members.astype(np.int64), starts.tolist()
        self.groups_ = [members[first:last] for first, last in pairwise(ends)]
        self.group_support_ = np.flatnonzero(
            np.add.reduceat(outcome.w.any(axis=1), starts[:-1]) if len(starts) > 1 else []
        )

    def path(self, X, y, alphas=100, sample_weight=None):
        """Solutions along falling strengths, each begun where the last one ended; the model itself
        is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        alphas : int or array-like, default=100
            Strengths, or how many from the smallest that keeps nothing to a hundredth of it (a
            twentieth with more columns than rows).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : dict of ndarray
            "alpha", "coef" of shape (n_alphas, n_outputs, n_features), "intercept", "dual_gap", and
            "group_norm" of shape (n_alphas, n_groups).
        """
        model = clone(self)
        model._validate_params()
        problem, _, _ = model._take(X, y, sample_weight)
        penalty = model._penalty(problem)
        given = take_alphas(alphas, problem, penalty)
        return shown_path(
            problem, given, solve_path(problem, penalty, given, self.tol, self.max_iter)
        )


def smooth_of(loss, targets: np.ndarray, outputs: int, weights: np.ndarray) -> RowLosses | Softmax:
    """The loss of all rows; several classes are one softmax under the logistic loss, else one
    against the rest.
    """
    if outputs == 1 or targets.shape[1] > 1:
        return RowLosses(loss, targets, weights)
    codes = targets[:, 0].astype(np.int64)
    return (
        Softmax(codes, outputs, weights)
        if type(loss) is Logistic
        else RowLosses(loss, 2.0 * np.eye(outputs)[codes] - 1.0, weights)
    )


def take_alphas(alphas, problem: Problem, penalty) -> np.ndarray:
    """Strengths in falling order."""
    if isinstance(alphas, Integral):
        return alpha_grid(
            largest_alpha(problem, penalty),
            int(alphas),
            problem.design.n_rows < problem.blocks.n_columns,
        )
    given = np.sort(np.asarray(alphas, dtype=float).ravel())[::-1]
    if not len(given) or not np.isfinite(given).all() or given[-1] < 0.0:
        raise ValueError(
            "alphas must be a number of strengths, or strengths that are finite and 0 or more. "
            f"Got {alphas!r}."
        )
    return given


def shown_path(problem: Problem, alphas: np.ndarray, outcomes: list[Outcome]) -> dict:
    """A path as plain arrays."""
    blocks, starts = problem.blocks, problem.blocks.starts.astype(np.int64)
    coefs = [blocks.gathered(outcome.w) for outcome in outcomes]
    norms = [
        np.sqrt(np.add.reduceat((outcome.w**2).sum(axis=1), starts[:-1])) for outcome in outcomes
    ]
    return {
        "alpha": alphas,
        "coef": np.array([coef.T for coef in coefs]),
        "intercept": np.array(
            [
                o.bias - problem.design.shift(c) * problem.fit_intercept
                for o, c in zip(outcomes, coefs, strict=True)
            ]
        ),
        "dual_gap": np.array([outcome.gap for outcome in outcomes]),
        "group_norm": np.array(norms),
    }
