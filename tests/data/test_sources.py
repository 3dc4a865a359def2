"""Sources: names, globs, compression, standard input, detected formats, Vowpal Wabbit's text, npz,
and the end of threads.
"""

import bz2
import gc
import gzip
import lzma
import threading
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from data.corpus import CSV, SVM, TSV, VW, WHOLE, npz
from processes import run_process

from tamis import FTRLClassifier, open_rows
from tamis.data.formats import detect_format
from tamis.data.rows import ReadError


def dense(rows):
    return np.vstack([chunk.X.toarray() for chunk in rows]).tolist()


# --------------------------------------------------------------------------- bytes
@pytest.mark.parametrize(
    ("suffix", "compression"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)],
)
def test_compressed(tmp_path, suffix, compression):
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(compression(SVM * 300))
    rows = open_rows(path, chunk_rows=100)
    chunks = list(rows)
    assert sum(chunk.X.shape[0] for chunk in chunks) == 1200
    again = list(rows.read(chunks[4].position))
    assert [chunk.first_line for chunk in again] == [chunk.first_line for chunk in chunks[5:]]


@pytest.mark.parametrize("suffix", [".zst", ".zstd"])
def test_zstandard(tmp_path, suffix):
    """Two frames: the second begins where the first has ended."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra arrow)")
    compressed = arrow.compress(SVM * 300, codec="zstd", asbytes=True)
    (tmp_path / f"a.svm{suffix}").write_bytes(compressed + compressed)
    chunks = list(open_rows(tmp_path / f"a.svm{suffix}", chunk_rows=100))
    assert sum(chunk.X.shape[0] for chunk in chunks) == 2400
    assert chunks[-1].first_line == 3451  # of 3,600, some of them empty or comments


def test_members_of_gzip_are_read_one_after_the_other(tmp_path):
    """Also with zeros between and after members, and with members without a whole line."""
    lines = [b"1 1:%d\n" % (k * 7919 % 100003 + 1) for k in range(40_000)]
    text = b"".join(lines)
    cuts = [0, 1, 2, 70_001, 70_001, len(text) // 2, len(text)]
    compressed = b"".join(
        gzip.compress(text[start:stop]) + b"\0" * (k * 40_000)
        for k, (start, stop) in enumerate(pairwise(cuts))
    )
    (tmp_path / "a.svm.gz").write_bytes(compressed)
    (tmp_path / "nameless").write_bytes(compressed)
    for name in ("a.svm.gz", "nameless"):
        chunks = list(open_rows(tmp_path / name))
        values = np.concatenate([chunk.X.data for chunk in chunks])
        assert values.tolist() == [k * 7919 % 100003 + 1 for k in range(40_000)]
    rows = open_rows(tmp_path / "a.svm.gz", chunk_rows=900)
    chunks = list(rows)
    again = list(rows.read(chunks[20].position))
    assert [chunk.first_line for chunk in again] == [chunk.first_line for chunk in chunks[21:]]


@pytest.mark.parametrize("tail", [b"no gzip", b"\x1f\x8b and then nothing that is one"])
def test_what_stands_behind_gzip_is_an_error_behind_its_lines(tmp_path, tail):
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress(SVM * 300) + tail)
    rows = open_rows(tmp_path / "a.svm.gz", on_bad="skip")
    assert sum(chunk.X.shape[0] for chunk in rows) == 1200
    assert rows.bad.count == 1
    with pytest.raises(ReadError, match=r"a\.svm\.gz, line 1801: "):
        list(open_rows(tmp_path / "a.svm.gz"))


def test_a_reading_that_is_left_ends_its_threads(tmp_path):
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress(b"1 1:1 2:2 3:3\n" * 2_000_000, 1))
    before = threading.active_count()
    for chunk in open_rows(tmp_path / "a.svm.gz"):
        assert chunk.X.shape[0]
        break
    gc.collect()
    assert threading.active_count() == before


def test_a_cut_file_gives_its_whole_lines_first(tmp_path):
    compressed = gzip.compress(b"".join(b"1 1:%d\n" % (k * 7919 % 100003) for k in range(300_000)))
    (tmp_path / "a.svm.gz").write_bytes(compressed[: len(compressed) // 2])
    rows, n_rows = open_rows(tmp_path / "a.svm.gz"), 0

    def read():
        nonlocal n_rows
        for chunk in rows:
            n_rows += chunk.X.shape[0]

    pattern = r"a\.svm\.gz, line \d+: .*cut short"
    with pytest.raises(ReadError, match=pattern):
        read()
    assert n_rows > 100_000
    rows = open_rows(tmp_path / "a.svm.gz", on_bad="skip")
    assert sum(chunk.X.shape[0] for chunk in rows) == n_rows
    assert rows.bad.count == 1


def test_bad_lines_at_the_end_are_counted_however_slowly_one_reads(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n" * 3 + "1 x:1\n")
    rows = open_rows(tmp_path / "a.svm", on_bad="skip", chunk_rows=1)
    for _ in rows:
        time.sleep(0.05)  # the thread that reads ahead has long met the bad line
    assert rows.bad.count == 1


# --------------------------------------------------------------------------- names
def test_several_files_and_globs(tmp_path):
    for k in range(3):
        (tmp_path / f"part-{k}.svm").write_text(f"1 {k + 1}:1\n-1 1:{k}\n")
    listed = open_rows([tmp_path / "part-0.svm", tmp_path / "part-1.svm", tmp_path / "part-2.svm"])
    chunks = list(listed)
    assert [chunk.first_line for chunk in chunks] == [1, 1, 1]
    assert [chunk.position.rows for chunk in chunks] == [2, 4, 6]
    assert [chunk.X.shape[1] for chunk in chunks] == [1, 2, 3]
    globbed = open_rows(tmp_path / "part-*.svm")
    assert globbed.files == listed.files
    assert globbed.survey().features == 3
    assert [chunk.X.shape[1] for chunk in globbed] == [3, 3, 3]
    remaining = list(globbed.read(chunks[0].position._replace(width=3)))
    assert [chunk.file for chunk in remaining] == globbed.files[1:]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.svm", "no such file"),
        ("*.none", "no file matches"),
        (".", "this is a folder"),
        ([], "no file was named"),
    ],
)
def test_names_that_mean_nothing(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match=message):
        open_rows(source)


def test_parameters_that_mean_nothing(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVM)
    for options in (
        {"on_bad": "ignore"},
        {"format": "xls"},
        {"hash_bits": 0},
        {"hash_bits": 99},
        {"chunk_rows": 0},
        {"zero_based": 3},
        {"missing": "drop"},
    ):
        with pytest.raises(
            ValueError, match=f"The '{next(iter(options))}' parameter of open_rows must be"
        ):
            open_rows(tmp_path / "a.svm", **options)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (SVM, "svmlight"),
        (CSV, "csv"),
        (TSV, "tsv"),
        (VW, "vw"),
        (npz(), "npz"),
        (b"1,3 1:2\n", "svmlight"),
    ],
)
def test_formats_by_sight(tmp_path, content, kind):
    path = tmp_path / "nameless"
    path.write_bytes(content)
    assert detect_format(str(path)) == kind
    assert open_rows(path).format == kind


def test_formats_that_do_not_agree(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVM)
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(ReadError, match="of several formats"):
        open_rows(tmp_path / "a.*")
    (tmp_path / "b").write_text("hello\n")
    with pytest.raises(ReadError, match="neither its name nor its first line says"):
        open_rows(tmp_path / "b")


STDIN = """
    import sys, tamis
    from tamis.data.rows import ReadError
    rows = tamis.open_rows("-", format="svmlight", chunk_rows=2)
    if sys.argv[1] == "keep":
        rows.keep()
    print(sum(chunk.X.shape[0] for chunk in rows))
    try:
        print(sum(chunk.X.shape[0] for chunk in rows), rows.survey().features)
    except ReadError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("keep", "4\n4 7\n"), ("stream", "4\nstandard input: it has been read already")],
)
def test_standard_input(mode, expected):
    assert run_process(STDIN, mode, input=SVM.decode()).startswith(expected)


