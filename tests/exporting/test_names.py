"""Hostile names, classes, levels and values: exports say what `predict` says, or refuse."""

import json
import re
import sqlite3
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from exporting.queries import run_query
from exporting.test_edges import handmade
from sklearn.pipeline import make_pipeline

import tamis
from tamis import FTRLClassifier, FTRLRegressor, Table
from tamis.exporting.export import export_bytes
from tamis.exporting.forms.sql import to_sql
from tamis.exporting.inputs.fields import Field

TABLES = 1000
NAMES = ["tamis_score", "TAMIS_Score_1", "Tamis_prediction", "tamis2_score", "tamis_probability"]
NAMES += ["scored", "t", "x", "X", "d", "s", 'a"b', "a'b", "a;--", "a\nb", " ", "rowid", "select"]
NAMES += [
    "İ",
    "ß",
    "SS",
    "ſ",
    "tamıs_score",
    "%s",
    "?1",
    ":a",
    "\\",
    "--",
    "/*",
    "日本",
    "🙂",
    "t.x",
]
WORDS = [
    "x",
    "X",
    "z",
    "it's",
    "NULL",
    "a\0b",
    "a",
    "1",
    "'",
    "''",
    '"',
    "--",
    "\\",
    "é",
    "e\u0301",
    "🙂",
]
WORDS += ["a\nb", "x ", " x", "?", "%", "true", "-1", "ß", "SS", "NA", "2024-01-01"]
DATES = ["2024-01-31", "2024-01-31 24:00", "2024-12-31 24:00:00", "2023-02-28 23:59:59.5"]
DATES += ["2024-02-29T10:00Z", "2024-03-01 10:00 UTC", "2024-05-01 05:06:07,25"]


def hostile_tables(seed=0):
    """Models of small tables, and what they are asked, without an end."""
    rng = np.random.default_rng(seed)

    def some(pool, count, again=False):
        return [pool[k] for k in rng.choice(len(pool), count, replace=again)]

    while True:
        kinds = some(["number"] * 4 + ["category"] * 5 + ["date"], rng.integers(1, 4))
        names, table = some(NAMES, len(kinds)), {}
        for name, kind in zip(names, kinds, strict=True):
            pool = {"number": [0.0, 1.5, -3e7, 1e-9], "date": DATES}.get(kind) or some(WORDS, 4)
            table[name] = [None if rng.random() < 0.1 else one for one in some(pool, 16, True)]
            table[name][:2] = pool[:2]  # no column is empty
        classes = some(WORDS, rng.integers(2, 4))
        y = [*classes, *some(classes, 16 - len(classes), True)]
        actual = Table(kinds=dict(zip(names, kinds, strict=True)), missing="zero", rare=3)
        steps = make_pipeline(actual, FTRLClassifier(1e-5, max_iter=3, tol=None, random_state=0))
        yield steps.fit(table, y), table


def alike(names):
    """Whether a database takes some of the names for one."""
    return len({name.lower() if name.isascii() else name for name in names}) < len(names)


