"""A user's path with few labels: a frame with missing labels, a search for prices, a model file."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from tamis import TriClassSVC, load, save

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(1)


def draw(count, side, columns=30):
    """Rows of a class (side 1, -1) or of neither (0): two columns tell, the rest is noise."""
    return (
        0.3 * side + RNG.normal(size=(count, columns)) * np.r_[0.3, 0.3, np.full(columns - 2, 3.0)]
    )


X = np.concatenate([draw(8, 1), draw(8, -1), draw(200, 0), draw(40, 1), draw(40, -1)])
KIND = np.repeat(["up", "down", "neither", "open", "open"], [8, 8, 200, 40, 40])
TEST, TRUTH = np.concatenate([draw(200, 1), draw(200, -1)]), np.repeat(["up", "down"], 200)


def test_rows_of_neither_class_help():
    plain = TriClassSVC("svm", unlabeled="open").fit(X[:16], KIND[:16])
    model = TriClassSVC(
        "usvm", unlabeled="open", irrelevant_label="neither", C_unlabeled=0.0, C_irrelevant=0.1
    ).fit(X, KIND)
    assert model.score(TEST, TRUTH) > plain.score(TEST, TRUTH) + 0.1
    assert (model.predict_tri(X[KIND == "neither"]) == "neither").mean() > 0.6


def test_a_frame_with_missing_labels():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(30)])
    labels = pd.Series(np.where(KIND == "open", None, KIND), dtype=object)
    model = TriClassSVC("3c", unlabeled=None, irrelevant_label="neither").fit(frame, labels)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert len(model.transduction_) == 80
    assert set(model.transduction_) <= {"up", "down", "neither"}
    missing = pd.Series(np.where(KIND == "open", None, KIND)).astype("string")
    again = TriClassSVC("3c", unlabeled=np.nan, irrelevant_label="neither").fit(frame, missing)
    assert np.array_equal(again.decision_function(frame), model.decision_function(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"c0": "other"}))


def test_a_price_by_validation_in_a_pipeline():
    labels = np.where(KIND == "neither", "open", KIND)
    held_out = np.flatnonzero(KIND == "open")[::4]
    sides = np.repeat(["up", "down"], len(held_out) // 2)
    scores = {}
    for cost in (0.0, 0.01, 0.1):
        model = make_pipeline(
            MaxAbsScaler(),
            TriClassSVC("usvm", C=100.0, C_unlabeled=100.0 * cost, unlabeled="open"),
        ).fit(X, labels)
        scores[cost] = model.score(X[held_out], sides)
    # Twenty rows a price: a single one may fall to chance.
    assert np.mean(list(scores.values())) > 0.6


@pytest.mark.filterwarnings("ignore:TriClassSVC makes no use of 280 rows")
@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({}, X),
        ({"kernel": "rbf"}, X),
        ({"kernel": "poly"}, sp.csr_array(X)),
        ({"kernel": "precomputed"}, X @ X.T),
    ],
)
def test_a_saved_model_predicts_the_same(tmp_path, parameters, rows):
    model = TriClassSVC(
        "3c", unlabeled="open", irrelevant_label="neither", probability=True, **parameters
    ).fit(rows, KIND)
    save(model, tmp_path / "model.tamis")
    again = load(tmp_path / "model.tamis")
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    assert np.array_equal(again.predict_tri(rows), model.predict_tri(rows))
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert np.array_equal(again.transduction_, model.transduction_)
    assert again.history_ == model.history_
    assert again.objective_ == model.objective_


def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path):
    from tamis.model_files import ModelFileError

    model = TriClassSVC("3c", unlabeled="open", irrelevant_label="neither").fit(X, KIND)
    coef = model.coef_
    model.coef_ = coef[:, :-1]
    save(model, tmp_path / "model.tamis")
    with pytest.raises(ModelFileError, match=r"TriClassSVC\.coef_, axis 1 .*\d+ columns"):
        load(tmp_path / "model.tamis")
    model.coef_, model._sigmoid_params = coef, np.ones((3, 2))
    save(model, tmp_path / "model.tamis")
    with pytest.raises(ModelFileError, match=r"TriClassSVC\._sigmoid_params, axis 0 .* 3 outputs"):
        load(tmp_path / "model.tamis")


def test_fits_repeat_and_leave_their_input_alone():
    rows, labels, weights = X / 10.0, KIND.copy(), RNG.random(len(X))
    originals = rows.copy(), labels.copy(), weights.copy()
    one = TriClassSVC("3c", unlabeled="open", irrelevant_label="neither", solver="coordinate").fit(
        rows, labels, sample_weight=weights
    )
    two = clone(one).fit(rows, labels, sample_weight=weights)
    assert np.array_equal(one.coef_, two.coef_)
    assert all(
        np.array_equal(now, before)
        for now, before in zip((rows, labels, weights), originals, strict=True)
    )
