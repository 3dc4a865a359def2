"""
When should a classifier keep silent, and when should it ask?
=============================================================

A confidence-weighted learner keeps, beside each weight, a variance: how unsure it still is of it.
So it knows of every message how sure its answer is. That is good for two things. In use it can
abstain, and leave doubtful messages to a person. In training it can ask for the labels of doubtful
messages alone, and spare the person the others.

:class:`~tamis.AROWClassifier` reads 20,000 messages over 2,000 words, once. Another 4,000 are for
the test.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import AROWClassifier
from tamis.datasets import make_text

X, y, _ = make_text(24_000, 2000, n_informative=40, random_state=0)
train, test = slice(0, 20_000), slice(20_000, 24_000)

# %%
# Does confidence track error?
# ----------------------------
# ``predict_confidence`` is the probability that the sign of the margin is right, under the
# distribution of the weights. Among the messages of each tenth between 0.5 and 1, how many were
# right?
model = AROWClassifier().partial_fit(X[train], y[train], classes=[0, 1])
sure = model.predict_confidence(X[test])
right = model.predict(X[test]) == y[test]
bins = np.minimum(((sure - 0.5) * 20).astype(int), 9)
said = [sure[bins == b].mean() for b in range(10)]
found = [right[bins == b].mean() for b in range(10)]
for b in range(0, 10, 3):
    print(f"said {said[b]:.2f}, right {found[b]:.2f} ({np.sum(bins == b)} messages)")

# %%
# Keep silent
# -----------
# Answer only the surest messages. Every share of them has its error; which to take depends on what
# a mistake costs.
order = np.argsort(-sure, kind="stable")
shares = np.arange(1, len(order) + 1) / len(order)
errors = np.cumsum(~right[order]) / np.arange(1, len(order) + 1)
for share in (1.0, 0.8, 0.5):
    print(f"{share:.0%} answered: error {errors[int(share * len(order)) - 1]:.1%}")

# %%
# Ask
# ---
# The learner reads the stream by hundreds. It asks for the labels of those messages that it is less
# sure of than a limit, and learns from them alone. For comparison as many labels are bought
# blindly, in each hundred.


def taught(limit, blindly):
    """Labels bought and error on the test rows, by a learner that asks below the limit."""
    rng = np.random.default_rng(0)
    learner, bought = AROWClassifier().partial_fit(X[:200], y[:200], classes=[0, 1]), 200
    for start in range(200, 20_000, 100):
        rows, labels = X[start : start + 100], y[start : start + 100]
        asked = learner.predict_confidence(rows) < limit
        if blindly:
            asked = rng.permutation(asked)
        if asked.any():
            learner.partial_fit(rows[asked], labels[asked])
            bought += int(asked.sum())
    return bought, 1 - learner.score(X[test], y[test])


limits = (0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
asking = np.array([taught(limit, blindly=False) for limit in limits])
blind = np.array([taught(limit, blindly=True) for limit in limits])
everything = 1 - model.score(X[test], y[test])
bought, error = asking[limits.index(0.8)]
print(
    f"asked below 0.8: {bought:.0f} labels, error {error:.1%}; all 20,000 labels: error "
    f"{everything:.1%}"
)

# %%
# Its word can be trusted here: of the messages it was 0.9 sure of, more than nine in ten were
# right. The surer half has a fifth of the error of all. And with little more than half of the
# labels, asked for where it was in doubt, it does as well as with all of them.  Two warnings. The
# confidence is that of a linear model in itself: where the classes are not linear, or the data
# drift, it is too sure. And a learner that asks sees only doubtful messages; measure its error on
# others.
blue, gray = "#0072B2", "#8A8A8A"
figure, (left, middle, last) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
left.plot([0.5, 1], [0.5, 1], color=gray, linewidth=1)
left.plot(said, found, "o-", color=blue, linewidth=2)
left.set(
    xlabel="confidence",
    ylabel="share that was right",
    title="It knows what it knows",
    xlim=(0.5, 1),
    ylim=(0.5, 1.02),
)
middle.plot(100 * shares[100:], 100 * errors[100:], color=blue, linewidth=2)
middle.set(
    xlabel="messages answered, %",
    ylabel="error of the answers, %",
    title="Keep silent",
    xlim=(0, 100),
    ylim=(0, 100 * errors[-1] + 1),
)
last.plot(blind[:, 0], 100 * blind[:, 1], "s--", color=gray, linewidth=2, label="bought blindly")
last.plot(
    asking[:, 0], 100 * asking[:, 1], "o-", color=blue, linewidth=2, label="asked when in doubt"
)
last.axhline(100 * everything, color="black", linewidth=0.9, linestyle=":")
last.text(asking[0, 0], 100 * everything, "all 20,000 labels", va="bottom", fontsize=9)
last.set(xlabel="labels", ylabel="error, %", title="Ask")
last.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
last.legend(frameon=False)
for axes in (left, middle, last):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
plt.show()
