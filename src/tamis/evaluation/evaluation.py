"""A model with its test rows, predicted once, for sentences, checks and figures."""

import functools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from tamis.base.estimators.column_names import get_column_names
from tamis.base.fast_checks import check_label_type, check_sparse, encode_by_reading, to_dense
from tamis.base.scores import (
    Baseline,
    baseline_prediction,
    default_scoring,
    row_losses,
    update_baseline,
)
from tamis.evaluation.columns import (
    MIN_TWIN_CORRELATION,
    column_moments,
    find_substitutes,
    substitutes_from_groups,
)
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.selection.supports import selected_features

MAX_SAMPLE_ROWS = 20_000  # a sample of so many rows gives the statistics of columns
MAX_CLASSES = 20  # classes with residuals of their own
MAX_COLUMNS = 1 << 22  # wider rows get an error, but no statistics of columns


@dataclass
class EvaluationData:
    """A fitted model with its test rows and, where known, its training rows.

    Without test rows the evaluation uses the errors that the model itself holds.
    """

    model: Any
    X: Any = None
    y: Any = None
    names: Any = None
    X_train: Any = None
    y_train: Any = None
    discoveries: Any = None  # whether to test for discoveries, or a fitted selector

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
            None if X is None else encode_by_reading(self.model, X) for X in (self.X, self.X_train)
        )
        if self.y is not None:
            self.y = np.asarray(to_dense(self.y))
            self.y = match_class_dtype(self.y, getattr(self.model, "classes_", None))
            rows = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
            if rows != len(self.y) or not rows:
                raise ValueError(
                    f"X has {rows} rows and y {len(self.y)} targets. Give one target a row, and at "
                    "least one row."
                )
            classes = getattr(self.model, "classes_", None)
            if self.y.ndim == 1 and isinstance(classes, np.ndarray) and classes.ndim == 1:
                check_label_type(self.y, classes)
            if self.y.dtype.kind == "f" and np.isnan(self.y).any():
                raise ValueError(
                    f"y has {int(np.isnan(self.y).sum())} gaps (nan). Judge by rows that have a "
                    "target."
                )
        if self.names is None:
            self.names = getattr(self.model, "feature_names_in_", None)

    @classmethod
    def from_chunks(cls, model: Any, chunks: Iterable[tuple[Any, Any]], names: Any = None):
        """Build the evidence from chunks of X and y: errors of all rows, columns of the first."""
        row_chunks, chunk_values, n_sampled = [], dict[str, list](), 0
        for X, y in chunks:
            chunk = cls(model, X, y)
            for name in ("y", "predictions", "probabilities", "score"):
                values = getattr(chunk, name)
                if values is not None:
                    chunk_values.setdefault(name, []).append(values)
            if n_sampled < MAX_SAMPLE_ROWS:
                row_chunks.append(
                    fit_width(X[: MAX_SAMPLE_ROWS - n_sampled], int(model.n_features_in_))
                )
                n_sampled += row_chunks[-1].shape[0]
        if not n_sampled:
            return cls(model, names=names)
        values = {name: np.concatenate(values) for name, values in chunk_values.items()}
        rows = sp.csr_array(sp.vstack(row_chunks))
        evidence = cls(model, names=names)
        evidence.y = values.pop("y")
        # These cached properties are normally computed from X.
        evidence.predictions = values["predictions"]
        evidence.probabilities, evidence.score = values.get("probabilities"), values.get("score")
        evidence.rows = rows if evidence.width <= MAX_COLUMNS else None
        evidence.sample_indices = np.arange(rows.shape[0])
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
        """Columns that the model selects; None if unknown."""
        try:
            return np.asarray(selected_features(self.model)[0])
        except TypeError:
            return None

    def name(self, column: Any) -> str:
        """A column's name, or its number."""
        if self.names is not None:
            return str(self.names[column])
        if vars(self.model).get("reading_"):  # trained from a file
            return get_column_names(self.model, [column])[0]
        return f"column {column}"

    @functools.cached_property
    def importance(self) -> np.ndarray:
        """|Weight| times standard deviation of the selected columns, the largest over outputs.

        Without rows the deviation is 1.
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
        """For each selected column the columns correlated with it, with their correlations."""
        if self.kept is None:
            return {}
        if self.has_groups:
            return substitutes_from_groups(self.claims, self.ranked)
        if self.rows is None or self.moments is None:
            return {}
        return find_substitutes(self.rows, self.ranked, *self.moments[:2])

    @property
    def has_groups(self) -> bool:
        """Whether the groups of a selector hold the substitutes of the selected columns."""
        threshold = None if self.claims is None else self.claims.substitutes
        return threshold is not None and threshold <= MIN_TWIN_CORRELATION

    @functools.cached_property
    def claims(self) -> Any:
        """Selector that has tested the selected columns, or None; on the training rows if known."""
        if not isinstance(self.discoveries, bool) or self.kept is None:
            return self.discoveries
        X, y = (self.X, self.y) if self.y_train is None else (self.X_train, self.y_train)
        if not self.discoveries or X is None:
            return None
        selector = FDRSelector(targets="classes" if self.classes else "numbers")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table holds what is too rare
            return selector.fit(X, y, also=self.kept)

    def find_claim(self, column: int) -> tuple[float, int]:
        """Return the q-value of a column, the smallest over outputs, and the head of its group."""
        claims = self.claims
        heads, qvalues = np.atleast_2d(claims.head_), np.atleast_2d(claims.qvalues_)
        output_heads = enumerate(heads[:, column].tolist())
        claims_of_column = [
            (float(qvalues[c, head]), head) for c, head in output_heads if head >= 0
        ]
        return min(claims_of_column, default=(1.0, int(column)))

    @functools.cached_property
    def ranked(self) -> np.ndarray:
        """Selected columns, the most important first."""
        kept = np.zeros(0, int) if self.kept is None else self.kept
        return kept[np.argsort(-self.importance, kind="stable")]

    # ------------------------------------------------------------------ the rows
    @functools.cached_property
    def predictions(self) -> Any:
        """Predictions of the model for the test rows."""
        if self.y is None:
            return None
        predictions = self.model.predict(self.X)
        return predictions.toarray() if sp.issparse(predictions) else np.asarray(predictions)

    @functools.cached_property
    def probabilities(self) -> Any:
        """Probabilities of the classes, if the model predicts them and rows have one label."""
        predict_proba = getattr(self.model, "predict_proba", None)
        if self.y is None or predict_proba is None or not self.classes or self.y.ndim > 1:
            return None
        probabilities = predict_proba(self.X)
        return None if isinstance(probabilities, list) else np.asarray(probabilities)

    @functools.cached_property
    def score(self) -> Any:
        """Decision score of the second of two classes; None for other targets."""
        classes = getattr(self.model, "classes_", ())
        if self.y is None or not self.classes or self.y.ndim > 1 or len(classes) != 2:
            return None
        decision_function = getattr(self.model, "decision_function", None)
        if decision_function is not None:
            return np.asarray(decision_function(self.X)).ravel()
        return None if self.probabilities is None else self.probabilities[:, 1]

    @functools.cached_property
    def rows(self) -> Any:
        """A fixed sample of the rows as CSR; of the training rows if there are no others."""
        if self.X is None:
            return self.train_rows
        if self.width > MAX_COLUMNS:
            return None
        return _as_csr(self.X, self.sample_indices)

    @functools.cached_property
    def sample_indices(self) -> np.ndarray:
        """Indices of the sampled rows."""
        return sample_rows(len(self.y if self.X is not None else self.y_train))

    @property
    def sampled_targets(self) -> Any:
        """Targets of `rows`, if known."""
        y = self.y if self.y is not None else self.y_train
        return None if y is None else np.asarray(y)[self.sample_indices]

    @functools.cached_property
    def train_rows(self) -> Any:
        """A fixed sample of the training rows as CSR."""
        if self.X_train is None or self.width > MAX_COLUMNS:
            return None
        rows = self.X_train.shape[0] if hasattr(self.X_train, "shape") else len(self.X_train)
        return _as_csr(self.X_train, sample_rows(rows))

    @functools.cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Means, standard deviations and densities of the columns."""
        return None if self.rows is None else column_moments(self.rows)

    # ------------------------------------------------------------------ errors
    @property
    def scoring(self) -> str:
        """Name of the loss."""
        return default_scoring(self.classes)

    @functools.cached_property
    def losses(self) -> Any:
        """Loss of each row: 0 or 1, the fraction of wrong labels, or the squared error."""
        return None if self.y is None else row_losses(self.y, self.predictions, self.scoring)

    @property
    def residuals(self) -> list[np.ndarray]:
        """Residuals of the model for the targets of `rows`, by output or class."""
        y, predictions = self.y[self.sample_indices], self.predictions[self.sample_indices]
        if not self.classes or y.ndim > 1:
            return list(np.atleast_2d((y - predictions.astype(float)).T))
        probabilities = self.probabilities
        if probabilities is not None:
            probabilities = probabilities[self.sample_indices]
        classes = list(np.unique(y))[:MAX_CLASSES]
        model_classes = list(getattr(self.model, "classes_", ()))
        return [
            (y == label)
            - (
                predictions == label
                if probabilities is None
                else probabilities[:, model_classes.index(label)]
            )
            for label in (classes[1:] if len(classes) == 2 else classes)
            if probabilities is None or label in model_classes
        ]

    @property
    def baseline_residuals(self) -> list[np.ndarray]:
        """Targets of `rows`, by output or class: the residuals of a constant prediction."""
        y = self.y[self.sample_indices]
        if not self.classes or y.ndim > 1:
            return list(np.atleast_2d(y.T.astype(float)))
        classes = np.unique(y)[:MAX_CLASSES]
        return [(y == label).astype(float) for label in classes]

    @functools.cached_property
    def baseline(self) -> Any:
        """Constant prediction: the most frequent class or the mean, of training rows if known."""
        y = self.y if self.y_train is None else np.asarray(self.y_train)
        state: Baseline = []
        update_baseline(state, y, None, self.classes)
        return baseline_prediction(state, self.classes, y.ndim > 1)

    @functools.cached_property
    def baseline_losses(self) -> Any:
        """Loss of the baseline for each row."""
        if self.y is None:
            return None
        return row_losses(self.y, np.broadcast_to(self.baseline, self.y.shape), self.scoring)


def match_class_dtype(y: np.ndarray, classes: Any) -> np.ndarray:
    """Return float targets of a file as integers where the classes are integers."""
    is_integer = y.dtype.kind == "f" and getattr(classes, "dtype", y.dtype).kind in "iu"
    return y.astype(np.int64) if is_integer and (y == np.floor(y)).all() else y


def fit_width(X: Any, width: int) -> sp.csr_array:
    """Return rows of a file with `width` columns: a file may have fewer or more than the model."""
    X = sp.csr_array(X, dtype=float)
    if X.shape[1] > width:
        return X[:, :width]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def sample_rows(count: int) -> np.ndarray:
    """Return the indices of all rows, or of a fixed sample, ascending."""
    if count <= MAX_SAMPLE_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MAX_SAMPLE_ROWS, replace=False))


def _as_csr(X: Any, rows: np.ndarray) -> sp.csr_array:
    """Return some rows of user input as CSR of floats."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    check_sparse(X)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return sp.csr_array(X[rows], dtype=float)
