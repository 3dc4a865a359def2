"""A fitted selector as a file."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import tamis
from tamis.datasets import make_text


def fitted(estimator):
    X, y, _ = make_text(300, 400, random_state=0)
    return X, tamis.StabilitySelector(
        estimator, n_pairs=3, param_values=3, random_state=0, verbose=False
    ).fit(X, y)


def test_a_selector_around_a_model_of_tamis_comes_back(tmp_path):
    X, selector = fitted(tamis.RDAClassifier(random_state=0))
    assert selector.get_support().any()
    tamis.save(selector, tmp_path / "selector.tamis")
    back = tamis.load(tmp_path / "selector.tamis")
    assert np.array_equal(back.get_support(), selector.get_support())
    assert (back.transform(X) != selector.transform(X)).nnz == 0
    assert repr(back) == repr(selector)


def test_a_selector_around_a_foreign_model_is_refused_by_name(tmp_path):
    _, selector = fitted(LogisticRegression(solver="liblinear"))
    sentence = r"StabilitySelector\.estimator: LogisticRegression"
    with pytest.raises(TypeError, match=sentence):
        tamis.save(selector, tmp_path / "selector.tamis")
    assert not list(tmp_path.iterdir())
