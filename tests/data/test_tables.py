"""Tables: CSV, TSV, Parquet and Arrow with one layout; listed and hashed words, gaps, names, other
files.
"""

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tamis import Table, open_rows
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.tables import csv
from tamis.data.tables.layout import Layout

pytestmark = pytest.mark.quick

TEXT = (
    'age,colour,"the size",y\n1.5,red,2,yes\n-3,"blue, '
    '""dark""",1e3,no\n0.25,red,7,yes\n2,"two\nlines",0,no\n'
)
NAMES = ["age", 'colour=blue, "dark"', "colour=red", "colour=two\nlines", "the size"]
WANTED = [[1.5, 0, 1, 0, 2], [-3, 1, 0, 0, 1000], [0.25, 0, 1, 0, 7], [2, 0, 0, 1, 0]]


def dense(rows):
    return np.vstack([chunk.X.toarray() for chunk in rows]).tolist()


def targets(rows):
    return np.concatenate([chunk.targets for chunk in rows]).tolist()


@pytest.fixture(params=["csv", "tsv", "parquet", "arrow", "feather"])
def table(request, tmp_path):
    """Function that writes a frame in one of the formats and returns the path."""

    def write(frame, name="a"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
        elif request.param == "tsv":
            frame.to_csv(path, index=False, sep="\t")
        elif request.param == "parquet":
            frame.to_parquet(path)
        elif request.param == "feather":
            frame.to_feather(path, compression="lz4")
        else:
            import pyarrow as pa

            batch = pa.Table.from_pandas(frame, preserve_index=False)
            with (
                pa.OSFile(str(path), "wb") as file,
                pa.ipc.new_stream(file, batch.schema) as writer,
            ):
                writer.write_table(batch, max_chunksize=3)
        return path

    return write


def frame():
    return pd.read_csv(io.StringIO(TEXT))


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_every_format_gives_the_same_rows(table, chunk_rows):
    rows = open_rows(table(frame()), chunk_rows=chunk_rows)
    assert rows.names == NAMES
    assert rows.n_features == 5
    assert dense(rows) == WANTED
    assert targets(rows) == ["yes", "no", "yes", "no"]
    assert all(chunk.X.has_canonical_format for chunk in rows)


def test_columns_by_name_and_number(table):
    path = table(frame().assign(w=[1.0, 2.0, 3.0, 4.0]))
    rows = open_rows(path, target="age", weight="w", ignore=["y", 1])
    assert rows.names == ["the size"]
    assert targets(rows) == [1.5, -3.0, 0.25, 2.0]
    assert np.concatenate([chunk.weights for chunk in rows]).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert open_rows(path, target=0, ignore=["w"]).names == [*NAMES[1:], "y=no", "y=yes"]
    with pytest.raises(ReadError, match="target='nobody'"):
        open_rows(path, target="nobody")


def test_numbers_as_words_and_hashing(table):
    path = table(frame())
    rows = open_rows(path, categorical=["age"])
    assert rows.names[:4] == ["age=-3", "age=0.25", "age=1.5", "age=2"] or rows.names[:4] == [
        "age=-3.0",
        "age=0.25",
        "age=1.5",
        "age=2.0",
    ]
    rows = open_rows(path, hash_bits=3)
    assert rows.n_features == 2 + 8
    X = np.array(dense(rows))
    assert X[:, :2].tolist() == [[1.5, 2], [-3, 1000], [0.25, 7], [2, 0]]
    assert X[:, 2:].sum(axis=1).tolist() == [1.0] * 4
    buckets = X[:, 2:].argmax(axis=1)
    names = rows.names_of(2 + buckets)
    assert "colour=red" in names[0]
    assert "colour=two\nlines" in names[3]
    assert rows.names_of([0]) == ["age"]


@pytest.mark.parametrize("gap", [np.nan, None])
def test_missing_entries(table, gap):
    with_gaps = frame()
    with_gaps.loc[0, "age"], with_gaps.loc[1, "colour"] = gap, None
    path = table(with_gaps)
    with pytest.raises(ReadError, match=r"age.*missing='zero'"):
        list(open_rows(path))
    rows = open_rows(path, on_bad="skip")
    assert len(dense(rows)) == 2
    assert rows.bad.count == 2
    assert dense(open_rows(path, missing="zero")) == [
        [0, 1, 0, 2],
        [-3, 0, 0, 1000],
        [0.25, 1, 0, 7],
        [2, 0, 1, 0],
    ]
    rows = open_rows(path, missing="indicator")
    assert rows.names == [
        "age",
        "age=missing",
        "colour=red",
        "colour=two\nlines",
        "colour=missing",
        "the size",
        "the size=missing",
    ]
    assert dense(rows) == [
        [0, 1, 1, 0, 0, 2, 0],
        [-3, 0, 0, 0, 1, 1000, 0],
        [0.25, 0, 1, 0, 0, 7, 0],
        [2, 0, 0, 1, 0, 0, 0],
    ]


def test_missing_targets(table):
    with_gaps = frame()
    with_gaps.loc[2, "y"] = None
    for missing in ("error", "zero", "indicator"):
        with pytest.raises(ReadError, match=r"missing|is empty"):
            list(open_rows(table(with_gaps), missing=missing))
        rows = open_rows(table(with_gaps), missing=missing, on_bad="skip")
        assert targets(rows) == ["yes", "no", "no"]
        assert rows.bad.count == 1


def test_another_file_by_the_same_columns(table):
    schema = open_rows(table(frame())).schema
    other = pd.DataFrame(
        {"the size": [1, 0], "more": [5, 6], "colour": ["green", "red"], "age": [2.0, 3.0]}
    )
    rows = open_rows(table(other, "b"), schema=schema, target=False)
    assert dense(rows) == [[2, 0, 0, 0, 1], [3, 0, 1, 0, 0]]
    assert next(iter(rows)).targets is None
    with pytest.raises(ReadError, match="column 'age' is missing"):
        list(open_rows(table(other.drop(columns="age"), "c"), schema=schema, target=False))


def test_numeric_csv_against_pandas(tmp_path):
    random = np.random.default_rng(0)
    values = random.normal(size=(500, 30)) * 10.0 ** random.integers(-200, 200, (500, 30))
    values[random.random(values.shape) < 0.3] = 0.0
    pd.DataFrame(values, columns=[f"c{k}" for k in range(30)]).to_csv(
        tmp_path / "a.csv", index=False
    )
    rows = open_rows(tmp_path / "a.csv", chunk_rows=64)
    X = sp.vstack([chunk.X for chunk in rows]).toarray()
    assert np.array_equal(X, values[:, :-1])
    assert np.array_equal(targets(rows), values[:, -1])


def test_words_after_many_numbers(tmp_path):
    """With string columns the table is profiled first, which detects late words; otherwise the line
    is refused.
    """
    lines = [f"{k % 300},{'uv'[k % 2]},{k % 2}\n" for k in range(1500)] + ["late,u,0\n"] * 5
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(lines))
    rows = open_rows(tmp_path / "a.csv")
    assert rows.n_features == 301 + 2
    assert rows.names[-4:] == ["a=99", "a=late", "b=u", "b=v"]


