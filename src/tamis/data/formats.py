"""Detect the format of a file by its name, or by its first bytes."""

import os
import re

from tamis.data.options import FORMATS
from tamis.data.rows import ReadError
from tamis.data.streams import (
    DECOMPRESSION_ERRORS,
    STANDARD_INPUT,
    STDIN,
    display_name,
    open_bytes,
    strip_compression,
)
from tamis.system.spelling import format_option

SUFFIXES = {
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".npz": "npz",
    ".vw": "vw",
}
_NUMBER = rb"[-+]?[0-9.][-+0-9.eE]*"
_LINE_PATTERNS = {
    "vw": re.compile(rb"[^|,\t]*\|"),
    "svmlight": re.compile(
        rb"\s*("
        + _NUMBER
        + rb"(,"
        + _NUMBER
        + rb")*)?(\s+qid:\d+)?(\s+\d+:"
        + _NUMBER
        + rb"|\s*\d+:"
        + _NUMBER
        + rb"|\s*$|\s+#)"
    ),
    "tsv": re.compile(rb"[^\t]*\t"),
    "csv": re.compile(rb"[^,;]*[,;]"),
}
_HEAD_BYTES = 1 << 16  # of the decompressed file
_MAGIC_NUMBERS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}


def common_format(names: list[str]) -> str:
    """Return the format of all files; refuse files of several formats."""
    formats = {
        name: SUFFIXES.get(os.path.splitext(strip_compression(name))[1].lower())
        or detect_format(name)
        for name in names
    }
    distinct = set(formats.values())
    if len(distinct) > 1:
        listed = ", ".join(f"{display_name(name)}: {format}" for name, format in formats.items())
        raise ReadError(
            f"the files are of several formats ({listed}). Read them apart, or pass "
            f"{format_option('format', ...)}"
        )
    return distinct.pop()


def detect_format(name: str) -> str:
    """Return the format of a file by its first bytes or its first line."""
    head = _head(name)
    for magic, format in _MAGIC_NUMBERS.items():
        if head.startswith(magic):
            return format
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            for format, pattern in _LINE_PATTERNS.items():
                if pattern.match(line):
                    return format
            break
    raise ReadError(
        f"{display_name(name)}: neither its name nor its first line says what format it is in. "
        f"Pass {format_option('format')}, one of {', '.join(FORMATS)}."
    )


def _head(name: str) -> bytes:
    """Return the first bytes of a file, decompressed."""
    if name == STDIN:
        STANDARD_INPUT.keep()
    stream = open_bytes(name)
    try:
        head = b""
        while len(head) < _HEAD_BYTES and (chunk := stream.bytes.read(_HEAD_BYTES - len(head))):
            head += chunk
        return head
    except DECOMPRESSION_ERRORS:
        return b""
    finally:
        stream.raw.close()
