"""
Does sparsity survive chunks?
=============================

The same rows in the same order, cut into 1, 2, 4, … 40 calls of ``partial_fit``. A stream has no
natural chunk size, so nothing about a model should depend on it.

scikit-learn's ``SGDClassifier(penalty="l1")`` opens its account of unpaid penalties anew in every
call, and what the old account still held is never collected: the more calls, the more weights stay
that should be zero. tamis keeps the account with the model, so the number of nonzero weights is the
same for any cut. The weights are, to the last bit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier

from tamis import FOBOSClassifier, FTRLClassifier, RDAClassifier
from tamis.datasets import make_text

# %%
# Four thousand documents over 20,000 words, about 55 words each; 100 of the words decide the class.
X, y, _ = make_text(4000, 20_000, n_informative=100, noise=0.05, random_state=0)
n = len(y)
present = len(np.unique(X.indices))

# %%
# One pass over the rows for each model and each number of calls. All have the same ``alpha``.
# The recipes differ in how much they keep; what matters here is that the number stays.
ALPHA = 1e-4
plain = {"loss": "log_loss", "penalty": "l1", "alpha": ALPHA, "shuffle": False}
makers = {
    "scikit-learn SGD, L1": lambda: SGDClassifier(**plain),
    "tamis FOBOS": lambda: FOBOSClassifier(alpha=ALPHA),
    "tamis FTRL": lambda: FTRLClassifier(alpha=ALPHA),
    "tamis RDA": lambda: RDAClassifier(alpha=ALPHA),
}
calls = [1, 2, 4, 8, 16, 24, 32, 40]
kept = {name: [] for name in makers}
for name, make in makers.items():
    first = None
    for pieces in calls:
        model = make()
        for part in np.array_split(np.arange(n), pieces):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        first = model.coef_.copy() if first is None else first
        kept[name].append(np.count_nonzero(model.coef_))
        if name.startswith("tamis"):
            assert (model.coef_ == first).all()  # the same bits, not merely close
    print(f"{name:21}", *(f"{count:7,}" for count in kept[name]))

# %%
# The sparsity that melts
# -----------------------
looks = {
    "scikit-learn SGD, L1": ("#D55E00", "o", 0),
    "tamis FOBOS": ("#AA7700", "^", 0),
    "tamis FTRL": ("#0072B2", "D", 350),
    "tamis RDA": ("#00805F", "s", -350),
}
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name, counts in kept.items():
    colour, marker, lift = looks[name]
    axes.plot(calls, counts, color=colour, marker=marker, linewidth=2, clip_on=False)
    axes.text(41, counts[-1] + lift, name, va="center", color=colour)
axes.axhline(present, color="black", linewidth=0.8, linestyle=":")
axes.text(1, present + 200, f"all {present:,} words that occur", fontsize=9)
axes.set(xlabel="calls of partial_fit for the same 4,000 rows", xlim=(0, 40))
axes.set(ylabel="nonzero weights", ylim=(0, 20_000))
axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
axes.spines[["top", "right"]].set_visible(False)
axes.grid(alpha=0.25)
plt.show()
