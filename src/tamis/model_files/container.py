"""The file format of models. A file is written completely or not at all, and read only if it is
complete.

::

    TAMIS MODEL                              these four lines and the closing checksum
    format 0001                              are the same in every version of the format
    header 00000000000000000812 bytes
    file 00000000000000002048 bytes
    {"class": ...}                           the header, JSON with one entry per line
    ...                                      the blocks, little-endian arrays one after the other
    ...                                      SHA-256 of all bytes before it, 32 bytes
"""

import hashlib
import json
import os
import re
from collections import Counter
from typing import Any, BinaryIO

from tamis.system.files import atomic_writer
from tamis.system.terminal import for_terminal

FORMAT = 1
MAGIC = b"TAMIS MODEL\n"
PREAMBLE = "TAMIS MODEL\nformat {:04d}\nheader {:020d} bytes\nfile {:020d} bytes\n"
_PATTERN = re.compile(rb"TAMIS MODEL\nformat (\d{4})\nheader (\d{20}) bytes\nfile (\d{20}) bytes\n")
_PREAMBLE_LENGTH = len(PREAMBLE.format(0, 0, 0))
_CHECKSUM_LENGTH = hashlib.sha256().digest_size
_CHUNK_BYTES = 1 << 20
MAX_HEADER_BYTES = 1 << 24  # bytes
HEADER_KEYS = {"class", "versions", "features", "parameters", "attributes", "blocks"}

RESAVE_ADVICE = "Copy it again from where it came from, or save the model again."


class ModelFileError(ValueError):
    """The file is no model of tamis, cut short, damaged, of another format, or inconsistent."""

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(message))  # the message quotes the file


# --------------------------------------------------------------------------- writing
def write_file(path: str, header: dict, blocks: list) -> None:
    """Write header and blocks in chunks, then move the file to `path` atomically."""
    text = _format_header(header).encode()
    if len(text) > MAX_HEADER_BYTES:
        raise TypeError(
            f"a header of {len(text):,} bytes, where {MAX_HEADER_BYTES:,} is the maximum: this "
            f"{header['class']} holds too many values that are no arrays. Make them arrays."
        )
    file_size = (
        _PREAMBLE_LENGTH + len(text) + sum(block.length for block in blocks) + _CHECKSUM_LENGTH
    )
    checksum = hashlib.sha256()
    n_written = _CHECKSUM_LENGTH
    with atomic_writer(path) as file:
        for chunk in _file_chunks(
            PREAMBLE.format(FORMAT, len(text), file_size).encode() + text, blocks
        ):
            checksum.update(chunk)
            n_written += file.write(chunk)
        if n_written != file_size:
            raise RuntimeError(
                f"The model changed while it was being saved to {path}; save it when no other "
                "thread fits it."
            )
        file.write(checksum.digest())


def _file_chunks(start: bytes, blocks: list):
    """Yield all bytes of the file except the checksum, in chunks of bounded size."""
    yield start
    for block in blocks:
        yield from block.chunks()


def _format_header(header: dict) -> str:
    """Return the header as JSON with one line for each entry."""
    entries = []
    for key, entry in header.items():
        if isinstance(entry, dict):
            lines = ",\n  ".join(
                f"{to_json(name)}: {to_json(value)}" for name, value in entry.items()
            )
            entries.append(f"{to_json(key)}: {{\n  {lines}\n}}")
        elif isinstance(entry, list):
            lines = ",\n  ".join(map(to_json, entry))
            entries.append(f"{to_json(key)}: [\n  {lines}\n]")
        else:
            entries.append(f"{to_json(key)}: {to_json(entry)}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def to_json(value: Any) -> str:
    """Return strict JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# --------------------------------------------------------------------------- reading
def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins with the first line of a model file."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(file: BinaryIO) -> tuple[dict, int, int]:
    """Verify the file, then return its header and the positions where its blocks start and end."""
    version, length, size = _verify_file(file)
    start, end = _PREAMBLE_LENGTH + length, size - _CHECKSUM_LENGTH
    if version != FORMAT:
        raise ModelFileError(
            f"written in format {version}; this tamis reads format {FORMAT}. Load it with the "
            "version of tamis that wrote it."
        )
    if start > end:
        raise ModelFileError(
            f"the first lines are inconsistent (a header of {length} bytes). {RESAVE_ADVICE}"
        )
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"a header of {length:,} bytes, where {MAX_HEADER_BYTES:,} is the maximum. "
            f"{RESAVE_ADVICE}"
        )
    file.seek(_PREAMBLE_LENGTH)
    header = from_json(file.read(length))
    if not isinstance(header, dict):
        raise ModelFileError(f"the header is no JSON object. {RESAVE_ADVICE}")
    if unknown := header.keys() - HEADER_KEYS:
        raise ModelFileError(
            f"the header has an unknown key, {min(unknown)[:60]!r}. {RESAVE_ADVICE}"
        )
    return header, start, end


def from_json(text: bytes) -> Any:
    """Return the value of strict JSON."""
    return json.loads(
        text.decode(), parse_constant=_reject_constant, object_pairs_hook=_reject_duplicate_keys
    )


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without duplicate keys, since JSON readers differ in which one counts."""
    result = dict(pairs)
    if len(result) < len(pairs):
        duplicate = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ModelFileError(f"the header has the key {duplicate[:60]!r} twice. {RESAVE_ADVICE}")
    return result


def _verify_file(file) -> tuple[int, int, int]:
    """Check first lines, length and checksum; return format, header length and file length."""
    size = os.fstat(file.fileno()).st_size
    preamble = file.read(_PREAMBLE_LENGTH)
    if not (preamble.startswith(MAGIC) or MAGIC.startswith(preamble)):
        raise ModelFileError(
            "not a model file of tamis (these start with the line TAMIS MODEL). Pass a file "
            "written by tamis.save."
        )
    if len(preamble) < _PREAMBLE_LENGTH:
        raise ModelFileError(f"cut short after {size} bytes. {RESAVE_ADVICE}")
    match = _PATTERN.fullmatch(preamble)
    if not match:
        raise ModelFileError(f"damaged: the first lines are unreadable. {RESAVE_ADVICE}")
    version, length, file_size = (int(number) for number in match.groups())
    if size < file_size:
        raise ModelFileError(f"cut short: {size} of {file_size} bytes. {RESAVE_ADVICE}")
    if size > file_size or size < _PREAMBLE_LENGTH + _CHECKSUM_LENGTH:
        raise ModelFileError(
            f"damaged: {size} bytes, where its first lines say {file_size}. {RESAVE_ADVICE}"
        )
    checksum = hashlib.sha256(preamble)
    n_left = size - _CHECKSUM_LENGTH - len(preamble)
    while n_left > 0 and (chunk := file.read(min(_CHUNK_BYTES, n_left))):
        checksum.update(chunk)
        n_left -= len(chunk)
    if file.read(_CHECKSUM_LENGTH) != checksum.digest():
        raise ModelFileError(f"damaged: the checksum does not match. {RESAVE_ADVICE}")
    return version, length, size


def _reject_constant(name: str):
    """Raise for NaN and Infinity, which are no JSON; the format writes their bits instead."""
    raise ModelFileError(f"the header holds {name}, which is no JSON. {RESAVE_ADVICE}")
