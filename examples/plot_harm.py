"""
The harm of unlabelled rows, and how to avoid it
================================================

Semi-supervised learning takes every unlabelled row for a row of one of the classes. If many of them
are of neither, that does harm: here the best gap through the unlabelled rows is not the one between
the classes.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import TriClassDisplay, TriClassSVC

# %%
# Two classes, left and right, with three labels each, which happen to lie a little high on the
# right and low on the left. 40 unlabelled rows are of the classes; 160 are of neither: a heap above
# and one below.
rng = np.random.default_rng(0)


def of_class(count, side):
    return rng.normal(size=(count, 2)) * [0.3, 1.2] + [0.8 * side, 0.0]


def of_neither(count, side):
    return rng.normal(size=(count, 2)) * [0.2, 0.25] + [0.0, 1.8 * side]


labelled = np.array([[0.6, 0.4], [1.0, 0.5], [0.9, -0.2], [-0.6, -0.3], [-1.0, 0.1], [-0.7, -0.6]])
unlabelled = np.concatenate(
    [of_class(20, 1), of_class(20, -1), of_neither(80, 1), of_neither(80, -1)]
)
X, y = np.concatenate([labelled, unlabelled]), np.array(["right"] * 3 + ["left"] * 3 + ["?"] * 200)
test, truth = (
    np.concatenate([of_class(1000, 1), of_class(1000, -1)]),
    np.repeat(["right", "left"], 1000),
)

# %%
# Four machines
# -------------
# *SVM* follows the few labels, which tilts it. *S3VM* cannot leave the heaps inside its margin, and
# turns to part them: it is worse than without any unlabelled row. *U-SVM* takes all unlabelled rows
# for irrelevant and holds their scores near 0: the heaps now say that height does not matter.
# *3C-SVM* starts there and lets each row choose: rings are rows it takes for rows of a class,
# crosses rows of neither.
titles = {"svm": "SVM", "s3vm": "S3VM", "usvm": "U-SVM", "3c": "3C-SVM"}
figure, axes = plt.subplots(
    2, 2, figsize=(9.5, 8.4), layout="constrained", sharex=True, sharey=True
)
for (mode, title), ax in zip(titles.items(), axes.flat, strict=True):
    model = TriClassSVC(mode, C=3.0, C_unlabeled=0.1, unlabeled="?", balance=False).fit(X, y)
    TriClassDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{title}: accuracy {model.score(test, truth):.2f}", loc="left")
axes[0, 0].legend(loc="upper right", fontsize=8)
plt.show()
