"""
Which features survive a reshuffle?
===================================

A truncated gradient pulls every weight towards zero whether its feature came by or not: rare
features go, frequent ones stay, and which ones are left depends on the last rows. Stabilized
descent pulls a weight only for rows that have its feature, lets 16 paths vote, and removes what
loses. These are the four pictures of its paper, on made-up text.
"""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from tamis import StabilizedSGDClassifier, TruncatedGradientClassifier
from tamis.datasets import make_text

warnings.simplefilter("ignore")
X, y, planted = make_text(4000, 10_000, n_informative=100, noise=0.02, random_state=0)
X = normalize(X > 0)  # which words, not how often
X, y, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

# %%
# Both models read the rows as a stream, five passes over 2000 of them, and after every burst of
# five rows we look at them. A stream is read in its order; the passes are shuffled here.
models = {
    "truncated gradient": TruncatedGradientClassifier(loss="hinge", gravity=2e-4, random_state=0),
    "stabilized": StabilizedSGDClassifier(loss="hinge", burn_in=2.0, random_state=0),
}
order = np.concatenate([np.random.default_rng(0).permutation(len(y)) for _ in range(5)])
seen, kept, error = 5 * np.arange(1, len(order) // 5 + 1), {}, {}
for name, model in models.items():
    kept[name], error[name] = [], []
    for start in range(0, len(order), 5):
        rows = order[start : start + 5]
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        kept[name].append(len(model.support_))
        error[name].append(100 * (1 - model.score(X_test, y_test)) if start % 100 == 0 else np.nan)

# %%
# Density of a feature: the share of rows that have it. The features are cut into five groups of
# growing density, and each model shows the share of each group that it keeps. The annealing of the
# rejection rate is read off the histories of three fits.
density = np.diff(X.tocsc().indptr) / X.shape[0]
edges = np.quantile(density[density > 0], np.linspace(0, 1, 6))
groups = np.digitize(density, edges[1:-1])
share = {
    name: [
        np.isin(np.flatnonzero((groups == g) & (density > 0)), model.support_).mean()
        for g in range(5)
    ]
    for name, model in models.items()
}
anneal = {}
for gamma in (-5.0, 0.0, 5.0):
    model = StabilizedSGDClassifier(
        loss="hinge", rejection=0.95, annealing=gamma, max_iter=10, tol=None, random_state=0
    ).fit(X, y)
    most = max(stage["kept"] for stage in model.history_)
    anneal[gamma] = [(1 - stage["kept"] / most, stage["rejection"]) for stage in model.history_]

# %%
# The four pictures
# -----------------
# Top left: the last 1000 rows. Hundreds of the truncated gradient's features come and go; those of
# the stabilized model hardly change. Top right: its mean of 16 paths moves less, but with a
# well-chosen gravity one path has the lower error here, and fewer features: stability is not
# accuracy. Bottom left: both keep more of the frequent features; the votes let three times as many
# of the rare ones live. Bottom right: how the rejection rate falls as features leave.
figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
colours = {"truncated gradient": "tab:orange", "stabilized": "tab:blue"}
for name, colour in colours.items():
    axes[0, 0].plot(seen[-200:], kept[name][-200:], color=colour, label=name)
    known = ~np.isnan(error[name])
    axes[0, 1].plot(seen[known], np.array(error[name])[known], color=colour, label=name)
axes[0, 0].set(xlabel="rows seen", ylabel="features kept", ylim=0)
axes[0, 1].set(xlabel="rows seen", ylabel="test error %", ylim=0)
axes[0, 0].legend(frameon=False)
for at, (name, colour) in enumerate(colours.items()):
    axes[1, 0].bar(np.arange(5) + 0.4 * at - 0.2, share[name], 0.4, color=colour, label=name)
words = [f"{100 * low:.2g} to\n{100 * high:.2g} %" for low, high in itertools.pairwise(edges)]
axes[1, 0].set_xticks(range(5), words)
axes[1, 0].set(xlabel="share of rows that have the feature", ylabel="share of features kept")
for gamma, points in anneal.items():
    axes[1, 1].plot(*np.array(points).T, ".", markersize=4, label=f"annealing = {gamma:g}")
axes[1, 1].set(xlabel="share of features removed", ylabel="rejection rate", ylim=0)
axes[1, 1].legend(frameon=False)
plt.show()
