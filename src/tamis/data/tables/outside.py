"""Tables from outside the file system: Arrow streams and URLs, kept in temporary files.

Rows are read more than once, and most of these can be asked only once, or give other rows when
asked again (a query without an order). So they are written to disk batch by batch as they come, and
never held as a whole.
"""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, Protocol

import scipy.sparse as sp

from tamis.data.rows import ReadError, foreign
from tamis.data.streams import STREAM
from tamis.system.files import StrPath


class ArrowStream(Protocol):
    """What speaks Arrow's stream protocol: Polars frames, DuckDB relations, pyarrow readers."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream."""


def brought(source: Any) -> tuple[Any, Any]:
    """The source as names of files, and the folder that holds them for as long as it is held."""
    if hasattr(source, "__arrow_c_stream__"):
        folder = tempfile.TemporaryDirectory(prefix="tamis-")
        return _kept_stream(source, os.path.join(folder.name, STREAM)), folder
    names = [source] if isinstance(source, str | os.PathLike) else source
    # To iterate over a sparse matrix that is not sound may end the process.
    listed = isinstance(names, Iterable) and not sp.issparse(names)
    names = [local_name(name) for name in names] if listed else [source]
    if not all(isinstance(name, str | os.PathLike) for name in names):
        raise TypeError(
            "open_rows reads files, by their names, and what speaks Arrow's stream protocol. Got "
            f"{type(source).__name__}: arrays go to a model's fit or partial_fit as they are, "
            "frames with words through tamis.Table."
        )
    if not any(is_url(name) for name in names):
        return names, None
    folder = tempfile.TemporaryDirectory(prefix="tamis-")
    return [one for name in names for one in _copied(name, folder.name)], folder


def is_url(name: StrPath) -> bool:
    """Whether a name is that of something elsewhere."""
    return isinstance(name, str) and "://" in name and not os.path.exists(name)


def local_name(name: Any) -> Any:
    """The path in an address of this machine, ``file://...``: such a file is read where it lies."""
    if not is_url(name) or not name.startswith(("file://", "local://")):
        return name
    path = name.partition("://")[2]
    return path if os.path.exists(path) or glob.has_magic(path) else name


def _kept_stream(source: ArrowStream, path: str) -> str:
    """Write a stream to a file."""
    try:
        import pyarrow
    except ImportError:
        raise ReadError(
            "Arrow streams need pyarrow: pip install 'tamis[arrow]'. Or save the table as CSV."
        ) from None
    with foreign("the Arrow stream cannot be read", "Check the frame or the query."):
        reader = pyarrow.RecordBatchReader.from_stream(source)
        # As a stream: a dictionary may change from batch to batch.
        with pyarrow.OSFile(path, "wb") as file:
            writer = pyarrow.ipc.new_stream(file, reader.schema)
            with writer:
                for batch in reader:
                    writer.write_batch(batch)
    return path


def _copied(name: StrPath, folder: str) -> list[str]:
    """Copies of what a URL names, in its order; what is no URL as it is."""
    if not is_url(name):
        return [os.fspath(name)]
    try:
        import fsspec
    except ImportError:
        raise ReadError(
            f"{name}: URLs need fsspec (pip install fsspec), and most of them a package of their "
            "own. Or copy the file first."
        ) from None
    found = []
    with foreign(f"{name}: it cannot be read", "Check the address and the rights."):
        for number, remote in enumerate(fsspec.open_files(name, "rb")):
            place = os.path.join(folder, f"{number}-{len(os.listdir(folder))}")
            os.mkdir(place)
            local = os.path.join(place, os.path.basename(remote.path.partition("?")[0]) or "file")
            with remote as far, open(local, "wb") as near:
                shutil.copyfileobj(far, near, 1 << 20)
            found.append(local)
    if not found:
        raise ReadError(f"{name}: no file matches. Check the address.")
    return found
