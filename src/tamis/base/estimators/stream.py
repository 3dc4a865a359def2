"""Online linear models: what they share, and passes over the rows until the loss no longer falls.

`OnlineLinearModel._partial_fit` shows from top to bottom what happens to the next rows of a stream.
"""

import math
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.explaining import Predictor, SparseWeights
from tamis.base.estimators.mean import MEAN_IS_FINAL, MeanState
from tamis.base.estimators.offsets import missing_offset, refuse_offset
from tamis.base.estimators.passes import (
    CallbackSupportMixin,
    LossMonitor,
    PassCallbacks,
    with_callbacks,
)
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    OPEN_UNIT_INTERVAL,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Auto,
    Seed,
    at_least,
    estimator,
    parameter,
)
from tamis.base.splits import hold_out
from tamis.base.targets import ClassTargets
from tamis.base.validation import (
    inconsistent_state_error,
    record_columns,
    validate_matrix,
    validate_offset,
    validate_sample_weight,
    warn_user,
)
from tamis.numerics.csr import Csr, readonly_view
from tamis.numerics.targets import EncodedTargets
from tamis.system.progress import Progress
from tamis.system.schema import count, flag, optional, records

PATH_ATTRIBUTES = ("paths_", "selection_probability_")  # of a mean of several paths


class EncodedRows(NamedTuple):
    """Validated rows of a stream with encoded targets.

    The weights are those of the rows, without class weights; length 0 means that all are 1.
    """

    rows: Csr
    targets: Any  # ClassTargets or NumberTargets
    encoded: EncodedTargets
    weights: np.ndarray

    def first(self, count: int) -> "EncodedRows":
        """Return the first rows."""
        rows = self.rows.row_slice(0, min(count, self.rows.n_rows))
        encoded = self.encoded._replace(columns=self.encoded.columns[:count])
        return EncodedRows(rows, self.targets, encoded, self.weights[:count])


