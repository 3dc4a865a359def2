"""Vowpal Wabbit's text: features are names, hashed into 2^hash_bits columns."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from tamis.data.options import Options
from tamis.data.rows import Context, Position, Rows, place_of, quoted, wild_rows
from tamis.data.text import vowpal_scan as scan
from tamis.data.text.window import NUL, Window
from tamis.data.text.words import join_repeats
from tamis.system.spelling import option

WORD = np.uint64
_RULES = {
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
_SUM = (
    "features that fall into one column have a sum that is too large for a number of 64 bits. "
    "Make the values smaller, or hash_bits larger."
)
_NO_LABEL = (
    "the row has no label; every row needs one. Pass {unlabelled} to read rows without labels."
)

ARRAYS = ("labels", "weights", "where", "indptr", "columns", "data", "hashes", "spans", "marks")


class VowpalReader:
    """Chunks of one file after the other."""

    def __init__(self, options: Options, context: Context):
        self.options, self.context = options, context

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of a file from a position on, each with the bytes of the file read so far."""
        rows = position.rows
        for found, first, window in self._scans(name, position, False):
            rows += found["rows"]
            after = Position(
                position.file, window.offset, window.line, rows, 1 << self.options.hash_bits
            )
            yield self._rows(found, first, window.name, after), window.done()

    def names(self, name: str, wanted: np.ndarray) -> Iterator[tuple[int, str]]:
        """Buckets and names of the features in the wanted buckets, each name once a chunk."""
        for found, _, window in self._scans(name, Position(), True):
            columns, hashes, spans = (
                found[key][: found["stored"]] for key in ("columns", "hashes", "spans")
            )
            hits = np.flatnonzero(wanted[columns])
            _, firsts = np.unique(hashes[hits], return_index=True)
            for k in hits[firsts]:
                space, end, first, last = spans[k].tolist()
                prefix = bytes(window.store[space:end]).decode("utf-8", "backslashreplace")
                word = bytes(window.store[first:last]).decode("utf-8", "backslashreplace")
                yield int(columns[k]), f"{prefix}^{word}" if prefix else word

    # ------------------------------------------------------------------ one chunk
    def _scans(self, name: str, position: Position, named: bool):
        """Scanned chunks, in arrays of their own: (arrays, line of the first row, window)."""
        window = Window(name, self.options, position.offset, position.line)
        try:
            while (stop := window.lines(self.options.chunk_bytes)) > window.begin:
                line = window.line
                found = self._arrays(stop - window.begin, named)
                window.advance(self._scan(window, stop, found), found["lines"])
                if found["rows"]:
                    yield found, line, window
            if window.failure:
                self.context.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    def _arrays(self, size: int, named: bool) -> dict:
        rows, most = self.options.chunk_rows, size // 2 + 2
        index = np.int32 if self.options.hash_bits < 32 else np.int64
        arrays = {
            "labels": np.empty(rows + 1),
            "weights": np.empty(rows + 1),
            "indptr": np.zeros(rows + 1, WORD),
            "where": np.empty(rows + 1, WORD),
            "columns": np.empty(most, index),
        }
        arrays |= {
            "data": np.empty(most),
            "hashes": np.empty(most if named else 0, WORD),
            "spans": np.empty((most if named else 0, 4), np.int64),
        }
        return {
            **arrays,
            "marks": np.empty((1024, 4), np.int64),
            "rows": 0,
            "stored": 0,
            "lines": 0,
            "weighted": 0,
        }

    def _scan(self, window: Window, stop: int, f: dict) -> int:
        at, most, mask = window.begin, self.options.chunk_rows, (1 << self.options.hash_bits) - 1
        while at < stop and f["rows"] < most:
            before = f["rows"]
            span = (WORD(at), WORD(stop), WORD(most))
            tally = (WORD(f["rows"]), WORD(f["stored"]), WORD(f["lines"]))
            arrays = tuple(f[name] for name in ARRAYS)
            found = scan.scan_vowpal(window.text, span, WORD(mask), tally, arrays)
            at, f["lines"], f["rows"], f["stored"], unsure, reason, fault, weighted = (
                int(v) for v in found
            )
            f["weighted"] |= weighted
            for kind, slot, start, end in f["marks"][:unsure].tolist():
                f[("labels", "weights", "data")[kind]][slot] = float(bytes(window.text[start:end]))
            if reason == scan.FULL and f["rows"] == before:
                f["marks"] = np.empty((2 * len(f["marks"]), 4), np.int64)
            if reason in (scan.DONE, scan.FULL):
                continue
            where = place_of(window.name, window.line + f["lines"], at, fault)
            if b"\0" in window.store[at : window.store.index(b"\n", at)]:
                self.context.refuse(f"{where}: {NUL}")
            else:
                self.context.refuse(
                    f"{where}: {_RULES[reason].format(word=quoted(window.text, fault))}"
                )
            self.context.skip_line(f["rows"])
            at, f["lines"] = window.store.index(b"\n", at) + 1, f["lines"] + 1
        return at

    def _rows(self, f: dict, first: int, name: str, after: Position) -> Rows:
        n, stored = f["rows"], f["stored"]
        # Hashed columns come in no order, which models need not have; only repeats are summed.
        stored = int(join_repeats(f["indptr"][: n + 1], f["columns"][:stored], f["data"][:stored]))
        indptr = f["indptr"][: n + 1].astype(f["columns"].dtype)
        X = sp.csr_array(
            (f["data"][:stored].copy(), f["columns"][:stored].copy(), indptr),
            shape=(n, 1 << self.options.hash_bits),
        )
        labels, weights = f["labels"][:n].copy(), f["weights"][:n].copy() if f["weighted"] else None
        bare = np.flatnonzero(np.isnan(labels) & (self.options.target is not False))
        no_label = _NO_LABEL.format(unlabelled=option("target", False))
        faults = dict.fromkeys(wild_rows(X), _SUM) | dict.fromkeys(bare, no_label)
        if faults:
            for row in sorted(faults):
                self.context.refuse(f"{name}, line {first + int(f['where'][row])}: {faults[row]}")
            bad = np.isin(np.arange(n), list(faults))
            self.context.skip_rows(bad)
            X, labels, weights = X[~bad], labels[~bad], None if weights is None else weights[~bad]
        line, skipped = first + int(f["where"][0]), self.context.end_chunk()
        return Rows(X, labels, line, weights, None, name, after, skipped)
