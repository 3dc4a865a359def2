"""Profile of a table: summaries of its columns, chunk by chunk.

How the rows are cut into chunks does not change a bit of it.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.dates import DateDetector
from tamis.data.columns.texts import tokenize
from tamis.data.tables.layout import MAX_LEVELS, StringColumn, TableChunk
from tamis.data.tables.values import TRUTH_VALUES, comma_number
from tamis.numerics.numba import compiled

MAX_COUNTED_WORDS = 100_000  # different words of a column that are counted
MAX_COUNTED_CHARACTERS = 10_000_000  # of all counted words together
NEARLY_ALL_DISTINCT = 0.95  # fraction of different words that makes a column no category
MAX_COUNTED_NUMBERS = 8  # different numbers of a column that are counted
SAMPLE_ROWS, MIN_SAMPLE_ROWS = 4096, 64  # rows of the sample for a histogram
SAMPLE_NUMBERS = 1 << 20  # numbers in the sample
MAX_TOP_VALUES = 5  # most frequent values
COMMA_NUMBER = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][-+]?\d+)?\s*")  # 1.234,5
# Entries of a numeric column's row of `state`.
(
    COUNT,
    N_GAPS,
    MEAN,
    SUM_OF_SQUARES,
    MINIMUM,
    MAXIMUM,
    N_ZEROS,
    N_FRACTIONS,
    N_JUMPS,
    LAST,
    FIRST_GAP,
    N_DISTINCT,
) = range(12)


@compiled
def update_summary(values, state, distinct_values, counts, row):
    """Add rows of numbers in their order; `row` is the number of the first."""
    max_distinct = distinct_values.shape[1]
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value, column = values[i, j], state[j]
            if np.isnan(value):
                if column[N_GAPS] == 0.0:
                    column[FIRST_GAP] = row + i
                column[N_GAPS] += 1.0
                continue
            column[COUNT] += 1.0
            deviation = value - column[MEAN]
            column[MEAN] += deviation / column[COUNT]
            column[SUM_OF_SQUARES] += deviation * (value - column[MEAN])
            column[MINIMUM] = min(column[MINIMUM], value)
            column[MAXIMUM] = max(column[MAXIMUM], value)
            if value == 0.0:
                column[N_ZEROS] += 1.0
            if value != np.floor(value):
                column[N_FRACTIONS] += 1.0
            if column[COUNT] > 1.0 and value != column[LAST] + 1.0:
                column[N_JUMPS] += 1.0
            column[LAST] = value
            n_known = int(column[N_DISTINCT])
            if n_known <= max_distinct:
                k = 0
                while k < n_known and distinct_values[j, k] != value:
                    k += 1
                if k == n_known:
                    column[N_DISTINCT] += 1.0
                    if k < max_distinct:
                        distinct_values[j, k], counts[j, k] = value, 1
                else:
                    counts[j, k] += 1


@dataclass
class ColumnSummary:
    """Summary of a column."""

    name: str
    rows: int = 0
    gaps: int = 0
    first_gap: str = ""  # line or row of the first gap
    number: bool = False
    distinct: int | None = None  # None: too many to count
    distinct_fraction: float = 1.0  # of different values among those that were counted
    top: list[tuple[Any, int]] = field(default_factory=list)
    mean: float = 0.0
    spread: float = 0.0
    least: float = 0.0
    most: float = 0.0
    zeros: int = 0
    is_integer: bool = False
    is_consecutive: bool = False
    tokens: float = 0.0  # mean number of words in a field
    length: float = 0.0  # mean number of characters
    is_truth_value: bool = False
    is_comma_number: bool = False
    dates: DateDetector | None = None
    levels: Counter[str] = field(default_factory=Counter)
    sample: np.ndarray | None = None  # of the numbers, for a histogram


class NumericSummary:
    """Running summaries of numeric columns."""

    def __init__(self, width: int):
        self.state = np.zeros((width, N_DISTINCT + 1))
        self.state[:, MINIMUM], self.state[:, MAXIMUM] = np.inf, -np.inf
        self.distinct_values, self.counts = (
            np.empty((width, MAX_COUNTED_NUMBERS)),
            np.zeros((width, MAX_COUNTED_NUMBERS), np.int64),
        )
        self.sample_rows = max(MIN_SAMPLE_ROWS, min(SAMPLE_ROWS, SAMPLE_NUMBERS // max(width, 1)))
        self.stride, self.sample_blocks = 1, [np.empty((0, width))]

    def add(self, values: np.ndarray, row: int) -> None:
        """Add rows, the first of which is row `row`; every `stride`-th row goes to the sample."""
        update_summary(
            np.ascontiguousarray(values), self.state, self.distinct_values, self.counts, row
        )
        self.add_to_sample(values[-row % self.stride :: self.stride])

    def add_to_sample(self, rows: np.ndarray) -> None:
        """Add rows to the sample; keep every second row of it while it is too large."""
        self.sample_blocks.append(rows.copy())
        while sum(map(len, self.sample_blocks)) > self.sample_rows:
            self.stride, self.sample_blocks = 2 * self.stride, [self.sample[::2].copy()]

    @property
    def sample(self) -> np.ndarray:
        """Numbers of every `stride`-th row."""
        if len(self.sample_blocks) > 1:
            self.sample_blocks = [np.vstack(self.sample_blocks)]
        return self.sample_blocks[0]

    def figures(self, j: int) -> dict[str, Any]:
        """Return the summary of a column."""
        column, n_known = self.state[j], int(self.state[j, N_DISTINCT])
        count = max(column[COUNT], 1.0)
        pairs = list(zip(self.distinct_values[j].tolist(), self.counts[j].tolist(), strict=True))[
            :n_known
        ]
        sample = self.sample[:, j]
        return {
            "distinct": n_known if n_known <= MAX_COUNTED_NUMBERS else None,
            "distinct_fraction": n_known / count,
            "top": sorted(pairs, key=lambda p: (-p[1], p[0]))[:MAX_TOP_VALUES]
            if n_known <= MAX_COUNTED_NUMBERS
            else [],
            "mean": float(column[MEAN]),
            "spread": float(np.sqrt(column[SUM_OF_SQUARES] / count)),
            "least": float(column[MINIMUM]),
            "most": float(column[MAXIMUM]),
            "zeros": int(column[N_ZEROS]),
            "is_integer": bool(column[N_FRACTIONS] == 0.0),
            "is_consecutive": bool(column[N_JUMPS] == 0.0),
            "sample": sample[~np.isnan(sample)],
        }


class StringSummary:
    """Running summary of a string column."""

    def __init__(self, decimal: str = ".") -> None:
        self.counts: Counter[str] = Counter()
        # Of words that are numbers with a decimal comma.
        self.numeric_summary = NumericSummary(1) if decimal == "," else None
        self.gaps, self.n_filled, self.n_characters = 0, 0, 0
        self.is_counting = True  # whether words are still counted
        self.over_limit = False  # whether more were met than the limits allow
        self.is_truth_value = self.is_comma_number = True
        self.dates: DateDetector | None = DateDetector()
        self.first_gap = -1

    def add(self, column: StringColumn, row: int) -> None:
        """Add a chunk whose first row is row `row`."""
        codes, vocabulary = column
        gap_rows = np.flatnonzero(codes < 0)
        if len(gap_rows) and self.first_gap < 0:
            self.first_gap = row + int(gap_rows[0])
        self.gaps += len(gap_rows)
        self.is_truth_value = self.is_truth_value and all(
            word.lower() in TRUTH_VALUES for word in vocabulary
        )
        self.is_comma_number = self.is_comma_number and all(
            COMMA_NUMBER.fullmatch(word) for word in vocabulary
        )
        if self.numeric_summary is not None and self.is_comma_number:
            numbers = [comma_number(word) for word in vocabulary]
            self.numeric_summary.add(np.array([*numbers, np.nan])[codes][:, None], row)
        if self.dates is not None and not self.dates.add(vocabulary):
            self.dates = None
        if self.is_counting:
            self._count(codes, vocabulary)

    def _count(self, codes, vocabulary) -> None:
        """Count words, up to the limits on their number and characters."""
        new = [k for k, word in enumerate(vocabulary) if word not in self.counts]
        characters = self.n_characters + sum(len(vocabulary[k]) for k in new)
        if not self.over_limit and (
            len(self.counts) + len(new) > MAX_COUNTED_WORDS or characters > MAX_COUNTED_CHARACTERS
        ):
            self.over_limit = True
            limit_row = self._limit_row(codes, vocabulary, new)
            before = codes[:limit_row]
            self._add(before, vocabulary)
            if (
                self._distinct_fraction() > NEARLY_ALL_DISTINCT
                or self.n_characters > MAX_COUNTED_CHARACTERS // 2
            ):
                self.is_counting = False  # an identifier or a text
                return
            codes = codes[limit_row:]
        self._add(codes, vocabulary)
        self.is_counting = len(self.counts) <= MAX_LEVELS

    def _limit_row(self, codes, vocabulary, new) -> int:
        """Return the row at which the words exceed the limits, however rows are cut into chunks."""
        distinct_codes, first_rows = np.unique(codes, return_index=True)
        row_of_code = dict(zip(distinct_codes.tolist(), first_rows.tolist(), strict=True))
        n_words, n_characters = len(self.counts), self.n_characters
        for k in sorted(new, key=lambda k: row_of_code[k]):
            n_words, n_characters = n_words + 1, n_characters + len(vocabulary[k])
            if n_words > MAX_COUNTED_WORDS or n_characters > MAX_COUNTED_CHARACTERS:
                return row_of_code[k]
        return len(codes)

    def _add(self, codes, vocabulary) -> None:
        numbers = np.bincount(codes[codes >= 0], minlength=len(vocabulary)).tolist()
        for word, count in zip(vocabulary, numbers, strict=True):
            if count:
                if word not in self.counts:
                    self.n_characters += len(word)
                self.counts[word] += count
                self.n_filled += count

    def _distinct_fraction(self) -> float:
        return len(self.counts) / max(self.n_filled, 1)

    def figures(self, name: str, rows: int) -> ColumnSummary:
        """Return the summary of the column."""
        denominator = max(self.n_filled, 1)
        counted = [(len(tokenize(word)), len(word), n) for word, n in self.counts.items()]
        summary = ColumnSummary(
            name,
            rows,
            self.gaps,
            distinct=len(self.counts) if self.is_counting else None,
            distinct_fraction=self._distinct_fraction(),
            top=sorted(
                self.counts.most_common(MAX_TOP_VALUES), key=lambda pair: (-pair[1], pair[0])
            ),
            tokens=sum(tokens * n for tokens, _, n in counted) / denominator,
            length=sum(length * n for _, length, n in counted) / denominator,
            is_truth_value=self.is_truth_value and rows > self.gaps,
            is_comma_number=self.is_comma_number and rows > self.gaps,
            dates=self.dates if rows > self.gaps else None,
            levels=self.counts,
        )
        if self.numeric_summary is not None and summary.is_comma_number:
            statistics = self.numeric_summary.figures(0)
            for key in ("mean", "spread", "least", "most", "zeros", "sample"):
                setattr(summary, key, statistics[key])
        return summary


class Profile:
    """Summaries of all columns of a table."""

    def __init__(self, numeric: Iterable[str], string_names: Iterable[str], decimal: str = "."):
        self.numeric, self.rows = list(numeric), 0
        self.numeric_index = {name: k for k, name in enumerate(self.numeric)}
        self.strings = {name: StringSummary(decimal) for name in string_names}
        self.numeric_summary = NumericSummary(len(self.numeric))
        self.first_gaps: dict[str, str] = {}
        self.cached_figures: dict[str, ColumnSummary] = {}
        self.kinds: dict[str, str] = {}  # kinds of columns, detected or given by the user
        self.undecoded: list[str] = []  # columns with words in another encoding

    def add(self, chunk: TableChunk, first: int, by_line: bool) -> None:
        """Add a chunk; `first` is its first line if `by_line`, where each row is a line."""
        if self.numeric:
            indices = {name: k for k, name in enumerate(chunk.numeric_names)}
            order = [indices[name] for name in self.numeric]
            ordered = order == list(range(chunk.numbers.shape[1]))
            self.numeric_summary.add(
                chunk.numbers if ordered else chunk.numbers[:, order], self.rows
            )
            state = self.numeric_summary.state
            for j in np.flatnonzero(state[:, N_GAPS]).tolist():
                self._note_gap(self.numeric[j], int(state[j, FIRST_GAP]), first, by_line)
        for name, column in self.strings.items():
            column.add(chunk.strings[name], self.rows)
            if column.gaps:
                self._note_gap(name, column.first_gap, first, by_line)
        self.rows += len(chunk.numbers)
        self.cached_figures = {}

    def _note_gap(self, name: str, row: int, first: int, by_line: bool) -> None:
        """Record where the first gap of a column is."""
        if name not in self.first_gaps:
            row_name = f"line {first + row - self.rows}" if by_line else f"row {row + 1}"
            self.first_gaps[name] = row_name

    def figures(self, name: str) -> ColumnSummary:
        """Return the summary of a column; cached until the next chunk."""
        if name not in self.cached_figures:
            self.cached_figures[name] = self._figures(name)
        return self.cached_figures[name]

    def _figures(self, name: str) -> ColumnSummary:
        if name in self.strings:
            summary = self.strings[name].figures(name, self.rows)
        else:
            j = self.numeric_index[name]
            gaps = int(self.numeric_summary.state[j, N_GAPS])
            summary = ColumnSummary(
                name, self.rows, gaps, number=True, **self.numeric_summary.figures(j)
            )
        summary.first_gap = self.first_gaps.get(name, "")
        return summary


class TableHead(NamedTuple):
    """Head of a table: names of its columns, which are strings, notes, and a profile of the first
    rows.
    """

    names: list[str]
    is_string: list[bool]
    notes: list[str]
    profile: Profile
