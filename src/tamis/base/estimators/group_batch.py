"""The base of the batch models with a block penalty: take, state the problem, solve, show.

An estimator among the solvers, since the methods that stand on it may not import each other.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, Taken, take
from tamis.base.model_parts import is_smooth, loss_of
from tamis.base.parameters import (
    ABOVE,
    AUTO,
    BOOL,
    COUNT,
    NUMBER,
    Auto,
    estimator,
    is_auto,
    loss_parameter,
    parameter,
    take_term,
)
from tamis.base.targets import ClassTargets, Targets
from tamis.base.validation import take_columns, warn_user
from tamis.solvers.path.losses import RowLosses, Softmax
from tamis.solvers.path.problem import Outcome, Problem
from tamis.solvers.path.solver import largest_alpha, solve
from tamis.system.schema import array, count, figure, indices, number, one_of, records
from tamis.terms.losses import LOSSES, Logistic

AUTO_SHARE = 0.1  # alpha="auto" is this share of the smallest alpha that keeps nothing


def smooth_loss_parameter(default: str) -> Any:
    """The loss of a batch model."""
    losses = '"squared_error", "huber",'
    if default != "squared_error":
        losses = (
            '"logistic" (or "log_loss"; multinomial for several classes), "squared_hinge" or '
            '"squared_error" (one against the rest),'
        )
    return loss_parameter(default, f"{losses} or a smooth term of `tamis.terms`.")


@estimator
class Strength:
    """A model of one strength; stands left of `BlockModel`."""

    alpha: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Strength of the penalty. "auto" is a tenth of the smallest strength that keeps nothing.',
    )


@estimator(kw_only=True)
class BlockModel(Estimator):
    """Base of the batch models.

    One adds `_problem`: from what was taken, the targets (with what stands beside y) and a problem.
    """

    tol: float = parameter(
        1e-6,
        [ABOVE],
        "The fit ends when the duality gap is at most `tol` times the loss of the best intercept "
        "alone.",
    )
    max_iter: int = parameter(
        100,
        [COUNT],
        "Most iterations: looks at all columns, each followed by a solve of a working set.",
    )
    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    _contents: ClassVar[dict] = {
        "alpha_max_": number(float, least=0.0),
        "alpha_": number(float, least=0.0),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "support_": indices("kept", below="columns", increasing=True),
        "dual_gap_": figure(),
        "objective_": figure(),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights; zeros are exact. A regressor with one target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the kept features; for several outputs the union.
        alpha_, alpha_max_ : float
            Strength used, and the smallest that keeps nothing.
        dual_gap_, objective_ : float
            Duality gap and objective at the solution.
        n_iter_ : int
            Iterations made.
        history_ : list of dict
            Per iteration: objective, duality gap, groups with weights, groups screened.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""
    _layout = "columns"

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, **beside):
        """Take, state the problem, solve, show."""
        self._validate_params()
        self._loss()
        taken = take(self, X, y, sample_weight, layout=self._layout)
        targets, problem = self._problem(taken, **beside)
        penalty = problem.penalty(self.positive)
        largest = largest_alpha(problem, penalty)
        alpha = AUTO_SHARE * largest if is_auto(self.alpha) else float(self.alpha)
        strength, start = penalty._replace(alpha=alpha), self._start(problem)
        outcome = solve(problem, strength, self.tol, self.max_iter, start, largest)
        self._show(targets, problem, outcome, alpha_=alpha, alpha_max_=largest)
        if not outcome.reached(self.tol):
            self._warn_unfinished(outcome)
        return self

    def _loss(self):
        """The loss term; a batch solver needs its conjugate and a finite curvature."""
        loss = loss_of(self)
        loss = take_term(
            "loss", loss, LOSSES, ("value", "gradient", "hessian_bound", "hessian", "conjugate")
        )
        if not (is_smooth(loss) and np.isfinite(loss.hessian_bound())):
            why = "an unbounded second derivative" if is_smooth(loss) else "a kink"
            raise ValueError(
                f"loss={self.loss!r} has {why}; batch solvers need a smooth loss whose second "
                "derivative is bounded (logistic, squared_hinge, squared_error, huber)."
            )
        return loss

    def _problem(self, taken: Taken, **beside) -> tuple[Any, Problem]:
        raise NotImplementedError

    def _start(self, problem: Problem):
        """Where the solver begins; None is at 0."""
        return None

    def _show(self, targets, problem: Problem, outcome: Outcome, **found) -> None:
        """Show a solution, in a single step: no thread sees a part of it."""
        coef, intercept = problem.shown(outcome.w, outcome.bias)
        self.__dict__.update(
            found,
            _targets=targets,
            coef_=targets.shaped(np.ascontiguousarray(coef.T)),
            intercept_=self._intercepts(targets, intercept),
            support_=np.flatnonzero(coef.any(axis=1)),
            dual_gap_=float(outcome.gap),
            objective_=float(outcome.objective),
            history_=outcome.history,
            n_iter_=len(outcome.history),
        )

    def _intercepts(self, targets, intercept: np.ndarray) -> np.ndarray:
        """Intercepts as they are shown."""
        return intercept

    def _warn_unfinished(self, outcome: Outcome) -> None:
        made = f"used all {self.max_iter} iterations"
        advice = "Raise max_iter or tol, or scale the columns."
        if outcome.stalled:
            made = f"stopped after {len(outcome.history)} iterations, the last of them in vain"
            advice = "This is rounding: scale the columns, or raise tol."
        warn_user(
            f"{type(self).__name__} {made}, and its duality gap, {outcome.gap:.2g}, is above tol "
            f"times the loss of the empty model, {self.tol * outcome.scale:.2g}. {advice}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        check_is_fitted(self)
        table = take_columns(self, X, reset=False)
        return np.asarray(table @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_is_fitted__(self):
        return "coef_" in vars(self)


def bind_loss(
    loss, targets: Targets, columns: np.ndarray, weights: np.ndarray
) -> RowLosses | Softmax:
    """The loss of all rows. Classes that exclude each other have one softmax under the logistic
    loss, else each is against the rest.
    """
    if not (isinstance(targets, ClassTargets) and targets.excluding):
        return RowLosses(loss, columns, weights)
    if isinstance(loss, Logistic):
        return Softmax(columns[:, 0].astype(np.int64), targets.outputs, weights)
    return RowLosses(loss, targets.signs(columns), weights)
