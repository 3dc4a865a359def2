"""Frozen seeded workloads: text-like sparse rows with Zipf columns, unit norm, and labels of a
planted sparse model.

A row draws its columns by rank from density 1 / (rank + 30) (a duplicate moves to the next free
rank), scatters the ranks over the columns by a fixed affine permutation, and holds count times
inverse-frequency values scaled to unit norm. A linear model of 200 planted columns labels the rows,
and one label in twenty is redrawn. All but the last division is integer arithmetic, so that every
machine makes the same bits; checksums hold the workloads to that.

Rows are made in blocks of 2,000, each from its own generator: memory is bounded by the result, and
the first block (all that ``--quick`` uses) is the beginning of the whole.
"""

import hashlib
import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

BLOCK = 2_000  # rows
SHIFT = 30.0  # of the Zipf law: no column is in every row
PLANTED = 200  # columns with a weight
NOISE = 0.05  # share of labels redrawn
SEED = 20_260_101


class Recipe(NamedTuple):
    """What a workload is made of."""

    rows: int
    columns: int
    nonzeros: int  # a row
    classes: int = 2
    value: str = "float64"
    index: str = "int32"


class Workload(NamedTuple):
    """Rows and labels: -1 and 1, or class numbers."""

    X: sp.csr_array
    y: np.ndarray


RECIPES = {
    "rcv1-like": Recipe(20_000, 47_000, 74),
    "5 a row": Recipe(200_000, 47_000, 5),
    "20 a row": Recipe(60_000, 47_000, 20),
    "200 a row": Recipe(8_000, 47_000, 200),
    "columns-1e4": Recipe(20_000, 10_000, 74),
    "columns-1e5": Recipe(20_000, 100_000, 74),
    "columns-1e7": Recipe(20_000, 10_000_000, 74),
    "columns-1e8": Recipe(20_000, 100_000_000, 74, index="int64"),
    "classes-20": Recipe(20_000, 47_000, 74, classes=20),
    "float32": Recipe(20_000, 47_000, 74, value="float32"),
    "int64": Recipe(20_000, 47_000, 74, index="int64"),
    "million": Recipe(1_000_000, 1_000_000, 40),
    "selection": Recipe(100_000, 1_000_000, 70),
    "wide-tile": Recipe(16_384, 1_000_000, 256, value="float32", index="int64"),
}

# First 16 hex digits of SHA-256 over data, indices, indptr and y: of the first block, and of the
# whole.
CHECKSUMS = {
    "rcv1-like": ("6e8bebc9e2b9141c", "9bfbc3dcc9878ee3"),
    "5 a row": ("c9433d615db74225", "21af8826085eb3fb"),
    "20 a row": ("6e83be8a4de3604b", "c9da9d42dff82f39"),
    "200 a row": ("8e5087c210f05eda", "8ab2902ecbf5bed8"),
    "columns-1e4": ("b5b97ae0111e744b", "26fcd6e1db6f1c8c"),
    "columns-1e5": ("0fc5e541a2f48891", "1542780948184e19"),
    "columns-1e7": ("c7a3c415dff16651", "b66827091dde4477"),
    "columns-1e8": ("99d54a265239be54", "36d5cf3100240fff"),
    "classes-20": ("f42f814de882f4f0", "12d56e4515385c90"),
    "float32": ("d714dac6a67a9e4d", "33c2e8ccbe6c594b"),
    "int64": ("d820efd878af83ba", "a3442a96a1876a2a"),
    "million": ("7f06acf9789028f4", "f0d5b8fb983f0b70"),
    "selection": ("83536cc89336b96d", "212daf66c4775cfb"),
    "wide-tile": ("6b4ecc83ec29124e", "b17f1c62e770a5fb"),
}


def make(name: str, quick: bool = False) -> Workload:
    """The workload of that name, its checksum tested; `quick` gives its first block."""
    recipe = RECIPES[name]
    if quick:
        recipe = recipe._replace(rows=min(BLOCK, recipe.rows))
    work = _build(recipe)
    found, wanted = digest(work), CHECKSUMS[name][0 if quick else 1]
    if found != wanted:
        raise RuntimeError(
            f"workload {name!r} has checksum {found}, not {wanted}: its figures cannot be compared "
            "with earlier ones."
        )
    return work


def describe(name: str) -> str:
    """Rows, columns and nonzeros of a workload, in words."""
    r = RECIPES[name]
    return f"{r.rows:,} x {r.columns:,}, {r.nonzeros} nonzeros a row"


def digest(work: Workload) -> str:
    """Checksum of the arrays."""
    total = hashlib.sha256()
    for array in (work.X.data, work.X.indices, work.X.indptr, work.y):
        total.update(array)
    return total.hexdigest()[:16]


