"""What every online linear model shares: passes, streams, and the attributes that show a fit."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, note_columns, take_matrix, take_weights, warn_user
from tamis.base.contents import count, flag, optional, part, records
from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.passes import CallbackSupportMixin, Passes, Patience, with_callbacks
from tamis.base.machine.progress import Progress
from tamis.base.machine.threads import count_threads
from tamis.base.rows import Csr, frozen
from tamis.solvers.first_order.state import Engine

SHARED = {
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "average": ["boolean"],
    "positive": ["boolean"],
    "grow": ["boolean"],
    "warm_start": ["boolean"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["boolean", StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
}


class OnlineLinear(CallbackSupportMixin, Estimator):
    """Base of the online linear models; a recipe adds its parameters and `_terms`."""

    _parameter_constraints: dict = SHARED
    _contents: ClassVar[dict] = {
        "_engine": part(Engine, "columns", "outputs"),
        "history_": records(),
        "n_iter_": count(),
        "_sparse": optional(flag()),
    }
    _walks_rows = True  # one by one, so that a row of weight 2 is not a row that comes twice
    _class_weighted = True  # whether classifiers take `class_weight`
    _family_doc: tuple[str, str] | None = (
        None  # words for the shared parameters and attributes, where a family has its own
    )

    def __init__(
        self,
        *,
        fit_intercept=True,
        max_iter=100,
        tol=1e-3,
        n_iter_no_change=3,
        shuffle=True,
        early_stopping=False,
        validation_fraction=0.1,
        average=False,
        positive=False,
        grow=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose="auto",
    ):
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.average = average
        self.positive = positive
        self.grow = grow
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ training
    @with_callbacks
    def _fit(self, X, y, sample_weight):
        """Check, prepare, run all passes, store."""
        self._validate_params()
        again = self.warm_start and hasattr(self, "_engine")
        terms, flags = self._terms()
        rows = take_matrix(self, X, reset=not again, grow=self.grow)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        targets = self._take_targets(y, rows.n_rows, first=not again, whole=True)
        weights = self._weigh(targets, weights, whole=True)
        self._prepare(terms, flags, rows, again)
        note_columns(self, X, rows.n_features)
        self._run(rows, targets, weights, Passes(self, X, y, sample_weight))
        return self

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Check, prepare, walk the rows once in their order, store."""
        self._validate_params()
        again = hasattr(self, "_engine")
        terms, flags = self._terms()
        rows = take_matrix(self, X, reset=not again, grow=self.grow, chunk=True)
        weights = take_weights(sample_weight, rows.n_rows)
        known = classes.get("classes") if not again else getattr(self, "classes_", None)
        before = self._engine.steps if again else 0.0
        for start, stop in self._spans(y, rows.n_rows, [] if known is None else known):
            part = rows.cut(start, stop)
            targets = self._take_targets(
                _cut(y, start, stop, rows.n_rows),
                part.n_rows,
                first=not again,
                whole=False,
                **classes,
            )
            loads = self._weigh(targets, weights[start:stop], whole=False)
            self._prepare(terms, flags, part, again)
            again, classes = True, {}
            self._engine.learn(part, targets, loads, n_jobs=count_threads(self.n_jobs))
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

    def _prepare(self, terms, flags, rows: Csr, again: bool) -> None:
        """A new engine, or the present one with today's parameters and columns."""
        outputs = self._outputs()
        if not again:
            self.history_: list[dict] = []
            self._engine = Engine(terms, flags, rows.n_features, outputs)
            return
        if terms[2].columns() != self._engine.terms[2].columns():
            raise ValueError(
                f"{type(self).__name__}: `rule`, `theta` or `average` changed since the model was "
                "fitted; call fit with warm_start=False."
            )
        self._engine.terms, self._engine.flags = terms, flags
        if rows.n_features > self._engine.features:
            self._engine = self._engine.grown(rows.n_features)

    def _run(self, rows, targets, weights, passes) -> None:
        """All passes of a fit, until the loss (or the held-out score) no longer improves."""
        engine, seed, threads = self._engine, self._seed(), count_threads(self.n_jobs)
        held, weights = self._hold_out(rows, targets, weights, seed)
        patience = Patience(self.tol, self.n_iter_no_change)
        shown = self.verbose if self.verbose == "auto" else bool(self.verbose)
        with Progress(type(self).__name__, rows.n_rows * self.max_iter, shown) as progress:
            for turn in range(1, self.max_iter + 1):
                self.n_iter_, before = turn, self._charged()
                passes.begin()
                key = _key(seed, turn) if self.shuffle else 0
                engine.learn(
                    rows,
                    targets,
                    weights,
                    key,
                    threads,
                    lambda n: progress.advance(n, f"pass {self.n_iter_}"),
                )
                record = self._record(engine.count(), before)
                if held is not None:
                    record["validation_score"] = self._judge(*held)
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

    def _hold_out(self, rows, targets, weights, seed):
        """Rows kept for early stopping (their weight becomes 0), or None."""
        if not self.early_stopping:
            return None, weights
        everything = np.arange(rows.n_rows)
        present = everything if not len(weights) else everything[weights > 0]
        labels = self._strata(targets[present])
        _, held = train_test_split(
            present, test_size=self.validation_fraction, random_state=seed % 2**32, stratify=labels
        )
        held.sort()
        weights = np.ones(rows.n_rows) if not len(weights) else weights.copy()
        marks = weights[held].copy()
        weights[held] = 0.0
        return (rows.picked(held), targets[held], marks), frozen(weights)

    def _charged(self):
        return self._engine.costs.sum(), self._engine.weight

    def _record(self, nonzeros: int, before=(0.0, 0.0)) -> dict:
        """What happened since `before`: mean loss of each row before it was learnt, and what is
        kept.
        """
        cost, weight = self._charged()
        mean = (cost - before[0]) / max(weight - before[1], np.finfo(float).tiny) / self._outputs()
        return {
            "pass": getattr(self, "n_iter_", 1),
            "rows": int(self._engine.steps),
            "loss": float(mean),
            "nonzeros": int(nonzeros),
        }

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # ------------------------------------------------------------------ warnings
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

    def _asked(self, X) -> tuple[Engine, Csr]:
        """The engine as it stands, and rows that fit it: whoever looks takes the engine once, as
        another thread may put a new one in its place.
        """
        check_is_fitted(self)
        rows = take_matrix(self, X, reset=False, grow=self.grow)
        engine = self._engine
        if not self.grow and rows.n_features != engine.features:
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
        return self._shape_coef(engine.weights())

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._shape_intercept(self._fitted("intercept_").intercepts())

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        engine = self._fitted("support_")
        return np.unique(engine.nonzeros()[0] // engine.outputs)

    @property
    def resolved_params_(self):
        """The automatic constants as they stand after the rows seen so far."""
        engine = self._fitted("resolved_params_")
        (_, penalty, rule, step), (_, auto_eta, auto_alpha) = engine.terms, engine.flags
        t, (norm, slope, _) = max(engine.ledger[0], 1.0), engine.stats
        eta = step.size(t, 1.0, norm * norm) * (
            rule.unit(norm, slope) if auto_eta and norm else 1.0
        )
        l1, l2 = penalty.rates()
        lift = (slope * norm, norm * norm) if auto_alpha else (1.0, 1.0)
        return self._name_constants(eta, l1 * lift[0], l2 * lift[1])

    def _flags(self, auto_eta: bool, auto_alpha: bool) -> tuple[float, float, float]:
        return float(self.fit_intercept), float(auto_eta), float(auto_alpha)

    def _name_constants(self, eta, l1, l2):
        return {"eta": float(eta), "l1": float(l1), "l2": float(l2)}

    def _advice(self):
        return "Lower alpha, or pass alpha='auto'."

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _cut(y, start, stop, n_rows):
    """Some of the targets; all of them as they are."""
    return y if (start, stop) == (0, n_rows) else np.asarray(y)[start:stop]


def _key(seed: int, turn: int) -> int:
    """Key of a pass's shuffle; never 0."""
    mixed = np.random.SeedSequence([seed, turn]).generate_state(1, np.uint64)[0]
    return int(mixed) | 1
