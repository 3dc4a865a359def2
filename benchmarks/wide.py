"""Matrices beyond 32 bits: more than 2^31 nonzeros on memory maps, and 10^8 columns; tables of up
to 300,000 columns.

The wide matrix is a tile of rows, written once to small files, that the system maps many times in a
row into one stretch of addresses: NumPy sees one plain array of more than 2^31 numbers, every entry
of which is read, while disk and memory hold one tile. (A sparse file's holes would read as zeros,
which are no entries of a matrix.) Labels and row pointers are ordinary arrays.
"""

import ctypes
import mmap
import shutil
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import timed
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.passes import TAMIS
from benchmarks.workloads import RECIPES, Workload, describe, make
from tamis import open_rows

MANY = 2**31
TABLES, TABLE_ROWS, MOST_RATIO = (3_000, 30_000, 300_000), 20, 13.0
NAMES = ("tamis FOBOS", "tamis RDA")


class Repeated:
    """A small array, seen as `times` copies of itself end to end: one stretch of addresses, one
    file.
    """

    def __init__(self, array: np.ndarray, times: int, file: Path):
        if array.nbytes % mmap.ALLOCATIONGRANULARITY:
            raise ValueError(f"a tile of {array.nbytes} bytes does not fill whole pages.")
        array.tofile(file)
        self.length = array.nbytes * times
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
        ]
        anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self.start = self._map(None, self.length, anonymous, -1)
        with file.open("rb") as opened:
            for k in range(times):  # each copy takes the place of a part of the reserved addresses
                # 0x10: MAP_FIXED.
                self._map(
                    self.start + k * array.nbytes,
                    array.nbytes,
                    mmap.MAP_SHARED | 0x10,
                    opened.fileno(),
                )
        memory = (ctypes.c_char * self.length).from_address(self.start)
        self.array = np.frombuffer(memory, dtype=array.dtype)
        self.array.flags.writeable = False

    def _map(self, place, length, flags, file) -> int:
        found = self.libc.mmap(place, length, mmap.PROT_READ, flags, file, 0)
        if found in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap failed")
        return found

    def close(self) -> None:
        """Give the addresses back; the array must not be used afterwards."""
        self.libc.munmap(ctypes.c_void_p(self.start), ctypes.c_size_t(self.length))


