"""How well a model does on the way: on each chunk before it is learnt, and on rows of their own."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from tamis.read.source import RowSource

Validate = Literal["progressive"] | RowSource | tuple[Any, Any] | None
PROGRESSIVE = "progressive"
EVERY_ONE, THINNED = 16, 8


class Judge:
    """What `validate` asks for."""

    def __init__(self, validate: Validate):
        self.progressive = isinstance(validate, str)
        if self.progressive and validate != PROGRESSIVE:
            raise ValueError(
                "validate must be None, 'progressive', a source of rows or (X, y). Got "
                f"{validate!r}."
            )
        self.held = None if isinstance(validate, str) else validate
        self.name = PROGRESSIVE if self.progressive else "none" if validate is None else "held out"

    def wants(self, chunks: int) -> bool:
        """Whether the chunk after so many is predicted: of a long stream one in eight."""
        return self.progressive and (chunks < EVERY_ONE or chunks % THINNED == 0)

    def before(
        self,
        model: Any,
        X: sp.csr_array,
        targets: Any,
        weights: np.ndarray | None,
        charged: list[float],
    ) -> None:
        """Predict the chunk, if the model can, and add its loss."""
        if hasattr(model, "n_features_in_"):
            if not getattr(model, "grow", False) and X.shape[1] != model.n_features_in_:
                return
            loads = np.ones(X.shape[0]) if weights is None else weights
            charged[0] += float((losses(model, X, targets) * loads).sum())
            charged[1] += float(loads.sum())

    def look(self, model: Any) -> dict:
        """Error on the held-out rows."""
        if self.held is None or not hasattr(model, "n_features_in_"):
            return {}
        return {"validation_error": error_on(model, self.held)}


def error_on(model: Any, rows: RowSource | tuple[Any, Any]) -> float:
    """Mean error on rows: share of wrong classes or labels, or mean squared difference."""
    chunks = ((chunk.X, chunk.targets) for chunk in rows) if isinstance(rows, RowSource) else [rows]
    total, count = 0.0, 0
    for X, targets in chunks:
        given = losses(model, X, targets)
        total, count = total + float(np.nansum(given)), count + int((~np.isnan(given)).sum())
    return total / count if count else float("nan")


def losses(model: Any, X: Any, targets: Any) -> np.ndarray:
    """Loss of each row; nan for rows without a target."""
    guess = model.predict(X)
    truth = targets.toarray() if hasattr(targets, "toarray") else np.asarray(targets)
    if hasattr(model, "classes_"):
        given = (guess != truth).astype(float)
        return given.mean(axis=1) if given.ndim > 1 else np.where(_missing(truth), np.nan, given)
    given = (guess - truth) ** 2
    return given.mean(axis=1) if given.ndim > 1 else given


def _missing(truth) -> np.ndarray:
    return np.isnan(truth) if truth.dtype.kind == "f" else np.zeros(len(truth), bool)


def one_class(model: Any, value: Any) -> str:
    """What `fit` says of targets of one class."""
    whole = isinstance(value, float) and value.is_integer()
    return (
        f"{type(model).__name__} needs samples of at least 2 classes in the data, but y holds only "
        f"one class: {int(value) if whole else value!r}."
    )
