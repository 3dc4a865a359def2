"""Text columns: tokens, the vocabulary with its weights, and TF-IDF rows."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

TOKEN_PATTERN = re.compile(r"\w\w+")
MIN_WORD_ROWS = 2  # a word of one row says nothing about other rows
MAX_VOCABULARY = 50_000  # words of a vocabulary, those in the most rows
MAX_COUNTED = 1 << 21  # words counted at a time; beyond, words of one row are dropped


def tokenize(text: str, ngrams: int = 1) -> list[str]:
    """Return the words of a text in lower case, and sequences of up to `ngrams` of them."""
    words = TOKEN_PATTERN.findall(text.lower())
    tokens = list(words)
    for size in range(2, ngrams + 1):
        tokens += [" ".join(words[k : k + size]) for k in range(len(words) - size + 1)]
    return tokens


class RowCounts:
    """Number of rows with each word; independent of how the rows are cut into chunks."""

    def __init__(self, ngrams: int):
        self.ngrams, self.rows = ngrams, 0
        self.counts: Counter[str] = Counter()

    def add(self, codes: np.ndarray, vocabulary: list[str]) -> None:
        """Add a chunk of a column; a gap is an empty text."""
        distinct_tokens = [list(dict.fromkeys(tokenize(text, self.ngrams))) for text in vocabulary]
        for code in codes.tolist():
            self.rows += 1
            if code >= 0:
                self.counts.update(distinct_tokens[code])
            if len(self.counts) > MAX_COUNTED:
                self.counts = Counter({w: n for w, n in self.counts.items() if n > 1})

    def params(self) -> dict:
        """Return the sorted vocabulary and the weight of each word as plain data."""
        frequent_words = [
            (-count, word) for word, count in self.counts.items() if count >= MIN_WORD_ROWS
        ]
        vocabulary = sorted(word for _, word in sorted(frequent_words)[:MAX_VOCABULARY])
        weights = [math.log((1 + self.rows) / (1 + self.counts[word])) + 1.0 for word in vocabulary]
        return {"vocabulary": vocabulary, "weights": weights, "ngrams": self.ngrams}


def tfidf_rows(
    texts: Iterable[str], column_index: Callable[[str], int], weights: list[float], ngrams: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (columns, values) of each text: (1 + log count) times the weight, scaled to unit norm.

    Without weights each word has weight 1.
    """
    rows = []
    for text in texts:
        counts = Counter(column_index(token) for token in tokenize(text, ngrams))
        counts.pop(-1, None)
        columns = np.array(sorted(counts), np.int64)
        values = np.array([1.0 + math.log(counts[p]) for p in columns.tolist()])
        if weights:
            values *= np.array([weights[p] for p in columns.tolist()])
        length = math.sqrt(float(np.dot(values, values)))
        rows.append((columns, values / length if length else values))
    return rows
