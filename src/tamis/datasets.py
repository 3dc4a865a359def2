"""Example data: seeded generators, and loaders of public formats."""

import os

import numpy as np
import scipy.sparse as sp


def make_text(
    n_samples: int = 2000,
    n_features: int = 10000,
    *,
    n_informative: int = 20,
    words: int = 60,
    noise: float = 0.02,
    random_state: int | None = None,
) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Generate text-like rows whose class depends on a few words, some common and some rare.

    A row is a bag of distinct words drawn by a Zipf law, each with an inverse-frequency weight, of
    unit norm. The ranks of the informative words are spaced geometrically from 5 to a tenth of
    `n_features`, so the rarer ones occur in few rows but have as much effect.

    Parameters
    ----------
    n_samples : int, default=2000
        Rows.
    n_features : int, default=10000
        Words of the vocabulary.
    n_informative : int, default=20
        Words that the class depends on, half with positive and half with negative effect.
    words : int, default=60
        Words drawn for each row; repeated words count once.
    noise : float, default=0.02
        Fraction of labels that are flipped.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Classes, 0 and 1.
    informative : ndarray of shape (n_informative,)
        Columns of the informative words, ascending.

    Examples
    --------
    >>> from tamis.datasets import make_text
    >>> X, y, informative = make_text(n_samples=100, n_features=500, random_state=0)
    >>> X.shape, sorted(set(y.tolist())), len(informative)
    ((100, 500), [0, 1], 20)
    """
    rng = np.random.default_rng(random_state)
    probabilities = 1.0 / np.arange(5, n_features + 5)
    probabilities /= probabilities.sum()
    word_draws = rng.choice(n_features, size=(n_samples, words), p=probabilities)
    word_draws = word_draws.astype(np.int32)
    indptr = np.arange(0, word_draws.size + 1, words, dtype=np.int32)
    X = sp.csr_array(
        (np.ones(word_draws.size), word_draws.ravel(), indptr), shape=(n_samples, n_features)
    )
    X.sum_duplicates()
    X.data[:] = -np.log(np.clip(words * probabilities[X.indices], None, 0.9))
    X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    informative = np.unique(np.geomspace(5, max(6, n_features // 10), n_informative).astype(int))
    unused_columns = np.setdiff1d(np.arange(5, n_features), informative)
    informative = np.sort(
        np.concatenate((informative, unused_columns[: n_informative - len(informative)]))
    )
    signs = np.where(np.arange(n_informative) % 2, 1.0, -1.0)
    score = X[:, informative] @ signs
    score -= np.median(score)
    y = (score + 1e-9 * rng.normal(size=n_samples) > 0).astype(int)
    is_flipped = rng.random(n_samples) < noise
    return X, np.where(is_flipped, 1 - y, y), informative


def load_bag_of_words(
    path: str | os.PathLike[str], vocabulary: str | os.PathLike[str] | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Read a corpus of word counts, such as NYTimes or PubMed of the UCI repository.

    Parameters
    ----------
    path : str or path-like
        A docword file, also compressed (three lines with the numbers of documents, words and
        entries, then a line for each entry); an npz file with `data`, `indices`, `indptr`, `shape`
        and `terms`; or plain text with one document a line.
    vocabulary : str, path-like or None, default=None
        Words of the columns, one a line. None takes `terms`, or the file in the folder of a
        docword file that has ``vocab`` for ``docword`` in its name.

    Returns
    -------
    X : csr_array of shape (n_documents, n_words)
        Counts.
    terms : list of str
        The words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tamis.datasets import load_bag_of_words
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docword.tiny.txt"
    ...     _ = path.write_text("2\\n3\\n3\\n1 1 2\\n1 3 1\\n2 2 4\\n")
    ...     _ = (Path(folder) / "vocab.tiny.txt").write_text("sea\\nship\\nwave\\n")
    ...     X, terms = load_bag_of_words(path)
    >>> X.toarray().tolist(), terms
    ([[2.0, 0.0, 1.0], [0.0, 4.0, 0.0]], ['sea', 'ship', 'wave'])
    """
    from tamis.data.bag import read_bag

    return read_bag(path, vocabulary)


__all__ = ["load_bag_of_words", "make_text"]