@estimator(kw_only=True)
class OnlineLinearModel(CallbackSupportMixin, Predictor):
    """Base of the online linear models.

    An estimator adds one hook, `_model`, which returns its terms and constants. Its family adds
    `_new_state` and `_updated_state`, which make and update a solver state of that model;
    `_run_passes`, all passes of a fit; and `_learn`, the next rows of a stream. A state has
    ``score(rows)``, `weights()`, `intercepts()`, `nonzeros()`, `outputs`, `features` and `steps`.
    """

    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    max_iter: int = parameter(
        100, [POSITIVE_INTEGER], "Maximum number of passes over the data in `fit`."
    )
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether `fit` uses a new order of the rows in each pass. `partial_fit` never shuffles.",
    )
    random_state: Seed = parameter(
        None,
        [RANDOM_STATE],
        "Seed of the shuffles, and of the choice of held-out rows if there are any.",
    )
    verbose: bool | int | Auto = parameter(
        "auto",
        [BOOL, AUTO, at_least(0)],
        'Progress bar of `fit`: "auto" shows it on a terminal after three seconds.',
        'bool or "auto"',
    )
    _contents: ClassVar[dict] = {"n_iter_": count(), "_sparse": optional(flag())}
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights after all pending penalties; zeros are exact. Computed on demand; a regressor
            with one target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the selected features.
        n_iter_ : int
            Number of passes.
        t_ : int
            Number of steps.
        history_ : list of dict
            Per pass: number of rows, mean loss of each row before it was learnt, nonzero weights.
            In a stream, one entry whenever its length has doubled.
        resolved_params_ : dict
            The present values of the automatic constants.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, if X has them."""
    _needs_sorted_rows = False  # whether the loops need ascending columns within each row
    _steps_by_row = True  # one row per step, so a row of weight 2 differs from a repeated row
    # Whether `tamis.live` supports it: a row needs only its numbers and its target.
    _supports_live = True

    grow = warm_start = False  # parameters of some subclasses
    _has_offset = False

    # ------------------------------------------------------------------ training
    @with_callbacks
    def _fit(self, X, y, sample_weight, offset=None, **task):
        """Learn from all rows: validate, encode y, prepare the state, run all passes."""
        self._validate_params()
        model, is_begun = self._model(), self.warm_start and hasattr(self, "_solver_state")
        rows = validate_matrix(
            self, X, reset=not is_begun, grow=self.grow, ordered=self._needs_sorted_rows
        )
        weights = validate_sample_weight(sample_weight, rows.n_rows, require_positive=True)
        known = self._targets if is_begun else None
        targets, encoded = self._encode_targets(y, rows.n_rows, known=known, grow=self.grow, **task)
        targets, weights = self._weight_rows(targets, encoded.columns, weights, grow=self.grow)
        encoded = self._with_offset(encoded, targets, offset, is_begun)
        self._prepare_state(model, targets, rows.n_features, is_begun, is_fit=True)
        record_columns(self, X, rows.n_features)
        self._run_passes(rows, encoded, weights, PassCallbacks(self, X, y, sample_weight))
        return self

    def _partial_fit(self, X, y, sample_weight, classes=None, task=None, offset=None):
        """Learn from the next rows, once and in their order: validate, encode y, prepare the state,
        and make one step per row.

        The rows are split where a class or a task is new: it exists from its first row on.
        """
        self._validate_params()
        model, is_begun, grow = self._model(), hasattr(self, "_solver_state"), self.grow
        rows = validate_matrix(
            self, X, reset=not is_begun, grow=grow, chunk=True, ordered=self._needs_sorted_rows
        )
        weights = validate_sample_weight(sample_weight, rows.n_rows)
        steps = self._solver_state.steps if is_begun else 0.0
        spans = self._row_spans(y, rows.n_rows, is_begun, classes, task)
        for start, stop in spans:
            known: dict[str, Any] = {"known": self._targets if is_begun else None, "grow": grow}
            if classes is not None and start == 0:
                known["classes"] = classes
            if task is not None:
                known["task"] = task[start:stop]
            y_span = y if len(spans) == 1 else np.asarray(y)[start:stop]
            targets, encoded = self._encode_targets(y_span, stop - start, is_fit=False, **known)
            span_offset = None if offset is None else np.asarray(offset)[start:stop]
            span = EncodedRows(rows.row_slice(start, stop), targets, encoded, weights[start:stop])
            self._learn_span(model, span, span_offset, is_begun)
            is_begun = True
        record_columns(self, X, rows.n_features)
        self._check_progress(steps)
        return self

    def _learn_span(self, model, span: EncodedRows, offset, is_begun: bool) -> None:
        """Learn rows that hold no new class and no new task."""
        rows, targets, encoded, weights = span
        targets, weights = self._weight_rows(
            targets, encoded.columns, weights, is_fit=False, grow=self.grow
        )
        encoded = self._with_offset(encoded, targets, offset, is_begun)
        self._prepare_state(model, targets, rows.n_features, is_begun)
        self.n_iter_ = 1
        self._learn(model, rows, encoded, weights)

    # ------------------------------------------------------------------ encoded rows
    def _encode(self, X, y, sample_weight=None, **classes) -> EncodedRows:
        """Validate rows and parameters, and encode y, for `_learn_encoded`."""
        self._validate_params()
        is_begun = hasattr(self, "_solver_state")
        rows = validate_matrix(
            self, X, reset=not is_begun, chunk=True, ordered=self._needs_sorted_rows
        )
        weights = validate_sample_weight(sample_weight, rows.n_rows)
        known = self._targets if is_begun else None
        targets, encoded = self._encode_targets(
            y, rows.n_rows, known=known, is_fit=False, **classes
        )
        return EncodedRows(rows, targets, encoded, weights)

    def _learn_encoded(self, span: EncodedRows) -> None:
        """Learn rows as `partial_fit` does, to the same bits, without another validation.

        Another model of the same parameters may have encoded them, and they may have been pickled.
        """
        is_begun = hasattr(self, "_solver_state")
        rows, targets, encoded, weights = span
        if not is_begun:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.n_features
        elif rows.n_features != self.n_features_in_ or not _has_same_outputs(
            targets, self._targets
        ):
            raise ValueError(
                f"rows of {rows.n_features:,} columns and {targets.outputs} outputs do not go "
                f"with this {type(self).__name__}, which has {self.n_features_in_:,} columns and "
                f"{self._targets.outputs} outputs. All rows need the same columns and targets."
            )
        # The loops are compiled for read-only arrays, and unpickled arrays may be writeable.
        data, indices, indptr, columns, weights = (
            readonly_view(np.require(array, requirements=["C", "A"]))
            for array in (*rows[:3], encoded.columns, weights)
        )
        steps = self._solver_state.steps if is_begun else 0.0
        span = EncodedRows(
            Csr(data, indices, indptr, rows.n_features),
            self._targets if is_begun else targets,
            EncodedTargets(columns),
            weights,
        )
        self._learn_span(self._model(), span, None, is_begun)
        self._check_progress(steps)

    def _with_offset(
        self, encoded: EncodedTargets, targets, offset, is_begun: bool
    ) -> EncodedTargets:
        """Return the targets with the offset of their rows.

        A model that began with an offset needs one in every call.
        """
        if offset is None:
            if is_begun and self._has_offset:
                raise ValueError(missing_offset(self))
            if self._has_offset:
                self._has_offset = False
            return encoded
        refuse_offset(targets)
        self._has_offset = True
        return encoded._replace(offset=validate_offset(offset, len(encoded.columns)))

    def _row_spans(
        self, y, n_rows: int, is_begun: bool, classes=None, task=None
    ) -> list[tuple[int, int]]:
        """Return the spans into which the rows of a chunk are split."""
        return [(0, n_rows)]

    def _prepare_state(
        self, model, targets, n_features: int, is_begun: bool, is_fit: bool = False
    ) -> None:
        """Make a new state, or update the present one to the parameters, columns and outputs."""
        if not is_begun:
            for name in PATH_ATTRIBUTES:
                self.__dict__.pop(name, None)
            state = self._new_state(model, targets, n_features, is_fit)
        else:
            state, old_targets = self._solver_state, self._targets
            if isinstance(state, MeanState):
                raise ValueError(MEAN_IS_FINAL.format(name=type(self).__name__))
            if not _has_same_classes(targets, old_targets):
                state = state.regrouped(*old_targets.class_mapping(targets))
            state = self._updated_state(state, model, targets, n_features, is_fit)
        # In one step, so that no thread sees the new classes with the old state.
        self.__dict__.update(_targets=targets, _solver_state=state)

    def _resume(self, n_features: int):
        """Validate the parameters, update the state to them and to `n_features` columns, return the
        model.

        It serves a stream that continues.
        """
        self._validate_params()
        model = self._model()
        self._prepare_state(model, self._targets, n_features, True)
        return model

    # ------------------------------------------------------------------ what a family has
    def _model(self) -> Any:
        """Return the model: for first-order models loss, penalty, optimizer and learning rate, with
        marks for automatic constants.

        This is the only hook of an estimator.
        """
        raise NotImplementedError

    def _new_state(self, model, targets, n_features: int, is_fit: bool) -> Any:
        """Return a new state."""
        raise NotImplementedError

    def _updated_state(self, engine, model, targets, n_features: int, is_fit: bool) -> Any:
        """Return a state with the present model and columns."""
        raise NotImplementedError

    def _run_passes(
        self, rows: Csr, encoded: EncodedTargets, weights, passes: PassCallbacks
    ) -> None:
        """Run all passes of a fit."""
        raise NotImplementedError

    def _learn(self, model, rows: Csr, encoded: EncodedTargets, weights) -> None:
        """Learn the next rows of a stream, in their order."""
        raise NotImplementedError

    def _check_progress(self, steps: float) -> None:
        """Check the state after rows of a stream; `steps` is the number of steps before them."""

    def _threads(self) -> int:
        """Return the number of threads over the outputs."""
        return 1

    # ------------------------------------------------------------------ warnings
    def _seed(self) -> int:
        state = self.random_state
        return _draw_seed_cached(int(state)) if isinstance(state, Integral) else _draw_seed(state)

    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: the loss became infinite or nan in pass {self.n_iter_}; the "
            "steps are too long for this data. "
            "Use eta='auto', a smaller eta, or scale the columns and the row weights."
        )

    def _warn_empty(self):
        names = [n for n in ("alpha", "gravity", "fading_threshold") if hasattr(self, n)]
        warn_user(
            f"{type(self).__name__} kept no feature: the penalty outweighs every gradient. "
            f"Lower {' or '.join(names)}, or pass {names[0]}='auto'.",
            UserWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        """Return the scores of all outputs."""
        state, rows = self._state_and_rows(X)
        return state.score(rows)

    def _state_and_rows(self, X) -> tuple[Any, Csr]:
        """Return the state and rows that fit it.

        Readers take the state once, since another thread can replace it.
        """
        check_is_fitted(self)
        rows = validate_matrix(self, X, reset=False, grow=self.grow, ordered=False)
        state = self._solver_state
        if not self.grow and rows.n_features != state.features:
            raise inconsistent_state_error(self)
        # Columns that are new to a growing model have weight 0.
        return state, rows.first_columns(
            state.features
        ) if rows.n_features > state.features else rows

    def _sparse_weights(self) -> SparseWeights:
        """Return the weights of the nonzero columns, without a pass over the others."""
        state = self._fitted_state("coef_")
        cells, values = state.nonzeros()
        columns, row = np.unique(cells // state.outputs, return_inverse=True)
        weights = np.zeros((len(columns), state.outputs))
        weights[row, cells % state.outputs] = values
        return SparseWeights(columns, weights, np.ravel(state.intercepts()))

    def __sklearn_is_fitted__(self):
        return "_solver_state" in vars(self)

    def _fitted_state(self, name):
        if "_solver_state" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._solver_state

    @property
    def coef_(self):
        """Weights of shape (outputs, n_features), after all pending penalties; sparse after
        `sparsify`.
        """
        state = self._fitted_state("coef_")
        if getattr(self, "_sparse", False):
            cells, weights = state.nonzeros()
            coordinates = (cells % state.outputs, cells // state.outputs)
            return sp.csr_matrix((weights, coordinates), shape=(state.outputs, state.features))
        return self._targets.shape_coef(state.weights())

    @property
    def intercept_(self):
        """Intercepts, one per output."""
        return self._fitted_state("intercept_").intercepts()

    @property
    def support_(self):
        """Indices of the selected features; for several outputs the union."""
        state = self._fitted_state("support_")
        return np.unique(state.nonzeros()[0] // state.outputs)

    @property
    def t_(self):
        """Number of steps: rows of weight above 0, over all passes."""
        return int(self._fitted_state("t_").steps)

    def sparsify(self):
        """Show `coef_` as a SciPy CSR matrix from now on; training may go on.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self._sparse = True
        return self

    def densify(self):
        """Show `coef_` as a NumPy array again.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self._sparse = False
        return self


@estimator(kw_only=True)
class PassesModel(OnlineLinearModel):
    """Base of the models that pass over the rows until the loss no longer falls.

    Their state also has ``learn(rows, encoded, weights, key, n_jobs, tell)``, ``count(columns)``,
    `weight` and `loss`.
    """

    tol: float | None = parameter(
        1e-3,
        [NON_NEGATIVE, None],
        "`fit` ends when the mean loss of a pass (with `early_stopping`, the held-out score) has "
        "not improved by `tol` times the loss of the first pass, minus the lowest that the targets "
        "allow, (by `tol`) for `n_iter_no_change` passes. None runs all passes.",
    )
    n_iter_no_change: int = parameter(
        3, [POSITIVE_INTEGER], "Passes without improvement before `fit` ends."
    )
    warm_start: bool = parameter(False, [BOOL], "Whether `fit` continues from the present state.")
    _contents: ClassVar[dict] = {"history_": records()}

    # ------------------------------------------------------------------ training
    def _prepare_state(
        self, model, targets, n_features: int, is_begun: bool, is_fit: bool = False
    ) -> None:
        if not is_begun:
            self.history_: list[dict] = []
        super()._prepare_state(model, targets, n_features, is_begun, is_fit)

    def _learn(self, model, rows: Csr, encoded: EncodedTargets, weights) -> None:
        self._solver_state.learn(rows, encoded, weights, n_jobs=self._threads())

    def _check_progress(self, steps: float) -> None:
        """Check the loss, and record the number of nonzero weights.

        Counting them is O(n_features), so it happens only when the number of steps has doubled.
        """
        if not math.isfinite(sum(map(sum, self._solver_state.costs.tolist()))):
            self._diverged()
        n_steps = self._solver_state.steps
        if int(n_steps).bit_length() > int(steps).bit_length():
            nonzeros = self._solver_state.count()
            self.history_.append(self._record(self._solver_state, nonzeros))
            if not nonzeros and n_steps >= 1024:
                self._warn_empty()

    def _run_passes(self, rows, encoded: EncodedTargets, weights, passes) -> None:
        """Run passes until the loss (or the held-out score) no longer improves."""
        seed, threads = self._seed(), self._threads()
        monitor = LossMonitor(self.tol, self.n_iter_no_change)
        display = self.verbose if self.verbose == "auto" else bool(self.verbose)
        total = rows.n_rows * self.max_iter
        with (
            Progress(type(self).__name__, total, display) as progress,
            self._pack_columns(rows, passes) as (state, rows, present_columns),
        ):
            held_out, weights = self._hold_out(rows, encoded, weights, seed)
            for pass_number in range(1, self.max_iter + 1):
                self.n_iter_, start = pass_number, _total_loss_and_weight(state)
                passes.begin()
                key = _shuffle_key(seed, pass_number) if self.shuffle else 0
                state.learn(
                    rows,
                    encoded,
                    weights,
                    key,
                    threads,
                    lambda n: progress.advance(n, f"pass {self.n_iter_}"),
                )
                record = self._record(state, state.count(present_columns), start)
                if held_out is not None:
                    X, held_out_columns, held_out_weights, offset = held_out
                    means = self._means(state.score(X) + offset)
                    record["validation_score"] = self._targets.score(
                        means, held_out_columns, held_out_weights
                    )
                self.history_.append(record)
                if not np.isfinite(record["loss"]):
                    self._diverged()
                if pass_number == 1 and held_out is None and self.tol is not None:
                    min_loss = self._min_loss(encoded.columns, weights)
                    monitor.tol = self.tol * (record["loss"] - min_loss)
                is_converged = monitor.update(
                    record["loss"] if held_out is None else -record["validation_score"]
                )
                if passes.end_pass() or is_converged:
                    break
            else:
                if self.tol is not None and self.max_iter > 1:
                    self._warn_unfinished(record)
        passes.end()
        if not record["nonzeros"]:
            self._warn_empty()

    @contextmanager
    def _pack_columns(self, rows: Csr, passes):
        """Yield the state and rows for the passes, and the columns that can get weights (None:
        all).

        If there are more columns than nonzeros, no pass may read all columns. The passes then use a
        state of the columns that occur, and its cells are copied back at the end. With callbacks,
        which read the model after each pass, the state stays whole.
        """
        state = self._solver_state
        if rows.n_features <= len(rows.indices) or state.steps:
            yield state, rows, None
            return
        columns, packed_rows = rows.packed_columns()
        if passes.is_active or not state.can_pack_columns:
            yield state, rows, columns
            return
        packed = state.packed(columns)
        try:
            yield packed, packed_rows, None
        finally:
            state.copy_columns_from(packed, columns)

    def _hold_out(self, rows, encoded, weights, seed):
        """Return held-out rows (or None), and the weights of the other rows.

        Held-out rows are a tuple: rows, target columns, weights and offset.
        """
        return None, weights

    # ------------------------------------------------------------------ records and warnings
    def _record(self, state, nonzeros: int, start=(0.0, 0.0)) -> dict:
        """Return the record of a pass: loss of each row before it was learnt, nonzero weights."""
        total_loss, total_weight = _total_loss_and_weight(state)
        mean = (total_loss - start[0]) / max(total_weight - start[1], np.finfo(float).tiny)
        return {
            "pass": getattr(self, "n_iter_", 1),
            "rows": int(state.steps),
            "loss": float(mean / self._targets.outputs),
            "nonzeros": int(nonzeros),
        }

    def _warn_unfinished(self, record):
        change = abs(self.history_[-2]["loss"] - record["loss"])
        warn_user(
            f"{type(self).__name__} used all {self.max_iter} passes while its loss still changed "
            f"by {change:.2g} a pass (now {record['loss']:.4g}). "
            "Raise max_iter or tol, or pass tol=None to run exactly max_iter passes.",
            ConvergenceWarning,
        )


@estimator(kw_only=True)
class GrowingModel(PassesModel):
    """Online models with optional sign constraints that can accept new columns and classes."""

    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    grow: bool = parameter(
        False,
        [BOOL],
        "Whether `partial_fit` accepts new columns (at the right) and new classes in a stream.",
    )


@estimator(kw_only=True)
class EarlyStoppingModel(PassesModel):
    """Online models that can stop by the score of held-out rows."""

    early_stopping: bool = parameter(
        False, [BOOL], "Whether to hold out rows and to stop by their score."
    )
    validation_fraction: float = parameter(
        0.1, [OPEN_UNIT_INTERVAL], "Fraction of rows held out with `early_stopping`."
    )

    def _hold_out(self, rows, encoded, weights, seed):
        if not self.early_stopping:
            return None, weights
        present = np.flatnonzero(weights) if len(weights) else np.arange(rows.n_rows)
        strata = self._targets.strata(encoded.columns[present])
        _, held_out = hold_out(
            present, self.validation_fraction, strata=strata, random_state=seed % 2**32
        )
        held_out.sort()
        weights = np.ones(rows.n_rows) if not len(weights) else weights.copy()
        held_out_weights = weights[held_out].copy()
        weights[held_out] = 0.0
        offset = encoded.offset[held_out, None] if len(encoded.offset) else 0.0
        return (
            rows.select_rows(held_out),
            encoded.columns[held_out],
            held_out_weights,
            offset,
        ), readonly_view(weights)


def _total_loss_and_weight(state) -> tuple[float, float]:
    """Return the summed loss and weight of all rows so far."""
    return state.loss, state.weight


def _shuffle_key(seed: int, pass_number: int) -> int:
    """Return the key of the shuffle of a pass, never 0."""
    mixed = np.random.SeedSequence([seed, pass_number]).generate_state(1, np.uint64)[0]
    return int(mixed) | 1


def _draw_seed(state) -> int:
    """Return a seed from the user's `random_state`."""
    return int(check_random_state(state).randint(2**31 - 1))


