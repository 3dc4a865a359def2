"""What the stabilized models share: their parameters, passes, streams, and the attributes that show
a fit.
"""

import inspect
import math
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions

from tamis.base.border import take_matrix, take_weights, warn_user
from tamis.base.classifier import Classes
from tamis.base.contents import count, flag, optional, part
from tamis.base.estimator import Estimator
from tamis.base.machine.progress import Progress
from tamis.base.machine.threads import count_threads
from tamis.base.parameters import ABOVE, AUTO, COUNT, NUMBER, SHARE, TERM
from tamis.base.passes import CallbackSupportMixin, Passes, with_callbacks
from tamis.base.rows import Csr, frozen
from tamis.base.stream_old import SHARED, OnlineLinear
from tamis.methods.stabilized import loop_stage as loop
from tamis.methods.stabilized.docs import documented
from tamis.methods.stabilized.loop_columns import measure
from tamis.methods.stabilized.paths import NO_COUNTS, Fitting, StabilizedEngine, longest
from tamis.solvers.pairing import loss_of
from tamis.base.parameters import is_auto

# automatic steps where the slope is bounded (hinge, logistic), in units of 1 / (norm of a row)^2
BOLD_ETA = 16.0
# where it grows with the error, in units of 1 / (curvature of the loss) / (norm of a row)^2
CALM_ETA = 0.5
COMPACTION = (
    0.2  # share of stored entries that purged features may hold before the matrix is made smaller
)
STREAM_PASS = (
    1000  # rows that count as a pass for the burn-in of a stream, whose length nobody knows
)

_OWN = {
    "n_paths": (16, [COUNT]),
    "burst": (5, [Interval(Integral, 1, 3000, closed="both")]),
    "bursts_per_stage": (5, [COUNT]),
    "rejection": (0.7, [SHARE]),
    "annealing": (0.0, [Real]),
    "purge": (0.7, [SHARE]),
    "burn_in": (1.0, [NUMBER]),
    "eta": ("auto", [ABOVE, AUTO]),
    "carry": (1, [COUNT]),
    "adaptive_burst": (None, [Interval(Real, 0, 1, closed="right"), None]),
    "gravity": ("adaptive", [NUMBER, StrOptions({"adaptive"})]),
    "fit_intercept": (True, SHARED["fit_intercept"]),
    "max_iter": (20, SHARED["max_iter"]),
    "tol": (1e-3, SHARED["tol"]),
    "shuffle": (True, SHARED["shuffle"]),
    "warm_start": (False, SHARED["warm_start"]),
    "n_jobs": (None, SHARED["n_jobs"]),
    "random_state": (None, SHARED["random_state"]),
    "verbose": ("auto", SHARED["verbose"]),
}
CLASS_WEIGHT = (None, [dict, StrOptions({"balanced"}), None])


def constructed(loss: str, **first):
    """Give a model its constructor, its constraints and, in place of {shared} and {attributes},
    what all docstrings say.
    """

    def build(cls):
        classifier = issubclass(cls, Classes)
        own = {
            "loss": (loss, TERM),
            **first,
            **_OWN,
            **({"class_weight": CLASS_WEIGHT} if classifier else {}),
        }
        own = {
            name: given for name, given in own.items() if name not in getattr(cls, "_without", ())
        }
        names = (
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            inspect.Parameter.KEYWORD_ONLY,
        )
        signature = inspect.Signature(
            [
                names[0],
                *(
                    inspect.Parameter(name, names[1], default=value)
                    for name, (value, _) in own.items()
                ),
            ]
        )

        def __init__(self, **named):
            bound = signature.bind(self, **named)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature
        cls.__init__, cls._parameter_constraints = (
            __init__,
            {name: allowed for name, (_, allowed) in own.items()},
        )
        cls.__doc__ = documented(cls.__doc__, classifier, own)
        return cls

    return build


