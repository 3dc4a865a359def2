"""Frames, Arrow streams and URLs: the same columns and predictions as the same table in a file."""

import datetime
import os
import pickle
import runpy
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import tamis
from tamis import FTRLClassifier, Table, open_rows, train, write_page
from tamis.data.rows import ReadError
from tamis.data.tables.frames import encode_frame
from tamis.data.tables.values import number_of, word_of
from tamis.system.terminal import without_secrets

pytestmark = pytest.mark.quick

N = 150
RANDOM = np.random.default_rng(1)
WORDS = np.array(["red", "green", "blue", "soft", "hard"])


def frame():
    age = RANDOM.integers(20, 60, N)
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(N)],
            "age": age,
            "height": np.where(np.arange(N) % 9 == 4, np.nan, RANDOM.normal(170, 10, N).round(1)),
            "city": np.where(np.arange(N) % 7 == 2, None, WORDS[RANDOM.integers(0, 3, N)]),
            "when": pd.date_range("2024-01-01 08:00", periods=N, freq="29h"),
            "member": age % 3 == 0,
            "same": "x",
            "notes": [" ".join(RANDOM.permutation(WORDS)[:4]) + f" no{k}" for k in range(N)],
            "y": np.where(age > 40, "old", "young"),
        }
    )


TABLE = frame()
FEATURES = TABLE.drop(columns="y")


def stacked(rows):
    return np.vstack([chunk.X.toarray() for chunk in rows])


@pytest.fixture
def rows(tmp_path):
    """The table from a file, as the command line reads it."""
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    return open_rows(tmp_path / "a.csv", units="spread", missing="indicator")


def as_polars():
    return pytest.importorskip("polars").from_pandas(FEATURES)


def as_arrow():
    return pytest.importorskip("pyarrow").Table.from_pandas(FEATURES, preserve_index=False)


