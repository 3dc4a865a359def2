"""
What if new words and new classes arrive?
=========================================

A news desk sorts messages by topic, day by day. On the first day there are two topics and 2,000
known words. Words are added every day; a third topic opens on day 20, a fourth on day 40. On day 30
the machine is restarted, so the model goes through a file.

With ``grow=True`` a model of tamis takes new columns and new classes in mid-stream. Each day's
messages are first predicted and only then learnt, so the error below is that of a model in use.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import tamis
from tamis import FTRLClassifier

DAYS, MESSAGES = 60, 200
topics = np.array(["politics", "sports", "science", "weather"])
opens = {"politics": 0, "sports": 0, "science": 20, "weather": 40}

# %%
# The stream
# ----------
# Every topic has 60 words of its own, spread over the vocabulary; those far down it are only known
# on later days.
rng = np.random.default_rng(0)
vocabulary = 2000 + 100 * np.arange(DAYS)
own = {topic: rng.choice(2000 + 100 * opens[topic], 60, replace=False) for topic in topics}


def messages(day):
    """The rows of a day, over the words known by then, and their topics."""
    width = vocabulary[day]
    y = rng.choice([topic for topic in topics if opens[topic] <= day], MESSAGES)
    zipf = 1.0 / (np.arange(width) + 20.0)
    common = rng.choice(width, (MESSAGES, 40), p=zipf / zipf.sum())
    telling = np.array([rng.choice(own[topic], 4) for topic in y])
    words = np.hstack((common, telling))
    rows = np.repeat(np.arange(MESSAGES), words.shape[1])
    X = sp.coo_array((np.ones(words.size), (rows, words.ravel())), shape=(MESSAGES, width))
    return normalize(X.tocsr()), y


# %%
# The walk
# --------
# Two strengths of the penalty take part. Words that a model has not met yet weigh nothing in
# ``predict``. On day 30 each model is saved and loaded again.
models = {alpha: FTRLClassifier(alpha=alpha, grow=True) for alpha in (1e-4, 1e-3)}
errors = {alpha: [] for alpha in models}
kept = {alpha: [] for alpha in models}
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "desk.tamis"
    for day in range(DAYS):
        X, y = messages(day)
        for alpha, model in models.items():
            if day:
                errors[alpha].append(np.mean(model.predict(X) != y))
            if day == 30:
                tamis.save(model, file)
                models[alpha] = model = tamis.load(file)
            model.partial_fit(X, y)
            kept[alpha].append(len(model.support_))

print(f"topics at the end: {', '.join(model.classes_)}")
print(f"columns at the end: {model.n_features_in_:,}")

# %%
# The days
# --------
# The error jumps when a topic opens: its messages cannot be predicted before the first has been
# seen. Then it falls. The restart leaves no trace. The vocabulary grows fourfold; the words kept
# follow the topics.  The strong penalty is slow to accept a new topic. FTRL charges every word for
# every row of the stream, also for those before the word was known, so a late word must first earn
# what it owes. That is the other side of looking back over all rows. If news matters more than
# size, use a weaker penalty, or FOBOS.
looks = {1e-4: ("#0072B2", "alpha = 0.0001"), 1e-3: ("#B07500", "alpha = 0.001")}
figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5.8), sharex=True, layout="constrained")
bottom.plot(vocabulary, color="#999999", linewidth=2)
bottom.text(DAYS, vocabulary[-1], "words known", va="center", color="#666666")
for alpha, (colour, label) in looks.items():
    percent = 100 * np.array(errors[alpha])
    top.plot(np.arange(1, DAYS), percent, color=colour, linewidth=2, label=label)
    bottom.plot(kept[alpha], color=colour, linewidth=2)
    bottom.text(DAYS, kept[alpha][-1], "words kept", va="center", color=colour)
for day, text in ((20, "science opens"), (30, "save, load"), (40, "weather opens")):
    for axes in (top, bottom):
        axes.axvline(day, color="black", linewidth=0.9, linestyle="--" if "opens" in text else ":")
    top.text(day, 41, text, ha="center", fontsize=9)
top.legend(frameon=False, loc="upper left")
top.set(ylabel="error before learning, %", ylim=(0, 40))
bottom.set(xlabel="day", xlim=(0, DAYS - 1))
bottom.set(ylabel="words", yscale="log", ylim=(80, 10_000))
bottom.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
plt.show()
