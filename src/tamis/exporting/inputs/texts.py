"""Texts: how vectorisers of tamis and scikit-learn turn words into columns."""

from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.texts import TOKEN_PATTERN
from tamis.data.tables.layout import Column, Layout
from tamis.data.text.words import HASH_SEED

ANALYZERS = ("word", "char", "char_wb")
FNV, MURMUR = "fnv", "murmur"


class Text(NamedTuple):
    """How a text becomes columns: by a vocabulary, or by hashes of the words."""

    analyzer: str
    lowercase: bool
    accents: str | None
    pattern: str
    ngrams: tuple[int, int]
    stop_words: list[str]
    binary: bool
    sublinear: bool
    norm: str | None
    factors: dict[int, float] | None  # inverse document frequencies, by column
    words: dict[str, int]  # columns of the words
    # For hashed words: the hash of tamis with its seed, first column and bits, or that of
    # scikit-learn with its first column, number of columns, and whether it has signs.
    hashing: dict[str, Any] | None = None

    def shifted(self, by: int) -> "Text":
        """Return the text with all columns shifted by a number."""
        words = {word: column + by for word, column in self.words.items()}
        factors = self.factors and {column + by: f for column, f in self.factors.items()}
        hashing = self.hashing and self.hashing | {"first": self.hashing["first"] + by}
        return self._replace(words=words, factors=factors, hashing=hashing)

    def restricted_to(self, selected: set[int]) -> "Text":
        """Return the text with the words of `selected` only; with a norm all words are needed."""
        if self.norm is not None:
            return self
        words = {word: c for word, c in self.words.items() if c in selected}
        factors = self.factors and {c: self.factors[c] for c in sorted(words.values())}
        return self._replace(words=words, factors=factors)


def table_text(column: Column, layout: Layout) -> Text:
    """Return the text of a column of a table."""
    facts, first, hashing = column.facts, layout.places[column.name], None
    words = {word: first + k for k, word in enumerate(facts.get("vocabulary", ()))}
    if layout.hash_bits:
        seed = int(HASH_SEED) ^ int(layout.seeds[column.name])
        hashing = {
            "kind": FNV,
            "seed": seed,
            "first": layout.first_bucket,
            "bits": layout.hash_bits,
        }
    weights = facts.get("weights", [])
    return Text(
        analyzer="word",
        lowercase=True,
        accents=None,
        pattern=TOKEN_PATTERN.pattern,
        ngrams=(1, int(facts.get("ngrams", 1))),
        stop_words=[],
        binary=False,
        sublinear=True,
        norm="l2",
        factors={first + k: float(weight) for k, weight in enumerate(weights)} or None,
        words={} if hashing else words,
        hashing=hashing,
    )


def is_vectoriser(step: Any) -> bool:
    """Return whether a step of a Pipeline turns texts into columns."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    return isinstance(step, CountVectorizer | HashingVectorizer)


def vectoriser_text(step: Any, tfidf: Any = None) -> Text:
    """Return the text of a vectoriser of scikit-learn, and of the tf-idf step after it."""
    is_custom = step.analyzer not in ANALYZERS or step.tokenizer or step.preprocessor
    if is_custom or callable(step.strip_accents):
        raise TypeError(
            "this vectoriser calls a function of yours (analyzer, tokenizer, preprocessor or "
            "strip_accents), which cannot be exported. Take the built-in ones."
        )
    has_vocabulary = hasattr(step, "vocabulary_")
    tfidf = step if tfidf is None and hasattr(step, "use_idf") else tfidf
    factors, hashing, norm = None, None, getattr(step, "norm", None)
    if not has_vocabulary:
        signed = bool(step.alternate_sign)
        hashing = {"kind": MURMUR, "size": int(step.n_features), "signed": signed, "first": 0}
    if tfidf is not None:
        norm = tfidf.norm
        weights = np.asarray(tfidf.idf_).tolist() if tfidf.use_idf else []
        factors = dict(enumerate(weights)) or None
    return Text(
        analyzer=step.analyzer,
        lowercase=bool(step.lowercase),
        accents=step.strip_accents,
        pattern=step.token_pattern,
        ngrams=(int(step.ngram_range[0]), int(step.ngram_range[1])),
        stop_words=sorted(step.get_stop_words() or ()) if step.analyzer == "word" else [],
        binary=bool(step.binary),
        sublinear=tfidf is not None and bool(tfidf.sublinear_tf),
        norm=norm,
        factors=factors,
        words={word: int(c) for word, c in step.vocabulary_.items()} if has_vocabulary else {},
        hashing=hashing,
    )
