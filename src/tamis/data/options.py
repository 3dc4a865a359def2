"""How a source is to be read: every option with its default and its rule.

`open_rows` checks its keywords by these rules, and the command line takes its choices from them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tamis.system.spelling import parameter, short

CHUNK_BYTES = 1 << 22  # text of a chunk; several of them are in memory at a time
LINE_BYTES = 1 << 26  # of one line: more than three million features of 20 bytes
ENTRY_BYTES = 4  # of the shortest feature in text: bounds the entries of rows that are no text
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
LEAST = {"rare": 1, "chunk_rows": 1, "n_features": 1, "max_line_bytes": 1 << 20}


class Options(NamedTuple):
    """The settled wishes of `open_rows`."""

    format: str
    target: str | int | None = None  # name or number of the target; False where rows may lack it
    weight: str | int | None = None
    chunk_rows: int = 16384
    chunk_bytes: int = CHUNK_BYTES
    max_line_bytes: int = LINE_BYTES
    on_bad: str = "error"
    zero_based: bool | str = "auto"
    hash_bits: int = 0  # 0: not hashed
    n_features: int | None = None
    multilabel: bool | str = "auto"
    delimiter: str = ""  # nothing: as the header of a file has it
    categorical: str | tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    missing: str = "error"
    kinds: tuple[tuple[str | int, str], ...] = ()  # of columns, as the user says
    units: str = "none"
    rare: int | None = None  # rows of a level below which it is rare; None goes by the table
    ngrams: int = 1
    decimal: str = "."
    encoding: str = "utf-8"
    gaps: tuple[str, ...] = ()  # words that are gaps to the model that a schema is of
    drop: bool = False  # whether columns beyond n_features are left out and counted

    @property
    def columns(self) -> int | None:
        """Number of columns where it is known."""
        return 1 << self.hash_bits if self.hash_bits else self.n_features


DEFAULTS: dict[str, Any] = Options._field_defaults


def check_options(wishes: Mapping[str, Any]) -> None:
    """Refuse keywords of `open_rows` that mean nothing."""
    for name, choices in CHOICES.items():
        if wishes[name] not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(
                f"{parameter(name, 'open_rows')} must be one of {listed}. Got "
                f"{wishes[name]!r} instead."
            )
    hash_bits, delimiter = wishes["hash_bits"], wishes["delimiter"]
    if hash_bits is not None and not (isinstance(hash_bits, int) and 1 <= hash_bits <= 40):
        raise ValueError(
            f"{parameter('hash_bits', 'open_rows')} must be a whole number from 1 to 40. Got "
            f"{hash_bits!r} instead."
        )
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise ValueError(
            f"{parameter('delimiter', 'open_rows')} must be one character. Got "
            f"{delimiter!r} instead."
        )
    for name, least in LEAST.items():
        value = wishes[name]
        if value is not None and not (isinstance(value, int) and value >= least):
            raise ValueError(
                f"{parameter(name, 'open_rows')} must be a whole number of at least "
                f"{least}. Got {value!r} instead."
            )
    check_kinds(wishes["kinds"])


def check_kinds(kinds: Mapping[str | int, str] | None) -> None:
    """Refuse words that are no kinds of columns."""
    for column, kind in (kinds or {}).items():
        if kind not in KINDS:
            raise ValueError(
                f"The 'kinds' parameter says {kind!r} of column {short(column)!r}; a column is one "
                f"of {', '.join(map(repr, KINDS))}."
            )


def check_encoding(name: str) -> None:
    """Refuse an encoding in which commas, quotes and digits are not ASCII's."""
    signs = bytes(range(128))
    try:
        sound = signs.decode(name) == signs.decode("ascii")
    except (LookupError, UnicodeError):
        sound = False
    if not sound:
        raise ValueError(
            f"{parameter('encoding', 'open_rows')} must be one that Python knows and that has "
            f"ASCII's bytes for its signs, such as 'latin-1' or 'cp1252'. Got {name!r} instead."
        )
