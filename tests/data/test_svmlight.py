"""svmlight text: its syntax, comparison with scikit-learn's reader, and chunks of any size."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from tamis import open_rows
from tamis.data.options import Options
from tamis.data.rows import Position, ReadError, ReaderState
from tamis.data.text.svmlight import SvmlightReader

pytestmark = pytest.mark.quick


@pytest.fixture
def write_file(tmp_path):
    """Function that writes a file and returns its path."""

    def write(content, name="a.svm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read_all(rows):
    """Return all chunks of a source as one matrix, with the targets."""
    chunks = list(rows)
    width = max(chunk.X.shape[1] for chunk in chunks)
    for chunk in chunks:
        chunk.X.resize((chunk.X.shape[0], width))
    return sp.csr_array(sp.vstack([chunk.X for chunk in chunks])), np.concatenate(
        [chunk.targets for chunk in chunks]
    )


def test_the_same_as_scikit_learn(tmp_path):
    random = np.random.default_rng(0)
    X, y = (
        sp.random_array((300, 50), density=0.2, rng=random, format="csr"),
        random.normal(size=300),
    )
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    expected, targets = load_svmlight_file(str(path), n_features=50)
    rows = open_rows(path, chunk_rows=37, n_features=50)
    X_read, read_targets = read_all(rows)
    assert np.array_equal(X_read.data, expected.data)
    assert np.array_equal(X_read.indices, expected.indices)
    assert np.array_equal(X_read.indptr, expected.indptr)
    assert np.array_equal(read_targets, targets)
    assert rows.survey().rows == 300


def test_comments_queries_order_duplicates_and_lines(write_file):
    text = "# head\n\n+1 qid:7 3:1 1:2 3:0.5 # tail\r\n  -1\t2:0 5:-1e-3\n1 qid:8\n"
    (chunk,) = open_rows(write_file(text))
    assert chunk.X.toarray().tolist() == [
        [2.0, 0.0, 1.5, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, -1e-3],
        [0.0] * 5,
    ]
    assert chunk.targets.tolist() == [1.0, -1.0, 1.0]
    assert chunk.queries.tolist() == [7, -1, 8]
    assert chunk.first_line == 3
    assert chunk.X.nnz == 3
    assert chunk.X.has_canonical_format


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks(write_file, ending, mark):
    (chunk,) = open_rows(write_file(mark + b"1 1:1\r\n-1 2:2" + ending.encode()))
    assert chunk.X.toarray().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert chunk.targets.tolist() == [1.0, -1.0]


def test_where_columns_begin(write_file):
    rows = open_rows(write_file("1 0:1 2:3\n"))
    assert next(iter(rows)).X.toarray().tolist() == [[1.0, 0.0, 3.0]]
    assert rows.notes == ["columns count from 0 in this file"]
    rows = open_rows(write_file("1 1:1 2:3\n"))
    assert next(iter(rows)).X.toarray().tolist() == [[1.0, 3.0]]
    assert rows.notes == ["columns count from 1 in this file"]
    assert next(
        iter(open_rows(write_file("1 1:1 2:3\n"), zero_based=True))
    ).X.toarray().tolist() == [[0.0, 1.0, 3.0]]
    wrong, advice = "feature index 0; LIBSVM indices start at 1", "Pass zero_based=True"
    with pytest.raises(ReadError, match=rf"line 1, column 3: {wrong}\. {advice}"):
        list(open_rows(write_file("1 0:1\n"), zero_based=False))


def test_a_late_zero_is_refused_in_a_stream_and_found_by_a_survey(write_file):
    path = write_file("1 1:1\n" * 5 + "1 0:1\n")
    with pytest.raises(ReadError, match="line 6, column 3: feature index 0"):
        list(open_rows(path, chunk_rows=2))
    for on_bad in ("error", "skip"):
        rows = open_rows(path, chunk_rows=2, on_bad=on_bad)
        assert rows.survey().rows == 6
        assert rows.survey().features == 2
        assert read_all(rows)[0][[5], [0]] == 1.0


def test_indices_of_64_bits(write_file):
    (chunk,) = open_rows(write_file("1 1:1 3000000000:2\n1 9223372036854775806:3\n"))
    assert chunk.X.indices.tolist() == [0, 2999999999, 2**63 - 3]
    assert chunk.X.indices.dtype == np.int64
    (chunk,) = open_rows(write_file("1 1:1 3000000000:2\n1 9223372036854775806:3\n"), hash_bits=10)
    assert chunk.X.shape == (2, 1024)
    assert sorted(chunk.X.data.tolist()) == [1.0, 2.0, 3.0]


def test_hashed_columns_have_names(write_file):
    path = write_file("".join(f"1 {k}:1\n" for k in range(1, 60)))
    rows = open_rows(path, hash_bits=4)
    X, _ = read_all(rows)
    names = rows.names_of(range(16))
    for k in range(59):
        assert str(k + 1) in names[X.indices[k]].split(" | ") or " more" in names[X.indices[k]]


def test_several_labels(write_file):
    path = write_file("1,3 1:1\n2 2:1\n 1:1\n3,1,3 1:1\n")
    rows = open_rows(path, chunk_rows=1, multilabel=True)
    chunks = list(rows)
    assert rows.labels == [1.0, 2.0, 3.0]
    assert np.vstack([chunk.targets.toarray() for chunk in chunks]).tolist() == [
        [1, 0, 1],
        [0, 1, 0],
        [0, 0, 0],
        [1, 0, 1],
    ]
    assert next(iter(open_rows(path))).targets.shape == (4, 3)
    with pytest.raises(ReadError, match="the line has 2 labels"):
        list(open_rows(path, multilabel=False))
    rows = open_rows(path, multilabel=False, on_bad="skip")
    assert read_all(rows)[1].tolist() == [2.0]
    assert rows.bad.count == 3


def test_rows_without_labels(write_file):
    path = write_file("1 1:1\n1:2 2:1\n")
    assert np.isnan(read_all(open_rows(path, target=False))[1]).tolist() == [False, True]


def test_bad_lines_are_counted_and_the_first_ten_told(write_file):
    path = write_file("".join("1 1:1\n" if k % 3 else f"bad{k} 1:1\n" for k in range(60)))
    rows = open_rows(path, on_bad="skip", chunk_rows=7)
    X, _ = read_all(rows)
    assert X.shape[0] == 40
    assert rows.bad.count == 20
    assert len(rows.bad.first) == 10
    assert "line 4, column 1: label 'bad3'" in rows.bad.first[1]
    assert "format='csv'" in rows.bad.first[1]
    assert read_all(rows)[0].shape[0] == 40
    assert rows.bad.count == 20


def test_columns_beyond_those_allowed(write_file):
    path = write_file("1 1:1\n1 9:1\n")
    with pytest.raises(ReadError, match=r"line 2, column 3: .*'9:1'.* 5 columns"):
        list(open_rows(path, n_features=5))
    rows = open_rows(
        path, schema=open_rows(write_file("1 1:1 5:1\n", "b.svm")).schema | {"n_features": 5}
    )
    assert read_all(rows)[0].shape == (2, 5)
    assert rows.notes[-1].startswith("1 entries ")


def test_numbers_that_python_settles(write_file):
    digits = "0.12345678901234567890123"
    text = "".join(f"{digits} 1:{digits}{k} 2:1\n" for k in range(3000))
    X, y = read_all(open_rows(write_file(text)))
    assert X.toarray()[:, 0].tolist() == [float(f"{digits}{k}") for k in range(3000)]
    assert set(y.tolist()) == {float(digits)}
    one = "1 " + " ".join(f"{k + 1}:{digits}{k}" for k in range(3000)) + "\n"
    X, _ = read_all(open_rows(write_file(one)))
    assert X.toarray()[0].tolist() == [float(f"{digits}{k}") for k in range(3000)]


def test_a_long_line(write_file):
    one = "1 " + " ".join(f"{k + 1}:0.{k}" for k in range(1_200_000)) + "\n"
    assert len(one) > 4 << 20
    X, _ = read_all(open_rows(write_file(one + "-1 1:1\n")))
    assert X.shape == (2, 1_200_000)
    assert X[[0], [4321]] == 0.4321
    assert X.nnz == 1_200_000 - 1 + 1  # 0.0 is not stored


@pytest.mark.parametrize("size", [64, 300, 1 << 22])
def test_chunks_do_not_hang_on_how_bytes_come(write_file, size):
    """A chunk begins where the previous one ended, and its end depends only on the text, so that
    reading can be resumed.
    """
    text = "".join(f"{k % 2} {k % 9 + 1}:{k / 7!r} 12:1 # {'x' * (k % 50)}\n" for k in range(400))
    path = write_file(text)
    reader = SvmlightReader(Options("svmlight", chunk_rows=23, chunk_bytes=size), ReaderState())
    chunks = [rows for rows, _ in reader.read(str(path), Position())]
    for k in (0, len(chunks) // 2, len(chunks) - 1):
        again = SvmlightReader(
            Options("svmlight", chunk_rows=23, chunk_bytes=size),
            ReaderState(base=1, several=False, width=12),
        )
        remaining = [rows for rows, _ in again.read(str(path), chunks[k].position)]
        assert [rows.first_line for rows in remaining] == [
            rows.first_line for rows in chunks[k + 1 :]
        ]
        assert [rows.X.shape for rows in remaining] == [rows.X.shape for rows in chunks[k + 1 :]]
        for a, b in zip(remaining, chunks[k + 1 :], strict=True):
            assert np.array_equal(a.X.data, b.X.data)
            assert a.position == b.position
