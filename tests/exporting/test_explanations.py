"""Explanations: what they show, of whom, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import (
    FTRLClassifier,
    FTRLRegressor,
    GMKLClassifier,
    MultiTaskClassifier,
    SDistClassifier,
    TriClassSVC,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X[:, 0] - X[:, 2] > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=["a", "b<i>", "c", "d"])


@pytest.fixture(scope="module")
def model():
    return FTRLClassifier(random_state=0).fit(FRAME, Y)


def test_a_row_is_a_sum(model):
    actual = model.explain(FRAME)
    told = actual[3]
    shares = dict(told.contributions)
    weights = dict(zip(FRAME.columns, model.coef_[0], strict=True))
    assert shares == pytest.approx({n: weights[n] * FRAME[n][3] for n in shares})
    assert told.label == "yes"
    assert told.score == model.decision_function(FRAME)[3]
    assert told.intercept == model.intercept_[0]
    assert actual.top(3, 2) == told.contributions[:2]
    assert len(actual) == len(list(actual)) == 60


def test_live_says_the_same(model):
    service = tamis.live(model)
    for row in range(3):
        one = service.explain(FRAME.iloc[row].to_dict())
        other = model.explain(FRAME)[row]
        assert one.label == other.label
        assert one[1:3] == pytest.approx(other[1:3])
        assert dict(one.contributions) == pytest.approx(dict(other.contributions))


def test_the_first_of_two_classes_has_the_other_sign(model):
    yes, no = model.explain(FRAME).row(3, "yes"), model.explain(FRAME).row(3, "no")
    assert (no.label, no.score, no.intercept) == ("no", -yes.score, -yes.intercept)
    assert no.contributions == [(name, -share) for name, share in yes.contributions]
    assert yes == model.explain(FRAME)[3]
    told = tamis.live(model).explain(FRAME.iloc[3].to_dict(), label="no")
    assert dict(told.contributions) == pytest.approx(dict(no.contributions))
    assert (told.label, told.score) == ("no", pytest.approx(no.score))
    with pytest.raises(ValueError, match="label='maybe' is none of"):
        model.explain(FRAME).row(3, "maybe")


def test_printed_forms(model):
    actual = model.explain(FRAME)
    assert repr(actual).startswith("row 0: ")
    assert repr(actual).endswith("and 55 rows more")
    lines = actual.table(0, n=2).splitlines()
    assert len(lines) == 5
    assert lines[2].startswith("(2 more)")
    assert lines[-1].startswith("score for yes")
    shown = actual._repr_html_()
    assert "b&lt;i&gt;" in shown
    assert "<i>" not in shown
    assert "55 rows more" in shown


def test_a_number_has_no_label():
    actual = FTRLRegressor(random_state=0).fit(X, X[:, 0]).explain(X[:1])
    assert actual.table().splitlines()[-1].startswith("score ")
    assert " for " not in repr(actual)


def test_classes_are_chosen_by_their_label():
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    actual = FTRLClassifier(random_state=0).fit(X, y).explain(X)
    assert actual.top(0, label="b") == actual.row(0, "b").contributions[:10]
    assert actual.row(0, "b").score == actual.score[0, 1]
    assert actual[0].score == actual.score[0].max()
    with pytest.raises(ValueError, match="label='z' is none of"):
        actual.top(0, label="z")
    with pytest.raises(IndexError, match=r"row 60 is outside 0\.\.59"):
        actual[60]


def test_tasks_have_their_own_weights():
    task = np.array(["left", "right"])[np.arange(60) % 2]
    y = np.where(task == "left", X[:, 0], -X[:, 0]) > 0
    model = MultiTaskClassifier(alpha=0.05).fit(X, y, task)
    actual = model.explain(X, task)
    total = actual.contributions[0].sum(axis=1) + actual.intercept[:, 0]
    assert total == pytest.approx(model.decision_function(X, task))
    with pytest.raises(ValueError, match="pass task"):
        model.explain(X)


def test_terms_of_a_metric():
    rows = np.random.default_rng(1).normal(size=(300, 8))
    y = (rows[:, 3] * rows[:, 5] > 0).astype(int)
    model = SDistClassifier(random_state=0).fit(rows, y)
    actual = model.explain(rows[:50])
    assert actual.names == model.get_term_names()
    assert actual.score == pytest.approx(model.decision_function(rows[:50]))
    sizes = np.abs(actual.contributions[0].toarray()).sum(axis=0)
    assert {"x3", "x5"} & set(actual.names[int(sizes.argmax())].split())
    votes = SDistClassifier(random_state=0, rule="knn").fit(rows, y).explain(rows[:5])
    assert votes.contributions[0].sum(axis=1) == pytest.approx(votes.score)


def test_shares_of_kernels():
    model = GMKLClassifier(random_state=0).fit(X, Y)
    actual = model.explain(X)
    assert set(actual.names) >= set(model.selected_kernels_)
    assert len(actual.names) <= len(model.kernel_names_)


def test_a_pipeline_is_explained_by_its_last_step():
    texts = ["good film", "bad film", "good play", "bad play"] * 20
    steps = make_pipeline(CountVectorizer(), FTRLClassifier(alpha=0.01, random_state=0))
    steps.fit(texts, ["good" in text for text in texts])
    actual = tamis.explain(steps, ["good good film"])
    assert actual.score == pytest.approx(steps.decision_function(["good good film"]))
    assert actual.top(0, 1)[0][0] == "good"
    assert {"good", "bad"} <= set(actual.names) <= {"good", "bad", "film", "play"}
    hashed = make_pipeline(HashingVectorizer(n_features=64), FTRLClassifier(random_state=0))
    hashed.fit(texts, ["good" in text for text in texts])
    assert tamis.explain(hashed, texts[:1]).names[0].startswith("x")
    metric = make_pipeline(StandardScaler(), SDistClassifier(random_state=0)).fit(X, Y)
    assert tamis.explain(metric, X[:2]).names == metric[-1].get_term_names()


def test_what_cannot_be_explained_says_why():
    with pytest.raises(TypeError, match="a LogisticRegression does not say"):
        tamis.explain(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), X)

    with pytest.raises(TypeError, match="are no sums over columns"):
        TriClassSVC(kernel="rbf").fit(X, Y == "yes").explain(X)


def test_columns_that_a_growing_model_has_not_met_add_nothing():
    model = FTRLClassifier(grow=True, random_state=0).partial_fit(sp.csr_array(X), Y)
    wide = sp.hstack([sp.csr_array(X), np.ones((60, 2))], format="csr")
    assert model.explain(wide).names == model.explain(X).names
