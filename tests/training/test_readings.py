"""Two readings of a file: the model of `fit` if all rows fit into the memory, else candidate
columns of all rows or of some; independent of chunks.
"""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from cli.commands import here, tamis

from tamis import FTRLClassifier, SieveClassifier, SieveRegressor, load, open_rows, train
from tamis.cli.commands.demo import write_svmlight
from tamis.data import source as row_source
from tamis.data.rows import ReadError, Rows
from tamis.datasets import make_text
from tamis.methods.sieve import selector
from tamis.methods.sieve.stream import readings, second_reading
from tamis.methods.sieve.stream.first_reading import FirstReading
from tamis.training.trainer import Trainer
from tamis.training.two_pass import TwoPassTrainer

X, Y, PLANTED = make_text(n_samples=600, n_features=400, n_informative=8, words=12, random_state=0)
Y = 2 * Y - 1
SMALL = {"n_paths": 2, "n_folds": 2, "random_state": 0}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "rows").mkdir()
    write_svmlight(X, Y, tmp_path / "rows" / "a.svm")
    return tmp_path / "rows" / "a.svm"


@pytest.fixture
def narrow(monkeypatch):
    """Few columns are candidates."""
    monkeypatch.setattr(readings, "MAX_EXTRA_ENTRIES", 0)
    monkeypatch.setattr(readings, "MIN_CONTRAST_Z", 4.0)
    monkeypatch.setattr(readings, "COLUMNS_PER_SELECTED", 2)


def train_with_memory(path, memory, model=None, **reading):
    """Train a sieve from a file with `memory` bytes."""
    model = SieveClassifier(**SMALL, n_sample=60) if model is None else model
    walk = Trainer(model, open_rows(path, **reading), 1, None, 1)
    trainer = TwoPassTrainer(walk, 1, False)
    trainer.memory = memory
    trainer.run()
    return model


def all_rows(path, **reading):
    chunks = list(open_rows(path, **reading))
    width = max(chunk.X.shape[1] for chunk in chunks)
    for chunk in chunks:
        chunk.X.resize((chunk.X.shape[0], width))
    stacked = sp.csr_array(sp.vstack([chunk.X for chunk in chunks]))
    if sp.issparse(chunks[0].targets):
        return stacked, sp.vstack([chunk.targets for chunk in chunks]).toarray()
    return stacked, np.concatenate([chunk.targets for chunk in chunks])


def assert_same_model(a, b):
    assert np.array_equal(a.coef_, b.coef_)
    assert np.array_equal(a.intercept_, b.intercept_)
    assert np.array_equal(a.support_, b.support_)
    assert np.array_equal(a.selection_probability_, b.selection_probability_)
    assert a.n_features_in_ == b.n_features_in_


# --------------------------------------------------------------------------- all columns
def test_a_file_that_fits_into_the_memory_is_a_fit(path):
    rows, y = all_rows(path)
    expected = SieveClassifier(**SMALL).fit(rows, y.astype(int))
    model = train(SieveClassifier(**SMALL), open_rows(path, chunk_rows=70))
    assert_same_model(model, expected)
    assert model.classes_.tolist() == [-1, 1]
    (line,) = model.train_history_
    assert (line["rows"], line["fitted"], line["nonzeros"]) == (600, 600, len(model.support_))
    assert line["columns"] == np.unique(rows.indices).size
    assert not any("beside" in str(value) for value in vars(model).values())


def test_chunks_of_ones_own_are_read_twice_too():
    pieces = [(X[k : k + 100], Y[k : k + 100]) for k in range(0, 600, 100)]
    assert_same_model(train(SieveClassifier(**SMALL), pieces), SieveClassifier(**SMALL).fit(X, Y))
    with pytest.raises(ReadError, match="no rows"):
        train(SieveClassifier(), [])


def test_words_weights_labels_and_numbers(tmp_path):
    table = tmp_path / "a.csv"
    lines = [f"{k % 7},{k % 5},{k % 3},{['no', 'yes'][k % 7 > 3]}" for k in range(200)]
    table.write_text("\n".join(["a,b,w,y", *lines]))
    a, b, w = (np.arange(200) % k for k in (7.0, 5.0, 3.0))
    model = train(SieveClassifier(**SMALL), open_rows(table, weight="w", chunk_rows=30))
    expected = SieveClassifier(**SMALL).fit(np.c_[a, b], np.where(a > 3, "yes", "no"), w)
    assert_same_model(model, expected)
    assert model.train_history_[-1]["rows"] == np.count_nonzero(w)

    labels = tmp_path / "b.svm"
    labels.write_text(
        "".join(
            f"{k % 3},{3 + k % 2} {1 + k % 3}:1 {4 + k % 2}:1 {7 + k % 9}:1\n" for k in range(90)
        )
    )
    rows, y = all_rows(labels)
    model = train(SieveClassifier(**SMALL), open_rows(labels, chunk_rows=20))
    assert_same_model(model, SieveClassifier(**SMALL).fit(rows, y))
    assert model.multilabel_

    numbers = tmp_path / "c.svm"
    write_svmlight(X, X.toarray()[:, :4] @ [3.0, -2.0, 1.0, 0.5], numbers)
    rows, y = all_rows(numbers)
    model = train(SieveRegressor(**SMALL), open_rows(numbers, chunk_rows=70))
    assert_same_model(model, SieveRegressor(**SMALL).fit(rows, y))


