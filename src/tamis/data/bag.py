"""Bags of words from files: UCI's docword, npz with the words inside, a document a line."""

import io
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tamis.data.options import LINE_BYTES
from tamis.data.rows import ReadError, foreign
from tamis.data.streams import bare, check_file, open_bytes
from tamis.system.files import StrPath

PIECE = 1 << 25  # bytes that are read at once
MOST = np.iinfo(np.int32).max  # documents, words, entries
WORD = re.compile(r"[^\W\d_][\w'-]+")


def read_bag(path: StrPath, vocabulary: StrPath | None = None) -> tuple[sp.csr_array, list[str]]:
    """Counts of words, one row a document, and the words."""
    path = Path(path)
    check_file(str(path))
    with foreign(f"{path}: it cannot be read as a bag of words", "Copy it again."):
        if path.suffix == ".npz":
            return _from_npz(path, vocabulary)
        with io.BufferedReader(open_bytes(str(path)).bytes) as file:
            head = [file.readline(64) for _ in range(3)]
            if all(line.strip().isdigit() for line in head):
                rows, columns, stored = (int(line) for line in head)
                words = _vocabulary(path, vocabulary, columns)
                return _from_triples(file, path, (rows, columns), stored), words
        if vocabulary is not None:
            raise ReadError(
                f"{path}: no docword file (its first three lines are not numbers), so a vocabulary "
                "has no meaning here."
            )
        return _from_text(path)


def beside(path: Path) -> Path:
    """The file with the words by default: `vocab` for `docword` in its name."""
    return path.with_name(bare(path.name).replace("docword", "vocab"))


def _vocabulary(path: Path, given, columns: int) -> list[str]:
    """One word a line, of the file given or of the one beside."""
    file = beside(path) if given is None else Path(given)
    if file == path or not file.exists():
        raise ReadError(
            f"{path}: the words of its columns are not there ({file}). Name the file with one "
            "word a line."
        )
    words = file.read_text(encoding="utf-8", errors="replace").split()
    if len(words) != columns:
        raise ReadError(f"{file}: {len(words)} words for {columns} columns of {path}.")
    return words


def _from_triples(file, path: Path, shape, stored: int) -> sp.csr_array:
    """Lines of document, word and count, numbers from 1."""
    # A head alone must not fill the memory.
    if max(*shape, stored) > MOST or shape[0] > max(100 * stored, 1 << 20):
        raise ReadError(
            f"{path}: its head promises {shape[0]} documents, {shape[1]} words and {stored} "
            "entries. Check its first three lines."
        )
    found, at, rest = [], 0, b""
    while piece := file.read(PIECE):
        piece = rest + piece
        cut = piece.rfind(b"\n") + 1
        rest, piece = piece[cut:], piece[:cut]
        if len(rest) > PIECE:
            raise ReadError(
                f"{path}, after entry {at}: a line of more than {PIECE >> 20} MiB. Lines hold "
                "document, word and count."
            )
        found.append(_triples(piece, path, at, shape, stored))
        at += found[-1].shape[1]
    found.append(_triples(rest, path, at, shape, stored))
    entries = np.concatenate(found, axis=1)
    if entries.shape[1] != stored:
        raise ReadError(
            f"{path}: {entries.shape[1]} entries, but its third line promises {stored}. The file "
            "is cut short."
        )
    return sp.csr_array(
        sp.coo_array((entries[2].astype(np.float32), (entries[0], entries[1])), shape=shape)
    )


def _triples(piece: bytes, path: Path, at: int, shape, stored: int) -> np.ndarray:
    """Documents, words (both from 0) and counts of some lines, after `at` entries."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # text that is no number
        try:
            numbers = np.fromstring(piece.decode("ascii", "replace"), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            raise ReadError(
                f"{path}, after entry {at}: something that is no number. Lines hold document, word "
                "and count."
            ) from None
    if len(numbers) % 3:
        raise ReadError(f"{path}, after entry {at}: a line without its three numbers.")
    if at + len(numbers) // 3 > stored:
        raise ReadError(f"{path}: more entries than its third line promises, {stored}.")
    triples = numbers.reshape(-1, 3).T - np.array([[1], [1], [0]])
    for what, found, limit in (
        ("document", triples[0], shape[0]),
        ("word", triples[1], shape[1]),
        ("count", triples[2], MOST),
    ):
        wrong = np.flatnonzero((found < 0) | (found >= limit))
        if len(wrong):
            value = int(found[wrong[0]]) + (what != "count")
            low, high = "below the least", f"beyond the {limit} that its head promises"
            rule = low if found[wrong[0]] < 0 else high
            raise ReadError(f"{path}, entry {at + wrong[0] + 1}: {what} {value} {rule}.")
    return triples.astype(np.int32)


def _from_npz(path: Path, vocabulary) -> tuple[sp.csr_array, list[str]]:
    """Arrays data, indices, indptr, shape and terms."""
    with np.load(path, allow_pickle=False) as stored:
        missing = [name for name in ("data", "indices", "indptr", "shape") if name not in stored]
        if missing:
            raise ReadError(
                f"{path}: no array {missing[0]!r}. A corpus holds data, indices, indptr, shape and "
                "terms."
            )
        shape = tuple(int(n) for n in stored["shape"])
        parts = {name: stored[name] for name in ("data", "indices", "indptr")}
        kinds = {name: part.dtype.kind for name, part in parts.items()}
        if (
            len(shape) != 2
            or kinds["data"] not in "fiub"
            or kinds["indices"] not in "iu"
            or kinds["indptr"] not in "iu"
        ):
            raise ReadError(
                f"{path}: its arrays are of shape {shape} and of kinds {kinds}, which is no matrix "
                "of counts. Save a CSR matrix."
            )
        X = sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        X.check_format(full_check=True)  # a column beyond the last would be a wild read later
        if not np.isfinite(X.data).all():
            raise ReadError(
                f"{path}: a count is nan or infinite; all numbers must be finite. Replace it and "
                "save again."
            )
        if vocabulary is None and "terms" not in stored:
            raise ReadError(
                f"{path}: no array 'terms' with the words. Name a file with one word a line."
            )
        if vocabulary is None:
            words = [str(word) for word in stored["terms"].tolist()]
        else:
            words = _vocabulary(path, vocabulary, X.shape[1])
    if len(words) != X.shape[1]:
        raise ReadError(
            f"{path}: {len(words)} words for {X.shape[1]} columns. Each column needs its word."
        )
    return X, words


def _from_text(path: Path) -> tuple[sp.csr_array, list[str]]:
    """Plain text, one document a line, words in lower case."""
    places: dict[str, int] = {}
    indptr: list[int] = [0]
    indices: list[int] = []
    counts: list[int] = []
    with io.BufferedReader(open_bytes(str(path)).bytes) as file:
        while line := file.readline(LINE_BYTES):
            if len(line) == LINE_BYTES:
                raise ReadError(
                    f"{path}, line {len(indptr)}: longer than {LINE_BYTES >> 20} MiB. Each line is "
                    "a document; check its line ends."
                )
            found = Counter(WORD.findall(line.decode("utf-8", "replace").lower()))
            indices += [places.setdefault(word, len(places)) for word in found]
            counts += found.values()
            indptr.append(len(indices))
    if not places:
        raise ReadError(f"{path}: no words.")
    X = sp.csr_array(
        (np.array(counts, np.float64), np.array(indices, np.int32), np.array(indptr)),
        shape=(len(indptr) - 1, len(places)),
    )
    X.sort_indices()
    return X, list(places)
