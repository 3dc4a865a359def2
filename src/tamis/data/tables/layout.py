"""Layout of a table: the roles of its columns, and the columns of X that they become."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.estimators.column_names import encoded_column_names
from tamis.data.columns import texts
from tamis.data.columns.dates import DATE_PART_VALUES, DateEncoding
from tamis.data.tables.values import TRUTH_VALUES, comma_number, level_of, spellings_of
from tamis.data.text.words import HASH_SEED, hash_of, pack_rows
from tamis.system.spelling import shorten_names

NUMBER, CATEGORY, DATE, TEXT = "number", "words", "date", "text"
TARGET, WEIGHT, IGNORED = "target", "weight", "ignored"
FEATURES = (NUMBER, CATEGORY, DATE, TEXT)
MAX_LEVELS = 1_000_000


@dataclass
class Column:
    """Column of a table."""

    name: str
    role: str
    words: bool = False  # whether its fields are strings
    levels: list[str] = field(default_factory=list)
    # Further parameters of reading, as plain data. Numbers: the number format of strings ("as":
    # "flags", "commas" or "plain"), "centre" and "spread". Categories: the fraction of rows with a
    # "rare" level. Dates and texts: what `params` of dates.py and texts.py returns.
    facts: dict = field(default_factory=dict)

    def listed(self) -> list[str]:
        """Return the names of its columns of X."""
        return encoded_column_names(self.name, self.role, self.levels, self.facts)

    def number_of(self, word: str) -> float | None:
        """Return a word as a number in the format of this column; None if it is no number."""
        number_format = self.facts.get("as", "plain")
        if number_format == "flags" and word.strip().lower() in TRUTH_VALUES:
            return TRUTH_VALUES[word.strip().lower()]
        try:
            value = comma_number(word) if number_format == "commas" else float(word)
        except ValueError:
            return None
        return value if np.isfinite(value) and "_" not in word else None


class StringColumn(NamedTuple):
    """String column of a chunk: codes into its vocabulary, -1 for missing ones."""

    codes: np.ndarray
    vocabulary: list[str]


class TableChunk(NamedTuple):
    """Chunk of a table: a matrix of numbers, nan for missing ones, and string columns by name."""

    numbers: np.ndarray
    numeric_names: list[str]
    strings: dict[str, StringColumn]

    def drop_rows(self, is_dropped: np.ndarray) -> "TableChunk":
        """Return the chunk without some rows."""
        strings = {
            name: StringColumn(column.codes[~is_dropped], column.vocabulary)
            for name, column in self.strings.items()
        }
        return TableChunk(self.numbers[~is_dropped], self.numeric_names, strings)


@dataclass
class Layout:
    """Columns of a table, and the columns of X that they become."""

    columns: list[Column]
    missing: str = "error"
    hash_bits: int = 0  # 0: words are listed

    def __post_init__(self):
        self.features = [c for c in self.columns if c.role in FEATURES]
        self.places, self.sizes, self.level_indices, offset = {}, {}, {}, 0
        has_hashed = any(c.role in (CATEGORY, TEXT) for c in self.features) and self.hash_bits
        self.seeds = {c.name: hash_of(c.name) for c in self.features if c.role in (CATEGORY, TEXT)}
        for c in self.features:
            entries = {
                CATEGORY: c.levels,
                DATE: c.facts.get("parts", ()),
                TEXT: c.facts.get("vocabulary", ()),
                NUMBER: (),
            }[c.role]
            if c.role == CATEGORY:
                self.level_indices[c.name] = spellings_of(entries)
            elif c.role != NUMBER:
                self.level_indices[c.name] = {word: k for k, word in enumerate(entries)}
            has_rare = c.role == CATEGORY and bool(c.facts.get("rare"))
            self.places[c.name] = offset
            self.sizes[c.name] = 1 if c.role == NUMBER else len(entries) + has_rare
            offset += self.sizes[c.name] + self._has_gap_column(c)
        self.first_bucket = offset  # first column of hashed words
        self.width = offset + (1 << self.hash_bits if has_hashed else 0)
        self.has_scaled = any("spread" in c.facts for c in self.features)
        self._numeric_cache: tuple[Any, ...] = (None,)

    def _has_gap_column(self, column: Column) -> bool:
        """Return whether a column of X marks the gaps of a table's column; texts have no gaps."""
        return self.missing == "indicator" and column.role != TEXT

    def names(self) -> list[str]:
        """Return the names of the columns of X; buckets are named by number."""
        feature_names = []
        for c in self.features:
            feature_names += c.listed()
            feature_names += [f"{c.name}=missing"] if self._has_gap_column(c) else []
        return feature_names + [f"bucket {k}" for k in range(self.width - self.first_bucket)]

    def sources(self) -> list[str]:
        """Return the table's column of each column of X before the buckets."""
        return [
            c.name
            for c in self.features
            for _ in range(self.sizes[c.name] + self._has_gap_column(c))
        ]

    def find(self, role: str) -> Column | None:
        """Return the column of a role, or None."""
        return next((c for c in self.columns if c.role == role), None)

    # ------------------------------------------------------------------ rows
    def encode(self, chunk: TableChunk) -> sp.csr_array:
        """Return the features of a chunk as CSR."""
        values, n_rows = chunk.numbers, len(chunk.numbers)
        columns, centres, spreads = self._numeric_params(chunk.numeric_names)
        if self.has_scaled:
            values = (values - centres) / spreads
        names, blocks = list(chunk.numeric_names), [(values, columns)]
        for c in self.features:
            if c.words and c.role != TEXT:
                blocks.append(self._encode_strings(c, *chunk.strings[c.name]))
                names += [c.name] * blocks[-1][0].shape[1]
        if len(blocks) > 1:
            values = np.concatenate([block[0] for block in blocks], axis=1)
            columns = np.concatenate(
                [np.broadcast_to(block[1], block[0].shape) for block in blocks], axis=1
            )
        if self.missing != "error":
            values, columns = self._fill_gaps(values, columns, names)
        indptr, indices = np.zeros(n_rows + 1, np.int32), np.empty(values.size, np.int32)
        data = np.empty(values.size)
        pack_rows(values, columns, indptr, indices, data)
        used = indptr[-1]
        X = sp.csr_array((data[:used], indices[:used], indptr), shape=(n_rows, self.width))
        if len(blocks) > 1 or self.missing == "indicator":
            X.sum_duplicates()
        for c in self.features:
            if c.role == TEXT:
                X = sp.csr_array(X + self._encode_text(c, *chunk.strings[c.name]))
        return X

    def entries(self, column: Column, chunk: TableChunk) -> sp.csr_array:
        """Return the columns of X of one string column of a chunk."""
        if column.role == TEXT:
            return self._encode_text(column, *chunk.strings[column.name])
        values, columns = self._encode_strings(column, *chunk.strings[column.name])
        columns = np.broadcast_to(columns, values.shape)
        is_stored = (columns >= 0) & (values != 0)
        ends = np.concatenate(([0], np.cumsum(is_stored.sum(axis=1))))
        return sp.csr_array(
            (values[is_stored], columns[is_stored], ends), shape=(len(values), self.width)
        )

    def _numeric_params(self, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return columns of X, centres and standard deviations of numeric columns; cached."""
        if self._numeric_cache[0] is not names:
            facts_by_name = {c.name: c.facts for c in self.features if c.role == NUMBER}
            params = [facts_by_name.get(name, {}) for name in names]
            self._numeric_cache = (
                names,
                np.array([[self.places.get(name, -1) for name in names]], np.int64),
                np.array([param.get("centre", 0.0) for param in params]),
                np.array([param.get("spread", 1.0) for param in params]),
            )
        return self._numeric_cache[1:]

    def _encode_strings(self, column: Column, codes, vocabulary) -> tuple[np.ndarray, np.ndarray]:
        """Return values and columns of X of a string column; nan for gaps."""
        if column.role == DATE:
            return self._encode_dates(column, codes, vocabulary)
        if column.role == NUMBER:
            parsed = [column.number_of(word) for word in vocabulary]
            numbers = np.array([*(np.nan if v is None else v for v in parsed), np.nan])
            numbers = (numbers - column.facts.get("centre", 0.0)) / column.facts.get("spread", 1.0)
            return numbers[codes][:, None], np.array([[self.places[column.name]]])
        places = [self.column_index(column, word) for word in vocabulary]
        values = np.where(codes < 0, np.nan, 1.0)
        return values[:, None], np.append(np.array(places, np.int64), -1)[codes][:, None]

    def column_index(self, column: Column, word: str) -> int:
        """Return the column of X of a word, or of a token of a text; -1 if it has none."""
        if self.hash_bits:
            word = level_of(word) if column.role == CATEGORY else word
            return self.first_bucket + self.bucket(column.name, word)
        indices = self.level_indices[column.name]
        if word in indices:
            return self.places[column.name] + indices[word]
        if column.role == CATEGORY and column.facts.get("rare"):
            return self.places[column.name] + len(column.levels)
        return -1

    def count_unseen_levels(self, chunk: TableChunk, counts: dict[str, np.ndarray]) -> None:
        """Add to `counts`, by category: the rows whose level is unknown to the layout, and all
        rows.
        """
        for c in self.features:
            if c.role != CATEGORY or self.hash_bits:
                continue
            codes, vocabulary = chunk.strings[c.name]
            is_unseen = [word not in self.level_indices[c.name] for word in vocabulary]
            rows = np.bincount(codes[codes >= 0], minlength=len(vocabulary))
            n_rows = np.array([rows[is_unseen].sum(), rows.sum()], np.int64)
            counts[c.name] = counts.get(c.name, 0) + n_rows

    def unseen_levels_note(self, counts: dict[str, np.ndarray]) -> str:
        """Return a note on categories with mostly unknown levels, or an empty text."""
        listed = []
        for c in self.features:
            unseen, rows = counts.get(c.name, (0, 0))
            rare = float(c.facts.get("rare") or 0.0)  # fraction of such rows in training
            if unseen > (0.5 + 0.5 * rare) * rows:
                listed.append(f"{shorten_names(c.name)!r} ({unseen:,} of {rows:,} rows)")
        if not listed:
            return ""
        more = f" and {len(listed) - 5} more columns" if len(listed) > 5 else ""
        return (
            f"most rows have levels that the model has not seen in {', '.join(listed[:5])}{more}. "
            "Check that these columns are written as in the rows that it was fitted to"
        )

    def _encode_dates(self, column: Column, codes, vocabulary):
        """Return values and columns of X of the parts of dates."""
        encoding, offset = self.date_encoding(column), self.places[column.name]
        gap_entries = [(offset, np.nan), *((-1, 0.0) for _ in DATE_PART_VALUES)]
        encoded_words = [encoding.entries(word) or gap_entries for word in vocabulary]
        encoded = np.array([*encoded_words, gap_entries])[codes]
        return encoded[..., 1], encoded[..., 0].astype(np.int64)

    def date_encoding(self, column: Column) -> DateEncoding:
        """Return the encoding of a column of dates."""
        parts, offset = self.level_indices[column.name], self.places[column.name]
        return DateEncoding.from_params(
            column.facts, {part: offset + k for part, k in parts.items()}
        )

    def _encode_text(self, column: Column, codes, vocabulary) -> sp.csr_array:
        """Return the TF-IDF values of texts as CSR."""
        params, offset = column.facts, 0 if self.hash_bits else self.places[column.name]

        def relative_index(token: str) -> int:
            index = self.column_index(column, token)
            return index if index < 0 else index - offset

        encoded_texts = texts.tfidf_rows(
            vocabulary, relative_index, params.get("weights", []), params.get("ngrams", 1)
        )
        no_entries = (np.empty(0, np.int64), np.empty(0))
        row_entries = [encoded_texts[code] if code >= 0 else no_entries for code in codes.tolist()]
        ends = np.cumsum([0, *(len(places) for places, _ in row_entries)])
        indices = np.concatenate([places for places, _ in row_entries] or [no_entries[0]]) + offset
        data = np.concatenate([values for _, values in row_entries] or [no_entries[1]])
        return sp.csr_array(
            (data, indices.astype(np.int32), ends.astype(np.int32)),
            shape=(len(codes), self.width),
        )

    def _fill_gaps(self, values, columns, names):
        """Replace missing entries by zeros, or by ones in the columns that mark gaps."""
        is_gap = np.isnan(values)
        if not is_gap.any():
            return values, columns
        if self.missing != "indicator":
            return np.where(is_gap, 0.0, values), columns
        gap_columns = np.array(
            [self.places[n] + self.sizes[n] if n in self.sizes else -1 for n in names]
        )
        return np.where(is_gap, 1.0, values), np.where(is_gap, gap_columns, columns)

    def bucket(self, name: str, word: str) -> int:
        """Return the bucket of a word of a column."""
        return hash_of(word, HASH_SEED ^ np.uint64(self.seeds[name])) & ((1 << self.hash_bits) - 1)

    def hashed_names(self, strings: dict[str, StringColumn]):
        """Yield (column of X, name) of all words that are hashed."""
        for c in self.features:
            if c.role not in (CATEGORY, TEXT):
                continue
            for word in strings[c.name].vocabulary:
                if c.role == CATEGORY:
                    yield self.column_index(c, word), f"{c.name}={level_of(word)}"
                else:
                    for token in texts.tokenize(word, c.facts.get("ngrams", 1)):
                        yield self.column_index(c, token), f"{c.name}:{token}"

    def targets(self, chunk: TableChunk) -> np.ndarray | None:
        """Return the targets of a chunk, numbers or words; None if there are none."""
        return self._read_role(chunk, TARGET)

    def weights(self, chunk: TableChunk) -> np.ndarray | None:
        """Return the weights of a chunk, or None."""
        return self._read_role(chunk, WEIGHT)

    def _read_role(self, chunk: TableChunk, role: str) -> Any:
        column = self.find(role)
        if column is None or column.name not in (
            chunk.strings if column.words else chunk.numeric_names
        ):
            return None
        if not column.words:
            return chunk.numbers[:, chunk.numeric_names.index(column.name)].copy()
        codes, vocabulary = chunk.strings[column.name]
        if "as" in column.facts:
            parsed = [column.number_of(word) for word in vocabulary]
            return np.array([*(np.nan if v is None else v for v in parsed), np.nan])[codes]
        return np.array([*vocabulary, ""])[codes]

    def incomplete_rows(self, chunk: TableChunk, targets: bool) -> np.ndarray:
        """Return the numbers of the rows without a weight or, with `targets`, without a target."""
        is_incomplete = np.zeros(len(chunk.numbers), bool)
        for column in (self.find(TARGET) if targets else None, self.find(WEIGHT)):
            if column is not None and column.name in chunk.strings:
                is_incomplete |= chunk.strings[column.name].codes < 0
            elif column is not None and column.name in chunk.numeric_names:
                is_incomplete |= np.isnan(chunk.numbers[:, chunk.numeric_names.index(column.name)])
        return np.flatnonzero(is_incomplete)

    # ------------------------------------------------------------------ as plain data
    def to_dict(self) -> dict:
        """Return the layout as lists and dicts."""
        columns = [[c.name, c.role, c.words, c.levels, c.facts] for c in self.columns]
        return {
            "columns": [entry if entry[-1] else entry[:-1] for entry in columns],
            "missing": self.missing,
            "hash_bits": self.hash_bits,
        }

    @classmethod
    def from_dict(cls, stored: dict) -> "Layout":
        """Return the layout of `to_dict`."""
        try:
            columns = [Column(*entry) for entry in stored["columns"]]
            return cls(columns, stored["missing"], stored["hash_bits"])
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError(
                f"the layout of a table is damaged ({type(error).__name__}: {error}). Fit the "
                "table anew."
            ) from error
