"""A user's way: text to rows, a stream, uncertain rows, requests for labels, a file; and
scikit-learn's tools around the models.
"""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis
from tamis import (
    AROWClassifier,
    PARegressor,
    SCWClassifier,
    SOFSClassifier,
)
from tamis.datasets import make_text
from tamis.testing import expected_failed_checks

OTHERS = [
    AROWClassifier(covariance="full"),
    PARegressor(variant="PA-II"),
]


@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failed_checks)
@pytest.mark.filterwarnings("ignore")
def test_common_checks_of_scikit_learn_beyond_the_defaults(estimator, check):
    check(estimator)


def test_a_desk_that_asks_when_in_doubt(tmp_path):
    """Days of messages: answer the confident ones, request the labels of the others, learn from
    those, save, and load.
    """
    X, y, _ = make_text(n_samples=6000, n_features=500, random_state=0)
    names = np.array(["ham", "spam"])[y]
    model = AROWClassifier().partial_fit(X[:500], names[:500], classes=["ham", "spam"])
    asked, wrong, answered = 0, 0, 0
    for start in range(500, 6000, 500):
        rows, truth = X[start : start + 500], names[start : start + 500]
        sure = model.predict_confidence(rows) > 0.9
        wrong += int((model.predict(rows[sure]) != truth[sure]).sum())
        answered += int(sure.sum())
        asked += int((~sure).sum())
        model.partial_fit(rows[~sure], truth[~sure])
        tamis.save(model, tmp_path / "desk.tamis")
        model = tamis.load(tmp_path / "desk.tamis")
    assert model.t_ == 500 + asked
    assert answered > 1000
    assert wrong / answered < 0.08 < (model.predict(X) != names).mean() + 0.05
    margin, deviation = model.predict_margin(X)
    assert np.array_equal(model.classes_[(margin > 0).astype(int)], model.predict(X))
    assert (deviation > 0).all()


def test_text_in_a_pipeline():
    texts = [
        "cheap pills now",
        "meeting at noon",
        "cheap cheap offer",
        "lunch at noon?",
        "offer of pills",
        "see you at the meeting",
    ] * 5
    labels = ["spam", "ham"] * 15
    model = make_pipeline(HashingVectorizer(n_features=2**18), SCWClassifier(random_state=0)).fit(
        texts, labels
    )
    assert model.predict(["pills offer", "noon meeting"]).tolist() == ["spam", "ham"]


def test_a_grid_over_what_matters():
    X, y, _ = make_text(n_samples=2000, n_features=300, random_state=0)
    search = GridSearchCV(
        AROWClassifier(random_state=0), {"r": [0.1, 1.0, 10.0], "covariance": ["diagonal"]}, cv=3
    ).fit(X, y)
    assert search.best_params_["r"] in (0.1, 1.0, 10.0)
    assert search.best_score_ > 0.6


def test_select_then_learn():
    X, y, _ = make_text(n_samples=2000, n_features=1000, random_state=0)
    model = make_pipeline(
        SOFSClassifier(n_features_to_select=200, random_state=0),
        AROWClassifier(covariance="full", random_state=0),
    ).fit(X[:1500], y[:1500])
    assert model[-1].n_features_in_ == 200
    assert model.score(X[1500:], y[1500:]) > 0.65
