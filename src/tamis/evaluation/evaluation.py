"""Rows that a model is judged by, predicted once: what sentences, checks and figures stand on."""

import functools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from tamis.base.estimators.column_names import names_of
from tamis.base.fast_checks import by_reading, check_kind, check_sparse, dense
from tamis.base.scores import (
    Baseline,
    baseline_prediction,
    default_scoring,
    row_losses,
    update_baseline,
)
from tamis.evaluation.columns import TWIN, moments_of, substitutes, twins_of
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.selection.supports import kept_by

MOST_ROWS = 20_000  # that figures of columns are taken from
MOST_CLASSES = 20  # that are looked at one by one
MOST_COLUMNS = 1 << 22  # wider rows are judged, but their columns are not looked at


@dataclass
class Evidence:
    """A fitted model, rows that it has not seen, and, where they are known, those it has learnt
    from; without rows the model's own word about its error, where it has one.
    """

    model: Any
    X: Any = None
    y: Any = None
    names: Any = None
    X_train: Any = None
    y_train: Any = None
    discoveries: Any = None  # whether to look for them, or a selector that has

    def __post_init__(self):
        if (self.X is None) != (self.y is None):
            raise ValueError(
                "A report needs rows and their targets, both or neither. Got X without y or y "
                "without X."
            )
        if not hasattr(self.model, "n_features_in_"):
            raise ValueError(
                f"{type(self.model).__name__} is not fitted yet. Call fit before asking for a "
                "report."
            )
        self.X, self.X_train = (
            None if X is None else by_reading(self.model, X) for X in (self.X, self.X_train)
        )
        if self.y is not None:
            self.y = np.asarray(dense(self.y))
            self.y = as_classes(self.y, getattr(self.model, "classes_", None))
            rows = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
            if rows != len(self.y) or not rows:
                raise ValueError(
                    f"X has {rows} rows and y {len(self.y)} targets. Give one target a row, and at "
                    "least one row."
                )
            classes = getattr(self.model, "classes_", None)
            if self.y.ndim == 1 and isinstance(classes, np.ndarray) and classes.ndim == 1:
                check_kind(self.y, classes)
            if self.y.dtype.kind == "f" and np.isnan(self.y).any():
                raise ValueError(
                    f"y has {int(np.isnan(self.y).sum())} gaps (nan). Judge by rows that have a "
                    "target."
                )
        if self.names is None:
            self.names = getattr(self.model, "feature_names_in_", None)

    @classmethod
    def streamed(cls, model: Any, chunks: Iterable[tuple[Any, Any]], names: Any = None):
        """Evidence of rows that come in chunks of X and y: all are judged, and the columns of the
        first ones are looked at.
        """
        first, parts, held = [], dict[str, list](), 0
        for X, y in chunks:
            one = cls(model, X, y)
            for what in ("y", "guess", "chances", "score"):
                found = getattr(one, what)
                if found is not None:
                    parts.setdefault(what, []).append(found)
            if held < MOST_ROWS:
                first.append(of_width(X[: MOST_ROWS - held], int(model.n_features_in_)))
                held += first[-1].shape[0]
        if not held:
            return cls(model, names=names)
        whole = {what: np.concatenate(found) for what, found in parts.items()}
        rows = sp.csr_array(sp.vstack(first))
        evidence = cls(model, names=names)
        evidence.y = whole.pop("y")
        # What is worked out from X elsewhere is known here.
        evidence.guess = whole["guess"]
        evidence.chances, evidence.score = whole.get("chances"), whole.get("score")
        evidence.rows = rows if evidence.width <= MOST_COLUMNS else None
        evidence.drawn = np.arange(rows.shape[0])
        return evidence

    # ------------------------------------------------------------------ the model
    @property
    def classes(self) -> bool:
        """Whether the targets are classes or labels."""
        return bool(is_classifier(self.model))

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.model.n_features_in_)

    @functools.cached_property
    def kept(self) -> Any:
        """Columns that the model kept; None where it does not say."""
        try:
            return np.asarray(kept_by(self.model)[0])
        except TypeError:
            return None

    def name(self, column: Any) -> str:
        """A column's name, or its number."""
        if self.names is not None:
            return str(self.names[column])
        if vars(self.model).get("reading_"):  # it was trained from a file
            return names_of(self.model, [column])[0]
        return f"column {column}"

    @functools.cached_property
    def importance(self) -> np.ndarray:
        """Weight times spread of the kept columns, the highest over outputs; the spread is that of
        the rows, and 1 where there are none.
        """
        coef: Any = getattr(self.model, "coef_", None)
        if coef is None or self.kept is None or coef.shape[-1] != self.width:
            return np.ones(0 if self.kept is None else len(self.kept))
        coef = coef.tocsc() if sp.issparse(coef) else np.atleast_2d(coef)
        weights: Any = coef[:, self.kept]
        weights = np.abs(weights.toarray() if sp.issparse(weights) else weights).max(axis=0)
        return weights * (self.moments[1][self.kept] if self.moments is not None else 1.0)

    @functools.cached_property
    def substitutes(self) -> dict[int, list[tuple[int, float]]]:
        """For kept columns the others that could stand for them, with their correlations."""
        if self.kept is None:
            return {}
        if self.grouped:
            return twins_of(self.claims, self.ranked)
        if self.rows is None or self.moments is None:
            return {}
        return substitutes(self.rows, self.ranked, *self.moments[:2])

    @property
    def grouped(self) -> bool:
        """Whether a selector has told the near copies of what was kept among its groups."""
        bar = None if self.claims is None else self.claims.substitutes
        return bar is not None and bar <= TWIN

    @functools.cached_property
    def claims(self) -> Any:
        """A selector that has tested the kept columns, where it was asked for: on the rows learnt
        from, if they are known, else on those given.
        """
        if not isinstance(self.discoveries, bool) or self.kept is None:
            return self.discoveries
        X, y = (self.X, self.y) if self.y_train is None else (self.X_train, self.y_train)
        if not self.discoveries or X is None:
            return None
        selector = FDRSelector(targets="classes" if self.classes else "numbers")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is too rare stands in the table
            return selector.fit(X, y, also=self.kept)

    def claim(self, column: int) -> tuple[float, int]:
        """The q-value of a column, the smallest over outputs, and the head of its group: the claim
        is about them both.
        """
        claims = self.claims
        heads, qvalues = np.atleast_2d(claims.head_), np.atleast_2d(claims.qvalues_)
        own = enumerate(heads[:, column].tolist())
        found = [(float(qvalues[c, head]), head) for c, head in own if head >= 0]
        return min(found, default=(1.0, int(column)))

    @functools.cached_property
    def ranked(self) -> np.ndarray:
        """Kept columns, the most important first."""
        kept = np.zeros(0, int) if self.kept is None else self.kept
        return kept[np.argsort(-self.importance, kind="stable")]

    # ------------------------------------------------------------------ the rows
    @functools.cached_property
    def guess(self) -> Any:
        """What the model predicts."""
        if self.y is None:
            return None
        found = self.model.predict(self.X)
        return found.toarray() if sp.issparse(found) else np.asarray(found)

    @functools.cached_property
    def chances(self) -> Any:
        """Probabilities of the classes, where the model gives them for one label a row."""
        ask = getattr(self.model, "predict_proba", None)
        if self.y is None or ask is None or not self.classes or self.y.ndim > 1:
            return None
        found = ask(self.X)
        return None if isinstance(found, list) else np.asarray(found)

    @functools.cached_property
    def score(self) -> Any:
        """A number a row that grows with the second of two classes; None elsewhere."""
        classes = getattr(self.model, "classes_", ())
        if self.y is None or not self.classes or self.y.ndim > 1 or len(classes) != 2:
            return None
        ask = getattr(self.model, "decision_function", None)
        if ask is not None:
            return np.asarray(ask(self.X)).ravel()
        return None if self.chances is None else self.chances[:, 1]

    @functools.cached_property
    def rows(self) -> Any:
        """The rows as CSR, at most so many of them, drawn by the same seed every time; those learnt
        from where there are no others.
        """
        if self.X is None:
            return self.train_rows
        if self.width > MOST_COLUMNS:
            return None
        return _as_csr(self.X, self.drawn)

    @functools.cached_property
    def drawn(self) -> np.ndarray:
        """Numbers of the rows that columns are looked at in."""
        return drawn_rows(len(self.y if self.X is not None else self.y_train))

    @property
    def drawn_targets(self) -> Any:
        """Targets of `rows`, where they are known."""
        y = self.y if self.y is not None else self.y_train
        return None if y is None else np.asarray(y)[self.drawn]

    @functools.cached_property
    def train_rows(self) -> Any:
        """The rows learnt from as CSR, at most so many of them."""
        if self.X_train is None or self.width > MOST_COLUMNS:
            return None
        rows = self.X_train.shape[0] if hasattr(self.X_train, "shape") else len(self.X_train)
        return _as_csr(self.X_train, drawn_rows(rows))

    @functools.cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Means, spreads and shares of rows with a nonzero, a column each."""
        return None if self.rows is None else moments_of(self.rows)

    # ------------------------------------------------------------------ errors
    @property
    def scoring(self) -> str:
        """Name of the scorer whose losses are told."""
        return default_scoring(self.classes)

    @functools.cached_property
    def losses(self) -> Any:
        """Loss of each row: wrong or not, the share of wrong labels, or a squared difference."""
        return None if self.y is None else row_losses(self.y, self.guess, self.scoring)

    @property
    def rests(self) -> list[np.ndarray]:
        """What the model leaves unexplained of the targets of `rows`, by output or class."""
        y, guess = self.y[self.drawn], self.guess[self.drawn]
        if not self.classes or y.ndim > 1:
            return list(np.atleast_2d((y - guess.astype(float)).T))
        chances = None if self.chances is None else self.chances[self.drawn]
        classes = list(np.unique(y))[:MOST_CLASSES]
        known = list(getattr(self.model, "classes_", ()))
        return [
            (y == one) - (guess == one if chances is None else chances[:, known.index(one)])
            for one in (classes[1:] if len(classes) == 2 else classes)
            if chances is None or one in known
        ]

    @property
    def rests_of_guessing(self) -> list[np.ndarray]:
        """The same of one who does not look at the row."""
        y = self.y[self.drawn]
        if not self.classes or y.ndim > 1:
            return list(np.atleast_2d(y.T.astype(float)))
        classes = np.unique(y)[:MOST_CLASSES]
        return [(y == one).astype(float) for one in classes]

    @functools.cached_property
    def baseline(self) -> Any:
        """What is guessed without looking at a row: the most frequent class, the mean, by output;
        of the rows learnt from where they are known.
        """
        y = self.y if self.y_train is None else np.asarray(self.y_train)
        state: Baseline = []
        update_baseline(state, y, None, self.classes)
        return baseline_prediction(state, self.classes, y.ndim > 1)

    @functools.cached_property
    def baseline_losses(self) -> Any:
        """Losses of the baseline."""
        if self.y is None:
            return None
        return row_losses(self.y, np.broadcast_to(self.baseline, self.y.shape), self.scoring)


def as_classes(y: np.ndarray, classes: Any) -> np.ndarray:
    """Targets of a file, floats there, as the whole numbers that the classes are: 1, not 1.0."""
    whole = y.dtype.kind == "f" and getattr(classes, "dtype", y.dtype).kind in "iu"
    return y.astype(np.int64) if whole and (y == np.floor(y)).all() else y


def of_width(X: Any, width: int) -> sp.csr_array:
    """Rows of a file as wide as the model: a file may end before the model's last column, or go on
    after it.
    """
    X = sp.csr_array(X, dtype=float)
    if X.shape[1] > width:
        return X[:, :width]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def drawn_rows(count: int) -> np.ndarray:
    """All rows, or as many as are looked at, in their order."""
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST_ROWS, replace=False))


def _as_csr(X: Any, rows: np.ndarray) -> sp.csr_array:
    """Some rows of a user's table as CSR of floats."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    check_sparse(X)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return sp.csr_array(X[rows], dtype=float)
