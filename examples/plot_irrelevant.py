"""
Can rows of no class help?
==========================

Ten labelled rows of each of two classes, fifty columns, of which two tell and 48 are noise of ten
times their size. That is too little to learn from. But rows that are of *neither* class, such as
other products, other topics, other patients, cost nothing, and they have the same noise. A machine
that must score them near 0 learns which directions do not tell.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import TriClassSVC

# %%
# The classes lie at +0.3 and -0.3 in every column, rows of neither around 0.
rng = np.random.default_rng(0)
deviation = np.repeat([0.3, 3.0], [2, 48])


def draw(count, side):
    return 0.3 * side + rng.normal(size=(count, 50)) * deviation


test, truth = np.concatenate([draw(1000, 1), draw(1000, -1)]), np.repeat([1, 0], 1000)
COUNTS = (0, 20, 50, 100, 200, 500, 1000)

# %%
# Twelve draws; the rows of neither class are marked by ``irrelevant_label``.
found = {"SVM, 20 labels": [], "with rows of neither class": []}
for _ in range(12):
    labelled = np.concatenate([draw(10, 1), draw(10, -1)])
    beside = draw(max(COUNTS), 0)
    scores = []
    for count in COUNTS:
        X, y = np.concatenate([labelled, beside[:count]]), np.repeat([1, 0, 7], [10, 10, count])
        model = TriClassSVC("usvm", irrelevant_label=7, C_irrelevant=0.1).fit(X, y)
        scores.append(model.score(test, truth))
    found["with rows of neither class"].append(scores)
    found["SVM, 20 labels"].append(scores[:1] * len(COUNTS))

# %%
# Accuracy rises from hardly better than chance towards the best that can be had, 0.95, without one
# more label. Two cautions. Here the noise differs between columns: scaling each column by its
# deviation over all rows helps the plain SVM as well. And where the plain SVM is already good, as
# on pictures of digits, rows of neither class bring little; :doc:`/few_labels` has figures.
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, runs), colour in zip(found.items(), ("#7a766f", "#005b8f"), strict=True):
    mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
    ax.plot(range(len(COUNTS)), mean, color=colour, marker="o", label=name)
    ax.fill_between(
        range(len(COUNTS)), mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0
    )
ax.set_xticks(range(len(COUNTS)), [f"{count:,}" for count in COUNTS])
ax.set(xlabel="rows of neither class", ylabel="accuracy on 2,000 new rows", ylim=(0.5, 1.0))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()
