"""Chunks of rows as readers return them, and their errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import no_class_message
from tamis.system.terminal import for_terminal, without_secrets

MAX_QUOTED = 40  # bytes of a bad line in a message
MAX_LISTED = 10  # messages about bad lines that are stored


class ReadError(ValueError):
    """Error of a file that cannot be read; the message has file, line, column, text and advice."""

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(without_secrets(message)))  # the message quotes files


class ZeroBasedError(ReadError):
    """Column 0 in a file whose columns seemed to count from 1."""


class PositionError(ReadError):
    """Position to resume from that the file does not have."""

    @classmethod
    def for_row(cls, name: str, offset: int) -> "PositionError":
        """Return the error for a row in a table that is read in whole chunks."""
        return cls(f"{name}: no chunk begins behind row {offset}, where reading was to go on.")


def class_numbers(targets: np.ndarray, where: str) -> np.ndarray:
    """Return class targets as integers; refuse fractions."""
    is_fraction = targets != np.floor(targets)
    if is_fraction.any():
        raise ReadError(f"{where}: {no_class_message(targets[is_fraction][0])}")
    return targets.astype(np.int64)


class Rows(NamedTuple):
    """Chunk of rows of a file.

    `X` is a CSR array; `targets` an array of numbers or words, a CSR array of 0 and 1 (several
    labels a row), or None; `first_line` the line number of the first row (the row number for tables
    without lines); `weights` and `queries` are None if the file has none. `position` is where the
    next chunk begins. `skipped` has one entry for each bad line or row: the number of rows of `X`
    before it.
    """

    X: sp.csr_array
    targets: Any
    first_line: int
    weights: np.ndarray | None = None
    queries: np.ndarray | None = None
    file: str = ""
    position: "Position | None" = None
    skipped: tuple[int, ...] = ()


class Position(NamedTuple):
    """Position in a source: file, offset in it (bytes or rows), line, rows read, columns so far."""

    file: int = 0
    offset: int = 0
    line: int = 1
    rows: int = 0
    width: int = 0


class Labels(NamedTuple):
    """Labels of rows that may have several: those of row i are `values[ends[i]:ends[i + 1]]`."""

    ends: np.ndarray
    values: np.ndarray


@dataclass
class SkippedLines:
    """Number of skipped lines, and messages about the first ten."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        """Count one more line."""
        self.count += 1
        if len(self.first) < MAX_LISTED:
            self.first.append(message)


@dataclass
class ReaderState:
    """State of a reader: decisions about the format, and skipped lines."""

    skip: bool = False
    bad: SkippedLines = field(default_factory=SkippedLines)
    width: int = 0  # largest number of columns so far
    base: int | None = None  # number of the first column in svmlight text; None until it is known
    several: bool | None = None  # whether rows may have several labels; None until it is known
    dropped: int = 0  # entries in columns that are not in the schema
    skipped: list[int] | None = None  # of the current chunk, as in Rows; None: not recorded
    n_zero_columns: int = 0  # lines refused because of a column 0
    # By category: number of rows with an unseen level, and of all rows.
    unseen: dict[str, np.ndarray] = field(default_factory=dict)

    def refuse(self, message: str, kind: type[ReadError] = ReadError) -> None:
        """Raise the error of a bad line, or count the line if bad lines are skipped."""
        if not self.skip:
            raise kind(message)
        self.n_zero_columns += kind is ZeroBasedError
        self.bad.add(for_terminal(without_secrets(message)))

    def skip_line(self, rows: int) -> None:
        """Record a bad line after `rows` rows of the chunk."""
        if self.skipped is not None:
            self.skipped.append(rows)

    def skip_rows(self, bad: np.ndarray) -> None:
        """Record the rows of the chunk that are dropped."""
        if self.skipped is None or not bad.any():
            return
        n_good_before = np.concatenate(([0], np.cumsum(~bad)))
        chunk_skipped = n_good_before[np.flatnonzero(bad)].tolist()
        self.skipped = sorted(
            [*(int(n_good_before[n_rows]) for n_rows in self.skipped), *chunk_skipped]
        )

    def end_chunk(self) -> tuple[int, ...]:
        """Return the skipped lines of the chunk and reset them."""
        skipped_lines = tuple(self.skipped or ())
        self.skipped = None if self.skipped is None else []
        return skipped_lines


@contextmanager
def convert_errors(prefix: str, suffix: str) -> Iterator[None]:
    """Convert errors of other libraries on damaged bytes to ReadError.

    The message is `prefix`, the text of the error, and `suffix`.
    """
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        raise ReadError(f"{prefix} ({error_text(error)}). {suffix}") from error


def error_text(error: BaseException) -> str:
    """Return the text of an error on one short line, or its type if it has none."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def nonfinite_rows(X: sp.csr_array) -> np.ndarray:
    """Return the numbers of the rows with an entry that is not finite; a sum of entries may
    overflow.
    """
    entries = np.flatnonzero(~np.isfinite(X.data))
    return np.unique(np.searchsorted(X.indptr, entries, side="right") - 1)


def quote_word(text: np.ndarray, start: int) -> str:
    """Return the word at a position of a text, shortened for a message."""
    word = bytes(text[start : start + 4 * MAX_QUOTED]).split(b"\n")[0]
    for blank in (b" ", b"\t", b"\r"):
        word = word.split(blank)[0] or word[:1]
    quoted = word[:MAX_QUOTED].decode("utf-8", "backslashreplace").replace("\0", "\\0")
    return f"{quoted}..." if len(word) > MAX_QUOTED else quoted


def location(name: str, line: int, line_start: int, pos: int) -> str:
    """Return file, line and column as messages begin with them."""
    return f"{name}, line {line}, column {pos - line_start + 1}"
