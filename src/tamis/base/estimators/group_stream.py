"""Base of the online models with a group penalty.

It is here since methods may not import each other.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, NamedTuple

from tamis.base.estimators.stream import GrowingModel
from tamis.base.model_terms import AUTO_ALPHA, check_curvature, resolve_loss
from tamis.base.parameters import AUTO, NON_NEGATIVE, POSITIVE, Auto, estimator, is_auto, parameter
from tamis.solvers.first_order.state import check_state_memory
from tamis.solvers.online_groups.state import OnlineGroupState
from tamis.solvers.path.loop import CoefBlocks
from tamis.system.schema import nested_object
from tamis.terms.group_penalties import GroupL2, SparseGroup
from tamis.terms.learning_rates import InverseSqrt
from tamis.terms.optimizers import DualAveraging

# Rows before automatic steps begin to fall: 0.3 times 10^5, a typical length of a stream.
AUTO_T0 = 3e4


class OnlineGroupTerms(NamedTuple):
    """Terms, flags and groups of an online model with a group penalty.

    The terms are loss, penalty, optimizer and learning rate. The flags tell whether there is an
    intercept, and whether step size and strength are automatic. `blocks` is a function from a
    number of columns to their groups.
    """

    terms: tuple
    flags: tuple[float, float, float]
    blocks: Callable[[int], CoefBlocks]


def is_multiclass_flag(targets) -> float:
    """Return 1.0 if the outputs are classes of a multiclass problem, else 0.0."""
    return float(getattr(targets, "is_multiclass", False))


@estimator
class OnlineAlphaMixin:
    """An online model with one strength; stands before `OnlineGroupModel` among the bases."""

    alpha: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean '
        "gradient of the loss at score 0 times the mean norm of the rows so far, which follows the "
        "scale of the data.",
    )


@estimator(kw_only=True)
class OnlineGroupModel(GrowingModel):
    """Base of the online models with a penalty of blocks of weights."""

    fading_threshold: float = parameter(
        0.0,
        [NON_NEGATIVE],
        r"Extra threshold (rho in the paper), large at first, that fades as :math:`1 / \sqrt t`; "
        "in units of the weights (the enhanced variant).",
    )
    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        r'Size of the steps, 1 over the gamma of the paper. "auto" makes :math:`\beta_t = \frac12 '
        r"\max_i \|x_i\|^2 \sqrt{1 + t / t_0}` over the rows so far (17/16 of it with an "
        "intercept, which has its own steps), times the largest number of groups of a column.",
    )
    t0: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Rows before the steps begin to fall. "auto" is 30000 with an automatic `eta` (0.3 times '
        "the number of rows in all passes is a good value), else 0, the update as published.",
    )
    _contents: ClassVar[dict] = {
        "_solver_state": nested_object(OnlineGroupState, "columns", "outputs")
    }
    _couples_outputs = True  # a block contains all outputs of its columns

    # ------------------------------------------------------------------ terms
    def _loss(self):
        return resolve_loss(self)

    def _dual_averaging(
        self, blocks: Callable[[int], CoefBlocks], has_l1: bool
    ) -> OnlineGroupTerms:
        """Return the model of these groups; `has_l1` tells whether L1 acts on single cells."""
        learning_rate, automatic = self._scheduled_rate()
        auto_alpha = is_auto(self.alpha)
        kind = SparseGroup if has_l1 or self.fading_threshold else GroupL2
        penalty = kind(AUTO_ALPHA if auto_alpha else float(self.alpha), float(self.positive))
        loss, optimizer = self._loss(), DualAveraging(float(self.fading_threshold))
        check_curvature(self, loss, optimizer)
        terms = (loss, penalty, optimizer, learning_rate)
        flags = float(self.fit_intercept), float(automatic), float(auto_alpha)
        return OnlineGroupTerms(terms, flags, blocks)

    def _scheduled_rate(self) -> tuple[InverseSqrt, bool]:
        """Return the learning rate eta / sqrt(t + t0), and whether it is automatic.

        An automatic one is in units of 1 / (squared norm of the longest row).
        """
        automatic = is_auto(self.eta)
        t0 = (AUTO_T0 if automatic else 0.0) if is_auto(self.t0) else float(self.t0)
        if automatic and t0 == 0.0:
            raise ValueError(
                "t0=0 leaves eta='auto' without a scale (its steps would begin infinitely long); "
                "pass an eta, or t0 above 0."
            )
        if automatic:
            return InverseSqrt(1.0 / (0.5 / t0**0.5 * (1.0 + t0) ** 0.5), 1.0 + t0), True
        return InverseSqrt(float(self.eta) / (1.0 + t0) ** 0.5, 1.0 + t0), False

    # ------------------------------------------------------------------ engines
    def _new_state(
        self, model: OnlineGroupTerms, targets, n_features: int, is_fit: bool
    ) -> OnlineGroupState:
        # Groups of single columns need memory for every column, so check it first.
        check_state_memory(model.terms[2].columns(), n_features, targets.outputs)
        blocks = model.blocks(n_features)
        state = OnlineGroupState(model.terms, model.flags, n_features, targets.outputs, blocks)
        state.softmax = is_multiclass_flag(targets)
        return state

    def _updated_state(
        self, state: Any, model: OnlineGroupTerms, targets, n_features: int, is_fit: bool
    ) -> Any:
        """Return a copy of the state with the present terms, columns and groups.

        It is a copy since its shapes may change. A fit, also a warm one, reads the groups again; a
        stream keeps those of its first call.
        """
        state, quick = copy(state), state.tracks_squares
        state.terms, state.flags = model.terms, model.flags
        if n_features > state.features:
            state = state.grown(n_features)
        if is_fit or state.features > state.n_grouped_columns:
            state.validate_array(model.blocks(state.features))
        if quick != state.tracks_squares:
            state.recompute_squares()
        state.softmax = is_multiclass_flag(targets)
        return state

    # ------------------------------------------------------------------ words and constants
    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: the loss became infinite or nan in pass {self.n_iter_}; the "
            "steps are too long for this data. "
            "Use eta='auto', a smaller eta, a larger t0, or scale the columns."
        )

    @property
    def resolved_params_(self):
        """The automatic constants after the rows so far."""
        state = self._fitted_state("resolved_params_")
        beta, alpha = state.constants()
        t0 = state.terms[3].delay - 1.0
        # If all rows are zeros, there is no scale and no step.
        eta = (max(state.lazy[0], 1.0) + t0) ** 0.5 / beta if beta else 0.0
        return {"alpha": float(alpha), "eta": float(eta), "t0": float(t0)}
