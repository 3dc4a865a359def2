"""Displays of structured selections show what the model holds."""

import numpy as np
import pytest

from tamis import (
    GroupLassoRegressorCV,
    GroupPathDisplay,
    MultiTaskClassifier,
    MultiTaskRegressor,
    TaskMatrixDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(120, 12)), np.arange(120) % 3
    return X, X[:, :3].sum(axis=1) * (1 + task) + X[:, 6] + 0.3 * rng.normal(size=120), task


def test_the_path_of_groups(rows):
    X, y, _ = rows
    model = GroupLassoRegressorCV(feature_groups=np.arange(12) // 3, alphas=8, cv=3).fit(X, y)
    display = GroupPathDisplay.from_estimator(model, group_names=["a", "b", "c", "d"])
    path = model.path_["group_norm"]
    assert len(display.lines_) == np.count_nonzero(path.any(axis=0))
    assert display.lines_[0].get_label() == "a"
    assert display.lines_[0].get_ydata() == pytest.approx(path[:, 0])
    assert display.chosen_line_.get_xdata()[0] == model.alpha_
    assert display.ax_.xaxis_inverted()
    plain = GroupPathDisplay(alpha=[1.0, 0.5], group_norm=[[0.0, 0.0], [0.0, 1.0]]).plot()
    assert [line.get_label() for line in plain.lines_] == ["group 1"]
    assert plain.chosen_line_ is None
    with pytest.raises(ValueError, match="one row a strength"):
        GroupPathDisplay(alpha=[1.0], group_norm=[[0.0], [1.0]])
    with pytest.raises(ValueError, match="1 names for 2 groups"):
        GroupPathDisplay(alpha=[1.0], group_norm=[[0.0, 1.0]], group_names=["a"])


def test_features_by_tasks(rows):
    X, y, task = rows
    model = MultiTaskRegressor(alpha=0.5).fit(X, y, np.array(["x", "y", "z"])[task])
    display = TaskMatrixDisplay.from_estimator(model)
    assert set(display.features_) == set(model.support_)
    assert np.array_equal(
        np.asarray(display.image_.get_array()), model.coef_[:, display.features_].T
    )
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["x", "y", "z"]
    three = np.digitize(y, [-1.0, 1.0])
    for given, tasks in ((task, 3), (None, 1)):
        several = MultiTaskClassifier(alpha=0.05).fit(X, three, given)
        shown = TaskMatrixDisplay.from_estimator(several)
        assert shown.image_.get_array().shape == (len(several.support_), tasks)
        assert (shown.image_.get_array() >= 0.0).all()
    with pytest.raises(ValueError, match="two dimensions"):
        TaskMatrixDisplay(weights=[1.0])
