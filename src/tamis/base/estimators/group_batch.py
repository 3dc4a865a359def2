"""Base of the batch models with a group penalty.

It is here since methods may not import each other.
"""

from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, TrainingData, validate_training
from tamis.base.estimators.offsets import refuse_offset
from tamis.base.model_terms import is_smooth, resolve_loss
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    Auto,
    estimator,
    is_auto,
    loss_parameter,
    one_of_strings,
    parameter,
    resolve_term,
)
from tamis.base.targets import ClassTargets, Targets
from tamis.base.validation import validate_columns, warn_user
from tamis.solvers.path.loop import CoefBlocks
from tamis.solvers.path.losses import BoundMultinomialLoss, BoundRowLoss
from tamis.solvers.path.problem import GroupProblem, GroupSolution, missing_gap_methods
from tamis.solvers.path.solver import compute_alpha_max, scale_penalty, solve_problem
from tamis.system.schema import (
    array,
    count,
    flag,
    indices,
    number,
    one_of,
    optional,
    records,
    statistic,
)
from tamis.terms.group_penalties import GROUP_PENALTIES, GroupL2, SparseGroup
from tamis.terms.losses import LOSSES, Logistic, accepts_classes, accepts_numbers

AUTO_ALPHA_FRACTION = 0.1  # of the smallest alpha without nonzero weights, for alpha="auto"


PENALTY_NAMES = ", ".join(f'"{name}"' for name in GROUP_PENALTIES)
PENALTY_NAMES += ", or a term of `tamis.terms` whose field `alpha` is multiplied by `alpha`"


def resolve_group_penalty(model) -> Any:
    """Return the group penalty of the parameter `penalty`, a name or a term."""
    methods = ("value", "prox", "subdiff_distance")
    term: Any = resolve_term("penalty", model.penalty, GROUP_PENALTIES, methods)
    if len(signature(term.prox).parameters) != 5 or getattr(term, "alpha", 0.0) <= 0.0:
        raise TypeError(
            f"{term!r} cannot serve as penalty of groups: it needs methods of groups, such as "
            "prox(v, step, weight, l1_weight, out), and a field alpha above 0, which the alpha of "
            "the estimator multiplies. See tamis.terms.GroupL2."
        )
    if model.positive and not hasattr(term, "positive"):
        raise ValueError(f"{term!r} has no field positive. Use positive=False.")
    return term._replace(positive=1.0) if model.positive else term


def uses_l1_weights(penalty) -> bool:
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
class BatchAlphaMixin:
    """A batch model with one penalty strength; stands before `BatchGroupModel` among the bases."""

    alpha: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Strength of the penalty. "auto" is a tenth of the smallest strength without nonzero '
        "weights.",
    )


