"""
Which two of fifty columns make an XOR?
=======================================

Two classes lie in four clouds, crosswise, or on two rings. No single column tells them apart, and
no straight line does. Three nearest neighbours would, on the two right columns; on all fifty they
are lost among noise.

:class:`~tamis.SDistClassifier` learns a metric that looks at few columns, and shows which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from tamis import MetricSurfaceDisplay, SDistClassifier


def clouds(shape, rows, columns, rng):
    """Rows and classes; columns 0 and 1 matter."""
    y = rng.integers(0, 2, rows)
    if shape == "XOR":
        side = rng.choice([-1.0, 1.0], rows)
        inside = np.c_[side, side * (2 * y - 1)] + 0.5 * rng.normal(size=(rows, 2))
    else:
        angle = rng.uniform(0, 2 * np.pi, rows)
        inside = np.where(y, 1.0, 2.0)[:, None] * np.c_[
            np.cos(angle), np.sin(angle)
        ] + 0.3 * rng.normal(size=(rows, 2))
    X = rng.normal(size=(rows, columns))
    X[:, :2] = inside / inside.std(axis=0)
    return X, y


# %%
# Errors
# ------
# 400 rows to learn from, 1000 to judge by.
models = {}
for shape in ("XOR", "rings"):
    X, y = clouds(shape, 1400, 50, np.random.default_rng(0))
    model = SDistClassifier(random_state=0).fit(X[:400], y[:400])
    plain = KNeighborsClassifier(3).fit(X[:400], y[:400])
    known = KNeighborsClassifier(3).fit(X[:400, :2], y[:400])
    print(
        f"{shape}: error {1 - model.score(X[400:], y[400:]):.3f} with columns "
        f"{model.support_.tolist()}; ",
        end="",
    )
    print(
        f"3-NN {1 - plain.score(X[400:], y[400:]):.3f}, on the two right columns "
        f"{1 - known.score(X[400:, :2], y[400:]):.3f}"
    )
    models[shape] = model, X[:400], y[:400]

# %%
# The surface
# -----------
# f is the mean squared distance to the three nearest rows of class 0 less that to those of class 1,
# as the two leading columns vary.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for axis, (shape, (model, X, y)) in zip(axes, models.items(), strict=True):
    MetricSurfaceDisplay.from_estimator(model, X, y, ax=axis)
    axis.set_title(shape)
plt.show()
