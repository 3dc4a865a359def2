"""Labels of tasks as codes, and targets of rows that each belong to a task."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d

from tamis.base.targets import ClassTargets, NumberTargets, Targets
from tamis.numerics.csr import readonly_view
from tamis.system.schema import labels, nested_object, one_of

NO_LABELS = np.zeros(0, dtype=np.int64)


def validate_task_labels(task) -> np.ndarray | None:
    """Return the label of each row's task, numbers or strings; None if there is one task."""
    if task is None:
        return None
    labels = column_or_1d(np.asarray(task))
    if labels.dtype.kind == "O":
        has_words = not all(isinstance(value, int | float) for value in labels)
        labels = np.array([str(value) for value in labels]) if has_words else labels.astype(float)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("task holds nan; every row needs a task.")
    return labels


def labels_of_rows(labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return one label a row; 0 for all rows if there is one task."""
    if labels is None:
        return np.zeros(n_rows, dtype=np.int64)
    if len(labels) != n_rows:
        raise ValueError(f"task has {len(labels)} entries for {n_rows} rows; pass one a row.")
    return labels


class TaskTargets:
    """Targets of rows that each belong to a task: `inside`, the targets that all tasks share, and
    the labels of the tasks in the order of their first rows. Other attributes are those of
    `inside`.
    """

    _contents: ClassVar[dict] = {
        "inside": one_of(
            nested_object(ClassTargets, "outputs", "targets"),
            nested_object(NumberTargets, "outputs", "targets"),
        ),
        "tasks": labels("tasks", ascending=False),
    }

    def __init__(self, inside: Targets, tasks: np.ndarray):
        self.inside: Any = inside
        self.tasks = tasks

    def __getattr__(self, name: str) -> Any:
        if name in ("inside", "tasks"):  # before __init__, as in unpickling
            raise AttributeError(name)
        return getattr(self.inside, name)

    @classmethod
    def of(
        cls, inside: Targets, row_labels: np.ndarray, old_targets: "TaskTargets | None" = None
    ) -> tuple["TaskTargets", np.ndarray]:
        """Return the targets, with the tasks of `old_targets` and those that the labels add, and
        the code of each row's task.
        """
        tasks = NO_LABELS if old_targets is None else old_targets.tasks
        added = new_labels(row_labels, tasks)
        if len(added) and len(tasks) and _mixes_kinds(added, tasks):
            raise ValueError(
                f"task {added.tolist()[0]!r} is of another kind than the tasks so far, "
                f"{tasks[:3].tolist()}."
            )
        if len(added):
            tasks = np.r_[tasks, added] if len(tasks) else added
        if old_targets is None or len(added) or inside is not old_targets.inside:
            old_targets = cls(inside, tasks)
        return old_targets, old_targets.codes(row_labels)

    def codes(self, row_labels: np.ndarray, name: str = "model") -> np.ndarray:
        """Return the code of each row's task; an unknown task raises an error."""
        order = np.argsort(self.tasks)
        positions = np.searchsorted(self.tasks, row_labels, sorter=order)
        codes = order[np.minimum(positions, len(order) - 1)]
        if not np.array_equal(self.tasks[codes], row_labels):
            unknown = row_labels[self.tasks[codes] != row_labels].tolist()[0]
            raise ValueError(
                f"task {unknown!r} is unknown; the tasks of this {name} are "
                f"{self.tasks[:10].tolist()}."
            )
        return readonly_view(codes.astype(np.uint64))

    def prediction_codes(self, task, n_rows: int, name: str) -> np.ndarray:
        """Return the code of each row's task for prediction."""
        if task is None and len(self.tasks) > 1:
            raise ValueError(f"{name} knows {len(self.tasks)} tasks; pass task, one a row.")
        if task is None:
            return readonly_view(np.zeros(n_rows, dtype=np.uint64))
        return self.codes(labels_of_rows(validate_task_labels(task), n_rows), name)

    # ------------------------------------------------------------ methods that differ from `inside`
    def class_mapping(self, other: "TaskTargets") -> tuple[Any, Any]:
        """Return where the outputs of every task come from."""
        return self.inside.class_mapping(other.inside)

    def apply_class_weight(
        self, columns, weights, *args, **options
    ) -> tuple["TaskTargets", np.ndarray]:
        """Return row weights times class weights, and the targets with the rows counted."""
        targets, weights = self.inside.apply_class_weight(columns, weights, *args, **options)
        return self if targets is self.inside else TaskTargets(targets, self.tasks), weights

    def shape_coef(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of all outputs of all tasks in the shape of `coef_`."""
        if len(self.tasks) == 1:
            return self.inside.shape_coef(weights)
        return weights if self.outputs == 1 else weights.reshape(len(self.tasks), self.outputs, -1)

    def shape_intercepts(self, intercepts: np.ndarray) -> np.ndarray:
        """Return the intercepts in the shape of `intercept_`."""
        is_flat = len(self.tasks) == 1 or self.outputs == 1
        return intercepts if is_flat else intercepts.reshape(len(self.tasks), -1)


def new_labels(labels: np.ndarray, known: np.ndarray = NO_LABELS) -> np.ndarray:
    """Return the labels that are not known yet, in the order of their first rows."""
    values, first = np.unique(labels, return_index=True)
    values = values[np.argsort(first)]
    if not len(known):
        return values
    known_values = set(known.tolist())
    return values[[value not in known_values for value in values.tolist()]]


def _mixes_kinds(added: np.ndarray, known: np.ndarray) -> bool:
    """Return whether one of two arrays of labels has strings and the other numbers."""
    kinds = (added.dtype.kind, known.dtype.kind)
    return kinds[0] != kinds[1] and "U" in kinds
