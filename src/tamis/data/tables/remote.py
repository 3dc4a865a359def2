"""Copy tables from Arrow streams and URLs to temporary files.

Rows are read more than once, but many of these sources can be read only once, or return other rows
when read again (a query without an order). So they are written to disk batch by batch, and are
never in memory as a whole.
"""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, Protocol

import scipy.sparse as sp

from tamis.data.rows import ReadError, convert_errors
from tamis.data.streams import STREAM_FILE
from tamis.system.files import StrPath


class ArrowStream(Protocol):
    """Object with Arrow's stream protocol: Polars frames, DuckDB relations, pyarrow readers."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream."""


def resolve_source(source: Any) -> tuple[Any, Any]:
    """Return the names of the files of a source, and the temporary folder of copies or None."""
    if hasattr(source, "__arrow_c_stream__"):
        folder = tempfile.TemporaryDirectory(prefix="tamis-")
        return _save_stream(source, os.path.join(folder.name, STREAM_FILE)), folder
    names = [source] if isinstance(source, str | os.PathLike) else source
    # Iterating over an invalid sparse matrix may crash the process.
    listed = isinstance(names, Iterable) and not sp.issparse(names)
    names = [local_name(name) for name in names] if listed else [source]
    if not all(isinstance(name, str | os.PathLike) for name in names):
        raise TypeError(
            "open_rows reads files, by their names, and objects with Arrow's stream protocol. Got "
            f"{type(source).__name__}: arrays go to a model's fit or partial_fit as they are, "
            "frames with words through tamis.Table."
        )
    if not any(is_url(name) for name in names):
        return names, None
    folder = tempfile.TemporaryDirectory(prefix="tamis-")
    return [path for name in names for path in _download(name, folder.name)], folder


def is_url(name: StrPath) -> bool:
    """Return whether a name is a URL."""
    return isinstance(name, str) and "://" in name and not os.path.exists(name)


def local_name(name: Any) -> Any:
    """Return the path of a ``file://...`` URL, which needs no copy; other names as they are."""
    if not is_url(name) or not name.startswith(("file://", "local://")):
        return name
    path = name.partition("://")[2]
    return path if os.path.exists(path) or glob.has_magic(path) else name


def _save_stream(source: ArrowStream, path: str) -> str:
    """Write a stream to a file; return its path."""
    try:
        import pyarrow
    except ImportError:
        raise ReadError(
            "Arrow streams need pyarrow: pip install 'tamis[arrow]'. Or save the table as CSV."
        ) from None
    with convert_errors("the Arrow stream cannot be read", "Check the frame or the query."):
        reader = pyarrow.RecordBatchReader.from_stream(source)
        # As a stream: a dictionary may change from batch to batch.
        with pyarrow.OSFile(path, "wb") as file:
            writer = pyarrow.ipc.new_stream(file, reader.schema)
            with writer:
                for batch in reader:
                    writer.write_batch(batch)
    return path


def _download(name: StrPath, folder: str) -> list[str]:
    """Return the paths of copies of what a URL names, in its order; a path as it is."""
    if not is_url(name):
        return [os.fspath(name)]
    try:
        import fsspec
    except ImportError:
        raise ReadError(
            f"{name}: URLs need fsspec (pip install fsspec), and most schemes another package. "
            "Or copy the file first."
        ) from None
    paths = []
    with convert_errors(f"{name}: it cannot be read", "Check the address and the rights."):
        for number, remote in enumerate(fsspec.open_files(name, "rb")):
            directory = os.path.join(folder, f"{number}-{len(os.listdir(folder))}")
            os.mkdir(directory)
            local_path = os.path.join(
                directory, os.path.basename(remote.path.partition("?")[0]) or "file"
            )
            with remote as remote_file, open(local_path, "wb") as local_file:
                shutil.copyfileobj(remote_file, local_file, 1 << 20)
            paths.append(local_path)
    if not paths:
        raise ReadError(f"{name}: no file matches. Check the address.")
    return paths