@pytest.mark.filterwarnings("ignore:.*kept no feature")
def test_queries_of_hostile_tables_say_what_predict_says():
    for model, table in islice(hostile_tables(), TABLES):
        if alike(table):
            with pytest.raises(ValueError, match="capitals"):
                export_bytes(model, "sql")
            continue
        query = export_bytes(model, "sql").decode()
        actual = run_query(query, list(table), list(zip(*table.values(), strict=True)))
        made = {name.casefold() for name in actual if name not in table}
        assert len(made) == len(actual) - len(table)
        assert made.isdisjoint(name.casefold() for name in table)
        told = next(name for name in actual if name.endswith("_prediction") and name not in table)
        assert list(actual[told]) == model.predict(table).tolist(), query
        scores = model.decision_function(table).reshape(16, -1)
        got = np.column_stack(list(actual.values())[: scores.shape[1]])
        np.testing.assert_allclose(got, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*kept no feature")
def test_other_forms_of_hostile_tables_say_what_predict_says():
    for model, table in islice(hostile_tables(1), 60):
        alone = {}
        exec(export_bytes(model, "python"), alone)
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        assert [alone["predict"](row) for row in rows] == model.predict(table).tolist()
        told = json.loads(export_bytes(model, "json"))
        assert told["classes"] == model.classes_.tolist()
        assert {field["name"] for field in told["reading"]["fields"]} <= set(table)


@pytest.mark.filterwarnings("ignore:.*kept no feature")
@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
def test_duckdb_says_the_same_of_hostile_tables(dialect):
    """Also by the query for PostgreSQL, whose grammar DuckDB has."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    for model, table in islice(hostile_tables(2), 100):
        if alike(table):
            continue
        if dialect == "postgresql" and "a\0b" in model.classes_:
            with pytest.raises(ValueError, match="NUL"):
                export_bytes(model, "sql", dialect=dialect)
            continue
        if dialect == "postgresql" and any("a\0b" in column for column in table.values()):
            continue  # which no table of PostgreSQL holds
        kinds, base = model[0].kinds, duckdb.connect()
        columns = [
            '"'
            + name.replace('"', '""')
            + f'" {"DOUBLE" if kinds[name] == "number" else "VARCHAR"}'
            for name in table
        ]
        base.execute(f'CREATE TABLE "rows" ({", ".join(columns)})')
        rows = list(zip(*table.values(), strict=True))
        base.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * len(table))})', rows)
        actual = base.execute(export_bytes(model, "sql", dialect=dialect).decode()).fetchall()
        assert [row[-1] for row in actual] == model.predict(table).tolist()


# --------------------------------------------------------------------------- columns not known
def test_a_column_that_nobody_knows_of_is_not_taken_for_a_score():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = FTRLClassifier(random_state=0).fit(X, X[:, 0] > 0)
    rows = [[*row, -score] for row, score in zip(X, model.decision_function(X), strict=True)]
    actual = run_query(export_bytes(model, "sql").decode(), ["x0", "x1", "Tamis_Score"], rows)
    assert [bool(one) for one in actual["tamis_prediction"]] == model.predict(X).tolist()


def test_a_column_may_take_small_letters_for_capitals():
    model = make_pipeline(Table(), FTRLClassifier(1e-5, random_state=0))
    model.fit({"city": ["Bonn", "ulm"] * 20}, [0, 1] * 20)
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE "rows" (city TEXT COLLATE NOCASE)')
    base.execute("INSERT INTO \"rows\" VALUES ('bonn')")
    score = base.execute(export_bytes(model, "sql").decode()).fetchone()[0]
    assert score == pytest.approx(model.decision_function({"city": ["bonn"]})[0])


@pytest.mark.parametrize("form", ["sql", "python", "json"])
def test_names_that_come_twice_are_refused(form):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="2 columns are called 'a'"):
        export_bytes(model, form, names=["a", "a"])


def test_names_that_a_database_cannot_hold_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="NUL"):
        export_bytes(model, "sql", names=["a\0", "b"])
    with pytest.raises(ValueError, match="63"):
        export_bytes(model, "sql", names=["n" * 64, "n" * 65], dialect="postgresql")
    assert export_bytes(model, "sql", names=["a", "A"], dialect="postgresql")


@pytest.mark.parametrize("form", ["sql", "onnx"])
def test_half_a_character_is_refused_or_kept(form):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(X, X[:, 0] > 0)
    told = json.loads(export_bytes(model, "json", names=["a\ud800", "b"]))
    assert told["features"][0]["name"] == "a\ud800"
    if form == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    with pytest.raises(ValueError, match="half a character"):
        export_bytes(model, form, names=["a\ud800", "b"], inputs="fields")


# --------------------------------------------------------------------------- values
def test_blanks_are_gaps_as_they_are_in_the_file(tmp_path):
    """As `.import --csv` of SQLite leaves them: all cells are texts."""
    rng, path, lines = np.random.default_rng(0), tmp_path / "train.csv", ["age,city,day,y"]
    for k in range(200):
        city = ["Bonn", "Ulm", "", "na", f"rare{k}"][rng.integers(5)]
        age = ["", f" {rng.integers(20, 60)}.5 "][int(rng.random() > 0.2)]
        day = ["", f"2024-0{rng.integers(1, 9)}-11"][int(rng.random() > 0.2)]
        lines.append(f"{age},{city},{day},{int(city == '' or '-07-' in day or '3' in age)}")
    path.write_text("\n".join(lines) + "\n")
    for missing in ("zero", "indicator"):
        model = FTRLClassifier(alpha=1e-4, random_state=0)
        kinds = {"city": "category"}
        source = tamis.open_rows(path, missing=missing, units="spread", kinds=kinds)
        tamis.train(model, source, passes=5)
        chunks = tamis.open_rows(path, schema=model.reading_)
        want = np.concatenate([model.decision_function(chunk.X) for chunk in chunks])
        rows = [line.split(",") for line in lines[1:]]
        actual = run_query(export_bytes(model, "sql").decode(), lines[0].split(","), rows)
        np.testing.assert_allclose(actual["tamis_score"], want, rtol=0, atol=1e-12)


def test_levels_that_other_files_take_for_gaps_are_levels(tmp_path):
    frame = pd.DataFrame({"city": ["None", "Ulm", None] * 40, "y": ["a", "b", "b"] * 40})
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra arrow)")
    frame.to_parquet(tmp_path / "train.parquet")
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    source = tamis.open_rows(tmp_path / "train.parquet", missing="indicator")
    tamis.train(model, source, passes=5, progress=False)
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    actual = run_query(export_bytes(model, "sql").decode(), ["city", "y"], rows)
    assert list(actual["tamis_prediction"]) == [row[1] for row in rows]
    alone = {}
    exec(export_bytes(model, "python"), alone)
    assert [alone["predict"]({"city": row[0]}) for row in rows] == [row[1] for row in rows]


@pytest.mark.parametrize("value", [2e50, -1e300, "1e400", "many", "1,5"])
def test_what_predict_refuses_as_a_number_has_no_score(value):
    model = make_pipeline(Table(missing="zero"), FTRLRegressor(random_state=0))
    model.fit({"size": [1.0, 2.0, 4.0]}, [1.0, 2.0, 4.0])
    query = export_bytes(model, "sql").decode()
    actual = run_query(query, ["size"], [[value], [1e30], ["2.5"]])["tamis_score"]
    assert actual[0] is None
    np.testing.assert_allclose(actual[1:], model.predict({"size": [1e30, 2.5]}))
    alone = {}
    exec(export_bytes(model, "python"), alone)
    with pytest.raises(ValueError, match=r"number|float"):
        alone["predict"]({"size": value})


def test_labels_and_classes_of_a_refused_row_are_missing():
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels = FTRLClassifier(random_state=0).fit(X, (X > 0).astype(int))
    actual = run_query(export_bytes(labels, "sql").decode(), ["x0", "x1", "x2"], [[None] * 3])
    assert [actual[f"tamis_prediction_{k}"] for k in range(3)] == [(None,)] * 3


def test_a_column_of_rare_words_alone():
    linear = handmade([2.0], [Field("city", words={}, rest=0, gap=-1)])
    assert run_query(to_sql(linear), ["city"], [["ulm"], [None]])["tamis_score"] == (2.5, 0.5)


# --------------------------------------------------------------------------- Markdown
RUNS = ["<script>alert(1)</script>", "<img src=x onerror=f()>", "[a](javascript:f())", "a|b`c`"]


def test_markdown_runs_nothing_of_a_name():
    X = np.random.default_rng(0).normal(size=(80, 4))
    frame = pd.DataFrame(X, columns=RUNS)
    y = np.where(X.sum(axis=1) > 0, RUNS[0], RUNS[2])
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(frame, y)
    card = export_bytes(model, "scorecard").decode()
    page = tamis.report(model, frame, y, title=RUNS[1]).to_markdown()
    for text in (card, page):
        assert "&lt;script>" in text
        assert "&lt;img" in text
        assert not re.search(r"<|(?<!\\)[\[`]", text)
