"""What workers do: look at a partition, open it, learn from it. No task changes what it is given:
whoever replays it starts from the same bits.
"""

import copy
import hashlib
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.fast_checks import check_sparse
from tamis.data.opening import open_rows, options_of
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.streams import expand, fingerprint
from tamis.data.survey import Survey
from tamis.distributed.agreement import Agreed, Seen, coded, wants_classes
from tamis.distributed.parts import FRAME
from tamis.system.threads import one_thread

WARM = 16  # rows that loops are compiled with


class Block(NamedTuple):
    """Rows to learn from."""

    X: Any
    y: Any
    weights: np.ndarray | None
    names: list[str] | None = None


class Partition:
    """A partition on a worker: its blocks, or how they are read again at every visit; `agreed` is
    its own.
    """

    def __init__(self, number: int, name: str, agreed: Agreed, blocks: list[Block] | None):
        self.number, self.name, self.agreed, self.blocks = number, name, agreed, blocks

    def __iter__(self) -> Iterator[Block]:
        return _blocks_of_file(self.name, self.agreed) if self.blocks is None else iter(self.blocks)


@dataclass
class Path:
    """A model on its way, and what it has learnt: partitions in their order, rows, and its own
    count of them.
    """

    model: Any
    visited: tuple[int, ...] = ()
    rows: int = 0
    steps: int = 0
    taken: tuple[float, ...] = ()  # seconds of the last visits; no part of what was learnt


