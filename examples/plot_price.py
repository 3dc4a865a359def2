"""
How much does a feature cost?
=============================

Every penalty buys small models with error. How good is the bargain, and do you get the same
features when the rows come in another order? Four recipes walk along seven strengths of their
penalty, with five shuffles each.
"""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np

import tamis
from tamis.datasets import make_text

# %%
# Eight thousand documents over 20,000 words; half of them for training. The 100 words that matter
# are the goal.
X, y, planted = make_text(8000, 20_000, n_informative=100, noise=0.05, random_state=0)
train, test = slice(0, 4000), slice(4000, 8000)

# %%
# An alpha is measured in units of the gradients, a gravity in units of the weights; half of one
# turns out to be a fair grid for the other.
alphas = np.geomspace(3e-5, 1e-3, 7)
recipes = {
    "truncated gradient": lambda a, **rest: tamis.TruncatedGradientClassifier(
        gravity=a / 2, **rest
    ),
    "FOBOS": lambda a, **rest: tamis.FOBOSClassifier(alpha=a, **rest),
    "RDA": lambda a, **rest: tamis.RDAClassifier(alpha=a, **rest),
    "FTRL": lambda a, **rest: tamis.FTRLClassifier(alpha=a, **rest),
}


def overlap(sets):
    """Mean share of the features of two runs that both kept."""
    pairs = itertools.combinations(sets, 2)
    return np.mean([len(a & b) / max(len(a | b), 1) for a, b in pairs])


points = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the strongest penalties empty the model
    for name, make in recipes.items():
        points[name] = []
        for alpha in alphas:
            fresh = [make(alpha, max_iter=20, tol=None, random_state=seed) for seed in range(5)]
            models = [model.fit(X[train], y[train]) for model in fresh]
            kept = [set(model.support_.tolist()) for model in models]
            if min(map(len, kept)):
                error = np.mean([1.0 - model.score(X[test], y[test]) for model in models])
                size = np.mean([len(k) for k in kept])
                points[name].append((size, 100 * error, 100 * overlap(kept)))

# %%
# The bargain
# -----------
# Left: down and to the left is better. Right: how much of what two shuffles keep is the same.
#
# Truncated gradient and FOBOS look at the present weight alone, so the last rows they saw leave
# their words behind. RDA and FTRL look at the sum of all gradients, and a word that came once stays
# out. That makes their models an order of magnitude smaller at the same error, and nearly the same
# words come back in every shuffle.
looks = {
    "truncated gradient": ("#56B4E9", "v"),
    "FOBOS": ("#E69F00", "^"),
    "RDA": ("#009E73", "s"),
    "FTRL": ("#0072B2", "D"),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.3), layout="constrained", sharex=True)
for name, (colour, marker) in looks.items():
    kept, error, same = np.array(points[name]).T
    look = {"color": colour, "marker": marker, "linewidth": 2, "label": name}
    left.plot(kept, error, **look)
    right.plot(kept, same, **look)
for axes in (left, right):
    axes.axvline(len(planted), color="black", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="words kept")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
left.text(len(planted) * 1.1, 39.4, f"the {len(planted)} planted words", va="top", fontsize=9)
left.set(ylabel="test error, %", ylim=(8, 40), title="Error against size")
right.set(ylabel="kept by both of two shuffles, %", ylim=(0, 102), title="The same words again?")
right.legend(frameon=False, loc="center left")
plt.show()
