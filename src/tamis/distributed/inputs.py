"""The `rows` of a fit as a list of partitions, each of which any worker can open."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import scipy.sparse as sp

from tamis.data.rows import Rows
from tamis.data.source import RowSource

FILE, BLOCK, FRAME = "file", "block", "frame"


class PartitionSource(NamedTuple):
    """Where a partition comes from: the name of a file, or a block or frame (perhaps lazy)."""

    kind: str  # FILE, BLOCK or FRAME
    value: Any
    name: str  # in messages


def is_lazy(thing: object) -> bool:
    """Whether this is a collection of dask."""
    return hasattr(thing, "__dask_graph__") and not isinstance(thing, type)


def is_path(thing: object) -> bool:
    """Whether this is the path of a file."""
    return isinstance(thing, str | os.PathLike)


def file_names(rows: Any) -> list[str] | None:
    """Names of files, where `rows` are files; else None."""
    if isinstance(rows, RowSource):
        raise TypeError(
            "tamis.distributed.fit opens files where the workers are: pass their names (a glob or "
            "a list), and what open_rows was told as keywords."
        )
    if is_path(rows):
        return [os.fspath(rows)]
    if isinstance(rows, list | tuple) and rows and all(map(is_path, rows)):
        return [os.fspath(name) for name in rows]
    return None


def block_sources(rows: Any, target: str | None) -> list[PartitionSource]:
    """Partitions of rows that lie in memory, here or on workers."""
    if is_lazy(rows) and hasattr(rows, "columns"):
        return _frame_sources(rows, target)
    if isinstance(rows, tuple) and not isinstance(rows, Rows) and 2 <= len(rows) <= 3:
        if all(is_lazy(one) and hasattr(one, "numblocks") for one in rows):
            return _array_sources(rows)
        if not any(isinstance(one, tuple) for one in rows) and hasattr(rows[0], "shape"):
            rows = [rows]  # one block: X, y and perhaps weights
    if is_lazy(rows) or sp.issparse(rows) or not isinstance(rows, Iterable):
        raise TypeError(
            "rows must be names of files, (X, y) of dask arrays, a dask DataFrame, or blocks: an "
            f"iterable of Rows, of (X, y) or of delayed ones. Got {type(rows).__name__}."
        )
    sources = [PartitionSource(BLOCK, _block(one, k), f"block {k}") for k, one in enumerate(rows)]
    if not sources:
        raise ValueError("no partition was given. Pass one block or file at least.")
    return sources


def _block(one: Any, number: int) -> Any:
    """A block as (X, y, weights), or as a lazy value of that."""
    if isinstance(one, Rows):
        return one.X, one.targets, one.weights
    if is_lazy(one) or (isinstance(one, tuple) and 2 <= len(one) <= 3):
        return one
    raise TypeError(
        f"block {number} must be Rows, (X, y), (X, y, weights) or a delayed one of these. Got "
        f"{type(one).__name__}."
    )


def _array_sources(arrays: tuple) -> list[PartitionSource]:
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
    columns = [one.to_delayed().ravel().tolist() for one in arrays]
    return [
        PartitionSource(BLOCK, block, f"block {k}")
        for k, block in enumerate(zip(*columns, strict=True))
    ]


def _frame_sources(frame: Any, target: str | None) -> list[PartitionSource]:
    """Partitions of a dask DataFrame."""
    if target is None or target not in frame.columns:
        listed = ", ".join(map(repr, list(frame.columns)[:10]))
        raise ValueError(f"target={target!r} is no column of the frame; its columns are {listed}.")
    return [
        PartitionSource(FRAME, one, f"partition {k}") for k, one in enumerate(frame.to_delayed())
    ]
