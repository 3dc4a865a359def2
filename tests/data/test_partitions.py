"""Several files as one source: the first column is the same in all, and merged surveys equal the
survey of all files.
"""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from tamis import FTRLClassifier, open_rows, train
from tamis.data.rows import ReadError
from tamis.data.survey import Survey

pytestmark = pytest.mark.quick

PARTS = ["1 1:1 3:2\n-1 2:5\n", "", "1 0:4 2:1\n1 5:1\n# no row\n", "-1 3:1\n"]
ROWS = [
    [0, 1, 0, 2, 0, 0],
    [0, 0, 5, 0, 0, 0],
    [4, 0, 1, 0, 0, 0],
    [0, 0, 0, 0, 0, 1],
    [0, 0, 0, 1, 0, 0],
]


@pytest.fixture
def files(tmp_path):
    """Files of one set of rows; only one has a column 0, and one has no row."""
    for k, text in enumerate(PARTS):
        (tmp_path / f"part-{k}.svm").write_text(text)
    return sorted(tmp_path.glob("part-*.svm"))


def dense(rows, width=6):
    """Return all rows with the columns of all files."""
    chunks = []
    for chunk in rows:
        chunk.X.resize((chunk.X.shape[0], width))
        chunks.append(chunk.X.toarray())
    return np.vstack(chunks).tolist()


def as_comparable(survey):
    """Return the fields of a survey without duplicate rows, which are counted inside each file."""
    fields = dataclasses.asdict(survey)
    fields["counts"] = fields["counts"][: survey.features].tolist()
    return {
        name: value
        for name, value in fields.items()
        if name not in ("n_duplicate_rows", "observer")
    }


@pytest.mark.parametrize("on_bad", ["error", "skip"])
@pytest.mark.parametrize("order", [1, -1])
def test_where_columns_begin_is_decided_for_all_files(files, order, on_bad):
    """Wherever the file with a column 0 is: no file is shifted, and no line is left out."""
    rows = open_rows(files[::order], on_bad=on_bad)
    assert sorted(dense(rows)) == sorted(ROWS)
    assert rows.base == 0
    assert rows.bad.count == 0
    assert rows.schema["zero_based"] is True
    rows = open_rows(files[::order], on_bad=on_bad)
    assert rows.survey().base == 0
    assert sorted(dense(rows)) == sorted(ROWS)


def test_a_glob_counts_as_one_source(files):
    rows = open_rows(files[0].parent / "part-*.svm", chunk_rows=1)
    assert dense(rows) == ROWS


def test_files_that_all_count_from_1(files):
    for keep in (files[:2], [files[3], files[0]]):
        rows = open_rows(keep)
        assert sorted(dense(rows, 3))[0] in ([0, 0, 1], [0, 5, 0])
        assert rows.base == 1


def test_a_column_0_behind_the_first_chunks_is_refused_or_surveyed(files, tmp_path):
    (tmp_path / "late.svm").write_text("1 1:1\n" * 5 + "1 0:1\n")
    late = [files[0], tmp_path / "late.svm"]
    with pytest.raises(ReadError, match=r"late\.svm, line 6, column 3: .*index 0"):
        list(open_rows(late, chunk_rows=2))
    rows = open_rows(late, chunk_rows=2)
    list(rows.read()) if rows.survey().base == 0 else pytest.fail("the survey saw no column 0")
    assert rows.base == 0


def test_what_is_said_is_not_decided(files):
    with pytest.raises(ReadError, match=r"part-2\.svm, line 1, column 3: .*index 0"):
        list(open_rows(files, zero_based=False))
    assert dense(open_rows(files[3], zero_based=True)) == [[0, 0, 0, 1, 0, 0]]


# --------------------------------------------------------------------------- surveys
def test_surveys_of_parts_are_the_survey_of_the_whole(files):
    expected = open_rows(files).survey(columns=True)
    surveys = [open_rows(name, format="svmlight").look(columns=True) for name in files]
    assert [one_survey.base for one_survey in surveys] == [1, None, 0, 1]
    merged = Survey.merge(surveys)
    assert as_comparable(merged) == as_comparable(expected)
    assert (merged.rows, merged.features, merged.base) == (5, 6, 0)
    assert merged.counts[:6].tolist() == [1, 1, 2, 2, 0, 1]
    assert merged.labels == {1.0: 3, -1.0: 2}
    reversed_merge = Survey.merge(surveys[::-1])
    assert as_comparable(reversed_merge) == as_comparable(expected)


