"""Selection from rows that are read a few times and never held in memory as a whole.

One pass sums the columns, one screens them by online learners, one multiplies the candidates with
all columns, and one stores the few columns that the tests need.
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
from tamis.selection.false_discovery.controls import (
    CorrelatedColumns,
    leading_components,
    split_by_correlation,
)
from tamis.selection.false_discovery.fit import (
    DesignPlan,
    SelectionOptions,
    SelectionResult,
    max_correlates,
    plan_tests,
    run_and_correct,
)
from tamis.selection.false_discovery.screening.by_pass import OnePassScreen
from tamis.selection.false_discovery.screening.by_path import ScreenResult, noise_correlation
from tamis.selection.false_discovery.standardized_columns import (
    MIN_NONZEROS,
    StandardizedColumns,
)

SAMPLE_ROWS = 4096  # rows from which common factors are computed
BLOCK_ROWS = 8192  # rows of one block of the design


class OutcomeChunk(NamedTuple):
    """Rows, their outcomes (rows, outputs) and their weights."""

    X: sp.csr_array
    outcomes: np.ndarray
    weights: np.ndarray


class ColumnMoments:
    """Sums of every column over the rows of a stream, and a fixed sample of the rows."""

    def __init__(self) -> None:
        self.sums = np.zeros((3, 0))  # weighted values, weighted squares, number of nonzeros
        self.total_weight, self.n_rows, self.nonzeros = 0.0, 0, 0
        self.sample: list[tuple[np.ndarray, sp.csr_array]] = []

    def add(self, X: sp.csr_array, weights: np.ndarray) -> None:
        """Add rows to the sums and to the sample."""
        if X.shape[1] > self.sums.shape[1]:
            self.sums = np.pad(self.sums, ((0, 0), (0, X.shape[1] - self.sums.shape[1])))
        add_raw_moments(X.data, X.indices, X.indptr, weights, self.sums)
        self.sums[2, : X.shape[1]] += X.count_nonzero(axis=0)
        self.total_weight += float(weights.sum())
        self.n_rows += X.shape[0]
        self.nonzeros += X.nnz
        self._add_to_sample(X)

    def _add_to_sample(self, X: sp.csr_array) -> None:
        """Sample the rows with the smallest hashes, so that the order of rows does not matter."""
        hashes = row_hashes(X)
        smallest = np.argsort(hashes, kind="stable")[:SAMPLE_ROWS]
        self.sample.append((hashes[smallest], X[smallest]))
        if sum(len(hashes) for hashes, _ in self.sample) >= 2 * SAMPLE_ROWS:
            self.sample = [self._merged_sample()]

    def _merged_sample(self) -> tuple[np.ndarray, sp.csr_array]:
        """Return the hashes and the rows of the sample."""
        hashes = np.concatenate([chunk for chunk, _ in self.sample])
        rows = [widen(chunk, self.sums.shape[1]) for _, chunk in self.sample]
        smallest = np.argsort(hashes, kind="stable")[:SAMPLE_ROWS]
        return hashes[smallest], sp.csr_array(sp.vstack(rows, format="csr")[smallest])

    def loadings(self) -> np.ndarray:
        """Return the loadings of the common factors of the sample."""
        _, rows = self._merged_sample()
        return leading_components(StandardizedColumns(rows, np.ones(rows.shape[0])))


class ColumnScaling:
    """Means and scale factors of the columns, with the names of `StandardizedColumns`."""

    def __init__(self, moments: ColumnMoments, *, min_relative_deviation: float = 1e-7):
        """Sums of squares cannot tell a deviation below `min_relative_deviation` times the size of
        the column from 0.
        """
        sums, squares, n_nonzeros = moments.sums
        self.total_weight, self.n_rows = moments.total_weight, moments.n_rows
        self.n_columns = len(sums)
        self.means, self.n_nonzeros = sums / moments.total_weight, n_nonzeros.astype(np.int64)
        variances = np.maximum(squares / moments.total_weight - self.means**2, 0.0)
        is_constant = (variances <= min_relative_deviation**2 * (variances + self.means**2)) | (
            self.n_nonzeros < MIN_NONZEROS
        )
        self.units = np.where(
            is_constant, 0.0, 1.0 / np.sqrt(np.where(is_constant, 1.0, variances))
        )


class DesignRows(NamedTuple):
    """What the tests need of a chunk: sparse columns, common factors, outcomes and weights."""

    columns: sp.csr_array
    factors: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that store the chunk."""
        return self.columns.data, self.columns.indices, self.columns.indptr, *self[1:]


