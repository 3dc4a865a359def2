"""A window that moves over a text: whole lines at a time, in bounded memory."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from tamis.data.ahead import Unpacked
from tamis.data.options import Options
from tamis.data.rows import SHOWN, Misplaced, ReadError, foreign, said
from tamis.data.streams import BROKEN, Stream, open_bytes, read_into, shown
from tamis.system.spelling import option

PIECE = 1 << 20  # bytes asked for where the end of a line, or of the file, is not known
SLACK = 1 << 16  # bytes beyond a chunk, in which its last line usually ends
PADDING = 64  # newlines after the text, so that scans need not look for its end
BOM = b"\xef\xbb\xbf"
NUL = "a NUL byte; this is no text. Decompress the file, or name its format."


class Window:
    """The part of a decompressed file that is in memory; `begin` is where the next line starts.

    If the bytes end in an error (a truncated gzip), all whole lines before it are given first;
    `failure` then says what happened.
    """

    def __init__(self, name: str, options: Options, offset: int = 0, line: int = 1):
        self.name, self.line = shown(name), line
        self.size, self.longest = options.chunk_bytes, options.max_line_bytes
        self.stream: Stream = open_bytes(name)
        self.begin = self.end = 0
        self.store = bytearray()
        self.ended, self.failure = False, ""
        self._room(self.size + PIECE)
        if offset:
            self._skip(offset)
        if not isinstance(self.stream.bytes, io.BufferedReader):
            self.stream = Stream(Unpacked(self.stream.bytes), self.stream.raw)
        if not offset:
            self._skip_mark()
        self.offset = offset or self.begin  # of `begin`, in the decompressed file

    # ------------------------------------------------------------------ moving
    def lines(self, least: int) -> int:
        """Where the first line ends that reaches `least` bytes on; `begin` at the file's end."""
        reach = least - 1
        while True:
            hit = self.store.find(b"\n", self.begin + reach, self.end)
            if hit >= 0:
                return hit + 1
            if self.ended:
                return self._last()
            if self.end - self.begin > self.longest + least:
                self.too_long(
                    "line", self.store.rfind(b"\n", self.begin, self.end) + 1 or self.begin
                )
            left = self.end - self.begin
            self._read(least + SLACK - left if left < least else PIECE)
            reach = max(reach, left)

    def too_long(self, what: str, at: int) -> NoReturn:
        """Refuse a line or record that would fill the memory."""
        line = self.line + self.store.count(b"\n", self.begin, at)
        begins = bytes(self.store[at : at + SHOWN]).decode("utf-8", "backslashreplace")
        raise ReadError(
            f"{self.name}, line {line}: the {what} that begins {begins!r} is longer than "
            f"{self.longest >> 20} MiB. Check its line ends and quotes, or pass a larger "
            f"{option('max_line_bytes')}."
        )

    def advance(self, at: int, lines: int) -> None:
        """Go on behind a line."""
        self.offset += at - self.begin
        self.begin, self.line = at, self.line + lines

    @contextmanager
    def restoring_position(self) -> Iterator[None]:
        """A look at the lines that are in memory, after which the window stands where it stood."""
        begin, line, offset = self.begin, self.line, self.offset
        yield
        self.begin, self.line, self.offset = begin, line, offset

    def clean(self, at: int, stop: int) -> int:
        """The end of the lines from `at` on that hold no NUL byte."""
        hit = self.store.find(0, at, stop)
        return stop if hit < 0 else max(at, self.store.rfind(b"\n", at, hit) + 1)

    def done(self) -> int:
        """Bytes of the file itself that have been read, where it can tell."""
        try:
            return self.stream.raw.tell()
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """Let go of the file."""
        if self.stream.raw is not getattr(sys.stdin, "buffer", None):
            self.stream.bytes.close()
            self.stream.raw.close()

    # ------------------------------------------------------------------ inside
    def _room(self, size: int) -> None:
        """A larger store with the same text."""
        store = bytearray(size + PADDING)
        left = self.end - self.begin
        if left:
            store[:left] = self.store[self.begin : self.end]
        self.store, self.begin, self.end = store, 0, left
        self.text = np.frombuffer(store, np.uint8)

    def _read(self, most: int) -> None:
        """Some more bytes at the end; what is left of the text is moved only to make room."""
        left, room = self.end - self.begin, len(self.store) - PADDING
        if left + most > room:
            self._room(max(2 * room, left + most))
        elif self.end + most > room:
            self.text[:left] = self.text[self.begin : self.end]
            self.begin, self.end = 0, left
        try:
            with memoryview(self.store) as view:
                got = read_into(self.stream.bytes, view[self.end : self.end + most])
        except BROKEN as error:
            got, way_out = 0, "cut short or damaged. Copy the file again"
            self.failure = f"the data ends in an error ({said(error)}): {way_out}"
        self.end += got
        self.ended = got == 0

    def _last(self) -> int:
        """The end of the text, its last line closed; of a broken file the last whole line."""
        if self.failure:
            self.end = max(self.begin, self.store.rfind(b"\n", self.begin, self.end) + 1)
        elif self.end > self.begin and self.store[self.end - 1] != 10:
            self.store[self.end] = 10
            self.end += 1
        self.store[self.end : self.end + PADDING // 2] = b"\n" * (PADDING // 2)
        return self.end

    def _skip(self, offset: int) -> None:
        """Begin where an earlier reading ended: behind a line, or a last one that is not closed."""
        source, at = self.stream.bytes, 0
        plain = isinstance(source, io.BufferedReader)  # which can be sought beyond its end
        with foreign(
            f"{self.name}: byte {offset} of its text, where reading is to go on, cannot be reached",
            "Copy the file again.",
        ):
            if source.seekable():
                at = source.seek(
                    min(offset - 1, os.fstat(source.fileno()).st_size) if plain else offset - 1
                )
            while at < offset - 1 and (piece := source.read(min(offset - 1 - at, PIECE))):
                at += len(piece)
            if at < offset - 1 or source.read(1) not in (b"\n", b""):
                raise Misplaced(
                    f"{self.name}: no line begins at byte {offset}, where reading was to go on."
                )

    def _skip_mark(self) -> None:
        """Leave out a byte order mark; refuse UTF-16."""
        while self.end < 3 and not self.ended:
            self._read(SLACK)
        head = bytes(self.store[: min(self.end, 3)])
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ReadError(
                f"{self.name}, line 1: the text is in UTF-16. Save it as UTF-8 (iconv -f UTF-16 -t "
                "UTF-8)."
            )
        if head == BOM:
            self.begin = 3
