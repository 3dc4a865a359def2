"""Tasks of rows: their labels, coded once, and targets that know them."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d

from tamis.base.targets import ClassTargets, NumberTargets, Targets
from tamis.numerics.csr import frozen
from tamis.system.schema import labels, one_of, part

NO_LABELS = np.zeros(0, dtype=np.int64)


def take_labels(task) -> np.ndarray | None:
    """Label of each row's task, numbers or words; None where there is one task."""
    if task is None:
        return None
    found = column_or_1d(np.asarray(task))
    if found.dtype.kind == "O":
        words = not all(isinstance(value, int | float) for value in found)
        found = np.array([str(value) for value in found]) if words else found.astype(float)
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise ValueError("task holds nan; every row needs a task.")
    return found


def of_rows(found: np.ndarray | None, n_rows: int) -> np.ndarray:
    """As many labels as rows; 0 for all where there is one task."""
    if found is None:
        return np.zeros(n_rows, dtype=np.int64)
    if len(found) != n_rows:
        raise ValueError(f"task has {len(found)} entries for {n_rows} rows; pass one a row.")
    return found


class TaskTargets:
    """Targets of rows that each belong to a task: `inside`, the same in all tasks, and the labels
    of the tasks in the order in which they came. It answers as those inside do.
    """

    _contents: ClassVar[dict] = {
        "inside": one_of(
            part(ClassTargets, "outputs", "targets"), part(NumberTargets, "outputs", "targets")
        ),
        "tasks": labels("tasks", ascending=False),
    }

    def __init__(self, inside: Targets, tasks: np.ndarray):
        self.inside: Any = inside
        self.tasks = tasks

    def __getattr__(self, name: str) -> Any:
        if name in ("inside", "tasks"):  # before it is made, as when it is unpickled
            raise AttributeError(name)
        return getattr(self.inside, name)

    @classmethod
    def of(
        cls, inside: Targets, found: np.ndarray, known: "TaskTargets | None" = None
    ) -> tuple["TaskTargets", np.ndarray]:
        """The targets, those `known` with the tasks that the labels add, and each row's number."""
        tasks = NO_LABELS if known is None else known.tasks
        new = first_ones(found, tasks)
        if len(new) and len(tasks) and _mixed(new, tasks):
            raise ValueError(
                f"task {new.tolist()[0]!r} is of another kind than the tasks so far, "
                f"{tasks[:3].tolist()}."
            )
        if len(new):
            tasks = np.r_[tasks, new] if len(tasks) else new
        if known is None or len(new) or inside is not known.inside:
            known = cls(inside, tasks)
        return known, known.codes(found)

    def codes(self, found: np.ndarray, name: str = "model") -> np.ndarray:
        """Number of each row's task, as loops read it; an unknown one is refused."""
        order = np.argsort(self.tasks)
        places = np.searchsorted(self.tasks, found, sorter=order)
        codes = order[np.minimum(places, len(order) - 1)]
        if not np.array_equal(self.tasks[codes], found):
            bad = found[self.tasks[codes] != found].tolist()[0]
            raise ValueError(
                f"task {bad!r} is unknown; the tasks of this {name} are {self.tasks[:10].tolist()}."
            )
        return frozen(codes.astype(np.uint64))

    def asked(self, task, n_rows: int, name: str) -> np.ndarray:
        """Number of each row's task, where predictions are asked for."""
        if task is None and len(self.tasks) > 1:
            raise ValueError(f"{name} knows {len(self.tasks)} tasks; pass task, one a row.")
        if task is None:
            return frozen(np.zeros(n_rows, dtype=np.uint64))
        return self.codes(of_rows(take_labels(task), n_rows), name)

    # ------------------------------------------------------------ what differs from those inside
    def moves(self, other: "TaskTargets") -> tuple[Any, Any]:
        """Where the outputs of every task come from."""
        return self.inside.moves(other.inside)

    def weigh(self, columns, weights, *given, **how) -> tuple["TaskTargets", np.ndarray]:
        """Row weights times class weights, and the targets with the rows counted."""
        after, weights = self.inside.weigh(columns, weights, *given, **how)
        return self if after is self.inside else TaskTargets(after, self.tasks), weights

    def shaped(self, weights: np.ndarray) -> np.ndarray:
        """Weights of all outputs of all tasks in the shape of `coef_`."""
        if len(self.tasks) == 1:
            return self.inside.shaped(weights)
        return weights if self.outputs == 1 else weights.reshape(len(self.tasks), self.outputs, -1)

    def shaped_intercepts(self, intercepts: np.ndarray) -> np.ndarray:
        """Intercepts in the shape of `intercept_`."""
        plain = len(self.tasks) == 1 or self.outputs == 1
        return intercepts if plain else intercepts.reshape(len(self.tasks), -1)


def first_ones(found: np.ndarray, known: np.ndarray = NO_LABELS) -> np.ndarray:
    """Labels that are not known yet, in the order in which they come first."""
    values, first = np.unique(found, return_index=True)
    values = values[np.argsort(first)]
    if not len(known):
        return values
    met = set(known.tolist())
    return values[[value not in met for value in values.tolist()]]


def _mixed(new: np.ndarray, known: np.ndarray) -> bool:
    """Whether words and numbers would stand side by side."""
    kinds = (new.dtype.kind, known.dtype.kind)
    return kinds[0] != kinds[1] and "U" in kinds