def _build(recipe: Recipe) -> Workload:
    """All blocks, written into arrays of their final size."""
    n, m = recipe.rows, recipe.nonzeros
    data, indices = np.empty(n * m, recipe.value), np.empty(n * m, recipe.index)
    y = np.empty(n, np.int64)
    planted, weights = _plant(recipe)
    for number, start in enumerate(range(0, n, BLOCK)):
        rows = min(BLOCK, n - start)
        ranks, grades = _draw(recipe, np.random.default_rng([SEED, number]))
        y[start : start + rows] = _label(
            recipe, ranks, grades, planted, weights, np.random.default_rng([SEED, number, 1])
        )[:rows]
        columns = _scatter(ranks, recipe.columns)
        order = columns.argsort(axis=1)
        columns, grades = (
            np.take_along_axis(columns, order, 1)[:rows],
            np.take_along_axis(grades, order, 1)[:rows],
        )
        span = slice(start * m, (start + rows) * m)
        indices[span] = columns.ravel()
        data[span] = (grades / np.sqrt((grades * grades).sum(axis=1, keepdims=True))).ravel()
    return Workload(_csr(data, indices, recipe), y)


def _draw(recipe: Recipe, random):
    """Ranks of the columns of one block of rows, distinct in each, and their values as whole
    numbers.
    """
    m, p = recipe.nonzeros, recipe.columns
    u = random.random((BLOCK, m))
    ranks = np.sort((SHIFT * ((p + SHIFT) / SHIFT) ** u - SHIFT).astype(np.int64), axis=1)
    step = np.arange(m)
    ranks = np.maximum.accumulate(ranks - step, axis=1) + step
    ranks = np.minimum(ranks, p - m + step)
    counts = np.minimum(random.geometric(0.6, size=ranks.shape), 8)
    rarity = np.rint(16.0 * np.log((p + SHIFT) / (ranks + SHIFT))).astype(np.int64) + 16
    return ranks, (counts * rarity).astype(np.float64)


def _plant(recipe: Recipe):
    """Ranks of the planted columns, in neighbouring pairs, and their weights, opposite in each pair
    (so that classes balance).
    """
    random = np.random.default_rng([SEED, recipe.classes, 2])
    outputs = 1 if recipe.classes == 2 else recipe.classes
    firsts = 2 * np.unique(
        np.rint(np.geomspace(1, recipe.columns // 40, 4 * PLANTED)).astype(np.int64)
    )
    firsts = np.sort(random.choice(firsts, PLANTED // 2, replace=False))
    weights = random.integers(1, 9, size=(PLANTED // 2, outputs)) * random.choice(
        (-1, 1), size=(PLANTED // 2, outputs)
    )
    return np.stack((firsts, firsts + 1), axis=1).ravel(), np.stack(
        (weights, -weights), axis=1
    ).reshape(PLANTED, outputs)


def _label(recipe: Recipe, ranks, grades, planted, weights, random):
    """Labels by the planted model, some of them redrawn."""
    place = np.searchsorted(planted, ranks).clip(max=PLANTED - 1)
    known = np.where(planted[place] == ranks, grades, 0.0)
    scores = np.stack(
        [(known * column[place]).sum(axis=1) for column in weights.T.astype(np.float64)], axis=1
    )
    labels = (scores[:, 0] > 0).astype(np.int64) if recipe.classes == 2 else scores.argmax(axis=1)
    redrawn = random.random(BLOCK) < NOISE
    labels = np.where(redrawn, random.integers(0, recipe.classes, BLOCK), labels)
    return 2 * labels - 1 if recipe.classes == 2 else labels


def _scatter(ranks, columns: int):
    """Columns of ranks: an affine permutation, so that frequent columns do not lie together."""
    factor = int(columns * 0.6180339887)
    while math.gcd(factor, columns) != 1:
        factor += 1
    return (ranks * factor + columns // 3) % columns


def _csr(data, indices, recipe: Recipe) -> sp.csr_array:
    """A CSR array with the index type asked for (SciPy would narrow int64 where it can)."""
    indptr = np.arange(0, len(data) + 1, recipe.nonzeros, dtype=recipe.index)
    X = sp.csr_array((recipe.rows, recipe.columns), dtype=data.dtype)
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


def print_checksums() -> None:
    """Print CHECKSUMS anew: for the day a workload is changed on purpose."""
    for name, recipe in RECIPES.items():
        short = recipe._replace(rows=min(BLOCK, recipe.rows))
        print(f'    "{name}": ("{digest(_build(short))}", "{digest(_build(recipe))}"),', flush=True)


if __name__ == "__main__":
    print_checksums()
