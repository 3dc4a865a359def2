"""What every linear model of a stream shares: checks, an engine that learns, and the attributes
that show a fit.
"""

from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.explaining import Weights
from tamis.base.estimators.mean import GO_ON, Mean
from tamis.base.estimators.passes import CallbackSupportMixin, Passes, with_callbacks
from tamis.base.parameters import (
    AUTO,
    BOOL,
    COUNT,
    RANDOM,
    Auto,
    Seed,
    at_least,
    estimator,
    parameter,
)
from tamis.base.validation import half_fitted, note_columns, take_matrix, take_weights, warn_user
from tamis.numerics.csr import Csr
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import count, flag, optional

PATHS = ("paths_", "selection_probability_")  # what a mean of several paths shows beside


@estimator(kw_only=True)
class LinearStream(CallbackSupportMixin, Estimator):
    """Base of the online linear models.

    A family adds `_options`, `_begun`, a new engine, `_renewed`, an engine with today's parameters,
    `_run`, all passes of a fit, and `_learn`, the next rows of a stream. An engine has
    ``score(rows)``, `weights()`, `intercepts()`, `nonzeros()`, `outputs`, `features` and `steps`.
    """

    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is never penalised."
    )
    max_iter: int = parameter(100, [COUNT], "Most passes over the data in `fit`.")
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether `fit` walks the rows in a new order each pass. `partial_fit` never shuffles.",
    )
    random_state: Seed = parameter(
        None, [RANDOM], "Seed of the shuffles, and of a held-out part where there is one."
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
    _ordered = False  # whether the loops read the columns of a row in ascending order
    _walks_rows = True  # one by one, so that a row of weight 2 is not a row that comes twice
    _lives = True  # whether `tamis.live` can serve it: a row is known by its numbers and its target

    # ------------------------------------------------------------------ training
    @with_callbacks
    def _fit(self, X, y, sample_weight, **beside):
        """Check, prepare, run all passes, store."""
        self._validate_params()
        again, grow = self._goes_on() and hasattr(self, "_engine"), self._may_grow()
        options = self._options_of(whole=True)
        rows = take_matrix(self, X, reset=not again, grow=grow, ordered=self._ordered)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        known = self._targets if again else None
        targets, coded = self._code(y, rows.n_rows, known=known, grow=grow, **beside)
        targets, weights = self._weigh(targets, coded.columns, weights, grow=grow)
        self._prepare(options, targets, rows.n_features, again)
        note_columns(self, X, rows.n_features)
        self._run(rows, coded, weights, Passes(self, X, y, sample_weight))
        return self

    def _partial_fit(self, X, y, sample_weight, **beside):
        """Check, prepare, walk the rows once in their order, store."""
        self._validate_params()
        again, grow = hasattr(self, "_engine"), self._may_grow()
        options = self._options_of(whole=False)
        given = {"grow": grow, "chunk": True, "ordered": self._ordered}
        rows = take_matrix(self, X, reset=not again, **given)
        weights = take_weights(sample_weight, rows.n_rows)
        before = self._engine.steps if again else 0.0
        for start, stop in self._spans(y, rows.n_rows, again, **beside):
            part = rows.cut(start, stop)
            targets, coded = self._code_part(y, start, stop, rows.n_rows, again, **beside)
            own = weights[start:stop]
            targets, own = self._weigh(targets, coded.columns, own, whole=False, grow=grow)
            self._prepare(options, targets, rows.n_features, again)
            again, self.n_iter_ = True, 1
            self._learn(options, part, coded, own)
        note_columns(self, X, rows.n_features)
        self._look(before)
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

    def _prepare(self, options, targets, n_features: int, again: bool) -> None:
        """A new engine, or the present one with today's parameters, columns and outputs."""
        if not again:
            for name in PATHS:
                self.__dict__.pop(name, None)
            self._targets, self._engine = targets, self._begun(options, targets, n_features)
            return
        engine, old = self._engine, self._targets
        if isinstance(engine, Mean):
            raise ValueError(GO_ON.format(name=type(self).__name__))
        if not _same_classes(targets, old):
            engine = engine.regrouped(*old.moves(targets))
        engine = self._renewed(engine, options, targets, n_features)
        # In a single step: no thread sees the new classes with the old engine.
        self.__dict__.update(_targets=targets, _engine=engine)

    def _opened(self, n_features: int):
        """Options of a stream that goes on: check the parameters, and give the engine those of
        today and so many columns.
        """
        self._validate_params()
        options = self._options_of(whole=False)
        self._prepare(options, self._targets, n_features, True)
        return options

    # ------------------------------------------------------------------ what a family may offer
    def _options(self):
        """Terms and flags that an engine takes, from the parameters."""
        raise NotImplementedError

    def _options_of(self, whole: bool):
        """Options of a fit (`whole`) or of a stream, where they differ."""
        return self._options()

    def _run(self, rows: Csr, coded: EncodedTargets, weights, passes: Passes) -> None:
        """All passes of a fit."""
        raise NotImplementedError

    def _learn(self, options, rows: Csr, coded: EncodedTargets, weights) -> None:
        """The next rows of a stream, in their order."""
        raise NotImplementedError

    def _look(self, before: float) -> None:
        """Look at what rows of a stream have done, before which there were so many steps."""

    def _goes_on(self) -> bool:
        """Whether `fit` goes on from the present state."""
        return False

    def _may_grow(self) -> bool:
        """Whether columns and classes may come in mid-stream."""
        return False

    def _threads(self) -> int:
        """Threads over the outputs."""
        return 1

    # ------------------------------------------------------------------ warnings
    def _seed(self) -> int:
        state = self.random_state
        return _drawn(int(state)) if isinstance(state, Integral) else _draw(state)

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
        rows = take_matrix(self, X, reset=False, grow=self._may_grow(), ordered=False)
        engine = self._engine
        if not self._may_grow() and rows.n_features != engine.features:
            raise half_fitted(self)
        # Columns that a growing model has not met weigh nothing.
        return engine, rows.narrowed(engine.features) if rows.n_features > engine.features else rows

    def _kept_weights(self) -> Weights:
        """The weights of the kept columns, without a look at the others."""
        engine = self._fitted("coef_")
        cells, found = engine.nonzeros()
        columns, at = np.unique(cells // engine.outputs, return_inverse=True)
        weights = np.zeros((len(columns), engine.outputs))
        weights[at, cells % engine.outputs] = found
        return Weights(columns, weights, np.ravel(engine.intercepts()))

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


def _draw(state) -> int:
    """A seed from what a user gave as one."""
    return int(check_random_state(state).randint(2**31 - 1))


_drawn = lru_cache(maxsize=256)(_draw)  # a generator takes longer to make than rows to learn


def _same_classes(targets, old) -> bool:
    """Whether targets have met no class since."""
    return getattr(targets, "classes", None) is getattr(old, "classes", None)
