"""Base of the batch models with a group penalty.

It is here since methods may not import each other.
"""

from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, Taken, take
from tamis.base.estimators.offsets import refuse_offset
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
from tamis.base.parameters import (
    one_of as one_word_of,
)
from tamis.base.targets import ClassTargets, Targets
from tamis.base.validation import take_columns, warn_user
from tamis.solvers.path.loop import Blocks
from tamis.solvers.path.losses import RowLosses, Softmax
from tamis.solvers.path.problem import Outcome, Problem, gap_obstacles
from tamis.solvers.path.solver import largest_alpha, multiply_strength, solve
from tamis.system.schema import (
    array,
    count,
    figure,
    flag,
    indices,
    number,
    one_of,
    optional,
    records,
)
from tamis.terms.group_penalties import GROUP_PENALTIES, GroupL2, SparseGroup
from tamis.terms.losses import LOSSES, Logistic, accepts_classes, accepts_numbers

AUTO_ALPHA_FRACTION = 0.1  # of the smallest alpha without nonzero weights, for alpha="auto"


PENALTY_NAMES = ", ".join(f'"{name}"' for name in GROUP_PENALTIES)
PENALTY_NAMES += ", or a term of `tamis.terms` whose field `alpha` is multiplied by `alpha`"


def group_penalty(model) -> Any:
    """Return the group penalty of the parameter `penalty`, a name or a term."""
    methods = ("value", "prox", "subdiff_distance")
    term: Any = take_term("penalty", model.penalty, GROUP_PENALTIES, methods)
    if len(signature(term.prox).parameters) != 5 or getattr(term, "alpha", 0.0) <= 0.0:
        raise TypeError(
            f"{term!r} cannot serve as penalty of groups: it needs methods of groups, such as "
            "prox(v, step, weight, l1_weight, out), and a field alpha above 0, which the alpha of "
            "the estimator multiplies. See tamis.terms.GroupL2."
        )
    if model.positive and not hasattr(term, "positive"):
        raise ValueError(f"{term!r} has no field positive. Use positive=False.")
    return term._replace(positive=1.0) if model.positive else term


def reads_l1(penalty) -> bool:
    """Return whether a penalty uses L1 weights inside groups."""
    return bool(getattr(penalty, "has_l1", bool)())


def smooth_loss_parameter(default: str) -> Any:
    """Return the parameter `loss` of a batch model, for numbers or classes as its default."""
    is_regression = accepts_numbers(LOSSES[default])
    accepts = accepts_numbers if is_regression else accepts_classes
    names = [
        f'"{name}"'
        for name, loss in LOSSES.items()
        if accepts(loss) and hasattr(loss, "hessian") and name != "log_loss"
    ]
    losses = ", ".join(names).replace('"logistic"', '"logistic" (or "log_loss")')
    description = f"{losses}, or a smooth term of `tamis.terms`."
    if not is_regression:
        description += (
            ' Several classes are multinomial under "logistic", else one against the rest.'
        )
    return loss_parameter(default, description)


@estimator
class Strength:
    """A batch model with one penalty strength; stands before `BlockModel` among the bases."""

    alpha: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Strength of the penalty. "auto" is a tenth of the smallest strength without nonzero '
        "weights.",
    )