def tiled(tile: Workload, times: int, folder: Path):
    """The tile's rows `times` times over, as one CSR array of int64 indices, with its labels and
    its maps.
    """
    data, indices = (
        Repeated(tile.X.data, times, folder / "data"),
        Repeated(tile.X.indices, times, folder / "indices"),
    )
    rows, nonzeros = tile.X.shape[0] * times, tile.X.nnz * times
    X = sp.csr_array((rows, tile.X.shape[1]), dtype=tile.X.dtype)
    X.data, X.indices = data.array, indices.array
    X.indptr = np.arange(0, nonzeros + 1, tile.X.nnz // tile.X.shape[0], dtype=np.int64)
    return X, np.tile(tile.y, times), (data, indices)


def learn_tiled(name: str, tile: Workload, times: int, folder: Path) -> dict:
    """One `partial_fit` over the wide matrix, and the same rows tile by tile: the weights must
    agree bit for bit.
    """
    X, y, maps = tiled(tile, times, folder)
    model, classes = TAMIS[name](), np.unique(tile.y)
    TAMIS[name]().partial_fit(tile.X, tile.y, classes=classes)  # loads the loops
    with timed(f"{name}: one call") as whole:
        model.partial_fit(X, y, classes=classes)
    stored, rows = X.nnz, X.shape[0]
    del X
    for part in maps:
        part.close()
    chunks = TAMIS[name]()
    with timed(f"{name}: {times} calls") as tiles:
        for _ in range(times):
            chunks.partial_fit(tile.X, tile.y, classes=classes)
    same = np.array_equal(model.coef_, chunks.coef_) and np.array_equal(
        model.intercept_, chunks.intercept_
    )
    shown = {"kept": len(model.support_), "error": 1 - model.score(*tile)}
    return {
        "stored": stored,
        "rows": rows,
        "seconds": whole.wall,
        "apart": tiles.wall,
        "same": same,
        **shown,
    }


def learn_columns(name: str, work: Workload) -> dict:
    """Three calls of `partial_fit` over rows of 10^8 columns: the first makes the state, the first
    two count the kept features.
    """
    model, classes, seconds = TAMIS[name](), np.unique(work.y), []
    for call in range(3):
        with timed(f"{name}, 10^8 columns: call {call + 1}") as taken:
            model.partial_fit(work.X, work.y, classes=classes)
        seconds.append(taken.wall)
    return {"seconds": seconds, "kept": len(model.support_), "error": 1 - model.score(*work)}


def read_table(columns: int, folder: Path) -> dict[str, float]:
    """Seconds to read a CSV file of many columns, the first reading that finds kinds included."""
    file, values = folder / f"{columns}.csv", np.arange(TABLE_ROWS * columns) * 7 % 99 / 10
    with file.open("w") as out:
        out.write(",".join(f"column{k}" for k in range(columns)) + ",y\n")
        for row, own in enumerate(values.reshape(TABLE_ROWS, columns).tolist()):
            out.write(",".join(map(str, own)) + f",{row % 2}\n")
    seconds = {}
    for units in ("none", "spread"):
        with timed(f"CSV of {columns:,} columns, units={units}") as taken:
            for _ in open_rows(file, units=units):
                pass
        seconds[units] = taken.wall
    file.unlink()
    return seconds


def run(quick: bool) -> Page:
    """All tables of this part."""
    tile = make("wide-tile", quick)
    if quick:  # whole pages
        tile = Workload(tile.X[:1024], tile.y[:1024])
    times = 3 if quick else MANY // tile.X.nnz + 1
    page = Page("wide", "Beyond 32 bits", __doc__.split("\n\n", 1)[1])
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        needed = tile.X.data.nbytes + tile.X.indices.nbytes
        if shutil.disk_usage(folder).free < 4 * needed:
            raise OSError(f"the folder for temporary files has no room for {needed:,} bytes.")
        found = {
            name: learn_tiled(name, tile, times, Path(folder))
            for name in NAMES[: 1 if quick else None]
        }
        page.tables.append(_wide_table(found, tile, times))
        work = make("columns-1e8", quick)
        columns = {name: learn_columns(name, work) for name in NAMES[: 1 if quick else None]}
        page.tables.append(_columns_table(columns, work))
        widths = TABLES[: 2 if quick else None]
        read_table(widths[0], Path(folder))  # loads the loops
        tables = {width: read_table(width, Path(folder)) for width in widths}
        page.tables.append(_tables_table(tables))
    entries, same = min(f["stored"] for f in found.values()), all(f["same"] for f in found.values())
    figure = (
        f"{entries:,} nonzeros in one call, weights "
        f"{'equal to' if same else 'DIFFERENT from'} those of {times} calls with a tile each"
    )
    page.goals.append(
        Goal(
            "a matrix of more than 2^31 nonzeros is learnt",
            figure,
            verdict(same and (quick or entries > MANY)),
        )
    )
    first = columns[NAMES[0]]
    figure = (
        f"{first['seconds'][0]:.1f} s for {len(work.y):,} rows, the state made; training "
        f"error {first['error']:.3f}"
    )
    page.goals.append(Goal("10^8 columns are learnt", figure, verdict(first["error"] < 0.25)))
    ratios = [
        tables[more][units] / tables[few][units]
        for few, more in pairwise(widths)
        for units in ("none", "spread")
    ]
    page.goals.append(
        Goal(
            f"a CSV file of 10 times the columns takes at most {MOST_RATIO:.0f} times the time",
            f"at most {max(ratios):.1f} times",
            verdict(max(ratios) <= MOST_RATIO),
        )
    )
    return page


def _tables_table(found) -> Table:
    """Wide CSV files."""
    head = ["columns", "s", "µs a field", "in units of the spread, s", "µs a field"]
    rows = []
    for columns, seconds in found.items():
        own = []
        for taken in seconds.values():
            own += [f"{taken:.2f}", f"{1e6 * taken / (TABLE_ROWS * columns):.2f}"]
        rows.append([f"{columns:,}", *own])
    note = """All readings that a fit begins with: the first rows, the figures of the columns where
        they are needed, and the rows."""
    return Table(f"CSV files of {TABLE_ROWS} rows", head, rows, note)


def _columns_table(found, work) -> Table:
    """10^8 columns, recipe by recipe."""
    head = [
        "one partial_fit",
        "first call, s",
        "second, s",
        "third, s",
        "ns per nonzero, third",
        "kept",
        "training error",
    ]
    rows = []
    for name, f in found.items():
        third = f"{1e9 * f['seconds'][2] / work.X.nnz:.1f}"
        rows.append(
            [
                name,
                *(f"{s:.2f}" for s in f["seconds"]),
                third,
                f"{f['kept']:,}",
                f"{f['error']:.3f}",
            ]
        )
    note = """The first call makes the state of all columns. Calls in which the stream doubles (the
        first two) count the kept features, which reads all columns."""
    return Table(f"10^8 columns, {describe('columns-1e8')}, int64 indices", head, rows, note)


def _wide_table(found, tile, times) -> Table:
    """The wide matrix, recipe by recipe."""
    head = [
        "one partial_fit",
        "rows",
        "nonzeros",
        "seconds",
        "ns per nonzero",
        "tile by tile, ns",
        "equal bits",
        "kept",
        "error on a tile",
    ]
    rows = [
        [
            name,
            f"{f['rows']:,}",
            f"{f['stored']:,}",
            f"{f['seconds']:.1f}",
            f"{1e9 * f['seconds'] / f['stored']:.2f}",
            f"{1e9 * f['apart'] / f['stored']:.2f}",
            "yes" if f["same"] else "NO",
            f"{f['kept']:,}",
            f"{f['error']:.3f}",
        ]
        for name, f in found.items()
    ]
    note = f"""{times} copies of a tile of {tile.X.shape[0]:,} rows,
        {RECIPES["wide-tile"].columns:,} columns, float32 values, int64 indices; wall time, border
        included."""
    return Table("More than 2^31 nonzeros", head, rows, note)
