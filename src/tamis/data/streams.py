"""Names to bytes: globs, standard input, and decompression by what a file begins with."""

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

from tamis.data.rows import ReadError, foreign, said
from tamis.system.files import StrPath

STREAM = "tamis-table.arrow"  # what an Arrow stream is kept as
STDIN = "-"
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
# What damaged compressed data raises.
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, RuntimeError, ValueError, MemoryError)
_PROBES, _PROBE = 16, 1 << 16
_GULP, _GZIP = 1 << 18, 31  # bytes of gzip that are unpacked at a time; how zlib calls gzip
_SIP = 1 << 10  # compressed bytes that are unpacked at a time: four of them can stand for 128 KiB


class Stream(NamedTuple):
    """Bytes to read, and the file under them (that knows how far it has been read)."""

    bytes: Any
    raw: Any


class Stdin:
    """Standard input: read once as it comes, or kept in a temporary file to be read again."""

    def __init__(self) -> None:
        self.kept: Any = None
        self.digest, self.begun = "", False

    def keep(self) -> None:
        """Take all of it into a temporary file."""
        if self.kept is None:
            self._first()
            total, self.kept = hashlib.sha256(), tempfile.TemporaryFile(prefix="tamis-")
            while piece := sys.stdin.buffer.read(1 << 20):
                total.update(piece)
                self.kept.write(piece)
            self.kept.flush()
            self.digest = total.hexdigest()

    def open(self) -> BinaryIO:
        """The bytes from their beginning."""
        if self.kept is None:
            self._first()
            return sys.stdin.buffer
        return open(os.dup(self.kept.fileno()), "rb", buffering=0)

    def _first(self) -> None:
        if sys.stdin is None:
            raise ReadError(
                "standard input: it is closed. Name a file, or pass the rows by a pipe."
            )
        if self.begun:
            raise ReadError(
                "standard input: it has been read already and cannot be read again. Write it to a "
                "file, or call keep() first."
            )
        self.begun = True


STANDARD = Stdin()


# --------------------------------------------------------------------------- names
def expand(source: StrPath | Iterable[StrPath]) -> list[str]:
    """Names of the files meant: one, several, or a glob, in sorted order."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    names: list[str] = []
    for one in source:
        name = os.fspath(one)
        if not isinstance(name, str):
            raise TypeError(f"a source must be a path, a glob, '-' or a list of them. Got {one!r}.")
        found = [name]
        if name != STDIN and not os.path.exists(name) and glob.has_magic(name):
            found = sorted(glob.glob(name, recursive=True))
            if not found:
                raise ReadError(f"{name}: no file matches. Check the pattern and the folder.")
        names += found
    if not names:
        raise ReadError("no file was named. Pass a path, a glob or '-'.")
    for name in names:
        check_file(name)
    return names


def check_file(name: str) -> None:
    """Refuse what is no file."""
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


def shown(name: str) -> str:
    """A name as messages have it."""
    if os.path.basename(name) == STREAM:
        return "the table"
    return "standard input" if name == STDIN else name


def bare(name: str) -> str:
    """The name without the suffix of a compression."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix in MAGIC or suffix == ".zstd" else name


# --------------------------------------------------------------------------- bytes
def open_bytes(name: str) -> Stream:
    """The decompressed bytes of a file."""
    with foreign(f"{shown(name)}: it cannot be opened", "Check the name, and that this is a file."):
        if name == STDIN:
            raw: Any = STANDARD.open()
            if STANDARD.kept is not None:
                raw.seek(0)
        else:
            raw = open(name, "rb", buffering=0)
        buffered = io.BufferedReader(raw, 1 << 18) if isinstance(raw, io.RawIOBase) else raw
        head = buffered.peek(6)[:6]
    kind = next((suffix for suffix, magic in MAGIC.items() if head.startswith(magic)), None)
    ending = os.path.splitext(name)[1].replace(".zstd", ".zst")
    if ending in MAGIC and kind != ending and head:
        raise ReadError(
            f"{shown(name)}: its name ends in {ending}, but it does not begin as such a file does. "
            "Rename it, or compress it again."
        )
    return Stream(_unpacked(kind, buffered), raw)


def _unpacked(kind, buffered):
    if kind == ".gz":
        return Members(buffered)
    if kind == ".bz2":
        return bz2.BZ2File(buffered)
    if kind == ".xz":
        return lzma.LZMAFile(buffered)
    return _zstandard(buffered) if kind == ".zst" else buffered


class Members(io.RawIOBase):
    """gzip, member after member, without zeros between them; Python's own takes 8 KiB at a time."""

    def __init__(self, source: IO[bytes]):
        self.source, self.rest = source, b""
        self.machine: Any = zlib.decompressobj(_GZIP)  # of the member that is open

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, view: Any) -> int:
        """Fill a view as far as the bytes go that were read at once."""
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, as far as those go that were read at once; all below 0."""
        if size < 0:
            return self.readall()
        while size:
            piece = self.rest or self.source.read(_GULP)
            if self.machine is None:
                self.rest = piece.lstrip(b"\0")
                if self.rest:
                    self.machine = zlib.decompressobj(_GZIP)
                elif not piece:
                    break
                continue
            if not piece:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            found = self.machine.decompress(piece, size)
            self.rest = self.machine.unused_data or self.machine.unconsumed_tail
            self.machine = None if self.machine.eof else self.machine
            if found:
                return found
        return b""


class Frames(io.RawIOBase):
    """Zstandard, frame after frame.

    A file that ends inside a frame is an error, as in the other compressions; readers of packages
    pass over it.
    """

    def __init__(self, source: IO[bytes], make: Callable[[], Any]):
        self.source, self.make = source, make
        self.machine: Any = None  # of the frame that is open
        self.rest, self.ready = b"", memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, view: Any) -> int:
        """Fill a view as far as what is unpacked goes."""
        while not len(self.ready):
            piece = self.rest or self.source.read(_SIP)
            if not piece:
                if self.machine is not None:
                    raise EOFError("the last frame has no end")
                return 0
            try:
                self.machine = self.machine or self.make()
                self.ready = memoryview(self.machine.decompress(piece))
            except Exception as error:  # each package has a kind of its own
                raise OSError(said(error)) from None
            self.rest = self.machine.unused_data if self.machine.eof else b""
            self.machine = None if self.machine.eof else self.machine
        count = min(len(view), len(self.ready))
        view[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


def _zstandard(buffered):
    """A reader of Zstandard: Python's own from 3.14 on, else that of a package."""
    try:
        from compression import zstd

        return Frames(buffered, zstd.ZstdDecompressor)
    except ImportError:
        pass
    try:
        import zstandard

        return Frames(buffered, lambda: zstandard.ZstdDecompressor().decompressobj())
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
    """Fill a view as far as the bytes go; some readers lack `readinto`."""
    if hasattr(stream, "readinto"):
        return stream.readinto(view) or 0
    piece = stream.read(len(view))
    view[: len(piece)] = piece
    return len(piece)


# --------------------------------------------------------------------------- identity
def fingerprint(name: str) -> dict:
    """What tells a file from another: size, last change, and a digest of some of its bytes."""
    if name == STDIN:
        STANDARD.keep()
        return {"size": STANDARD.kept.seek(0, os.SEEK_END), "digest": STANDARD.digest}
    facts, total = os.stat(name), hashlib.sha256()
    with open(name, "rb") as file:
        for k in range(_PROBES):
            file.seek(max(0, facts.st_size - _PROBE) * k // (_PROBES - 1))
            total.update(file.read(_PROBE))
    return {"size": facts.st_size, "changed": facts.st_mtime_ns, "digest": total.hexdigest()}
