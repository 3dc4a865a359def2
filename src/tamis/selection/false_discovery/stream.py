"""Selection from rows that are read a few times and never held whole.

One reading measures the columns, one screens them by learners in one pass, one multiplies the
candidates with all columns, and one keeps the few columns that the tests look at.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.splits import split_halves
from tamis.numerics.hashing import row_hashes
from tamis.numerics.moments import add_raw_moments
from tamis.selection.false_discovery.conditional_test import Block, DesignBlocks
from tamis.selection.false_discovery.controls import CorrelatedColumns, leading_components, split_by_correlation
from tamis.selection.false_discovery.fit import (
    DesignPlan,
    SelectionOptions,
    SelectionResult,
    run_and_correct,
    max_correlates,
    plan,
)
from tamis.selection.false_discovery.screening.by_pass import OnePassScreen
from tamis.selection.false_discovery.screening.by_path import ScreenResult, noise_correlation
from tamis.selection.false_discovery.standardized_columns import MIN_NONZEROS, StandardizedColumns

SAMPLE_ROWS = 4096  # rows in which common factors are sought
MIN_RELATIVE_DEVIATION = 1e-7  # of a column's size: sums of squares cannot tell less from nothing
ROWS = 8192  # of a block of a sheet


class OutcomeChunk(NamedTuple):
    """Some rows, their targets (rows, outputs) and weights."""

    X: sp.csr_array
    outcomes: np.ndarray
    weights: np.ndarray


class ColumnMoments:
    """Sums of all columns, as they are met, and rows of a fixed sample."""

    def __init__(self) -> None:
        self.sums = np.zeros((3, 0))  # of weighted numbers, of their squares, and of nonzeros
        self.total, self.n_rows, self.nonzeros = 0.0, 0, 0
        self.sample: list[tuple[np.ndarray, sp.csr_array]] = []

    def add(self, X: sp.csr_array, weights: np.ndarray) -> None:
        """Take in some rows."""
        if X.shape[1] > self.sums.shape[1]:
            self.sums = np.pad(self.sums, ((0, 0), (0, X.shape[1] - self.sums.shape[1])))
        add_raw_moments(X.data, X.indices, X.indptr, weights, self.sums)
        self.sums[2, : X.shape[1]] += X.count_nonzero(axis=0)
        self.total += float(weights.sum())
        self.n_rows += X.shape[0]
        self.nonzeros += X.nnz
        self._draw(X)

    def _draw(self, X: sp.csr_array) -> None:
        """Keep the rows of the smallest hashes: which ones does not depend on their order."""
        hashes = row_hashes(X)
        few = np.argsort(hashes, kind="stable")[:SAMPLE_ROWS]
        self.sample.append((hashes[few], X[few]))
        if sum(len(part) for part, _ in self.sample) >= 2 * SAMPLE_ROWS:
            self.sample = [self._drawn()]

    def _drawn(self) -> tuple[np.ndarray, sp.csr_array]:
        hashes = np.concatenate([part for part, _ in self.sample])
        rows = [widened(part, self.sums.shape[1]) for _, part in self.sample]
        few = np.argsort(hashes, kind="stable")[:SAMPLE_ROWS]
        return hashes[few], sp.csr_array(sp.vstack(rows, format="csr")[few])

    def loadings(self) -> np.ndarray:
        """Common factors of the sampled rows."""
        _, rows = self._drawn()
        return leading_components(StandardizedColumns(rows, np.ones(rows.shape[0])))


class ColumnScaling:
    """Means and units of the columns, as `StandardizedColumns` has them."""

    def __init__(self, moments: ColumnMoments):
        sums, squares, ones = moments.sums
        self.total, self.n_rows, self.n_columns = moments.total, moments.n_rows, len(sums)
        self.means, self.ones = sums / moments.total, ones.astype(np.int64)
        square = np.maximum(squares / moments.total - self.means**2, 0.0)
        flat = (square <= MIN_RELATIVE_DEVIATION**2 * (square + self.means**2)) | (self.ones < MIN_NONZEROS)
        self.units = np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, square)))


class DesignRows(NamedTuple):
    """What tests look at of a chunk: a few columns, common factors, targets and weights."""

    own: sp.csr_array
    factors: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        """All that there is to keep."""
        return self.own.data, self.own.indices, self.own.indptr, *self[1:]


class DesignStore:
    """What tests look at, which is gone over some fifty times: in memory up to so many bytes, the
    rest in a temporary file.
    """

    def __init__(self, memory: int, width: int):
        self.left, self.width, self.filed = memory, width, 0
        self.held: list[DesignRows] = []
        self.folder: tempfile.TemporaryDirectory | None = None

    def add(self, part: DesignRows) -> None:
        """Keep another part."""
        self.left -= sum(array.nbytes for array in part.arrays())
        if self.left >= 0:
            self.held.append(part)
            return
        self.folder = self.folder or tempfile.TemporaryDirectory(prefix="tamis-")
        with open(self._file(), "ab") as file:
            for array in part.arrays():
                np.save(file, array, allow_pickle=False)
        self.filed += 1

    def _file(self) -> Path:
        assert self.folder is not None
        return Path(self.folder.name) / "parts"

    def __iter__(self) -> Iterator[DesignRows]:
        yield from self.held
        if not self.filed:
            return
        with open(self._file(), "rb") as file:
            for _ in range(self.filed):
                data, indices, indptr, factors, outcomes, weights = (
                    np.load(file, allow_pickle=False) for _ in range(6)
                )
                own = sp.csr_array((data, indices, indptr), (len(weights), self.width))
                yield DesignRows(own, factors, outcomes, weights)

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *failed) -> None:
        if self.folder is not None:
            self.folder.cleanup()


def select_rows(
    chunks: Callable[[], Iterator[OutcomeChunk]],
    moments: ColumnMoments,
    rules: SelectionOptions,
    how: str,
    also: np.ndarray,
    memory: int,
) -> tuple[ColumnScaling, SelectionResult]:
    """Screen, test and claim by readings of the chunks; `memory` bounds the bytes that the
    correlations take, and the columns that are kept in memory for the tests.
    """
    measured = ColumnScaling(moments)
    screened = [one.with_candidates(also) for one in _screened(chunks, measured, rules, how)]
    distinct = np.unique(np.concatenate([screen.candidates for screen in screened]))
    companies = _companies(chunks, measured, distinct, rules, memory)
    planned = plan(screened, dict(zip(distinct.tolist(), companies, strict=True)))
    loadings = moments.loadings()
    with DesignStore(memory, len(planned.union)) as parts:
        sheet, sides = _sheet(chunks, measured, planned, loadings, memory, parts)
        sizes = measured.n_columns, len(screened)
        return measured, run_and_correct(sheet, planned, sizes, rules, loadings, sides)


def _screened(chunks, measured: ColumnScaling, rules: SelectionOptions, how: str) -> list[ScreenResult]:
    """By learners in one pass; that of numbers first asks how far they spread."""
    spread = 0.5
    if not rules.logistic:
        sums = [(w.sum(), w @ y, w @ y**2) for _, y, w in chunks()]
        total, level, square = (sum(part) for part in zip(*sums, strict=True))
        spread = float(np.sqrt(np.maximum(square / total - (level / total) ** 2, 0.0)).mean())
    learners = OnePassScreen(measured.n_columns, measured.total, spread, rules.logistic, how)
    for X, outcomes, weights in chunks():
        scaled = widened(X, measured.n_columns)
        data = scaled.data * measured.units[scaled.indices]
        scaled = sp.csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)
        learners.learn(scaled, outcomes, weights)
    return learners.screened(rules.n_candidates)


def _companies(
    chunks, measured: ColumnScaling, candidates: np.ndarray, rules: SelectionOptions, memory: int
) -> list[CorrelatedColumns]:
    """Company of all candidates, from as many readings as their correlations need."""
    found: list[CorrelatedColumns] = []
    least = noise_correlation(measured.n_columns, measured.total)
    near = max_correlates(rules.n_controls, measured.total)
    wide = max(1, memory // (16 * measured.n_columns))
    for start in range(0, len(candidates), wide):
        block = candidates[start : start + wide]
        products = np.zeros(measured.n_columns * len(block))
        for X, _, weights in chunks():
            X = widened(X, measured.n_columns)
            own = sp.csr_array(X[:, block].multiply(weights[:, None]))
            part = sp.coo_array(X.T @ own)
            products[part.row.astype(np.int64) * len(block) + part.col] += part.data
        table = products.reshape(measured.n_columns, len(block)) / measured.total
        table -= np.outer(measured.means, measured.means[block])
        table *= measured.units[:, None]
        table *= measured.units[block]
        found += split_by_correlation(table, block, rules.substitutes, near, least)
    return found


def _sheet(
    chunks, measured: ColumnScaling, planned: DesignPlan, loadings: np.ndarray, memory: int, parts: DesignStore
) -> tuple[DesignBlocks, np.ndarray]:
    """The columns that tests look at, kept from one reading; and the half that each row is in."""
    union, width = planned.union, len(planned.union) + loadings.shape[1] + 1
    means, units = measured.means[union], measured.units[union]
    scaled = measured.units[:, None] * loadings
    middle = measured.means @ scaled
    sides, square = [], np.zeros(loadings.shape[1])
    for X, outcomes, weights in chunks():
        X = widened(X, measured.n_columns)
        factors = np.asarray(X @ scaled) - middle
        parts.add(DesignRows(sp.csr_array(X[:, union]), factors, outcomes, weights))
        sides.append(split_halves(row_hashes(X)))
        square += weights @ factors**2
    factor = 1.0 / np.sqrt(np.maximum(square / measured.total, 1e-300))

    # Sparse columns stay where they are, since every test has a constant; full ones are centred,
    # so that a large mean costs no digits.
    full = np.flatnonzero(measured.ones[union] > measured.n_rows / 2)

    def block(own: sp.csr_array, factors, outcomes, weights) -> Block:
        count = own.shape[0]
        table = np.zeros((count, width), order="F")
        places = own.indices.astype(np.int64) * count + np.repeat(
            np.arange(count), np.diff(own.indptr)
        )
        table.T.reshape(-1)[places] = own.data * units[own.indices]
        table[:, full] -= means[full] * units[full]
        table[:, len(union) : -1] = factors * factor
        table[:, -1] = 1.0
        return table, outcomes, weights

    def blocks() -> Iterable[Block]:
        for own, factors, outcomes, weights in parts:
            for start in range(0, own.shape[0], ROWS):
                rows = slice(start, start + ROWS)
                yield block(own[rows], factors[rows], outcomes[rows], weights[rows])

    found = np.concatenate(sides)
    if 8 * measured.n_rows * width <= memory:
        dense = list(blocks())
        parts.held = []
        return DesignBlocks(lambda: dense, measured.total, width), found
    return DesignBlocks(blocks, measured.total, width), found


def widened(X: Any, width: int) -> sp.csr_array:
    """Rows with columns at their right that they lack."""
    return (
        X
        if X.shape[1] == width
        else sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width))
    )
