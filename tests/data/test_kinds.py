"""Kinds of columns and their encodings: single rules, then whole tables."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from tamis import open_rows
from tamis.data.columns import kinds, profile
from tamis.data.columns.dates import DateDetector, DateEncoding, read_date
from tamis.data.columns.profile import Profile, StringSummary
from tamis.data.columns.texts import RowCounts, tfidf_rows, tokenize
from tamis.data.rows import ReadError
from tamis.data.tables.layout import Layout, StringColumn, TableChunk

pytestmark = pytest.mark.quick

RANDOM = np.random.default_rng(0)


def string_column(values):
    known = {}
    codes = [-1 if v is None else known.setdefault(v, len(known)) for v in values]
    return StringColumn(np.array(codes), list(known))


def kind(values, name="x", decimal="."):
    """The kind of one column of words, or of numbers."""
    numeric = all(isinstance(v, int | float) for v in values)
    table_profile = Profile([name] if numeric else [], [] if numeric else [name], decimal)
    if numeric:
        table_profile.add(TableChunk(np.array(values, float)[:, None], [name], {}), 1, False)
    else:
        chunk = TableChunk(np.empty((len(values), 0)), [], {name: string_column(values)})
        table_profile.add(chunk, 1, False)
    return kinds.kind_of(table_profile.figures(name), decimal)


def sentences(count):
    words = ["red", "green", "blue", "soft", "hard", "new", "old"]
    return [" ".join(RANDOM.permutation(words)[:5]) + f" {k}x{k}" for k in range(count)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([None] * 30, "empty"),
        ([float("nan")] * 30, "empty"),
        (["a"] * 30, "constant"),
        ([7.0] * 30, "constant"),
        (["a"] * 29 + [None], "words"),
        ([1.5, 2.0, 1.0] * 10, "number"),
        (["a", "b", "c"] * 10, "words"),
        (["True", "false", "TRUE"] * 10, "number"),
        (["True", "false", "maybe"] * 10, "words"),
        ([f"2024-01-{k % 28 + 1:02d}" for k in range(30)], "date"),
        ([f"2024-01-{k % 14 + 1:02d}" for k in range(29)] + ["soon"], "words"),
        ([f"user{k}" for k in range(30)], "identifier"),
        ([f"user{k}" for k in range(19)], "words"),
        ([f"user{k % 25}" for k in range(30)], "words"),
        ([float(k) for k in range(30)], "identifier"),
        ([float(k) for k in range(19)], "number"),
        ([float(2 * k) for k in range(30)], "number"),
        ([float(k) + 0.5 for k in range(30)], "number"),
        (sentences(30), "text"),
        (sentences(6) * 10, "words"),
        (["x" * 150 + str(k) for k in range(30)], "text"),
        (["1,5", "-2.000,25", "3"] * 10, "words"),
    ],
)
def test_kinds_by_rule(values, expected):
    assert kind(values) == expected


@pytest.mark.parametrize("name", ["id", "user_id", "userId", "UUID", "row index", "order.key"])
def test_numbers_with_the_name_of_an_identifier(name):
    values = RANDOM.permutation(1000)[:50].astype(float).tolist()
    assert kind(values, name) == "identifier"
    assert kind(values, "price") == "number"
    assert kind([*values, values[0]], name) == "number"  # one twice


def test_decimal_commas_are_numbers_where_asked():
    assert kind(["1,5", "-2.000,25", "3"] * 10, decimal=",") == "number"


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_figures_do_not_depend_on_the_cut(chunk_rows, monkeypatch):
    """Nor where counting stops at a cap, nor what is sampled."""
    monkeypatch.setattr(profile, "MAX_COUNTED_WORDS", 40)
    numbers = RANDOM.normal(1e6, 1.0, size=(500, 3))
    numbers[RANDOM.random(numbers.shape) < 0.1] = np.nan
    words = [f"w{k}" if k % 3 else f"w{k // 10}" for k in range(500)]

    def all_figures(step):
        table_profile = Profile(["a", "b", "c"], ["w"])
        for start in range(0, 500, step):
            end = start + step
            strings = {"w": string_column(words[start:end])}
            table_profile.add(
                TableChunk(numbers[start:end], ["a", "b", "c"], strings), start + 2, True
            )
        return [vars(table_profile.figures(name)) for name in "abcw"]

    for expected_column, column in zip(all_figures(500), all_figures(chunk_rows), strict=True):
        for name, value in expected_column.items():
            if name in ("levels", "dates", "top"):
                continue
            assert np.array_equal(value, column[name]), name
        assert expected_column["levels"] == column["levels"]
    expected = np.nanstd(numbers, axis=0)
    spreads = [figures["spread"] for figures in all_figures(chunk_rows)[:3]]
    np.testing.assert_allclose(spreads, expected, rtol=1e-9)


@pytest.mark.parametrize("step", [1, 50, 70, 5000])
def test_many_words_are_not_all_held(monkeypatch, step):
    monkeypatch.setattr(profile, "MAX_COUNTED_WORDS", 100)
    column = StringSummary()
    for start in range(0, 5000, step):
        end = min(start + step, 5000)
        column.add(string_column([f"user {k}" for k in range(start, end)]), start)
    assert not column.is_counting
    assert len(column.counts) == 100
    summary = column.figures("x", 5000)
    assert summary.distinct is None
    assert kinds.kind_of(summary) == "identifier"


# --------------------------------------------------------------------------- dates
@pytest.mark.parametrize(
    ("word", "date_format", "seconds"),
    [
        ("1970-01-02", "ymd", 86400),
        ("1970-01-01T01:00:00Z", "ymd", 3600),
        ("1970-01-01 01:00+01:00", "ymd", 0),
        ("1970-01-01 00:00-0130", "ymd", 5400),
        ("1970-01-01 00:00:00.25", "ymd", 0.25),
        ("1970/1/2", "y/m/d", 86400),
        ("02.01.1970", "d.m.y", 86400),
        ("01/02/1970", "m/d/y", 86400),
        ("01/02/1970", "d/m/y", 31 * 86400),
        ("1970-02-30", "ymd", None),
        ("1970-01-01 24:00", "ymd", 86400),
        ("1970-01-01 24:00:01", "ymd", None),
        ("1970-01-01 24:30", "ymd", None),
        ("1970-01-01 25:00", "ymd", None),
        ("19700102", "ymd", None),
        ("yesterday", "ymd", None),
    ],
)
def test_ways_to_write_a_date(word, date_format, seconds):
    date = read_date(word, date_format)
    assert (date.seconds if date else None) == seconds


def test_a_day_above_twelve_decides():
    day_first, month_first, ambiguous = DateDetector(), DateDetector(), DateDetector()
    assert day_first.add(["03/04/2024", "13/04/2024"])
    assert day_first.params()["written"] == "d/m/y"
    assert month_first.add(["03/04/2024", "04/13/2024"])
    assert month_first.params()["written"] == "m/d/y"
    assert not day_first.is_order_ambiguous
    assert not month_first.is_order_ambiguous
    assert ambiguous.add(["03/04/2024"])
    assert ambiguous.is_order_ambiguous
    assert not day_first.add(["04/13/2024"])


def test_parts_of_dates():
    detector = DateDetector()
    detector.add(["2024-01-01 10:00", "2024-03-01 22:00", "2024-02-04 10:00"])
    facts = detector.params()
    assert facts["parts"] == [
        "trend",
        *(f"month={m}" for m in (1, 2, 3)),
        *(f"weekday={d}" for d in ("Mon", "Fri", "Sun")),
        *(f"hour={h}" for h in (10, 22)),
    ]
    encoding = DateEncoding.from_params(facts, {part: k for k, part in enumerate(facts["parts"])})
    assert encoding.entries("2024-03-01 22:00") == [(0, 1.0), (3, 1.0), (5, 1.0), (8, 1.0)]
    assert encoding.entries("2024-05-02")[1:] == [(-1, 1.0)] * 3  # a Thursday in May
    assert encoding.entries("soon") is None
    assert encoding.columns("weekday") == {0: 4, 4: 5, 6: 6}
    assert encoding.columns("hour") == {10: 7, 22: 8}
    short = DateDetector()
    short.add(["2024-01-01", "2024-01-20"])
    assert not [part for part in short.params()["parts"] if part[:5] in ("month", "hour=")]


def test_a_guess_is_said(tmp_path):
    lines = "".join(f"{k % 12 + 1:02d}/{k % 9 + 1:02d}/2024,{k % 2}\n" for k in range(60))
    (tmp_path / "a.csv").write_text("when,y\n" + lines)
    rows = open_rows(tmp_path / "a.csv")
    assert any("when: " in note and "month" in note for note in rows.notes)
    assert "when.month=12" in rows.names
    (tmp_path / "a.csv").write_text("when,y\n" + lines + "13/01/2024,0\n")
    rows = open_rows(tmp_path / "a.csv")
    assert not any("month was taken" in note for note in rows.notes)
    assert "when.month=12" not in rows.names


# --------------------------------------------------------------------------- texts
def test_tokens():
    assert tokenize("The cat, a CAT!") == ["the", "cat", "cat"]
    assert tokenize("the cat sat", 2) == ["the", "cat", "sat", "the cat", "cat sat"]


def test_vocabulary_and_weights():
    counts = RowCounts(1)
    counts.add(np.array([0, 1, 1, -1]), ["red red house", "red door"])
    facts = counts.params()
    assert facts["vocabulary"] == ["door", "red"]  # of two rows or more
    assert facts["weights"] == [np.log(5 / 3) + 1, np.log(5 / 4) + 1]
    columns = {"door": 0, "red": 1}
    encoded = tfidf_rows(
        ["red red door", "house"], lambda t: columns.get(t, -1), facts["weights"], 1
    )
    values = np.array([1.0, 1 + np.log(2)]) * facts["weights"]
    np.testing.assert_allclose(encoded[0][1], values / np.linalg.norm(values))
    assert len(encoded[1][0]) == 0


def test_forgetting_rare_words_does_not_depend_on_the_cut(monkeypatch):
    monkeypatch.setattr("tamis.data.columns.texts.MAX_COUNTED", 20)
    texts = [f"w{k % 5}w w{k}x w{k % 3}z" for k in range(100)]
    at_once, one_by_one = RowCounts(1), RowCounts(1)
    at_once.add(np.arange(100), texts)
    for text in texts:
        one_by_one.add(np.array([0]), [text])
    assert at_once.params() == one_by_one.params()


# --------------------------------------------------------------------------- whole tables
def people(n=200):
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(n)],
            "age": RANDOM.integers(20, 60, n),
            "city": np.array(["Bonn", "Ulm"])[RANDOM.integers(0, 2, n)],
            "street": [f"s{k % 3}" if k > 6 else f"rare{k}" for k in range(n)],
            "same": 1,
            "none": np.nan,
            "y": np.arange(n) % 2,
        }
    )


def test_a_table_as_it_is(tmp_path):
    people().to_csv(tmp_path / "a.csv", index=False)
    rows = open_rows(tmp_path / "a.csv")
    assert rows.names == [
        "age",
        "city=Bonn",
        "city=Ulm",
        "street=s0",
        "street=s1",
        "street=s2",
        "street=rare",
    ]
    X = np.vstack([chunk.X.toarray() for chunk in rows])
    assert X[:, 3:].sum() == 200
    assert X[:, 6].sum() == 7
    notes = " / ".join(rows.notes)
    assert "empty in all rows: none" in notes
    assert "the same in all rows: same" in notes
    assert re.search(r"identifiers, .*: id\.", notes)
    assert "share one called rare: street (7)" in notes
    assert json.loads(json.dumps(rows.schema)) == rows.schema


def test_levels_never_met_are_rare_where_there_is_such_a_level(tmp_path):
    people().to_csv(tmp_path / "a.csv", index=False)
    schema = open_rows(tmp_path / "a.csv").schema
    people(3).assign(city="Köln", street="new").to_csv(tmp_path / "b.csv", index=False)
    X = next(iter(open_rows(tmp_path / "b.csv", schema=schema))).X.toarray()
    assert X[:, 1:].tolist() == [[0, 0, 0, 0, 0, 1]] * 3


def test_a_level_of_five_rows_is_not_rare(tmp_path):
    levels = ["a"] * 91 + ["five"] * 5 + ["four"] * 4
    frame = pd.DataFrame({"c": levels, "y": np.arange(100) % 2})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert open_rows(tmp_path / "a.csv").names == ["c=a", "c=five", "c=rare"]
    assert open_rows(tmp_path / "a.csv", rare=6).names == ["c=a", "c=rare"]
    assert open_rows(tmp_path / "a.csv", rare=1).names == ["c=a", "c=five", "c=four"]
    frame[1:].to_csv(tmp_path / "b.csv", index=False)  # 99 rows are few
    assert open_rows(tmp_path / "b.csv").names == ["c=a", "c=five", "c=four"]


def test_what_the_user_says_holds(tmp_path):
    people().to_csv(tmp_path / "a.csv", index=False)
    user_kinds = {"id": "category", "age": "skip", "same": "number", "street": "text"}
    rows = open_rows(tmp_path / "a.csv", kinds=user_kinds, rare=1)
    assert rows.names[:2] == ["id=p0", "id=p1"]
    assert "same" in rows.names
    assert "age" not in rows.names
    assert "street:s1" in rows.names
    with pytest.raises(ReadError, match="asked to be a date, but not all"):
        open_rows(tmp_path / "a.csv", kinds={"city": "date"})
    with pytest.raises(ValueError, match="'zipcode' of column 'age'"):
        open_rows(tmp_path / "a.csv", kinds={"age": "zipcode"})
    with pytest.raises(ReadError, match="kinds='nobody'"):
        open_rows(tmp_path / "a.csv", kinds={"nobody": "text"})


def test_an_empty_column_is_no_empty_file(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,,0\n2,NA,1\n" * 3)
    rows = open_rows(tmp_path / "a.csv")
    assert rows.names == ["a"]
    assert sum(chunk.X.shape[0] for chunk in rows) == 6


@pytest.mark.parametrize("rows_of_chunk", [3, 50, 1000])
def test_columns_in_units_of_their_spread(tmp_path, rows_of_chunk):
    values = np.column_stack(
        (RANDOM.normal(1e15, 1e12, 300), RANDOM.poisson(0.3, 300), RANDOM.normal(5, 2, 300))
    )
    frame = pd.DataFrame(values, columns=["big", "few", "plain"]).assign(y=np.arange(300) % 2)
    frame.to_csv(tmp_path / "a.csv", index=False)
    rows = open_rows(tmp_path / "a.csv", units="spread", chunk_rows=rows_of_chunk)
    X = np.vstack([chunk.X.toarray() for chunk in rows])
    np.testing.assert_allclose(X.std(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(X.mean(axis=0)[[0, 2]], 0.0, atol=1e-9)
    assert (X[:, 1] == 0).sum() == (values[:, 1] == 0).sum()  # sparse stays sparse
    expected_schema = open_rows(tmp_path / "a.csv", units="spread").schema
    assert rows.schema == expected_schema
    again = open_rows(tmp_path / "a.csv", schema=expected_schema)
    assert np.array_equal(np.vstack([chunk.X.toarray() for chunk in again]), X)
    assert any("units of their column's spread" in note for note in rows.notes)


def test_decimal_commas_in_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;y\n" + "1,5;1.000;0\n-2,25;2.500;1\n1,5;3.000;1\n" * 4)
    rows = open_rows(tmp_path / "a.csv")
    assert any("decimal comma: a. Pass decimal=','" in note for note in rows.notes)
    rows = open_rows(tmp_path / "a.csv", decimal=",")
    X = next(iter(rows)).X.toarray()
    assert X[:3].tolist() == [[1.5, 1000], [-2.25, 2500], [1.5, 3000]]
    X = next(iter(open_rows(tmp_path / "a.csv", decimal=",", units="spread"))).X.toarray()
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    (tmp_path / "b.csv").write_text("a;b;y\none;2;0\n")
    with pytest.raises(ReadError, match="'one' in column 'a' is no number"):
        list(open_rows(tmp_path / "b.csv", schema=rows.schema))


def test_decimal_commas_of_the_target_are_told_too(tmp_path):
    (tmp_path / "a.csv").write_text("a;y\n" + "1,5;0,5\n-2,25;1\n1,5;1,25\n" * 4)
    rows = open_rows(tmp_path / "a.csv")
    assert any("decimal comma: a, y. Pass decimal=','" in note for note in rows.notes)
    rows = open_rows(tmp_path / "a.csv", decimal=",")
    assert next(iter(rows)).targets[0] == 0.5
    assert not any("decimal comma" in note for note in rows.notes)


def test_encodings(tmp_path):
    text = "a,city,y\n" + "1,Köln,0\n2,Ulm,1\n" * 3
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    rows = open_rows(tmp_path / "a.csv")
    assert any("another encoding" in note and "city" in note for note in rows.notes)
    assert "city=K\\xf6ln" in rows.names
    rows = open_rows(tmp_path / "a.csv", encoding="latin-1")
    assert rows.names == ["a", "city=Köln", "city=Ulm"]
    assert rows.notes == []
    X = next(iter(open_rows(tmp_path / "a.csv", schema=rows.schema))).X.toarray()
    assert X[:2].tolist() == [[1, 1, 0], [2, 0, 1]]  # the encoding is remembered
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert open_rows(tmp_path / "b.csv").names == ["a", "city=Köln", "city=Ulm"]
    again = open_rows(tmp_path / "b.csv", schema=rows.schema, encoding="utf-8")
    assert next(iter(again)).X.toarray()[:2].tolist() == [[1, 1, 0], [2, 0, 1]]
    for name in ("utf-16", "nobody"):
        with pytest.raises(ValueError, match="ASCII's bytes"):
            open_rows(tmp_path / "a.csv", encoding=name)


def test_gaps_by_column(tmp_path):
    text = "a,b,c,y\n" + "1,u,x y,0\n2,,x z,1\n,v,NA,1\n" * 10
    (tmp_path / "a.csv").write_text(text)
    pattern = r"a \(10 rows, .* line 4\), b \(10 rows, .* line 3\)"
    with pytest.raises(ReadError, match=pattern):
        open_rows(tmp_path / "a.csv", kinds={"c": "text"})
    frame = pd.read_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ReadError, match=pattern.replace("line 4", "row 3").replace("line 3", "row 2")
    ):
        open_rows(tmp_path / "a.parquet", kinds={"c": "text"})
    rows = open_rows(tmp_path / "a.csv", kinds={"c": "text"}, missing="indicator")
    assert rows.names[:2] == ["a", "a=missing"]
    assert "c=missing" not in rows.names  # an empty text has no words
    (tmp_path / "b.csv").write_text("a,b,y\n" + "1,u,0\n2,v,1\n" * 2)
    schema = open_rows(tmp_path / "b.csv").schema
    with pytest.raises(ReadError, match="trained on rows without gaps"):
        list(open_rows(tmp_path / "a.csv", schema=schema))


def test_old_layouts_of_four_fields_load():
    stored = {
        "columns": [["a", "number", False, []], ["b", "words", True, ["u", "v"]]],
        "missing": "zero",
        "hash_bits": 0,
    }
    layout = Layout.from_dict(stored)
    assert layout.names() == ["a", "b=u", "b=v"]
    assert layout.to_dict() == stored
    chunk = TableChunk(np.array([[2.0], [np.nan]]), ["a"], {"b": string_column(["v", "w"])})
    assert layout.encode(chunk).toarray().tolist() == [[2, 0, 1], [0, 0, 0]]


def test_hashed_texts_and_their_names(tmp_path):
    frame = pd.DataFrame({"t": sentences(60), "y": np.arange(60) % 2})
    frame.to_csv(tmp_path / "a.csv", index=False)
    rows = open_rows(tmp_path / "a.csv", hash_bits=10)
    X = next(iter(rows)).X
    assert X.shape[1] == 1024
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    busiest = int(np.bincount(X.indices).argmax())
    assert rows.names_of([busiest])[0].startswith("t:")


# --------------------------------------------------------------------------- what may be meant
SIGNS = [f"${k * 37:,}.50" for k in range(40)]
ODD = [str(k % 30) if k % 8 else "?" for k in range(40)]
SOLD = [f"{k // 3} {k % 13} item" for k in range(1200)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (SIGNS, "words: a ('$0.50')"),
        ([f"{k}%" for k in range(40)], "taken as words: a ('0%')"),
        ([f"{k * 1234:,}" for k in range(1, 41)], "commas at the thousands"),
        (ODD, "words: a ('?' in 5)"),
        ([str(k % 9) if k % 2 else "low" for k in range(40)], None),
        (SOLD, "few rows each: a (1,200)"),
        (["Ulm", "Bonn"] * 20, None),
        ([*["Ulm", "Bonn"] * 20, "ulm "], "levels: a ('Ulm' and 'ulm ')"),
        ([f"0,{k:03d}" for k in range(40)], "decimal comma: a"),
    ],
)
def test_doubts_are_told(values, expected, tmp_path):
    path = tmp_path / "a.csv"
    lines = [f'"{value}";{k}.5;{k % 2}' for k, value in enumerate(values)]
    path.write_text("a;b;y\n" + "\n".join(lines) + "\n")
    kinds = {"a": "category"} if values is SOLD else {}
    notes = [note for note in open_rows(path, kinds=kinds).notes if "separated" not in note]
    if expected is None:
        assert not notes
    else:
        assert any(expected in note for note in notes), notes


def test_columns_in_other_units_are_told_where_nothing_scales_them(tmp_path):
    rng = np.random.default_rng(0)
    huge, usual = 1e15 * rng.normal(size=50), rng.normal(size=50)
    lines = [f"{a},{b:.4f},{k % 2}" for k, (a, b) in enumerate(zip(huge, usual, strict=True))]
    (tmp_path / "a.csv").write_text("huge,usual,y\n" + "\n".join(lines) + "\n")
    (note,) = open_rows(tmp_path / "a.csv").notes
    assert "over 1,000 times the usual" in note
    assert "huge (" in note
    assert "units='spread'" in note
    assert not any("times" in n for n in open_rows(tmp_path / "a.csv", units="spread").notes)


def test_a_file_whose_rows_are_all_bad_says_why(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,\n" + "1,2,\n" * 5)
    with pytest.raises(ReadError, match="no row is left, since 5 were bad"):
        list(open_rows(tmp_path / "a.csv", on_bad="skip"))
    (tmp_path / "b.csv").write_text("1,2,2\n" * 5)
    with pytest.raises(ReadError, match="the header holds numbers alone"):
        open_rows(tmp_path / "b.csv")
