"""Which format a file is in: by its name, or by its first line."""

import os
import re

from tamis.data.options import FORMATS
from tamis.data.rows import ReadError
from tamis.data.streams import BROKEN, STANDARD, STDIN, bare, open_bytes, shown
from tamis.system.spelling import option

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
_LINES = {
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
_HEAD = 1 << 16  # bytes that are looked at
_HEADS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}


def format_of(names: list[str]) -> str:
    """The one format of all files."""
    found = {
        name: SUFFIXES.get(os.path.splitext(bare(name))[1].lower()) or guess(name) for name in names
    }
    kinds = set(found.values())
    if len(kinds) > 1:
        listed = ", ".join(f"{shown(name)}: {kind}" for name, kind in found.items())
        raise ReadError(
            f"the files are of several formats ({listed}). Read them apart, or pass "
            f"{option('format', ...)}"
        )
    return kinds.pop()


def guess(name: str) -> str:
    """The format by what the text begins with."""
    head = _head(name)
    for magic, kind in _HEADS.items():
        if head.startswith(magic):
            return kind
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            for kind, pattern in _LINES.items():
                if pattern.match(line):
                    return kind
            break
    raise ReadError(
        f"{shown(name)}: neither its name nor its first line says what format it is in. Pass "
        f"{option('format')}, one of {', '.join(FORMATS)}."
    )


def _head(name: str) -> bytes:
    """The first bytes of a file, decompressed."""
    if name == STDIN:
        STANDARD.keep()
    stream = open_bytes(name)
    try:
        head = b""
        while len(head) < _HEAD and (piece := stream.bytes.read(_HEAD - len(head))):
            head += piece
        return head
    except BROKEN:
        return b""
    finally:
        stream.raw.close()
