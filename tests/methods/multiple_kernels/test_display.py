"""The figure of kernel weights draws what the model holds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel

from tamis import GMKLClassifier, KernelWeightsDisplay, kernel_dictionary

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = RNG.permutation(np.arange(60) % 3)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_cells_are_weights():
    kernels = kernel_dictionary(X, widths=[1.0, 2.0], degrees=[1])
    model = GMKLClassifier(kernels, tol=1e-2).fit(X, X[:, 0] > 0)
    display = KernelWeightsDisplay.from_estimator(model)
    assert display.rows == ["all", "x0", "x1", "x2"]
    assert display.kinds == ["width 1", "width 2", "degree 1"]
    assert np.array_equal(display.weights.ravel(), model.kernel_weights_)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.rows
    _, ax = plt.subplots()
    assert KernelWeightsDisplay.from_estimator(model, ax=ax, max_rows=2).ax_ is ax
    assert len(KernelWeightsDisplay.from_estimator(model, max_rows=2).rows) == 2


def test_own_weights_and_kernels_of_users():
    model = GMKLClassifier(
        [linear_kernel, *kernel_dictionary(X, widths=[1.0], degrees=[])],
        share_weights=False,
        tol=1e-2,
    ).fit(X, Y)
    display = KernelWeightsDisplay.from_estimator(model, output=2)
    assert display.weights[0, 0] == model.kernel_weights_[2, 0]
    assert np.isnan(display.weights[0, 1])
    with pytest.raises(ValueError, match=r"between 0 and 2. Got 3"):
        KernelWeightsDisplay.from_estimator(model, output=3)


def test_refusals():
    with pytest.raises(TypeError, match=r"KernelWeightsDisplay .*LogisticRegression"):
        KernelWeightsDisplay.from_estimator(LogisticRegression().fit(X, Y))
    with pytest.raises(ValueError, match="2 rows and 3 kinds"):
        KernelWeightsDisplay(weights=np.zeros((2, 2)), rows=["a", "b"], kinds=["x", "y", "z"])
