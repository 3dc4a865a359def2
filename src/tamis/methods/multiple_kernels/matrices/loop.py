"""Passes over stacks of packed kernels: upper triangles, row after row, in float32, with sums in
float64.

Row i of a triangle over n rows holds the columns i to n - 1. A stack has the shape (kernels,
entries); it may hold a block of rows only, from `first` up to but not including `last`. The loops
process a few rows at a time, so that their entries stay in the first-level cache.
"""

import math
from typing import Any

import numpy as np

from tamis.numerics.csr import dot
from tamis.numerics.numba import compiled, source_inlined

ONE, TWO = np.uint64(1), np.uint64(2)
CHUNK_ENTRIES = np.uint64(8192)  # of the rows that are processed at once
MIN_FLOAT32 = 1e-37  # smaller numbers are denormal in float32, and slow


@source_inlined
def row_offset(row, n):
    """Return the number of entries before a row."""
    return row * (TWO * n - row + ONE) // TWO


@source_inlined
def chunk_end(row, last, n):
    """Return the row after the chunk that starts at `row`."""
    stop = row + ONE
    while stop < last and row_offset(stop + ONE, n) - row_offset(row, n) <= CHUNK_ENTRIES:
        stop += ONE
    return stop


@compiled
def pack(block, first, out):
    """Write the rows of a dense block that starts at row `first` as packed entries."""
    n, entry = np.uint64(block.shape[1]), np.uint64(0)
    for r in range(np.uint64(block.shape[0])):
        for j in range(first + r, n):
            out[entry] = block[r, j]
            entry += ONE


@compiled
def column_distances(values, first, last, out):
    """Write the squared differences of one column, packed."""
    n, entry = np.uint64(values.shape[0]), np.uint64(0)
    for i in range(first, last):
        for j in range(i, n):
            difference = values[i] - values[j]
            out[entry] = difference * difference
            entry += ONE


@compiled
def gaussians(distances, rates, is_chained, out, offset):
    """Write the kernels exp(-rate * distance), from wide to narrow, from entry `offset` on.

    A chained kernel has half the width of the one before, so that it is its fourth power.
    """
    for e in range(np.uint64(distances.shape[0])):
        value = 1.0
        for k in range(np.uint64(rates.shape[0])):
            if is_chained[k]:
                value *= value
                value *= value
            else:
                value = math.exp(-rates[k] * distances[e])
            if value < MIN_FLOAT32:
                value = 0.0
            out[k, offset + e] = value


@compiled
def add_mixture(stack, factors, first, last, kernel):
    """Add the weighted sum of a stack's kernels to the upper triangle of the dense rows `first` to
    `last`.
    """
    n = np.uint64(kernel.shape[0])
    stack_offset, start = row_offset(first, n), first
    while start < last:
        stop = chunk_end(start, last, n)
        for k in range(np.uint64(factors.shape[0])):
            factor = factors[k]
            if factor != 0.0:
                for i in range(start, stop):
                    entries = stack[
                        k, row_offset(i, n) - stack_offset : row_offset(i + ONE, n) - stack_offset
                    ]
                    row = kernel[i, i:]
                    for j in range(np.uint64(row.shape[0])):
                        row[j] += factor * entries[j]
        start = stop


@compiled
def mirror(kernel):
    """Copy the upper triangle of a square matrix to the lower one, tile by tile."""
    n: Any = np.uint64(kernel.shape[0])
    tile: Any = np.uint64(32)
    for rows in range(np.uint64(0), n, tile):
        for columns in range(np.uint64(0), rows + tile, tile):
            for i in range(rows, min(rows + tile, n)):
                for j in range(columns, min(columns + tile, i)):
                    kernel[i, j] = kernel[j, i]


@compiled
def add_forms(stack, betas, first, last, out):
    """Add to `out` the terms of the rows `first` to `last` in the quadratic form beta' K beta of
    each kernel, summed over the rows of `betas`.
    """
    n, n_machines = np.uint64(betas.shape[1]), np.uint64(betas.shape[0])
    weights = np.empty(max(CHUNK_ENTRIES, n) + n)
    stack_offset, start = row_offset(first, n), first
    while start < last:
        stop, chunk_offset = chunk_end(start, last, n), row_offset(start, n)
        for i in range(start, stop):
            begin = row_offset(i, n) - chunk_offset
            for j in range(i, n):
                total = 0.0
                for m in range(n_machines):
                    total += betas[m, i] * betas[m, j]
                weights[begin + j - i] = total if j == i else 2.0 * total
        for k in range(np.uint64(out.shape[0])):
            for i in range(start, stop):
                begin = row_offset(i, n)
                if (
                    weights[begin - chunk_offset] != 0.0
                ):  # the diagonal entry is 0 iff the row has no weight
                    end = row_offset(i + ONE, n)
                    entries = stack[k, begin - stack_offset : end - stack_offset]
                    out[k] += dot(entries, weights[begin - chunk_offset : end - chunk_offset])
        start = stop
