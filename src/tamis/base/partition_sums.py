"""Sums over rows that lie in partitions: what a method needs to be fitted by them.

A method offers `_fit_sums(sums)` and `_refuse_sums()`, which says why the parameters rule it
out. `tamis.distributed` brings the `PartitionSums`; a task runs where its partition lies.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from tamis.base.validation import validate_sample_weight
from tamis.numerics.targets import EncodedTargets


class PartitionBlocks(Protocol):
    """A pass over one partition: blocks with `X`, `y` and `weights` (None where all are 1)."""

    classes: np.ndarray | None  # of all partitions, where they are not known yet

    def __iter__(self) -> Iterator[Any]:
        """The blocks of the partition, in their order."""


def add(left: tuple, right: tuple) -> tuple:
    """Add two tuples of sums, member by member."""
    return tuple(one + other for one, other in zip(left, right, strict=True))


class PreparedPartitions(Protocol):
    """Partitions after a task that prepared them: data of each, held where it lies."""

    def __len__(self) -> int:
        """Number of the partitions."""

    def relay(self, task: Callable, state: Any, order: list[int], arguments: list[tuple]) -> Any:
        """Take a state through all partitions in an order: ``task(data, state, *arguments)``
        returns the partition's next data and the next state.
        """

    def total(self, task: Callable, *arguments: Any) -> Any:
        """Results of ``task(data, *arguments)``, added in a tree by `add`."""


class PartitionSums(Protocol):
    """Tasks over all partitions, and sums of their results in a tree."""

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def memory(self) -> int:
        """Bytes of rows that the client may hold."""

    def total(self, task: Callable, *arguments: Any, merge: Callable = add) -> Any:
        """Results of ``task(blocks, *arguments)`` for all partitions, merged in a tree."""

    def each(self, task: Callable, *arguments: Any) -> list:
        """Results of ``task(blocks, *arguments)``, in the order of the partitions."""

    def first(self, task: Callable, *arguments: Any) -> Any:
        """Result of ``task(blocks, *arguments)`` for the first partition."""

    def map(self, task: Callable, shared: tuple, arguments: list[tuple]) -> list:
        """Results of ``task(*shared, *arguments)`` for each of several arguments, on all
        workers.
        """

    def with_prepared(self, task: Callable, shared: tuple, run: Callable) -> Any:
        """Result of ``run(prepared)``, where ``task(blocks, *shared)`` prepares each partition. It
        is called again from the start where a worker is lost.
        """


class EncodedBlock(NamedTuple):
    """A block with encoded targets, and row weights with those of the classes (length 0: none)."""

    X: Any
    targets: EncodedTargets
    weights: np.ndarray


def with_columns(model: Any, n_features: int) -> Any:
    """A copy of a model that knows the number of columns, and uses one thread."""
    model = copy.deepcopy(model)
    model.n_features_in_ = n_features
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1
    return model


def first_targets(blocks: PartitionBlocks, model: Any) -> Any:
    """The targets of a model before its first row (a task)."""
    block = next(iter(blocks))
    known = {} if blocks.classes is None else {"classes": blocks.classes}
    return model._encode_targets(block.y[:1], 1, is_fit=False, **known)[0]


def class_weights(model: Any, targets: Any, sums: PartitionSums) -> Any:
    """Class weights of a model; "balanced" by the rows of all partitions."""
    user_weights = getattr(model, "class_weight", None)
    if not isinstance(user_weights, str) or targets.labels:
        return user_weights
    (counts,) = sums.total(_class_counts, model, targets)
    factors = counts.sum() / (len(counts) * np.maximum(counts, 1.0))
    return dict(zip(targets.classes.tolist(), factors.tolist(), strict=True))


def _class_counts(blocks: PartitionBlocks, model: Any, targets: Any) -> tuple[np.ndarray]:
    """Number of rows of weight above 0 of each class (a task)."""
    counts = np.zeros(len(targets.classes))
    for block in blocks:
        _, (columns, *_) = model._encode_targets(
            block.y, block.X.shape[0], is_fit=False, known=targets
        )
        codes = targets.class_indices(columns)
        positive = slice(None) if block.weights is None else block.weights > 0.0
        counts += np.bincount(codes[positive], minlength=len(counts))
    return (counts,)


def encoded_blocks(model: Any, targets: Any, blocks: PartitionBlocks) -> Iterator[EncodedBlock]:
    """Encode block after block by known targets; the rows stay as they are."""
    for block in blocks:
        n_rows = block.X.shape[0]
        weights = validate_sample_weight(block.weights, n_rows)
        _, coded = model._encode_targets(block.y, n_rows, is_fit=False, known=targets)
        _, weights = model._weight_rows(targets, coded.columns, weights, is_fit=False)
        yield EncodedBlock(block.X, coded, weights)
