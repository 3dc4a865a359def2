"""Vowpal Wabbit's text: features are names, hashed into 2^hash_bits columns."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from tamis.data.options import Options
from tamis.data.rows import Position, ReaderState, Rows, location, nonfinite_rows, quote_word
from tamis.data.text import vowpal_scan as scan
from tamis.data.text.window import NUL_MESSAGE, Window
from tamis.data.text.words import join_repeats
from tamis.system.spelling import format_option

UINT64 = np.uint64
_MESSAGES = {
    scan.BAD_LABEL: "label {word!r} is no number; a line is 'label | feature feature:value ...'. "
    "Labels of costs or actions are not read.",
    scan.BAD_WEIGHT: "importance {word!r} is no number of 0 or more; it stands between the label "
    "and the bar.",
    scan.BAD_SCALE: "the scale in {word!r} is no number, or too long; a namespace is written |name "
    "or |name:number.",
    scan.BAD_VALUE: "the value in {word!r} is no number; features are written name or name:number.",
    scan.NOT_FINITE: "{word!r} is not finite; all numbers must be. Leave the feature out, or "
    "replace it by a number.",
    scan.NO_BAR: "the line has no bar; features begin after one, as in '1 | a b:2'.",
}
_SUM_OVERFLOW = (
    "features that fall into one column have a sum that is too large for a number of 64 bits. "
    "Make the values smaller, or hash_bits larger."
)
_NO_LABEL = (
    "the row has no label; every row needs one. Pass {unlabelled} to read rows without labels."
)

_ARRAY_NAMES = (
    "labels",
    "weights",
    "lines_before",
    "indptr",
    "columns",
    "data",
    "hashes",
    "spans",
    "fallback_spans",
)


class VowpalReader:
    """Reader of chunks of files in Vowpal Wabbit's format."""

    def __init__(self, options: Options, state: ReaderState):
        self.options, self.state = options, state

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Yield (chunk, bytes of the file read so far) from a position on."""
        rows = position.rows
        for chunk, first_line, window in self._scans(name, position, False):
            rows += chunk["rows"]
            after = Position(
                position.file, window.offset, window.line, rows, 1 << self.options.hash_bits
            )
            yield self._rows(chunk, first_line, window.name, after), window.bytes_read()

    def names(self, name: str, is_wanted: np.ndarray) -> Iterator[tuple[int, str]]:
        """Yield (bucket, name) of the features in the wanted buckets, each name once a chunk."""
        for chunk, _, window in self._scans(name, Position(), True):
            columns, hashes, spans = (
                chunk[key][: chunk["n_entries"]] for key in ("columns", "hashes", "spans")
            )
            hits = np.flatnonzero(is_wanted[columns])
            _, firsts = np.unique(hashes[hits], return_index=True)
            for k in hits[firsts]:
                namespace_start, namespace_end, name_start, name_end = spans[k].tolist()
                prefix = bytes(window.buffer[namespace_start:namespace_end]).decode(
                    "utf-8", "backslashreplace"
                )
                name_text = bytes(window.buffer[name_start:name_end]).decode(
                    "utf-8", "backslashreplace"
                )
                yield int(columns[k]), f"{prefix}^{name_text}" if prefix else name_text

    # ------------------------------------------------------------------ one chunk
    def _scans(self, name: str, position: Position, with_names: bool):
        """Yield scanned chunks in new arrays: (arrays, line of the first row, window)."""
        window = Window(name, self.options, position.offset, position.line)
        try:
            while (stop := window.find_line_end(self.options.chunk_bytes)) > window.begin:
                line = window.line
                chunk = self._arrays(stop - window.begin, with_names)
                window.advance(self._scan(window, stop, chunk), chunk["lines"])
                if chunk["rows"]:
                    yield chunk, line, window
            if window.failure:
                self.state.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    def _arrays(self, size: int, with_names: bool) -> dict:
        rows, max_entries = self.options.chunk_rows, size // 2 + 2
        index = np.int32 if self.options.hash_bits < 32 else np.int64
        arrays = {
            "labels": np.empty(rows + 1),
            "weights": np.empty(rows + 1),
            "indptr": np.zeros(rows + 1, UINT64),
            "lines_before": np.empty(rows + 1, UINT64),
            "columns": np.empty(max_entries, index),
        }
        arrays |= {
            "data": np.empty(max_entries),
            "hashes": np.empty(max_entries if with_names else 0, UINT64),
            "spans": np.empty((max_entries if with_names else 0, 4), np.int64),
        }
        return {
            **arrays,
            "fallback_spans": np.empty((1024, 4), np.int64),
            "rows": 0,
            "n_entries": 0,
            "lines": 0,
            "has_weights": 0,
        }

    def _scan(self, window: Window, stop: int, chunk: dict) -> int:
        pos, max_rows = window.begin, self.options.chunk_rows
        mask = (1 << self.options.hash_bits) - 1
        while pos < stop and chunk["rows"] < max_rows:
            rows_before = chunk["rows"]
            text_range = (UINT64(pos), UINT64(stop), UINT64(max_rows))
            counters = (UINT64(chunk["rows"]), UINT64(chunk["n_entries"]), UINT64(chunk["lines"]))
            arrays = tuple(chunk[name] for name in _ARRAY_NAMES)
            result = scan.scan_vowpal(window.text, text_range, UINT64(mask), counters, arrays)
            (
                pos,
                chunk["lines"],
                chunk["rows"],
                chunk["n_entries"],
                n_fallback,
                reason,
                error_pos,
                has_weights,
            ) = (int(v) for v in result)
            chunk["has_weights"] |= has_weights
            for kind, slot, start, end in chunk["fallback_spans"][:n_fallback].tolist():
                chunk[("labels", "weights", "data")[kind]][slot] = float(
                    bytes(window.text[start:end])
                )
            if reason == scan.FULL and chunk["rows"] == rows_before:
                chunk["fallback_spans"] = np.empty((2 * len(chunk["fallback_spans"]), 4), np.int64)
            if reason in (scan.DONE, scan.FULL):
                continue
            message_start = location(window.name, window.line + chunk["lines"], pos, error_pos)
            if b"\0" in window.buffer[pos : window.buffer.index(b"\n", pos)]:
                self.state.refuse(f"{message_start}: {NUL_MESSAGE}")
            else:
                word = quote_word(window.text, error_pos)
                self.state.refuse(f"{message_start}: {_MESSAGES[reason].format(word=word)}")
            self.state.skip_line(chunk["rows"])
            pos, chunk["lines"] = window.buffer.index(b"\n", pos) + 1, chunk["lines"] + 1
        return pos

    def _rows(self, chunk: dict, first_line: int, name: str, after: Position) -> Rows:
        n_rows, n_entries = chunk["rows"], chunk["n_entries"]
        # Hashed columns are unsorted, which models accept; only repeated columns are summed.
        n_entries = int(
            join_repeats(
                chunk["indptr"][: n_rows + 1],
                chunk["columns"][:n_entries],
                chunk["data"][:n_entries],
            )
        )
        indptr = chunk["indptr"][: n_rows + 1].astype(chunk["columns"].dtype)
        X = sp.csr_array(
            (chunk["data"][:n_entries].copy(), chunk["columns"][:n_entries].copy(), indptr),
            shape=(n_rows, 1 << self.options.hash_bits),
        )
        labels = chunk["labels"][:n_rows].copy()
        weights = chunk["weights"][:n_rows].copy() if chunk["has_weights"] else None
        unlabelled_rows = np.flatnonzero(np.isnan(labels) & (self.options.target is not False))
        no_label = _NO_LABEL.format(unlabelled=format_option("target", False))
        faults = dict.fromkeys(nonfinite_rows(X), _SUM_OVERFLOW) | dict.fromkeys(
            unlabelled_rows, no_label
        )
        if faults:
            for row in sorted(faults):
                self.state.refuse(
                    f"{name}, line {first_line + int(chunk['lines_before'][row])}: {faults[row]}"
                )
            is_bad = np.isin(np.arange(n_rows), list(faults))
            self.state.skip_rows(is_bad)
            X, labels = X[~is_bad], labels[~is_bad]
            weights = None if weights is None else weights[~is_bad]
        line, skipped = first_line + int(chunk["lines_before"][0]), self.state.end_chunk()
        return Rows(X, labels, line, weights, None, name, after, skipped)