def test_records_that_cross_chunks(tmp_path):
    text = "a,b,y\n" + "".join(f'{k},"{"line" * (k % 5)}\n{k % 3}",{k % 2}\n' for k in range(300))
    (tmp_path / "a.csv").write_text(text)

    rows = open_rows(tmp_path / "a.csv", kinds={"a": "number"})
    expected = dense(rows)
    rows.options = rows.options._replace(chunk_bytes=50)
    chunks = list(rows)
    assert len(chunks) > 50
    assert np.vstack([chunk.X.toarray() for chunk in chunks]).tolist() == expected
    lines = text.split("\n")
    for chunk in chunks[:20]:
        assert lines[chunk.first_line - 1].split(",")[0] == str(int(chunk.X.toarray()[0, 0]))
    again = list(rows.read(chunks[7].position))
    assert [chunk.position for chunk in again] == [chunk.position for chunk in chunks[8:]]


def test_delimiters(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;y\n1;2;0\n3;4;1\n")
    rows = open_rows(tmp_path / "a.csv")
    assert dense(rows) == [[1, 2], [3, 4]]
    assert rows.notes == ["fields are separated by ';'"]
    assert dense(open_rows(tmp_path / "a.csv", delimiter=";")) == [[1, 2], [3, 4]]
    with pytest.raises(ReadError, match=r"line 1: .*'a;b;y'.*delimiter="):
        open_rows(tmp_path / "a.csv", delimiter=",")


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("1,2,0\ninf,2,1\n", {}),
        ("1,2,0\n,2,1\n", {}),
        ("1,2,0\n-1,2,1\n", {"weight": 0}),
        ('1,2,0\n"1,2,1\n', {}),
        ("1,2,0\nu,2,1\n", {"kinds": {0: "date"}}),
        ("1,2,0\nu,2,1\n", {"kinds": {0: "number"}}),
        ("1,2,0\n1,2,1\n", {"target": "no such " * 100}),
        ("1,2,0\n,2,1\n", {"target": 0}),
    ],
)
def test_long_names_are_shortened(tmp_path, lines, options):
    name = "begin " + "x" * 500 + " end"
    (tmp_path / "a.csv").write_text(f"{name},b,y\n{lines}")
    with pytest.raises(ReadError, match=r"begin x{24}\.\.\.x+ end") as refused:
        list(open_rows(tmp_path / "a.csv", **options))
    assert "x" * 60 not in str(refused.value)
    assert "no such " * 10 not in str(refused.value)


