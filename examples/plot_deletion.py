"""
When features vanish at test time
=================================

A sensor fails, a pixel goes out, a field is left empty. A plain support vector machine leans on the
few features that tell classes apart best; one that expects deletions spreads its weight. Digits, 4
against 7, whose pixels go out, those first that hurt most.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tamis import RobustSVC

X, y = load_digits(return_X_y=True)
X, y = X[(y == 4) | (y == 7)] / 16.0, y[(y == 4) | (y == 7)]
train, test = slice(0, None, 2), slice(1, None, 2)

# %%
# Three machines
# --------------
# One that expects nothing, and two that expect the two or five worst pixels of every picture to go
# out.
models = {
    f"expects {k} deletions": RobustSVC("deletion", radius=k, tol=1e-3).fit(X[train], y[train])
    for k in (0, 2, 5)
}
for name, model in models.items():
    print(
        f"{name}: {model.n_iter_} planes, accuracy on whole pictures "
        f"{model.score(X[test], y[test]):.3f}"
    )

# %%
# Pixels go out
# -------------
# On the left the worst pixels of every picture, on the right any pixels, the mean of ten draws.
# Below, what each machine looks at.
figure, axes = plt.subplot_mosaic(
    [["worst", "worst", "worst", "any", "any", "any"], ["0", "0", "2", "2", "5", "5"]],
    figsize=(9.5, 6.2),
    layout="constrained",
)
colors = ["#a34700", "#7a766f", "#005b8f"]
rng = np.random.default_rng(0)
draws = [np.argsort(rng.random((len(X[test]), 64)), axis=1) for _ in range(10)]


def without(rows, order, count):
    """The rows with so many of their pixels out."""
    rows = rows.copy()
    np.put_along_axis(rows, order[:, :count], 0.0, axis=1)
    return rows


for (name, model), color in zip(models.items(), colors, strict=True):
    worst = range(9)
    axes["worst"].plot(
        worst,
        [model.score(X[test], y[test], worst_case=True, radius=k) for k in worst],
        marker="o",
        color=color,
        label=name,
    )
    some = range(0, 61, 10)
    means = [
        np.mean([model.score(without(X[test], order, k), y[test]) for order in draws]) for k in some
    ]
    axes["any"].plot(some, means, marker="o", color=color)
axes["worst"].set(xlabel="worst pixels out", ylabel="accuracy", ylim=(-0.03, 1.03))
axes["any"].set(xlabel="pixels out, any of 64", ylim=(-0.03, 1.03))
axes["worst"].legend(frameon=False)
for model, place in zip(models.values(), "025", strict=True):
    size = np.abs(model.coef_).max()
    axes[place].imshow(model.coef_.reshape(8, 8), cmap="PuOr", vmin=-size, vmax=size)
    axes[place].set_title(f"weights, {place} deletions", fontsize="medium")
    axes[place].axis("off")
plt.show()