@estimator(kw_only=True)
class BlockModel(Estimator):
    """Base of the batch models.

    A model adds `_problem`: from the training data, the targets and a problem.
    """

    tol: float = parameter(
        1e-6,
        [ABOVE],
        "The fit ends when the duality gap is at most `tol` times the null deviance, twice the "
        "difference between the loss of the best intercept alone and the lowest possible loss; "
        "or, without a gap (`stop`), when the optimality conditions hold up to the square root of "
        "`tol` times the largest strength.",
    )
    stop: str = parameter(
        "auto",
        [one_word_of("auto", "gap", "kkt")],
        'Criterion that ends the fit. "gap": the duality gap, for a loss with `conjugate` and a '
        'penalty with `conjugate` and `dual_scale`. "kkt": the optimality conditions. "auto" is '
        '"gap" if there is one.',
    )
    max_iter: int = parameter(
        100,
        [COUNT],
        "Maximum number of iterations. Each checks all columns and then solves a working set.",
    )
    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    _contents: ClassVar[dict] = {
        "alpha_max_": optional(number(float, least=0.0)),
        "alpha_": number(float, least=0.0),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "support_": indices("kept", below="columns", increasing=True),
        "dual_gap_": optional(figure()),
        "kkt_violation_": optional(figure()),
        "objective_": figure(),
        "history_": records(),
        "_has_offset": optional(flag()),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights; zeros are exact. A regressor with one target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the selected features; for several outputs the union.
        alpha_, alpha_max_ : float
            Strength used, and the smallest without nonzero weights, if the penalty has
            `dual_scale`.
        dual_gap_, objective_ : float
            Duality gap, if it ends the fit, and objective at the solution.
        kkt_violation_ : float
            Largest distance of a group's gradient to the subdifferential of its penalty, if it
            ends the fit.
        n_iter_ : int
            Number of iterations.
        history_ : list of dict
            Per iteration: objective, duality gap (or violation), groups with weights, groups
            screened.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, if X has them."""
    _layout = "columns"
    _has_offset = False  # whether the last fit had an offset

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, **extra):
        """Validate, state the problem, solve it, and set the attributes."""
        self._validate_params()
        self._loss()
        data = take(self, X, y, sample_weight, layout=self._layout)
        targets, problem, penalty = self._problem_and_penalty(data, **extra)
        largest = largest_alpha(problem, penalty)
        if is_auto(self.alpha) and np.isnan(largest):
            raise ValueError(
                f"alpha='auto' needs a penalty with dual_scale, which {penalty!r} does not have. "
                "Pass alpha as a number."
            )
        alpha = AUTO_ALPHA_FRACTION * largest if is_auto(self.alpha) else float(self.alpha)
        strength, initial = multiply_strength(penalty, alpha), self._start(problem)
        largest_strength = largest * penalty.alpha
        outcome = solve(problem, strength, self.tol, self.max_iter, initial, largest_strength)
        self._show(targets, problem, outcome, alpha_=alpha, alpha_max_=largest)
        if outcome.shortfall > 1.0:
            self._warn_unfinished(outcome)
        return self

    def _problem_and_penalty(self, data: Taken, **extra) -> tuple[Any, Problem, Any]:
        """Return targets, the problem with its stopping rule, and the penalty of strength 1."""
        targets, problem = self._problem(data, **extra)
        penalty = self._penalty(problem.blocks)
        obstacles = gap_obstacles(problem.smooth, penalty)
        if self.stop == "gap" and obstacles:
            raise ValueError(
                f"{' and '.join(obstacles)}, so there is no duality gap; stop='kkt' is available."
            )
        return targets, problem._replace(certified=self.stop != "kkt" and not obstacles), penalty

    def _penalty(self, blocks: Blocks):
        """Return the penalty of the blocks, of strength 1."""
        kind = SparseGroup if blocks.l1_weights.any() else GroupL2
        return kind(1.0, float(self.positive))

    def _loss(self):
        """Return the loss term; a batch solver needs its second derivative."""
        loss = loss_of(self)
        if not is_smooth(loss):
            smooth = ", ".join(name for name, term in LOSSES.items() if hasattr(term, "hessian"))
            raise ValueError(
                f"loss={self.loss!r} has a kink; batch solvers need a smooth loss ({smooth})."
            )
        return take_term("loss", loss, LOSSES, ("value", "gradient", "hessian_bound", "hessian"))

    def _problem(self, taken: Taken, **extra) -> tuple[Any, Problem]:
        raise NotImplementedError

    def _start(self, problem: Problem):
        """Return the initial weights of the solver; None means 0."""
        return None

    def _show(self, targets, problem: Problem, outcome: Outcome, **attributes) -> None:
        """Set all attributes in one step, so that no thread sees some of them only."""
        coef, intercept = problem.shown(outcome.w, outcome.bias)
        certificates = {"dual_gap_": outcome.gap, "kkt_violation_": outcome.violation}
        certificates["alpha_max_"] = attributes.pop("alpha_max_")
        for name, value in certificates.items():
            self.__dict__.pop(name, None)  # an earlier fit may have set it
            if not np.isnan(value):
                attributes[name] = float(value)
        self.__dict__.update(
            attributes,
            _targets=targets,
            coef_=targets.shaped(np.ascontiguousarray(coef.T)),
            intercept_=self._intercepts(targets, intercept),
            support_=np.flatnonzero(coef.any(axis=1)),
            objective_=float(outcome.objective),
            history_=outcome.history,
            n_iter_=len(outcome.history),
            _has_offset=getattr(problem.smooth, "offset", None) is not None,
        )

    def _intercepts(self, targets, intercept: np.ndarray) -> np.ndarray:
        """Return the intercepts for `intercept_`."""
        return intercept

    def _warn_unfinished(self, outcome: Outcome) -> None:
        iterations = f"used all {self.max_iter} iterations"
        advice = "Raise max_iter or tol, or scale the columns."
        if outcome.stalled:
            iterations = f"stopped after {len(outcome.history)} iterations without progress"
            advice = "Rounding limits it: scale the columns, or raise tol."
        certificate = f"duality gap, {outcome.gap:.2g}, is above tol times the null deviance"
        if np.isnan(outcome.gap):
            certificate = f"KKT violation, {outcome.violation:.2g}, is above its limit"
        name = type(self).__name__
        warn_user(
            f"{name} {iterations}, and its {certificate}, {outcome.limit:.2g}. {advice}",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        check_is_fitted(self)
        rows = take_columns(self, X, reset=False)
        return np.asarray(rows @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_is_fitted__(self):
        return "coef_" in vars(self)


def bind_loss(
    loss, targets: Targets, columns: np.ndarray, weights: np.ndarray, offset=None
) -> RowLosses | Softmax:
    """Return the loss of all rows.

    More than two classes have one softmax under the logistic loss, else one-vs-rest losses.
    """
    if offset is not None:
        refuse_offset(targets)
    if not (isinstance(targets, ClassTargets) and targets.excluding):
        return RowLosses(loss, columns, weights, offset)
    if isinstance(loss, Logistic):
        return Softmax(columns[:, 0].astype(np.int64), targets.outputs, weights)
    return RowLosses(loss, targets.signs(columns), weights)