# For integers: making a generator takes longer than learning some rows.
_draw_seed_cached = lru_cache(maxsize=256)(_draw_seed)


def encoder_of(model) -> OnlineLinearModel | None:
    """Return a copy of a model without its solver state, whose `_encode` makes rows for
    `_learn_encoded`.

    Return None where rows must go through `partial_fit`: for other estimators, for subclasses that
    override `partial_fit`, and for models that accept new classes.
    """
    if not isinstance(model, OnlineLinearModel) or model.grow:
        return None
    kind = type(model)
    is_ours = kind.partial_fit.__module__.startswith("tamis.")
    if not is_ours or kind._partial_fit is not OnlineLinearModel._partial_fit:
        return None
    encoder: Any = copy(model)
    for name in PATH_ATTRIBUTES:
        encoder.__dict__.pop(name, None)
    if hasattr(encoder, "_solver_state"):
        encoder._solver_state = None  # columns and classes stay known
    return encoder


def _has_same_outputs(targets, other) -> bool:
    """Return whether columns of encoded targets have the same meaning for both."""
    if targets.outputs != other.outputs or not isinstance(targets, ClassTargets):
        return targets.outputs == other.outputs
    return targets.labels == other.labels and np.array_equal(targets.classes, other.classes)


def _has_same_classes(targets, previous) -> bool:
    """Return whether the targets have no new class."""
    return getattr(targets, "classes", None) is getattr(previous, "classes", None)