@pytest.mark.parametrize("kind", ["npz", "arrow", "parquet"])
def test_binary_formats_do_not_come_by_standard_input(kind):
    with pytest.raises(ReadError, match=f"standard input: {kind}"):
        open_rows("-", format=kind)


# --------------------------------------------------------------------------- other formats
def test_vowpal_wabbit(tmp_path):
    (tmp_path / "a.vw").write_text(
        "1 2.0 'tag|a x:1.5 y |b:2 z z\n-1 |a x |b w:3\n0.5 0.25 some_tag| q:0 r\n\n1 |a y:0.1\n"
    )
    rows = open_rows(tmp_path / "a.vw", hash_bits=12)
    (chunk,) = rows
    assert chunk.targets.tolist() == [1.0, -1.0, 0.5, 1.0]
    assert chunk.weights.tolist() == [2.0, 1.0, 0.25, 1.0]
    names = {
        name: column
        for column, name in enumerate(rows.names_of(range(4096)))
        if not name.startswith("bucket")
    }
    assert sorted(names) == ["a^x", "a^y", "b^w", "b^z", "r"]
    dense_rows = chunk.X.toarray()
    assert [dense_rows[0, names[k]] for k in ("a^x", "a^y", "b^z")] == [1.5, 1.0, 4.0]
    assert dense_rows[1, names["b^w"]] == 3.0
    assert dense_rows[3, names["a^y"]] == 0.1
    assert chunk.X.nnz == 7
    assert next(iter(open_rows(tmp_path / "a.vw"))).X.shape[1] == 2**18


