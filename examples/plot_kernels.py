"""
Which columns, and how?
=======================

A support vector machine with one Gaussian kernel looks at all columns alike. With many kernels, on
all columns and on each one, of several widths and degrees, the weights of the kernels say which
columns matter and in which way. Here twelve of twenty columns matter, three by a sine, three by a
square, three by a line and three by an exponential, under heavy noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from tamis import GMKLClassifier, KernelWeightsDisplay

# %%
# Noisy rows
# ----------
# Four curves, each acting on three columns alike; columns 12 to 19 are noise.
rng = np.random.default_rng(0)
X = rng.uniform(size=(600, 20))
curves = [
    lambda a: -2 * np.sin(2 * a) + 1 - np.cos(2),
    lambda a: a**2 - 1 / 3,
    lambda a: a - 1 / 2,
    lambda a: np.exp(-a) + np.exp(-1) - 1,
]
signal = sum(curve(X[:, 3 * k : 3 * k + 3]).sum(axis=1) for k, curve in enumerate(curves))
y = (signal + 0.5 * rng.normal(size=600) > 0).astype(int)

# %%
# Three degrees of sparsity
# -------------------------
# ``l1_ratio=1`` keeps the fewest kernels and picks among similar ones by chance, ``l1_ratio=0``
# keeps all 273, ``l1_ratio=0.5`` lies between: few kernels, similar weights for similar ones.
models = {
    share: GMKLClassifier(l1_ratio=share, tol=1e-2).fit(X[:300], y[:300])
    for share in (0.0, 0.5, 1.0)
}
for share, model in models.items():
    print(
        f"l1_ratio {share}: {len(model.selected_kernels_)} kernels, accuracy "
        f"{model.score(X[300:], y[300:]):.3f}, gap {model.gap_:.1e}"
    )

figure, axes = plt.subplots(1, 3, figsize=(13, 6.5), sharey=True, layout="constrained")
for axis, (share, model) in zip(axes, models.items(), strict=True):
    KernelWeightsDisplay.from_estimator(model, ax=axis)
    axis.set_title(f"l1_ratio = {share:g}: {len(model.selected_kernels_)} kernels")
plt.show()

# %%
# Sparse weights fall mostly on the first twelve columns, and on low degrees and Gaussians of
# moderate width: the effects are smooth. Without sparsity every column has its share, noise
# included. The kernels by name, heaviest first:
model = models[0.5]
for place in np.argsort(-model.kernel_weights_)[:5]:
    print(f"{model.kernel_weights_[place]:.3f}  {model.kernel_names_[place]}")