# --------------------------------------------------------------------------- some columns
def test_beyond_the_memory_the_columns_that_may_matter_are_kept(path, narrow):
    model = train_with_memory(path, 48 * X.nnz - 1)
    (entry,) = model.train_history_
    first, small_sieve = first_reading_of(X, Y), SieveClassifier(**SMALL)
    selection = readings.select_columns(small_sieve, first, 1)
    is_strong = first.contrasts.deviations(X.shape[1]) >= 4.0
    assert is_strong.any()
    assert selection.chosen[is_strong].all()
    assert entry["columns"] == selection.chosen.sum() < 300
    assert set(model.support_) <= set(np.flatnonzero(selection.chosen))
    assert model.n_features_in_ == model.coef_.shape[1] > entry["columns"]
    full_model = SieveClassifier(**SMALL).fit(X, Y).resize(len(model.support_))
    assert abs(model.score(X, Y) - full_model.score(X, Y)) < 0.05
    # What predicts a fold is chosen without it.
    for fold, fold_columns in enumerate(selection.open):
        is_strong_without_fold = first.contrasts.deviations(X.shape[1], fold) >= 4.0
        assert fold_columns[is_strong_without_fold & selection.chosen].all()
        assert selection.chosen[fold_columns].all()


@pytest.mark.filterwarnings("ignore:nothing in these")
def test_noise_is_not_taken_for_a_signal(monkeypatch):
    """The strongest of many noise columns predict the rows that chose them."""
    monkeypatch.setattr(readings, "MAX_EXTRA_ENTRIES", 3000)
    monkeypatch.setattr(readings, "sample_support", lambda *arguments: np.zeros(0, dtype=int))
    rng = np.random.default_rng(0)
    noise, y = sp.random_array((600, 3000), density=0.02, rng=rng, format="csr"), np.arange(600) % 2
    model = SieveClassifier(random_state=0, n_sample=60)
    trainer = TwoPassTrainer(Trainer(model, [(noise, y)], 1, None, 1), 1, False)
    trainer.memory = 48 * noise.nnz - 1
    trainer.run()
    assert model.train_history_[-1]["columns"] < 1500
    for fitted in (model, SieveClassifier(random_state=0).fit(noise, y)):
        assert np.nanmin(fitted.sizes_["error"]) > 0.4
        assert not len(fitted.support_)


def first_reading_of(X, y, n_sample=60):
    first = FirstReading(n_sample, 2, 10**9, "classify")
    first.add(Rows(X, y, 1))
    return first


def test_what_the_sample_keeps_is_kept(narrow, monkeypatch):
    """A column without contrast may matter together with others."""
    first = first_reading_of(X, Y)
    columns = np.unique(X.indices)
    weakest = int(columns[first.contrasts.strengths(X.shape[1])[columns].argmin()])
    assert not readings.select_columns(SieveClassifier(), first, 1).chosen[weakest]
    monkeypatch.setattr(readings, "sample_support", lambda *arguments: np.array([weakest]))
    selection = readings.select_columns(SieveClassifier(), first, 1)
    assert selection.chosen[weakest]
    assert selection.entries == np.isin(X.indices, np.flatnonzero(selection.chosen)).sum()


def test_few_entries_are_kept_in_any_case():
    selection = readings.select_columns(SieveClassifier(**SMALL), first_reading_of(X, Y), 1)
    assert selection.chosen.sum() == np.unique(X.indices).size


@pytest.mark.filterwarnings("ignore:the columns that may matter need")
@pytest.mark.parametrize("memory", [150_000, 300_000])
def test_chunks_change_no_bit(path, narrow, memory):
    expected_model = train_with_memory(path, memory)
    assert expected_model.train_history_[-1]["columns"] < 200
    for rows in (9, 70):
        assert_same_model(expected_model, train_with_memory(path, memory, chunk_rows=rows))


def test_rows_whose_fit_needs_more_than_the_memory_are_left_out(path, narrow):
    with pytest.warns(UserWarning, match=r"0\.\d+ of the rows"):
        model = train_with_memory(path, 150_000, chunk_rows=70)
    (line,) = model.train_history_
    assert 0 < line["fitted"] < 500
    assert line["rows"] == 600
    with pytest.warns(UserWarning, match="Raise the memory"):
        assert_same_model(model, train_with_memory(path, 150_000, chunk_rows=11))


def test_kept_rows_go_when_they_are_in_the_table(path, monkeypatch):
    """They are released before the fit, which makes copies."""
    alive, fit = [], selector.fit_in_memory

    def fit_and_watch(*arguments):
        alive.append([array_ref() for array_ref in array_refs])
        return fit(*arguments)

    def rows(self, make=second_reading.SecondReading.rows):
        array_refs.extend(map(weakref.ref, (self.data, self.indices)))
        return make(self)

    array_refs: list = []
    monkeypatch.setattr(second_reading.SecondReading, "rows", rows)
    monkeypatch.setattr(selector, "fit_in_memory", fit_and_watch)
    train(SieveClassifier(**SMALL), open_rows(path))
    assert alive == [[None, None]]


