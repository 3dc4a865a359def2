"""Base class of the stabilized models: parameters, passes, streams, and fitted attributes."""

import math
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from tamis.base.estimators.stream import OnlineLinearModel
from tamis.base.model_terms import resolve_loss
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Seed,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.fit import OutputFit, max_stage_entries
from tamis.methods.stabilized_sgd.loop_columns import measure_rows
from tamis.methods.stabilized_sgd.paths import NO_COUNTS, PathBundle, StabilizedState
from tamis.numerics.csr import Csr, readonly_view
from tamis.numerics.targets import EncodedTargets
from tamis.system.progress import Progress
from tamis.system.schema import nested_object
from tamis.system.threads import count_threads

# Automatic steps for losses with a bounded gradient (hinge, logistic), in units of
# 1 / (norm of a row)^2.
BOUNDED_GRADIENT_ETA = 16.0
# For other losses, in units of 1 / (curvature of the loss) / (norm of a row)^2.
UNBOUNDED_GRADIENT_ETA = 0.5
# Fraction of stored entries in purged columns above which the matrix is compacted.
MAX_PURGED_FRACTION = 0.2
# Rows that count as a pass for the burn-in of a stream, whose length is unknown.
STREAM_PASS_ROWS = 1000


class StabilizedSetting(NamedTuple):
    """Parameters that a search tunes; where `eta` is None, the automatic one times `eta_factor`."""

    eta_factor: float
    burn_in: float
    rejection: float
    purge: float
    eta: float | None = None


class StabilizedModel(NamedTuple):
    """Loss and plan of a pass over the rows of a stream."""

    loss: tuple
    plan: loop.RunPlan


