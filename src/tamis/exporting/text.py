"""scikit-learn's vectorisers of text before a model, with the words that are needed."""

from typing import Any, NamedTuple

import numpy as np

ANALYZERS = ("word", "char", "char_wb")


class Text(NamedTuple):
    """How a text becomes columns: as `CountVectorizer` or `TfidfVectorizer` does it."""

    names: Any  # of all columns
    analyzer: str
    lowercase: bool
    accents: str | None
    pattern: str
    ngrams: tuple[int, int]
    stop_words: list[str]
    binary: bool
    sublinear: bool
    norm: str | None
    factors: np.ndarray | None  # inverse document frequencies
    words: dict[str, int]  # columns of the words that are needed

    def pruned(self, columns: np.ndarray) -> "Text":
        """With the words of some columns alone, unless lengths of rows need the others too."""
        if self.norm is not None:
            return self
        kept = {int(c) for c in columns}
        return self._replace(words={word: c for word, c in self.words.items() if c in kept})


def text_of(model: Any) -> tuple[Text | None, Any]:
    """The vectoriser before a model, if there is one, and the model."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return None, model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    first = steps[0] if len(steps) == 2 else None
    if not isinstance(first, CountVectorizer):
        raise TypeError(
            "a Pipeline can be exported if it is a CountVectorizer or TfidfVectorizer and a linear "
            f"model of tamis. This one is {' and '.join(type(s).__name__ for s in steps)}; export "
            "its last step alone."
        )
    own = first.analyzer not in ANALYZERS or first.tokenizer or first.preprocessor
    if own or callable(first.strip_accents):
        raise TypeError(
            "this vectoriser calls a function of yours (analyzer, tokenizer, preprocessor or "
            "strip_accents), which cannot be exported. Take the built-in ones."
        )
    weighs = isinstance(first, TfidfVectorizer)
    text = Text(
        names=first.get_feature_names_out(),
        analyzer=first.analyzer,
        lowercase=bool(first.lowercase),
        accents=first.strip_accents,
        pattern=first.token_pattern,
        ngrams=(int(first.ngram_range[0]), int(first.ngram_range[1])),
        stop_words=sorted(first.get_stop_words() or ()),
        binary=bool(first.binary),
        sublinear=weighs and bool(first.sublinear_tf),
        norm=first.norm if weighs else None,
        factors=np.asarray(first.idf_) if weighs and first.use_idf else None,
        words={word: int(c) for word, c in first.vocabulary_.items()},
    )
    return text, steps[1]
