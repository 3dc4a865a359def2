"""Tasks of workers: summarize a partition, open it, let a model learn it.

No task changes its arguments. The engine may run a task again with the same arguments (after a
worker was lost, for instance), and the second run must give the same bits.
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

from tamis.base.estimators.stream import EncodedRows, OnlineLinearModel
from tamis.base.fast_checks import check_sparse
from tamis.data.opening import open_rows, resolve_options
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.streams import expand_names, fingerprint
from tamis.data.survey import Survey
from tamis.distributed.inputs import FRAME
from tamis.distributed.schema import (
    PartitionSummary,
    SharedSchema,
    class_targets,
    wants_classes,
)
from tamis.system.threads import single_threaded_blas

COMPILE_ROWS = 16  # rows that the loops are compiled with before the first round


class Block(NamedTuple):
    """Rows of a partition, their targets and weights."""

    X: Any
    y: Any
    weights: np.ndarray | None
    names: list[str] | None = None  # of the columns

    @property
    def row_count(self) -> int:
        """Number of rows of weight above 0."""
        return self.X.shape[0] if self.weights is None else int(np.count_nonzero(self.weights))

    def first(self, count: int) -> "Block":
        """The first rows."""
        weights = None if self.weights is None else self.weights[:count]
        return Block(self.X[:count], self.y[:count], weights)


class EncodedBlock(NamedTuple):
    """A block that is validated and converted, for models that learn such rows."""

    rows: EncodedRows
    row_count: int

    def first(self, count: int) -> "EncodedBlock":
        """The first rows."""
        return self._replace(rows=self.rows.first(count))


class Partition:
    """A partition on a worker: its blocks in memory, or None for a file that is read at each pass.

    `schema` is that of this partition alone.
    """

    def __init__(self, number: int, name: str, schema: SharedSchema, blocks: list | None):
        self.number, self.name, self.schema, self.blocks = number, name, schema, blocks

    def __iter__(self) -> Iterator[Any]:
        return _file_blocks(self.name, self.schema) if self.blocks is None else iter(self.blocks)


@dataclass
class PathState:
    """A model on its path through the partitions, and an account of what it has learnt."""

    model: Any
    visited: tuple[int, ...] = ()  # numbers of the partitions, in their order
    rows: int = 0  # of weight above 0
    steps: int = 0  # the rows as the model counts them
    seconds: tuple[float, ...] = ()  # of the last partitions


def array_bytes(thing: Any, seen: set[int] | None = None) -> int:
    """Bytes of all arrays that can be reached from an object, each once."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | int | float | bool | type | None):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    members: Any = ()
    if isinstance(thing, dict):
        members = thing.values()
    elif isinstance(thing, list | tuple | set):
        members = thing
    elif hasattr(thing, "__dict__"):
        members = vars(thing).values()
    return 64 + sum(array_bytes(one, seen) for one in members)


# --------------------------------------------------------------------------- files
def list_files(names: list[str], reading: dict) -> tuple[list[str], Options]:
    """Names of all files, and the options by which they are read."""
    files = expand_names(names)
    return files, resolve_options(files, {**(open_rows.__kwdefaults__ or {}), **reading})


def summarize_file(name: str, reading: dict, schema: dict | None) -> PartitionSummary:
    """Survey and digest of a file."""
    source = _open_source(name, {**reading, "schema": schema})
    return PartitionSummary(source.look(), digest=_file_digest(name))


def _file_digest(name: str) -> dict:
    """What tells a file from others; not its date, which differs between copies."""
    digest = fingerprint(name)
    digest.pop("changed", None)
    return digest


def file_schema(name: str, reading: dict, schema: dict | None, survey: Survey) -> dict:
    """The schema by which every file is read, from the survey of all of them."""
    source = _open_source(name, {**reading, "schema": schema})
    source.apply_survey(survey)
    return source.schema


def _open_source(name: str, reading: dict) -> Any:
    """Open a file; the error names the worker that does not see it."""
    if not os.path.exists(name):
        raise ReadError(
            f"{name}: the worker on {socket.gethostname()} (process {os.getpid()}) sees no such "
            "file. Every worker must see every file: put them on a disk that all share."
        )
    return open_rows(name, **reading)


def _file_blocks(name: str, schema: SharedSchema) -> Iterator[Block]:
    """Read a file block by block, by the shared schema."""
    source = _open_source(name, {**schema.reading, "schema": schema.file_schema})
    for chunk in source:
        yield Block(chunk.X, class_targets(chunk.targets, schema, name), chunk.weights)
    if source.dropped:
        raise ReadError(
            f"{name}: {source.dropped:,} entries are outside of the columns that all files have "
            "agreed on: it has changed since it was surveyed. Begin anew."
        )