@estimator(kw_only=True)
class Stabilized(OnlineLinearModel):
    """Base of the stabilized models and of those that tune themselves.

    A subclass has `_tunable_params`, which returns a `StabilizedSetting`.
    """

    n_paths: int = parameter(
        16,
        [POSITIVE_INTEGER],
        "Number of paths that vote together. In `fit` each has its own order of the rows; in a "
        "stream the rows keep their order, and each path counts each row a Poisson(1) number of "
        "times (a bootstrap of the stream), drawn from (seed, path, row number).",
    )
    burst: int = parameter(
        5,
        [Interval(Integral, 1, 3000, closed="both")],
        "Number of rows between two truncations of a path.",
    )
    bursts_per_stage: int = parameter(5, [POSITIVE_INTEGER], "Number of bursts between two votes.")
    annealing: float = parameter(
        0.0,
        [Real],
        "How the rejection falls as features are purged: 0 linearly, below 0 later, above 0 "
        "earlier.",
    )
    min_votes: int = parameter(
        1,
        [POSITIVE_INTEGER],
        "Smallest number of votes for a purge: bursts that met the feature, over all paths. "
        "Fewer are carried over to the next stage.",
    )
    adaptive_burst: float | None = parameter(
        None,
        [Interval(Real, 0, 1, closed="right"), None],
        "Alpha in (0, 1]: bursts become ``ceil(burst * log(1 / (alpha * fraction of features "
        "that remain)))`` rows long, at most 20 times `burst`. With None the length is constant; "
        "with at most 1/e (0.37) bursts never become shorter.",
    )
    gravity: float | str = parameter(
        "adaptive",
        [NON_NEGATIVE, one_of_strings("adaptive")],
        "Shrinkage of a weight for each row of the burst that has the feature. A number is used "
        "as it is.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never truncated."
    )
    max_iter: int = parameter(
        20, [POSITIVE_INTEGER], "Largest number of passes of a path in `fit`."
    )
    tol: float | None = parameter(
        1e-3,
        [NON_NEGATIVE, None],
        "`fit` ends when a pass after the burn-in purged nothing and changed the mean weights by "
        "at most `tol` times their norm. With steps of constant size this is rare: most fits use "
        "all passes, without a warning. None runs all passes.",
    )
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether each path of `fit` takes the rows in its own order, a new one in each pass. If "
        "not, `fit` takes them like a stream.",
    )
    n_jobs: int | None = parameter(
        None, [Integral, None], "Number of threads; the result does not depend on it."
    )
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of the orders and of the row weights."
    )
    _contents: ClassVar[dict] = {
        "_solver_state": nested_object(StabilizedState, "columns", "outputs")
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights, the mean of all paths, with the present burst truncated; zeros are exact. A
            regressor with one target has shape (n_features,).
        support_ : ndarray of int
            Indices of the selected features; for several outputs the union.
        selection_probability_ : ndarray, shaped like `coef_`
            Fraction of the bursts with the feature since the burn-in, over all paths, that left
            its weight nonzero. 0 for purged and for unseen features, 1 for those that no such
            burst has met yet.
        paths_ : ndarray of shape (n_paths, n_outputs, n_features)
            Weights of each path, computed on each access.
        history_ : list of dict
            For each output and stage: rows of a path, number of features, gravity and rejection,
            mean loss of each row before it was learned, burst. A long run keeps every second,
            fourth, ... stage, at most 1024 for each output.
        n_stages_ : int
            Number of finished stages.
        t_ : int
            Number of rows of weight above 0 that each path has learned.
        resolved_params_ : dict
            Present step size, and gravity of each output."""

    _needs_sorted_rows = True  # rounding errors would decide some votes

    # ------------------------------------------------------------------ parameters for the loop
    def _tunable_params(self) -> StabilizedSetting:
        """Return the present values of the parameters that a search can tune."""
        raise NotImplementedError

    def _loss(self):
        return resolve_loss(self)

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _model(self) -> StabilizedModel:
        plan = self._plan(STREAM_PASS_ROWS, resampled=True)
        return StabilizedModel(self._loss(), plan._replace(max_purged_fraction=math.inf))

    def _plan(self, pass_rows: int, resampled: bool) -> loop.RunPlan:
        """Return the parameters of the loop, for passes of `pass_rows` rows."""
        setting, is_adaptive = self._tunable_params(), isinstance(self.gravity, str)
        stage_rows = self.burst * self.bursts_per_stage
        burn_in_stages = round(setting.burn_in * pass_rows / stage_rows)
        if is_adaptive:
            burn_in_stages = max(1, burn_in_stages)
        return loop.RunPlan(
            burst=float(self.burst),
            bursts_per_stage=float(self.bursts_per_stage),
            rejection=float(setting.rejection),
            annealing=float(self.annealing),
            purge=float(setting.purge),
            burn_in_stages=float(burn_in_stages),
            min_votes=float(self.min_votes),
            burst_alpha=float(self.adaptive_burst or 0.0),
            gravity=-1.0 if is_adaptive else float(self.gravity),
            eta=self._eta(setting),
            is_automatic=float(setting.eta is None),
            intercept=float(self.fit_intercept),
            resampled=float(resampled and self.n_paths > 1),
            max_purged_fraction=MAX_PURGED_FRACTION,
        )

    def _eta(self, setting: StabilizedSetting) -> float:
        """Return the constant step size; an automatic one is in units of 1 / (norm of a row)^2."""
        if setting.eta is not None:
            return float(setting.eta)
        curvature = self._loss().hessian_bound()
        if is_classifier(self) and not 0.25 < curvature < math.inf:
            return BOUNDED_GRADIENT_ETA * setting.eta_factor
        scale = curvature if math.isfinite(curvature) else 1.0
        return UNBOUNDED_GRADIENT_ETA * setting.eta_factor / scale

    # ------------------------------------------------------------------ training
    def _new_state(self, model, targets, n_features: int, is_fit: bool) -> StabilizedState:
        return StabilizedState(self.n_paths, n_features, targets.outputs, self._seed())

    def _updated_state(
        self, engine, model, targets, n_features: int, is_fit: bool
    ) -> StabilizedState:
        if engine.n_paths != self.n_paths:
            raise ValueError(
                f"{type(self).__name__}: `n_paths` changed since the model was fitted; call fit "
                "with warm_start=False."
            )
        return engine

    def _learn(self, model: StabilizedModel, rows: Csr, encoded: EncodedTargets, weights) -> None:
        rows, columns, weights = _positive_weight_rows(rows, encoded.columns, weights)
        engine, (loss, plan), norms = self._solver_state, model, np.empty(rows.n_rows)
        measure_rows(*rows[:3], norms, NO_COUNTS)
        order = loop.RowOrder(np.uint64(engine.seed), np.uint64(0), False)
        had_features = any(bundle.stage.n_present for bundle in engine.bundles)
        for c in range(engine.outputs):
            bundle = engine.bundles[c] = engine.bundles[c].start(plan).with_all_columns()
            row_arrays = loop.RowArrays(
                *rows[:3], self._target(columns, c), weights, readonly_view(norms)
            )
            capacity = max_stage_entries(rows.indptr, plan, bundle)
            threads = self._threads()
            bundle.run(row_arrays, NO_COUNTS, 0, rows.n_rows, capacity, loss, plan, order, threads)
            self._check_finite(bundle)
        if had_features and not any(bundle.stage.n_present for bundle in engine.bundles):
            self._warn_empty()

    def _run_passes(self, rows: Csr, encoded: EncodedTargets, weights, passes) -> None:
        """Run all passes, output by output, because each has its own features and matrix."""
        rows, columns, weights = _positive_weight_rows(rows, encoded.columns, weights)
        engine, plan = self._solver_state, self._plan(rows.n_rows, resampled=not self.shuffle)
        norms, counts = np.empty(rows.n_rows), np.zeros(rows.n_features, np.uint32)
        measure_rows(*rows[:3], norms, counts)
        row_data = (weights, readonly_view(norms), counts, plan)
        show_progress = self.verbose if self.verbose == "auto" else bool(self.verbose)
        total = rows.n_rows * self.max_iter * engine.outputs
        self.n_iter_ = 0
        with Progress(type(self).__name__, total, show_progress) as progress:
            for c in range(engine.outputs):
                fitting = OutputFit(engine.bundles, c, rows, self._target(columns, c), *row_data)
                # Callbacks run for the last output alone: before it the model is incomplete.
                self._run_output_passes(
                    fitting, passes if c == engine.outputs - 1 else None, progress
                )
                fitting.end()
        passes.end()
        if not engine.count():
            self._warn_empty()

    def _run_output_passes(self, fitting: OutputFit, passes, progress) -> None:
        """Run all passes of one output."""
        loss, threads, seed = self._loss(), self._threads(), np.uint64(self._solver_state.seed)
        for pass_number in range(1, self.max_iter + 1):
            if passes is not None:
                passes.begin()
            bundle = fitting.bundle
            weights_before, n_present = bundle.mean_weights(), bundle.stage.n_present
            is_truncating = bundle.stage.number >= fitting.plan.burn_in_stages
            order = loop.RowOrder(seed, np.uint64(bundle.stage.rows), self.shuffle)
            label = f"pass {pass_number}"
            fitting.walk(loss, order, threads, lambda n, label=label: progress.advance(n, label))
            self.n_iter_, bundle = max(self.n_iter_, pass_number), fitting.bundle
            self._check_finite(bundle)
            has_converged = (
                is_truncating
                and n_present == bundle.stage.n_present
                and self._is_small_change(weights_before, bundle.mean_weights())
            )
            if (passes is not None and passes.end_pass()) or has_converged:
                break

    def _target(self, columns: np.ndarray, c: int) -> np.ndarray:
        """Return the targets of one output: one class against the rest, or a column."""
        if columns.shape[1] < self._solver_state.outputs:
            return readonly_view(np.where(columns[:, 0] == c, 1.0, -1.0))
        return readonly_view(np.ascontiguousarray(columns[:, c]))

    def _is_small_change(self, before, after) -> bool:
        """Return whether a pass changed the mean weights by at most `tol` times their norm."""
        return (
            self.tol is not None
            and before.shape == after.shape
            and np.linalg.norm(after - before) <= self.tol * np.linalg.norm(before)
        )

    def _check_finite(self, bundle: PathBundle) -> None:
        if not (np.isfinite(bundle.paths).all() and np.isfinite(bundle.history).all()):
            self._diverged()

    def _warn_empty(self):
        message = (
            "kept no feature: the truncation outweighs every gradient. Lower rejection or "
            "purge, or raise burn_in."
        )
        warn_user(f"{type(self).__name__} {message}", UserWarning)

    # ------------------------------------------------------------------ fitted attributes
    @property
    def selection_probability_(self):
        """Fraction of bursts since the burn-in, over all paths, that each weight survived; shaped
        like `coef_`.
        """
        bundles = self._fitted_state("selection_probability_").bundles
        probabilities = [bundle.selection_probabilities() for bundle in bundles]
        return self._targets.shape_coef(np.array(probabilities))

    @property
    def paths_(self):
        """Weights of each path, (n_paths, n_outputs, n_features), computed on each access."""
        bundles = self._fitted_state("paths_").bundles
        return np.stack([bundle.path_weights() for bundle in bundles], axis=1)

    @property
    def history_(self):
        """Record of the stages; of a long run every second, fourth, ... stage."""
        bundles = self._fitted_state("history_").bundles
        return [
            {"output": c, **entry}
            for c, bundle in enumerate(bundles)
            for entry in bundle.history_entries()
        ]

    @property
    def n_stages_(self):
        """Number of finished stages."""
        return max(int(bundle.stage.number) for bundle in self._fitted_state("n_stages_").bundles)

    @property
    def resolved_params_(self):
        """Present values of the automatic constants: the step size, and each output's gravity."""
        bundles, setting = self._fitted_state("resolved_params_").bundles, self._tunable_params()
        mean_norm, eta = bundles[0].mean_norm, self._eta(setting)
        if setting.eta is None:
            eta /= mean_norm**2 if mean_norm else 1.0
        return {"eta": eta, "gravity": [float(bundle.stage.gravity) for bundle in bundles]}


def _positive_weight_rows(rows: Csr, columns, weights):
    """Return the rows without those of weight 0, which must not influence the row orders."""
    if not len(weights) or (weights > 0.0).all():
        return rows, columns, weights
    indices = np.flatnonzero(weights > 0.0)
    return (
        rows.select_rows(indices),
        readonly_view(columns[indices]),
        readonly_view(weights[indices]),
    )
