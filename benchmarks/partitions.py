"""Error by partitions: what it costs to learn partitions apart, and what several paths gain."""

import warnings
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from benchmarks import realsets
from benchmarks.pages import MET, MISSED, Goal, Page, Table
from benchmarks.realsets import Source, Split
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
# Beside those of all benchmarks; rows of few columns, and another pair of newsgroups.
MORE = {"a9a": Source("a9a", "_test"), "pcmac": Source("pcmac", counts=True)}
OPENING = """
How often test rows are predicted wrong, in percent, after one sweep and after four. "One pass" is
the pass of one machine; "walk" is the mean score of sixteen paths over sixteen partitions; "mix"
learns so many partitions apart and takes the mean; "sum" adds the gradients of sixteen partitions
at common weights, 64 times a sweep. All of it runs in this process: workers change
no bit.
"""
Errors = list[list[float]]  # after one sweep and four: of one pass, a walk, and mixes


def run(quick: bool) -> Page:
    """All sets and models."""
    page = Page("partitions", "Error by partitions", OPENING)
    cells: dict[tuple[str, str], Errors] = {}
    for name, split in _sets(quick).items():
        rows = []
        for words, (model, merge) in MODELS.items():
            found = cells[name, words] = _errors(model, merge, split, words in SUMMED)
            shown = ["/".join(f"{e:.1f}" for e in pair) for pair in found]
            rows.append([words, *shown, *([] if words in SUMMED else ["no sum"])])
        head = ["model", "one pass", "walk", *(f"mix, {k}" for k in COUNTS), f"sum, {PATHS}"]
        page.tables.append(Table(f"{name}: {split.words()}", head, rows))
    own = {key: found for key, found in cells.items() if key[1] != "AROW, precision"}
    worse = [f"{words} on {name}" for (name, words), e in own.items() if e[1][0] > e[0][0]]
    said = f"not so for {', '.join(worse)}" if worse else f"in all {len(own)} cases"
    page.goals.append(
        Goal(
            "One sweep of sixteen paths has no larger error than one pass",
            f"{len(own) - len(worse)} of {len(own)}",
            f"{MISSED}: {said}" if worse else MET,
        )
    )
    page.sections.append(("Which default follows", _defaults(own, cells)))
    return page


def _defaults(own: dict, cells: dict) -> str:
    """What the tables say of the defaults, in figures."""

    def mean(column: int, sweep: int) -> float:
        """Error over that of as many passes of one machine, on average."""
        ratios = [e[column][sweep] / max(e[0][sweep], 0.1) for e in own.values()]
        return float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-3)))))

    precise = [
        (cells[name, "AROW, mean"][5][1], found[5][1])
        for (name, words), found in cells.items()
        if words == "AROW, precision"
    ]
    plain = sum(mean <= precision for mean, precision in precise)
    return (
        "Errors as multiples of that of as many passes of one machine, geometric means over "
        f"all sets and models: a walk {mean(1, 0):.2f} after one sweep and {mean(1, 1):.2f} after "
        f"four; a mix of 8 partitions {mean(4, 0):.2f} and {mean(4, 1):.2f}, of 16 "
        f"{mean(5, 0):.2f} and {mean(5, 1):.2f}. So `how` is `walk` by default, and `mix` warns "
        f"below four sweeps. Of AROW's two means the plain one has the smaller error in {plain} of "
        f"{len(precise)} sets (16 partitions, four sweeps): `merge` is `mean` by default."
    )


def _sets(quick: bool) -> dict[str, Split]:
    """Sets that are there, and one that is made."""
    size = 2000 if quick else 20_000
    X, y, _ = make_text(n_samples=2 * size, n_features=5000, random_state=0)
    flipped = np.random.default_rng(0).random(size) < 0.1  # of the labels learnt from
    noisy = np.where(flipped, 1 - y[:size], y[:size])
    found = {"made text, a tenth of the labels wrong": Split(X[:size], noisy, X[size:], y[size:])}
    wanted = {} if quick else realsets.available(realsets.SETS | MORE)
    return found | {name: realsets.read(name, source) for name, source in wanted.items()}


def _errors(model, merge: dict, split: Split, summed: bool) -> Errors:
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
