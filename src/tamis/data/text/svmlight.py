"""svmlight (LIBSVM) text: ``label[,label...] [qid:n] column:value ... # comment`` a line."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.data.options import Options
from tamis.data.rows import (
    Labels,
    Position,
    ReadError,
    ReaderState,
    Rows,
    SkippedLines,
    ZeroBasedError,
    location,
    nonfinite_rows,
    quote_word,
)
from tamis.data.text import svmlight_scan as scan
from tamis.data.text.window import NUL_MESSAGE, Window
from tamis.system.spelling import format_option

UINT64 = np.uint64
UNLIMITED = 2**63 - 1
MAX_INT32 = 2**31 - 1
_MESSAGES = {
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
    scan.OUT_OF_RANGE: "feature index {word!r} is outside the {limit:,} columns. Pass a larger "
    "n_features, or none.",
}
_NO_LABEL = (
    "the line has no label; every row needs one. Put a number first, or pass {unlabelled} "
    "to read rows without labels."
)
_SUM_OVERFLOW = (
    "column {column} stands there several times, and the sum of its values is too large for a "
    "number of 64 bits. Make the values smaller."
)
_SEVERAL_LABELS = (
    "the line has {count} labels, but the first rows have one each. Pass {multilabel} if rows may "
    "have several."
)


class ChunkBuffers:
    """Arrays that chunks are read into; reused from chunk to chunk."""

    def __init__(self, rows: int, size: int, index_type: type[np.signedinteger]):
        self.labels, self.queries = np.empty(size // 2 + 2), np.empty(rows + 1, np.int64)
        self.label_ends, self.indptr = np.zeros(rows + 1, UINT64), np.zeros(rows + 1, UINT64)
        self.lines_before = np.empty(rows + 1, UINT64)
        self.indices, self.data = np.empty(size // 4 + 2, index_type), np.empty(size // 4 + 2)
        self.size, self.index_type = size, index_type
        self.fallback_spans = np.empty((1024, 4), np.int64)
        self.clear()

    def clear(self) -> None:
        """Set all counts to 0."""
        self.rows = self.n_entries = self.n_labels = self.n_fallback = self.n_lines = 0
        self.is_unsorted = self.has_queries = self.width = 0

    def parse_fallback(self, text: np.ndarray) -> None:
        """Parse with Python the numbers that the scan found AMBIGUOUS; all are finite."""
        for kind, slot, start, end in self.fallback_spans[: self.n_fallback].tolist():
            (self.labels if kind == scan.LABEL else self.data)[slot] = float(bytes(text[start:end]))
        self.n_fallback = 0


class SvmlightReader:
    """Reader of chunks of svmlight files."""

    def __init__(self, options: Options, state: ReaderState):
        self.options, self.state = options, state
        self.buffers: Any = None

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Yield (chunk, bytes of the file read so far) from a position on."""
        options, rows = self.options, position.rows
        window = Window(name, options, position.offset, position.line)
        try:
            while (stop := window.find_line_end(options.chunk_bytes)) > window.begin:
                first_line = self._chunk(window, stop)
                if self.buffers.rows:
                    rows += self.buffers.rows
                    self.state.width = max(self.state.width, self.buffers.width)
                    after = Position(
                        position.file, window.offset, window.line, rows, self.state.width
                    )
                    yield self._rows(first_line, window.name, after), window.bytes_read()
            if window.failure:
                self.state.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    # ------------------------------------------------------------------ one chunk
    def _chunk(self, window: Window, stop: int, index_type=np.int32) -> int:
        """Read up to `chunk_rows` lines into the buffers; return the number of the first line."""
        options, state, size = self.options, self.state, stop - window.begin
        if (
            self.buffers is None
            or self.buffers.size < size
            or self.buffers.index_type != index_type
        ):
            self.buffers = ChunkBuffers(options.chunk_rows, size, index_type)
        buffers = self.buffers
        buffers.clear()
        is_base_unknown, pos, line = state.base is None, window.begin, window.line
        bad_before = SkippedLines(state.bad.count, list(state.bad.first)), state.n_zero_columns
        skipped_before = None if state.skipped is None else list(state.skipped)
        while pos < stop and buffers.rows < options.chunk_rows:
            rows_before = buffers.rows
            pos, reason, error_pos = self._scan(window.text, pos, stop, 0 if state.base == 0 else 1)
            if reason in (scan.DONE, scan.FULL):
                buffers.parse_fallback(window.text)
                if reason == scan.FULL and buffers.rows == rows_before:
                    buffers.fallback_spans = np.empty(
                        (2 * len(buffers.fallback_spans), 4), np.int64
                    )
                continue
            is_zero_based = reason == scan.INDEX_ZERO and is_base_unknown
            # Read the chunk again, with 64-bit columns or with columns from 0.
            if reason == scan.NEEDS_INT64 or is_zero_based:
                (state.bad, state.n_zero_columns), state.skipped = bad_before, skipped_before
                state.base = 0 if is_zero_based else state.base
                return self._chunk(window, stop, index_type if is_zero_based else np.int64)
            message = self._message(window, pos, error_pos, line + buffers.n_lines, reason)
            state.refuse(message, ZeroBasedError if reason == scan.INDEX_ZERO else ReadError)
            state.skip_line(buffers.rows)
            pos, buffers.n_lines = window.buffer.index(b"\n", pos) + 1, buffers.n_lines + 1
        if buffers.rows:
            state.base = 1 if state.base is None else state.base
        window.advance(pos, buffers.n_lines)
        return line

    def _scan(self, text, pos: int, stop: int, base: int) -> tuple[int, int, int]:
        """Call the compiled scan and update the buffers; return (end, reason, error_pos)."""
        b, options = self.buffers, self.options
        mask = (1 << options.hash_bits) - 1 if options.hash_bits else 0
        n_columns = (
            UNLIMITED if options.n_features is None or options.drop or mask else options.n_features
        )
        counts = (b.rows, b.n_entries, b.n_labels, b.n_fallback, b.n_lines)
        result = scan.scan_svmlight(
            text,
            (UINT64(pos), UINT64(stop), UINT64(options.chunk_rows)),
            (UINT64(base), UINT64(n_columns), UINT64(mask)),
            tuple(UINT64(count) for count in counts),
            (
                b.labels, b.label_ends, b.queries, b.lines_before, b.indptr, b.indices, b.data,
                b.fallback_spans,
            ),
        )  # fmt: skip
        pos, *totals, reason, error_pos, is_unsorted, has_queries, width = map(int, result)
        b.n_lines, b.rows, b.n_entries, b.n_labels, b.n_fallback = totals
        b.is_unsorted, b.has_queries = b.is_unsorted | is_unsorted, b.has_queries | has_queries
        b.width = max(b.width, width)
        return pos, reason, error_pos

    def _message(self, window, pos, error_pos, line, reason) -> str:
        """Return the message about a bad line."""
        text = window.text
        if b"\0" in window.buffer[pos : window.buffer.index(b"\n", pos)]:
            error_pos = window.buffer.index(b"\0", pos)
            return f"{location(window.name, line, pos, error_pos)}: {NUL_MESSAGE}"
        rule = _MESSAGES[reason].format(
            word=quote_word(text, error_pos),
            limit=self.options.n_features,
            table=format_option("format", "csv"),
            from_zero=format_option("zero_based", True),
            hashed=format_option("hash_bits", 20),
        )
        return f"{location(window.name, line, pos, error_pos)}: {rule}"

    # ------------------------------------------------------------------ what was read
    def _rows(self, line: int, name: str, after: Position) -> Rows:
        """Return the chunk in the buffers as rows; `line` is its first line."""
        buffers, options, state = self.buffers, self.options, self.state
        width = options.columns or max(state.width, 1)
        shape = (buffers.rows, max(width, state.width) if options.drop else width)
        indptr = buffers.indptr[: buffers.rows + 1].astype(buffers.index_type)
        data = buffers.data[: buffers.n_entries].copy()
        indices = buffers.indices[: buffers.n_entries].copy()
        X = sp.csr_array((data, indices, indptr), shape=shape)
        label_counts = np.diff(buffers.label_ends[: buffers.rows + 1].astype(np.int64))
        queries = buffers.queries[: buffers.rows].copy() if buffers.has_queries else None
        targets: Any = buffers.labels[: buffers.n_labels].copy()
        row_lines = line + buffers.lines_before[: buffers.rows].astype(np.int64)
        if buffers.is_unsorted or options.hash_bits:
            X.sum_duplicates()
            if len(bad_rows := nonfinite_rows(X)):
                is_valid = self._refuse_overflow(X, bad_rows, name, row_lines)
                X, targets = X[is_valid], targets[np.repeat(is_valid, label_counts)]
                row_lines, label_counts = row_lines[is_valid], label_counts[is_valid]
                queries = None if queries is None else queries[is_valid]
        if shape[1] > width:
            known_columns = X[:, :width]
            state.dropped, X = state.dropped + X.nnz - known_columns.nnz, known_columns
        if state.several is None:
            state.several = bool((label_counts > 1).any())
        if state.several:
            targets = Labels(np.concatenate(([0], np.cumsum(label_counts))), targets)
        elif (label_counts != 1).any():
            X, targets, queries = self._single_labels(
                X, targets, queries, label_counts, name, row_lines
            )
        first, skipped = line + int(buffers.lines_before[0]), state.end_chunk()
        return Rows(X, targets, first, None, queries, name, after, skipped)

    def _refuse_overflow(self, X, bad_rows, name, row_lines) -> np.ndarray:
        """Refuse rows whose summed values are not finite; return which rows remain."""
        is_valid = np.ones(X.shape[0], bool)
        for row in bad_rows.tolist():
            entries = slice(X.indptr[row], X.indptr[row + 1])
            first = int(X.indices[entries][~np.isfinite(X.data[entries])][0])
            column = first + (self.state.base or 0)
            self.state.refuse(
                f"{name}, line {row_lines[row]}: {_SUM_OVERFLOW.format(column=column)}"
            )
            is_valid[row] = False
        self.state.skip_rows(~is_valid)
        return is_valid

    def _single_labels(self, X, targets, queries, label_counts, name, row_lines):
        """Return rows with one label each; refuse several labels, and missing required ones."""
        label_starts = np.concatenate(([0], np.cumsum(label_counts)[:-1]))
        is_bad = (label_counts > 1) | ((label_counts == 0) & (self.options.target is not False))
        for row in np.flatnonzero(is_bad)[:1] if not self.state.skip else np.flatnonzero(is_bad):
            message = _SEVERAL_LABELS.format(
                count=label_counts[row], multilabel=format_option("multilabel", True)
            )
            if label_counts[row] == 0:
                message = _NO_LABEL.format(unlabelled=format_option("target", False))
            self.state.refuse(f"{name}, line {row_lines[row]}: {message}")
        self.state.skip_rows(is_bad)
        row_targets = np.where(
            label_counts == 0,
            np.nan,
            targets[np.minimum(label_starts, max(len(targets) - 1, 0))] if len(targets) else np.nan,
        )
        if not is_bad.any():
            return X, row_targets, queries
        return X[~is_bad], row_targets[~is_bad], None if queries is None else queries[~is_bad]
