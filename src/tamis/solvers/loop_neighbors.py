"""Compiled part of the brute-force neighbour search: nearest rows of the same class and of other
classes, from tiles of inner products.
"""

from tamis.numerics.numba import compiled, compiled_helper


@compiled_helper
def insert_neighbor(distance, row, other, side, distances, neighbors):
    """Insert `other` into the sorted neighbours of `row` on one side (0: same class, 1: others)."""
    position = distances.shape[2] - 1
    while position > 0 and distance < distances[row, side, position - 1]:
        distances[row, side, position] = distances[row, side, position - 1]
        neighbors[row, side, position] = neighbors[row, side, position - 1]
        position -= 1
    distances[row, side, position], neighbors[row, side, position] = distance, other


@compiled
def update_neighbors(
    inner_products, squared_norms, codes, first_row, first_other, distances, neighbors
):
    """Update the neighbours of the rows of one tile.

    `inner_products` are those of the rows from `first_row` on with the rows from `first_other` on,
    where ``first_other >= first_row``. `distances` and `neighbors` have shape (rows, 2, k): same
    class, other classes.
    """
    last, two = distances.shape[2] - 1, squared_norms.dtype.type(2.0)
    for i in range(inner_products.shape[0]):
        row = first_row + i
        square, code = squared_norms[row], codes[row]
        for j in range(i + 1 if first_row == first_other else 0, inner_products.shape[1]):
            other = first_other + j
            side = int(codes[other] != code)
            distance = square + squared_norms[other] - two * inner_products[i, j]
            # One test for both rows; it nearly always fails.
            if distance < max(distances[row, side, last], distances[other, side, last]):
                if distance < distances[row, side, last]:
                    insert_neighbor(distance, row, other, side, distances, neighbors)
                if distance < distances[other, side, last]:
                    insert_neighbor(distance, other, row, side, distances, neighbors)
