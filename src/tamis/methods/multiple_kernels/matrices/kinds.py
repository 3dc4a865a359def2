"""Kernels of a dictionary: their kinds and names, and the groups of them that share their
distances.
"""

from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tamis.solvers.standard import StandardizedRows
from tamis.system.schema import choice, index_tuple, number, one_of, text

WIDTHS = tuple(2.0**k for k in range(-3, 7))
DEGREES = (1, 2, 3)


@dataclass(frozen=True)
class Kernel:
    """One kernel of a dictionary, on columns in standard units.

    A Gaussian is ``exp(-||x - z||**2 / (2 * parameter**2))``, a polynomial ``(x.z +
    1)**parameter``.
    """

    _contents: ClassVar[dict] = {
        "kind": choice("gaussian", "polynomial"),
        "parameter": one_of(number(float, above=0.0), number(int, minimum=1)),
        "columns": one_of(None, index_tuple("columns")),
        "label": text(),
    }

    kind: str
    parameter: float
    columns: tuple[int, ...] | None  # None: all of them
    label: str

    @property
    def name(self) -> str:
        """Name with the columns and the parameter, such as "gaussian(age, width=0.5)"."""
        parameter_name = {"gaussian": "width", "polynomial": "degree"}[self.kind]
        return f"{self.kind}({self.label}, {parameter_name}={self.parameter:g})"


class ColumnKernels:
    """Kernels on the same columns: Gaussians first, from wide to narrow, then polynomials by
    decreasing degree. `indices` are their positions among all kernels.
    """

    def __init__(self, columns, kernels, indices):
        order = sorted(range(len(kernels)), key=lambda k: (kernels[k].kind, -kernels[k].parameter))
        self.columns = None if columns is None else np.array(columns, dtype=np.intp)
        self.indices = np.array([indices[k] for k in order], dtype=np.intp)
        self.is_gaussian = np.array([kernels[k].kind == "gaussian" for k in order], dtype=bool)
        parameters = np.array([kernels[k].parameter for k in order], dtype=np.float64)
        self.widths, self.degrees = parameters[self.is_gaussian], parameters[~self.is_gaussian]

    @property
    def is_single(self) -> bool:
        """Whether the kernels use one column."""
        return self.columns is not None and len(self.columns) == 1

    def without_polynomials(self) -> "ColumnKernels":
        """Return the Gaussians alone."""
        gaussians = copy(self)
        gaussians.indices, gaussians.degrees = self.indices[self.is_gaussian], self.degrees[:0]
        gaussians.is_gaussian = self.is_gaussian[self.is_gaussian]
        return gaussians

    def select_columns(self, rows: StandardizedRows) -> StandardizedRows:
        """Return the columns that these kernels use."""
        return rows if self.columns is None else rows.columns(self.columns)

    def mixture(
        self, rows: StandardizedRows, others: StandardizedRows, factors: np.ndarray
    ) -> np.ndarray:
        """Return the weighted sum of the kernels between two sets of rows, whose columns are
        selected already.
        """
        inner = rows.products(others)
        total = np.zeros(inner.shape)
        if factors[self.is_gaussian].any():
            squares = rows.squares()[:, None] + others.squares()
            distances = np.maximum(squares - 2.0 * inner, 0.0)
            for width, factor in zip(self.widths, factors[self.is_gaussian], strict=True):
                if factor:
                    total += factor * np.exp(distances / (-2.0 * width**2))
        for degree, factor in zip(self.degrees, factors[~self.is_gaussian], strict=True):
            if factor:
                total += factor * (inner + 1.0) ** degree
        return total


def group_by_columns(kernels, indices=None) -> list[ColumnKernels]:
    """Group the kernels of a dictionary by their columns. `indices` are their positions among all
    kernels.
    """
    groups: dict = {}
    for k, kernel in enumerate(kernels):
        groups.setdefault(kernel.columns, []).append(k)
    indices = range(len(kernels)) if indices is None else indices
    return [
        ColumnKernels(columns, [kernels[k] for k in members], [indices[k] for k in members])
        for columns, members in groups.items()
    ]


def cross_mixture(
    kernels, factors: np.ndarray, rows: StandardizedRows, others: StandardizedRows
) -> np.ndarray:
    """Return the weighted sum of a dictionary's kernels between two sets of rows; kernels of factor
    0 are not computed.
    """
    used = np.flatnonzero(factors)
    total = np.zeros((len(rows), len(others)))
    for group in group_by_columns([kernels[k] for k in used]):
        total += group.mixture(
            group.select_columns(rows), group.select_columns(others), factors[used][group.indices]
        )
    return total
