"""How well a model does on the way: on each chunk before it is learnt, and on rows of their own."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.base import is_regressor

from tamis.base.class_messages import one_class_message, plain_value
from tamis.base.scores import (
    add_losses,
    baseline_losses,
    default_scoring,
    row_losses,
    update_baseline,
)
from tamis.data.rows import Rows
from tamis.data.source import RowSource
from tamis.training.record import State

Validate = Literal["progressive"] | RowSource | tuple[Any, Any] | None
PROGRESSIVE = "progressive"
EVERY_ONE, THINNED = 16, 8
FIRST = (256, 1024, 4096)  # rows at which the first chunk is cut


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

    def pieces(self, model: Any, chunk: Rows, state: State) -> Iterator[Rows]:
        """The chunk; the very first one in growing pieces, so that most of a short file is judged.
        Models that grow learn the same from pieces.
        """
        rows = chunk.X.shape[0]
        if not self.progressive or state.chunks or not hasattr(model, "grow") or rows <= FIRST[0]:
            yield chunk
            return
        edges = [0, *(edge for edge in FIRST if edge < rows), rows]
        for begin, end in pairwise(edges):
            here = slice(begin, end)
            weights = None if chunk.weights is None else chunk.weights[here]
            yield chunk._replace(X=chunk.X[here], targets=chunk.targets[here], weights=weights)

    def learns_anew(self, state: State) -> bool:
        """Whether rows are judged on the way; those of later passes were seen in the first."""
        return self.progressive and state.turn == 0

    def before(self, model: Any, chunk: Rows, targets: Any, state: State) -> None:
        """Predict the chunk, if the model can, and add its loss and that of guessing."""
        if (
            self.learns_anew(state)
            and self.wants(state.chunks)
            and hasattr(model, "n_features_in_")
        ):
            if not getattr(model, "grow", False) and chunk.X.shape[1] != model.n_features_in_:
                return
            baseline = baseline_losses(state.met, _dense(targets), hasattr(model, "classes_"))
            add_losses(state.charged, losses(model, chunk.X, targets), baseline, chunk.weights)

    def after(self, model: Any, chunk: Rows, targets: Any, state: State) -> None:
        """Take in the targets that the baseline may know from now on."""
        if self.learns_anew(state):
            update_baseline(state.met, targets, chunk.weights, hasattr(model, "classes_"))

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
    return row_losses(
        _dense(targets), model.predict(X), default_scoring(hasattr(model, "classes_"))
    )


def _dense(targets: Any) -> np.ndarray:
    return targets.toarray() if hasattr(targets, "toarray") else np.asarray(targets)


# --------------------------------------------------------------------------- refusals
def refuse_constant(model: Any, source: RowSource) -> None:
    """Refuse a target that never changes, where a survey or a profile of the source knows it."""
    survey, values = source.surveyed, []
    if survey is not None and not survey.many and not survey.several:
        values = survey.classes
    target = None if source.layout is None else source.layout.find("target")
    if not values and target is not None and source.profile is not None:
        found = source.profile.figures(target.name)
        values = [value for value, _ in found.top] if found.distinct == 1 else []
    if len(values) == 1:
        raise ValueError(constant(model, values[0]))


class Ends:
    """The least and the greatest target of a source whose numbers a new model learns."""

    def __init__(self, model: Any, source: RowSource | None):
        self.looks = source is not None and not hasattr(model, "n_features_in_")
        self.least, self.most, self.rows = np.inf, -np.inf, 0
        if source is not None and self.looks:
            refuse_constant(model, source)

    def meet(self, targets: Any) -> None:
        """Look at the targets of a chunk."""
        if self.looks and getattr(targets, "ndim", 0) == 1 and targets.dtype.kind in "fiu":
            self.least = min(self.least, float(targets.min()))
            self.most = max(self.most, float(targets.max()))
            self.rows += len(targets)

    def refuse(self, model: Any) -> None:
        """Refuse what was learnt from a target that never changed."""
        classes = getattr(model, "classes_", None)
        several = getattr(model, "multilabel_", False)
        if classes is not None and len(classes) == 1 and not several:
            raise ValueError(constant(model, classes[0]))
        if classes is None and self.rows > 1 and self.least == self.most:
            raise ValueError(constant(model, self.least))


def constant(model: Any, value: Any) -> str:
    """What is said of a target that never changes: of one class, what `fit` says."""
    if not is_regressor(model):
        return one_class_message(type(model).__name__, value)
    return (
        f"the target never changes: it is {plain_value(value)} in all rows, so that there is "
        "nothing to predict."
    )