def test_long_names_of_columns_that_are_missing_are_shortened(tmp_path):
    wide = {f"{k}{'x' * 500}": [1.0, 2.0] for k in range(3)}
    table = Table().fit(wide)
    with pytest.raises(ReadError, match=r"column '0x+\.\.\.x+' is missing") as refused:
        table.transform({name: wide[name] for name in list(wide)[1:]})
    assert len(str(refused.value)) < 400


def test_a_header_is_one_line(tmp_path):
    (tmp_path / "a.csv").write_text('"a\nb",c,y\n1,2,0\n3,4,1\n')
    with pytest.raises(ReadError, match=r"line 1: the header '\"a'"):
        open_rows(tmp_path / "a.csv")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_numbers_in_words_of_arrow_are_numbers_to_a_model(kind, tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, -3e7], "y": [0, 1, 1]})
    write = {"parquet": pd.DataFrame.to_parquet, "feather": pd.DataFrame.to_feather}[kind]
    write(frame, tmp_path / f"a.{kind}")
    rows = open_rows(tmp_path / f"a.{kind}", missing="zero")
    write(frame.assign(a=["1.5", None, "-3e7"]), tmp_path / f"b.{kind}")
    again = open_rows(tmp_path / f"b.{kind}", schema=rows.schema)
    assert dense(again) == dense(rows)
    write(frame.assign(a=["1.5", None, "soon"]), tmp_path / f"c.{kind}")
    with pytest.raises(ReadError, match=rf"c\.{kind}: 'soon' in column 'a' is no number"):
        list(open_rows(tmp_path / f"c.{kind}", schema=rows.schema))


def test_words_that_are_to_be_numbers_are_read_or_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;0\n;1\n-2;1\n")
    as_number = {"kinds": {"x": "number"}, "missing": "zero", "target": "y"}
    assert dense(open_rows(tmp_path / "a.csv", decimal=",", **as_number)) == [[1.5], [0], [-2]]
    with pytest.raises(ReadError, match="'1,5' in column 'x' is no number"):
        list(open_rows(tmp_path / "a.csv", **as_number))


