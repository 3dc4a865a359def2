"""The pass of a neighbour search: the nearest rows of the own class and of the others, from tiles
of inner products.
"""

from tamis.numerics.numba import compiled, helper


@helper
def offer(distance, row, other, kind, best, nearest):
    """Put a row among the nearest ones of another, which lie in order."""
    place = best.shape[2] - 1
    while place > 0 and distance < best[row, kind, place - 1]:
        best[row, kind, place] = best[row, kind, place - 1]
        nearest[row, kind, place] = nearest[row, kind, place - 1]
        place -= 1
    best[row, kind, place], nearest[row, kind, place] = distance, other


@compiled
def take_tile(products, squares, codes, first, second, best, nearest):
    """Offer the rows of a tile to each other: `products` are those of the rows from `first` on with
    the rows from `second` on, which are the same ones or later.

    `best` and `nearest` are of shape (rows, 2, k): the own class, and the others.
    """
    last, two = best.shape[2] - 1, squares.dtype.type(2.0)
    for a in range(products.shape[0]):
        row = first + a
        square, code = squares[row], codes[row]
        for b in range(a + 1 if first == second else 0, products.shape[1]):
            other = second + b
            kind = int(codes[other] != code)
            distance = square + squares[other] - two * products[a, b]
            # one test for both, which nearly always fails
            if distance < max(best[row, kind, last], best[other, kind, last]):
                if distance < best[row, kind, last]:
                    offer(distance, row, other, kind, best, nearest)
                if distance < best[other, kind, last]:
                    offer(distance, other, row, kind, best, nearest)