class StabilizedLinear(CallbackSupportMixin, Estimator):
    """What the stabilized classifier and regressor share.

    Not an `OnlineLinear`, whose streams need no seed and whose parameters (average, positive, grow)
    these models lack; what it shows of a fit is the same, and borrowed.
    """

    _contents: ClassVar[dict] = {
        "_engine": part(StabilizedEngine, "columns", "outputs"),
        "n_iter_": count(),
        "_sparse": optional(flag()),
    }
    grow = positive = False
    _walks_rows = True  # what `tamis.testing` asks
    _factor = 1.0  # of the automatic step size

    # ------------------------------------------------------------------ training
    @with_callbacks
    def _fit(self, X, y, sample_weight):
        """Check, prepare, run all passes, store."""
        self._validate_params()
        again = self.warm_start and hasattr(self, "_engine")
        loss = loss_of(self)
        rows = take_matrix(self, X, reset=not again)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        targets = self._take_targets(y, rows.n_rows, first=not again, whole=True)
        rows, targets, weights = _present(rows, targets, self._weigh(targets, weights, whole=True))
        plan = self._plan(loss, rows.n_rows, resampled=not self.shuffle)
        self._prepare(plan, rows.n_features, again)
        self._run(rows, targets, weights, loss, plan, Passes(self, X, y, sample_weight))
        if not self._engine.count():
            self._warn_empty()
        return self

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Check, prepare, walk the rows once in their order, store."""
        self._validate_params()
        again = hasattr(self, "_engine")
        loss = loss_of(self)
        rows = take_matrix(self, X, reset=not again, chunk=True)
        weights = take_weights(sample_weight, rows.n_rows)
        targets = self._take_targets(y, rows.n_rows, first=not again, whole=False, **classes)
        rows, targets, weights = _present(rows, targets, self._weigh(targets, weights, whole=False))
        plan = self._plan(loss, STREAM_PASS, resampled=True)._replace(compaction=math.inf)
        self._prepare(plan, rows.n_features, again)
        engine, threads, norms, self.n_iter_ = (
            self._engine,
            count_threads(self.n_jobs),
            np.empty(rows.n_rows),
            1,
        )
        measure(*rows[:3], norms, NO_COUNTS)
        source = (np.uint64(engine.seed), np.uint64(0), False)
        full = any(bundle.course[loop.KEPT] for bundle in engine.bundles)
        for c in range(engine.outputs):
            bundle = engine.bundles[c] = engine.bundles[c].opened()
            given = (*rows[:3], self._target(targets, c), weights, frozen(norms))
            bundle.run(
                given,
                NO_COUNTS,
                0,
                rows.n_rows,
                longest(rows.indptr, plan, bundle),
                loss,
                plan,
                source,
                threads,
            )
            self._check_finite(bundle)
        if full and not any(bundle.course[loop.KEPT] for bundle in engine.bundles):
            self._warn_empty()
        return self

    def _run(self, rows, targets, weights, loss, plan, passes) -> None:
        """All passes, output by output: each has its own features and hence its own matrix."""
        engine, threads = self._engine, count_threads(self.n_jobs)
        norms, counts = np.empty(rows.n_rows), np.zeros(rows.n_features, np.uint32)
        measure(*rows[:3], norms, counts)
        shown = self.verbose if self.verbose == "auto" else bool(self.verbose)
        self.n_iter_ = 0
        with Progress(
            type(self).__name__, rows.n_rows * self.max_iter * engine.outputs, shown
        ) as progress:
            for c in range(engine.outputs):
                fitting = Fitting(
                    engine.bundles,
                    c,
                    rows,
                    self._target(targets, c),
                    weights,
                    frozen(norms),
                    counts,
                    plan,
                )
                for turn in range(1, self.max_iter + 1):
                    callbacks = c == engine.outputs - 1  # the model is whole only then
                    if callbacks:
                        passes.begin()
                    bundle = fitting.bundle
                    before, kept, started = (
                        bundle.means(),
                        bundle.course[loop.KEPT],
                        bundle.course[loop.STAGE] >= plan.burn,
                    )
                    source = (
                        np.uint64(engine.seed),
                        np.uint64(bundle.course[loop.ROWS]),
                        self.shuffle,
                    )
                    fitting.walk(
                        loss,
                        source,
                        threads,
                        lambda n, turn=turn: progress.advance(n, f"pass {turn}"),
                    )
                    self.n_iter_, bundle = max(self.n_iter_, turn), fitting.bundle
                    self._check_finite(bundle)
                    ended = (
                        started
                        and kept == bundle.course[loop.KEPT]
                        and self._settled(before, bundle.means())
                    )
                    if (callbacks and passes.stopped()) or ended:
                        break
        passes.end()

    def _settled(self, before, after) -> bool:
        """Whether a pass without purges moved the mean weights by less than `tol`."""
        return (
            self.tol is not None
            and before.shape == after.shape
            and np.linalg.norm(after - before) <= self.tol * np.linalg.norm(before)
        )

    def _prepare(self, plan, features: int, again: bool) -> None:
        """A new engine, or the present one."""
        if not again:
            self._engine = StabilizedEngine(
                self.n_paths, features, self._outputs(), plan, self._seed()
            )
        elif len(self._engine.bundles[0].paths) != self.n_paths:
            raise ValueError(
                f"{type(self).__name__}: `n_paths` changed since the model was fitted; call fit "
                "with warm_start=False."
            )

    def _plan(self, loss, pass_rows: int, resampled: bool) -> loop.Plan:
        """The parameters as the loop takes them."""
        adaptive, automatic = isinstance(self.gravity, str), is_auto(self.eta)
        burn = round(self.burn_in * pass_rows / (self.burst * self.bursts_per_stage))
        return loop.Plan(
            burst=float(self.burst),
            bursts=float(self.bursts_per_stage),
            rejection=float(self.rejection),
            annealing=float(self.annealing),
            purge=float(self.purge),
            burn=float(max(1, burn) if adaptive else burn),
            carry=float(self.carry),
            adaptive=float(self.adaptive_burst or 0.0),
            gravity=-1.0 if adaptive else float(self.gravity),
            eta=automatic_eta(self, loss) if automatic else float(self.eta),
            automatic=float(automatic),
            intercept=float(self.fit_intercept),
            resampled=float(resampled and self.n_paths > 1),
            compaction=COMPACTION,
        )

    def _terms(self):
        return (loss_of(self),), ()

    def _target(self, targets, c: int) -> np.ndarray:
        """Targets of one output: one class against the rest, or a column."""
        if targets.shape[1] == 1 and self._engine.outputs > 1:
            return frozen(np.where(targets[:, 0] == c, 1.0, -1.0))
        return frozen(np.ascontiguousarray(targets[:, c]))

    def _check_finite(self, bundle) -> None:
        if not (np.isfinite(bundle.paths).all() and np.isfinite(bundle.history).all()):
            self._diverged()

    def _warn_empty(self):
        said = (
            "kept no feature: the truncation outweighs every gradient. Lower rejection or "
            "purge, or raise burn_in."
        )
        warn_user(f"{type(self).__name__} {said}", UserWarning)

    # ------------------------------------------------------------------ what a fit shows
    _seed, _diverged, _fitted = OnlineLinear._seed, OnlineLinear._diverged, OnlineLinear._fitted
    _scores, _asked = OnlineLinear._scores, OnlineLinear._asked
    coef_, intercept_, support_ = OnlineLinear.coef_, OnlineLinear.intercept_, OnlineLinear.support_
    sparsify, densify = OnlineLinear.sparsify, OnlineLinear.densify
    __sklearn_is_fitted__ = OnlineLinear.__sklearn_is_fitted__

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def selection_probability_(self):
        """Share of bursts since the burn-in, over all paths, that kept each weight; shaped like
        `coef_`.
        """
        return self._shape_coef(
            np.array(
                [
                    bundle.probabilities()
                    for bundle in self._fitted("selection_probability_").bundles
                ]
            )
        )

    @property
    def paths_(self):
        """Weights of each path, of shape (n_paths, n_outputs, n_features); made on demand."""
        return np.stack(
            [bundle.path_weights() for bundle in self._fitted("paths_").bundles], axis=1
        )

    @property
    def history_(self):
        """What happened, stage by stage; of a long run every second, fourth, ... stage."""
        records = []
        for c, bundle in enumerate(self._fitted("history_").bundles):
            for stage, rows, kept, gravity, rejection, cost, burst in bundle.history[
                : int(bundle.course[loop.RECORDS])
            ].tolist():
                counts = {
                    "output": c,
                    "stage": int(stage),
                    "rows": int(rows),
                    "kept": int(kept),
                    "burst": int(burst),
                }
                records.append({**counts, "gravity": gravity, "rejection": rejection, "loss": cost})
        return records

    @property
    def n_stages_(self):
        """Stages ended."""
        return max(int(bundle.course[loop.STAGE]) for bundle in self._fitted("n_stages_").bundles)

    @property
    def t_(self):
        """Rows of weight above 0 that were walked, over all passes."""
        return max(int(bundle.course[loop.ROWS]) for bundle in self._fitted("t_").bundles)

    @property
    def resolved_params_(self):
        """The automatic constants as they stand: the step size, and each output's gravity."""
        bundles = self._fitted("resolved_params_").bundles
        norm = float(bundles[0].paths[:, loop.NORM].mean())
        eta = (
            automatic_eta(self, loss_of(self)) / (norm**2 if norm else 1.0)
            if is_auto(self.eta)
            else float(self.eta)
        )
        return {"eta": eta, "gravity": [float(bundle.course[loop.GRAVITY]) for bundle in bundles]}


def automatic_eta(model, loss) -> float:
    """Automatic step size in units of 1 / (norm of a row)^2; steps of constant size, so larger ones
    than a falling schedule begins with.
    """
    bend = loss.bend()
    if is_classifier(model) and not 0.25 < bend < math.inf:
        return BOLD_ETA * model._factor
    return CALM_ETA * model._factor / (bend if math.isfinite(bend) else 1.0)


def _present(rows: Csr, targets, weights):
    """The rows without those of weight 0, which must change nothing, the order of the others
    included.
    """
    if not len(weights) or (weights > 0.0).all():
        return rows, targets, weights
    at = np.flatnonzero(weights > 0.0)
    return rows.picked(at), frozen(targets[at]), frozen(weights[at])
