"""What the stabilized models share: parameters, passes, streams, and the attributes that show a
fit.
"""

import math
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from tamis.base.estimators.stream import LinearStream
from tamis.base.model_parts import loss_of
from tamis.base.parameters import (
    BOOL,
    COUNT,
    NUMBER,
    RANDOM,
    Seed,
    estimator,
    one_of,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.fit import Fitting, longest
from tamis.methods.stabilized_sgd.loop_columns import measure
from tamis.methods.stabilized_sgd.paths import NO_COUNTS, Bundle, StabilizedEngine
from tamis.numerics.csr import Csr, frozen
from tamis.numerics.targets import EncodedTargets
from tamis.system.progress import Progress
from tamis.system.schema import part
from tamis.system.threads import count_threads

# Automatic steps where the slope is bounded (hinge, logistic), in units of 1 / (norm of a row)^2.
BOLD_ETA = 16.0
# Where it grows with the error, in units of 1 / (curvature of the loss) / (norm of a row)^2.
CALM_ETA = 0.5
# Share of stored entries that purged features may hold before the matrix is made smaller.
COMPACTION = 0.2
# Rows that count as a pass for the burn-in of a stream, whose length nobody knows.
STREAM_PASS = 1000


class Setting(NamedTuple):
    """What a search tunes; no `eta` is the automatic one times `eta_factor`."""

    eta_factor: float
    burn_in: float
    rejection: float
    purge: float
    eta: float | None = None


class StabilizedModel(NamedTuple):
    """What a walk over the rows of a stream takes."""

    loss: tuple
    plan: loop.Plan


@estimator(kw_only=True)
class Stabilized(LinearStream):
    """Base of the stabilized models and of those that tune themselves; `_setting` says where each
    has its step size, burn-in, rejection and purge.
    """

    n_paths: int = parameter(
        16,
        [COUNT],
        "Paths of descent that vote together. In `fit` each has its own order of the rows; in a "
        "stream the rows keep theirs, and each path counts each row a Poisson(1) number of times "
        "(a bootstrap of the stream), drawn from (seed, path, row number).",
    )
    burst: int = parameter(
        5,
        [Interval(Integral, 1, 3000, closed="both")],
        "Rows between two truncations of a path.",
    )
    bursts_per_stage: int = parameter(5, [COUNT], "Bursts between two votes of all paths.")
    annealing: float = parameter(
        0.0,
        [Real],
        "How the rejection falls as features leave: 0 in a straight line, below 0 later, above 0 "
        "earlier.",
    )
    min_votes: int = parameter(
        1,
        [COUNT],
        "Least number of votes by which a feature is judged: bursts that met it, over all paths. "
        "Fewer are carried over to the next stage.",
    )
    adaptive_burst: float | None = parameter(
        None,
        [Interval(Real, 0, 1, closed="right"), None],
        "Alpha in (0, 1]: bursts become ``ceil(burst * log(1 / (alpha * share of features that "
        "remain)))`` rows long, at most 20 times `burst`. None keeps them as they are; from 1/e "
        "(0.37) downwards they never become shorter.",
    )
    gravity: float | str = parameter(
        "adaptive",
        [NUMBER, one_of("adaptive")],
        "Pull towards zero for each row of the burst that has the feature, in units of the "
        "weights. A number is used as it is.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never truncated."
    )
    max_iter: int = parameter(20, [COUNT], "Most passes of a path over the data in `fit`.")
    tol: float | None = parameter(
        1e-3,
        [NUMBER, None],
        "`fit` ends when a pass after the burn-in purged nothing and moved the mean weights by at "
        "most `tol` times their norm. Steps of constant size seldom get so quiet: to use all "
        "passes is the rule, and no warning is given. None runs all passes.",
    )
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether each path of `fit` walks the rows in an order of its own, a new one each pass. "
        "If not, `fit` walks them like a stream.",
    )
    n_jobs: int | None = parameter(
        None, [Integral, None], "Threads over the paths; the result does not depend on it."
    )
    random_state: Seed = parameter(None, [RANDOM], "Seed of the orders and of the row weights.")
    _contents: ClassVar[dict] = {"_engine": part(StabilizedEngine, "columns", "outputs")}
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights, the mean of all paths, an open burst truncated; zeros are exact. A regressor
            with one target has shape (n_features,).
        support_ : ndarray of int
            Indices of the kept features; for several outputs the union.
        selection_probability_ : ndarray, shaped like `coef_`
            Share of the bursts since the burn-in, over all paths, that met a feature and left its
            weight nonzero. 0 for purged and for unseen features, 1 for those that no such burst
            has met yet.
        paths_ : ndarray of shape (n_paths, n_outputs, n_features)
            Weights of each path, made on demand.
        history_ : list of dict
            Per output and stage: rows walked by a path, features kept, gravity and rejection in
            force, mean loss of each row before it was learnt, burst. A long run keeps every
            second, fourth, ... stage, 1024 at most an output.
        n_stages_ : int
            Stages ended.
        t_ : int
            Rows of weight above 0 that a path has walked.
        resolved_params_ : dict
            The step size and each output's gravity as they stand."""

    _ordered = True  # votes are yes or no, and rounding would decide some of them

    # ------------------------------------------------------------------ parameters for the loop
    def _setting(self) -> Setting:
        """The constants that a search tunes."""
        raise NotImplementedError

    def _loss(self):
        return loss_of(self)

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _model(self) -> StabilizedModel:
        plan = self._plan(STREAM_PASS, resampled=True)
        return StabilizedModel(self._loss(), plan._replace(compaction=math.inf))

    def _plan(self, pass_rows: int, resampled: bool) -> loop.Plan:
        """The parameters as the loop takes them, for passes of so many rows."""
        setting, adaptive = self._setting(), isinstance(self.gravity, str)
        burn = round(setting.burn_in * pass_rows / (self.burst * self.bursts_per_stage))
        return loop.Plan(
            burst=float(self.burst),
            bursts=float(self.bursts_per_stage),
            rejection=float(setting.rejection),
            annealing=float(self.annealing),
            purge=float(setting.purge),
            burn=float(max(1, burn) if adaptive else burn),
            min_votes=float(self.min_votes),
            adaptive=float(self.adaptive_burst or 0.0),
            gravity=-1.0 if adaptive else float(self.gravity),
            eta=self._eta(setting),
            automatic=float(setting.eta is None),
            intercept=float(self.fit_intercept),
            resampled=float(resampled and self.n_paths > 1),
            compaction=COMPACTION,
        )

    def _eta(self, setting: Setting) -> float:
        """Size of the steps, an automatic one in units of 1 / (norm of a row)^2: constant, so
        larger than a falling schedule begins with.
        """
        if setting.eta is not None:
            return float(setting.eta)
        bend = self._loss().hessian_bound()
        if is_classifier(self) and not 0.25 < bend < math.inf:
            return BOLD_ETA * setting.eta_factor
        return CALM_ETA * setting.eta_factor / (bend if math.isfinite(bend) else 1.0)

    # ------------------------------------------------------------------ training
    def _begin(self, model, targets, n_features: int, is_fit: bool) -> StabilizedEngine:
        return StabilizedEngine(self.n_paths, n_features, targets.outputs, self._seed())

    def _renew(self, engine, model, targets, n_features: int, is_fit: bool) -> StabilizedEngine:
        if engine.n_paths != self.n_paths:
            raise ValueError(
                f"{type(self).__name__}: `n_paths` changed since the model was fitted; call fit "
                "with warm_start=False."
            )
        return engine

    def _learn(self, model: StabilizedModel, rows: Csr, coded: EncodedTargets, weights) -> None:
        rows, columns, weights = _present(rows, coded.columns, weights)
        engine, (loss, plan), norms = self._engine, model, np.empty(rows.n_rows)
        measure(*rows[:3], norms, NO_COUNTS)
        source = loop.Source(np.uint64(engine.seed), np.uint64(0), False)
        full = any(bundle.clock.kept for bundle in engine.bundles)
        for c in range(engine.outputs):
            bundle = engine.bundles[c] = engine.bundles[c].begun(plan).opened()
            given = loop.Rows(*rows[:3], self._target(columns, c), weights, frozen(norms))
            room = longest(rows.indptr, plan, bundle)
            threads = self._threads()
            bundle.run(given, NO_COUNTS, 0, rows.n_rows, room, loss, plan, source, threads)
            self._check_finite(bundle)
        if full and not any(bundle.clock.kept for bundle in engine.bundles):
            self._warn_empty()

    def _run(self, rows: Csr, coded: EncodedTargets, weights, passes) -> None:
        """All passes, output by output: each has its own features and hence its own matrix."""
        rows, columns, weights = _present(rows, coded.columns, weights)
        engine, plan = self._engine, self._plan(rows.n_rows, resampled=not self.shuffle)
        norms, counts = np.empty(rows.n_rows), np.zeros(rows.n_features, np.uint32)
        measure(*rows[:3], norms, counts)
        rest = (weights, frozen(norms), counts, plan)
        shown = self.verbose if self.verbose == "auto" else bool(self.verbose)
        total = rows.n_rows * self.max_iter * engine.outputs
        self.n_iter_ = 0
        with Progress(type(self).__name__, total, shown) as progress:
            for c in range(engine.outputs):
                fitting = Fitting(engine.bundles, c, rows, self._target(columns, c), *rest)
                # The model is whole only with its last output: callbacks look at that one alone.
                self._pass_over(fitting, passes if c == engine.outputs - 1 else None, progress)
                fitting.end()
        passes.end()
        if not engine.count():
            self._warn_empty()

    def _pass_over(self, fitting: Fitting, passes, progress) -> None:
        """All passes of one output."""
        loss, threads, seed = self._loss(), self._threads(), np.uint64(self._engine.seed)
        for turn in range(1, self.max_iter + 1):
            if passes is not None:
                passes.begin()
            bundle = fitting.bundle
            before, kept, started = (
                bundle.means(),
                bundle.clock.kept,
                bundle.clock.stage >= fitting.plan.burn,
            )
            source = loop.Source(seed, np.uint64(bundle.clock.rows), self.shuffle)
            fitting.walk(
                loss, source, threads, lambda n, turn=turn: progress.advance(n, f"pass {turn}")
            )
            self.n_iter_, bundle = max(self.n_iter_, turn), fitting.bundle
            self._check_finite(bundle)
            quiet = started and kept == bundle.clock.kept and self._settled(before, bundle.means())
            if (passes is not None and passes.stopped()) or quiet:
                break

    def _target(self, columns: np.ndarray, c: int) -> np.ndarray:
        """Targets of one output: one class against the rest, or a column."""
        if columns.shape[1] < self._engine.outputs:
            return frozen(np.where(columns[:, 0] == c, 1.0, -1.0))
        return frozen(np.ascontiguousarray(columns[:, c]))

    def _settled(self, before, after) -> bool:
        """Whether a pass without purges moved the mean weights by less than `tol`."""
        return (
            self.tol is not None
            and before.shape == after.shape
            and np.linalg.norm(after - before) <= self.tol * np.linalg.norm(before)
        )

    def _check_finite(self, bundle: Bundle) -> None:
        if not (np.isfinite(bundle.paths).all() and np.isfinite(bundle.history).all()):
            self._diverged()

    def _warn_empty(self):
        said = (
            "kept no feature: the truncation outweighs every gradient. Lower rejection or "
            "purge, or raise burn_in."
        )
        warn_user(f"{type(self).__name__} {said}", UserWarning)

    # ------------------------------------------------------------------ what a fit shows
    @property
    def selection_probability_(self):
        """Share of bursts since the burn-in, over all paths, that kept each weight; shaped like
        `coef_`.
        """
        bundles = self._fitted("selection_probability_").bundles
        return self._targets.shaped(np.array([bundle.probabilities() for bundle in bundles]))

    @property
    def paths_(self):
        """Weights of each path, of shape (n_paths, n_outputs, n_features); made on demand."""
        bundles = self._fitted("paths_").bundles
        return np.stack([bundle.path_weights() for bundle in bundles], axis=1)

    @property
    def history_(self):
        """What happened, stage by stage; of a long run every second, fourth, ... stage."""
        bundles = self._fitted("history_").bundles
        return [{"output": c, **one} for c, bundle in enumerate(bundles) for one in bundle.told()]

    @property
    def n_stages_(self):
        """Stages ended."""
        return max(int(bundle.clock.stage) for bundle in self._fitted("n_stages_").bundles)

    @property
    def resolved_params_(self):
        """The automatic constants as they stand: the step size, and each output's gravity."""
        bundles, setting = self._fitted("resolved_params_").bundles, self._setting()
        norm, eta = bundles[0].norm, self._eta(setting)
        if setting.eta is None:
            eta /= norm**2 if norm else 1.0
        return {"eta": eta, "gravity": [float(bundle.clock.gravity) for bundle in bundles]}


def _present(rows: Csr, columns, weights):
    """The rows without those of weight 0, which must change nothing, the order of the others
    included.
    """
    if not len(weights) or (weights > 0.0).all():
        return rows, columns, weights
    at = np.flatnonzero(weights > 0.0)
    return rows.picked(at), frozen(columns[at]), frozen(weights[at])
