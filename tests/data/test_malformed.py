"""Malformed files: each is refused with its position and the reason, or read; never a crash, a hang
or a nan.
"""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from data.corpus import BAD, LONG, WHOLE, arrow
from data.forged import bomb, whole
from data.trial import READ, REFUSED, outcome, run
from processes import run_process

from tamis import open_rows
from tamis.data.rows import ReadError

pytestmark = pytest.mark.quick

MUTATIONS = 630  # `python -m benchmarks mutations` does a hundred thousand


def test_the_corpus_is_large():
    assert len(BAD) >= 60


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_the_reason(tmp_path, name):
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError) as caught:
        list(open_rows(tmp_path / name))
    assert words in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_bad_files_can_be_skipped_through(tmp_path, name):
    """Good rows are read; bad ones are counted, or the whole file is refused."""
    (tmp_path / name).write_bytes(BAD[name][0])
    rows = None
    try:
        rows = open_rows(tmp_path / name, on_bad="skip")
        chunks = list(rows)
    except ReadError:
        return
    assert rows.bad.count or any(chunk.X.shape[0] for chunk in chunks)
    assert len(rows.bad.first) == min(rows.bad.count, 10)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(WHOLE[name])
    assert sum(chunk.X.shape[0] for chunk in open_rows(tmp_path / name)) in (3, 4, 80)


# ---------------------------------------------------------------------- values and weights, by line
WEIGHTS = {
    "w.csv": (
        b"a,w,y\n1,1,1\n2,-1,0\n3,-"
        + b"0" * 30
        + b"2.5"
        + b"0" * 30
        + b",1\n4,"
        + LONG
        + b",1\n5,0,0\n",
        ("line 3, column 3: weight '-1'", "line 4", "line 5"),
    ),
    "w.vw": (
        b"1 1 |a b\n1 -1 |a b\n1 -1e5 |a b\n1 " + LONG + b" |a b\n0 0 |a b\n",
        ("line 2", "line 3", "line 4"),
    ),
    "w.arrow": (
        arrow(a=[1.0, 2, 3, 4, 5], w=[1, -1.0, np.inf, np.nan, 0], y=[1.0, 0, 1, 1, 0]),
        ("row 3: inf in column 'w'", "row 2: -1.0 in column 'w' is negative", "row 4"),
    ),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_below_zero_or_not_finite_are_refused_with_their_line(tmp_path, name):
    content, messages = WEIGHTS[name]
    (tmp_path / name).write_bytes(content)
    options = {} if name == "w.vw" else {"weight": "w"}
    with pytest.raises(ReadError) as caught:
        list(open_rows(tmp_path / name, **options))
    assert f"{name}, {messages[0].split(':')[0]}" in str(caught.value)
    rows = open_rows(tmp_path / name, on_bad="skip", **options)
    (chunk,) = rows
    assert chunk.weights.tolist() == [1.0, 0.0]
    assert chunk.targets.tolist() == [1.0, 0.0]
    assert rows.bad.count == 3
    assert all(
        expected in message for expected, message in zip(messages, rows.bad.first, strict=True)
    )


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in BAD
        if name.split(".")[0]
        in ("sum", "label-long", "value-long", "target-long", "long", "nan", "inf", "target")
    ],
)
def test_rows_with_numbers_that_are_too_large_are_skipped_and_counted(tmp_path, name):
    (tmp_path / name).write_bytes(BAD[name][0])
    rows = open_rows(tmp_path / name, on_bad="skip", hash_bits=4 if name.endswith("vw") else None)
    chunks = list(rows)
    assert rows.bad.count == 1
    assert BAD[name][1] in rows.bad.first[0]
    assert sum(chunk.X.shape[0] for chunk in chunks) >= 1
    assert all(
        np.isfinite(chunk.X.data).all() and np.isfinite(chunk.targets).all() for chunk in chunks
    )


def test_rows_of_several_labels_stay_with_their_labels(tmp_path):
    (tmp_path / "a.svm").write_text("1,2 1:1\n2 1:1e308 1:1e308\n1 3:1\n")
    (chunk,) = open_rows(tmp_path / "a.svm", on_bad="skip")
    assert chunk.targets.toarray().tolist() == [[1, 1], [1, 0]]


def test_missing_weights_are_refused_without_targets_too(tmp_path):
    (tmp_path / "a.csv").write_text("a,w,y\n1,1,0\n2,,1\n")
    rows = open_rows(tmp_path / "a.csv", weight="w", target=False, missing="zero", on_bad="skip")
    assert [chunk.weights.tolist() for chunk in rows] == [[1.0]]


def test_words_that_a_dictionary_lists_as_missing(tmp_path):
    """Unsigned codes, and a code for a missing word, as other programs write them."""
    import pyarrow as pa

    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0], pa.uint8()), pa.array(["u", None])
    )
    (tmp_path / "a.arrow").write_bytes(arrow(w=words, y=[0.0, 1.0, 0.0, 1.0]))
    rows = open_rows(tmp_path / "a.arrow", missing="zero")
    assert rows.names == ["w=u"]
    assert np.vstack([chunk.X.toarray() for chunk in rows]).tolist() == [[1], [0], [0], [1]]


