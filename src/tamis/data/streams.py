"""Byte streams of files: globs, standard input, and decompression by the first bytes."""

import bz2
import glob
import hashlib
import io
import lzma
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from typing import IO, Any, BinaryIO, NamedTuple

from tamis.data.rows import ReadError, convert_errors, error_text
from tamis.system.files import StrPath

STREAM_FILE = "tamis-table.arrow"  # temporary file of an Arrow stream
STDIN = "-"
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
# Errors that damaged compressed data raises.
DECOMPRESSION_ERRORS = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,
    MemoryError,
)


class Stream(NamedTuple):
    """Bytes to read, and the raw file that knows its position."""

    bytes: Any
    raw: Any


class Stdin:
    """Standard input, read once, or copied to a temporary file to be read again."""

    def __init__(self) -> None:
        self.kept: Any = None
        self.digest, self.is_started = "", False

    def keep(self) -> None:
        """Copy all of standard input to a temporary file."""
        if self.kept is None:
            self._start()
            total, self.kept = hashlib.sha256(), tempfile.TemporaryFile(prefix="tamis-")
            while chunk := sys.stdin.buffer.read(1 << 20):
                total.update(chunk)
                self.kept.write(chunk)
            self.kept.flush()
            self.digest = total.hexdigest()

    def open(self) -> BinaryIO:
        """Return a reader of the bytes from their beginning."""
        if self.kept is None:
            self._start()
            return sys.stdin.buffer
        return open(os.dup(self.kept.fileno()), "rb", buffering=0)

    def _start(self) -> None:
        if sys.stdin is None:
            raise ReadError(
                "standard input: it is closed. Name a file, or pass the rows by a pipe."
            )
        if self.is_started:
            raise ReadError(
                "standard input: it has been read already and cannot be read again. Write it to a "
                "file, or call keep() first."
            )
        self.is_started = True


STANDARD_INPUT = Stdin()


# --------------------------------------------------------------------------- names
def expand_names(source: StrPath | Iterable[StrPath]) -> list[str]:
    """Return the names of files from a name, several names or a glob; a glob in sorted order."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    names: list[str] = []
    for path in source:
        name = os.fspath(path)
        if not isinstance(name, str):
            raise TypeError(
                f"a source must be a path, a glob, '-' or a list of them. Got {path!r}."
            )
        matches = [name]
        if name != STDIN and not os.path.exists(name) and glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise ReadError(f"{name}: no file matches. Check the pattern and the folder.")
        names += matches
    if not names:
        raise ReadError("no file was named. Pass a path, a glob or '-'.")
    for name in names:
        check_file(name)
    return names


def check_file(name: str) -> None:
    """Refuse names that are no readable file."""
    if name == STDIN:
        return
    if os.path.isdir(name):
        raise ReadError(
            f"{name}: this is a folder. Name its files, for example {os.path.join(name, '*')!r}."
        )
    if not os.path.exists(name):
        raise ReadError(f"{name}: no such file. Check the name and the folder.")
    if not os.access(name, os.R_OK):
        raise ReadError(f"{name}: it may not be read. Check its permissions.")


def display_name(name: str) -> str:
    """Return the name of a file for messages."""
    if os.path.basename(name) == STREAM_FILE:
        return "the table"
    return "standard input" if name == STDIN else name


def strip_compression(name: str) -> str:
    """Return a name without the suffix of a compression."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix in MAGIC or suffix == ".zstd" else name


# --------------------------------------------------------------------------- bytes
def open_bytes(name: str) -> Stream:
    """Open a file as a stream of decompressed bytes."""
    with convert_errors(
        f"{display_name(name)}: it cannot be opened", "Check the name, and that this is a file."
    ):
        if name == STDIN:
            raw: Any = STANDARD_INPUT.open()
            if STANDARD_INPUT.kept is not None:
                raw.seek(0)
        else:
            raw = open(name, "rb", buffering=0)
        buffered = io.BufferedReader(raw, 1 << 18) if isinstance(raw, io.RawIOBase) else raw
        head = buffered.peek(6)[:6]
    kind = next((suffix for suffix, magic in MAGIC.items() if head.startswith(magic)), None)
    ending = os.path.splitext(name)[1].replace(".zstd", ".zst")
    if ending in MAGIC and kind != ending and head:
        raise ReadError(
            f"{display_name(name)}: its name ends in {ending}, but it does not begin as such a "
            "file does. Rename it, or compress it again."
        )
    return Stream(_decompressed(kind, buffered), raw)


def _decompressed(kind, buffered):
    if kind == ".gz":
        return GzipReader(buffered)
    if kind == ".bz2":
        return bz2.BZ2File(buffered)
    if kind == ".xz":
        return lzma.LZMAFile(buffered)
    return _zstd_reader(buffered) if kind == ".zst" else buffered


