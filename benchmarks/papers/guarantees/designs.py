"""Designs: a law of columns, true features at random places, a target; and what is true of a
feature.

Effects are +-U(.75, 1.25) c sqrt(2 log p / n) on columns of variance 1; noise of numbers has
variance 1; P(y = 1) = logistic(2 x'beta) of classes, softmax(2 x'B) of several.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from benchmarks.papers.guarantees import columns

SOFT = 0.5  # a selection is true in the softer sense if it correlates with a true feature above it
NUMBERS, CLASSES = "numbers", "classes"


class Data(NamedTuple):
    """One sample: rows, targets, places of the true features, and which columns are near each."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    truth: np.ndarray
    near: np.ndarray  # (true features, columns)
    effects: np.ndarray | None = None  # of the true features: slopes, or changes of the logit


@dataclass(frozen=True)
class Design:
    """A named design; `sample` draws the first, second, ... sample of a seed's truth."""

    name: str
    law: Callable
    kind: str = NUMBERS
    n: int = 200
    p: int = 1000
    count: int = 10
    c: float = 2.0
    heavy_noise: bool = False
    shift: float = 0.0  # of the logit
    outputs: int = 1  # classes beyond two, or targets
    repeats: int = 1  # every row so many times
    least: float = 0.0  # true features only among columns that differ from zero this often
    seeds: int = 20

    def sample(self, seed: int, which: int = 0) -> Data:
        """Rows and targets."""
        key = [seed, crc32(self.name.encode())]
        settled, rng = np.random.default_rng(key), np.random.default_rng([*key, which])
        draw, correlations = self.law(settled, self.p)
        X = draw(rng, self.n)
        if self.repeats > 1:
            X = np.repeat(X[: self.n // self.repeats], self.repeats, axis=0)
        p = X.shape[1]
        truth = np.sort(settled.choice(self._eligible(X), self.count, replace=False))
        beta = self._effects(settled, p)
        y = self._target(rng, X[:, truth] @ beta)
        near = np.abs(correlations(truth) if correlations else _sample_correlations(X, truth))
        if y.ndim == 1:
            slopes = beta if self.kind == NUMBERS else 2.0 * beta
            return Data(X, y, truth, near > SOFT, slopes if self.outputs == 1 else None)
        # Of several targets pairs are judged: the column k of target t is number t p + k.
        own = np.arange(self.count) % self.outputs
        apart = (own[:, None] == np.arange(self.outputs))[:, :, None] & (near > SOFT)[:, None, :]
        return Data(X, y, own * p + truth, apart.reshape(self.count, -1))

    def _eligible(self, X) -> np.ndarray:
        """Columns where a true feature may lie."""
        if self.least == 0.0:
            return np.arange(X.shape[1])
        share = np.asarray((X != 0).sum(axis=0)).ravel() / X.shape[0]
        return np.flatnonzero((share >= self.least) & (share <= 1.0 - self.least))

    def _effects(self, rng, p: int) -> np.ndarray:
        """Weights of the true features; with several outputs each feature is in one of them."""
        size = rng.uniform(0.75, 1.25, self.count) * self.c * np.sqrt(2.0 * np.log(p) / self.n)
        size *= rng.choice([-1.0, 1.0], self.count)
        if self.outputs == 1:
            return size
        return size[:, None] * (
            np.arange(self.count)[:, None] % self.outputs == range(self.outputs)
        )

    def _target(self, rng, score: np.ndarray) -> np.ndarray:
        if self.kind == NUMBERS:
            noise = rng.standard_normal(score.shape)
            if self.heavy_noise:
                noise = rng.standard_t(3, score.shape) / np.sqrt(3.0)
            y = score + noise
        elif self.outputs > 1:
            y = np.argmax(2.0 * score + rng.gumbel(size=score.shape), axis=1)
        else:
            y = (rng.uniform(size=len(score)) < expit(2.0 * score + self.shift)).astype(int)
        if self.repeats > 1:
            y = y.reshape(-1, self.repeats, *y.shape[1:])[:, 0].repeat(self.repeats, axis=0)
        return y


def paired(data: Data, outputs: int) -> Data:
    """The same with pairs of a feature and a class: a true feature tells of all classes."""
    p = data.X.shape[1]
    truth = (np.arange(outputs)[:, None] * p + data.truth).ravel()
    return Data(data.X, data.y, truth, np.kron(np.eye(outputs, dtype=bool), data.near))


def _sample_correlations(X, places) -> np.ndarray:
    """Correlations of some columns with all, in the sample."""
    n, few = X.shape[0], X[:, places]
    few = few.toarray() if sp.issparse(few) else few
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    product = (X.T @ few).T / n - np.outer(mean[places], mean)
    return product / np.outer(deviation[places], deviation)


# --------------------------------------------------------------------------- the note's designs
def _both(name: str, law, **options) -> list[Design]:
    """A design for numbers and for classes."""
    numbers, classes = {"c": 2.0, **options}, {"c": 2.5, **options}
    return [
        Design(f"{name}, numbers", law, **numbers),
        Design(f"{name}, classes", law, kind=CLASSES, **classes),
    ]


def _twelve(n: int, p: int, **options) -> dict[str, Design]:
    """Six laws of columns, for numbers and for classes."""
    laws = {
        "independent": columns.independent,
        "chain .5": columns.chain(0.5),
        "chain .8": columns.chain(0.8),
        "blocks .7": columns.blocks(10, 0.7),
        "equal .3": columns.equal(0.3),
        "heavy tails": columns.heavy,
    }
    made = {}
    for name, law in laws.items():
        for one in _both(f"{name} {n}/{p:,}", law, n=n, p=p, **options):
            heavy = name == "heavy tails" and one.kind == NUMBERS
            made[one.name] = replace(one, heavy_noise=heavy)
    return made


SMALL = _twelve(200, 1000)
LARGE = _twelve(500, 2000, count=20)
ZIPF = Design(
    "Zipf 2000/5,000, classes", columns.zipf(4.8, 1.0), CLASSES, 2000, 5000, 30, 1.5, least=0.02
)
FACTOR = {
    one.name: one
    for one in (
        Design("one factor 300/1,500, numbers", columns.factors(1, 1.2), n=300, p=1500, seeds=20),
        Design("one factor 400/1,500, classes", columns.factors(1, 1.2), CLASSES, 400, 1500, c=2.5),
        Design("five factors 300/1,500, numbers", columns.factors(5, 1.2), n=300, p=1500),
    )
}
OTHERS = {
    one.name: one
    for one in (
        Design("40 weak, independent 500/2,000, numbers", columns.independent, n=500, p=2000,
               count=40, c=1.2),
        Design("frequencies by the root of the rank 2000/5,000, classes", columns.zipf(0.5, 0.5),
               CLASSES, 2000, 5000, 30, 1.5),
        Design("twins .98 200/1,000, numbers", columns.blocks(2, 0.98)),
    )
}  # fmt: skip

# --------------------------------------------------------------------------- designs of our own
OWN = {
    one.name: one
    for one in (
        Design("rare class (5 %) 2000/1,000", columns.independent, CLASSES, 2000, 1000, c=4.0,
               shift=-4.4),
        Design("rare class (5 %), chain .8 2000/1,000", columns.chain(0.8), CLASSES, 2000, 1000,
               c=4.0, shift=-4.4),
        Design("three classes 400/1,000", columns.independent, CLASSES, 400, 1000, 12, 3.0,
               outputs=3),
        Design("three targets 200/1,000", columns.independent, NUMBERS, 200, 1000, 12, 2.0,
               outputs=3),
        Design("n > p, 1000/100, numbers", columns.independent, NUMBERS, 1000, 100),
        Design("n > p, chain .8 1000/100, classes", columns.chain(0.8), CLASSES, 1000, 100, c=2.5),
        Design("counts 0, 1, 2 in blocks 300/1,000, numbers", columns.genotypes, n=300),
        Design("counts 0, 1, 2 in blocks 400/1,000, classes", columns.genotypes, CLASSES, n=400,
               c=2.5),
        Design("products of columns 300/1,000, numbers", columns.products, n=300),
        Design("products of columns 400/1,000, classes", columns.products, CLASSES, n=400, c=2.5),
        Design("independent 200/20,000, numbers", columns.independent, n=200, p=20_000),
        Design("independent 300/100,000, numbers", columns.independent, n=300, p=100_000, seeds=5),
    )
}  # fmt: skip
REPEATED = Design(
    "every row three times 600/1,000, numbers", columns.independent, n=600, p=1000, repeats=3
)


def texts(folder) -> dict[str, Design]:
    """Real words and simulated targets, where the files are."""
    if folder is None:
        return {}
    found = {}
    for file, kind, c in (("pcmac", CLASSES, 1.5), ("kos_bow", NUMBERS, 1.5)):
        if (folder / f"{file}.npz").exists():
            # Sizes are those of the set; n and p here set the effects alone.
            name = f"{file} words, simulated {kind}"
            n, p = {"pcmac": (1943, 3289), "kos_bow": (3430, 6906)}[file]
            found[name] = Design(
                name, columns.words(folder, file), kind, n, p, 30, c, least=0.02, seeds=6
            )
    return found