class DesignStore:
    """Chunks that the tests read some fifty times: in memory up to `memory` bytes, the others in a
    temporary file.
    """

    def __init__(self, memory: int, n_columns: int):
        self.bytes_left, self.n_columns, self.n_on_disk = memory, n_columns, 0
        self.in_memory: list[DesignRows] = []
        self.directory: tempfile.TemporaryDirectory | None = None

    def add(self, rows: DesignRows) -> None:
        """Store a chunk."""
        self.bytes_left -= sum(array.nbytes for array in rows.arrays())
        if self.bytes_left >= 0:
            self.in_memory.append(rows)
            return
        self.directory = self.directory or tempfile.TemporaryDirectory(prefix="tamis-")
        with open(self._path(), "ab") as file:
            for array in rows.arrays():
                np.save(file, array, allow_pickle=False)
        self.n_on_disk += 1

    def _path(self) -> Path:
        assert self.directory is not None
        return Path(self.directory.name) / "parts"

    def __iter__(self) -> Iterator[DesignRows]:
        yield from self.in_memory
        if not self.n_on_disk:
            return
        with open(self._path(), "rb") as file:
            for _ in range(self.n_on_disk):
                data, indices, indptr, factors, outcomes, weights = (
                    np.load(file, allow_pickle=False) for _ in range(6)
                )
                columns = sp.csr_array((data, indices, indptr), (len(weights), self.n_columns))
                yield DesignRows(columns, factors, outcomes, weights)

    def __enter__(self) -> "DesignStore":
        return self

    def __exit__(self, *failure) -> None:
        if self.directory is not None:
            self.directory.cleanup()


def select_rows(
    chunks: Callable[[], Iterator[OutcomeChunk]],
    moments: ColumnMoments,
    options: SelectionOptions,
    method: str,
    also: np.ndarray,
    memory: int,
) -> tuple[ColumnScaling, SelectionResult]:
    """Screen, test and correct; each call of `chunks` reads all rows.

    `memory` bounds the bytes of the correlations, and of the columns in memory for the tests.
    """
    scaling = ColumnScaling(moments)
    screened = [
        screen.with_candidates(also) for screen in _screen_chunks(chunks, scaling, options, method)
    ]
    distinct = np.unique(np.concatenate([screen.candidates for screen in screened]))
    correlated = _correlate(chunks, scaling, distinct, options, memory)
    plan = plan_tests(screened, dict(zip(distinct.tolist(), correlated, strict=True)))
    loadings = moments.loadings()
    with DesignStore(memory, len(plan.design_columns)) as store:
        design, row_halves = _build_design(chunks, scaling, plan, loadings, memory, store)
        shape = scaling.n_columns, len(screened)
        return scaling, run_and_correct(design, plan, shape, options, loadings, row_halves)


def _screen_chunks(
    chunks, scaling: ColumnScaling, options: SelectionOptions, method: str
) -> list[ScreenResult]:
    """Screen by online learners in one pass; numbers need another one for their deviation."""
    deviation = 0.5
    if not options.logistic:
        sums = [(w.sum(), w @ y, w @ y**2) for _, y, w in chunks()]
        total_weight, level, square = (sum(terms) for terms in zip(*sums, strict=True))
        variances = np.maximum(square / total_weight - (level / total_weight) ** 2, 0.0)
        deviation = float(np.sqrt(variances).mean())
    learners = OnePassScreen(
        scaling.n_columns, scaling.total_weight, deviation, options.logistic, method
    )
    for X, outcomes, weights in chunks():
        scaled = widen(X, scaling.n_columns)
        data = scaled.data * scaling.units[scaled.indices]
        scaled = sp.csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)
        learners.learn(scaled, outcomes, weights)
    return learners.results(options.n_candidates)