FRAMES = {
    "pandas": lambda: FEATURES,
    "polars": as_polars,
    "arrow": as_arrow,
    "dict of columns": lambda: {name: FEATURES[name].tolist() for name in FEATURES},
    "list of dicts": lambda: FEATURES.to_dict("records"),
    "strings of pandas": lambda: FEATURES.convert_dtypes(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_what_the_file_gives(rows, kind):
    table = Table(missing="indicator")
    X = table.fit_transform(FRAMES[kind]())
    assert table.get_feature_names_out().tolist() == rows.names
    assert np.array_equal(X.toarray(), stacked(rows))
    assert table.notes_ == rows.notes
    assert table.kinds_ == {
        "id": "identifier",
        "age": "number",
        "height": "number",
        "city": "category",
        "when": "date",
        "member": "number",
        "same": "constant",
        "notes": "text",
    }
    assert np.array_equal(table.transform(FEATURES).toarray(), X.toarray())


@pytest.mark.parametrize("kind", FRAMES)
def test_a_model_of_a_file_predicts_from_frames(rows, kind, tmp_path):
    model = train(FTRLClassifier(), rows, progress=False)
    tamis.save(model, tmp_path / "m")
    expected = model.decision_function(np.vstack([chunk.X.toarray() for chunk in rows]))
    loaded = tamis.load(tmp_path / "m")
    for fitted in (model, loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(fitted.decision_function(FRAMES[kind]()), expected)
    assert loaded.predict(FRAMES[kind]())[0] in ("old", "young")
    record = FEATURES.iloc[[3]].to_dict("records")[0]
    assert loaded.decision_function(record)[0] == expected[3]


def test_rows_one_at_a_time_are_read_alike(rows):
    model = train(FTRLClassifier(), rows, progress=False)
    expected = model.decision_function(stacked(rows))
    served = tamis.live(model)
    for k in (0, 2, 4, 77):
        fields = FEATURES.iloc[[k]].to_dict("records")[0]
        fields = {name: None if value != value else value for name, value in fields.items()}
        assert served.score(fields) == pytest.approx(expected[k])


def test_in_a_pipeline(tmp_path):
    model = make_pipeline(Table(missing="zero"), FTRLClassifier())
    assert model.fit(FEATURES, TABLE["y"]).score(FEATURES, TABLE["y"]) > 0.8
    table = model[0]
    assert table.inverse(["notes:red", "city=red", "when.trend", 0]) == [
        "notes",
        "city",
        "when",
        "age",
    ]
    with pytest.raises(ValueError, match="'nobody' is no column that comes out"):
        table.inverse(["nobody"])
    tamis.save(table, tmp_path / "t")
    loaded = tamis.load(tmp_path / "t")
    assert np.array_equal(loaded.transform(FEATURES).toarray(), table.transform(FEATURES).toarray())
    assert clone(table).get_params() == table.get_params()


def test_what_frames_may_not_be(rows):
    table = Table(missing="zero").fit(FEATURES)
    with pytest.raises(ReadError, match="column 'age' is missing"):
        table.transform({name: FEATURES[name] for name in FEATURES if name != "age"})
    with pytest.raises(ReadError, match="'soon' in column 'when' is no date"):
        table.transform(FEATURES.assign(when="soon").to_dict("list"))
    with pytest.raises(ReadError, match="'many' in column 'age' is no number"):
        table.transform(FEATURES.assign(age="many").to_dict("list"))
    with pytest.raises(ReadError, match=r"height \(1[67] rows, .* row 5\), city"):
        Table().fit(FEATURES)
    filled = FEATURES.fillna({"height": 170, "city": "red"})
    with pytest.raises(ReadError, match=r"has gaps \(NaN or nothing\) in height"):
        Table().fit(filled).transform(FEATURES)


def test_dates_of_python_and_numpy():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(k) for k in range(60)]
    one = Table().fit({"d": days}).layout_
    two = Table().fit({"d": np.array(days, "datetime64[ns]")}).layout_
    three = Table().fit({"d": [f"{day}" for day in days]}).layout_
    assert one == two == three


# --------------------------------------------------------------------------- streams of Arrow
def arrow_sources():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(TABLE, preserve_index=False)
    yield table
    yield table.to_reader(max_chunksize=40)  # can be asked once
    yield TABLE


@pytest.mark.parametrize("number", range(3))
def test_arrow_streams_as_rows(rows, number):
    source = list(arrow_sources())[number]
    arrow_rows = open_rows(source, units="spread", missing="indicator", chunk_rows=32)
    assert arrow_rows.names == rows.names
    assert np.array_equal(stacked(arrow_rows), stacked(rows))
    assert np.array_equal(stacked(arrow_rows), stacked(rows))  # and once more
    temporary_path = arrow_rows.files[0]
    assert os.path.exists(temporary_path)
    del arrow_rows
    assert not os.path.exists(temporary_path)


def test_a_polars_frame_as_rows(rows):
    polars = pytest.importorskip("polars")
    polars_rows = open_rows(polars.from_pandas(TABLE), units="spread", missing="indicator")
    assert polars_rows.names == rows.names
    assert np.array_equal(stacked(polars_rows), stacked(rows))


def test_a_query_over_many_files(tmp_path):
    """Data that lives in a database needs no export."""
    duckdb = pytest.importorskip("duckdb")
    for month in range(3):
        TABLE[month::3].to_parquet(tmp_path / f"part-{month}.parquet")
    query = f"select age, city, y from '{tmp_path}/part-*.parquet' where city is not null"
    rows = open_rows(duckdb.sql(query), chunk_rows=20)
    assert rows.names == ["age", "city=blue", "city=green", "city=red"]
    model = train(FTRLClassifier(), rows, passes=3, progress=False)
    assert model.train_history_[-1]["rows"] == 3 * TABLE["city"].notna().sum()
    assert model.predict({"age": [21, 59], "city": ["red", "blue"]}).shape == (2,)


def test_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    for name in ("a", "b"):
        with fsspec.open(f"memory://tables/{name}.csv", "wb") as file:
            file.write(b"n,c,y\n1,u,0\n2,v,1\n")
    rows = open_rows("memory://tables/*.csv")
    assert stacked(rows).tolist() == [[1, 1, 0], [2, 0, 1]] * 2
    with pytest.raises(ReadError, match=r"memory://tables/nobody\.csv"):
        open_rows("memory://tables/nobody.csv")


def test_addresses_are_told_without_their_secrets(tmp_path):
    pytest.importorskip("fsspec")
    address = "memory://eve:s3cr3t@tables/nobody.csv?token=s3cr3t"
    with pytest.raises(ReadError) as caught:
        open_rows(address)
    assert "memory://...@tables/nobody.csv?...: it" in str(caught.value)
    assert without_secrets(caught.value) == str(caught.value), "shortened twice"
    assert "s3cr3t" not in str(caught.value)
    page = tmp_path / "page.html"
    facts = {"command": f"tamis fit {address} --report"}
    write_page(page, title="A page", audit={"files": [address]}, facts=facts)
    text = page.read_text(encoding="utf-8")
    assert "s3cr3t" not in text
    assert "memory://...@tables/nobody.csv?... --report" in text


def test_a_local_copy_is_not_called_by_the_query():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://tables/a.csv?key=s3cr3t", "wb") as file:
        file.write(b"n,c,y\n1,u,0\n2,v,1\n")
    rows = open_rows("memory://tables/a.csv?key=s3cr3t")
    assert "s3cr3t" not in rows.files[0]
    assert rows.format == "csv"


def test_urls_without_fsspec(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ReadError, match="URLs need fsspec"):
        open_rows("s3://bucket/a.csv")


def test_one_class_from_a_file_is_refused_as_by_fit(tmp_path):
    TABLE.assign(y="old")[["age", "y"]].to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="at least 2 classes") as by_fit:
        FTRLClassifier().fit(TABLE[["age"]], ["old"] * N)
    with pytest.raises(ValueError, match="at least 2 classes") as by_train:
        train(FTRLClassifier(), open_rows(tmp_path / "a.csv"), progress=False)
    assert str(by_fit.value).replace("np.str_('old')", "'old'") == str(by_train.value)


def test_a_query_and_a_stream_predict_and_are_named(rows, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    people = pyarrow.table({"age": [1.0, 2.0, 3.0, 4.0] * 9, "city": ["a", "b"] * 18})
    arrow_rows = open_rows(people.append_column("y", [[0, 0, 1, 1] * 9]))
    model = train(tamis.FTRLClassifier(random_state=0), arrow_rows)
    expected = model.predict(people.to_pandas())
    assert model.predict(duckdb.sql("select city, age from people")).tolist() == expected.tolist()
    with pytest.raises(ReadError, match="the table: target='z' is no column"):
        open_rows(people, target="z")


def test_words_where_numbers_are_wanted_name_the_way_out():
    frame = pd.DataFrame({"age": [1, 2], "city": ["Bonn", "Ulm"]})
    for model in (tamis.FTRLClassifier(), tamis.GroupLassoClassifier()):
        with pytest.raises(ValueError, match=r"'Bonn'.*make_pipeline\(tamis.Table\(\), "):
            model.fit(frame, [0, 1])
    with pytest.raises(TypeError, match="Got ndarray: arrays go to a model's fit"):
        open_rows(np.zeros((3, 3)))


# --------------------------------------------------------------------------- values of any type
ZIPS = [10115, 20095, 80331, 50667] * 10
OPEN = [int(zip in (10115, 80331)) for zip in ZIPS]


@pytest.mark.parametrize("written", [int, float, str, lambda z: f"{z}.0", Decimal])
def test_whole_numbers_are_one_category_however_they_are_written(written, tmp_path):
    table = Table(kinds={"zip": "category"}).fit({"zip": ZIPS})
    assert table.get_feature_names_out()[0] == "zip=10115"
    column = [written(z) for z in ZIPS]
    expected = table.transform({"zip": ZIPS}).toarray()
    assert np.array_equal(table.transform({"zip": column}).toarray(), expected)
    assert np.array_equal(table.transform(pd.DataFrame({"zip": column})).toarray(), expected)
    mixed = {"zip": column[:20] + ZIPS[20:]}
    refitted = Table(kinds={"zip": "category"}).fit(mixed)
    assert refitted.get_feature_names_out().tolist() == table.get_feature_names_out().tolist()
    # A file, its model on other files and on frames, and what leaves Python.
    pd.DataFrame({"zip": ZIPS, "y": OPEN}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"zip": column, "y": OPEN}).to_csv(tmp_path / "b.csv", index=False)
    for bits in (None, 8):
        rows = open_rows(tmp_path / "a.csv", kinds={"zip": "category"}, hash_bits=bits)
        model = train(FTRLClassifier(), rows, passes=3, progress=False)
        assert model.score({"zip": column}, OPEN) == 1.0
        other_rows = open_rows(tmp_path / "b.csv", schema=model.reading_)
        assert np.array_equal(stacked(other_rows), stacked(rows))
        assert not any("has not seen" in note for note in other_rows.notes)
        scores = model.decision_function({"zip": ZIPS[:4]})
        tamis.export(model, tmp_path / "m.py", to="python")
        exported = runpy.run_path(str(tmp_path / "m.py"))
        assert [exported["score"]({"zip": z}) for z in column[:4]] == pytest.approx(scores)


def test_zero_with_a_sign_is_the_level_zero():
    for levels in ([0, 5], [-0.0, 5.0], ["-0.0", "5"], ["-0", "0", "5.0"]):
        table = Table(kinds={"d": "category"}).fit({"d": levels})
        rows = table.transform({"d": ["0", "-0", "-0.0", "0.0", 0, -0.0, 5]}).toarray()
        assert rows.tolist() == [[1.0, 0.0]] * 6 + [[0.0, 1.0]]


def in_all_kinds(values):
    """A column in every kind of frame."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    yield {"a": values}
    yield {"a": pd.Series(values)}
    yield pd.DataFrame({"a": values}).convert_dtypes()
    yield arrow.table({"a": values})
    yield polars.DataFrame({"a": values})


@pytest.mark.parametrize(
    "values",
    [
        [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 10, 30)],
        [datetime.datetime(2024, 1, 1, 1, 2, 3, 500_000), datetime.datetime(2024, 1, 1)],
        [datetime.timedelta(days=-1, seconds=60), datetime.timedelta(seconds=0.5)],
        [1e16, -1e300, 2.0**53, 0.1],
        [Decimal("1.5"), Decimal("2.25"), Decimal("-3"), Decimal("1E-7")],
        [Decimal("0.1000000000000000000001"), Decimal("0.1")],
    ],
    ids=["moments", "fractions", "lengths", "floats", "decimals", "digits"],
)
def test_a_level_is_one_word_in_every_frame_and_file(values, tmp_path):
    table = Table(kinds={"a": "category"}).fit({"a": values})
    expected = table.transform({"a": values}).toarray()
    assert (expected.sum(axis=1) == 1.0).all()
    for X in in_all_kinds(values):
        assert np.array_equal(table.transform(X).toarray(), expected)
    model = make_pipeline(table, FTRLClassifier()).fit({"a": values}, np.arange(len(values)) % 2)
    tamis.export(model, tmp_path / "m.py")
    score = runpy.run_path(str(tmp_path / "m.py"))["score"]
    scores = model.decision_function({"a": values})
    assert [score({"a": value}) for value in values] == pytest.approx(scores)
    are_durations = isinstance(values[0], datetime.timedelta)
    words = [str(value.total_seconds()) if are_durations else word_of(value) for value in values]
    (tmp_path / "a.csv").write_text("\n".join(["a,y", *(f"{word},0" for word in words)]) + "\n")
    rows = open_rows(tmp_path / "a.csv", target="y", kinds={"a": "category"})
    assert np.array_equal(encode_frame({"a": values}, rows.layout).toarray(), stacked(rows))


@pytest.mark.parametrize("missing", ["zero", "indicator"])
def test_words_that_are_gaps_in_text_are_gaps_to_a_model_of_text(missing, tmp_path):
    lines = [f"{k % 3},{('Bonn', 'Ulm', 'NA')[k % 3]},{k % 2}" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["size,city,y", *lines]) + "\n")
    rows = open_rows(tmp_path / "a.csv", missing=missing)
    model = train(FTRLClassifier(1e-5), rows, passes=3, progress=False)
    expected = model.decision_function({"size": [None, 1.0], "city": [None, "Ulm"]})
    tamis.export(model, tmp_path / "m.py")
    score = runpy.run_path(str(tmp_path / "m.py"))["score"]
    for gap in ("NA", "null", "", "None", "n/a"):
        table = {"size": [gap, "1"], "city": [gap, "Ulm"]}
        records = pd.DataFrame(table).to_dict("records")
        for X in (table, records, pd.DataFrame(table)):
            assert model.decision_function(X).tolist() == expected.tolist()
        assert [tamis.live(model).score(row) for row in records] == pytest.approx(expected)
        assert [score(row) for row in records] == pytest.approx(expected)
        pd.DataFrame(table).to_parquet(tmp_path / "b.parquet")
        (chunk,) = open_rows(tmp_path / "b.parquet", schema=model.reading_, target=False)
        assert model.decision_function(chunk.X).tolist() == expected.tolist()


def test_live_takes_numbers_as_predict_does(tmp_path):
    table = {"size": [Decimal("1.5"), Decimal("-2")], "gone": [datetime.timedelta(1), hours(1)[0]]}
    pa = pytest.importorskip("pyarrow")
    for units in ("none", "spread"):
        rows = open_rows(pa.table({**table, "y": [0, 1]}), target="y", units=units)
        model = train(FTRLClassifier(1e-5), rows, progress=False)
        live_model, expected = tamis.live(model), model.decision_function(table)
        records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        assert [live_model.score(row) for row in records] == pytest.approx(expected)
        words = [{name: str(number_of(v)) for name, v in row.items()} for row in records]
        assert [live_model.score(row) for row in words] == pytest.approx(expected)
        with pytest.raises(ValueError, match="the field 'size': 'soon' is no number"):
            live_model.score({"size": "soon", "gone": 1.0})


def test_words_may_be_bytes(tmp_path):
    values = ["Bonn", "Köln", "Ulm"]
    table = Table(kinds={"city": "category"}).fit({"city": values})
    expected = table.transform({"city": values}).toarray()
    encoded = [value.encode() for value in values]
    arrow = pytest.importorskip("pyarrow")
    for X in ({"city": encoded}, {"city": np.array(encoded)}, arrow.table({"city": encoded})):
        assert np.array_equal(table.transform(X).toarray(), expected)
    model = make_pipeline(table, FTRLClassifier()).fit({"city": values}, [0, 1, 1])
    tamis.export(model, tmp_path / "m.py")
    score = runpy.run_path(str(tmp_path / "m.py"))["score"]
    scores = model.decision_function({"city": values})
    assert [score({"city": value}) for value in encoded] == pytest.approx(scores)
    assert table.transform({"city": [b"\xff"]}).nnz == 0


def test_zero_has_no_sign(tmp_path):
    table = Table(kinds={"a": "category"}).fit({"a": [0, 1]})
    for zero in (0, 0.0, -0.0, "-0", "-0.0", "0.0", Decimal("-0")):
        assert table.transform({"a": [zero]}).toarray().tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "m", "h"])
def test_moments_of_every_unit(unit):
    words = ["2024-01-01 10:00", "2024-03-05 11:00", "2024-07-02 12:00"]
    moments = np.array([word.replace(" ", "T") for word in words], dtype=f"M8[{unit}]")
    table = Table().fit({"a": words})
    assert np.array_equal(
        table.transform({"a": moments}).toarray(), table.transform({"a": words}).toarray()
    )


def test_refusals_name_the_column():
    with pytest.raises(ReadError, match="city is skipped"):
        Table(kinds={"city": "skip"}).fit({"city": ["Bonn", "Ulm"]})
    table = Table().fit({"age": [1.0, 2.0], "size": [2.0, 1.0]})
    with pytest.raises(ReadError, match=r"'age' is missing.*The frame has weight"):
        table.transform({"weight": [1.0]})
    with pytest.raises(ReadError, match="'size' is infinite"):
        table.transform({"age": [1.0], "size": [np.inf]})


def test_records_of_pandas_and_numpy_leave_python(tmp_path):
    table = {"age": [1.0, 2.0, None], "gone": [datetime.timedelta(hours=k) for k in (1, 2, 5)]}
    table["notes"] = ["good film", "good film 1000", "bad film 1000"]
    kinds = {"notes": "text"}
    model = make_pipeline(Table(kinds=kinds, missing="indicator"), FTRLClassifier(1e-5))
    model.fit(table, [0, 1, 1])
    tamis.export(model, tmp_path / "m.py")
    score = runpy.run_path(str(tmp_path / "m.py"))["score"]
    row = {"age": pd.NA, "gone": np.timedelta64(3600, "s"), "notes": 1000.0}
    expected = model.decision_function([row])
    assert [score(row)] == pytest.approx(expected)


@pytest.mark.parametrize("written", [bool, int, float, str, lambda v: str(v).lower()])
@pytest.mark.parametrize("fitted", [bool, int, lambda v: str(v).upper()])
def test_truth_is_one_category_however_it_is_written(written, fitted):
    table = Table(kinds={"open": "category"}).fit({"open": [fitted(bool(v)) for v in OPEN]})
    assert len(table.get_feature_names_out()) == 2
    X = table.transform({"open": [written(bool(v)) for v in OPEN]}).toarray()
    assert X[:, 1].tolist() == OPEN
    assert X[:, 0].tolist() == [not v for v in OPEN]


def test_levels_that_the_model_has_not_seen_are_said(tmp_path):
    table = Table(kinds={"zip": "category"}).fit({"zip": ZIPS})
    with pytest.warns(UserWarning, match=r"'zip' \(3 of 4"):
        table.transform({"zip": [1, 2, 3, 10115]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.transform({"zip": [1, 2, 10115, 10115]})  # one half
        rare = {"city": [*"abcd" * 30, *map(str, range(180))]}
        Table().fit(rare).transform(rare)  # most levels were rare when it was fitted, too
    pd.DataFrame({"zip": ZIPS, "y": OPEN}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"zip": [f"D-{z}" for z in ZIPS]}).to_csv(tmp_path / "b.csv", index=False)
    rows = open_rows(tmp_path / "a.csv", kinds={"zip": "category"})
    assert stacked(rows).shape == (40, 4)
    assert not rows.notes[1:]
    other = open_rows(tmp_path / "b.csv", schema=rows.schema, target=False)
    assert stacked(other).sum() == 0.0
    assert "has not seen in 'zip' (40 of 40 rows)" in other.notes[-1]


SAME_NAMES = {
    "dict": {1: [1, 2, 3], "1": [2, 3, 5]},
    "list of dicts": [{1: 1, "1": 2}, {1: 2}, {"1": 3}],
    "pandas": pd.DataFrame([[1, 2], [2, 3], [3, 5]], columns=[1, "1"]),
    "pandas, repeated": pd.DataFrame([[1, 2], [2, 3], [3, 5]], columns=["a", "a"]),
}


@pytest.mark.parametrize("kind", SAME_NAMES)
def test_two_columns_of_one_name_are_refused(kind):
    with pytest.raises(ReadError, match=r"same name.*: (1|'a') and "):
        Table().fit(SAME_NAMES[kind])


def test_names_that_are_numbers_beside_words():
    frame = pd.DataFrame({1: [1.0, 2.0, 4.0], "b": [2, 3, 5]})
    assert Table().fit(frame).transform(frame).shape == (3, 2)


def hours(*values):
    return [None if value is None else datetime.timedelta(hours=value) for value in values]


def as_masked():
    return np.ma.array([1.5, 99.0, 3.0], mask=[False, True, False])


NUMBERS = {  # columns of 1.5, a gap and 3, or of so many hours in seconds
    "Decimal": lambda: [Decimal("1.5"), Decimal("NaN"), Decimal(3)],
    "signalling": lambda: [Decimal("1.5"), Decimal("sNaN"), Decimal(3)],
    "Arrow's decimals": lambda: pa("array", [Decimal("1.5"), None, Decimal(3)]),
    "Polars' decimals": lambda: pl("Series", [Decimal("1.5"), None, Decimal(3)]),
    "masked": as_masked,
    "masked words": lambda: np.ma.array(["1.5", "x", "3"], mask=as_masked().mask).astype(object),
    "flags": lambda: [Decimal("1.5"), np.float32("nan"), 3.0],
    "timedelta": lambda: hours(1.5, None, 3),
    "timedelta64": lambda: pd.Series(hours(1.5, None, 3)),
    "minutes": lambda: np.array([90, "NaT", 180], "m8[m]"),
    "seconds of ns": lambda: np.array([90, "NaT", 180], "m8[m]").astype("m8[ns]"),
    "Arrow's durations": lambda: pa("array", hours(1.5, None, 3)),
    "Polars' durations": lambda: pl("Series", hours(1.5, None, 3)),
}


def pa(name, *values):
    return getattr(pytest.importorskip("pyarrow"), name)(*values)


def pl(name, *values):
    return getattr(pytest.importorskip("polars"), name)(*values)


@pytest.mark.parametrize("kind", NUMBERS)
def test_values_that_are_numbers(kind):
    column = NUMBERS[kind]()
    kinds = {"d": "number"} if kind == "masked words" else None
    table = Table(missing="indicator", units="none", kinds=kinds).fit({"d": column})
    assert table.kinds_ == {"d": "number"}
    unit = 3600.0 if any(word in kind for word in ("delta", "durat", "minu", "sec")) else 1.0
    expected = [[1.5 * unit, 0.0], [0.0, 1.0], [3.0 * unit, 0.0]]
    assert table.transform({"d": column}).toarray().tolist() == expected


def test_decimals_and_lengths_of_time_in_a_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {name: NUMBERS[f"Arrow's {name}"]() for name in ("decimals", "durations")}
    parquet.write_table(pyarrow.table({**columns, "y": [0, 1, 0]}), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", missing="zero")
    assert rows.names == ["decimals", "durations"]
    assert stacked(rows).tolist() == [[1.5, 5400.0], [0.0, 0.0], [3.0, 10800.0]]


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (np.ones((3, 2)), r"holds an array of shape \(3, 2\)"),
        (np.array(3.0), r"holds an array of shape \(\)"),
        ([[1], [2], [3]], "holds a value of type list"),
        ([{"a": 1}, None, None], "holds a value of type dict"),
    ],
)
def test_a_column_has_one_value_a_row(column, what):
    with pytest.raises(ReadError, match=f"column 'd' {what}"):
        Table().fit({"d": column, "e": [1, 2, 3]})
    assert Table(kinds={"d": "skip"}).fit({"d": column, "e": [1, 2, 3]}).kinds_["d"] == "skip"


def test_the_same_moment_is_the_same_number():
    berlin = pd.date_range("2024-03-30 22:30", periods=40, freq="7h", tz="Europe/Berlin")
    forms = [berlin, berlin.tz_convert("UTC"), berlin.tz_convert("Asia/Tokyo"), list(berlin)]
    forms.append(pd.Series(berlin))
    forms.append(pa("array", berlin + pd.Timedelta("3ns")))
    trends = [Table(units="none").fit_transform({"d": one}).toarray()[:, 0] for one in forms]
    for trend in trends:
        assert trend == pytest.approx(trends[0], abs=1e-12)
    names = [Table().fit({"d": one}).get_feature_names_out().tolist() for one in forms]
    assert names[0] == names[-1] == names[-2]


def test_masked_entries_are_gaps_to_models():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        FTRLClassifier().fit(X, [0, 1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        FTRLClassifier().fit(X.data, [0, 1]).predict(X)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        tamis.FTRLRegressor().fit(X.data, np.ma.array([1, 2], mask=[False, True]))
