"""Rows of a partition as a model takes them, and what all targets have in common."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.base.validation import take_weights
from tamis.distributed.agreement import coded
from tamis.distributed.summing.tree import Counted, Sums
from tamis.distributed.visits import Block


def columns_of(model: Any, sums: Sums) -> Any:
    """A copy of a model that knows the columns of all partitions."""
    found = copy.deepcopy(model)
    found.n_features_in_ = sums.agreed.survey.features
    if hasattr(found, "feature_names_in_"):
        del found.feature_names_in_
    if hasattr(found, "n_jobs"):
        found.n_jobs = 1
    return found


def targets_of(model: Any, block: Block, blocks: Counted) -> Any:
    """Targets of a block, classes as they were agreed on."""
    if not is_classifier(model):
        return block.y
    return coded(model, block.y, blocks.agreed, blocks.name)


def first_targets(blocks: Counted, model: Any) -> Any:
    """The targets of a model as they are before its first row."""
    block = next(iter(blocks))
    y, classes = targets_of(model, block, blocks), blocks.agreed.classes
    known = {} if classes is None else {"classes": classes}
    return model._code(y[:1], 1, whole=False, **known)[0]


def class_weights(model: Any, targets: Any, sums: Sums) -> Any:
    """Weights of the classes, those of "balanced" by the rows of all partitions."""
    asked = getattr(model, "class_weight", None)
    if not isinstance(asked, str) or targets.labels:
        return asked
    (counts,) = sums.total(_class_counts, model, targets)
    factors = counts.sum() / (len(counts) * np.maximum(counts, 1.0))
    return dict(zip(targets.classes.tolist(), factors.tolist(), strict=True))


def _class_counts(blocks: Counted, model: Any, targets: Any) -> tuple[np.ndarray]:
    """Rows of weight above 0, a class each."""
    found = np.zeros(len(targets.classes))
    for block in blocks:
        y = targets_of(model, block, blocks)
        _, (columns, *_) = model._code(y, block.X.shape[0], whole=False, known=targets)
        codes = targets.codes_of(columns)
        live = slice(None) if block.weights is None else block.weights > 0.0
        found += np.bincount(codes[live], minlength=len(found))
    return (found,)


def pieces(model: Any, targets: Any, blocks: Counted) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Block after block: rows as they came, coded targets, and weights (none: of length 0) in
    which those of the classes are.
    """
    for block in blocks:
        count = block.X.shape[0]
        own = take_weights(block.weights, count)
        y = targets_of(model, block, blocks)
        _, found = model._code(y, count, whole=False, known=targets)
        _, weights = model._weigh(targets, found.columns, own, whole=False)
        yield block.X, found, weights
