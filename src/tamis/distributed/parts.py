"""What users give, as partitions: descriptors that any worker can open."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import scipy.sparse as sp

from tamis.data.rows import Rows
from tamis.data.source import RowSource

FILE, BLOCK, FRAME = "file", "block", "frame"


class Part(NamedTuple):
    """A partition: a file that a worker opens itself, or a block or frame, perhaps yet to be
    computed.
    """

    kind: str
    what: Any
    name: str  # in messages


def is_lazy(thing: object) -> bool:
    """Whether this is a collection of dask."""
    return hasattr(thing, "__dask_graph__") and not isinstance(thing, type)


def is_name(thing: object) -> bool:
    """Whether this is a path."""
    return isinstance(thing, str | os.PathLike)


def named_files(rows: Any) -> Any:
    """The names where files are meant; else nothing."""
    if isinstance(rows, RowSource):
        raise TypeError(
            "tamis.distributed.fit opens files where the workers are: pass their names (a glob or "
            "a list), and what open_rows was told as keywords."
        )
    if is_name(rows):
        return [os.fspath(rows)]
    if isinstance(rows, list | tuple) and rows and all(map(is_name, rows)):
        return [os.fspath(name) for name in rows]
    return None


def blocks_of(rows: Any, target: str | None) -> list[Part]:
    """Partitions of what lies in memory, here or on workers."""
    if is_lazy(rows) and hasattr(rows, "columns"):
        return _frames(rows, target)
    if isinstance(rows, tuple) and not isinstance(rows, Rows) and 2 <= len(rows) <= 3:
        if all(is_lazy(one) and hasattr(one, "numblocks") for one in rows):
            return _arrays(rows)
        if not any(isinstance(one, tuple) for one in rows) and hasattr(rows[0], "shape"):
            rows = [rows]  # one block: X, y and perhaps weights
    if is_lazy(rows) or sp.issparse(rows) or not isinstance(rows, Iterable):
        raise TypeError(
            "rows must be names of files, (X, y) of dask arrays, a dask DataFrame, or blocks: an "
            f"iterable of Rows, of (X, y) or of delayed ones. Got {type(rows).__name__}."
        )
    found = [Part(BLOCK, _block(one, k), f"block {k}") for k, one in enumerate(rows)]
    if not found:
        raise ValueError("no partition was given. Pass one block or file at least.")
    return found


def _block(one: Any, number: int) -> Any:
    """A block as X, y and weights, or as what computes to that."""
    if isinstance(one, Rows):
        return one.X, one.targets, one.weights
    if is_lazy(one) or (isinstance(one, tuple) and 2 <= len(one) <= 3):
        return one
    raise TypeError(
        f"block {number} must be Rows, (X, y), (X, y, weights) or a delayed one of these. Got "
        f"{type(one).__name__}."
    )


def _arrays(arrays: tuple) -> list[Part]:
    """Blocks of rows of dask arrays."""
    first = arrays[0]
    if first.ndim != 2 or first.numblocks[1] != 1:
        raise ValueError(
            f"X is cut by columns, into {first.numblocks[-1]} parts a row, and nobody can learn "
            "from parts of rows. Pass X.rechunk({1: -1})."
        )
    counts = {one.numblocks[0] for one in arrays}
    known = {one.chunks[0] for one in arrays if not any(c != c for c in one.chunks[0])}
    if len(counts) > 1 or len(known) > 1:
        raise ValueError(
            "X and y are cut into different blocks of rows. Pass y.rechunk({0: X.chunks[0]})."
        )
    cut = [one.to_delayed().ravel().tolist() for one in arrays]
    return [Part(BLOCK, tuple(part), f"block {k}") for k, part in enumerate(zip(*cut, strict=True))]


def _frames(frame: Any, target: str | None) -> list[Part]:
    """Partitions of a dask DataFrame."""
    if target is None or target not in frame.columns:
        listed = ", ".join(map(repr, list(frame.columns)[:10]))
        raise ValueError(f"target={target!r} is no column of the frame; its columns are {listed}.")
    return [Part(FRAME, part, f"partition {k}") for k, part in enumerate(frame.to_delayed())]
