"""Partitions as the loops of a model read them, where they lie; and sums over them, or over paths,
in a tree of fan 2 over their numbers.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import take_matrix, take_weights
from tamis.data.rows import ReadError
from tamis.distributed.agreement import coded, wants_classes
from tamis.distributed.executors import Held, merge_tree
from tamis.distributed.placing import Places, place, replayed
from tamis.distributed.visits import Partition
from tamis.numerics.csr import Csr


class Given(NamedTuple):
    """Rows of a partition with their targets and weights, as a fit takes them, those of weight 0
    left out; the values that targets are; and how many rows there were of weight above 0 before
    those of classes.
    """

    rows: Csr
    columns: np.ndarray
    weights: np.ndarray
    targets: Any
    learnt: int


class Ground(Held):
    """Something that was made of a partition, to be used at every visit."""

    def __init__(self, number: int, what: Any):
        self.number, self.what = number, what


class Counted(NamedTuple):
    """Of some partitions: the rows with an entry in each column, rows of each class, rows."""

    columns: np.ndarray
    classes: np.ndarray
    rows: int
    targets: Any


# --------------------------------------------------------------------------- on workers
def read(partition: Partition, model: Any) -> Given:
    """All rows of a partition together."""
    blocks, agreed = list(partition), partition.agreed
    X = blocks[0].X
    if len(blocks) > 1:
        X = sp.vstack([sp.csr_array(one.X) for one in blocks], format="csr")
    y: Any = [one.y for one in blocks]
    y = sp.vstack(y, format="csr") if sp.issparse(y[0]) else np.concatenate(y)
    given = None
    if blocks[0].weights is not None:
        given = np.concatenate([one.weights for one in blocks])
    model, beside = copy.copy(model), {}
    if wants_classes(model):
        y = coded(model, y, agreed, partition.name)
        if agreed.classes is not None:
            beside["classes"] = agreed.classes
    rows = take_matrix(model, X, reset=True, chunk=True)
    weights = take_weights(given, rows.n_rows)
    learnt = rows.n_rows if given is None else int(np.count_nonzero(given))
    if learnt != agreed.learnt[0]:
        raise ReadError(
            f"{partition.name}: {learnt:,} rows, where there were {agreed.learnt[0]:,}: it has "
            "changed. Begin anew."
        )
    targets, found = model._code(y, rows.n_rows, whole=False, **beside)
    _, weights = model._weigh(targets, found.columns, weights)
    columns = found.columns
    if len(weights) and not weights.all():
        at = np.flatnonzero(weights)
        rows, columns, weights = rows.picked(at), columns[at], weights[at]
    return Given(rows, columns, weights, targets, learnt)


def census(partition: Partition, model: Any) -> Counted:
    """What a partition holds of each column and class."""
    given = read(partition, model)
    columns = np.bincount(given.rows.scipy().indices, minlength=given.rows.n_features)
    classes = np.zeros(0, np.int64)
    if hasattr(given.targets, "codes_of") and not given.targets.labels:
        codes = given.targets.codes_of(given.columns).astype(np.int64)
        classes = np.bincount(codes, minlength=len(given.targets.classes))
    return Counted(columns, classes, given.rows.n_rows, given.targets)


def counted_together(left: Counted, right: Counted) -> Counted:
    """The counts of both."""
    return Counted(
        left.columns + right.columns,
        left.classes + right.classes,
        left.rows + right.rows,
        left.targets,
    )


def even_weights(counted: Counted) -> dict:
    """Weights of the classes that make them count alike."""
    names, rows = counted.targets.classes.tolist(), int(counted.classes.sum())
    each = zip(names, counted.classes.tolist(), strict=True)
    return {name: rows / (len(names) * max(many, 1)) for name, many in each}


# --------------------------------------------------------------------------- here
class Grounds:
    """What `make(partition, *given)` makes of partitions with rows, at their homes; or these
    themselves.
    """

    def __init__(self, places: Places, make: Callable | None = None, *given: Any):
        assert places.agreed is not None
        self.places, self.executor, self.agreed = places, places.executor, places.agreed
        self.make, self.given, self.full = make, given, places.agreed.full
        self.held: dict[int, tuple[str, Any]] = {}

    def open(self) -> list[tuple[str, Any]]:
        """Home and handle of each."""
        if self.make is None:
            spots = self.places.open()
            return [spots[k] for k in self.full]
        homes = place(len(self.places.parts), self.executor.homes())
        missing = [k for k in self.full if self.held.get(k, ("",))[0] != homes[k]]
        spots = self.places.open() if missing else []
        for k in missing:
            home, partition = spots[k]
            made = self.executor.submit(self.make, partition, *self.given, home=home)
            self.held[k] = home, made
        if missing:
            self.places.forget()  # they go as soon as something is made of them
        return [self.held[k] for k in self.full]

    def forget(self) -> None:
        """They may be gone with their worker."""
        self.executor.cancel([handle for _, handle in self.held.values()])
        self.held = {}
        self.places.forget()

    def summed(self, task: Callable, join: Callable, *given: Any) -> Any:
        """What all of them say, brought together in the tree."""

        def attempt() -> Any:
            nodes = [
                (home, self.executor.submit(task, ground, *given, home=home))
                for home, ground in self.open()
            ]
            return self.executor.gather([merge_tree(self.executor, nodes, join)[1]])[0]

        return replayed(attempt, self.forget)