_GZIP_READ_BYTES = 1 << 18  # compressed bytes that are read at a time
_GZIP_WBITS = 31  # zlib's code for the format gzip


class GzipReader(io.RawIOBase):
    """Reader of gzip, member after member; zeros between members are skipped.

    Python's reader decompresses only 8 KiB at a time.
    """

    def __init__(self, source: IO[bytes]):
        self.source, self.pending = source, b""
        self.decompressor: Any = zlib.decompressobj(_GZIP_WBITS)  # of the current member

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, view: Any) -> int:
        """Fill the start of a view with the next decompressed bytes; return their number."""
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Return the next decompressed bytes, at most `size`; all of them if `size` is negative."""
        if size < 0:
            return self.readall()
        while size:
            chunk = self.pending or self.source.read(_GZIP_READ_BYTES)
            if self.decompressor is None:
                self.pending = chunk.lstrip(b"\0")
                if self.pending:
                    self.decompressor = zlib.decompressobj(_GZIP_WBITS)
                elif not chunk:
                    break
                continue
            if not chunk:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            data = self.decompressor.decompress(chunk, size)
            self.pending = self.decompressor.unused_data or self.decompressor.unconsumed_tail
            self.decompressor = None if self.decompressor.eof else self.decompressor
            if data:
                return data
        return b""


_ZSTD_READ_BYTES = 1 << 10  # compressed bytes at a time: four of them may hold 128 KiB of text


class ZstdReader(io.RawIOBase):
    """Reader of Zstandard, frame after frame.

    A file that ends inside a frame is an error, as in the other compressions; the readers of
    packages ignore it.
    """

    def __init__(self, source: IO[bytes], new_decompressor: Callable[[], Any]):
        self.source, self.new_decompressor = source, new_decompressor
        self.decompressor: Any = None  # of the current frame
        self.pending, self.unread = b"", memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, view: Any) -> int:
        """Fill the start of a view with the next decompressed bytes; return their number."""
        while not len(self.unread):
            chunk = self.pending or self.source.read(_ZSTD_READ_BYTES)
            if not chunk:
                if self.decompressor is not None:
                    raise EOFError("the last frame has no end")
                return 0
            try:
                self.decompressor = self.decompressor or self.new_decompressor()
                self.unread = memoryview(self.decompressor.decompress(chunk))
            except Exception as error:  # each package has its own error class
                raise OSError(error_text(error)) from None
            self.pending = self.decompressor.unused_data if self.decompressor.eof else b""
            self.decompressor = None if self.decompressor.eof else self.decompressor
        count = min(len(view), len(self.unread))
        view[:count], self.unread = self.unread[:count], self.unread[count:]
        return count


def _zstd_reader(buffered):
    """Return a reader of Zstandard: by Python 3.14's module, or by a package."""
    try:
        from compression import zstd

        return ZstdReader(buffered, zstd.ZstdDecompressor)
    except ImportError:
        pass
    try:
        import zstandard

        return ZstdReader(buffered, lambda: zstandard.ZstdDecompressor().decompressobj())
    except ImportError:
        pass
    try:
        import pyarrow

        return pyarrow.CompressedInputStream(buffered, "zstd")
    except ImportError:
        raise ReadError(
            "Zstandard files need a package: pip install 'tamis[zstd]'. Or decompress the file "
            "first."
        ) from None


def read_into(stream: Any, view: memoryview) -> int:
    """Fill the start of a view with bytes; return their number. Some readers lack `readinto`."""
    if hasattr(stream, "readinto"):
        return stream.readinto(view) or 0
    chunk = stream.read(len(view))
    view[: len(chunk)] = chunk
    return len(chunk)


# --------------------------------------------------------------------------- identity
_DIGEST_BLOCKS, _DIGEST_BLOCK_BYTES = 16, 1 << 16  # of a file, spaced evenly


def fingerprint(name: str) -> dict:
    """Return size, time of change and a digest of some bytes of a file, to detect changes."""
    if name == STDIN:
        STANDARD_INPUT.keep()
        return {"size": STANDARD_INPUT.kept.seek(0, os.SEEK_END), "digest": STANDARD_INPUT.digest}
    facts, total = os.stat(name), hashlib.sha256()
    with open(name, "rb") as file:
        for k in range(_DIGEST_BLOCKS):
            file.seek(max(0, facts.st_size - _DIGEST_BLOCK_BYTES) * k // (_DIGEST_BLOCKS - 1))
            total.update(file.read(_DIGEST_BLOCK_BYTES))
    return {"size": facts.st_size, "changed": facts.st_mtime_ns, "digest": total.hexdigest()}
