"""What the columns of a table become: numbers, words, dates, texts, the target, the weight."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.estimators.column_names import listed_names
from tamis.data.columns import texts
from tamis.data.columns.dates import VALUES, DateEncoding
from tamis.data.tables.values import FLAGS, comma_number, level_of, spellings_of
from tamis.data.text.words import SEED, hash_of, pack_rows
from tamis.system.spelling import short

NUMBER, WORDS, DATE, TEXT = "number", "words", "date", "text"
TARGET, WEIGHT, IGNORED = "target", "weight", "ignored"
FEATURES = (NUMBER, WORDS, DATE, TEXT)
MOST_LEVELS = 1_000_000


@dataclass
class Column:
    """A column of the table."""

    name: str
    role: str
    words: bool = False  # whether its fields are words
    levels: list[str] = field(default_factory=list)
    # What else its reading goes by, as plain data. Of numbers: how words are numbers ("flags",
    # "commas" or "plain"), "centre" and "spread". Of words: whether there is a "rare" level. Of
    # dates and texts what dates.py and texts.py say.
    facts: dict = field(default_factory=dict)

    def listed(self) -> list[str]:
        """Names of its columns of X."""
        return listed_names(self.name, self.role, self.levels, self.facts)

    def number_of(self, word: str) -> float | None:
        """A word as a number, in the way of this column."""
        way = self.facts.get("as", "plain")
        if way == "flags" and word.strip().lower() in FLAGS:
            return FLAGS[word.strip().lower()]
        try:
            value = comma_number(word) if way == "commas" else float(word)
        except ValueError:
            return None
        return value if np.isfinite(value) and "_" not in word else None


class Words(NamedTuple):
    """A column of words in a chunk: codes into a list of its own, -1 where one is missing."""

    codes: np.ndarray
    vocabulary: list[str]


class Part(NamedTuple):
    """A chunk of a table: a matrix of numbers, nan where one is missing, and words by column."""

    numbers: np.ndarray
    names: list[str]
    words: dict[str, Words]

    def without(self, bad: np.ndarray) -> "Part":
        """The part without some rows."""
        words = {k: Words(w.codes[~bad], w.vocabulary) for k, w in self.words.items()}
        return Part(self.numbers[~bad], self.names, words)


@dataclass
class Layout:
    """Columns of a table, and the columns of X that they become."""

    columns: list[Column]
    missing: str = "error"
    hash_bits: int = 0  # 0: words are listed

    def __post_init__(self):
        self.features = [c for c in self.columns if c.role in FEATURES]
        self.places, self.sizes, self.lists, at = {}, {}, {}, 0
        hashed = any(c.role in (WORDS, TEXT) for c in self.features) and self.hash_bits
        self.seeds = {c.name: hash_of(c.name) for c in self.features if c.role in (WORDS, TEXT)}
        for c in self.features:
            listed = {
                WORDS: c.levels,
                DATE: c.facts.get("parts", ()),
                TEXT: c.facts.get("vocabulary", ()),
                NUMBER: (),
            }[c.role]
            if c.role == WORDS:
                self.lists[c.name] = spellings_of(listed)
            elif c.role != NUMBER:
                self.lists[c.name] = {word: k for k, word in enumerate(listed)}
            rare = c.role == WORDS and bool(c.facts.get("rare"))
            self.places[c.name] = at
            self.sizes[c.name] = 1 if c.role == NUMBER else len(listed) + rare
            at += self.sizes[c.name] + self._marks(c)
        self.buckets = at  # where hashed words begin
        self.width = at + (1 << self.hash_bits if hashed else 0)
        self.scaled = any("spread" in c.facts for c in self.features)
        self.known: tuple[Any, ...] = (None,)

    def _marks(self, column: Column) -> bool:
        """Whether a column of X says where one of the table has gaps; an empty text has none."""
        return self.missing == "indicator" and column.role != TEXT

    def names(self) -> list[str]:
        """Names of the columns of X; buckets by their number."""
        found = []
        for c in self.features:
            found += c.listed()
            found += [f"{c.name}=missing"] if self._marks(c) else []
        return found + [f"bucket {k}" for k in range(self.width - self.buckets)]

    def sources(self) -> list[str]:
        """The column of the table that each column of X comes from, before the buckets."""
        return [c.name for c in self.features for _ in range(self.sizes[c.name] + self._marks(c))]

    def find(self, role: str) -> Column | None:
        """The column of a role."""
        return next((c for c in self.columns if c.role == role), None)

    # ------------------------------------------------------------------ rows
    def rows(self, part: Part) -> sp.csr_array:
        """The features of a chunk as CSR."""
        values, n = part.numbers, len(part.numbers)
        columns, centres, spreads = self._arranged(part.names)
        if self.scaled:
            values = (values - centres) / spreads
        names, blocks = list(part.names), [(values, columns)]
        for c in self.features:
            if c.words and c.role != TEXT:
                blocks.append(self._block(c, *part.words[c.name]))
                names += [c.name] * blocks[-1][0].shape[1]
        if len(blocks) > 1:
            values = np.concatenate([block[0] for block in blocks], axis=1)
            columns = np.concatenate(
                [np.broadcast_to(block[1], block[0].shape) for block in blocks], axis=1
            )
        if self.missing != "error":
            values, columns = self._mend(values, columns, names)
        indptr, indices = np.zeros(n + 1, np.int32), np.empty(values.size, np.int32)
        data = np.empty(values.size)
        pack_rows(values, columns, indptr, indices, data)
        used = indptr[-1]
        X = sp.csr_array((data[:used], indices[:used], indptr), shape=(n, self.width))
        if len(blocks) > 1 or self.missing == "indicator":
            X.sum_duplicates()
        for c in self.features:
            if c.role == TEXT:
                X = sp.csr_array(X + self._text(c, *part.words[c.name]))
        return X

    def entries(self, column: Column, part: Part) -> sp.csr_array:
        """What one column of words becomes."""
        if column.role == TEXT:
            return self._text(column, *part.words[column.name])
        values, columns = self._block(column, *part.words[column.name])
        columns = np.broadcast_to(columns, values.shape)
        kept = (columns >= 0) & (values != 0)
        ends = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        return sp.csr_array((values[kept], columns[kept], ends), shape=(len(values), self.width))

    def _arranged(self, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, centres and spreads of columns of numbers, kept as long as they are the same."""
        if self.known[0] is not names:
            facts = {c.name: c.facts for c in self.features if c.role == NUMBER}
            own = [facts.get(name, {}) for name in names]
            self.known = (
                names,
                np.array([[self.places.get(name, -1) for name in names]], np.int64),
                np.array([one.get("centre", 0.0) for one in own]),
                np.array([one.get("spread", 1.0) for one in own]),
            )
        return self.known[1:]

    def _block(self, column: Column, codes, vocabulary) -> tuple[np.ndarray, np.ndarray]:
        """Values and places of the words of a column, by the vocabulary; nan at gaps."""
        if column.role == DATE:
            return self._dates(column, codes, vocabulary)
        if column.role == NUMBER:
            found = [column.number_of(word) for word in vocabulary]
            numbers = np.array([*(np.nan if v is None else v for v in found), np.nan])
            numbers = (numbers - column.facts.get("centre", 0.0)) / column.facts.get("spread", 1.0)
            return numbers[codes][:, None], np.array([[self.places[column.name]]])
        places = [self.place_of(column, word) for word in vocabulary]
        values = np.where(codes < 0, np.nan, 1.0)
        return values[:, None], np.append(np.array(places, np.int64), -1)[codes][:, None]

    def place_of(self, column: Column, word: str) -> int:
        """The column of X of a word, or of a token of a text; -1 where it has none."""
        if self.hash_bits:
            word = level_of(word) if column.role == WORDS else word
            return self.buckets + self.bucket(column.name, word)
        known = self.lists[column.name]
        if word in known:
            return self.places[column.name] + known[word]
        if column.role == WORDS and column.facts.get("rare"):
            return self.places[column.name] + len(column.levels)
        return -1

    def count_unseen(self, part: Part, counts: dict[str, np.ndarray]) -> None:
        """Add to `counts`, by category: the rows whose level has no column of its own, and all."""
        for c in self.features:
            if c.role != WORDS or self.hash_bits:
                continue
            codes, vocabulary = part.words[c.name]
            unseen = [word not in self.lists[c.name] for word in vocabulary]
            rows = np.bincount(codes[codes >= 0], minlength=len(vocabulary))
            found = np.array([rows[unseen].sum(), rows.sum()], np.int64)
            counts[c.name] = counts.get(c.name, 0) + found

    def unseen_levels(self, counts: dict[str, np.ndarray]) -> str:
        """A note on categories most of whose rows have levels unknown to the model, or nothing."""
        said = []
        for c in self.features:
            unseen, rows = counts.get(c.name, (0, 0))
            rare = float(c.facts.get("rare") or 0.0)  # share of such rows when the model was fitted
            if unseen > (0.5 + 0.5 * rare) * rows:
                said.append(f"{short(c.name)!r} ({unseen:,} of {rows:,} rows)")
        if not said:
            return ""
        more = f" and {len(said) - 5} more columns" if len(said) > 5 else ""
        return (
            f"most rows have levels that the model has not seen in {', '.join(said[:5])}{more}. "
            "Check that these columns are written as in the rows that it was fitted to"
        )

    def _dates(self, column: Column, codes, vocabulary):
        """Values and places of the parts of dates."""
        encoding, first = self.date_encoding(column), self.places[column.name]
        gap = [(first, np.nan), *((-1, 0.0) for _ in VALUES)]
        table = [encoding.entries(word) or gap for word in vocabulary]
        found = np.array([*table, gap])[codes]
        return found[..., 1], found[..., 0].astype(np.int64)

    def date_encoding(self, column: Column) -> DateEncoding:
        """What the dates of a column become."""
        known, first = self.lists[column.name], self.places[column.name]
        return DateEncoding.of_facts(column.facts, {part: first + k for part, k in known.items()})

    def _text(self, column: Column, codes, vocabulary) -> sp.csr_array:
        """Words of texts."""
        facts, first = column.facts, 0 if self.hash_bits else self.places[column.name]

        def place(token: str) -> int:
            at = self.place_of(column, token)
            return at if at < 0 else at - first

        known = texts.weighted(vocabulary, place, facts.get("weights", []), facts.get("ngrams", 1))
        nothing = (np.empty(0, np.int64), np.empty(0))
        picked = [known[code] if code >= 0 else nothing for code in codes.tolist()]
        ends = np.cumsum([0, *(len(places) for places, _ in picked)])
        indices = np.concatenate([places for places, _ in picked] or [nothing[0]]) + first
        data = np.concatenate([values for _, values in picked] or [nothing[1]])
        return sp.csr_array(
            (data, indices.astype(np.int32), ends.astype(np.int32)),
            shape=(len(codes), self.width),
        )

    def _mend(self, values, columns, names):
        """Missing entries as zeros, or as ones in a column of their own."""
        gone = np.isnan(values)
        if not gone.any():
            return values, columns
        if self.missing != "indicator":
            return np.where(gone, 0.0, values), columns
        beside = np.array(
            [self.places[n] + self.sizes[n] if n in self.sizes else -1 for n in names]
        )
        return np.where(gone, 1.0, values), np.where(gone, beside, columns)

    def bucket(self, name: str, word: str) -> int:
        """The bucket of a word of a column."""
        return hash_of(word, SEED ^ np.uint64(self.seeds[name])) & ((1 << self.hash_bits) - 1)

    def hashed(self, part_words: dict[str, Words]):
        """Columns of X and names of all words that were hashed into them."""
        for c in self.features:
            if c.role not in (WORDS, TEXT):
                continue
            for word in part_words[c.name].vocabulary:
                if c.role == WORDS:
                    yield self.place_of(c, word), f"{c.name}={level_of(word)}"
                else:
                    for token in texts.tokens_of(word, c.facts.get("ngrams", 1)):
                        yield self.place_of(c, token), f"{c.name}:{token}"

    def targets(self, part: Part) -> np.ndarray | None:
        """The targets of a chunk: numbers or words; None where there are none."""
        return self._read(part, TARGET)

    def weights(self, part: Part) -> np.ndarray | None:
        """The weights of a chunk, or None."""
        return self._read(part, WEIGHT)

    def _read(self, part: Part, role: str) -> Any:
        column = self.find(role)
        if column is None or column.name not in (part.words if column.words else part.names):
            return None
        if not column.words:
            return part.numbers[:, part.names.index(column.name)].copy()
        codes, vocabulary = part.words[column.name]
        if "as" in column.facts:
            found = [column.number_of(word) for word in vocabulary]
            return np.array([*(np.nan if v is None else v for v in found), np.nan])[codes]
        return np.array([*vocabulary, ""])[codes]

    def incomplete(self, part: Part, targets: bool) -> np.ndarray:
        """Numbers of the rows without a weight or, where it is asked for, a target."""
        gone = np.zeros(len(part.numbers), bool)
        for column in (self.find(TARGET) if targets else None, self.find(WEIGHT)):
            if column is not None and column.name in part.words:
                gone |= part.words[column.name].codes < 0
            elif column is not None and column.name in part.names:
                gone |= np.isnan(part.numbers[:, part.names.index(column.name)])
        return np.flatnonzero(gone)

    # ------------------------------------------------------------------ as plain data
    def to_dict(self) -> dict:
        """All of it as lists and dicts."""
        columns = [[c.name, c.role, c.words, c.levels, c.facts] for c in self.columns]
        return {
            "columns": [entry if entry[-1] else entry[:-1] for entry in columns],
            "missing": self.missing,
            "hash_bits": self.hash_bits,
        }

    @classmethod
    def from_dict(cls, facts: dict) -> "Layout":
        """Rebuild one."""
        try:
            columns = [Column(*entry) for entry in facts["columns"]]
            return cls(columns, facts["missing"], facts["hash_bits"])
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError(
                f"the layout of a table is damaged ({type(error).__name__}: {error}). Fit the "
                "table anew."
            ) from error