def _correlate(
    chunks, scaling: ColumnScaling, candidates: np.ndarray, options: SelectionOptions, memory: int
) -> list[CorrelatedColumns]:
    """Return the correlated columns of each candidate; reads the rows once per block that fits."""
    correlated: list[CorrelatedColumns] = []
    min_correlation = noise_correlation(scaling.n_columns, scaling.total_weight)
    n_correlates = max_correlates(options.n_controls, scaling.total_weight)
    block_size = max(1, memory // (16 * scaling.n_columns))
    for start in range(0, len(candidates), block_size):
        block = candidates[start : start + block_size]
        products = np.zeros(scaling.n_columns * len(block))
        for X, _, weights in chunks():
            X = widen(X, scaling.n_columns)
            weighted = sp.csr_array(X[:, block].multiply(weights[:, None]))
            product = sp.coo_array(X.T @ weighted)
            products[product.row.astype(np.int64) * len(block) + product.col] += product.data
        table = products.reshape(scaling.n_columns, len(block)) / scaling.total_weight
        table -= np.outer(scaling.means, scaling.means[block])
        table *= scaling.units[:, None]
        table *= scaling.units[block]
        correlated += split_by_correlation(
            table, block, options.substitutes, n_correlates, min_correlation
        )
    return correlated


def _build_design(
    chunks,
    scaling: ColumnScaling,
    plan: DesignPlan,
    loadings: np.ndarray,
    memory: int,
    store: DesignStore,
) -> tuple[DesignBlocks, np.ndarray]:
    """Read the rows once, store the design, and return it with the half of each row."""
    union, width = plan.design_columns, len(plan.design_columns) + loadings.shape[1] + 1
    means, units = scaling.means[union], scaling.units[union]
    scaled_loadings = scaling.units[:, None] * loadings
    factor_means = scaling.means @ scaled_loadings
    halves, squares = [], np.zeros(loadings.shape[1])
    for X, outcomes, weights in chunks():
        X = widen(X, scaling.n_columns)
        factors = np.asarray(X @ scaled_loadings) - factor_means
        store.add(DesignRows(sp.csr_array(X[:, union]), factors, outcomes, weights))
        halves.append(split_halves(row_hashes(X)))
        squares += weights @ factors**2
    factor_scale = 1.0 / np.sqrt(np.maximum(squares / scaling.total_weight, 1e-300))

    # Sparse columns are not centred, since every test has a constant; dense ones are, so that a
    # large mean costs no digits.
    dense_columns = np.flatnonzero(scaling.n_nonzeros[union] > scaling.n_rows / 2)

    def block(columns: sp.csr_array, factors, outcomes, weights) -> Block:
        n_rows = columns.shape[0]
        table = np.zeros((n_rows, width), order="F")
        positions = columns.indices.astype(np.int64) * n_rows + np.repeat(
            np.arange(n_rows), np.diff(columns.indptr)
        )
        table.T.reshape(-1)[positions] = columns.data * units[columns.indices]
        table[:, dense_columns] -= means[dense_columns] * units[dense_columns]
        table[:, len(union) : -1] = factors * factor_scale
        table[:, -1] = 1.0
        return table, outcomes, weights

    def blocks() -> Iterable[Block]:
        for columns, factors, outcomes, weights in store:
            for start in range(0, columns.shape[0], BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                yield block(columns[rows], factors[rows], outcomes[rows], weights[rows])

    row_halves = np.concatenate(halves)
    if 8 * scaling.n_rows * width <= memory:
        cached = list(blocks())
        store.in_memory = []
        return DesignBlocks(lambda: cached, scaling.total_weight, width), row_halves
    return DesignBlocks(blocks, scaling.total_weight, width), row_halves


def widen(X: Any, width: int) -> sp.csr_array:
    """Return the rows with `width` columns; the new ones are 0."""
    if X.shape[1] == width:
        return X
    return sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width))
