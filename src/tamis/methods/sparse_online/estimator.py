"""What the first-order models share: terms from parameters, an engine of them, and the classes that
recipes stand on.
"""

from numbers import Integral
from typing import ClassVar, NamedTuple

from tamis.base.estimators.classifier import ClassStream, LikelyClassifier
from tamis.base.estimators.mean import contents_with_paths
from tamis.base.estimators.regressor import NumberStream, Regressor
from tamis.base.estimators.stream import Growing, HeldOut
from tamis.base.model_parts import loss_of
from tamis.base.parameters import (
    ABOVE,
    AUTO,
    BOOL,
    NUMBER,
    SHARE,
    TERM,
    Auto,
    TermLike,
    estimator,
    parameter,
)
from tamis.solvers.first_order.state import Engine
from tamis.system.threads import count_threads


class Options(NamedTuple):
    """What an engine is made of: loss, penalty, optimizer and learning rate; whether there is an
    intercept, and whether the size of steps and the strength of the penalty are automatic.
    """

    terms: tuple
    flags: tuple[float, float, float]


@estimator(kw_only=True)
class FirstOrder(Growing, HeldOut):
    """Base of the first-order online models; a recipe adds its parameters and `_terms`."""

    average: bool = parameter(
        False,
        [BOOL],
        "Whether to show weights averaged over the steps of each feature's present stay in the "
        "support; zeros stay zeros. Costs 8 bytes a column and output.",
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads over the classes or targets; the result does not depend on it.",
    )
    _contents: ClassVar[dict] = contents_with_paths(Engine)

    def _loss(self):
        return loss_of(self)

    def _terms(self) -> tuple[tuple, bool, bool]:
        """Loss, penalty, optimizer and learning rate; whether steps and strength are automatic."""
        raise NotImplementedError

    def _options(self) -> Options:
        terms, auto_eta, auto_alpha = self._terms()
        return Options(terms, (float(self.fit_intercept), float(auto_eta), float(auto_alpha)))

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _begun(self, options: Options, targets, n_features: int) -> Engine:
        return Engine(*options, n_features, targets.outputs)

    def _renewed(self, engine: Engine, options: Options, targets, n_features: int) -> Engine:
        if options.terms[2].columns() != engine.terms[2].columns():
            raise ValueError(
                f"{type(self).__name__}: `optimizer`, `theta` or `average` changed since the model "
                "was fitted; call fit with warm_start=False."
            )
        engine.terms, engine.flags = options
        return engine.grown(n_features) if n_features > engine.features else engine

    @property
    def resolved_params_(self):
        """The automatic constants as they stand after the rows seen so far."""
        engine = self._fitted("resolved_params_")
        return self._name_constants(*engine.constants())

    def _name_constants(self, eta: float, l1: float, l2: float) -> dict:
        return {"eta": eta, "l1": l1, "l2": l2}


class FirstOrderClassifier(ClassStream, LikelyClassifier, FirstOrder):
    """A first-order model of classes or labels."""


class FirstOrderRegressor(NumberStream, Regressor, FirstOrder):
    """A first-order model of numbers."""


# ---------------------------------------------------------------- parameters that recipes share
@estimator
class Penalised(FirstOrder):
    """Recipes with a penalty of a strength."""

    alpha: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope '
        "of the loss at score 0 times the mean norm of the rows so far, which follows the scale "
        "of the data.",
    )
    l1_ratio: float = parameter(1.0, [SHARE], "Share of L1 in the penalty; the rest is ridge.")


@estimator
class Stepping(FirstOrder):
    """Recipes that descend by steps of a schedule."""

    learning_rate: TermLike = parameter(
        "inverse_sqrt",
        TERM,
        'Step sizes: "inverse_sqrt", "inverse_time", "constant", or a term.',
    )
    eta: float | Auto = parameter(
        "auto",
        [ABOVE, AUTO],
        'Size of the first steps. "auto" is 1 over the loss\'s curvature (4 where it has none) '
        "over the squared mean norm of the rows so far.",
    )
