"""
Which pixels tell a 7 from a 9?
===============================

A nearest-neighbour rule on images gives every pixel the same say. :class:`~tamis.SDist` learns
which matter, and stretches the space along them. Here on small scanned digits, 8 x 8 pixels, that
come with scikit-learn; on the zip-code digits of the US post office (16 x 16, ``TAMIS_DATA`` with
usps.npz) it is the same, and these are used where they are there.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from tamis import MetricHistogramDisplay, PixelDisplay, SDistClassifier

file = Path(os.environ.get("TAMIS_DATA", ".")) / "usps.npz"
if file.exists():
    with np.load(file) as z:
        X, y, X_test, y_test = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    X, y, X_test, y_test = (
        X[np.isin(y, (7, 9))],
        y[np.isin(y, (7, 9))],
        X_test[np.isin(y_test, (7, 9))],
        y_test[np.isin(y_test, (7, 9))],
    )
    shape = (16, 16)
else:
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (7, 9))], y[np.isin(y, (7, 9))]
    X, y, X_test, y_test = X[:240], y[:240], X[240:], y[240:]
    shape = (8, 8)

# %%
# Learn
# -----
# Pixels have one scale already, so they are not standardised: a corner pixel that is dark once
# should not count as much as the others.
model = SDistClassifier(standardize=False, rule="margin", random_state=0).fit(X, y)
plain = KNeighborsClassifier(3).fit(X, y)
print(f"{len(y)} digits to learn from, {len(y_test)} to judge by")
print(
    f"3-NN: {np.sum(plain.predict(X_test) != y_test)} wrong; sDist: "
    f"{np.sum(model.predict(X_test) != y_test)} wrong"
)
print(f"{len(model.support_)} of {X.shape[1]} pixels used")

# %%
# Look
# ----
# Left and middle: the mean 7 and the mean 9 with the chosen pixels, larger ones matter more. Right:
# the test digits along the main direction of the learnt space.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", width_ratios=(1, 1, 1.4))
for axis, digit in zip(axes, (7, 9), strict=False):
    PixelDisplay.from_estimator(model, shape, background=X[y == digit].mean(axis=0), ax=axis)
    axis.set_title(f"mean {digit}")
MetricHistogramDisplay.from_estimator(model, X_test, y_test, ax=axes[2])
plt.show()
