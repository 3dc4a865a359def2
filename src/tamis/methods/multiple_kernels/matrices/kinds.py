"""Kernels by name: what a dictionary holds, how its kernels are called, and which of them share
their distances.
"""

from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tamis.solvers.standard import StandardRows
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
        "parameter": one_of(number(float, above=0.0), number(int, least=1)),
        "columns": one_of(None, index_tuple("columns")),
        "label": text(),
    }

    kind: str
    parameter: float
    columns: tuple[int, ...] | None  # None: all of them
    label: str

    @property
    def name(self) -> str:
        """The kernel in words."""
        word = {"gaussian": "width", "polynomial": "degree"}[self.kind]
        return f"{self.kind}({self.label}, {word}={self.parameter:g})"


class Shared:
    """Kernels on the same columns: Gaussians first, from wide to narrow, then polynomials by
    degree; `places` is where each stands.
    """

    def __init__(self, columns, kernels, places):
        order = sorted(range(len(kernels)), key=lambda k: (kernels[k].kind, -kernels[k].parameter))
        self.columns = None if columns is None else np.array(columns, dtype=np.intp)
        self.places = np.array([places[k] for k in order], dtype=np.intp)
        self.gaussian = np.array([kernels[k].kind == "gaussian" for k in order], dtype=bool)
        parameters = np.array([kernels[k].parameter for k in order], dtype=np.float64)
        self.widths, self.degrees = parameters[self.gaussian], parameters[~self.gaussian]

    @property
    def is_single(self) -> bool:
        """Whether they look at one column."""
        return self.columns is not None and len(self.columns) == 1

    def without_polynomials(self) -> "Shared":
        """Only the Gaussians."""
        other = copy(self)
        other.places, other.degrees = self.places[self.gaussian], self.degrees[:0]
        other.gaussian = self.gaussian[self.gaussian]
        return other

    def of(self, rows: StandardRows) -> StandardRows:
        """The columns that these kernels look at."""
        return rows if self.columns is None else rows.columns(self.columns)

    def mixture(self, rows: StandardRows, others: StandardRows, factors: np.ndarray) -> np.ndarray:
        """Weighted sum of the kernels between rows, both already of these columns."""
        inner = rows.products(others)
        total = np.zeros(inner.shape)
        if factors[self.gaussian].any():
            squares = rows.squares()[:, None] + others.squares()
            distances = np.maximum(squares - 2.0 * inner, 0.0)
            for width, factor in zip(self.widths, factors[self.gaussian], strict=True):
                if factor:
                    total += factor * np.exp(distances / (-2.0 * width**2))
        for degree, factor in zip(self.degrees, factors[~self.gaussian], strict=True):
            if factor:
                total += factor * (inner + 1.0) ** degree
        return total


def by_columns(kernels, places=None) -> list[Shared]:
    """The kernels of a dictionary, those on the same columns together; `places` is where each
    stands among all kernels.
    """
    found: dict = {}
    for k, kernel in enumerate(kernels):
        found.setdefault(kernel.columns, []).append(k)
    places = range(len(kernels)) if places is None else places
    return [
        Shared(columns, [kernels[k] for k in own], [places[k] for k in own])
        for columns, own in found.items()
    ]


def cross_mixture(
    kernels, factors: np.ndarray, rows: StandardRows, others: StandardRows
) -> np.ndarray:
    """Weighted sum of a dictionary's kernels between two sets of rows; kernels of factor 0 cost
    nothing.
    """
    used = np.flatnonzero(factors)
    total = np.zeros((len(rows), len(others)))
    for shared in by_columns([kernels[k] for k in used]):
        total += shared.mixture(shared.of(rows), shared.of(others), factors[used][shared.places])
    return total
