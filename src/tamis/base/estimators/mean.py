"""The mean of models that learnt the same rows in several orders."""

from typing import Any, ClassVar

import numpy as np

from tamis.numerics.csr import Csr
from tamis.system.schema import (
    Content,
    any_value,
    array,
    list_of,
    nested_object,
    number,
    one_of,
    optional,
    size,
)

MEAN_IS_FINAL = (
    "{name}: this model is the mean of several paths, and means learn no more. Go on with each of "
    "`paths_`, or call fit with warm_start=False."
)


class MeanState:
    """Means of weights over several states; it scores as a state does, but cannot learn."""

    _contents: ClassVar[dict] = {
        "outputs": size("outputs"),
        "table": array("f8", "outputs", "columns"),
        "bias": array("f8", "outputs"),
        "steps": number(float, minimum=0.0, exact=True),
    }

    def __init__(self, states: list[Any]):
        first, *others = states
        self.outputs, self.steps = first.outputs, float(first.steps)
        self.table, self.bias = first.weights(), np.ravel(first.intercepts()).copy()
        for state in others:
            self.table += state.weights()
            self.bias += np.ravel(state.intercepts())
        self.table /= len(states)
        self.bias /= len(states)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the mean of several paths has no {name!r}; look at each of `paths_`")

    @property
    def features(self) -> int:
        """Number of columns."""
        return self.table.shape[1]

    def weights(self) -> np.ndarray:
        """Return all weights, (outputs, features)."""
        return self.table.copy()

    def intercepts(self) -> np.ndarray:
        """Return the intercepts, one per output."""
        return self.bias.copy()

    def score(self, rows: Csr) -> np.ndarray:
        """Return scores of the rows, (rows, outputs)."""
        return self.shares(rows) + self.bias

    def shares(self, rows: Csr) -> np.ndarray:
        """Return scores of the rows without the intercept, (rows, outputs)."""
        return np.asarray(rows.to_scipy() @ self.table.T)

    def count(self, columns=None) -> int:
        """Return the number of nonzero weights."""
        return int(np.count_nonzero(self.table))

    def nonzeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Return cells (feature * outputs + output) and values of nonzero weights, ascending."""
        indices = np.nonzero(self.table.T)
        return indices[0] * self.outputs + indices[1], self.table.T[indices]


def path_contents(state_class: type) -> dict[str, Content]:
    """Return the saved contents of models that can be the mean of several paths.

    They are a state or a mean, the models of the paths, and the fraction of paths that select each
    weight.
    """
    shapes = array("f8", "outputs", "columns"), array("f8", "columns")
    return {
        "_solver_state": one_of(
            *(nested_object(cls, "columns", "outputs") for cls in (state_class, MeanState))
        ),
        "paths_": optional(list_of(any_value())),
        "selection_probability_": optional(one_of(*shapes)),
    }
