"""Words as numbers of 64 bits, numbers and places as CSR: what the readers of tables share."""

import numpy as np

from tamis.base.jit import compiled, inlined
from tamis.read.text.svmlight_scan import scrambled

SEED, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
NOTHING = np.uint64(0)  # stands for a missing word
QUOTE = np.uint8(34)


@inlined
def closed(value):
    """A hash over bytes, mixed; never 0."""
    value = scrambled(value)
    return value if value != NOTHING else np.uint64(1)


@inlined
def hash_span(text, start, end, seed, escaped):
    """Hash of the bytes from `start` to `end`, doubled quotes once if `escaped`; never 0."""
    value, k = seed, start
    while k < end:
        value = (value ^ np.uint64(text[k])) * PRIME
        k += np.uint64(2) if escaped and text[k] == QUOTE else np.uint64(1)
    return closed(value)


@compiled
def hash_word(text, seed):
    """The same, for a word by itself."""
    return hash_span(text, np.uint64(0), np.uint64(text.shape[0]), seed, False)


@compiled
def pack_rows(values, columns, indptr, indices, data):
    """CSR without zeros from an entry a row and slot; `columns` in one row for all, or in many."""
    k, common = np.uint64(0), columns.shape[0] == 1
    for i in range(values.shape[0]):
        row = 0 if common else i
        for s in range(values.shape[1]):
            if values[i, s] != 0.0 and columns[row, s] >= 0:
                indices[k], data[k] = columns[row, s], values[i, s]
                k += np.uint64(1)
        indptr[i + 1] = k


def hash_of(word: str, seed: np.uint64 = SEED) -> int:
    """Hash of a word."""
    return int(hash_word(np.frombuffer(word.encode(), np.uint8), np.uint64(seed)))
