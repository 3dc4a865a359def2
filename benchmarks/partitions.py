"""Error by partitions: what it costs to learn partitions apart, and what several paths gain."""

import warnings
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from benchmarks import realsets
from benchmarks.pages import MET, MISSED, Goal, Page, Table
from benchmarks.realsets import Split
from tamis import AROWClassifier, FTRLClassifier, OnlineClassifier, RDAClassifier
from tamis.datasets import make_text
from tamis.distributed import fit

COUNTS = (2, 4, 8, 16)
PATHS = 16
MODELS = {
    "FTRL": (FTRLClassifier(), {}),
    "SGD": (OnlineClassifier(penalty=None), {}),
    "AROW, mean": (AROWClassifier(), {}),
    "AROW, precision": (AROWClassifier(), {"merge": "precision"}),
    "RDA": (RDAClassifier(), {}),
}
SUMMED = ("RDA",)  # models that sums of gradients make
OPENING = """
How often test rows are predicted wrong, in percent, after one sweep and after four. "One pass" is
the pass of one machine; "walk" is the mean score of sixteen paths over sixteen partitions; "mix"
learns so many partitions apart and takes the mean; "sum" adds the gradients of sixteen partitions
at common weights, 64 times a sweep. All of it runs in this process: workers change
no bit.
"""


def run(quick: bool) -> Page:
    """All sets and models."""
    page = Page("partitions", "Error by partitions", OPENING)
    worse, cells = [], 0
    for name, split in _sets(quick).items():
        rows = []
        for words, (model, merge) in MODELS.items():
            found = _errors(model, merge, split, words in SUMMED)
            cells_of = ["/".join(f"{e:.1f}" for e in pair) for pair in found]
            rows.append([words, *cells_of, *([] if words in SUMMED else ["no sum"])])
            cells += 1
            if found[1][0] > found[0][0]:
                worse.append(f"{words} on {name}")
        head = ["model", "one pass", "walk", *(f"mix, {k}" for k in COUNTS), f"sum, {PATHS}"]
        page.tables.append(Table(f"{name}: {split.words()}", head, rows))
    said = f"not so for {', '.join(worse)}" if worse else f"in all {cells} cases"
    page.goals.append(
        Goal(
            "One sweep of sixteen paths has no larger error than one pass",
            f"{cells - len(worse)} of {cells}",
            f"{MISSED}: {said}" if worse else MET,
        )
    )
    return page


def _sets(quick: bool) -> dict[str, Split]:
    """Sets of two classes, and one that is made."""
    size = 2000 if quick else 20_000
    X, y, _ = make_text(n_samples=2 * size, n_features=5000, random_state=0)
    flipped = np.random.default_rng(0).random(size) < 0.1  # of the labels learnt from
    noisy = np.where(flipped, 1 - y[:size], y[:size])
    found = {"made text, a tenth of the labels wrong": Split(X[:size], noisy, X[size:], y[size:])}
    wanted = [] if quick else [name for name in realsets.available() if "20 classes" not in name]
    return found | {name: realsets.read(name) for name in wanted}


def _errors(model, merge: dict, split: Split, summed: bool) -> list[list[float]]:
    """Errors after one sweep and four: of one pass, of a walk, of mixes, of a sum."""
    ways = [(1, {"paths": 1}), (PATHS, {"paths": PATHS})]
    ways += [(k, {"how": "mix", **merge}) for k in COUNTS]
    ways += [(PATHS, {"how": "sum"})] if summed else []
    found = []
    for count, given in ways:
        cuts = np.linspace(0, len(split.y), count + 1).astype(int)
        blocks = [(split.X[a:b], split.y[a:b]) for a, b in pairwise(cuts)]
        pair = []
        for sweeps in (1, 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learnt = fit(clone(model), blocks, sweeps=sweeps, progress=False, **given)
            pair.append(100.0 * float(np.mean(learnt.predict(split.X_test) != split.y_test)))
        found.append(pair)
    return found
