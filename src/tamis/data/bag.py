"""Read bags of words: UCI's docword files, npz files with the words inside, one document a line."""

import io
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tamis.data.options import MAX_LINE_BYTES
from tamis.data.rows import ReadError, convert_errors
from tamis.data.streams import check_file, open_bytes, strip_compression
from tamis.system.files import StrPath

READ_BYTES = 1 << 25  # bytes read at once
MAX_COUNT = np.iinfo(np.int32).max  # documents, words, entries
WORD_PATTERN = re.compile(r"[^\W\d_][\w'-]+")


def read_bag(path: StrPath, vocabulary: StrPath | None = None) -> tuple[sp.csr_array, list[str]]:
    """Return counts of words, one row a document, and the words of the columns."""
    path = Path(path)
    check_file(str(path))
    with convert_errors(f"{path}: it cannot be read as a bag of words", "Copy it again."):
        if path.suffix == ".npz":
            return _from_npz(path, vocabulary)
        with io.BufferedReader(open_bytes(str(path)).bytes) as file:
            head = [file.readline(64) for _ in range(3)]
            if all(line.strip().isdigit() for line in head):
                rows, columns, n_stored = (int(line) for line in head)
                words = _vocabulary(path, vocabulary, columns)
                return _from_triples(file, path, (rows, columns), n_stored), words
        if vocabulary is not None:
            raise ReadError(
                f"{path}: no docword file (its first three lines are not numbers), so a vocabulary "
                "has no meaning here."
            )
        return _from_text(path)


def default_vocabulary_path(path: Path) -> Path:
    """Return the default vocabulary file of a docword file: `vocab` for `docword` in its name."""
    return path.with_name(strip_compression(path.name).replace("docword", "vocab"))


def _vocabulary(path: Path, vocabulary, columns: int) -> list[str]:
    """Return the words of a file with one word a line; None means the default file."""
    file = default_vocabulary_path(path) if vocabulary is None else Path(vocabulary)
    if file == path or not file.exists():
        raise ReadError(
            f"{path}: the words of its columns are not there ({file}). Name the file with one "
            "word a line."
        )
    words = file.read_text(encoding="utf-8", errors="replace").split()
    if len(words) != columns:
        raise ReadError(f"{file}: {len(words)} words for {columns} columns of {path}.")
    return words


def _from_triples(file, path: Path, shape, n_stored: int) -> sp.csr_array:
    """Return the counts of a docword file from its lines of document, word and count.

    Numbers of documents and words begin with 1.
    """
    # The numbers of a header alone must not fill the memory.
    if max(*shape, n_stored) > MAX_COUNT or shape[0] > max(100 * n_stored, 1 << 20):
        raise ReadError(
            f"{path}: its head promises {shape[0]} documents, {shape[1]} words and {n_stored} "
            "entries. Check its first three lines."
        )
    blocks, n_entries, incomplete_line = [], 0, b""
    while chunk := file.read(READ_BYTES):
        chunk = incomplete_line + chunk
        line_end = chunk.rfind(b"\n") + 1
        incomplete_line, chunk = chunk[line_end:], chunk[:line_end]
        if len(incomplete_line) > READ_BYTES:
            raise ReadError(
                f"{path}, after entry {n_entries}: a line of more than {READ_BYTES >> 20} MiB. "
                "Lines hold document, word and count."
            )
        blocks.append(_triples(chunk, path, n_entries, shape, n_stored))
        n_entries += blocks[-1].shape[1]
    blocks.append(_triples(incomplete_line, path, n_entries, shape, n_stored))
    entries = np.concatenate(blocks, axis=1)
    if entries.shape[1] != n_stored:
        raise ReadError(
            f"{path}: {entries.shape[1]} entries, but its third line promises {n_stored}. The file "
            "is cut short."
        )
    return sp.csr_array(
        sp.coo_array((entries[2].astype(np.float32), (entries[0], entries[1])), shape=shape)
    )


