"""What online models with block penalties share: steps, an engine with groups."""

from copy import copy
from typing import ClassVar

from sklearn.base import is_classifier

from tamis.base.contents import early, flag, part
from tamis.base.parameters import ABOVE, AUTO, NUMBER
from tamis.base.stream_old import OnlineLinear
from tamis.solvers.online_blocks.state import GroupEngine
from tamis.solvers.pairing import AUTO_ALPHA, loss_of
from tamis.base.parameters import is_auto
from tamis.terms.blocks import GroupL2, SparseGroup
from tamis.terms.rules import DualAveraging
from tamis.terms.steps import InverseSqrt

# rows after which automatic steps begin to fall: 0.3 times 10^5, the rows that a stream is expected
# to have
HORIZON = 3e4
WITHOUT = ("average", "n_jobs")  # averages are dense, and blocks tie the outputs together
AVERAGING = {"rho": [NUMBER], "gamma": [ABOVE, AUTO], "t0": [NUMBER, AUTO]}


def averaging_step(model):
    """The step whose size is 1 / (gamma sqrt(t + t0)), in units of 1 / (squared norm of the longest
    row) where gamma is automatic.
    """
    automatic = is_auto(model.gamma)
    t0 = (
        HORIZON
        if is_auto(model.t0) and automatic
        else 0.0
        if is_auto(model.t0)
        else float(model.t0)
    )
    if automatic and t0 == 0.0:
        raise ValueError(
            "t0=0 leaves gamma='auto' without a scale (its steps would begin infinitely long); "
            "pass a gamma, or t0 above 0."
        )
    gamma = 0.5 / t0**0.5 if automatic else float(model.gamma)
    return InverseSqrt(1.0 / (gamma * (1.0 + t0) ** 0.5), 1.0 + t0), automatic


class Grouped(OnlineLinear):
    """Online models whose penalty sees blocks of weights; one adds `_blocks`."""

    _contents: ClassVar[dict] = {
        "_engine": part(GroupEngine, "columns", "outputs"),
        "_groups_change": early(flag()),
    }
    average, n_jobs = False, None
    _couples_outputs = True  # a block holds all outputs of its columns

    def _terms(self):
        step, automatic = averaging_step(self)
        kind = SparseGroup if self._trims() or self.rho else GroupL2
        penalty = kind(
            AUTO_ALPHA if is_auto(self.alpha) else float(self.alpha), float(self.positive)
        )
        return (loss_of(self), penalty, DualAveraging(float(self.rho)), step), self._flags(
            automatic, is_auto(self.alpha)
        )

    def _prepare(self, terms, flags, rows, again):
        """A new engine, or the present one with today's parameters and columns."""
        if not again:
            self.history_ = []
            self._engine = self._new_engine(terms, flags, rows.n_features)
        else:
            engine, quick = (
                copy(self._engine),
                self._engine.quick,
            )  # groups are changed on a copy: see `Engine`
            engine.terms, engine.flags = terms, flags
            if rows.n_features > engine.features:
                engine = engine.grown(rows.n_features)
            if self._groups_change or engine.features > engine.grouped:
                engine.take_blocks(self._blocks(engine.features))
            if quick != engine.quick:
                engine.renew()
            self._engine = engine
        self._engine.softmax = float(
            is_classifier(self) and not self.multilabel_ and self._engine_width() > 1
        )

    def _new_engine(self, terms, flags, n_columns):
        return GroupEngine(terms, flags, n_columns, self._outputs(), self._blocks(n_columns))

    def _engine_width(self):
        """Outputs that a row is about."""
        return self._outputs()

    def _fit(self, X, y, sample_weight):
        # a fit, even a warm one, looks at the groups again; a stream keeps those of its first call
        self._groups_change = True
        return super()._fit(X, y, sample_weight)

    def _partial_fit(self, X, y, sample_weight, **classes):
        self._groups_change = False
        return super()._partial_fit(X, y, sample_weight, **classes)

    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: the loss became infinite or nan in pass {self.n_iter_}; the "
            "steps are too long for this data. "
            "Use gamma='auto', a larger gamma or t0, or scale the columns."
        )

    def _advice(self):
        return "Lower alpha or rho, or pass alpha='auto'."

    @property
    def resolved_params_(self):
        """The automatic constants as they stand after the rows seen so far."""
        engine = self._fitted("resolved_params_")
        beta, alpha = engine.constants()
        t0 = engine.terms[3].delay - 1.0
        return {
            "alpha": float(alpha),
            "gamma": float(beta / (max(engine.ledger[0], 1.0) + t0) ** 0.5),
            "t0": float(t0),
        }