def test_rows_that_changed_between_the_readings_are_refused(path):
    first = first_reading_of(X[:300], Y[:300])
    second_reading = SieveClassifier(**SMALL)._second_reading(first, 10**9)
    with pytest.raises(ReadError, match="changed between two readings"):
        second_reading.add(Rows(X, Y, 1))


# --------------------------------------------------------------------------- who reads how
def test_options_without_a_meaning_are_refused(path, tmp_path):
    for options in ({"passes": 2}, {"checkpoint": tmp_path / "ck"}, {"validate": "progressive"}):
        with pytest.raises(ValueError, match=r"reads the rows twice .*stream=True"):
            train(SieveClassifier(**SMALL), open_rows(path), **options)
    assert not (tmp_path / "ck").exists()
    with pytest.raises(ValueError, match="memory=0 must be 1 or more"):
        train(SieveClassifier(**SMALL), open_rows(path), memory=0)


def test_a_sieve_in_mid_stream_goes_on(path):
    model = SieveClassifier(**SMALL)
    rows, y = all_rows(path)
    model.partial_fit(rows, y.astype(int), classes=[-1, 1])
    train(model, open_rows(path))
    assert model._stream.n_rows == 1200
    streamed = train(SieveClassifier(**SMALL), open_rows(path), stream=True, passes=2)
    assert_same_model(model, streamed)


def test_held_out_rows_are_judged(path):
    model = train(SieveClassifier(**SMALL), open_rows(path), validate=(X, Y))
    assert model.train_history_[-1]["validation_error"] == pytest.approx(1 - model.score(X, Y))


def test_rows_whose_fit_has_the_memory_are_read_once(path, monkeypatch):
    rows, readings_made = open_rows(path, chunk_rows=70), []
    chunks_of = type(rows)._chunks
    monkeypatch.setattr(
        type(rows), "_chunks", lambda self, at: readings_made.append(at) or chunks_of(self, at)
    )
    model = train(SieveClassifier(**SMALL), rows)
    assert len(readings_made) == 1
    assert rows.survey_result.observer is None
    for chunk in rows:
        chunk.X.data[:] = 0.0
    assert_same_model(model, train(SieveClassifier(**SMALL), rows))
    assert len(readings_made) == 1
    monkeypatch.setattr(row_source, "MAX_CACHED_BYTES", 1000)
    again = open_rows(path, chunk_rows=70)
    assert_same_model(model, train(SieveClassifier(**SMALL), again))
    assert len(readings_made) == 2
    assert again.chunks is None


@pytest.mark.filterwarnings("ignore:the columns that may matter need")
def test_rows_beyond_the_memory_are_read_twice(path, monkeypatch):
    readings_made, make = [], row_source.RowSource._chunks
    monkeypatch.setattr(
        row_source.RowSource, "_chunks", lambda self, at: readings_made.append(at) or make(self, at)
    )
    train_with_memory(path, 150_000)
    assert len(readings_made) == 2


# --------------------------------------------------------------------------- the command
def test_the_command_reads_twice_and_gives_the_model_of_fit(path, tmp_path, capsys):
    result = here(
        "fit", path, "--set", "n_paths=2", "--set", "n_folds=2", "--threads", 1, "--out",
        tmp_path / "m", capsys=capsys,
    )  # fmt: skip
    assert result.code == 0, result.err
    rows, y = all_rows(path)
    assert_same_model(load(tmp_path / "m"), SieveClassifier(**SMALL).fit(rows, y.astype(int)))


def test_the_command_reads_standard_input_twice(path, tmp_path):
    options = ("--set", "n_paths=2", "--set", "n_folds=2", "--out")
    for source, given in ((path, None), ("-", path.read_text())):
        assert tamis("fit", source, *options, tmp_path / str(given is None), given=given).code == 0
    assert_same_model(load(tmp_path / "True"), load(tmp_path / "False"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "2"], "--passes 2 is for models that learn chunk by chunk: method 'sieve'"),
        (["--checkpoint", "ck"], "--checkpoint ... is for models that learn chunk by chunk"),
        (["--memory", "0"], "--memory 0 must be 1 or more"),
        (["--method", "ftrl", "--every", "0"], "--every 0 must be 1 or more"),
        (["--stream", "--memory", "9"], "for a method that reads the file twice"),
        (["--method", "ftrl", "--memory", "9"], "for a method that reads the file twice"),
        (["--method", "ftrl", "--stream"], "'ftrl' learns in passes in any case"),
    ],
)
def test_the_command_refuses_options_without_a_meaning(path, arguments, message, capsys):
    result = here("fit", path, *arguments, capsys=capsys)
    assert result.code == 2
    assert message in result.err


def test_other_models_read_as_before(path):
    assert train(FTRLClassifier(), open_rows(path), passes=2).t_ == 1200
