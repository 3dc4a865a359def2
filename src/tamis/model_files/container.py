"""The file around a model: written whole or not at all, read only when whole.

::

    TAMIS MODEL                              these four lines and the closing checksum
    format 0001                              are the same in every version of the format
    header 00000000000000000812 bytes
    file 00000000000000002048 bytes
    {"class": ...}                           the header, JSON, made to be read by people too
    ...                                      the blocks, little-endian arrays one after the other
    ...                                      SHA-256 of all bytes before it, 32 bytes
"""

import hashlib
import json
import os
import re
from collections import Counter
from typing import Any, BinaryIO

from tamis.system.files import replacing
from tamis.system.terminal import for_terminal

FORMAT = 1
MAGIC = b"TAMIS MODEL\n"
PREAMBLE = "TAMIS MODEL\nformat {:04d}\nheader {:020d} bytes\nfile {:020d} bytes\n"
_PATTERN = re.compile(rb"TAMIS MODEL\nformat (\d{4})\nheader (\d{20}) bytes\nfile (\d{20}) bytes\n")
_PREAMBLE_LENGTH = len(PREAMBLE.format(0, 0, 0))
_CHECKSUM_LENGTH = hashlib.sha256().digest_size
_PIECE = 1 << 20
MOST_HEADER = 1 << 24  # bytes
KEYS = {"class", "versions", "features", "parameters", "attributes", "blocks"}

AGAIN = "Copy it again from where it came from, or save the model again."


class ModelFileError(ValueError):
    """A file that `load` refuses: no model of tamis, cut short, damaged, of another format, or
    inconsistent.
    """

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(message))  # it quotes the file


# --------------------------------------------------------------------------- writing
def write_file(path: str, header: dict, blocks: list) -> None:
    """Write header and blocks to `path`, piece by piece and in one atomic move."""
    text = _readable(header).encode()
    if len(text) > MOST_HEADER:
        raise TypeError(
            f"a header of {len(text):,} bytes, where {MOST_HEADER:,} is the most: this "
            f"{header['class']} holds too many values that are no arrays. Make them arrays."
        )
    whole = _PREAMBLE_LENGTH + len(text) + sum(block.length for block in blocks) + _CHECKSUM_LENGTH
    total = hashlib.sha256()
    written = _CHECKSUM_LENGTH
    with replacing(path) as file:
        for piece in _all_pieces(PREAMBLE.format(FORMAT, len(text), whole).encode() + text, blocks):
            total.update(piece)
            written += file.write(piece)
        if written != whole:
            raise RuntimeError(
                f"The model changed while it was being saved to {path}; save it when no other "
                "thread fits it."
            )
        file.write(total.digest())


def _all_pieces(start: bytes, blocks: list):
    """All bytes of the file but the checksum, in pieces of bounded size."""
    yield start
    for block in blocks:
        yield from block.pieces()


def _readable(header: dict) -> str:
    """The header as JSON, one line an entry."""
    parts = []
    for key, part in header.items():
        if isinstance(part, dict):
            inside = ",\n  ".join(
                f"{to_json(name)}: {to_json(value)}" for name, value in part.items()
            )
            parts.append(f"{to_json(key)}: {{\n  {inside}\n}}")
        elif isinstance(part, list):
            inside = ",\n  ".join(map(to_json, part))
            parts.append(f"{to_json(key)}: [\n  {inside}\n]")
        else:
            parts.append(f"{to_json(key)}: {to_json(part)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def to_json(value: Any) -> str:
    """Strict JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# --------------------------------------------------------------------------- reading
def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a model does."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(file: BinaryIO) -> tuple[dict, int, int]:
    """Check the whole file, then return its header and where its blocks start and end."""
    version, length, size = _check_whole(file)
    start, end = _PREAMBLE_LENGTH + length, size - _CHECKSUM_LENGTH
    if version != FORMAT:
        raise ModelFileError(
            f"written in format {version}; this tamis reads format {FORMAT}. Load it with the "
            "version of tamis that wrote it."
        )
    if start > end:
        raise ModelFileError(
            f"the first lines are inconsistent (a header of {length} bytes). {AGAIN}"
        )
    if length > MOST_HEADER:
        raise ModelFileError(
            f"a header of {length:,} bytes, where {MOST_HEADER:,} is the most. {AGAIN}"
        )
    file.seek(_PREAMBLE_LENGTH)
    header = from_json(file.read(length))
    if not isinstance(header, dict):
        raise ModelFileError(f"the header is no JSON object. {AGAIN}")
    if unknown := header.keys() - KEYS:
        raise ModelFileError(f"the header has an unknown key, {min(unknown)[:60]!r}. {AGAIN}")
    return header, start, end


def from_json(text: bytes) -> Any:
    """What a text of strict JSON says."""
    return json.loads(text.decode(), parse_constant=_no_constant, object_pairs_hook=_no_repeated)


def _no_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, none of whose keys is there twice: readers would differ in which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ModelFileError(f"the header has the key {twice[:60]!r} twice. {AGAIN}")
    return found


def _check_whole(file) -> tuple[int, int, int]:
    """Check first lines, length and checksum; return format, header length and file length."""
    size = os.fstat(file.fileno()).st_size
    first = file.read(_PREAMBLE_LENGTH)
    if not (first.startswith(MAGIC) or MAGIC.startswith(first)):
        raise ModelFileError(
            "not a model file of tamis (these start with the line TAMIS MODEL). Pass a file "
            "written by tamis.save."
        )
    if len(first) < _PREAMBLE_LENGTH:
        raise ModelFileError(f"cut short after {size} bytes. {AGAIN}")
    match = _PATTERN.fullmatch(first)
    if not match:
        raise ModelFileError(f"damaged: the first lines are unreadable. {AGAIN}")
    version, length, whole = (int(number) for number in match.groups())
    if size < whole:
        raise ModelFileError(f"cut short: {size} of {whole} bytes. {AGAIN}")
    if size > whole or size < _PREAMBLE_LENGTH + _CHECKSUM_LENGTH:
        raise ModelFileError(f"damaged: {size} bytes, where its first lines say {whole}. {AGAIN}")
    total = hashlib.sha256(first)
    left = size - _CHECKSUM_LENGTH - len(first)
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        total.update(piece)
        left -= len(piece)
    if file.read(_CHECKSUM_LENGTH) != total.digest():
        raise ModelFileError(f"damaged: the checksum does not match. {AGAIN}")
    return version, length, size


def _no_constant(name: str):
    """Refuse NaN and Infinity, which are no JSON; the format writes their bits instead."""
    raise ModelFileError(f"the header holds {name}, which is no JSON. {AGAIN}")
