"""svmlight (LIBSVM) text: ``label[,label...] [qid:n] column:value ... # comment`` a line."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.data.options import Options
from tamis.data.rows import (
    Bad,
    Context,
    CountsFromZero,
    Labels,
    Position,
    ReadError,
    Rows,
    place_of,
    quoted,
    wild_rows,
)
from tamis.data.text import svmlight_scan as scan
from tamis.data.text.window import NUL, Window
from tamis.system.spelling import option

WORD = np.uint64
UNLIMITED = 2**63 - 1
WIDEST = 2**31 - 1
_RULES = {
    scan.BAD_LABEL: "label {word!r} is no number; a line begins with its label. Use {table} if "
    "this is a table.",
    scan.BAD_INDEX: "{word!r} is no feature; features are written column:value, the column a whole "
    "number.",
    scan.NO_COLON: "{word!r} is no feature; features are written column:value.",
    scan.BAD_VALUE: "the value in {word!r} is no number; features are written column:value.",
    scan.NOT_FINITE: "{word!r} is not finite; all numbers must be. Leave the feature out, or "
    "replace it by a number.",
    scan.INDEX_ZERO: "feature index 0; LIBSVM indices start at 1. Pass {from_zero} if this file "
    "starts at 0.",
    scan.INDEX_HUGE: "feature index {word!r} is too large; indices must be below 2^63 - 1. Pass "
    "{hashed}, or number the columns anew.",
    scan.BAD_QUERY: "{word!r} is no query number; it is written qid:number.",
    scan.BEYOND: "feature index {word!r} is outside the {limit:,} columns. Pass a larger "
    "n_features, or none.",
}
_NO_LABEL = (
    "the line has no label; every row needs one. Put a number first, or pass {unlabelled} "
    "to read rows without labels."
)
_SUM = (
    "column {column} stands there several times, and the sum of its values is too large for a "
    "number of 64 bits. Make the values smaller."
)
_SEVERAL = (
    "the line has {count} labels, but the first rows have one each. Pass {multilabel} if rows may "
    "have several."
)


class Scratch:
    """Arrays that a chunk is read into, kept from chunk to chunk."""

    def __init__(self, rows: int, size: int, index_type: type[np.signedinteger]):
        self.labels, self.queries = np.empty(size // 2 + 2), np.empty(rows + 1, np.int64)
        self.ends, self.indptr = np.zeros(rows + 1, WORD), np.zeros(rows + 1, WORD)
        self.where = np.empty(rows + 1, WORD)
        self.indices, self.data = np.empty(size // 4 + 2, index_type), np.empty(size // 4 + 2)
        self.size, self.index_type = size, index_type
        self.marks = np.empty((1024, 4), np.int64)
        self.clear()

    def clear(self) -> None:
        """Nothing has been read."""
        self.rows = self.stored = self.found = self.unsure = self.lines = 0
        self.tangled = self.asked = self.largest = 0

    def settle(self, text: np.ndarray) -> None:
        """Let Python read the numbers that the scan was unsure of; all are finite."""
        for kind, slot, start, end in self.marks[: self.unsure].tolist():
            (self.labels if kind == scan.LABEL else self.data)[slot] = float(bytes(text[start:end]))
        self.unsure = 0


class SvmlightReader:
    """Chunks of one svmlight file after the other."""

    def __init__(self, options: Options, context: Context):
        self.options, self.context = options, context
        self.scratch: Any = None

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of a file from a position on, each with the bytes of the file read so far."""
        options, rows = self.options, position.rows
        window = Window(name, options, position.offset, position.line)
        try:
            while (stop := window.lines(options.chunk_bytes)) > window.begin:
                first = self._chunk(window, stop)
                if self.scratch.rows:
                    rows += self.scratch.rows
                    self.context.width = max(self.context.width, self.scratch.largest)
                    after = Position(
                        position.file, window.offset, window.line, rows, self.context.width
                    )
                    yield self._rows(first, window.name, after), window.done()
            if window.failure:
                self.context.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    # ------------------------------------------------------------------ one chunk
    def _chunk(self, window: Window, stop: int, index_type=np.int32) -> int:
        """Read up to `chunk_rows` lines into the scratch; return the number of the first line."""
        options, context, size = self.options, self.context, stop - window.begin
        if (
            self.scratch is None
            or self.scratch.size < size
            or self.scratch.index_type != index_type
        ):
            self.scratch = Scratch(options.chunk_rows, size, index_type)
        scratch = self.scratch
        scratch.clear()
        undecided, at, line = context.base is None, window.begin, window.line
        noted = Bad(context.bad.count, list(context.bad.first)), context.zeros
        skipped = None if context.skipped is None else list(context.skipped)
        while at < stop and scratch.rows < options.chunk_rows:
            before = scratch.rows
            at, reason, fault = self._scan(window.text, at, stop, 0 if context.base == 0 else 1)
            if reason in (scan.DONE, scan.FULL):
                scratch.settle(window.text)
                if reason == scan.FULL and scratch.rows == before:
                    scratch.marks = np.empty((2 * len(scratch.marks), 4), np.int64)
                continue
            from_zero = reason == scan.INDEX_ZERO and undecided
            # Once more, with columns of 64 bits, or counted from 0.
            if reason == scan.WIDE or from_zero:
                (context.bad, context.zeros), context.skipped = noted, skipped
                context.base = 0 if from_zero else context.base
                return self._chunk(window, stop, index_type if from_zero else np.int64)
            said = self._message(window, at, fault, line + scratch.lines, reason)
            context.refuse(said, CountsFromZero if reason == scan.INDEX_ZERO else ReadError)
            context.skip_line(scratch.rows)
            at, scratch.lines = window.store.index(b"\n", at) + 1, scratch.lines + 1
        if scratch.rows:
            context.base = 1 if context.base is None else context.base
        window.advance(at, scratch.lines)
        return line

    def _scan(self, text, at: int, stop: int, base: int) -> tuple[int, int, int]:
        """One call of the compiled scan; what it found goes to the scratch."""
        s, options = self.scratch, self.options
        mask = (1 << options.hash_bits) - 1 if options.hash_bits else 0
        limit = (
            UNLIMITED if options.n_features is None or options.drop or mask else options.n_features
        )
        tally = tuple(WORD(v) for v in (s.rows, s.stored, s.found, s.unsure, s.lines))
        span = (WORD(at), WORD(stop), WORD(options.chunk_rows))
        arrays = (s.labels, s.ends, s.queries, s.where, s.indptr, s.indices, s.data, s.marks)
        columns = (WORD(base), WORD(limit), WORD(mask))
        found = scan.scan_svmlight(text, span, columns, tally, arrays)
        at, s.lines, s.rows, s.stored, s.found, s.unsure, reason, fault, tangled, asked, largest = (
            int(v) for v in found
        )
        s.tangled, s.asked = s.tangled | tangled, s.asked | asked
        s.largest = max(s.largest, largest)
        return at, reason, fault

    def _message(self, window, at, fault, line, reason) -> str:
        """Words about a bad line."""
        text = window.text
        if b"\0" in window.store[at : window.store.index(b"\n", at)]:
            fault = window.store.index(b"\0", at)
            return f"{place_of(window.name, line, at, fault)}: {NUL}"
        rule = _RULES[reason].format(
            word=quoted(text, fault),
            limit=self.options.n_features,
            table=option("format", "csv"),
            from_zero=option("zero_based", True),
            hashed=option("hash_bits", 20),
        )
        return f"{place_of(window.name, line, at, fault)}: {rule}"

    # ------------------------------------------------------------------ what was read
    def _rows(self, line: int, name: str, after: Position) -> Rows:
        """The chunk that begins at a line."""
        s, options, context = self.scratch, self.options, self.context
        width = options.columns or max(context.width, 1)
        shape = (s.rows, max(width, context.width) if options.drop else width)
        indptr = s.indptr[: s.rows + 1].astype(s.index_type)
        data, indices = s.data[: s.stored].copy(), s.indices[: s.stored].copy()
        X = sp.csr_array((data, indices, indptr), shape=shape)
        counts = np.diff(s.ends[: s.rows + 1].astype(np.int64))
        queries = s.queries[: s.rows].copy() if s.asked else None
        targets: Any = s.labels[: s.found].copy()
        where = line + s.where[: s.rows].astype(np.int64)
        if s.tangled or options.hash_bits:
            X.sum_duplicates()
            if len(wild := wild_rows(X)):
                kept = self._too_large(X, wild, name, where)
                X, targets = X[kept], targets[np.repeat(kept, counts)]
                where, counts = where[kept], counts[kept]
                queries = None if queries is None else queries[kept]
        if shape[1] > width:
            known = X[:, :width]
            context.dropped, X = context.dropped + X.nnz - known.nnz, known
        if context.several is None:
            context.several = bool((counts > 1).any())
        if context.several:
            targets = Labels(np.concatenate(([0], np.cumsum(counts))), targets)
        elif (counts != 1).any():
            X, targets, queries = self._uneven(X, targets, queries, counts, name, where)
        first, skipped = line + int(s.where[0]), context.end_chunk()
        return Rows(X, targets, first, None, queries, name, after, skipped)

    def _too_large(self, X, wild, name, where) -> np.ndarray:
        """Refuse rows whose summed values are not finite; which rows are kept."""
        kept = np.ones(X.shape[0], bool)
        for row in wild.tolist():
            entries = slice(X.indptr[row], X.indptr[row + 1])
            first = int(X.indices[entries][~np.isfinite(X.data[entries])][0])
            column = first + (self.context.base or 0)
            self.context.refuse(f"{name}, line {where[row]}: {_SUM.format(column=column)}")
            kept[row] = False
        self.context.skip_rows(~kept)
        return kept

    def _uneven(self, X, targets, queries, counts, name, where):
        """Rows of a file of single labels, some of which have none or several."""
        firsts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        bad = (counts > 1) | ((counts == 0) & (self.options.target is not False))
        for row in np.flatnonzero(bad)[:1] if not self.context.skip else np.flatnonzero(bad):
            said = _SEVERAL.format(count=counts[row], multilabel=option("multilabel", True))
            if counts[row] == 0:
                said = _NO_LABEL.format(unlabelled=option("target", False))
            self.context.refuse(f"{name}, line {where[row]}: {said}")
        self.context.skip_rows(bad)
        spread = np.where(
            counts == 0,
            np.nan,
            targets[np.minimum(firsts, max(len(targets) - 1, 0))] if len(targets) else np.nan,
        )
        if not bad.any():
            return X, spread, queries
        return X[~bad], spread[~bad], None if queries is None else queries[~bad]
