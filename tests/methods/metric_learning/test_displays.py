"""Figures of a metric: they show what the model says, on axes that are given, and refuse what has
no metric.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from tamis import (
    InteractionDisplay,
    MetricHistogramDisplay,
    MetricStepsDisplay,
    MetricSurfaceDisplay,
    PixelDisplay,
    SDist,
    SDistClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(250, 9))
Y = (X[:, 2] * X[:, 5] > 0).astype(int)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return SDistClassifier(max_order=2, max_iter=150, refresh_every=0, random_state=0).fit(
        pd.DataFrame(X, columns=list("abcdefghi")), Y
    )


def frame(rows):
    return pd.DataFrame(rows, columns=list("abcdefghi"))


def test_the_surface_shows_the_rule(model):
    display = MetricSurfaceDisplay.from_estimator(model, frame(X), Y, resolution=7)
    assert sorted(display.names) == ["c", "f"]
    queries = np.tile(np.median(X, axis=0), (49, 1))
    pair = ["abcdefghi".index(name) for name in display.names]
    queries[:, pair] = np.column_stack([part.ravel() for part in np.meshgrid(*display.grid)])
    margin = SDistClassifier(
        rule="margin", max_order=2, max_iter=150, refresh_every=0, random_state=0
    ).fit(frame(X), Y)
    assert display.surface.ravel() == pytest.approx(
        margin.decision_function(frame(queries)), rel=1e-6
    )
    assert display.ax_.get_xlabel() == display.names[0]
    classes = np.digitize(X[:, 0], (-0.5, 0.5))
    three = SDist(max_iter=50, random_state=0).fit(X, classes)
    three_display = MetricSurfaceDisplay.from_estimator(
        three, X, classes, resolution=5, columns=(0, 1)
    )
    assert set(np.unique(three_display.surface)) <= {0.0, 1.0, 2.0}
    assert three_display.names == ["x0", "x1"]


def test_the_histogram_is_of_the_first_component(model):
    display = MetricHistogramDisplay.from_estimator(model, frame(X), Y, bins=12)
    Z = model.transform(frame(X))
    Z = Z - Z.mean(axis=0)
    assert display.values.var() == pytest.approx(np.linalg.eigvalsh(Z.T @ Z / len(Z))[-1])
    assert len(display.ax_.patches) == 24


def test_steps_show_loss_and_complexity(model):
    display = MetricStepsDisplay.from_estimator(model)
    assert display.loss.tolist() == [record["loss"] for record in model.history_]
    assert [value for _, value in display.complexity] == [
        step["complexity"] for step in model.steps_ if step["complexity"]
    ]


def test_pixels_and_interactions(model):
    pixels = PixelDisplay.from_estimator(model, (3, 3), background=X.mean(axis=0))
    assert pixels.importances.ravel() == pytest.approx(model.feature_importances_)
    assert len(pixels.points_.get_offsets()) == len(model.support_)
    linear = PixelDisplay.from_estimator(LogisticRegression().fit(X, Y), (3, 3))
    assert linear.importances.min() > 0.0
    graph = InteractionDisplay.from_estimator(model, n_terms=8)
    assert max(graph.products, key=graph.products.get) == ("c", "f")
    assert set(graph.places_) == set(graph.columns)
    renamed = InteractionDisplay.from_estimator(model, input_features=[f"n{j}" for j in range(9)])
    assert ("n2", "n5") in renamed.products


def test_given_axes_are_used_and_others_refused(model):
    _, ax = plt.subplots()
    for display in (MetricHistogramDisplay, MetricSurfaceDisplay):
        assert display.from_estimator(model, frame(X), Y, ax=ax).ax_ is ax
    logistic = LogisticRegression().fit(X, Y)
    for make in (
        lambda: MetricSurfaceDisplay.from_estimator(logistic, X, Y),
        lambda: MetricHistogramDisplay.from_estimator(logistic, X, Y),
        lambda: MetricStepsDisplay.from_estimator(logistic),
        lambda: InteractionDisplay.from_estimator(logistic),
    ):
        with pytest.raises(TypeError, match="LogisticRegression does not have"):
            make()
    with pytest.raises(ValueError, match="16 pixels, but the model 9 columns"):
        PixelDisplay.from_estimator(model, (4, 4))
