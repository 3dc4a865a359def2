"""Options of `open_rows`: their defaults and their rules.

`open_rows` checks its keywords here, and the command line takes its choices from here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tamis.system.spelling import format_parameter, shorten_names

CHUNK_BYTES = 1 << 22  # text of a chunk; several chunks are in memory at a time
MAX_LINE_BYTES = 1 << 26  # of one line: more than three million features of 20 bytes
# Bytes of the shortest feature in text. A row of npz has at most max_line_bytes /
# ENTRY_BYTES entries.
ENTRY_BYTES = 4
FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npz", "vw")
KINDS = ("number", "category", "date", "text", "skip")


CHOICES: dict[str, tuple] = {
    "format": (None, *FORMATS),
    "on_bad": ("error", "skip"),
    "zero_based": ("auto", True, False),
    "multilabel": ("auto", True, False),
    "missing": ("error", "zero", "indicator"),
    "units": ("none", "spread"),
    "ngrams": (1, 2, 3),
    "decimal": (".", ","),
}
MIN_VALUES = {"rare": 1, "chunk_rows": 1, "n_features": 1, "max_line_bytes": 1 << 20}


class Options(NamedTuple):
    """Options of `open_rows` with all defaults filled in."""

    format: str
    target: str | int | None = None  # name or number of the target; False: rows may have none
    weight: str | int | None = None
    chunk_rows: int = 16384
    chunk_bytes: int = CHUNK_BYTES
    max_line_bytes: int = MAX_LINE_BYTES
    on_bad: str = "error"
    zero_based: bool | str = "auto"
    hash_bits: int = 0  # 0: not hashed
    n_features: int | None = None
    multilabel: bool | str = "auto"
    delimiter: str = ""  # empty: detected from the header
    categorical: str | tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    missing: str = "error"
    kinds: tuple[tuple[str | int, str], ...] = ()  # (column, kind) pairs of the user
    units: str = "none"
    rare: int | None = None  # a level in fewer rows is rare; None depends on the table
    ngrams: int = 1
    decimal: str = "."
    encoding: str = "utf-8"
    gaps: tuple[str, ...] = ()  # words that mean a gap, with a schema
    drop: bool = False  # whether to drop and count columns beyond n_features

    @property
    def columns(self) -> int | None:
        """Number of columns if it is known."""
        return 1 << self.hash_bits if self.hash_bits else self.n_features


DEFAULTS: dict[str, Any] = Options._field_defaults


def check_options(keywords: Mapping[str, Any]) -> None:
    """Refuse invalid keywords of `open_rows`."""
    for name, choices in CHOICES.items():
        if keywords[name] not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(
                f"{format_parameter(name, 'open_rows')} must be one of {listed}. Got "
                f"{keywords[name]!r} instead."
            )
    hash_bits, delimiter = keywords["hash_bits"], keywords["delimiter"]
    if hash_bits is not None and not (isinstance(hash_bits, int) and 1 <= hash_bits <= 40):
        raise ValueError(
            f"{format_parameter('hash_bits', 'open_rows')} must be a whole number from 1 to 40. "
            "Got "
            f"{hash_bits!r} instead."
        )
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise ValueError(
            f"{format_parameter('delimiter', 'open_rows')} must be one character. Got "
            f"{delimiter!r} instead."
        )
    for name, minimum in MIN_VALUES.items():
        value = keywords[name]
        if value is not None and not (isinstance(value, int) and value >= minimum):
            raise ValueError(
                f"{format_parameter(name, 'open_rows')} must be a whole number of at least "
                f"{minimum}. Got {value!r} instead."
            )
    check_kinds(keywords["kinds"])


def check_kinds(kinds: Mapping[str | int, str] | None) -> None:
    """Refuse unknown kinds of columns."""
    for column, kind in (kinds or {}).items():
        if kind not in KINDS:
            raise ValueError(
                f"The 'kinds' parameter says {kind!r} of column {shorten_names(column)!r}; a "
                "column is one "
                f"of {', '.join(map(repr, KINDS))}."
            )


def check_encoding(name: str) -> None:
    """Refuse an encoding whose first 128 bytes are not ASCII: commas, quotes and digits must be."""
    ascii_bytes = bytes(range(128))
    try:
        is_ascii_superset = ascii_bytes.decode(name) == ascii_bytes.decode("ascii")
    except (LookupError, UnicodeError):
        is_ascii_superset = False
    if not is_ascii_superset:
        raise ValueError(
            f"{format_parameter('encoding', 'open_rows')} must be one that Python knows and that "
            "has "
            f"ASCII's bytes for its signs, such as 'latin-1' or 'cp1252'. Got {name!r} instead."
        )
