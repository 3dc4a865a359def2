"""Window that moves over a text: whole lines at a time, in bounded memory."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from tamis.data.options import Options
from tamis.data.read_ahead import DecompressedReader
from tamis.data.rows import MAX_QUOTED, PositionError, ReadError, convert_errors, error_text
from tamis.data.streams import DECOMPRESSION_ERRORS, Stream, display_name, open_bytes, read_into
from tamis.system.spelling import format_option

READ_BYTES = 1 << 20  # bytes of a read while the end of a line, or of the file, is not known
EXTRA_BYTES = 1 << 16  # bytes after a chunk, which usually hold the end of its last line
PADDING = 64  # newlines after the text, so that scans need not check for its end
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NUL_MESSAGE = "a NUL byte; this is no text. Decompress the file, or name its format."


class Window:
    """Part of a decompressed file in memory; the next line begins at `begin`.

    If the bytes end in an error (a truncated gzip), all whole lines before it are read first;
    `failure` is then the error.
    """

    def __init__(self, name: str, options: Options, offset: int = 0, line: int = 1):
        self.name, self.line = display_name(name), line
        self.size, self.max_bytes = options.chunk_bytes, options.max_line_bytes
        self.stream: Stream = open_bytes(name)
        self.begin = self.end = 0
        self.buffer = bytearray()
        self.at_end, self.failure = False, ""
        self._grow(self.size + READ_BYTES)
        if offset:
            self._seek_line(offset)
        if not isinstance(self.stream.bytes, io.BufferedReader):
            self.stream = Stream(DecompressedReader(self.stream.bytes), self.stream.raw)
        if not offset:
            self._skip_byte_order_mark()
        self.offset = offset or self.begin  # of `begin`, in the decompressed file

    # ------------------------------------------------------------------ moving
    def find_line_end(self, min_bytes: int) -> int:
        """Return the end of the first line that ends at least `min_bytes` after `begin`; `begin` at
        the file's end.
        """
        searched = min_bytes - 1
        while True:
            newline = self.buffer.find(b"\n", self.begin + searched, self.end)
            if newline >= 0:
                return newline + 1
            if self.at_end:
                return self._finish_text()
            if self.end - self.begin > self.max_bytes + min_bytes:
                self.too_long(
                    "line", self.buffer.rfind(b"\n", self.begin, self.end) + 1 or self.begin
                )
            length = self.end - self.begin
            self._read_more(min_bytes + EXTRA_BYTES - length if length < min_bytes else READ_BYTES)
            searched = max(searched, length)

    def too_long(self, unit: str, start: int) -> NoReturn:
        """Refuse a line or record that would fill the memory."""
        line = self.line + self.buffer.count(b"\n", self.begin, start)
        first_bytes = bytes(self.buffer[start : start + MAX_QUOTED]).decode(
            "utf-8", "backslashreplace"
        )
        raise ReadError(
            f"{self.name}, line {line}: the {unit} that begins {first_bytes!r} is longer than "
            f"{self.max_bytes >> 20} MiB. Check its line ends and quotes, or pass a larger "
            f"{format_option('max_line_bytes')}."
        )

    def advance(self, pos: int, n_lines: int) -> None:
        """Move `begin` to `pos`, after `n_lines` lines."""
        self.offset += pos - self.begin
        self.begin, self.line = pos, self.line + n_lines

    @contextmanager
    def restoring_position(self) -> Iterator[None]:
        """Restore the position after the lines in memory were read in advance."""
        begin, line, offset = self.begin, self.line, self.offset
        yield
        self.begin, self.line, self.offset = begin, line, offset

    def find_nul(self, start: int, stop: int) -> int:
        """Return the end of the lines from `start` on that hold no NUL byte."""
        nul = self.buffer.find(0, start, stop)
        return stop if nul < 0 else max(start, self.buffer.rfind(b"\n", start, nul) + 1)

    def bytes_read(self) -> int:
        """Return the bytes of the raw file read so far, or 0 if it cannot tell."""
        try:
            return self.stream.raw.tell()
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """Close the file."""
        if self.stream.raw is not getattr(sys.stdin, "buffer", None):
            self.stream.bytes.close()
            self.stream.raw.close()

    # ------------------------------------------------------------------ inside
    def _grow(self, size: int) -> None:
        """Replace the buffer by a larger one with the same text."""
        larger_buffer = bytearray(size + PADDING)
        length = self.end - self.begin
        if length:
            larger_buffer[:length] = self.buffer[self.begin : self.end]
        self.buffer, self.begin, self.end = larger_buffer, 0, length
        self.text = np.frombuffer(larger_buffer, np.uint8)

    def _read_more(self, max_bytes: int) -> None:
        """Append up to `max_bytes` bytes; move the text only to make space."""
        length, capacity = self.end - self.begin, len(self.buffer) - PADDING
        if length + max_bytes > capacity:
            self._grow(max(2 * capacity, length + max_bytes))
        elif self.end + max_bytes > capacity:
            self.text[:length] = self.text[self.begin : self.end]
            self.begin, self.end = 0, length
        try:
            with memoryview(self.buffer) as view:
                n_bytes = read_into(self.stream.bytes, view[self.end : self.end + max_bytes])
        except DECOMPRESSION_ERRORS as error:
            n_bytes, advice = 0, "cut short or damaged. Copy the file again"
            self.failure = f"the data ends in an error ({error_text(error)}): {advice}"
        self.end += n_bytes
        self.at_end = n_bytes == 0

    def _finish_text(self) -> int:
        """Return the end of the text after closing its last line; a truncated file ends at its last
        whole line.
        """
        if self.failure:
            self.end = max(self.begin, self.buffer.rfind(b"\n", self.begin, self.end) + 1)
        elif self.end > self.begin and self.buffer[self.end - 1] != 10:
            self.buffer[self.end] = 10
            self.end += 1
        self.buffer[self.end : self.end + PADDING // 2] = b"\n" * (PADDING // 2)
        return self.end

    def _seek_line(self, offset: int) -> None:
        """Go to the end of an earlier reading: behind a line end, or at the end of the file."""
        source, pos = self.stream.bytes, 0
        is_plain = isinstance(source, io.BufferedReader)  # can seek beyond its end
        with convert_errors(
            f"{self.name}: byte {offset} of its text, where reading is to go on, cannot be reached",
            "Copy the file again.",
        ):
            if source.seekable():
                pos = source.seek(
                    min(offset - 1, os.fstat(source.fileno()).st_size) if is_plain else offset - 1
                )
            while pos < offset - 1 and (chunk := source.read(min(offset - 1 - pos, READ_BYTES))):
                pos += len(chunk)
            if pos < offset - 1 or source.read(1) not in (b"\n", b""):
                raise PositionError(
                    f"{self.name}: no line begins at byte {offset}, where reading was to go on."
                )

    def _skip_byte_order_mark(self) -> None:
        """Skip a byte order mark; refuse UTF-16."""
        while self.end < 3 and not self.at_end:
            self._read_more(EXTRA_BYTES)
        head = bytes(self.buffer[: min(self.end, 3)])
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ReadError(
                f"{self.name}, line 1: the text is in UTF-16. Save it as UTF-8 (iconv -f UTF-16 -t "
                "UTF-8)."
            )
        if head == BYTE_ORDER_MARK:
            self.begin = 3
