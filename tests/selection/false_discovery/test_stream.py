"""Selections of rows that are read a few times: the same as of arrays, whatever the chunks."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from tamis import FDRSelector, open_rows
from tamis.selection.false_discovery import estimator, stream

FEW = 1  # megabytes: too few for the rows below


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 400), density=0.1, random_state=0, data_sampler=rng.standard_normal)
    X = sp.csr_array(X)
    score = X @ np.where(np.arange(400) < 3, 3.0, 0.0)
    return X, score + rng.normal(size=3000), (score + rng.logistic(size=3000) > 0).astype(int)


def pairs(X, y, size):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, X.shape[0], size)]


@pytest.mark.parametrize("kind", ["numbers", "classes", "three"])
@pytest.mark.parametrize("size", [700, 3000])
def test_readings_select_what_arrays_select(rows, kind, size, monkeypatch):
    X, numbers, classes = rows
    three = np.digitize(numbers, [-1.0, 1.0])
    y = {"numbers": numbers, "classes": classes, "three": three}[kind]
    arrays = FDRSelector(screen="ftrl").fit(X, y)
    monkeypatch.setattr(estimator, "MIN_ROWS_ONE_PASS", 100)
    read = FDRSelector().fit_rows(pairs(X, y, size), memory=FEW)
    assert {0, 1, 2} <= set(read.support_)
    assert read.scores_ == pytest.approx(arrays.scores_, abs=1e-6)
    assert read.qvalues_ == pytest.approx(arrays.qvalues_, rel=1e-4, abs=1e-9)
    effects = [[row[name] for name in ("estimate", "error", "low")] for row in arrays.table_]
    actual = [[row[name] for name in ("estimate", "error", "low")] for row in read.table_]
    assert np.array(actual) == pytest.approx(np.array(effects), rel=1e-4)
    assert read.effects_["halves"] == pytest.approx(arrays.effects_["halves"], abs=1e-6)
    assert read.n_rare_ == arrays.n_rare_


class Counted(list):
    """Chunks that count how often they are gone over."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_what_does_not_fit_is_read_again(rows, kind, monkeypatch):
    """Correlations by a reading a candidate; what tests look at waits in a file, of which nothing
    is left.
    """
    X, numbers, classes = rows
    y = numbers if kind == "numbers" else classes
    monkeypatch.setattr(estimator, "MIN_ROWS_ONE_PASS", 100)
    monkeypatch.setattr(stream, "BLOCK_ROWS", 150)
    folders, make = [], stream.tempfile.TemporaryDirectory

    def made(**options):
        folders.append(make(**options))
        return folders[-1]

    monkeypatch.setattr(stream.tempfile, "TemporaryDirectory", made)
    some, again = Counted(pairs(X, y, 500)), Counted(pairs(X, y, 500))
    much = FDRSelector(n_jobs=2).fit_rows(some, memory=1000)
    # Once it is only asked for an iterator; how far numbers spread takes a reading.
    assert (some.times - 1, folders) == (4 if kind == "classes" else 5, [])
    little = FDRSelector(n_jobs=2).fit_rows(again, memory=0)
    assert again.times == some.times - 1 + len(little.candidates_)
    assert little.scores_ == pytest.approx(much.scores_, abs=1e-9)
    assert little.effects_["halves"] == pytest.approx(much.effects_["halves"], abs=1e-9)
    assert len(folders) == 1
    assert not Path(folders[0].name).exists()


def test_parts_are_the_same_from_memory_and_from_a_file():
    rng = np.random.default_rng(0)
    chunks = [
        stream.DesignRows(
            sp.random_array((n, 7), density=0.4, rng=rng, format="csr"),
            *(rng.normal(size=(n, k)) for k in (2, 1)),
            rng.random(n),
        )
        for n in (5, 9, 3, 8)
    ]
    size = sum(array.nbytes for array in chunks[0].arrays())
    with stream.DesignStore(size, 7) as store:
        for chunk in chunks:
            store.add(chunk)
        assert (len(store.in_memory), store.n_on_disk) == (1, 3)
        for _ in range(2):
            for chunk, actual in zip(chunks, store, strict=True):
                assert (chunk.columns != actual.columns).nnz == 0
                assert all(map(np.array_equal, chunk[1:], actual[1:]))


