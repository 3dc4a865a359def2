"""
Which recipe finds the words that matter?
=========================================

Short documents over a vocabulary of 20,000 words. Only 100 of the words decide the class. Some of
those are in every second document, some in one of three hundred; all matter alike. Four recipes of
tamis, plain gradient descent and scikit-learn's ``SGDClassifier`` get the same rows. Each may try
seven strengths of its penalty; held-out rows choose the sparsest model whose error is within one
standard error of the best.

``python examples/sieve_words.py`` needs no download, prints one table and writes one figure,
``demo.png``, into the current folder (or where its first argument says).
"""

import sys
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier

import tamis
from tamis.datasets import make_text

# %%
# The data
# --------
# Words follow Zipf's law; one label in twenty is wrong, so no model can be better than 5 % error.
X, y, planted = make_text(6000, 20_000, n_informative=100, noise=0.05, random_state=0)
share = np.bincount(X.indices, minlength=X.shape[1])[planted] / len(y)  # of rows
train, held, test = slice(0, 2500), slice(2500, 4000), slice(4000, 6000)
rare = share < 0.01

# %%
# The recipes
# -----------
# All make 20 passes over the 2,500 training rows. An alpha is measured in units of the gradients, a
# gravity in units of the weights; half of one turns out to be a fair grid for the other.
alphas = np.geomspace(2e-5, 2e-3, 7)
common = {"max_iter": 20, "tol": None, "random_state": 0}
contestants = {
    "no penalty": (lambda _: tamis.OnlineClassifier(penalty=None), [0.0]),
    "truncated gradient": (lambda a: tamis.TruncatedGradientClassifier(gravity=a / 2), alphas),
    "FOBOS": (lambda a: tamis.FOBOSClassifier(alpha=a), alphas),
    "RDA": (lambda a: tamis.RDAClassifier(alpha=a), alphas),
    "FTRL": (lambda a: tamis.FTRLClassifier(alpha=a), alphas),
    "scikit-learn SGD": (lambda a: SGDClassifier("log_loss", penalty="l1", alpha=a), alphas),
}


def sieve(make, grid):
    """The sparsest model within one standard error of the best, and its seconds."""
    tried = []
    for strength in grid:
        model = make(strength).set_params(**common)
        begun = time.perf_counter()
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - begun
        error = 1.0 - model.score(X[held], y[held])
        tried.append((error, np.count_nonzero(model.coef_), seconds, model))
    best = min(error for error, *_ in tried)
    slack = np.sqrt(best * (1.0 - best) / len(y[held]))
    return min((t for t in tried if t[0] <= best + slack), key=lambda t: t[1])


# %%
# The race
# --------
# The table shows the test error, the words kept, how many planted and how many rare planted ones
# are among them, and the seconds of one fit. The first fit of a recipe in a new installation
# compiles its loop; a small fit before the clock starts keeps that out of the table.
table = Table(title="100 planted words among 20,000")
table.add_column("recipe")
for heading in ("error", "kept", "planted", f"rare (of {rare.sum()})", "seconds"):
    table.add_column(heading, justify="right")

results = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the strongest penalties empty the model
    for name, (make, grid) in contestants.items():
        make(grid[0]).fit(X[:50], y[:50])
        _, kept, seconds, model = sieve(make, grid)
        error = 1.0 - model.score(X[test], y[test])
        found = np.isin(planted, np.flatnonzero(model.coef_))
        results[name] = error, kept, found
        counts = f"{kept:,}", str(found.sum()), str(found[rare].sum())
        table.add_row(name, f"{error:.1%}", *counts, f"{seconds:.2f}")
Console().print(table)

# %%
# The picture
# -----------
# Each line runs from the planted words that a model found to all the words that it kept: the
# shorter, the better the sieve. Truncated gradient and FOBOS look at the present weight alone: the
# rows just seen leave their words behind, the rare planted ones among them. RDA and FTRL look at
# the sum of all gradients, and a word must have proved itself. Their models are small; they miss
# some of the rare words.
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
names = list(results)[::-1]
errors, kept, found = zip(*(results[name] for name in names), strict=True)
found, places = [f.sum() for f in found], range(len(names))
axes.hlines(places, found, kept, color="#BBBBBB", linewidth=3, zorder=1)
axes.scatter(found, places, s=90, color="#D55E00", zorder=2, label="planted words found")
axes.scatter(kept, places, s=90, color="#0072B2", marker="s", zorder=2, label="words kept")
for place in places:
    axes.text(kept[place] * 1.15, place, f"{kept[place]:,}", va="center", fontsize=9)
    axes.text(70_000, place, f"{errors[place]:.1%}", va="center")
axes.text(70_000, len(names) - 0.4, "test error", va="center")
axes.axvline(len(planted), color="black", linewidth=0.8, linestyle=":", zorder=0)
axes.set(xscale="log", xlim=(50, 60_000), ylim=(-0.6, len(names) - 0.1))
axes.set(xlabel="words (all planted at the dotted line)")
axes.set_yticks(places, names)
axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
axes.spines[["top", "right", "left"]].set_visible(False)
axes.tick_params(axis="y", length=0)
axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)

target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
figure.savefig(target, dpi=120)
print(f"The figure is in {target.resolve()}")