def test_hashed_names_are_summed_row_by_row_and_keep_their_order(tmp_path):
    """The entries of a row depend only on that row, so that chunks change no bit of a model."""
    rng, lines = np.random.default_rng(0), []
    for k in range(300):
        names = rng.integers(0, 3000 if k % 7 else 9, 1 + int(rng.integers(0, 700 if k % 5 else 9)))
        values = np.where(rng.random(len(names)) < 0.01, 1e-300, rng.normal(size=len(names)))
        words = " ".join(
            f"w{a}:{b!r}" for a, b in zip(names.tolist(), values.tolist(), strict=True)
        )
        lines.append(f"{k % 2} | {words}\n")
    (tmp_path / "a.vw").write_text("".join(lines))
    unhashed, models = open_rows(tmp_path / "a.vw", hash_bits=20), []
    for rows_of_chunk in (300, 7):
        chunks = list(open_rows(tmp_path / "a.vw", chunk_rows=rows_of_chunk, hash_bits=9))
        model = FTRLClassifier(alpha=0.0)
        for chunk in chunks:
            for first, last in pairwise(chunk.X.indptr):
                columns = chunk.X.indices[first:last]
                assert len(np.unique(columns)) == len(columns)
            model.partial_fit(chunk.X, chunk.targets, classes=[0, 1])
        models.append((sp.vstack([chunk.X for chunk in chunks]), model.coef_))
    (X_whole, coef), (X_chunks, chunks_coef) = models
    assert not X_whole.has_sorted_indices
    assert np.array_equal(X_whole.indices, X_chunks.indices)
    assert np.array_equal(X_whole.data, X_chunks.data)
    assert np.array_equal(coef, chunks_coef)
    total = np.concatenate([chunk.X.sum(axis=1) for chunk in unhashed])
    assert np.allclose(X_whole.sum(axis=1), total)