def test_few_rows_of_a_file_are_selected_as_arrays(rows, tmp_path):
    X, numbers, classes = rows
    for y, name in ((numbers, "numbers.svm"), (classes, "classes.svm")):
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=True)
        read = FDRSelector().fit_rows(open_rows(tmp_path / name))
        arrays = FDRSelector().fit(X, y)
        assert read.scores_ == pytest.approx(arrays.scores_, abs=1e-6)
        assert read.table_[0]["name"] == str(read.table_[0]["column"])
    assert read.classes_.tolist() == [0, 1]


def test_levels_of_a_category_are_found_by_name(tmp_path):
    """The last level is known from all others, and is not lost for that."""
    rng = np.random.default_rng(0)
    cities = np.array(["basel", "bern", "chur", "genf", "thun"])[rng.integers(0, 5, 600)]
    age, noise = rng.normal(size=600), rng.normal(size=600)
    paid = 2.0 * (cities == "bern") + age + noise
    lines = [f"{c},{a:.3f},{p:.3f}" for c, a, p in zip(cities, age, paid, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("city,age,paid\n" + "\n".join(lines))
    read = FDRSelector().fit_rows(open_rows(path, target="paid"))
    rows = {row["name"]: row for row in read.table_ if row["qvalue"] < 0.1}
    assert set(rows) == {"age", "city=bern"}
    assert rows["city=bern"]["low"] < 2.0 < rows["city=bern"]["high"]


def test_labels_and_weights_are_read(rows, monkeypatch):
    X, numbers, _ = rows
    Y = sp.csr_array(np.column_stack([numbers > 0, numbers < 1.0]).astype(int))
    weights = np.random.default_rng(0).integers(0, 3, 3000).astype(float)
    monkeypatch.setattr(estimator, "MIN_ROWS_ONE_PASS", 100)
    chunks = [(X[k : k + 999], Y[k : k + 999], weights[k : k + 999]) for k in range(0, 3000, 999)]
    read = FDRSelector().fit_rows(chunks, memory=FEW)
    arrays = FDRSelector(screen="ftrl").fit(X, Y.toarray(), sample_weight=weights)
    assert read.scores_ == pytest.approx(arrays.scores_, abs=1e-6)


def test_rows_of_a_file_with_several_labels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    Y = np.column_stack([X[:, 3] > 0.2, X[:, 9] > 0.0])
    cells = [" ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row)) for row in X]
    labels = [",".join(np.array(["4", "7"])[row]) for row in Y]
    lines = [f"{label} {row}\n" for label, row in zip(labels, cells, strict=True)]
    (tmp_path / "several.svm").write_text("".join(lines))
    read = FDRSelector().fit_rows(open_rows(tmp_path / "several.svm", multilabel=True))
    assert read.classes_.tolist() == [4, 7]
    assert read.support_.tolist() == [3, 9]
    assert read.scores_[0, 3] > 5.0
    assert read.scores_[1, 9] > 5.0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (iter([(np.eye(3), np.arange(3))]), "not an iterator"),
        ([], "no rows"),
        ([(np.eye(3), np.ones(3, dtype=int))], "at least 2 classes"),
        ([(np.eye(3), np.array([0.5, np.nan, 1.0]))], "missing"),
        ([(np.eye(3), None)], "no targets"),
    ],
)
def test_bad_rows_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        FDRSelector().fit_rows(rows)


def test_a_path_needs_all_rows(rows):
    X, _, y = rows
    with pytest.raises(ValueError, match="needs all 3,000 rows in memory"):
        FDRSelector(screen="path").fit_rows(pairs(X, y, 500), memory=FEW)