@estimator(kw_only=True)
class BatchGroupModel(Estimator):
    """Base of the batch models.

    A model adds `_problem`: from the training data, the targets and a problem.
    """

    tol: float = parameter(
        1e-6,
        [POSITIVE],
        "The fit ends when the duality gap is at most `tol` times the null deviance, twice the "
        "difference between the loss of the best intercept alone and the lowest possible loss; "
        "or, without a gap (`stop`), when the optimality conditions hold up to the square root of "
        "`tol` times the largest strength.",
    )
    stop: str = parameter(
        "auto",
        [one_of_strings("auto", "gap", "kkt")],
        'Criterion that ends the fit. "gap": the duality gap, for a loss with `conjugate` and a '
        'penalty with `conjugate` and `dual_scale`. "kkt": the optimality conditions. "auto" is '
        '"gap" if there is one.',
    )
    max_iter: int = parameter(
        100,
        [POSITIVE_INTEGER],
        "Maximum number of iterations. Each checks all columns and then solves a working set.",
    )
    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    _contents: ClassVar[dict] = {
        "alpha_max_": optional(number(float, minimum=0.0)),
        "alpha_": number(float, minimum=0.0),
        "coef_": one_of(array("f8", "outputs", "columns"), array("f8", "outputs*columns")),
        "intercept_": array("f8", "outputs"),
        "support_": indices("kept", below="columns", increasing=True),
        "dual_gap_": optional(statistic()),
        "kkt_violation_": optional(statistic()),
        "objective_": statistic(),
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
        data = validate_training(self, X, y, sample_weight, layout=self._layout)
        targets, problem, penalty = self._problem_and_penalty(data, **extra)
        largest = compute_alpha_max(problem, penalty)
        if is_auto(self.alpha) and np.isnan(largest):
            raise ValueError(
                f"alpha='auto' needs a penalty with dual_scale, which {penalty!r} does not have. "
                "Pass alpha as a number."
            )
        alpha = AUTO_ALPHA_FRACTION * largest if is_auto(self.alpha) else float(self.alpha)
        strength, initial = scale_penalty(penalty, alpha), self._initial_solution(problem)
        largest_strength = largest * penalty.alpha
        outcome = solve_problem(
            problem, strength, self.tol, self.max_iter, initial, largest_strength
        )
        self._set_solution(targets, problem, outcome, alpha_=alpha, alpha_max_=largest)
        if outcome.relative_gap > 1.0:
            self._warn_unfinished(outcome)
        return self

    def _problem_and_penalty(self, data: TrainingData, **extra) -> tuple[Any, GroupProblem, Any]:
        """Return targets, the problem with its stopping rule, and the penalty of strength 1."""
        targets, problem = self._problem(data, **extra)
        penalty = self._penalty(problem.blocks)
        obstacles = missing_gap_methods(problem.bound_loss, penalty)
        if self.stop == "gap" and obstacles:
            raise ValueError(
                f"{' and '.join(obstacles)}, so there is no duality gap; stop='kkt' is available."
            )
        return targets, problem._replace(certified=self.stop != "kkt" and not obstacles), penalty

    def _penalty(self, blocks: CoefBlocks):
        """Return the penalty of the blocks, of strength 1."""
        kind = SparseGroup if blocks.l1_weights.any() else GroupL2
        return kind(1.0, float(self.positive))

    def _loss(self):
        """Return the loss term; a batch solver needs its second derivative."""
        loss = resolve_loss(self)
        if not is_smooth(loss):
            smooth = ", ".join(name for name, term in LOSSES.items() if hasattr(term, "hessian"))
            raise ValueError(
                f"loss={self.loss!r} has a kink; batch solvers need a smooth loss ({smooth})."
            )
        return resolve_term("loss", loss, LOSSES, ("value", "gradient", "hessian_bound", "hessian"))

    def _problem(self, training_data: TrainingData, **extra) -> tuple[Any, GroupProblem]:
        raise NotImplementedError

    def _initial_solution(self, problem: GroupProblem):
        """Return the initial weights of the solver; None means 0."""
        return None

    def _set_solution(
        self, targets, problem: GroupProblem, outcome: GroupSolution, **attributes
    ) -> None:
        """Set all attributes in one step, so that no thread sees some of them only."""
        coef, intercept = problem.to_coef(outcome.w, outcome.bias)
        certificates = {"dual_gap_": outcome.gap, "kkt_violation_": outcome.violation}
        certificates["alpha_max_"] = attributes.pop("alpha_max_")
        for name, value in certificates.items():
            self.__dict__.pop(name, None)  # an earlier fit may have set it
            if not np.isnan(value):
                attributes[name] = float(value)
        self.__dict__.update(
            attributes,
            _targets=targets,
            coef_=targets.shape_coef(np.ascontiguousarray(coef.T)),
            intercept_=self._intercepts(targets, intercept),
            support_=np.flatnonzero(coef.any(axis=1)),
            objective_=float(outcome.objective),
            history_=outcome.history,
            n_iter_=len(outcome.history),
            _has_offset=getattr(problem.bound_loss, "offset", None) is not None,
        )

    def _intercepts(self, targets, intercept: np.ndarray) -> np.ndarray:
        """Return the intercepts for `intercept_`."""
        return intercept

    def _warn_unfinished(self, outcome: GroupSolution) -> None:
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
        rows = validate_columns(self, X, reset=False)
        return np.asarray(rows @ np.atleast_2d(self.coef_).T) + self.intercept_

    def __sklearn_is_fitted__(self):
        return "coef_" in vars(self)


def bind_loss(
    loss, targets: Targets, columns: np.ndarray, weights: np.ndarray, offset=None
) -> BoundRowLoss | BoundMultinomialLoss:
    """Return the loss of all rows.

    More than two classes have one softmax under the logistic loss, else one-vs-rest losses.
    """
    if offset is not None:
        refuse_offset(targets)
    if not (isinstance(targets, ClassTargets) and targets.is_multiclass):
        return BoundRowLoss(loss, columns, weights, offset)
    if isinstance(loss, Logistic):
        return BoundMultinomialLoss(columns[:, 0].astype(np.int64), targets.outputs, weights)
    return BoundRowLoss(loss, targets.signs(columns), weights)
