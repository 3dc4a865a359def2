"""`train`: files yield the models of arrays, for every model with `partial_fit`; progress,
validation, history.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.linear_model import SGDClassifier

import tamis
from tamis import FOBOSClassifier, FTRLClassifier, FTRLRegressor, SieveClassifier, open_rows, train
from tamis.cli.commands.demo import write_svmlight
from tamis.data.rows import ReadError
from tamis.datasets import make_text
from tamis.methods.batch_confidence_weighted.estimator import BatchModel

pytestmark = pytest.mark.quick

X, Y, _ = make_text(n_samples=240, n_features=60, n_informative=6, words=12, random_state=0)
Y = 2 * Y - 1
SMALL = {"n_paths": 2, "n_folds": 2, "max_iter": 1}


def streaming_models():
    """Yield all public models with `partial_fit`."""
    for name in sorted(tamis._HOMES):
        cls = getattr(tamis, name)
        if isinstance(cls, type) and hasattr(cls, "predict") and hasattr(cls(), "partial_fit"):
            yield cls


def make(cls, **more):
    names = cls._get_param_names()
    parameters = {k: v for k, v in {**SMALL, "random_state": 0, **more}.items() if k in names}
    return cls(**parameters)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "a.svm"
    write_svmlight(X, Y, path)
    return path


@pytest.mark.filterwarnings("ignore:SparseBCWClassifier made all 1 sweeps")
@pytest.mark.parametrize("cls", list(streaming_models()), ids=lambda cls: cls.__name__)
def test_the_file_walk_is_the_array_walk(cls, path):
    """Rows of a file, in any chunks, give the bits of the arrays in one call."""
    expected, classes = make(cls), {"classes": [-1, 1]} if is_classifier(cls()) else {}
    expected.partial_fit(X, Y, **classes).partial_fit(X, Y)
    if hasattr(expected, "refine"):
        expected.refine()
    rows_of_chunk = 240 if issubclass(cls, BatchModel) else 37  # of those a call is one batch
    stream = hasattr(cls, "_reads_twice")  # which a sieve does, unless told otherwise
    model = train(make(cls), open_rows(path, chunk_rows=rows_of_chunk), passes=2, stream=stream)
    assert np.array_equal(np.asarray(model.coef_), np.asarray(expected.coef_))
    assert np.array_equal(model.intercept_, expected.intercept_)
    assert model.train_history_[-1]["rows"] == 480
    if "grow" in cls._get_param_names():
        grown = train(make(cls, grow=True), open_rows(path, chunk_rows=37), passes=2)
        width = grown.coef_.shape[-1]
        if classes and list(grown.classes_) == [-1, 1] and Y[0] == -1:
            assert np.array_equal(grown.coef_[..., :width], expected.coef_[..., :width])


def test_chunks_of_ones_own(path):
    chunks = [(X[k : k + 50], Y[k : k + 50]) for k in range(0, 240, 50)]
    from_chunks, from_file = (
        train(FOBOSClassifier(), chunks, passes=2),
        train(FOBOSClassifier(), open_rows(path), passes=2),
    )
    assert np.array_equal(from_chunks.coef_, from_file.coef_)
    with pytest.raises(ValueError, match="pass chunks that can be iterated again"):
        train(FOBOSClassifier(), iter(chunks))


def test_a_model_of_another_library(path):
    model = train(SGDClassifier(random_state=0), open_rows(path, chunk_rows=50))
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(X, Y) > 0.6


def test_progressive_validation_predicts_before_it_learns(path):
    model = train(
        FTRLClassifier(), open_rows(path, chunk_rows=40), passes=2, validate="progressive"
    )
    expected_model, n_errors = FTRLClassifier(), 0
    for k in range(0, 240, 40):
        if k:
            n_errors += (expected_model.predict(X[k : k + 40]) != Y[k : k + 40]).sum()
        expected_model.partial_fit(X[k : k + 40], Y[k : k + 40], classes=[-1, 1])
    assert model.train_history_[-1]["error"] == n_errors / 200
    assert [entry["rows"] for entry in model.train_history_] == sorted(
        {entry["rows"] for entry in model.train_history_}
    )


def test_long_streams_are_judged_now_and_then(path, monkeypatch):
    from tamis.training import validation

    monkeypatch.setattr(validation, "SCORED_CHUNKS", 3)
    scored_rows = []
    monkeypatch.setattr(
        validation, "add_losses", lambda sums, losses, *rest: scored_rows.append(len(losses))
    )
    train(FTRLClassifier(), open_rows(path, chunk_rows=10), validate="progressive")
    assert (
        scored_rows == [10] * 4
    )  # chunks 1 and 2 (before 0 there is no model), then 8 and 16 of 24


def test_held_out_rows(path):
    for held_out_rows in (open_rows(path), (X, Y)):
        model = train(FTRLClassifier(), open_rows(path), passes=2, validate=held_out_rows)
        assert model.train_history_[-1]["validation_error"] == pytest.approx(1 - model.score(X, Y))
    with pytest.raises(ValueError, match="validate must be None, 'progressive'"):
        train(FTRLClassifier(), open_rows(path), validate="all")
    model = train(FTRLRegressor(), open_rows(path), validate=(X, Y))
    assert model.train_history_[-1]["validation_error"] == pytest.approx(
        np.mean((model.predict(X) - Y) ** 2)
    )


def test_weights_reach_the_model(tmp_path):
    (tmp_path / "a.csv").write_text(
        "a,b,w,y\n" + "".join(f"{k % 5},{k % 3},{k % 2},{'uv'[k % 3 > 1]}\n" for k in range(60))
    )
    rows = open_rows(tmp_path / "a.csv", weight="w")
    model = train(FTRLClassifier(), rows)
    assert model.t_ == 30
    assert model.classes_.tolist() == ["u", "v"]
    assert model.reading_["layout"]["columns"][0][:2] == ["a", "number"]


def test_several_labels(tmp_path):
    (tmp_path / "a.svm").write_text(
        "".join(f"{k % 3},{3 + k % 2} {1 + k % 3}:1 {4 + k % 2}:1\n" for k in range(90))
    )
    model = train(FTRLClassifier(), open_rows(tmp_path / "a.svm"), passes=20)
    assert model.multilabel_
    assert (
        model.score(
            *(lambda c: (c.X, c.targets.toarray()))(next(iter(open_rows(tmp_path / "a.svm"))))
        )
        > 0.9
    )
    assert model.reading_["labels"] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_targets_that_are_no_classes(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0.5 1:1\n" * 20)
    with pytest.raises(ReadError, match=r"target 0\.5 is no class"):
        train(FTRLClassifier(grow=True), open_rows(tmp_path / "a.svm"))
    assert train(FTRLRegressor(), open_rows(tmp_path / "a.svm")).t_ == 40


def test_a_fitted_model_goes_on(path):
    rows = open_rows(path)
    model = train(FOBOSClassifier(), rows)
    once = model.coef_
    train(model, rows)
    assert np.array_equal(model.coef_, train(FOBOSClassifier(), rows, passes=2).coef_)
    assert not np.array_equal(model.coef_, once)


def test_parameters_that_mean_nothing(path):
    for options in ({"passes": 0}, {"every": 0}):
        with pytest.raises(ValueError, match="=0 must be 1 or more"):
            train(FTRLClassifier(), open_rows(path), **options)


def test_the_bar_shows_rate_error_and_size(path, monkeypatch):
    from tamis.system.progress import Progress

    calls = []
    monkeypatch.setattr(Progress, "advance", lambda self, rows, note="": calls.append((rows, note)))
    train(FTRLClassifier(), open_rows(path, chunk_rows=40), validate="progressive")
    assert "240 rows, " in calls[-1][1]
    assert " a second, error 0." in calls[-1][1]
    assert " kept" in calls[-1][1]
    assert calls[-1][0] > 0


def test_wide_data_in_a_sieve(tmp_path):
    wide = sp.csr_array((X.data, X.indices * 1000, X.indptr), shape=(240, 60_000))
    write_svmlight(wide, Y, tmp_path / "a.svm")
    model = train(make(SieveClassifier), open_rows(tmp_path / "a.svm", chunk_rows=100))
    assert model.n_features_in_ <= 60_000
    assert model.train_history_[-1]["nonzeros"] == len(model.support_)