def open_file(
    number: int,
    name: str,
    schema: SharedSchema,
    keep: bool,
    encoder: OnlineLinearModel | None = None,
) -> Partition:
    """Open a file as a partition; `keep` it in memory, or read it at each pass."""
    digest = _file_digest(name) if os.path.exists(name) else {}
    if digest and digest != schema.summaries[0].digest:
        raise ReadError(f"{name}: it has changed since it was surveyed. Begin anew.")
    if not schema.summaries[0].survey.rows:
        return Partition(number, name, schema, [])
    if not keep:
        return Partition(number, name, schema, None)
    blocks = [_encode(block, schema, encoder) for block in _file_blocks(name, schema)]
    return Partition(number, name, schema, blocks)


# --------------------------------------------------------------------------- blocks
def convert(kind: str, raw: Any, name: str, target: str | None) -> Block:
    """Convert the user's block to NumPy and SciPy arrays."""
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


def summarize_block(block: Block, with_digest: bool) -> PartitionSummary:
    """Survey of a block, and its digest where a checkpoint needs one."""
    X, weights = block.X, block.weights
    n_rows = X.shape[0]
    survey = Survey(rows=n_rows, features=X.shape[1], weighted=weights is not None)
    survey.nonzeros = X.nnz if sp.issparse(X) else X.size
    survey.learnt = block.row_count
    if n_rows and (sp.issparse(block.y) or block.y.ndim == 1):
        survey.add_targets(block.y)
    survey.several |= not sp.issparse(block.y) and block.y.ndim > 1
    digest = {"digest": _block_digest(block)} if with_digest else {}
    return PartitionSummary(survey, block.names, digest)


def _block_digest(block: Block) -> str:
    """Digest of all numbers of a block."""
    digest = hashlib.sha256()
    matrices: list[Any] = [block.X, block.y, *([] if block.weights is None else [block.weights])]
    for one in matrices:
        for array in (one.data, one.indices, one.indptr) if sp.issparse(one) else (one,):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def open_block(
    number: int,
    block: Block,
    name: str,
    schema: SharedSchema,
    encoder: OnlineLinearModel | None = None,
) -> Partition:
    """Open a block as a partition."""
    if not block.X.shape[0]:
        return Partition(number, name, schema, [])
    block = block._replace(y=class_targets(block.y, schema, name))
    return Partition(number, name, schema, [_encode(block, schema, encoder)])


def _encode(block: Block, schema: SharedSchema, encoder: OnlineLinearModel | None) -> Any:
    """Validate and convert a block, once for all passes over it, where the model learns such rows;
    else the block as it is.
    """
    if encoder is None:
        return block
    encoder, classes = copy.copy(encoder), schema.classes
    named = {} if classes is None or not wants_classes(encoder) else {"classes": classes}
    return EncodedBlock(encoder._encode(block.X, block.y, block.weights, **named), block.row_count)


# --------------------------------------------------------------------------- learning
def learn_partition(path: PathState, partition: Partition) -> PathState:
    """Let the model of a path learn a partition; return the path after it."""
    # This is the one copy of a model that a partition costs, and it is needed. The next segment,
    # or a second run of this task, starts from `path` as it is now, so a task that fails must leave
    # it alone; and arrays that the engine has brought may be read-only.
    begun, model = time.perf_counter(), copy.deepcopy(path.model)
    steps_before, rows = _step_count(model), 0
    with _single_threaded(model):
        for block in partition:
            _learn_block(model, block, partition.schema)
            rows += block.row_count
    (expected,) = partition.schema.row_counts
    if rows != expected:
        raise ReadError(
            f"{partition.name}: {rows:,} rows, where there were {expected:,}: it has changed. "
            "Begin anew."
        )
    return replace(
        path,
        model=model,
        visited=(*path.visited, partition.number),
        rows=path.rows + rows,
        steps=path.steps + _step_count(model) - steps_before,
        seconds=(*path.seconds, time.perf_counter() - begun),
    )


def compile_loops(path: PathState, partition: Partition) -> None:
    """Compile what learning needs, by a few rows: the other workers of the machine then find the
    loops on its disk.
    """
    model = copy.deepcopy(path.model)
    for block in partition:
        with _single_threaded(model), suppress(ValueError):  # too few rows for some models
            _learn_block(model, block.first(COMPILE_ROWS), partition.schema)
        return


@contextmanager
def _single_threaded(model: Any) -> Iterator[None]:
    """Let a model use one thread, in its loops, those of nested estimators, and BLAS: each worker
    has one core.
    """
    params = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    jobs = {name: n for name, n in params.items() if name.rpartition("__")[2] == "n_jobs"}
    if jobs:
        model.set_params(**dict.fromkeys(jobs, 1))
    with single_threaded_blas():
        yield
    if jobs:
        model.set_params(**jobs)


def _learn_block(model: Any, block: Block | EncodedBlock, schema: SharedSchema) -> None:
    """Let a model learn a block."""
    if isinstance(block, EncodedBlock):
        model._learn_encoded(block.rows)
        return
    named = {} if block.weights is None else {"sample_weight": block.weights}
    if schema.classes is not None and not hasattr(model, "classes_"):
        named["classes"] = schema.classes
    model.partial_fit(block.X, block.y, **named)


def _step_count(model: Any) -> int:
    """Rows that a model says it has learnt."""
    return int(getattr(model, "t_", 0) or 0)