def _triples(chunk: bytes, path: Path, n_entries: int, shape, n_stored: int) -> np.ndarray:
    """Return documents, words (both from 0) and counts of some lines, after `n_entries` entries."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # text that is no number
        try:
            numbers = np.fromstring(chunk.decode("ascii", "replace"), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            raise ReadError(
                f"{path}, after entry {n_entries}: something that is no number. Lines hold "
                "document, word and count."
            ) from None
    if len(numbers) % 3:
        raise ReadError(f"{path}, after entry {n_entries}: a line without its three numbers.")
    if n_entries + len(numbers) // 3 > n_stored:
        raise ReadError(f"{path}: more entries than its third line promises, {n_stored}.")
    triples = numbers.reshape(-1, 3).T - np.array([[1], [1], [0]])
    for quantity, column, limit in (
        ("document", triples[0], shape[0]),
        ("word", triples[1], shape[1]),
        ("count", triples[2], MAX_COUNT),
    ):
        wrong = np.flatnonzero((column < 0) | (column >= limit))
        if len(wrong):
            value = int(column[wrong[0]]) + (quantity != "count")
            low, high = "below the least", f"beyond the {limit} that its head promises"
            rule = low if column[wrong[0]] < 0 else high
            raise ReadError(f"{path}, entry {n_entries + wrong[0] + 1}: {quantity} {value} {rule}.")
    return triples.astype(np.int32)


def _from_npz(path: Path, vocabulary) -> tuple[sp.csr_array, list[str]]:
    """Return counts and words of an npz file with data, indices, indptr, shape and terms."""
    with np.load(path, allow_pickle=False) as archive:
        missing = [name for name in ("data", "indices", "indptr", "shape") if name not in archive]
        if missing:
            raise ReadError(
                f"{path}: no array {missing[0]!r}. A corpus holds data, indices, indptr, shape and "
                "terms."
            )
        shape = tuple(int(n) for n in archive["shape"])
        arrays = {name: archive[name] for name in ("data", "indices", "indptr")}
        kinds = {name: array.dtype.kind for name, array in arrays.items()}
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
        X = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        # A column out of range would be an invalid memory access later.
        X.check_format(full_check=True)
        if not np.isfinite(X.data).all():
            raise ReadError(
                f"{path}: a count is nan or infinite; all numbers must be finite. Replace it and "
                "save again."
            )
        if vocabulary is None and "terms" not in archive:
            raise ReadError(
                f"{path}: no array 'terms' with the words. Name a file with one word a line."
            )
        if vocabulary is None:
            words = [str(word) for word in archive["terms"].tolist()]
        else:
            words = _vocabulary(path, vocabulary, X.shape[1])
    if len(words) != X.shape[1]:
        raise ReadError(
            f"{path}: {len(words)} words for {X.shape[1]} columns. Each column needs its word."
        )
    return X, words


def _from_text(path: Path) -> tuple[sp.csr_array, list[str]]:
    """Return counts and words of plain text, one document a line, words in lower case."""
    word_indices: dict[str, int] = {}
    indptr: list[int] = [0]
    indices: list[int] = []
    counts: list[int] = []
    with io.BufferedReader(open_bytes(str(path)).bytes) as file:
        while line := file.readline(MAX_LINE_BYTES):
            if len(line) == MAX_LINE_BYTES:
                raise ReadError(
                    f"{path}, line {len(indptr)}: longer than {MAX_LINE_BYTES >> 20} MiB. Each "
                    "line is a document; check its line ends."
                )
            word_counts = Counter(WORD_PATTERN.findall(line.decode("utf-8", "replace").lower()))
            indices += [word_indices.setdefault(word, len(word_indices)) for word in word_counts]
            counts += word_counts.values()
            indptr.append(len(indices))
    if not word_indices:
        raise ReadError(f"{path}: no words.")
    X = sp.csr_array(
        (np.array(counts, np.float64), np.array(indices, np.int32), np.array(indptr)),
        shape=(len(indptr) - 1, len(word_indices)),
    )
    X.sort_indices()
    return X, list(word_indices)
