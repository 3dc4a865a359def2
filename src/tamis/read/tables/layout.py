"""What the columns of a table mean: numbers, words, listed or hashed, the target, the weight."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.estimators.column_names import names_of_fields
from tamis.read.options import Options
from tamis.read.rows import Context, Position, ReadError, Rows
from tamis.read.streams import shown
from tamis.read.text.words import SEED, hash_of, pack_rows

if TYPE_CHECKING:
    from tamis.read.source import RowSource

NUMBER, WORDS, TARGET, WEIGHT, IGNORED = "number", "words", "target", "weight", "ignored"
MOST_LEVELS = 1_000_000


@dataclass
class Column:
    """A column of the table."""

    name: str
    role: str
    words: bool = False  # whether its fields are words
    levels: list[str] = field(default_factory=list)


class Words(NamedTuple):
    """A column of words in a chunk: codes into a list of its own, -1 where one is missing."""

    codes: np.ndarray
    vocabulary: list[str]


class Part(NamedTuple):
    """A chunk of a table: a matrix of numbers, nan where one is missing, and words by column."""

    numbers: np.ndarray
    names: list[str]
    words: dict[str, Words]


@dataclass
class Layout:
    """Columns of a table, and the columns of X that they become."""

    columns: list[Column]
    missing: str = "error"
    hash_bits: int = 0  # 0: words are listed

    def __post_init__(self):
        self.features = [c for c in self.columns if c.role in (NUMBER, WORDS)]
        self.places, self.lists, at = {}, {}, 0
        hashed = any(c.role == WORDS for c in self.features) and self.hash_bits
        self.seeds = {c.name: hash_of(c.name) for c in self.features if c.role == WORDS}
        for c in self.features:
            self.places[c.name] = at
            at += len(c.levels) if c.role == WORDS else 1
            if c.role == WORDS:
                self.lists[c.name] = {word: k for k, word in enumerate(c.levels)}
            at += self.missing == "indicator"
        self.buckets = at  # where hashed words begin
        self.width = at + (1 << self.hash_bits if hashed else 0)

    def names(self) -> list[str]:
        """Names of the columns of X; buckets by their number."""
        fields = [(c.name, c.levels if c.role == WORDS else None) for c in self.features]
        found = names_of_fields(fields, self.missing == "indicator")
        return found + [f"bucket {k}" for k in range(self.width - self.buckets)]

    def find(self, role: str) -> Column | None:
        """The column of a role."""
        return next((c for c in self.columns if c.role == role), None)

    # ------------------------------------------------------------------ rows
    def rows(self, part: Part) -> sp.csr_array:
        """The features of a chunk as CSR."""
        values, n = part.numbers, len(part.numbers)
        columns = np.array([[self.places.get(name, -1) for name in part.names]], np.int64)
        wordy = [c.name for c in self.features if c.role == WORDS]
        if wordy:
            words = [self._word(name, *part.words[name]) for name in wordy]
            values = np.concatenate((values, *(one[0] for one in words)), axis=1)
            columns = np.concatenate(
                (np.broadcast_to(columns, part.numbers.shape), *(one[1] for one in words)), axis=1
            )
        if self.missing != "error":
            values, columns = self._mend(values, columns, [*part.names, *wordy])
        indptr, indices = np.zeros(n + 1, np.int32), np.empty(values.size, np.int32)
        data = np.empty(values.size)
        pack_rows(values, columns, indptr, indices, data)
        used = indptr[-1]
        X = sp.csr_array((data[:used], indices[:used], indptr), shape=(n, self.width))
        if wordy or self.missing == "indicator":
            X.sum_duplicates()
        return X

    def _word(self, name: str, codes, vocabulary):
        """Values and columns of a column of words."""
        if self.hash_bits:
            places = [self.buckets + self.bucket(name, word) for word in vocabulary]
        else:
            known = self.lists[name]
            places = [
                self.places[name] + known[word] if word in known else -1 for word in vocabulary
            ]
        values = np.where(codes < 0, np.nan, 1.0)
        return values[:, None], np.append(np.array(places, np.int64), -1)[codes][:, None]

    def _mend(self, values, columns, names):
        """Missing entries as zeros, or as ones in a column of their own."""
        gone = np.isnan(values)
        if not gone.any():
            return values, columns
        if self.missing != "indicator":
            return np.where(gone, 0.0, values), columns
        sizes = {c.name: len(c.levels) if c.role == WORDS else 1 for c in self.features}
        beside = np.array(
            [self.places[name] + sizes[name] if name in sizes else -1 for name in names]
        )
        return np.where(gone, 1.0, values), np.where(gone, beside, columns)

    def bucket(self, name: str, word: str) -> int:
        """The bucket of a word of a column."""
        return hash_of(word, SEED ^ np.uint64(self.seeds[name])) & ((1 << self.hash_bits) - 1)

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
        return {
            "columns": [[c.name, c.role, c.words, c.levels] for c in self.columns],
            "missing": self.missing,
            "hash_bits": self.hash_bits,
        }

    @classmethod
    def from_dict(cls, facts: dict) -> "Layout":
        """Rebuild one."""
        return cls(
            [Column(*entry) for entry in facts["columns"]], facts["missing"], facts["hash_bits"]
        )


def chunk_of(
    part: Part,
    layout: Layout,
    options: Options,
    context: Context,
    first: int,
    name: str,
    after: Position,
) -> Rows:
    """A chunk of a table as rows; those without a target are refused, unless it may be lacking."""
    X, targets, weights = layout.rows(part), layout.targets(part), layout.weights(part)
    context.width = layout.width
    gone: Any = (
        layout.incomplete(part, options.target is not False) if layout.missing != "error" else []
    )
    if len(gone):
        for row in gone if context.skip else gone[:1]:
            context.refuse(
                f"{name}, row {row + 1} from line {first} on: the target or the weight is missing; "
                "every row needs it. Fill it, or remove the row."
            )
        kept = np.setdiff1d(np.arange(X.shape[0]), gone)
        X = X[kept]
        targets = None if targets is None else targets[kept]
        weights = None if weights is None else weights[kept]
    return Rows(X, targets, first, weights, None, name, after)


# --------------------------------------------------------------------------- making one
def lay_out(files: list[str], options: Options, rows: "RowSource") -> Layout:
    """The layout of files: roles by what was asked and first rows, levels by a first reading."""
    if options.format in ("csv", "tsv"):
        from tamis.read.tables.csv import look, read_levels
    else:
        from tamis.read.tables.arrow import look, read_levels
    rows.keep()
    names, wordy = look(files[0], options)
    asked = _roles(names, options, shown(files[0]))
    columns = []
    for number, name in enumerate(names):
        role = asked.get(name, WORDS if wordy[number] or options.categorical == "all" else NUMBER)
        columns.append(Column(name, role, role == WORDS or (role == TARGET and wordy[number])))
    layout = Layout(columns, options.missing, options.hash_bits)
    if any(c.role == WORDS for c in columns) and not options.hash_bits:
        levels = read_levels(files, options, layout)
        for c in columns:
            if c.role == NUMBER and c.name in levels:  # a number in the first rows, words later
                c.role, c.words = WORDS, True
            if c.role == WORDS:
                c.levels = sorted(levels.get(c.name, ()))
        layout = Layout(columns, options.missing)
    if not layout.features:
        raise ReadError(
            f"{shown(files[0])}: no column is left beside the target. Check target= and ignore=."
        )
    return layout


def _roles(names, options, file: str) -> dict[str, str]:
    """Roles that the options name."""
    roles = {_named(names, one, "ignore", file): IGNORED for one in options.ignore}
    if not isinstance(options.categorical, str):
        roles |= {_named(names, one, "categorical", file): WORDS for one in options.categorical}
    if options.weight is not None:
        roles[_named(names, options.weight, "weight", file)] = WEIGHT
    if options.target is not False:
        asked = -1 if options.target is None else options.target
        roles[_named(names, asked, "target", file)] = TARGET
    return roles


def _named(names: list[str], wanted, what: str, file: str) -> str:
    """A column by its name or number."""
    if isinstance(wanted, str) and wanted in names:
        return wanted
    digits = isinstance(wanted, str) and wanted.lstrip("-").isdigit()
    if (digits or isinstance(wanted, int)) and -len(names) <= int(wanted) < len(names):
        return names[int(wanted)]
    listed = ", ".join(repr(name[:40]) for name in names[:10])
    listed += ", ..." if len(names) > 10 else ""
    raise ReadError(
        f"{file}: {what}={wanted!r} is no column of this table; the columns are {listed}. Pass a "
        "name, or a number from 0."
    )
