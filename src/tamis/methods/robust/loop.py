"""Compiled loops: multipliers of the cutting planes, and rows with worst-case deleted features."""

import numpy as np

from tamis.numerics.numba import compiled


@compiled
def maximize_on_simplex(gram, offsets, cost, multipliers, max_steps, tol):
    """Maximise ``cost * offsets'a - cost**2 / 2 * a'Ga`` over the simplex, two multipliers at a
    time; return a bound on the distance from the maximum.

    `multipliers` is the start and is overwritten. Each step transfers weight to the plane of the
    largest derivative from the plane of the smallest one among those with a positive multiplier.
    """
    m = multipliers.shape[0]
    gradient = np.empty(m)
    for k in range(m):
        gradient[k] = cost * offsets[k]
        for l in range(m):
            gradient[k] -= cost * cost * gram[k, l] * multipliers[l]
    gap = np.inf
    for _ in range(max_steps):
        best, worst, mean = 0, -1, 0.0
        for k in range(m):
            mean += multipliers[k] * gradient[k]
            if gradient[k] > gradient[best]:
                best = k
            if multipliers[k] > 0.0 and (worst < 0 or gradient[k] < gradient[worst]):
                worst = k
        gap = gradient[best] - mean
        if gap <= tol or best == worst:
            break
        curvature = cost * cost * (gram[best, best] + gram[worst, worst] - 2.0 * gram[best, worst])
        increase = gradient[best] - gradient[worst]
        step = (
            multipliers[worst]
            if curvature * multipliers[worst] <= increase
            else increase / curvature
        )
        multipliers[best] += step
        multipliers[worst] -= step
        for k in range(m):
            gradient[k] -= cost * cost * step * (gram[k, best] - gram[k, worst])
    return gap


@compiled
def mark_deleted(data, indices, indptr, signs, weights, max_deleted, margin_losses, is_deleted):
    """Mark the entries of each row, at most `max_deleted`, that contribute most to its margin, and
    write the sum of their contributions to `margin_losses`.
    """
    one = np.uint64(1)
    values, positions = np.zeros(max_deleted), np.zeros(max_deleted, dtype=np.uint64)
    is_deleted[:] = 0
    for i in range(signs.shape[0]):
        row, n_selected, smallest = np.uint64(i), 0, 0
        for k in range(indptr[row], indptr[row + one]):
            value = signs[i] * weights[indices[k]] * data[k]
            if value <= 0.0:
                continue
            if n_selected < max_deleted:
                slot = n_selected
                n_selected += 1
            elif value > values[smallest]:
                slot = smallest
            else:
                continue
            values[slot], positions[slot] = value, k
            smallest = 0
            for q in range(1, n_selected):
                if values[q] < values[smallest]:
                    smallest = q
        margin_losses[i] = 0.0
        for q in range(n_selected):
            margin_losses[i] += values[q]
            is_deleted[positions[q]] = 1


@compiled
def add_remaining_rows(data, indices, indptr, is_deleted, row_gradients, total):
    """Add the rows times `row_gradients`, without deleted entries, to `total`."""
    one = np.uint64(1)
    for i in range(row_gradients.shape[0]):
        if row_gradients[i] != 0.0:
            row = np.uint64(i)
            for k in range(indptr[row], indptr[row + one]):
                if is_deleted[k] == 0:
                    total[indices[k]] += row_gradients[i] * data[k]
