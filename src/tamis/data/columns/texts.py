"""Text columns as words: tokens, the vocabulary that rows have in common, and weighted rows."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

TOKEN = re.compile(r"\w\w+")
LEAST_ROWS = 2  # a word of one row says nothing about others
MOST_WORDS = 50_000  # of a vocabulary, those of the most rows
MOST_COUNTED = 1 << 21  # words that are counted at a time; beyond, those of one row are forgotten


def tokens_of(text: str, ngrams: int = 1) -> list[str]:
    """Words of a text in lower case, and runs of up to `ngrams` of them."""
    words = TOKEN.findall(text.lower())
    found = list(words)
    for size in range(2, ngrams + 1):
        found += [" ".join(words[k : k + size]) for k in range(len(words) - size + 1)]
    return found


class RowCounts:
    """How many rows have a word; row by row, so that how the rows are cut does not matter."""

    def __init__(self, ngrams: int):
        self.ngrams, self.rows = ngrams, 0
        self.counts: Counter[str] = Counter()

    def add(self, codes: np.ndarray, vocabulary: list[str]) -> None:
        """Take in a part of a column; a gap is an empty text."""
        sets = [list(dict.fromkeys(tokens_of(text, self.ngrams))) for text in vocabulary]
        for code in codes.tolist():
            self.rows += 1
            if code >= 0:
                self.counts.update(sets[code])
            if len(self.counts) > MOST_COUNTED:
                self.counts = Counter({w: n for w, n in self.counts.items() if n > 1})

    def facts(self) -> dict:
        """The vocabulary, sorted, and the weight of each word, as plain data."""
        often = [(-count, word) for word, count in self.counts.items() if count >= LEAST_ROWS]
        kept = sorted(word for _, word in sorted(often)[:MOST_WORDS])
        weights = [math.log((1 + self.rows) / (1 + self.counts[word])) + 1.0 for word in kept]
        return {"vocabulary": kept, "weights": weights, "ngrams": self.ngrams}


def weighted(
    texts: Iterable[str], place_of: Callable[[str], int], weights: list[float], ngrams: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each text the places of its words and their values: (1 + log count) times the weight of
    the word (1 where there are no weights), the whole of length one.
    """
    found = []
    for text in texts:
        counts = Counter(place_of(token) for token in tokens_of(text, ngrams))
        counts.pop(-1, None)
        places = np.array(sorted(counts), np.int64)
        values = np.array([1.0 + math.log(counts[p]) for p in places.tolist()])
        if weights:
            values *= np.array([weights[p] for p in places.tolist()])
        length = math.sqrt(float(np.dot(values, values)))
        found.append((places, values / length if length else values))
    return found
