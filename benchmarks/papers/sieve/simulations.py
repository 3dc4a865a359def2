"""Sets that are made: few true columns among many, of every kind that the sieve must know."""

import numpy as np
from scipy.signal import lfilter

from benchmarks.papers.stabilized.sets import make_synthetic
from tamis.datasets import make_text

TRUE = 10


def _neighbours(random, rows: int, width: int, share: float) -> np.ndarray:
    """Normal columns, each correlated with the one before it."""
    fresh = np.sqrt(1.0 - share * share) * random.normal(size=(rows, width))
    fresh[:, 0] /= np.sqrt(1.0 - share * share)
    return lfilter([1.0], [1.0, -share], fresh, axis=1)


def _signal(X, strength: float) -> np.ndarray:
    """The sum of ten columns, spread over all, with alternating signs."""
    places = np.linspace(0, X.shape[1] - 1, TRUE).astype(int)
    return strength * (X[:, places] @ np.where(np.arange(TRUE) % 2, 1.0, -1.0))


def _classes(random, score) -> np.ndarray:
    """Classes 0 and 1 with the logistic odds of a score."""
    return (random.random(len(score)) < 1.0 / (1.0 + np.exp(-score))).astype(np.int64)


def _cut(X, y, rows: int):
    """The first rows to learn from, the others to judge; mean squared norm 1, as of the real sets,
    so that fixed grids suit all.
    """
    X = X / np.sqrt((X * X).sum() / X.shape[0])
    return X[:rows], y[:rows], X[rows:], y[rows:]


def correlated_classes():
    """200 rows of 2,000 normal columns, neighbours correlated .7, ten true."""
    random = np.random.default_rng(1)
    X = _neighbours(random, 2200, 2000, 0.7)
    return _cut(X, _classes(random, _signal(X, 1.5)), 200)


def rare_binary():
    """3,000 rows of 3,000 rare binary columns, forty true."""
    return make_synthetic()[:4]


def heavy_tails():
    """400 rows of 1,000 columns with three degrees of freedom, ten true."""
    random = np.random.default_rng(2)
    X = random.standard_t(3.0, size=(2400, 1000))
    return _cut(X, _classes(random, _signal(X, 0.7)), 400)


def planted_text():
    """2,000 short texts of 10,000 words; twenty words decide."""
    X, y, _ = make_text(n_samples=4000, random_state=3)
    return _cut(X, y, 2000)


def wide_shift():
    """80 rows of 5,000 normal columns, of which ten are shifted between the classes."""
    random = np.random.default_rng(4)
    y = np.arange(1080) % 2
    X = random.normal(size=(1080, 5000))
    X[:, np.linspace(0, 4999, TRUE).astype(int)] += 1.2 * y[:, None]
    return _cut(X, y, 80)


def text_numbers():
    """2,000 short texts; y is a sum over forty planted words and as much noise."""
    random = np.random.default_rng(5)
    X, _, words = make_text(n_samples=3000, n_informative=40, random_state=6)
    signal = X[:, words] @ random.normal(size=len(words))
    return _cut(X, signal + signal.std() * random.normal(size=len(signal)), 2000)


def heavy_noise():
    """300 rows of 1,000 normal columns, ten true, noise with two degrees of freedom; the test rows
    have none, or single rows would be the whole error.
    """
    random = np.random.default_rng(7)
    X = random.normal(size=(1300, 1000))
    signal = _signal(X, 1.0)
    noise = np.where(np.arange(1300) < 300, 1.5 * random.standard_t(2.0, size=1300), 0.0)
    return _cut(X, signal + noise, 300)


def correlated_numbers():
    """300 rows of 1,000 normal columns, neighbours correlated .5, ten true, noise as strong."""
    random = np.random.default_rng(8)
    X = _neighbours(random, 1300, 1000, 0.5)
    signal = _signal(X, 1.0)
    return _cut(X, signal + signal.std() * random.normal(size=len(signal)), 300)
