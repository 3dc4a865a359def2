"""
Which features can one trust?
=============================

Four looks at one question, on documents whose deciding words are known: how many words are worth
keeping, how often each was selected, whether common words are preferred, and whether other rows
would give the same words.
"""

import warnings

import matplotlib.pyplot as plt

import tamis
from tamis.datasets import make_text

# %%
# Two thousand documents over 5,000 words, of which 20 decide the class, common and rare ones alike.
X, y, planted = make_text(2000, 5000, n_informative=20, random_state=0)
sieve = tamis.SieveClassifier(random_state=0).fit(X, y)
selector = tamis.StabilitySelector(
    tamis.RDAClassifier(max_iter=3, tol=None), n_pairs=20, random_state=0
).fit(X, y)
truncated = tamis.TruncatedGradientClassifier(
    gravity=3e-4, max_iter=3, tol=None, random_state=0
).fit(X, y)
stabilized = tamis.StabilizedSGDClassifier(max_iter=3, random_state=0).fit(X, y)

# %%
# Four runs of three methods, each on its own random half of the rows.
models = {
    "sieve": tamis.SieveClassifier(),
    "RDA": tamis.RDAClassifier(alpha=1e-3, max_iter=5, tol=None),
    "truncated gradient": tamis.TruncatedGradientClassifier(gravity=3e-4, max_iter=3, tol=None),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    record = tamis.compare(models, X, y, runs=4, subsample=0.5, keep_supports=True, random_state=0)

# %%
# Four looks
# ----------
# *Top left:* error falls while needless words leave, and rises as soon as needed ones do. *Top
# right:* stability selection sees few words on most halves of the data; the threshold bounds how
# many false ones to expect. *Bottom left:* truncated gradient pulls on a word in every row, though
# a rare word can defend itself only in the few rows that have it; the stabilized method pulls only
# there. *Bottom right:* one block a pair of methods, darker where they keep the same words.
figure, axes = plt.subplots(2, 2, figsize=(10.5, 8), layout="constrained")
tamis.SelectionPathDisplay.from_estimator(sieve, name="sieve", ax=axes[0, 0])
tamis.SelectionProbabilityDisplay.from_estimator(selector, ax=axes[0, 1])
tamis.DensityBiasDisplay.from_estimator(
    truncated, X, name="truncated gradient", color="#a34700", ax=axes[1, 0]
)
tamis.DensityBiasDisplay.from_estimator(stabilized, X, name="stabilized", ax=axes[1, 0])
tamis.StabilityDisplay.from_record(record, ax=axes[1, 1])
plt.show()
