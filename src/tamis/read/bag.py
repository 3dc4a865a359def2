"""Bags of words from files: UCI's docword text, npz with the words inside, or plain text with one document a line."""

import io
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tamis.read.rows import ReadError
from tamis.read.streams import bare, check_file, open_bytes

PIECE = 1 << 25  # bytes that are read at once
WORD = re.compile(r"[^\W\d_][\w'-]+")


def read_bag(path, vocabulary=None) -> tuple[sp.csr_array, list[str]]:
    """Counts of words, one row a document, and the words."""
    path = Path(path)
    check_file(str(path))
    if path.suffix == ".npz":
        return _from_npz(path, vocabulary)
    with io.BufferedReader(open_bytes(str(path)).bytes) as file:
        head = [file.readline(64) for _ in range(3)]
        if all(line.strip().isdigit() for line in head):
            rows, columns, stored = (int(line) for line in head)
            words = _vocabulary(path, vocabulary, columns)
            return _from_triples(file, path, (rows, columns), stored), words
    if vocabulary is not None:
        raise ReadError(f"{path}: no docword file (its first three lines are not numbers), so a vocabulary has no meaning here.")
    return _from_text(path)


def _vocabulary(path: Path, given, columns: int) -> list[str]:
    """One word a line; by default from the file beside that has `vocab` for `docword` in its name."""
    given = Path(given) if given is not None else path.with_name(bare(path.name).replace("docword", "vocab"))
    if given == path or not given.exists():
        raise ReadError(f"{path}: the words of its columns are not there ({given}). Name the file with one word a line.")
    words = given.read_text(encoding="utf-8", errors="replace").split()
    if len(words) != columns:
        raise ReadError(f"{given}: {len(words)} words for {columns} columns of {path}.")
    return words


def _from_triples(file, path: Path, shape, stored: int) -> sp.csr_array:
    """Lines of document, word and count, numbers from 1."""
    rows, columns, counts = np.empty(stored, np.int32), np.empty(stored, np.int32), np.empty(stored, np.float32)
    at, rest = 0, b""
    while piece := file.read(PIECE):
        piece = rest + piece
        cut = piece.rfind(b"\n") + 1
        rest, piece = piece[cut:], piece[:cut]
        at = _put(piece, path, at, rows, columns, counts)
    at = _put(rest, path, at, rows, columns, counts)
    if at != stored:
        raise ReadError(f"{path}: {at} entries, but its third line promises {stored}. The file is cut short.")
    for what, numbers, limit in (("document", rows, shape[0]), ("word", columns, shape[1])):
        if stored and (numbers.min() < 0 or numbers.max() >= limit):
            raise ReadError(f"{path}: {what} {int(numbers.max()) + 1} beyond the {limit} that its head promises.")
    return sp.csr_array(sp.coo_array((counts, (rows, columns)), shape=shape))


def _put(piece: bytes, path: Path, at: int, rows, columns, counts) -> int:
    """Write the numbers of some lines; returns where the next ones go."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # text that is no number
        try:
            numbers = np.fromstring(piece.decode("ascii", "replace"), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            raise ReadError(f"{path}, after entry {at}: something that is no number. Lines hold document, word and count.") from None
    if len(numbers) % 3:
        raise ReadError(f"{path}, after entry {at}: a line without its three numbers.")
    count = len(numbers) // 3
    if at + count > len(rows):
        raise ReadError(f"{path}: more entries than its third line promises, {len(rows)}.")
    triples = numbers.reshape(-1, 3)
    rows[at : at + count], columns[at : at + count], counts[at : at + count] = triples[:, 0] - 1, triples[:, 1] - 1, triples[:, 2]
    return at + count


def _from_npz(path: Path, vocabulary) -> tuple[sp.csr_array, list[str]]:
    """Arrays data, indices, indptr, shape and terms."""
    with np.load(path, allow_pickle=False) as stored:
        missing = [name for name in ("data", "indices", "indptr", "shape") if name not in stored]
        if missing:
            raise ReadError(f"{path}: no array {missing[0]!r}. A corpus holds data, indices, indptr, shape and terms.")
        X = sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(int(n) for n in stored["shape"]))
        if vocabulary is None and "terms" not in stored:
            raise ReadError(f"{path}: no array 'terms' with the words. Name a file with one word a line.")
        words = [str(word) for word in stored["terms"]] if vocabulary is None else _vocabulary(path, vocabulary, X.shape[1])
    return X, words


def _from_text(path: Path) -> tuple[sp.csr_array, list[str]]:
    """Plain text, one document a line, words in lower case."""
    places: dict[str, int] = {}
    indptr: list[int] = [0]
    indices: list[int] = []
    counts: list[int] = []
    with io.BufferedReader(open_bytes(str(path)).bytes) as file:
        for line in file:
            found = Counter(WORD.findall(line.decode("utf-8", "replace").lower()))
            indices += [places.setdefault(word, len(places)) for word in found]
            counts += found.values()
            indptr.append(len(indices))
    if not places:
        raise ReadError(f"{path}: no words.")
    X = sp.csr_array((np.array(counts, np.float64), np.array(indices, np.int32), np.array(indptr)), shape=(len(indptr) - 1, len(places)))
    X.sort_indices()
    return X, list(places)