# --------------------------------------------------------------------------- bounded memory
@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.xz", "a.vw.zst"])
def test_a_line_without_end_is_refused_in_bounded_memory(tmp_path, name):
    """Eighty million bytes of one line from a small file; the process may use 600 MiB more."""
    line = bomb(f".{name.rsplit('.', 1)[1]}")
    (tmp_path / name).write_bytes(line)
    output = run_process(
        """
        import resource, sys
        import tamis, tamis.data.text.svmlight, tamis.data.text.vowpal, tamis.data.tables.csv
        from pathlib import Path
        from tamis.data.rows import ReadError
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + (600 << 20),) * 2)
        try:
            list(tamis.open_rows(sys.argv[1], on_bad="skip"))
        except ReadError as error:
            print(error)
        """,
        tmp_path / name,
    )
    assert f"{name}, line 1: the line that begins '1111" in output
    assert "longer than 64 MiB" in output


def test_the_longest_line_can_be_said(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n2 " + b"1:1 " * (3 << 18) + b"\n1 1:1\n")
    with pytest.raises(ReadError, match=r"a\.svm, line 2: .*'2 1:1 .* 1 MiB"):
        list(open_rows(tmp_path / "a.svm", max_line_bytes=1 << 20))
    assert sum(chunk.X.shape[0] for chunk in open_rows(tmp_path / "a.svm")) == 3
    with pytest.raises(ValueError, match=r"'max_line_bytes' parameter.* 1048576"):
        open_rows(tmp_path / "a.svm", max_line_bytes=1000)


def test_a_quote_that_is_never_closed_does_not_take_the_file_into_memory(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'a,b,y\n1,2,0\n1,"2,0\n' + b"1,2,0\n" * (1 << 20))
    with pytest.raises(ReadError, match=r"a\.csv, line 3: .* 1 MiB"):
        list(open_rows(tmp_path / "a.csv", max_line_bytes=1 << 20))


def test_a_damaged_file_that_is_taken_up_again(tmp_path):
    """The text before the position cannot be decompressed any more."""
    path = tmp_path / "a.svm.gz"
    path.write_bytes(
        gzip.compress(b"".join(b"1 1:%d\n" % (k * 7919 % 100003) for k in range(100_000)))
    )
    rows = open_rows(path, chunk_rows=20_000)
    *_, last = rows
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 4])
    with pytest.raises(ReadError, match=r"a\.svm\.gz: byte \d+ "):
        list(rows.read(last.position))


# --------------------------------------------------------------------------- mutations
@pytest.mark.parametrize("name", whole())
def test_whole_files_of_every_kind_are_read_in_every_way(tmp_path, name):
    (tmp_path / name).write_bytes(whole()[name])
    assert {outcome(tmp_path / name, turn) for turn in range(0, 30, 5)} == {READ}


def test_mutated_files_are_read_or_refused():
    """No death, no hang, no other error: `outcome` says what reading must give."""
    names, outcomes = list(whole()), run(0, MUTATIONS)
    wrong = {
        number: (names[number % len(names)], result)
        for number, result in outcomes.items()
        if result not in (READ, REFUSED)
    }
    assert not wrong
    assert list(outcomes.values()).count(READ) > MUTATIONS / 10


# ------------------------------------------------------------------------------- where bad rows lay
def rows_file(kind, path, bad):
    """Write a file of forty rows, of which those in `bad` are unreadable."""
    lines = {
        "csv": lambda k: "1,x" if k in bad else f"{k % 5},{k % 2}",
        "svm": lambda k: "1 2:x" if k in bad else f"{k % 2} 1:{k} 2:1",
        "vw": lambda k: "1 | a:b" if k in bad else f"{k % 2} | a:{k + 1} b",
    }
    if kind in lines:
        head = ["a,b"] if kind == "csv" else []
        path.write_text("\n".join([*head, *map(lines[kind], range(40))]) + "\n")
    elif kind == "npz":
        X = sp.csr_array(np.where(np.isin(np.arange(40), bad), np.inf, 1.0)[:, None] * np.ones(2))
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, format="csr")
    else:
        a = [float("inf") if k in bad else float(k % 5) for k in range(40)]
        path.write_bytes(arrow(a=a, b=[float(k % 2) for k in range(40)]))


@pytest.mark.parametrize("kind", ["csv", "svm", "vw", "npz", "arrow"])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("bad", [(), (0,), (39,), (0, 1, 6, 7, 8, 20, 38, 39), tuple(range(1, 40))])
def test_readers_say_where_bad_rows_lay(tmp_path, kind, chunk, bad):
    rows_file(kind, tmp_path / f"whole.{kind}", ())
    rows_file(kind, tmp_path / f"rows.{kind}", bad)
    schema = open_rows(tmp_path / f"whole.{kind}", target=False).schema
    rows = open_rows(
        tmp_path / f"rows.{kind}", schema=schema, target=False, on_bad="skip", chunk_rows=chunk
    )
    all_read = []
    for part in rows:
        is_read = [True] * part.X.shape[0]
        for n_rows in reversed(part.skipped):
            is_read.insert(n_rows, False)
        all_read += is_read
    all_read += [False] * rows.skipped_last
    assert rows.bad.count == len(bad)
    assert [k for k, good in enumerate(all_read) if not good] == list(bad)
    assert len(all_read) == 40
