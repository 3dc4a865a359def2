"""The estimators: what they take, show and refuse, and the way to disk and back."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from tamis import GMKLClassifier, GMKLRegressor, kernel_dictionary, load, save

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, size=(160, 4))
Y = (np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=160) > 0.0).astype(int)
TRAIN, TEST = slice(0, 100), slice(100, None)
FEW = kernel_dictionary(X, widths=[0.5, 1.0, 4.0], degrees=[1, 2])


def fitted(cls=GMKLClassifier, y=Y, rows=X, **parameters):
    return cls(**{"kernels": FEW, "C": 1000.0, "tol": 1e-2, **parameters}).fit(
        rows[TRAIN], y[TRAIN]
    )


# --------------------------------------------------------------------------- dictionaries
def test_dictionary_counts_and_names():
    assert [len(kernel_dictionary(np.zeros((2, d)))) for d in (20, 30, 60, 6, 8)] == [
        273,
        403,
        793,
        91,
        117,
    ]
    frame = pd.DataFrame(X, columns=["age", "height", "dose", "day"])
    kernels = kernel_dictionary(
        frame, widths=[2], degrees=[3], feature_groups=["age", "dose", "he"], whole=False
    )
    assert [k.name for k in kernels][:2] == ["gaussian(age, width=2)", "polynomial(age, degree=3)"]
    grouped = kernel_dictionary(
        np.zeros((2, 6)), widths=[1], degrees=[], single=False, feature_groups=[0, 0, 1, 1, 1, 1]
    )
    assert [k.name for k in grouped] == [
        "gaussian(all, width=1)",
        "gaussian(x0+x1, width=1)",
        "gaussian(x2..x5 (4 columns), width=1)",
    ]
    assert kernel_dictionary(X.tolist())[0] == kernel_dictionary(X)[0]
    for wrong in (
        {"widths": [0]},
        {"widths": [np.inf]},
        {"degrees": [1.5]},
        {"degrees": [0]},
        {"whole": False, "single": False},
    ):
        with pytest.raises(ValueError, match=r"widths|degrees|dictionary is empty"):
            kernel_dictionary(X, **wrong)


def test_the_relevant_columns_are_found_and_named():
    model = fitted(GMKLClassifier, rows=X, kernels="auto", l1_ratio=1.0)
    new_rows = RNG.uniform(-1, 1, size=(1000, 4))
    expected = (np.sin(4 * new_rows[:, 0]) + new_rows[:, 1] > 0.0).astype(int)
    linear = LogisticRegression().fit(X[TRAIN], Y[TRAIN]).score(new_rows, expected)
    assert model.score(new_rows, expected) > linear + 0.05  # no straight line follows the sine
    weights = dict(zip(model.kernel_names_, model.kernel_weights_, strict=True))
    column_weights = [sum(w for name, w in weights.items() if f"(x{j}," in name) for j in range(4)]
    assert min(column_weights[0], column_weights[1]) > max(column_weights[2], column_weights[3])
    assert set(model.selected_kernels_) == {name for name, w in weights.items() if w > 0}
    frame = pd.DataFrame(X, columns=["age", "height", "dose", "day"])
    named = GMKLClassifier(C=1000.0, tol=1e-2).fit(frame[:100], Y[:100])
    assert any(name.startswith("gaussian(age") for name in named.selected_kernels_)
    assert named.predict(frame).shape == (160,)


# --------------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    "parameters",
    [
        {"l1_ratio": 0},
        {"l1_ratio": 0, "p": 1.3},
        {"l1_ratio": 0.5},
        {"l1_ratio": 1},
        {"weights": "uniform"},
        {"normalize": None, "C": 3.0},
    ],
)
def test_every_setting_learns(parameters):
    model = fitted(**parameters)
    assert model.score(X[TEST], Y[TEST]) > 0.8
    assert model.gap_ <= 1e-2
    assert model.history_[-1]["kernels"] == len(model.selected_kernels_)
    assert model.objective_ == model.history_[-1]["upper"]
    assert len(model.dual_coef_[0]) == len(model.support_vectors_) <= 100
    assert model.exact_


def test_units_do_not_matter_and_can_be_kept():
    a, b = fitted(), fitted(rows=X * [1.0, 1000.0, 1.0, 0.01] + 5)
    assert a.decision_function(X) == pytest.approx(
        b.decision_function(X * [1.0, 1000.0, 1.0, 0.01] + 5), abs=1e-2
    )
    assert not np.allclose(fitted(standardize=False).kernel_weights_, a.kernel_weights_)


def test_mean_diagonal_is_trace_in_other_units():
    a, b = fitted(tol=1e-4), fitted(tol=1e-4, normalize="mean_diag", C=10.0)
    assert a.kernel_weights_ == pytest.approx(b.kernel_weights_, abs=1e-2)
    assert a.decision_function(X) == pytest.approx(b.decision_function(X), abs=2e-2)


def test_memory_limits_do_not_change_the_result():
    a, b = fitted(), fitted(max_kernel_bytes=0)
    assert a.decision_function(X) == pytest.approx(b.decision_function(X), abs=1e-6)


def test_sparse_rows_and_other_forms():
    a = fitted(tol=1e-5)
    for form in (sp.csr_array, sp.csc_matrix, lambda rows: rows.astype(np.float32)):
        b = GMKLClassifier(FEW, C=1000.0, tol=1e-5).fit(form(X[TRAIN]), Y[TRAIN])
        assert a.decision_function(X) == pytest.approx(b.decision_function(form(X)), abs=5e-3)


def test_a_row_of_weight_two_is_a_row_that_comes_twice_whatever_the_order():
    weights = RNG.integers(0, 3, 100)
    weighted = GMKLClassifier(FEW).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    rows = RNG.permutation(np.repeat(np.arange(100), weights))
    repeated = GMKLClassifier(FEW).fit(X[rows], Y[rows])
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))


def test_class_weights_move_the_border():
    plain, pushed = (
        fitted(class_weight=w, C=20.0).predict(X[TEST]).mean() for w in (None, {0: 1, 1: 20})
    )
    assert pushed > plain


# --------------------------------------------------------------------------- several outputs
def test_several_classes_share_weights_or_have_their_own():
    rows, y = load_iris(return_X_y=True)
    shared = GMKLClassifier(
        kernel_dictionary(rows, widths=[0.5, 2.0], degrees=[1, 2]), C=1000.0
    ).fit(rows[::2], y[::2])
    separate = GMKLClassifier(
        kernel_dictionary(rows, widths=[0.5, 2.0], degrees=[1, 2]), C=1000.0, share_weights=False
    ).fit(rows[::2], y[::2])
    assert shared.kernel_weights_.shape == (20,)
    assert separate.kernel_weights_.shape == (3, 20)
    assert separate.objective_ <= shared.objective_ * (1 + 1e-3)
    assert {line["output"] for line in separate.history_} == {0, 1, 2}
    for model in (shared, separate):
        assert model.decision_function(rows).shape == (150, 3)
        assert model.score(rows[1::2], y[1::2]) > 0.9
    one_against_rest = GMKLClassifier(
        kernel_dictionary(rows, widths=[0.5, 2.0], degrees=[1, 2]), C=1000.0
    ).fit(rows[::2], y[::2] == 1)
    assert separate.kernel_weights_[1] == pytest.approx(one_against_rest.kernel_weights_, abs=1e-9)


def test_labels_and_targets():
    labels = np.column_stack([Y, X[:, 3] > 0]).astype(int)
    model = fitted(y=labels)
    assert model.predict(X).shape == (160, 2)
    assert (model.predict(X[TEST]) == labels[TEST]).mean() > 0.8
    targets = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1] ** 2])
    numbers = fitted(GMKLRegressor, y=targets, epsilon=0.05)
    assert numbers.predict(X).shape == (160, 2)
    assert numbers.score(X[TEST], targets[TEST]) > 0.8
    assert fitted(GMKLRegressor, y=targets, share_weights=False).kernel_weights_.shape == (
        2,
        len(FEW),
    )


# --------------------------------------------------------------------------- probabilities
def test_probabilities_are_calibrated_and_follow_the_scores():
    rows, y = make_classification(300, 5, flip_y=0.3, random_state=0)
    model = GMKLClassifier(
        kernel_dictionary(rows, widths=[2.0], degrees=[1]), probability=True, tol=1e-2
    ).fit(rows[:200], y[:200])
    P = model.predict_proba(rows[200:])
    assert P.sum(axis=1) == pytest.approx(1.0)
    order = np.argsort(model.decision_function(rows[200:]))
    assert (np.diff(P[order, 1]) >= 0).all()
    assert log_loss(y[200:], P) < log_loss(y[200:], np.full((100, 2), 0.5))
    assert np.exp(model.predict_log_proba(rows[200:])) == pytest.approx(P)
    plain = GMKLClassifier(kernel_dictionary(rows, widths=[2.0], degrees=[1]), tol=1e-2).fit(
        rows[:200], y[:200]
    )
    assert np.array_equal(plain.kernel_weights_, model.kernel_weights_)
    assert not hasattr(plain, "predict_proba")
    three_classes = fitted(y=np.digitize(X[:, 0], [-0.3, 0.3]), probability=True)
    assert three_classes.predict_proba(X).shape == (160, 3)
    assert three_classes.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


# --------------------------------------------------------------------------- other kernels
def test_matrices_and_callables_are_the_same_kernels():
    narrow, wide = (
        functools.partial(rbf_kernel, gamma=3.0),
        functools.partial(rbf_kernel, gamma=0.1),
    )
    called = GMKLClassifier([narrow, wide, linear_kernel], C=1000.0, tol=1e-6).fit(
        X[TRAIN], Y[TRAIN]
    )
    matrices = [k(X, X) for k in (narrow, wide, linear_kernel)]
    numbers = np.arange(160)[:, None]
    precomputed = GMKLClassifier(np.array(matrices), C=1000.0, tol=1e-6).fit(
        numbers[TRAIN], Y[TRAIN]
    )
    # Both end within tol of the optimum.
    assert called.decision_function(X) == pytest.approx(
        precomputed.decision_function(numbers), abs=1e-2
    )
    assert called.objective_ == pytest.approx(precomputed.objective_, rel=1e-5)
    assert called.kernel_names_.tolist() == [
        "rbf_kernel(gamma=3.0)",
        "rbf_kernel(gamma=0.1)",
        "linear_kernel",
    ]
    assert precomputed.kernel_names_.tolist() == ["matrix 0", "matrix 1", "matrix 2"]
    assert (
        cross_val_score(GMKLClassifier(matrices, C=1000.0, tol=1e-2), numbers, Y, cv=3).mean() > 0.7
    )
    mixed = GMKLClassifier([*FEW, narrow], C=1000.0, tol=1e-2).fit(X[TRAIN], Y[TRAIN])
    assert len(mixed.kernel_weights_) == len(FEW) + 1
    assert mixed.score(X[TEST], Y[TEST]) > 0.8
    one = GMKLClassifier([narrow], l1_ratio=1.0, normalize=None, C=2.0, tol=1e-6).fit(
        X[TRAIN], Y[TRAIN]
    )
    assert one.decision_function(X) == pytest.approx(
        SVC(gamma=3.0, C=2.0, tol=1e-7).fit(X[TRAIN], Y[TRAIN]).decision_function(X), abs=2e-3
    )


def test_kernels_without_trace_are_dropped_with_a_word():
    def nothing(a, b):
        return np.zeros((len(a), len(b)))

    with pytest.warns(UserWarning, match=r"trace 0 .*: nothing"):
        model = GMKLClassifier([nothing, linear_kernel]).fit(X[TRAIN], Y[TRAIN])
    assert model.kernel_weights_[0] == 0.0
    with pytest.raises(ValueError, match="all kernels have trace 0"):
        GMKLClassifier([np.zeros((160, 160))]).fit(np.arange(160)[:, None], Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": "rbf"}, "must be 'auto', a kernel_dictionary"),
        ({"kernels": "precomputed"}, "column of row numbers as X"),
        ({"kernels": []}, "must be 'auto'"),
        ({"kernels": [np.eye(3), linear_kernel]}, "beside other kernels"),
        ({"kernels": [np.eye(160)[:, ::-1] + np.arange(160)]}, "not symmetric"),
        ({"kernels": [np.eye(160), np.eye(3)]}, "square and of one size"),
        ({"kernels": [np.eye(160)]}, "one column of row numbers"),
        ({"kernels": [lambda a, b: np.ones((2, 2))]}, "gave an array of shape"),
        ({"kernels": [lambda a, b: np.full((len(a), len(b)), np.nan)]}, "not finite"),
        (
            {"kernels": kernel_dictionary(np.zeros((1, 9)))},
            "column 4, but X has 4 columns",
        ),
        ({"p": 3, "l1_ratio": 0.5}, "only at l1_ratio=0"),
        ({"l1_ratio": 1.5}, "The 'l1_ratio' parameter"),
        ({"p": 1}, "The 'p' parameter"),
        ({"normalize": "norm"}, "The 'normalize' parameter"),
    ],
)
def test_wrong_parameters_are_refused_with_the_way_out(parameters, message):
    with pytest.raises(ValueError, match=message):
        GMKLClassifier(**parameters).fit(X, Y)


def test_too_many_columns_for_auto():
    wide = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 5000])), shape=(2, 6000))
    with pytest.raises(ValueError, match=r"6000 .* 78013 .*single=False"):
        GMKLClassifier().fit(wide, [0, 1])


def test_a_fit_cut_short_warns_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r" 2 iterations .*gap.*max_iter") as output:
        model = fitted(max_iter=2, tol=1e-6)
    assert model.gap_ > 1e-6
    assert output[0].filename == __file__


# --------------------------------------------------------------------------- many rows
def test_many_rows_take_a_sample_and_its_features():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, size=(1200, 3))
    y = (np.sin(4 * rows[:, 0]) > 0).astype(int)
    kernels = kernel_dictionary(rows, widths=[0.3, 1.0], degrees=[1])
    exact, some = (
        GMKLClassifier(kernels, C=1000.0, tol=1e-2, max_rows=n, n_components=200, random_state=0)
        for n in (600, 500)
    )
    exact.fit(rows[:600], y[:600])
    some.fit(rows[:600], y[:600])
    assert exact.exact_
    assert not some.exact_
    assert some.dual_coef_.shape == (1, 200)
    assert (exact.predict(rows[600:]) == some.predict(rows[600:])).mean() > 0.97
    numbers = GMKLRegressor(
        kernels, C=1000.0, tol=1e-2, max_rows=500, n_components=200, random_state=0
    ).fit(rows[:600], np.sin(4 * rows[:600, 0]))
    assert numbers.score(rows[600:], np.sin(4 * rows[600:, 0])) > 0.95


# --------------------------------------------------------------------------- files
@pytest.mark.parametrize("kind", ["auto", "dictionary", "matrices", "regressor", "sparse"])
def test_models_come_back_from_disk(kind, tmp_path):
    rows = {"matrices": np.arange(160)[:, None], "sparse": sp.csr_array(X)}.get(kind, X)
    cls, y = (GMKLRegressor, X[:, 0] ** 2) if kind == "regressor" else (GMKLClassifier, Y)
    kernels = {"auto": "auto", "matrices": [rbf_kernel(X), linear_kernel(X)]}.get(kind, FEW)
    model = cls(kernels, tol=1e-1, **({"probability": True} if cls is GMKLClassifier else {})).fit(
        rows[TRAIN], y[TRAIN]
    )
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(rows), model.predict(rows))
    assert again.selected_kernels_.tolist() == model.selected_kernels_.tolist()
    assert repr(again.kernels) == repr(model.kernels)
    if cls is GMKLClassifier:
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_functions_are_not_saved_and_the_message_says_so(tmp_path):
    model = GMKLClassifier([linear_kernel, rbf_kernel]).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(TypeError, match=r"kernel 0 .*linear_kernel.*kernel_dictionary"):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_forged_files_are_refused(tmp_path):
    model = fitted()
    model._scales = model._scales[:-1]
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"GMKLClassifier\._scales.* \d+ kernels"):
        load(tmp_path / "model")