@pytest.mark.parametrize(
    "name", ["a.svm", "a.csv", "a.tsv", "a.vw", "a.npz", "a.parquet", "a.arrow"]
)
def test_every_format_can_be_taken_up_again(tmp_path, name):
    """Two files, small chunks: reading from each chunk's position yields the same bits."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table(
        {"a": [1.5, 2.0, 0.25] * 9, "b": ["u", "v", "w"] * 9, "y": [0.0, 1.0, 2.0] * 9}
    )
    for k in range(2):
        path = tmp_path / f"{k}{name}"
        if name.endswith("parquet"):
            pa.parquet.write_table(table, path)
        elif name.endswith("arrow"):
            pa.feather.write_feather(table, path)
        else:
            body = WHOLE[name]
            path.write_bytes(body if name.endswith("npz") else body + body.split(b"\n", 1)[1] * 6)
    rows = open_rows(tmp_path / f"?{name}", chunk_rows=2)
    chunks = list(rows)
    assert len(chunks) > 3
    for k, chunk in enumerate(chunks):
        remaining = list(rows.read(chunk.position))
        assert [next_chunk.position for next_chunk in remaining] == [
            next_chunk.position for next_chunk in chunks[k + 1 :]
        ]
        assert [next_chunk.X.toarray().tolist() for next_chunk in remaining] == [
            next_chunk.X.toarray().tolist() for next_chunk in chunks[k + 1 :]
        ]
        assert [next_chunk.first_line for next_chunk in remaining] == [
            next_chunk.first_line for next_chunk in chunks[k + 1 :]
        ]


def test_vowpal_wabbit_rows_without_labels(tmp_path):
    (tmp_path / "a.vw").write_text("1 | a\n| b\n'tag | c\n")
    (chunk,) = open_rows(tmp_path / "a.vw", target=False)
    assert np.isnan(chunk.targets).tolist() == [False, True, True]


def test_collisions_are_shown(tmp_path):
    (tmp_path / "a.vw").write_text("1 | a b c d e f g h\n")
    assert open_rows(tmp_path / "a.vw", hash_bits=1).names_of([0, 1])[0].count(" | ") >= 1


def test_scipys_arrays(tmp_path):
    X = sp.random_array((200, 40), density=0.3, rng=np.random.default_rng(0), format="csr")
    np.savez_compressed(
        tmp_path / "a.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        y=np.arange(200) % 3,
        other=np.arange(200.0),
    )
    rows = open_rows(tmp_path / "a.npz", chunk_rows=33)
    chunks = list(rows)
    assert dense(rows) == X.toarray().tolist()
    assert [chunk.first_line for chunk in chunks] == list(range(1, 200, 33))
    assert (
        np.concatenate([chunk.targets for chunk in chunks]).tolist()
        == (np.arange(200) % 3).tolist()
    )
    assert next(iter(open_rows(tmp_path / "a.npz", target="other"))).targets[5] == 5.0
    again = list(rows.read(chunks[2].position))
    assert [chunk.position for chunk in again] == [chunk.position for chunk in chunks[3:]]
    sp.save_npz(tmp_path / "b.npz", sp.csr_matrix(X))
    assert dense(open_rows(tmp_path / "b.npz", target=False)) == X.toarray().tolist()


# --------------------------------------------------------------------------- manners
def test_a_reading_that_is_left_ends_its_thread(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVM * 5000)
    before = threading.active_count()
    rows = open_rows(tmp_path / "a.svm", chunk_rows=10)
    for _ in rows:
        break
    for chunk in rows:
        if chunk.position.rows > 100:
            break
    del chunk
    import gc

    gc.collect()
    assert threading.active_count() == before


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "a.svm"
    line = b"1 " + b" ".join(b"%d:0.5" % k for k in range(1, 60)) + b"\n"

    def peak(lines):
        path.write_bytes(line * lines)
        tracemalloc.start()
        for _ in open_rows(path):
            pass
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(100)
    assert peak(120_000) < 1.2 * peak(40_000)


def test_a_survey_counts_everything(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVM)
    rows = open_rows(tmp_path / "a.svm", chunk_rows=1)
    survey = rows.survey(columns=True)
    assert (survey.rows, survey.features, survey.nonzeros, survey.longest) == (4, 7, 9, 3)
    assert survey.labels == {1.0: 2, -1.0: 2}
    assert survey.as_classes()
    assert survey.counts[:7].tolist() == [3, 2, 2, 0, 1, 0, 1]
    assert survey.shares()[0] == 0.75
    assert rows.survey(columns=True) is survey