def test_a_part_is_read_by_the_survey_of_all(files):
    """Alone, the columns of the first file seem to count from 1."""
    merged = Survey.merge(open_rows(name, format="svmlight").look() for name in files)
    all_rows = []
    for name in files:
        rows = open_rows(name, format="svmlight")
        rows.apply_survey(merged)
        if rows.look().rows:
            all_rows += dense(open_rows(name, schema=rows.schema))
    assert all_rows == ROWS


def test_numbers_words_and_too_many_targets(tmp_path, monkeypatch):
    for k, text in enumerate(["a,y\n1,u\n2,v\n", "a,y\n3,v\n"]):
        (tmp_path / f"{k}.csv").write_text(text)
    files = [tmp_path / "0.csv", tmp_path / "1.csv"]
    merged = Survey.merge(open_rows(name).survey() for name in files)
    assert merged.classes == ["u", "v"]
    assert merged.base is None
    surveys = [open_rows(name).survey() for name in files]
    monkeypatch.setattr("tamis.data.survey.MAX_CLASSES", 1)
    merged = Survey.merge(surveys)
    assert merged.many
    assert merged.labels == {}
    (tmp_path / "a.svm").write_text("1.5 1:1\n")
    (tmp_path / "b.svm").write_text("2 1:1\n")
    surveys = [open_rows(tmp_path / name).look() for name in ("b.svm", "a.svm")]
    assert not Survey.merge(surveys).is_integer


def test_several_labels_in_one_part_alone(tmp_path):
    (tmp_path / "a.svm").write_text("3 1:1\n")
    (tmp_path / "b.svm").write_text("1,2 2:1\n")
    files = [tmp_path / "a.svm", tmp_path / "b.svm"]
    merged = Survey.merge(open_rows(name).look() for name in files)
    assert merged.several
    rows = open_rows(files[0])
    rows.apply_survey(merged)
    (chunk,) = open_rows(files[0], schema=rows.schema)
    assert chunk.targets.toarray().tolist() == [[0, 0, 1]]


def test_arrays_of_several_widths(tmp_path):
    widths = (3, 5)
    for k in widths:
        X = sp.csr_array(np.eye(k))
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
        np.savez(tmp_path / f"{k}.npz", y=np.arange(k), **arrays)
    files = [tmp_path / f"{k}.npz" for k in widths]
    merged = Survey.merge(open_rows(name).look() for name in files)
    assert merged.features == 5
    rows = open_rows(files[0])
    rows.apply_survey(merged)
    (chunk,) = open_rows(files[0], schema=rows.schema)
    assert chunk.X.shape == (3, 5)


def test_weights_of_0_are_no_rows_to_learn(tmp_path):
    (tmp_path / "a.csv").write_text("a,w,y\n1,0,u\n2,1,v\n3,2,u\n")
    survey = open_rows(tmp_path / "a.csv", weight="w").survey()
    assert (survey.rows, survey.learnt) == (3, 2)
    assert Survey.merge([survey, survey]).learnt == 4


def test_hashed_columns_have_the_width_they_were_given(files):
    surveys = [open_rows(name, format="svmlight", hash_bits=4).look() for name in files]
    assert Survey.merge(surveys).features == 16


def test_a_model_of_many_files(files):
    """Trained file by file with the survey of all, the model equals that of all files at once."""
    whole = train(FTRLClassifier(), open_rows(files))
    merged = Survey.merge(open_rows(name, format="svmlight").look() for name in files)
    model = FTRLClassifier()
    for name in files:
        rows = open_rows(name, format="svmlight")
        rows.apply_survey(merged)
        if rows.look().rows:
            train(model, rows)
    assert np.array_equal(model.coef_, whole.coef_)
    assert whole.reading_["zero_based"] is True
