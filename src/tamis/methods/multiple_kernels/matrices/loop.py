"""Passes over stacks of packed kernels: upper triangles, row after row, in float32, with sums in
float64.

Row i of a triangle over n rows holds the columns i to n - 1. A stack is (kernels, entries) and may
hold a block of rows only, from `first` up to but not including `last`. Rows are taken a few at a
time, so that what is written or multiplied stays in the nearest cache.
"""

import math
from typing import Any

import numpy as np

from tamis.numerics.csr import product
from tamis.numerics.numba import compiled, copied

ONE, TWO = np.uint64(1), np.uint64(2)
CHUNK = np.uint64(8192)  # entries that are in work at once
TINY = 1e-37  # below it a float32 is nearly 0, and slow


@copied
def begins(row, n):
    """Number of entries before a row."""
    return row * (TWO * n - row + ONE) // TWO


@copied
def ends(row, last, n):
    """The row after a chunk that starts at `row`."""
    stop = row + ONE
    while stop < last and begins(stop + ONE, n) - begins(row, n) <= CHUNK:
        stop += ONE
    return stop


@compiled
def pack(block, first, out):
    """Write the rows of a dense block, which starts at row `first`, as packed entries."""
    n, at = np.uint64(block.shape[1]), np.uint64(0)
    for r in range(np.uint64(block.shape[0])):
        for j in range(first + r, n):
            out[at] = block[r, j]
            at += ONE


@compiled
def column_distances(values, first, last, out):
    """Squared differences of one column, packed."""
    n, at = np.uint64(values.shape[0]), np.uint64(0)
    for i in range(first, last):
        for j in range(i, n):
            difference = values[i] - values[j]
            out[at] = difference * difference
            at += ONE


@compiled
def gaussians(distances, rates, chained, out, at):
    """Write kernels exp(-rate * distance) from the entry `at` on, from wide to narrow.

    A chained one has half the width of the one before, hence is its fourth power.
    """
    for e in range(np.uint64(distances.shape[0])):
        value = 1.0
        for k in range(np.uint64(rates.shape[0])):
            if chained[k]:
                value *= value
                value *= value
            else:
                value = math.exp(-rates[k] * distances[e])
            if value < TINY:
                value = 0.0
            out[k, at + e] = value


@compiled
def add_mixture(stack, factors, first, last, kernel):
    """Add the weighted sum of a stack's kernels to the upper triangle of the dense rows `first` to
    `last`.
    """
    n = np.uint64(kernel.shape[0])
    origin, start = begins(first, n), first
    while start < last:
        stop = ends(start, last, n)
        for k in range(np.uint64(factors.shape[0])):
            factor = factors[k]
            if factor != 0.0:
                for i in range(start, stop):
                    part = stack[k, begins(i, n) - origin : begins(i + ONE, n) - origin]
                    row = kernel[i, i:]
                    for j in range(np.uint64(row.shape[0])):
                        row[j] += factor * part[j]
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
    """Add to `out` the quadratic forms beta' K beta of each kernel, summed over the rows of
    `betas`, as far as rows `first` to `last` go.
    """
    n, problems = np.uint64(betas.shape[1]), np.uint64(betas.shape[0])
    weights = np.empty(max(CHUNK, n) + n)
    origin, start = begins(first, n), first
    while start < last:
        stop, place = ends(start, last, n), begins(start, n)
        for i in range(start, stop):
            at = begins(i, n) - place
            for j in range(i, n):
                total = 0.0
                for m in range(problems):
                    total += betas[m, i] * betas[m, j]
                weights[at + j - i] = total if j == i else 2.0 * total
        for k in range(np.uint64(out.shape[0])):
            for i in range(start, stop):
                at = begins(i, n)
                if weights[at - place] != 0.0:  # the diagonal: a row without weight has none
                    end = begins(i + ONE, n)
                    part = stack[k, at - origin : end - origin]
                    out[k] += product(part, weights[at - place : end - place])
        start = stop
