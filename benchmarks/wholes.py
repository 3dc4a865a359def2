"""Stabilized models and sieves on partitions, beside `fit` of all rows at once."""

import warnings
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from benchmarks import realsets
from benchmarks.pages import MET, MISSED, Goal, Page, Table
from benchmarks.realsets import Split
from tamis import SieveClassifier, StabilizedSGDClassifier
from tamis.datasets import make_text
from tamis.distributed import fit

COUNTS = (4, 16)
SWEEPS = 10  # and passes
SETS = ("reuters_acq", "20 newsgroups pair (basehock)")
MODELS = {
    "sieve": (SieveClassifier(), {}),
    "stabilized": (StabilizedSGDClassifier(max_iter=SWEEPS), {"sweeps": SWEEPS}),
    "stabilized, 4 rounds a visit": (
        StabilizedSGDClassifier(max_iter=SWEEPS),
        {"sweeps": SWEEPS, "stages": 4},
    ),
}
OPENING = """
How often test rows are predicted wrong, in percent, and features kept: of `fit` on all rows, and of
`tamis.distributed.fit(how="stages")` on so many partitions (means over seeds). By default
a stabilized model makes a round for every 100 rows; ten sweeps are as many as the passes of `fit`.
All of it runs in this process: workers change no bit.
"""


def run(quick: bool) -> Page:
    """All sets and models."""
    page = Page("wholes", "Stabilized models and sieves on partitions", OPENING)
    worse, cells, seeds = [], 0, range(1 if quick else 3)
    for name, split in _sets(quick).items():
        rows = []
        for words, (model, given) in MODELS.items():
            own = {**given, "sweeps": 2} if quick and given else given
            found = [_means(model, own, split, seeds, count) for count in (1, *COUNTS)]
            rows.append([words, *(f"{error:.2f} / {kept:,.0f}" for error, kept in found)])
            share = found[0][0] / 100.0
            room = 100.0 * np.sqrt(max(share * (1.0 - share), 1e-9) / len(split.y_test))
            for count, (error, _) in zip(COUNTS, found[1:], strict=True):
                cells += 1
                if error > found[0][0] + room:
                    worse.append(f"{words} on {name}, {count} partitions")
        head = ["model", "fit", *(f"{count} partitions" for count in COUNTS)]
        page.tables.append(Table(f"{name}: {split.words()}", head, rows))
    said = f"not so for {'; '.join(worse)}" if worse else f"in all {cells} cases"
    page.goals.append(
        Goal(
            "The error on partitions is within a standard error (of the test rows) of `fit`",
            f"{cells - len(worse)} of {cells}",
            f"{MISSED}: {said}" if worse else MET,
        )
    )
    return page


def _sets(quick: bool) -> dict[str, Split]:
    """Two real sets; or one that is made."""
    if quick:
        X, y, _ = make_text(n_samples=600, n_features=200, random_state=0)
        return {"made text": Split(X[:400], y[:400], X[400:], y[400:])}
    known = realsets.available()
    return {name: realsets.read(name) for name in SETS if name in known}


def _means(model, given: dict, split: Split, seeds, count: int) -> tuple[float, float]:
    """Mean error and size over seeds, of a fit (one partition) or on partitions."""
    cuts = np.linspace(0, len(split.y), count + 1).astype(int)
    blocks = [(split.X[a:b], split.y[a:b]) for a, b in pairwise(cuts)]
    found = []
    for seed in seeds:
        learner = clone(model).set_params(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if count == 1:
                learner.fit(split.X, split.y)
            else:
                fit(learner, blocks, how="stages", progress=False, **given)
        wrong = 100.0 * float(np.mean(learner.predict(split.X_test) != split.y_test))
        found.append((wrong, float(len(learner.support_))))
    error, kept = np.mean(found, axis=0)
    return float(error), float(kept)