def test_nested_columns_are_refused(tmp_path):
    pd.DataFrame({"a": [[1], [2]], "y": [0, 1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReadError, match="column 'a' is of type list"):
        open_rows(tmp_path / "a.parquet")
    pd.DataFrame({"a": [[1], [2]], "b": [1, 2], "y": [0, 1]}).to_parquet(tmp_path / "b.parquet")
    for options in ({"ignore": ["a"]}, {"kinds": {"a": "skip"}}):
        assert open_rows(tmp_path / "b.parquet", **options).names == ["b"]


# --------------------------------------------------------------------------- many columns
class CountedName(str):
    """A name that counts how often it is compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedName.comparisons += 1
        return str.__eq__(self, other)


def comparisons(path, monkeypatch, **options):
    """Return how many names are compared while a table is read."""
    original = csv.read_header

    def read_counted_header(*arguments):
        names, delimiter = original(*arguments)
        return [CountedName(name) for name in names], delimiter

    monkeypatch.setattr(csv, "read_header", read_counted_header)
    CountedName.comparisons = 0
    rows = open_rows(path, missing="indicator", **options)
    assert sum(chunk.X.shape[0] for chunk in rows) == 40
    list(open_rows(path, schema=rows.schema))
    assert rows.notes is not None
    monkeypatch.undo()
    return CountedName.comparisons


CELLS = {
    "numbers": (lambda row, k: str((row * 7 + k) % 9 / 2), {}),
    "units": (lambda row, k: str((row * 7 + k) % 9 / 2), {"units": "spread"}),
    "gaps": (lambda row, k: str((row * 7 + k) % 9) if (row + k) % 5 else "", {}),
    "words": (lambda row, k: "abc"[(row + k) % 3], {}),
    "hashed": (lambda row, k: "abc"[(row + k) % 3], {"hash_bits": 10}),
    "commas": (lambda row, k: f'"{(row * 7 + k) % 9},5"', {}),
    "dates": (lambda row, k: f"2024-{1 + (row + k) % 12:02d}-15", {}),
    "texts": (lambda row, k: f"one{row % 9} two{k % 7} three{row}", {"kinds": "text"}),
    "ignored": (lambda row, k: str((row * 7 + k) % 9 / 2), {"ignore": True}),
}


@pytest.mark.parametrize("kind", CELLS)
def test_work_on_names_grows_as_the_columns(kind, tmp_path, monkeypatch):
    cell, options = CELLS[kind]
    counts = []
    for width in (30, 300):
        names = [f"c{k}" for k in range(width)]
        lines = [",".join(cell(row, k) for k in range(width)) + f",{row % 2}" for row in range(40)]
        (tmp_path / "a.csv").write_text("\n".join([",".join(names) + ",y", *lines]) + "\n")
        read_options = dict(options)
        if "ignore" in read_options:
            read_options["ignore"] = names[2:]
        if "kinds" in read_options:
            read_options["kinds"] = dict.fromkeys(names, "text")
        counts.append(comparisons(tmp_path / "a.csv", monkeypatch, **read_options))
    assert counts[1] <= 13 * counts[0]


def test_columns_of_words_are_found_in_few_readings(tmp_path, monkeypatch):
    """Although the first rows of all columns are numbers, and the scan stops at a line's first
    error.
    """
    columns = range(60)
    lines = [",".join(str((row + k) % 9) for k in columns) for row in range(260)]
    for row in range(220, 260):
        lines[row] = ",".join("x" if k % 3 == row % 3 else "NA" if k == 1 else "4" for k in columns)
    text = "\n".join([",".join(f"c{k}" for k in columns) + ",y", *(f"{line},1" for line in lines)])
    (tmp_path / "a.csv").write_text(text.replace(",1\n", ",0\n", 100) + "\n")
    readings, read_chunks = [], csv.RecordReader.chunks
    monkeypatch.setattr(
        csv.RecordReader, "chunks", lambda *a: readings.append(a) or read_chunks(*a)
    )
    rows = open_rows(tmp_path / "a.csv", missing="zero", units="spread")
    assert len(readings) == 2
    assert all(f"c{k}=x" in rows.names for k in columns)


def test_chunks_of_wide_tables_have_several_rows():
    options = Options("csv")
    assert csv.chunk_bytes_of(["a"] * 10, options) == options.chunk_bytes
    assert csv.chunk_bytes_of(["a"] * 100_000, options) == 16 * 8 * 100_000
    assert csv.chunk_bytes_of(["a"] * 10_000_000, options) == 1 << 25


@pytest.mark.parametrize(
    "stored", [True, 3, {"columns": [True]}, {"columns": [["a", "number", 1]]}]
)
def test_a_damaged_layout_is_refused(stored):
    with pytest.raises(ValueError, match="layout of a table is damaged"):
        Layout.from_dict(stored)
