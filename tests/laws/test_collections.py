"""Every model refuses dask collections before anything is computed, and names the alternative."""

import numpy as np
import pytest
from registry import ESTIMATORS, small

from tamis import DataThresholder, FTRLClassifier, GroupLassoRegressor, StabilitySelector, Table


class Collection:
    """What dask's collections have in common; whoever turns it into an array pulls it whole."""

    shape, dtype, ndim = (4, 2), np.dtype(float), 2

    def __init__(self, graph):
        self.graph = graph

    def __dask_graph__(self):
        return self.graph

    def __len__(self):
        return 4

    def __array__(self, dtype=None, copy=None):
        assert self.graph is None, "pulled whole to this machine"
        return np.arange(8.0).reshape(4, 2)


WAY_OUT = r"tamis\.distributed\.fit\("
X, Y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_fit_refuses_a_collection(cls):
    with pytest.raises(TypeError, match=rf"{cls.__name__} .*{WAY_OUT}"):
        small(cls).fit(Collection({"x": 1}), Y)


@pytest.mark.parametrize("cls", [FTRLClassifier, StabilitySelector])
def test_targets_and_weights_too(cls):
    with pytest.raises(TypeError, match=WAY_OUT):
        cls().fit(X, Collection({"x": 1}))
    with pytest.raises(TypeError, match=WAY_OUT):
        cls().fit(X, y=Collection({"x": 1}))


def test_streams_and_questions_too():
    with pytest.raises(TypeError, match=WAY_OUT):
        FTRLClassifier().partial_fit(Collection({"x": 1}), Y, classes=[0, 1])
    for model in (FTRLClassifier(), GroupLassoRegressor()):
        with pytest.raises(TypeError, match=WAY_OUT):
            model.fit(X, Y).predict(Collection({"x": 1}))
    for model in (Table(), DataThresholder()):
        with pytest.raises(TypeError, match=WAY_OUT):
            model.fit_transform(Collection({"x": 1}))


def test_what_could_be_a_collection_but_is_none():
    """Arrays of xarray have the method, and answer that there is no graph."""
    model = FTRLClassifier(random_state=0).fit(Collection(None), Y)
    assert np.array_equal(model.coef_, FTRLClassifier(random_state=0).fit(X, Y).coef_)
