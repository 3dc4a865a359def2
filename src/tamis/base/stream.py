"""What every online linear model shares: passes, streams, and the attributes that show a fit."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, note_columns, take_matrix, take_weights, warn_user
from tamis.base.contents import count, flag, optional, records
from tamis.base.estimator import Estimator
from tamis.base.machine.progress import Progress
from tamis.base.parameters import (
    AUTO,
    BOOL,
    COUNT,
    FRACTION,
    NUMBER,
    RANDOM,
    Auto,
    Seed,
    at_least,
    estimator,
    parameter,
)
from tamis.base.passes import CallbackSupportMixin, Passes, Patience, with_callbacks
from tamis.base.rows import Csr, frozen
from tamis.base.targets import Coded, class_spans


@estimator(kw_only=True)
class Stream(CallbackSupportMixin, Estimator):
    """Base of the online linear models.

    A family adds `_begun`, a new engine, and `_renewed`, an engine with today's parameters. An
    engine has ``learn(rows, coded, weights, key, n_jobs, tell)``, ``score(rows)``, `weights()`,
    `intercepts()`, `nonzeros()`, `count()`, `outputs`, `features`, `steps`, `weight` and `costs`.
    """

    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    max_iter: int = parameter(100, [COUNT], "Most passes over the data in `fit`.")
    tol: float | None = parameter(
        1e-3,
        [NUMBER, None],
        "`fit` ends when the mean loss of a pass (with `early_stopping`, the held-out score) has "
        "not improved by `tol` times the first pass's loss (by `tol`) for `n_iter_no_change` "
        "passes. None runs all passes.",
    )
    n_iter_no_change: int = parameter(3, [COUNT], "Passes without improvement before `fit` ends.")
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether `fit` walks the rows in a new order each pass. `partial_fit` never shuffles.",
    )
    warm_start: bool = parameter(False, [BOOL], "Whether `fit` goes on from the present state.")
    random_state: Seed = parameter(
        None, [RANDOM], "Seed of the shuffles, and of a held-out part where there is one."
    )
    verbose: bool | int | Auto = parameter(
        "auto",
        [BOOL, AUTO, at_least(0)],
        'Progress bar of `fit`: "auto" shows it on a terminal after three seconds.',
        'bool or "auto"',
    )
    _contents: ClassVar[dict] = {
        "history_": records(),
        "n_iter_": count(),
        "_sparse": optional(flag()),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights, every debt paid; zeros are exact. Made on demand; a regressor with one target
            has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the kept features.
        n_iter_ : int
            Passes made.
        t_ : int
            Steps made.
        history_ : list of dict
            Per pass: rows seen, mean loss of each row before it was learnt, nonzero weights. In a
            stream, whenever its length doubles.
        resolved_params_ : dict
            The automatic constants as they stand.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""
    _walks_rows = True  # one by one, so that a row of weight 2 is not a row that comes twice

    # ------------------------------------------------------------------ training
    @with_callbacks
    def _fit(self, X, y, sample_weight, **beside):
        """Check, prepare, run all passes, store."""
        self._validate_params()
        again, grow = self.warm_start and hasattr(self, "_engine"), self._may_grow()
        options = self._options_of(whole=True)
        rows = take_matrix(self, X, reset=not again, grow=grow)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        known = self._targets if again else None
        targets, coded = self._code(y, rows.n_rows, known=known, grow=grow, **beside)
        targets, weights = self._weigh(targets, coded.columns, weights, grow=grow)
        self._prepare(options, targets, rows, again)
        note_columns(self, X, rows.n_features)
        self._run(rows, coded, weights, Passes(self, X, y, sample_weight))
        return self

    def _partial_fit(self, X, y, sample_weight, **beside):
        """Check, prepare, walk the rows once in their order, store."""
        self._validate_params()
        again, grow = hasattr(self, "_engine"), self._may_grow()
        options = self._options_of(whole=False)
        rows = take_matrix(self, X, reset=not again, grow=grow, chunk=True)
        weights = take_weights(sample_weight, rows.n_rows)
        before = self._engine.steps if again else 0.0
        for start, stop in self._spans(y, rows.n_rows, again, **beside):
            part = rows.cut(start, stop)
            targets, coded = self._code_part(y, start, stop, rows.n_rows, again, **beside)
            targets, loads = self._weigh(
                targets, coded.columns, weights[start:stop], whole=False, grow=grow
            )
            self._prepare(options, targets, part, again)
            again = True
            self._engine.learn(part, coded, loads, n_jobs=self._threads())
        note_columns(self, X, rows.n_features)
        engine = self._engine
        after, self.n_iter_ = engine.steps, 1
        if not np.isfinite(self._charged()[0]):
            self._diverged()
        # Looking at all weights costs O(columns): only as often as the stream doubles.
        if int(after).bit_length() > int(before).bit_length():
            nonzeros = engine.count()
            self.history_.append(self._record(nonzeros))
            if not nonzeros and after >= 1024:
                self._warn_empty()
        return self

    def _spans(self, y, n_rows: int, again: bool, **beside) -> list[tuple[int, int]]:
        """Parts of a chunk that are learnt one after another."""
        return [(0, n_rows)]

    def _code_part(self, y, start: int, stop: int, n_rows: int, again: bool, **beside):
        """Targets of some rows of a chunk."""
        part = y if (start, stop) == (0, n_rows) else np.asarray(y)[start:stop]
        known = {"known": self._targets if again else None, "grow": self._may_grow()}
        given = self._beside_part(start, stop, **beside)
        return self._code(part, stop - start, whole=False, **known, **given)

    def _beside_part(self, start: int, stop: int, **beside) -> dict:
        """What stands beside some rows' targets: all for the first rows, nothing for later ones."""
        return {} if start else beside

    def _prepare(self, options, targets, rows: Csr, again: bool) -> None:
        """A new engine, or the present one with today's parameters, columns and outputs."""
        if not again:
            self.history_: list[dict] = []
            self._targets, self._engine = targets, self._begun(options, targets, rows.n_features)
            return
        engine, old = self._engine, self._targets
        if targets.outputs != old.outputs or not _same_classes(targets, old):
            engine = engine.regrouped(*old.moves(targets))
        engine = self._renewed(engine, options, targets, rows.n_features)
        # In a single step: no thread sees the new classes with the old engine.
        vars(self).update(_targets=targets, _engine=engine)

    def _run(self, rows, coded: Coded, weights, passes) -> None:
        """All passes of a fit, until the loss (or the held-out score) no longer improves."""
        engine, seed, threads = self._engine, self._seed(), self._threads()
        held, weights = self._hold_out(rows, coded, weights, seed)
        patience = Patience(self.tol, self.n_iter_no_change)
        shown = self.verbose if self.verbose == "auto" else bool(self.verbose)
        with Progress(type(self).__name__, rows.n_rows * self.max_iter, shown) as progress:
            for turn in range(1, self.max_iter + 1):
                self.n_iter_, before = turn, self._charged()
                passes.begin()
                key = _key(seed, turn) if self.shuffle else 0
                engine.learn(
                    rows,
                    coded,
                    weights,
                    key,
                    threads,
                    lambda n: progress.advance(n, f"pass {self.n_iter_}"),
                )
                record = self._record(engine.count(), before)
                if held is not None:
                    record["validation_score"] = self._targets.score(
                        engine.score(held[0]), *held[1:]
                    )
                self.history_.append(record)
                if not np.isfinite(record["loss"]):
                    self._diverged()
                if turn == 1 and held is None and self.tol is not None:
                    patience.slack = self.tol * record["loss"]
                ended = patience.ended(
                    record["loss"] if held is None else -record["validation_score"]
                )
                if passes.stopped() or ended:
                    break
            else:
                if self.tol is not None and self.max_iter > 1:
                    self._warn_unfinished(record)
        passes.end()
        if not record["nonzeros"]:
            self._warn_empty()

    # ------------------------------------------------------------------ what a family may offer
    def _options(self):
        """Terms and flags that an engine takes, from the parameters."""
        raise NotImplementedError

    def _options_of(self, whole: bool):
        """Options of a fit (`whole`) or of a stream, where they differ."""
        return self._options()

    def _may_grow(self) -> bool:
        """Whether columns and classes may come in mid-stream."""
        return False

    def _threads(self) -> int:
        """Threads over the outputs."""
        return 1

    def _hold_out(self, rows, coded, weights, seed):
        """Rows kept for early stopping, their columns and weights, or None; and the weights of
        the others.
        """
        return None, weights

    # ------------------------------------------------------------------ records and warnings
    def _charged(self):
        return self._engine.costs.sum(), self._engine.weight

    def _record(self, nonzeros: int, before=(0.0, 0.0)) -> dict:
        """What happened since `before`: mean loss of each row before it was learnt, and what is
        kept.
        """
        cost, weight = self._charged()
        mean = (cost - before[0]) / max(weight - before[1], np.finfo(float).tiny)
        return {
            "pass": getattr(self, "n_iter_", 1),
            "rows": int(self._engine.steps),
            "loss": float(mean / self._targets.outputs),
            "nonzeros": int(nonzeros),
        }

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: the loss became infinite or nan in pass {self.n_iter_}; the "
            "steps are too long for this data. "
            "Use eta='auto', a smaller eta, or scale the columns and the row weights."
        )

    def _warn_empty(self):
        warn_user(
            f"{type(self).__name__} kept no feature: the penalty outweighs every gradient. "
            f"{self._advice()}",
            UserWarning,
        )

    def _advice(self) -> str:
        return "Lower alpha, or pass alpha='auto'."

    def _warn_unfinished(self, record):
        change = abs(self.history_[-2]["loss"] - record["loss"])
        warn_user(
            f"{type(self).__name__} used all {self.max_iter} passes while its loss still changed "
            f"by {change:.2g} a pass (now {record['loss']:.4g}). "
            "Raise max_iter or tol, or pass tol=None to run exactly max_iter passes.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        """Scores of all outputs."""
        engine, rows = self._asked(X)
        return engine.score(rows)

    def _asked(self, X) -> tuple[Any, Csr]:
        """The engine as it stands, and rows that fit it: whoever looks takes the engine once, as
        another thread may put a new one in its place.
        """
        check_is_fitted(self)
        rows = take_matrix(self, X, reset=False, grow=self._may_grow())
        engine = self._engine
        if not self._may_grow() and rows.n_features != engine.features:
            raise half_fitted(self)
        # Columns that a growing model has not met weigh nothing.
        return engine, rows.narrowed(engine.features) if rows.n_features > engine.features else rows

    def __sklearn_is_fitted__(self):
        return "_engine" in vars(self)

    def _fitted(self, name):
        if "_engine" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._engine

    @property
    def coef_(self):
        """Weights, settled, of shape (outputs, n_features); made on demand, sparse after
        `sparsify`.
        """
        engine = self._fitted("coef_")
        if getattr(self, "_sparse", False):
            cells, weights = engine.nonzeros()
            at = (cells % engine.outputs, cells // engine.outputs)
            return sp.csr_matrix((weights, at), shape=(engine.outputs, engine.features))
        return self._targets.shaped(engine.weights())

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._fitted("intercept_").intercepts()

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        engine = self._fitted("support_")
        return np.unique(engine.nonzeros()[0] // engine.outputs)

    @property
    def t_(self):
        """Number of steps taken: rows of weight above 0, over all passes."""
        return int(self._fitted("t_").steps)

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
class Growing(Stream):
    """Streams whose weights may be held at 0 or above, and which may grow."""

    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    grow: bool = parameter(
        False,
        [BOOL],
        "Whether `partial_fit` accepts new columns (at the right) and new classes in mid-stream.",
    )

    def _may_grow(self) -> bool:
        return self.grow


@estimator(kw_only=True)
class HeldOut(Stream):
    """Streams that can end by the score of rows that are held out."""

    early_stopping: bool = parameter(
        False, [BOOL], "Whether to hold out rows and end by their score."
    )
    validation_fraction: float = parameter(
        0.1, [FRACTION], "Share of rows held out with `early_stopping`."
    )

    def _hold_out(self, rows, coded, weights, seed):
        if not self.early_stopping:
            return None, weights
        everything = np.arange(rows.n_rows)
        present = everything if not len(weights) else everything[weights > 0]
        strata = self._targets.strata(coded.columns[present])
        _, held = train_test_split(
            present, test_size=self.validation_fraction, random_state=seed % 2**32, stratify=strata
        )
        held.sort()
        weights = np.ones(rows.n_rows) if not len(weights) else weights.copy()
        marks = weights[held].copy()
        weights[held] = 0.0
        return (rows.picked(held), coded.columns[held], marks), frozen(weights)


# ---------------------------------------------------------------- streams of classes and numbers
class ClassStream:
    """Stands left of a classifier: it learns from a stream."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        classes : array-like, default=None
            All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, classes=classes)

    def _spans(self, y, n_rows: int, again: bool, classes=None, **beside):
        """Cut where a class is met for the first time."""
        if not self._may_grow():
            return [(0, n_rows)]
        known = self._targets.classes if again else [] if classes is None else classes
        return class_spans(y, n_rows, known, self.positive)


class NumberStream:
    """Stands left of a regressor: it learns from a stream."""

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight)


def _same_classes(targets, old) -> bool:
    """Whether targets have met no class since."""
    return getattr(targets, "classes", None) is getattr(old, "classes", None)


def _key(seed: int, turn: int) -> int:
    """Key of a pass's shuffle; never 0."""
    mixed = np.random.SeedSequence([seed, turn]).generate_state(1, np.uint64)[0]
    return int(mixed) | 1
