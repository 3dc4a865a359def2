"""
Which words go with a word
==========================

The column of a word is the target, all other words are its predictors, and a low-rank matrix stands
for the corpus. One factorisation answers any number of words; here a small corpus of made-up
topics, in which each answer can be checked.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import LowRankFactorization, SingularValueDisplay, associations

# %%
# A corpus
# --------
# Forty words in five topics, ten words that are everywhere. A document has two topics.
rng = np.random.default_rng(0)
topics = {
    "sea": ["ship", "wave", "sail", "harbour", "tide", "storm", "anchor", "gull"],
    "wood": ["tree", "leaf", "root", "moss", "owl", "path", "fern", "bark"],
    "kitchen": ["salt", "bread", "oven", "knife", "butter", "spoon", "soup", "sieve"],
    "sky": ["star", "moon", "comet", "night", "orbit", "planet", "cloud", "sun"],
    "music": ["song", "drum", "violin", "choir", "tune", "piano", "chord", "rhythm"],
}
common = ["day", "time", "place", "year", "thing", "way", "man", "woman", "house", "hand"]
terms = [*(word for words in topics.values() for word in words), *common]
own = rng.integers(0, len(topics), size=(3000, 2))
rates = np.full((3000, len(terms)), 0.05)
for row, pair in enumerate(own):
    for topic in pair:
        rates[row, 8 * topic : 8 * topic + 8] += 0.9
rates[:, -len(common) :] = 0.8
X = rng.poisson(rates)

# %%
# Lists
# -----
queries = ["ship", "owl", "sieve", "comet", "choir", "day"]
lists = associations(X, terms, queries, n_components=8, top=7)
for query, words in lists.items():
    print(f"{query:8s}", ", ".join(f"{word} {weight:+.2f}" for word, weight in words))

# %%
# How much rank does it take?
# ---------------------------
# Four singular values stand out: five topics, less the mean. The others are noise, as large as what
# is left out, and more components would only follow it.
figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
SingularValueDisplay.from_estimator(LowRankFactorization(12, random_state=0).fit(X), ax=axes[0])
colours = dict(zip(topics, ["#00707a", "#4a7c2c", "#a34700", "#005b8f", "#7a4a8c"], strict=True))
place = 0
labels = []
for query in queries[:5]:
    for word, weight in lists[query][:5]:
        topic = next((name for name, words in topics.items() if word in words), None)
        axes[1].barh(place, weight, color=colours.get(topic, "#b9b9b9"))
        labels.append(f"{query}: {word}")
        place += 1
    place += 1
    labels.append("")
axes[1].set_yticks(range(len(labels)), labels, fontsize="x-small")
axes[1].invert_yaxis()
axes[1].set(xlabel="weight", title="a colour is a topic")
axes[1].spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Every list stays within its topic. A word of no topic, *day*, has hardly any weights: nothing
# predicts it.
print("weights of 'day':", np.round([weight for _, weight in lists["day"]], 3))
