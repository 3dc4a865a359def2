"""Coding of targets whose classes are not known in advance: a code for each class or label in order
of appearance, and numbers where the targets may be numbers.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import MAX_CLASSES
from tamis.data.rows import Labels
from tamis.methods.sieve.stream.contrasts import ContrastTargets

MAX_LABEL_CODES = 16  # more classes share the codes, because memory grows with their number


class ChunkTargets(NamedTuple):
    """Targets of a chunk: as contrasts take them, as a sample stores them (an array, or a CSR array
    of labels), and a number for each row's target that does not depend on earlier chunks.
    """

    for_contrasts: ContrastTargets
    for_sample: Any
    target_hashes: np.ndarray


class LabelEncoder:
    """Codes of classes and labels, in order of appearance."""

    def __init__(self, task: str | None = None):
        self.task = task  # "classify", "regress", or None where both are possible
        self.codes: dict[Any, int] = {}

    def encode(self, targets: Any, n_rows: int) -> ChunkTargets:
        """Encode the targets of a chunk."""
        if targets is None:
            no_numbers = np.zeros((n_rows, 0))
            no_labels = _contrast_targets(*_no_labels(n_rows), no_numbers)
            return ChunkTargets(no_labels, np.zeros(n_rows), no_numbers)
        if isinstance(targets, Labels):
            codes = self._encode_values(targets.values)
            return self._encode_labels(targets.ends, codes, targets.values)
        if sp.issparse(targets) or (np.ndim(targets) > 1 and self.task != "regress"):
            matrix = sp.csr_array(targets)
            return self._encode_labels(matrix.indptr, matrix.indices, matrix.indices)
        targets = np.asarray(targets)
        numbers = (
            targets.reshape(n_rows, -1).astype(float) if targets.dtype.kind in "biuf" else None
        )
        target_hashes = _hash_values(targets) if numbers is None else numbers
        if self.task == "classify" or numbers is None:
            numbers = np.zeros((n_rows, 0))
        ends, codes = _no_labels(n_rows)
        if self.task != "regress":
            ends, codes = np.arange(n_rows + 1), self._encode_values(targets) % MAX_LABEL_CODES
        if self.task is None and numbers.shape[1] and self._are_numbers(targets):
            self.task = "regress"
            ends, codes = _no_labels(n_rows)
        for_contrasts = _contrast_targets(ends, codes, np.nan_to_num(numbers))
        return ChunkTargets(for_contrasts, targets, target_hashes)

    def _are_numbers(self, targets: np.ndarray) -> bool:
        """Return whether the targets cannot be classes."""
        return len(self.codes) > MAX_CLASSES or bool((targets != np.floor(targets)).any())

    def _encode_labels(self, ends, codes, values) -> ChunkTargets:
        """Encode labels, of which a row has any number."""
        n_rows = len(ends) - 1
        rows = np.repeat(np.arange(n_rows), np.diff(ends))
        hashes = _hash_values(np.asarray(values))[:, 0]
        row_sums = np.bincount(rows, weights=hashes, minlength=n_rows)
        width = int(codes.max(initial=-1)) + 1
        indicator = sp.csr_array((np.ones(len(codes)), codes, ends), shape=(n_rows, max(width, 1)))
        for_contrasts = _contrast_targets(ends, codes % MAX_LABEL_CODES, np.zeros((n_rows, 0)))
        return ChunkTargets(for_contrasts, indicator, row_sums[:, None])

    def _encode_values(self, values) -> np.ndarray:
        """Return the code of each value; new values get codes in the order of their first rows."""
        unique, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        for i in np.argsort(first):
            self.codes.setdefault(unique[i].item(), len(self.codes))
        codes = np.array([self.codes[value.item()] for value in unique], dtype=np.int64)
        return codes[inverse.ravel()] if len(codes) else np.zeros(0, dtype=np.int64)


def _contrast_targets(ends, codes, numbers) -> ContrastTargets:
    ends, codes = np.asarray(ends).astype(np.uint64), np.asarray(codes).astype(np.uint64)
    return ContrastTargets(ends, codes, numbers)


def _no_labels(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _hash_values(values: np.ndarray) -> np.ndarray:
    """Return a number for each value that is the same in every process, (values, 1)."""
    unique, inverse = np.unique(values, return_inverse=True)
    numbers = [float(zlib.crc32(str(value).encode())) for value in unique.tolist()]
    return np.array(numbers, dtype=float)[inverse.ravel()].reshape(-1, 1)