def bytes_in(thing: Any, seen: set[int] | None = None) -> int:
    """Bytes of all arrays that can be reached, each once: of a model, a partition, a block."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | int | float | bool | type | None):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    inside: Any = ()
    if isinstance(thing, dict):
        inside = thing.values()
    elif isinstance(thing, list | tuple | set):
        inside = thing
    elif hasattr(thing, "__dict__"):
        inside = vars(thing).values()
    return 64 + sum(bytes_in(one, seen) for one in inside)


# --------------------------------------------------------------------------- files
def list_files(names: list[str], reading: dict) -> tuple[list[str], Options]:
    """Names of all files, and how they are read."""
    files = expand(names)
    return files, options_of(files, {**(open_rows.__kwdefaults__ or {}), **reading})


def look_at_file(name: str, reading: dict, schema: dict | None) -> Seen:
    """A survey of a file, where it lies."""
    source = _opened(name, {**reading, "schema": schema})
    facts = fingerprint(name)
    facts.pop("changed", None)  # it differs between copies
    return Seen(source.look(), digest=facts)


def schema_of(name: str, reading: dict, schema: dict | None, survey: Survey) -> dict:
    """The schema by which every file is read, from the survey of all."""
    source = _opened(name, {**reading, "schema": schema})
    source.agree(survey)
    return source.schema


def _opened(name: str, reading: dict) -> Any:
    """A file, or words about a worker that does not see it."""
    if not os.path.exists(name):
        raise ReadError(
            f"{name}: the worker on {socket.gethostname()} (process {os.getpid()}) sees no such "
            "file. Every worker must see every file: put them on a disk that all share."
        )
    return open_rows(name, **reading)


def _blocks_of_file(name: str, agreed: Agreed) -> Iterator[Block]:
    """Chunks of a file, by the schema of all."""
    source = _opened(name, {**agreed.reading, "schema": agreed.schema})
    for chunk in source:
        yield Block(chunk.X, chunk.targets, chunk.weights)
    if source.dropped:
        raise ReadError(
            f"{name}: {source.dropped:,} entries are outside of the columns that all files have "
            "agreed on: it has changed since it was surveyed. Begin anew."
        )


def open_file(number: int, name: str, agreed: Agreed, keep: bool) -> Partition:
    """A file as a partition, held in memory or read at every visit."""
    facts = fingerprint(name) if os.path.exists(name) else {}
    facts.pop("changed", None)
    if facts and facts != agreed.seen[0].digest:
        raise ReadError(f"{name}: it has changed since it was surveyed. Begin anew.")
    if not agreed.seen[0].survey.rows:
        return Partition(number, name, agreed, [])
    blocks = list(_blocks_of_file(name, agreed)) if keep else None
    return Partition(number, name, agreed, blocks)


# --------------------------------------------------------------------------- blocks
def convert(kind: str, raw: Any, name: str, target: str | None) -> Block:
    """A block as NumPy and SciPy have it, from what the user gave."""
    names = None
    if kind == FRAME:
        raw = (raw.drop(columns=[target]), raw[target])
    if not (isinstance(raw, tuple) and 2 <= len(raw) <= 3):
        raise TypeError(f"{name} must be (X, y) or (X, y, weights). Got {type(raw).__name__}.")
    X, y, weights = (*raw, None) if len(raw) == 2 else raw
    if hasattr(X, "dtypes"):
        names = [str(one) for one in X.columns]
        words = [
            str(c) for c, kind in zip(X.columns, X.dtypes, strict=True) if kind.kind not in "biuf"
        ]
        if words:
            raise TypeError(
                f"{name}: columns {', '.join(map(repr, words[:10]))} hold no numbers. Turn them "
                "into numbers first, or pass the files of the table."
            )
        X = X.to_numpy(dtype=np.float64)
    check_sparse(X)
    check_sparse(y, "y")
    X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
    y = y if sp.issparse(y) else np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 and not sp.issparse(y) else y
    if y.dtype == object:
        y = y.astype(str)
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    for what, other in (("y", y), ("weights", weights)):
        if other is not None and other.shape[0] != X.shape[0]:
            raise ValueError(f"{name}: {X.shape[0]} rows of X, but {other.shape[0]} of {what}.")
    return Block(X, y, weights, names)


def look_at_block(block: Block, mark: bool) -> Seen:
    """A survey of a block; `mark`: also what tells it from others."""
    X, live = block.X, block.weights
    rows = X.shape[0]
    found = Survey(rows=rows, features=X.shape[1], weighted=live is not None)
    found.nonzeros = X.nnz if sp.issparse(X) else X.size
    found.learnt = rows if live is None else int(np.count_nonzero(live))
    if rows and (sp.issparse(block.y) or block.y.ndim == 1):
        found._meet(block.y)
    found.several |= not sp.issparse(block.y) and block.y.ndim > 1
    return Seen(found, block.names, {"digest": _digest(block)} if mark else {})


def _digest(block: Block) -> str:
    """A digest of all numbers of a block."""
    total = hashlib.sha256()
    whole: list[Any] = [block.X, block.y, *([] if block.weights is None else [block.weights])]
    for one in whole:
        for array in (one.data, one.indices, one.indptr) if sp.issparse(one) else (one,):
            total.update(f"{array.dtype}{array.shape}".encode())
            total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def open_block(number: int, block: Block, name: str, agreed: Agreed) -> Partition:
    """A block as a partition."""
    return Partition(number, name, agreed, [block] if block.X.shape[0] else [])


# --------------------------------------------------------------------------- learning
def visit(path: Path, partition: Partition) -> Path:
    """A model that has learnt a partition too; the one given stays as it is."""
    begun, model = time.perf_counter(), copy.deepcopy(path.model)
    before, rows = _steps(model), 0
    with _one_thread(model):
        for block in partition:
            rows += _learn(model, block, partition)
    (due,) = partition.agreed.learnt
    if rows != due:
        raise ReadError(
            f"{partition.name}: {rows:,} rows, where there were {due:,}: it has changed. Begin "
            "anew."
        )
    steps = path.steps + _steps(model) - before
    return replace(
        path,
        model=model,
        visited=(*path.visited, partition.number),
        rows=path.rows + rows,
        steps=steps,
        taken=(*path.taken, time.perf_counter() - begun),
    )


def warm(path: Path, partition: Partition) -> None:
    """Compile what a visit needs, by a few rows: what is found on disk then need not be compiled
    by every worker of a machine at once.
    """
    model = copy.deepcopy(path.model)
    for block in partition:
        some = slice(min(WARM, block.X.shape[0]))
        weights = None if block.weights is None else block.weights[some]
        with _one_thread(model), suppress(ValueError):  # a few rows may be too few for a model
            _learn(model, Block(block.X[some], block.y[some], weights), partition)
        return


@contextmanager
def _one_thread(model: Any) -> Iterator[None]:
    """A model that uses one thread, in its own loops, in those of its parts, and in BLAS: each
    worker has its own core.
    """
    given = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    jobs = {name: n for name, n in given.items() if name.rpartition("__")[2] == "n_jobs"}
    if jobs:
        model.set_params(**dict.fromkeys(jobs, 1))
    with one_thread():
        yield
    if jobs:
        model.set_params(**jobs)


def _learn(model: Any, block: Block, partition: Partition) -> int:
    """Learn a block; the rows of weight above 0."""
    agreed, named, y = partition.agreed, {}, block.y
    if wants_classes(model):
        y = coded(model, y, agreed, partition.name)
        if agreed.classes is not None and not hasattr(model, "classes_"):
            named["classes"] = agreed.classes
    if block.weights is not None:
        named["sample_weight"] = block.weights
    model.partial_fit(block.X, y, **named)
    return block.X.shape[0] if block.weights is None else int(np.count_nonzero(block.weights))


def _steps(model: Any) -> int:
    """Rows that a model says it has learnt."""
    return int(getattr(model, "t_", 0) or 0)
