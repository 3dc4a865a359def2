"""
Which parts of a picture tell? Visual words
===========================================

Where things lie anywhere in a picture no pixel means the same thing twice. So describe small
patches, gather like patches into a vocabulary, and count: a picture becomes a row of words, as a
text does, and few of them tell. Here scanned digits that come with scikit-learn lie scattered over
small pictures, and the question is which of these hold a 0.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_digits

import tamis

PATCH, CELL, WORDS = 8, 4, 300
digits, names = load_digits(return_X_y=True)
digits = digits.reshape(-1, 8, 8) / 16
rng = np.random.default_rng(0)


def scatter(count, scans):
    """Pictures of four digits out of these scans, and whether a 0 and a 6 are among them."""
    pictures, holds = np.zeros((count, 30, 30)), rng.random((count, 2)) < 0.5
    others = scans[~np.isin(names[scans], (0, 6))]
    for picture, (zero, six) in zip(pictures, holds, strict=True):
        shown = rng.choice(others, 4)
        for place, digit in enumerate([0] * int(zero) + [6] * int(six)):
            shown[place] = rng.choice(scans[names[scans] == digit])
        for scan, cell in zip(shown, rng.permutation(9), strict=False):
            down, right = 10 * np.array(divmod(cell, 3)) + rng.integers(0, 3, 2)
            picture[down : down + 8, right : right + 8] = digits[scan]
    return pictures, holds[:, 0], holds[:, 1]


learn, zero, six = scatter(800, np.arange(900))
test, zero_test, six_test = scatter(400, np.arange(900, len(names)))

# %%
# Pixels
# ------
# A model of pixels has nothing to hold on to. The sieve says so, and keeps none.
with warnings.catch_warnings(record=True) as said:
    pixels = tamis.SieveClassifier(random_state=0).fit(learn.reshape(len(learn), -1), zero)
print(f"{said[0].message}: {len(pixels.support_)} pixels kept")

# %%
# Words
# -----
# A patch is described by where its edges point: in each of its four cells, how much grey changes in
# each of eight directions, in units of the whole (as SIFT does, without its scales and turns).
# Flat patches are left out. k-means over the patches of the training pictures makes the vocabulary,
# and a picture is the square roots of the shares of its words.


def describe(pictures):
    """Descriptors of all patches, and how much of an edge each holds."""
    slope_y, slope_x = np.gradient(pictures, axis=(1, 2))
    turn = np.arctan2(slope_y, slope_x) / (2 * np.pi) * 8 % 8
    near = 1 - np.abs((turn[..., None] - np.arange(8) + 4) % 8 - 4)  # to each of eight directions
    edges = np.hypot(slope_y, slope_x)[..., None] * np.maximum(near, 0)
    cells = sliding_window_view(edges, (CELL, CELL), axis=(1, 2)).sum(axis=(-2, -1))
    ends, begins = slice(CELL, None), slice(None, -CELL)
    corners = [cells[:, down, right] for down in (begins, ends) for right in (begins, ends)]
    descriptors = np.concatenate(corners, axis=-1)
    strength = np.linalg.norm(descriptors, axis=-1)
    return descriptors / np.maximum(strength, 1e-9)[..., None], strength


descriptors, strength = describe(learn)
flat = np.quantile(strength, 0.4)
sample = rng.permutation(descriptors[strength > flat])[:40_000]
vocabulary = MiniBatchKMeans(WORDS, batch_size=2048, n_init=1, random_state=0).fit(sample)


def read(pictures):
    """The word of each patch (-1: flat), and the row of each picture."""
    descriptors, strength = describe(pictures)
    words = np.full(strength.shape, -1)
    words[strength > flat] = vocabulary.predict(descriptors[strength > flat])
    counts = np.stack([np.bincount(one[one >= 0], minlength=WORDS) for one in words])
    return words, np.sqrt(counts / counts.sum(axis=1, keepdims=True))


(learn_words, X), (test_words, X_test) = read(learn), read(test)
sieve = tamis.SieveClassifier(random_state=0).fit(X, zero)
print(*tamis.report(sieve, X_test, zero_test).sentences, sep="\n")

# %%
# A word that tells only beside another
# -------------------------------------
# A harder question: a 0 or a 6, but not both? No word tells by itself, and no weighted sum of them.
# A learnt distance (:class:`~tamis.SDistClassifier`) looks at words together.
one, one_test = zero != six, zero_test != six_test
with warnings.catch_warnings(record=True):
    nothing = tamis.SieveClassifier(random_state=0).fit(X, one)
metric = tamis.SDistClassifier(n_neighbors=5, oob_z=2, random_state=0).fit(X, one)
print(f"sieve: {len(nothing.support_)} words, error {1 - nothing.score(X_test, one_test):.1%}")
print(f"sDist: {len(metric.support_)} words, error {1 - metric.score(X_test, one_test):.1%}")

# %%
# Look at the words
# -----------------
# Left: pictures the models have not seen, with the patches that are of a chosen word. Right: a
# chosen word a row, its mean patch first, then patches of the training pictures.


def show_pictures(axes, chosen, which):
    for axis, number in zip(axes, which, strict=True):
        axis.imshow(test[number], cmap="gray_r")
        for down, right in np.argwhere(np.isin(test_words[number], chosen)):
            corner = (right - 0.5, down - 0.5)
            axis.add_patch(plt.Rectangle(corner, PATCH, PATCH, color="C1", fill=False, lw=1.5))


def show_words(axes, chosen):
    patches = sliding_window_view(learn, (PATCH, PATCH), axis=(1, 2))
    for row, word in zip(axes, chosen, strict=True):
        found = patches[learn_words == word]
        for axis, patch in zip(row, [found.mean(axis=0), *rng.permutation(found)], strict=False):
            axis.imshow(patch, cmap="gray_r", vmin=0, vmax=1)
        row[0].spines[:].set(color="C1", linewidth=2.5)


def strongest(importance, count):
    return np.argsort(-importance)[:count]


figure = plt.figure(figsize=(11, 5.8), layout="constrained")
questions = {
    "Is there a 0? The words of the sieve": (strongest(sieve.coef_[0], 3), zero_test),
    "A 0 or a 6, not both? The first words of sDist": (
        strongest(metric.feature_importances_, 3),
        one_test,
    ),
}
for part, (question, (chosen, yes)) in zip(figure.subfigures(2, 1), questions.items(), strict=True):
    part.suptitle(question, x=0.01, ha="left", weight="bold")
    left, right = part.subfigures(1, 2, width_ratios=(3, 2.2))
    show_pictures(left.subplots(1, 3), chosen, np.flatnonzero(yes)[:3])
    show_words(right.subplots(3, 7), chosen)
for axis in figure.axes:
    axis.set(xticks=[], yticks=[])
plt.show()
