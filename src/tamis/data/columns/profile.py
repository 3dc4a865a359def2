"""Figures of the columns of a table, gathered part by part; how it is cut changes no bit."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.dates import Dates
from tamis.data.columns.texts import tokens_of
from tamis.data.tables.layout import MOST_LEVELS, Part, Words
from tamis.data.tables.values import FLAGS, comma_number
from tamis.numerics.numba import compiled

CAP = 100_000  # different words of a column, after which it is judged by those
CHARACTERS = 10_000_000  # of these words together
NEARLY_ALL = 0.95  # share of different words above which nobody would list them
FEW = 8  # different numbers of a column that are counted one by one
SAMPLE, LEAST_SAMPLE = 4096, 64  # rows whose numbers are kept for a small histogram
SAMPLED = 1 << 20  # numbers of these rows
TOP = 5  # values that are met most
COMMAS = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][-+]?\d+)?\s*")  # 1.234,5
# Figures of a column of numbers in a row of `state`.
COUNT, GAPS, MEAN, SQUARES, LEAST, MOST, ZEROS, BROKEN, JUMPS, LAST, FIRST_GAP, KNOWN = range(12)


@compiled
def gather(values, state, seen, counts, row):
    """Take in rows of numbers, one after the other; `row` is the number of the first."""
    room = seen.shape[1]
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value, own = values[i, j], state[j]
            if np.isnan(value):
                if own[GAPS] == 0.0:
                    own[FIRST_GAP] = row + i
                own[GAPS] += 1.0
                continue
            own[COUNT] += 1.0
            away = value - own[MEAN]
            own[MEAN] += away / own[COUNT]
            own[SQUARES] += away * (value - own[MEAN])
            own[LEAST] = min(own[LEAST], value)
            own[MOST] = max(own[MOST], value)
            if value == 0.0:
                own[ZEROS] += 1.0
            if value != np.floor(value):
                own[BROKEN] += 1.0
            if own[COUNT] > 1.0 and value != own[LAST] + 1.0:
                own[JUMPS] += 1.0
            own[LAST] = value
            known = int(own[KNOWN])
            if known <= room:
                k = 0
                while k < known and seen[j, k] != value:
                    k += 1
                if k == known:
                    own[KNOWN] += 1.0
                    if k < room:
                        seen[j, k], counts[j, k] = value, 1
                else:
                    counts[j, k] += 1


@dataclass
class Figures:
    """What is known of a column."""

    name: str
    rows: int = 0
    gaps: int = 0
    where: str = ""  # the first gap
    number: bool = False
    distinct: int | None = None  # None: too many to count
    share: float = 1.0  # of different values among those that were counted
    top: list[tuple[Any, int]] = field(default_factory=list)
    mean: float = 0.0
    spread: float = 0.0
    least: float = 0.0
    most: float = 0.0
    zeros: int = 0
    whole: bool = False
    consecutive: bool = False
    tokens: float = 0.0
    length: float = 0.0
    flags: bool = False
    commas: bool = False
    dates: Dates | None = None
    levels: Counter[str] = field(default_factory=Counter)
    sample: np.ndarray | None = None  # of the numbers, for a histogram


class Tally:
    """What is known of columns of numbers, row by row."""

    def __init__(self, width: int):
        self.state = np.zeros((width, KNOWN + 1))
        self.state[:, LEAST], self.state[:, MOST] = np.inf, -np.inf
        self.seen, self.counts = np.empty((width, FEW)), np.zeros((width, FEW), np.int64)
        self.room = max(LEAST_SAMPLE, min(SAMPLE, SAMPLED // max(width, 1)))
        self.stride, self.blocks = 1, [np.empty((0, width))]

    def add(self, values: np.ndarray, row: int) -> None:
        """Take in rows, `row` of them after the first; every so many are kept, fewer as they become
        many.
        """
        gather(np.ascontiguousarray(values), self.state, self.seen, self.counts, row)
        self.keep(values[-row % self.stride :: self.stride])

    def keep(self, rows: np.ndarray) -> None:
        """Add rows to the sample; every second one goes when it is full."""
        self.blocks.append(rows.copy())
        while sum(map(len, self.blocks)) > self.room:
            self.stride, self.blocks = 2 * self.stride, [self.sample[::2].copy()]

    @property
    def sample(self) -> np.ndarray:
        """Numbers of every so many rows."""
        if len(self.blocks) > 1:
            self.blocks = [np.vstack(self.blocks)]
        return self.blocks[0]

    def figures(self, j: int) -> dict[str, Any]:
        """Figures of a column."""
        own, known = self.state[j], int(self.state[j, KNOWN])
        count = max(own[COUNT], 1.0)
        pairs = list(zip(self.seen[j].tolist(), self.counts[j].tolist(), strict=True))[:known]
        sample = self.sample[:, j]
        return {
            "distinct": known if known <= FEW else None,
            "share": known / count,
            "top": sorted(pairs, key=lambda p: (-p[1], p[0]))[:TOP] if known <= FEW else [],
            "mean": float(own[MEAN]),
            "spread": float(np.sqrt(own[SQUARES] / count)),
            "least": float(own[LEAST]),
            "most": float(own[MOST]),
            "zeros": int(own[ZEROS]),
            "whole": bool(own[BROKEN] == 0.0),
            "consecutive": bool(own[JUMPS] == 0.0),
            "sample": sample[~np.isnan(sample)],
        }


class WordColumn:
    """What is known of a column of words."""

    def __init__(self, decimal: str = ".") -> None:
        self.counts: Counter[str] = Counter()
        self.tally = Tally(1) if decimal == "," else None  # of words that are numbers
        self.gaps, self.filled, self.characters = 0, 0, 0
        self.open, self.many = True, False  # whether words are still counted; whether in vain
        self.flags = self.commas = True
        self.dates: Dates | None = Dates()
        self.first_gap = -1

    def add(self, words: Words, row: int) -> None:
        """Take in a part."""
        codes, vocabulary = words
        gone = np.flatnonzero(codes < 0)
        if len(gone) and self.first_gap < 0:
            self.first_gap = row + int(gone[0])
        self.gaps += len(gone)
        self.flags = self.flags and all(word.lower() in FLAGS for word in vocabulary)
        self.commas = self.commas and all(COMMAS.fullmatch(word) for word in vocabulary)
        if self.tally is not None and self.commas:
            numbers = [comma_number(word) for word in vocabulary]
            self.tally.add(np.array([*numbers, np.nan])[codes][:, None], row)
        if self.dates is not None and not self.dates.add(vocabulary):
            self.dates = None
        if self.open:
            self._count(codes, vocabulary)

    def _count(self, codes, vocabulary) -> None:
        """Count words, as far as they may be held."""
        new = [k for k, word in enumerate(vocabulary) if word not in self.counts]
        characters = self.characters + sum(len(vocabulary[k]) for k in new)
        if not self.many and (len(self.counts) + len(new) > CAP or characters > CHARACTERS):
            self.many = True
            crossed = self._crossed(codes, vocabulary, new)
            before = codes[:crossed]
            self._add(before, vocabulary)
            if self._share() > NEARLY_ALL or self.characters > CHARACTERS // 2:
                self.open = False  # an identifier or a text: its words are not listed
                return
            codes = codes[crossed:]
        self._add(codes, vocabulary)
        self.open = len(self.counts) <= MOST_LEVELS

    def _crossed(self, codes, vocabulary, new) -> int:
        """The row at which there are too many words, wherever the part begins."""
        found, firsts = np.unique(codes, return_index=True)
        places = dict(zip(found.tolist(), firsts.tolist(), strict=True))
        words, characters = len(self.counts), self.characters
        for k in sorted(new, key=lambda k: places[k]):
            words, characters = words + 1, characters + len(vocabulary[k])
            if words > CAP or characters > CHARACTERS:
                return places[k]
        return len(codes)

    def _add(self, codes, vocabulary) -> None:
        numbers = np.bincount(codes[codes >= 0], minlength=len(vocabulary)).tolist()
        for word, count in zip(vocabulary, numbers, strict=True):
            if count:
                if word not in self.counts:
                    self.characters += len(word)
                self.counts[word] += count
                self.filled += count

    def _share(self) -> float:
        return len(self.counts) / max(self.filled, 1)

    def figures(self, name: str, rows: int) -> Figures:
        """All of it."""
        filled = max(self.filled, 1)
        counted = [(len(tokens_of(word)), len(word), n) for word, n in self.counts.items()]
        found = Figures(
            name,
            rows,
            self.gaps,
            distinct=len(self.counts) if self.open else None,
            share=self._share(),
            top=sorted(self.counts.most_common(TOP), key=lambda pair: (-pair[1], pair[0])),
            tokens=sum(tokens * n for tokens, _, n in counted) / filled,
            length=sum(length * n for _, length, n in counted) / filled,
            flags=self.flags and rows > self.gaps,
            commas=self.commas and rows > self.gaps,
            dates=self.dates if rows > self.gaps else None,
            levels=self.counts,
        )
        if self.tally is not None and found.commas:
            figures = self.tally.figures(0)
            for key in ("mean", "spread", "least", "most", "zeros", "sample"):
                setattr(found, key, figures[key])
        return found


class Profile:
    """Figures of all columns of a table."""

    def __init__(self, numeric: Iterable[str], wordy: Iterable[str], decimal: str = "."):
        self.numeric, self.rows = list(numeric), 0
        self.place = {name: k for k, name in enumerate(self.numeric)}
        self.words = {name: WordColumn(decimal) for name in wordy}
        self.tally = Tally(len(self.numeric))
        self.where: dict[str, str] = {}
        self.made: dict[str, Figures] = {}
        self.kinds: dict[str, str] = {}  # what columns were found to be, or are said to be
        self.undecoded: list[str] = []  # columns with words in another encoding

    def add(self, part: Part, first: int, by_line: bool) -> None:
        """Take in a part, whose first row is in line `first` where every row is a line."""
        if self.numeric:
            at = {name: k for k, name in enumerate(part.names)}
            order = [at[name] for name in self.numeric]
            ordered = order == list(range(part.numbers.shape[1]))
            self.tally.add(part.numbers if ordered else part.numbers[:, order], self.rows)
            state = self.tally.state
            for j in np.flatnonzero(state[:, GAPS]).tolist():
                self._note(self.numeric[j], int(state[j, FIRST_GAP]), first, by_line)
        for name, column in self.words.items():
            column.add(part.words[name], self.rows)
            if column.gaps:
                self._note(name, column.first_gap, first, by_line)
        self.rows += len(part.numbers)
        self.made = {}

    def _note(self, name: str, row: int, first: int, by_line: bool) -> None:
        """Where the first gap of a column is."""
        if name not in self.where:
            place = f"line {first + row - self.rows}" if by_line else f"row {row + 1}"
            self.where[name] = place

    def figures(self, name: str) -> Figures:
        """Figures of a column, made once as long as nothing is added."""
        if name not in self.made:
            self.made[name] = self._figures(name)
        return self.made[name]

    def _figures(self, name: str) -> Figures:
        if name in self.words:
            found = self.words[name].figures(name, self.rows)
        else:
            j = self.place[name]
            gaps = int(self.tally.state[j, GAPS])
            found = Figures(name, self.rows, gaps, number=True, **self.tally.figures(j))
        found.where = self.where.get(name, "")
        return found


class First(NamedTuple):
    """The first rows of a table: names of its columns, which hold words, notes, and figures."""

    names: list[str]
    wordy: list[bool]
    notes: list[str]
    profile: Profile
