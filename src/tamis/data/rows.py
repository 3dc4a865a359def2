"""What readers give: chunks of rows, and words about what they could not read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import no_class_message
from tamis.system.terminal import for_terminal, without_secrets

SHOWN = 40  # bytes of a bad line that a message quotes
LISTED = 10  # bad lines that are remembered


class ReadError(ValueError):
    """A file that cannot be read as asked; it names file, line, column, text and way out."""

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(without_secrets(message)))  # it quotes files


class CountsFromZero(ReadError):
    """A column 0 in a file that was thought to count from 1."""


class Misplaced(ReadError):
    """A position to go on from that the file does not have."""

    @classmethod
    def row(cls, name: str, offset: int) -> "Misplaced":
        """Of a table that is read in whole chunks."""
        return cls(f"{name}: no chunk begins behind row {offset}, where reading was to go on.")


def class_numbers(targets: np.ndarray, where: str) -> np.ndarray:
    """Floats as the whole numbers that classes are; a fraction is refused with its place."""
    is_fraction = targets != np.floor(targets)
    if is_fraction.any():
        raise ReadError(f"{where}: {no_class_message(targets[is_fraction][0])}")
    return targets.astype(np.int64)


class Rows(NamedTuple):
    """Some rows of a file.

    `X` is a CSR array; `targets` an array of numbers or words, a CSR array of 0 and 1 (several
    labels a row), or None; `first_line` the line number of the first row (for tables without lines
    its row number); `weights` and `queries` are None where the file has none. `position` says where
    the next chunk begins. `skipped` has, for each bad line or row, how many rows of `X` come before
    it.
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
    """Where reading goes on: file, place in it (bytes or rows), line, rows read, columns met."""

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
class Bad:
    """Lines that were skipped: how many, and words about the first ten."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(message)


@dataclass
class Context:
    """What a reader knows beside the bytes: what was decided, and what to do about bad lines."""

    skip: bool = False
    bad: Bad = field(default_factory=Bad)
    width: int = 0  # columns so far
    base: int | None = None  # number of the first column in svmlight text; None until it is known
    several: bool | None = None  # whether rows may have several labels; None until it is known
    dropped: int = 0  # entries of columns that the schema does not know
    skipped: list[int] | None = None  # of the current chunk, as in Rows, where it is wanted
    zeros: int = 0  # lines refused for a column 0
    unseen: dict[str, np.ndarray] = field(default_factory=dict)  # rows, and all, by category

    def refuse(self, message: str, kind: type[ReadError] = ReadError) -> None:
        """A bad line: raise, or count it and go on."""
        if not self.skip:
            raise kind(message)
        self.zeros += kind is CountsFromZero
        self.bad.note(for_terminal(without_secrets(message)))

    def skip_line(self, rows: int) -> None:
        """Remember a bad line after so many rows of the chunk."""
        if self.skipped is not None:
            self.skipped.append(rows)

    def skip_rows(self, bad: np.ndarray) -> None:
        """Remember which rows of the chunk are left out."""
        if self.skipped is None or not bad.any():
            return
        before = np.concatenate(([0], np.cumsum(~bad)))
        own = before[np.flatnonzero(bad)].tolist()
        self.skipped = sorted([*(int(before[rows]) for rows in self.skipped), *own])

    def end_chunk(self) -> tuple[int, ...]:
        """The bad lines of the chunk, which ends."""
        found = tuple(self.skipped or ())
        self.skipped = None if self.skipped is None else []
        return found


@contextmanager
def foreign(begin: str, end: str) -> Iterator[None]:
    """What other libraries raise on damaged bytes, as a ReadError: `begin`, their words, `end`."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        raise ReadError(f"{begin} ({said(error)}). {end}") from error


def said(error: BaseException) -> str:
    """The words of an error on one short line, or its kind where it has none."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def wild_rows(X: sp.csr_array) -> np.ndarray:
    """Numbers of the rows with an entry that is not finite, as a sum of entries may be."""
    wild = np.flatnonzero(~np.isfinite(X.data))
    return np.unique(np.searchsorted(X.indptr, wild, side="right") - 1)


def quoted(text: np.ndarray, at: int) -> str:
    """The word at a place of a text, shortened, as a message shows it."""
    word = bytes(text[at : at + 4 * SHOWN]).split(b"\n")[0]
    for blank in (b" ", b"\t", b"\r"):
        word = word.split(blank)[0] or word[:1]
    words = word[:SHOWN].decode("utf-8", "backslashreplace").replace("\0", "\\0")
    return f"{words}..." if len(word) > SHOWN else words


def place_of(name: str, line: int, start: int, at: int) -> str:
    """File, line and column, as every message begins."""
    return f"{name}, line {line}, column {at - start + 1}"
