"""Validation during training: scores of chunks before they are learnt, or of held-out rows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.base import is_regressor

from tamis.base.class_messages import display_value, one_class_message
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
SCORED_CHUNKS = 16  # the first chunks, all of which are scored
SCORED_INTERVAL = 8  # of later chunks, one in so many is scored
FIRST_CHUNK_CUTS = (256, 1024, 4096)  # rows at which the first chunk is cut


class Validator:
    """Scores of a model during training, as the parameter `validate` requests."""

    def __init__(self, validate: Validate):
        self.progressive = isinstance(validate, str)
        if self.progressive and validate != PROGRESSIVE:
            raise ValueError(
                "validate must be None, 'progressive', a source of rows or (X, y). Got "
                f"{validate!r}."
            )
        self.held_out = None if isinstance(validate, str) else validate
        self.name = PROGRESSIVE if self.progressive else "none" if validate is None else "held out"

    def is_scored(self, chunks: int) -> bool:
        """Return whether the chunk after `chunks` others is scored; later one in eight is."""
        return self.progressive and (chunks < SCORED_CHUNKS or chunks % SCORED_INTERVAL == 0)

    def split_first_chunk(self, model: Any, chunk: Rows, state: State) -> Iterator[Rows]:
        """Yield the chunk; the very first one in growing pieces, so that most rows of a short file
        are scored.

        Models with `grow` learn the same from pieces.
        """
        n_rows = chunk.X.shape[0]
        if (
            not self.progressive
            or state.chunks
            or not hasattr(model, "grow")
            or n_rows <= FIRST_CHUNK_CUTS[0]
        ):
            yield chunk
            return
        edges = [0, *(edge for edge in FIRST_CHUNK_CUTS if edge < n_rows), n_rows]
        for begin, end in pairwise(edges):
            rows_of_piece = slice(begin, end)
            weights = None if chunk.weights is None else chunk.weights[rows_of_piece]
            yield chunk._replace(
                X=chunk.X[rows_of_piece], targets=chunk.targets[rows_of_piece], weights=weights
            )

    def is_first_pass(self, state: State) -> bool:
        """Return whether rows are scored; rows of later passes were learnt before."""
        return self.progressive and state.turn == 0

    def score_chunk(self, model: Any, chunk: Rows, targets: Any, state: State) -> None:
        """Predict the chunk if the model can, and add its loss and that of the baseline."""
        if (
            self.is_first_pass(state)
            and self.is_scored(state.chunks)
            and hasattr(model, "n_features_in_")
        ):
            if not getattr(model, "grow", False) and chunk.X.shape[1] != model.n_features_in_:
                return
            baseline = baseline_losses(state.met, _dense(targets), hasattr(model, "classes_"))
            add_losses(
                state.charged, prediction_losses(model, chunk.X, targets), baseline, chunk.weights
            )

    def add_targets(self, model: Any, chunk: Rows, targets: Any, state: State) -> None:
        """Add the targets of a chunk to those that the baseline knows."""
        if self.is_first_pass(state):
            update_baseline(state.met, targets, chunk.weights, hasattr(model, "classes_"))

    def held_out_error(self, model: Any) -> dict:
        """Return the error on the held-out rows as an entry of the history."""
        if self.held_out is None or not hasattr(model, "n_features_in_"):
            return {}
        return {"validation_error": error_on(model, self.held_out)}


def error_on(model: Any, rows: RowSource | tuple[Any, Any]) -> float:
    """Return the mean error on rows: fraction of wrong classes or labels, or mean squared
    difference.
    """
    chunks = ((chunk.X, chunk.targets) for chunk in rows) if isinstance(rows, RowSource) else [rows]
    total, count = 0.0, 0
    for X, targets in chunks:
        row_errors = prediction_losses(model, X, targets)
        total += float(np.nansum(row_errors))
        count += int((~np.isnan(row_errors)).sum())
    return total / count if count else float("nan")


def prediction_losses(model: Any, X: Any, targets: Any) -> np.ndarray:
    """Return the loss of each row; nan for rows without a target."""
    return row_losses(
        _dense(targets), model.predict(X), default_scoring(hasattr(model, "classes_"))
    )


def _dense(targets: Any) -> np.ndarray:
    return targets.toarray() if hasattr(targets, "toarray") else np.asarray(targets)


# --------------------------------------------------------------------------- refusals
def refuse_constant(model: Any, source: RowSource) -> None:
    """Refuse a constant target if a survey or a profile of the source knows it."""
    survey, values = source.survey_result, []
    if survey is not None and not survey.many and not survey.several:
        values = survey.classes
    target = None if source.layout is None else source.layout.find("target")
    if not values and target is not None and source.profile is not None:
        summary = source.profile.figures(target.name)
        values = [value for value, _ in summary.top] if summary.distinct == 1 else []
    if len(values) == 1:
        raise ValueError(constant_target_message(model, values[0]))


class TargetRange:
    """Minimum and maximum of the targets of a source that a new model learns."""

    def __init__(self, model: Any, source: RowSource | None):
        self.is_active = source is not None and not hasattr(model, "n_features_in_")
        self.minimum, self.maximum, self.rows = np.inf, -np.inf, 0
        if source is not None and self.is_active:
            refuse_constant(model, source)

    def add(self, targets: Any) -> None:
        """Add the targets of a chunk."""
        if self.is_active and getattr(targets, "ndim", 0) == 1 and targets.dtype.kind in "fiu":
            self.minimum = min(self.minimum, float(targets.min()))
            self.maximum = max(self.maximum, float(targets.max()))
            self.rows += len(targets)

    def refuse(self, model: Any) -> None:
        """Refuse a model trained on a constant target."""
        classes = getattr(model, "classes_", None)
        several = getattr(model, "multilabel_", False)
        if classes is not None and len(classes) == 1 and not several:
            raise ValueError(constant_target_message(model, classes[0]))
        if classes is None and self.rows > 1 and self.minimum == self.maximum:
            raise ValueError(constant_target_message(model, self.minimum))


def constant_target_message(model: Any, value: Any) -> str:
    """Return the message about a constant target; for classifiers that of `fit`."""
    if not is_regressor(model):
        return one_class_message(type(model).__name__, value)
    return (
        f"the target never changes: it is {display_value(value)} in all rows, so that there is "
        "nothing to predict."
    )
