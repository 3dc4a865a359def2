"""
Prediction, stability, discovery
================================

Three promises about a selected feature, on a table like one of genes: modules of ten columns that
are nearly twins, of which a few columns tell something about the target. Then noise, and words.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import tamis

# %%
# A hundred modules of ten genes with correlation .8 inside; one gene in each of eight modules
# tells. 300 patients.
rng = np.random.default_rng(3)
modules = np.repeat(rng.normal(size=(300, 100)), 10, axis=1)
X = np.sqrt(0.8) * modules + np.sqrt(0.2) * rng.normal(size=(300, 1000))
real = 10 * rng.choice(100, 8, replace=False) + rng.integers(0, 10, 8)
y = X[:, real] @ rng.choice([-1.0, 1.0], 8) + 1.5 * rng.normal(size=300)
told = np.isin(np.arange(1000) // 10, real // 10)  # genes of a module that tells

# %%
# A model that predicts, stability selection, and discoveries.
sieve = tamis.SieveRegressor(random_state=0).fit(X, y)
stable = tamis.StabilitySelector(n_pairs=25, random_state=0, verbose=False).fit(X, y)
claims = tamis.FDRSelector(q=0.1).fit(X, y)
for row in claims.table_[:3]:
    low, high = row["low"], row["high"]
    print(f"{row['name']}: {low:+.2f} to {high:+.2f}, or one of {len(row['substitutes'])} others")

# %%
# On noise, the same target in another order, each of the three has an answer of its own.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    shuffled = rng.permutation(y)
    print("the sieve keeps", len(tamis.SieveRegressor(random_state=0).fit(X, shuffled).support_))
    print("claimed are", len(tamis.FDRSelector(q=0.1).fit(X, shuffled).support_))

# %%
# Words: short texts over 2,000 words, of which thirty decide the class. Those claimed can be looked
# up; a word in fewer than about twenty texts cannot be found, whatever it does.
texts, sides, planted = tamis.datasets.make_text(1500, 2000, n_informative=30, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    words = tamis.FDRSelector(q=0.1).fit(texts, sides)
print(len(words.support_), "words are claimed,", np.isin(words.support_, planted).sum(), "planted")
print(words.n_rare_, "words are in fewer than", words.ones_needed_, "texts")

# %%
# Three promises
# --------------
# *Left, prediction:* the sieve keeps what lowers the error. Which twin it takes is chance, and the
# curve does not mind. *Middle, stability:* the share of halves of the rows that keep a gene.
# Twins share the votes of their module, and a module may tell without any gene of it coming near
# the threshold. *Right, discovery:* each head stands for its group; those above the line may be
# claimed at a false discovery rate of .1. Filled: genes of a module that tells.
figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained")
tamis.SelectionPathDisplay.from_estimator(sieve, name="sieve", ax=axes[0])
axes[0].set_title("prediction")
shares = stable.selection_probability_
for ax in axes[1:]:
    ax.set_xlabel("gene")
for mark, style in ((~told, {"facecolors": "none"}), (told, {})):
    at = np.flatnonzero(mark & (shares > 0.02))
    axes[1].scatter(at, shares[at], s=14, edgecolors="#005a9c", color="#005a9c", **style)
    heads = np.flatnonzero(mark & (claims.head_ == np.arange(1000)))
    sizes = -np.log10(np.maximum(claims.qvalues_[heads], 1e-12))
    axes[2].scatter(heads, sizes, s=22, edgecolors="#005a9c", color="#005a9c", **style)
axes[1].axhline(stable.threshold_, color="#a34700", linestyle="--", linewidth=1)
axes[1].set(title="stability", ylabel="share of the halves", ylim=(0, 1.02), xlim=(-20, 1020))
axes[2].axhline(1.0, color="#a34700", linestyle="--", linewidth=1)
axes[2].set(title="discovery", ylabel="q-value, decimal places", xlim=(-20, 1020))
plt.show()
