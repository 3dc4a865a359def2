"""The whole use of the batch models: frames with names, streams, files, confidence, abstention; and
the sweeps without compilation.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from methods.batch_confidence_weighted import reference
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import tamis
from tamis import BCWClassifier, SparseBCWClassifier
from tamis.datasets import make_text

X, Y = reference.make_data(60, 7)
NAMES = [f"column {k}" for k in range(7)]
MODELS = [
    BCWClassifier(random_state=0),
    BCWClassifier(random_state=0, solver="kernel", loss="squared_hinge", max_iter=20, tol=1e-2),
    SparseBCWClassifier(n_features_to_select=4, block_size=2, random_state=0),
    SparseBCWClassifier(n_features_to_select=4, covariance="identity", refit=True, random_state=0),
]


@pytest.fixture(params=MODELS, ids=repr)
def model(request):
    from sklearn.base import clone

    return clone(request.param)


# --------------------------------------------------------------------------- containers
@pytest.mark.parametrize(
    "frame",
    [lambda X: pd.DataFrame(X, columns=NAMES), lambda X: pl.DataFrame(X, schema=NAMES)],
    ids=["pandas", "polars"],
)
def test_frames_keep_their_names(model, frame):
    labels = np.where(Y > 0, "yes", "no")
    model.fit(frame(X), labels)
    assert model.feature_names_in_.tolist() == NAMES
    assert set(model.predict(frame(X))) <= {"no", "yes"}
    if hasattr(model, "get_feature_names_out"):
        assert model.get_feature_names_out().tolist() == [NAMES[k] for k in model.support_]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X)[NAMES[::-1]])


def test_input_is_never_changed(model):
    for form in (np.asarray, sp.csr_array, sp.csc_array):
        rows = form(X.copy())
        for array in (
            [rows] if isinstance(rows, np.ndarray) else [rows.data, rows.indices, rows.indptr]
        ):
            array.flags.writeable = False
        model.fit(rows, Y, sample_weight=np.arange(60.0) % 3)
        model.predict_margin(rows)
        assert np.array_equal(rows if isinstance(rows, np.ndarray) else rows.toarray(), X)


def test_labels_of_every_kind(model):
    three = np.digitize(X[:, 0], [-0.3, 0.3])
    model.fit(X, three)
    assert model.coef_.shape == model.variance_.shape == (3, 7)
    assert model.predict_confidence(X).shape == (60, 3)
    labels = np.column_stack([Y > 0, three > 0]).astype(int)
    model.fit(X, labels)
    assert model.predict(X).shape == (60, 2)
    assert not hasattr(model, "predict_proba")


def test_bad_parameters_and_input_raise(model):
    with pytest.raises(NotFittedError):
        model.predict(X)
    for name in ("coef_", "intercept_", "variance_", "support_"):
        assert not hasattr(model, name)
    with pytest.raises(ValueError, match=r"'C' parameter .* -1\.0"):
        model.set_params(C=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.set_params(C=1.0).fit(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.set_params(**({"refit": False} if "refit" in model.get_params() else {})).partial_fit(
            X, Y
        )


def test_numbers_that_overflow_are_refused_and_the_model_stays_as_it_was(model, unlimited):
    if "refit" in model.get_params():
        model.set_params(refit=False)
    model.partial_fit(X, Y, classes=[-1, 1])
    before = model.decision_function(X)
    with pytest.raises(FloatingPointError, match="Scale the columns"), np.errstate(all="ignore"):
        model.partial_fit(1e200 * X, Y)
    assert np.array_equal(model.decision_function(X), before)


# --------------------------------------------------------------------------- files and streams
def test_a_loaded_model_predicts_and_continues(model, tmp_path):
    if "refit" in model.get_params():
        model.set_params(refit=False)
    model.partial_fit(X[:40], Y[:40], classes=[-1, 1])
    tamis.save(model, tmp_path / "model.tamis")
    loaded = tamis.load(tmp_path / "model.tamis")
    for _ in range(2):
        assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
        assert np.array_equal(loaded.predict_confidence(X), model.predict_confidence(X))
        assert np.array_equal(loaded.variance_, model.variance_)
        model.partial_fit(X[40:], Y[40:])
        loaded.partial_fit(X[40:], Y[40:])


def test_a_batch_of_weight_0_changes_nothing(model):
    if "refit" in model.get_params():
        model.set_params(refit=False)
    model.partial_fit(X[:40], Y[:40], classes=[-1, 1])
    before = model.decision_function(X)
    model.partial_fit(X[40:], Y[40:], sample_weight=np.zeros(20))
    assert np.array_equal(model.decision_function(X), before)


def test_a_file_of_few_wide_rows_holds_no_covariance(tmp_path):
    """With fewer rows than columns the file stores the rows instead of a covariance."""
    rows, y, _ = make_text(n_samples=60, n_features=50_000, random_state=0)
    model = BCWClassifier().partial_fit(rows[:40], y[:40], classes=[0, 1])
    tamis.save(model, tmp_path / "model.tamis")
    assert (tmp_path / "model.tamis").stat().st_size < 10_000_000
    loaded = tamis.load(tmp_path / "model.tamis")
    assert np.array_equal(loaded.predict_margin(rows)[1], model.predict_margin(rows)[1])


def test_a_mean_and_a_width_must_fit_in_a_file(tmp_path):
    model = BCWClassifier().fit(X, Y)
    model._belief.dual_sum = np.zeros((1, 3))
    tamis.save(model, tmp_path / "model.tamis")
    with pytest.raises(
        tamis.model_files.ModelFileError, match=r"BCWClassifier\._belief\.dual_sum, .* 3 width"
    ):
        tamis.load(tmp_path / "model.tamis")


# --------------------------------------------------------------------------- confidence
def test_confident_rows_are_more_often_right_and_abstaining_helps():
    rows, y = load_breast_cancer(return_X_y=True)
    split = train_test_split(scale(rows), y, test_size=0.5, random_state=0)
    for model in (
        BCWClassifier(random_state=0),
        SparseBCWClassifier(n_features_to_select=15, random_state=0),
    ):
        model.fit(split[0], split[2])
        confidence, is_correct = (
            model.predict_confidence(split[1]),
            model.predict(split[1]) == split[3],
        )
        assert confidence.min() >= 0.5
        is_confident = confidence >= np.median(confidence)
        assert (
            is_correct[is_confident].mean() > is_correct.mean() > is_correct[~is_confident].mean()
        )


def test_a_feature_that_is_never_seen_keeps_its_variance():
    rows = X.copy()
    rows[:, 3] = 0.0
    model = BCWClassifier(random_state=0).fit(rows, Y)
    assert model.variance_[0, 3] == 1.0
    assert (np.delete(model.variance_[0], 3) < 0.2).all()


# --------------------------------------------------------------------------- without compilation
SETTINGS = [
    *(
        BCWClassifier(solver=s, loss=loss, random_state=0)
        for s in ("cholesky", "kernel", "raw")
        for loss in ("hinge", "squared_hinge")
    ),
    *(
        SparseBCWClassifier(
            n_features_to_select=4, block_size=2, solver=s, max_iter=3, tol=None, random_state=0
        )
        for s in ("mkl", "exact", "online")
    ),
]


@pytest.fixture(scope="module")
def compiled():
    return {repr(setting): setting.fit(X, Y).coef_ for setting in SETTINGS}


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_compiled_sweeps_equal_interpreted_ones(compiled, interpreted, setting):
    assert setting.fit(X, Y).coef_ == pytest.approx(compiled[repr(setting)], abs=1e-12)
