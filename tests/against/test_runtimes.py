"""Exported models in the runtimes that they are for: ONNX Runtime and DuckDB."""

import datetime

import numpy as np
import pandas as pd
import pytest
import tiny
from exporting.records import WAYS, columns_of, tokens_of
from exporting.records import fitted as fitted_table
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiny import quiet

from tamis import (
    FTRLClassifier,
    FTRLRegressor,
    GroupLassoClassifier,
    PAClassifier,
    SieveClassifier,
    Table,
    TriClassSVC,
)
from tamis.exporting.export import export_bytes
from tamis.exporting.linear import extract_linear

N, P = 80, 9
X = tiny.matrix(N, P)
TWO, THREE = np.where(tiny.signs(X) > 0, "yes", "no"), tiny.classes(N)
MODELS = {
    "two": (SieveClassifier(random_state=0), TWO),
    "one against the rest": (FTRLClassifier(random_state=0), THREE),
    "softmax": (GroupLassoClassifier(alpha=0.01), THREE),
    "labels": (FTRLClassifier(random_state=0), (X[:, 1:4] > 0).astype(int)),
    "margins": (PAClassifier(random_state=0), THREE.astype(str)),
    "calibrated": (TriClassSVC(probability=True), TWO),
    "number": (FTRLRegressor(random_state=0), tiny.numbers(X)),
    "numbers": (FTRLRegressor(random_state=0), tiny.numbers(X, 3)),
    "truth": (FTRLClassifier(random_state=0), TWO == "yes"),
}
EVERY = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def fitted():
    return {name: quiet(model.fit, X, y) for name, (model, y) in MODELS.items()}


def answers_of(model):
    """Probabilities where there are some, else scores, a column an output."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    ask = model.decision_function if hasattr(model, "decision_function") else model.predict
    return ask(X).reshape(N, -1)


@EVERY
@pytest.mark.parametrize("inputs", ["all", "kept"])
def test_onnx_runtime_says_the_same(name, inputs, fitted):
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra test)")
    model = fitted[name]
    session = runtime.InferenceSession(export_bytes(model, "onnx", inputs=inputs))
    columns = slice(None) if inputs == "all" else extract_linear(model).columns
    actual = session.run(None, {"rows": X[:, columns].astype(np.float32)})
    told = dict(zip([one.name for one in session.get_outputs()], actual, strict=True))
    what = "probabilities" if hasattr(model, "predict_proba") else "scores"
    np.testing.assert_allclose(told[what], answers_of(model), rtol=1e-6, atol=1e-6)
    if hasattr(model, "classes_"):
        assert told["predictions"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("size", [1e-46, 1e40])
def test_onnx_takes_no_columns_that_float32_cannot_hold(size):
    scaled = X[:, :2] * size
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(scaled, X[:, 0] > 0)
    for inputs in ("all", "kept"):
        with pytest.raises(ValueError, match="Pass inputs='fields'"):
            export_bytes(model, "onnx", inputs=inputs)
    names = [f"x{k}" for k in extract_linear(model).columns]
    given = {name: scaled[:, [int(name[1:])]] for name in names}
    actual = session_of(model, inputs="fields")(given)
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(scaled), atol=1e-6)


def test_onnx_takes_no_large_column_beside_others():
    scaled = X[:, :2] * [1e40, 1.0]
    model = FTRLClassifier(alpha=0.0, random_state=0).fit(scaled, X[:, 0] + X[:, 1] > 0)
    with pytest.raises(ValueError, match="'x0' has a weight"):
        export_bytes(model, "onnx")


@pytest.mark.parametrize("size", [1e-50, 1e-46, 1e-38, 1e46])
def test_onnx_takes_tables_of_any_unit(size):
    table = {f"c{k}": (X[:, k] + 1.0) * size for k in range(2)}
    model = make_pipeline(Table(), FTRLClassifier(1e-4, random_state=0)).fit(table, X[:, 0] > 0)
    actual = session_of(model)({name: column[:, None] for name, column in table.items()})
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(table), atol=1e-6)


def test_onnx_holds_the_kept_columns_alone(fitted):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    model = fitted["two"]
    graph = onnx.load_model_from_string(export_bytes(model, "onnx"))
    assert [node.op_type for node in graph.graph.node][:3] == ["Gather", "Cast", "Gemm"]
    facts = {entry.key: entry.value for entry in graph.metadata_props}
    assert facts["columns"].split() == [str(c) for c in model.support_]


@EVERY
def test_duckdb_says_the_same(name, fitted):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    model, base = fitted[name], duckdb.connect()
    base.execute(f'CREATE TABLE "rows" ({", ".join(f"x{k} DOUBLE" for k in range(P))})')
    base.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * P)})', X.tolist())
    actual = base.execute(export_bytes(model, "sql", dialect="duckdb").decode())
    names = [column[0] for column in actual.description]
    rows = actual.fetchall()
    what = "tamis_probability" if hasattr(model, "predict_proba") else "tamis_score"
    picked = [k for k, told in enumerate(names) if told.startswith(what)]
    got = np.array([[row[k] for k in picked] for row in rows])
    np.testing.assert_allclose(got, answers_of(model)[:, -got.shape[1] :], rtol=0, atol=1e-9)
    if "tamis_prediction" in names:
        assert [row[-1] for row in rows] == model.predict(X).tolist()


def test_duckdb_reads_gaps_and_whole_numbers(tmp_path):
    """Columns of whole numbers and words with gaps: types that SQLite does not have."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    import tamis

    rng, path = np.random.default_rng(0), tmp_path / "train.csv"
    lines = ["age,city,y"]
    for _ in range(200):
        age, city = int(rng.integers(20, 60)), ["Paris", "Rome", ""][rng.integers(3)]
        lines.append(f"{age if rng.random() < 0.8 else ''},{city},{int(age > 40 or city == '')}")
    path.write_text("\n".join(lines) + "\n")
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    tamis.train(model, tamis.open_rows(path, missing="indicator"), passes=10)
    rows = tamis.open_rows(path, schema=model.reading_)
    want = np.concatenate([model.predict_proba(chunk.X)[:, 1] for chunk in rows])
    base = duckdb.connect()
    base.execute(f"CREATE TABLE \"rows\" AS SELECT * FROM read_csv('{path}')")
    query = export_bytes(model, "sql", dialect="duckdb").decode()
    got = base.sql(query).fetchnumpy()["tamis_probability"]
    np.testing.assert_allclose(np.asarray(got, dtype=float), want, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------- fields of records
def session_of(model, **options):
    """A function of inputs that gives the outputs by name."""
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra test)")
    session = runtime.InferenceSession(export_bytes(model, "onnx", **options))
    names = [one.name for one in session.get_outputs()]
    return lambda given: dict(zip(names, session.run(None, given), strict=True))


def given_of(table):
    """A table as a graph takes it."""
    base, actual = datetime.datetime(1970, 1, 1), {}
    for name, column in table.items():
        if name == "notes":
            actual[name] = tokens_of(column)
        elif name == "city":
            actual[name] = np.array([[word or ""] for word in column], dtype=object)
        elif name == "when":
            dates = [None if w is None else datetime.datetime.fromisoformat(w) for w in column]
            actual[name] = [[np.nan if d is None else (d - base).total_seconds()] for d in dates]
        else:
            actual[name] = [[np.nan if value is None else value] for value in column]
    return {name: np.asarray(column) for name, column in actual.items()}


@pytest.mark.parametrize("missing", ["error", "zero", "indicator"])
@pytest.mark.parametrize("ngrams", [1, 3])
def test_onnx_takes_fields_of_a_table(missing, ngrams):
    table, y = columns_of(gaps=missing != "error", n=300)
    model = fitted_table(table, y, missing=missing, ngrams=ngrams)
    ask = session_of(model)
    other, _ = columns_of(gaps=missing != "error", seed=1)
    actual = ask(given_of(other))
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(other), atol=1e-6)
    assert actual["predictions"].tolist() == model.predict(other).tolist()
    if missing == "error":
        lost = given_of(other) | {"when": np.full((160, 1), np.nan)}
        assert np.isnan(ask(lost)["probabilities"]).all()


def test_onnx_takes_the_edges_of_months_and_hours():
    begun, second = datetime.datetime(1600, 1, 1), datetime.timedelta(seconds=1)
    months = [
        begun.replace(year=y, month=m) for y in (1900, 2000, 2024, 2100) for m in range(1, 13)
    ]
    months.append(datetime.datetime(2000, 2, 29))
    hours = [months[0] + k * datetime.timedelta(hours=5) for k in range(48)]
    edges = [one for first in months + hours for one in (first - second, first)]
    table = {"when": [one.isoformat() for one in edges]}
    y = [one.month % 2 == one.hour % 2 for one in edges]
    model = fitted_table(table, y)
    actual = session_of(model)(given_of(table))
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(table), atol=1e-6)


def test_onnx_takes_fields_of_a_file(tmp_path):
    """Truth, numbers in units, rare words, and gaps, as the file was read."""
    import tamis

    rng, path = np.random.default_rng(0), tmp_path / "train.csv"
    rows, lines = [], ["age,city,member,y"]
    for k in range(300):
        age = None if rng.random() < 0.1 else float(rng.normal(1e5, 9))
        city = ["Paris", "Rome", "", f"rare{k}"][rng.integers(4)]
        member = bool(rng.random() < 0.5)
        said = int(member or city.startswith("r"))
        rows.append((age, city, member))
        lines.append(f"{'' if age is None else age},{city},{member},{said}")
    path.write_text("\n".join(lines) + "\n")
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    kinds = {"city": "category"}
    source = tamis.open_rows(path, missing="indicator", units="spread", kinds=kinds)
    tamis.train(model, source, passes=5)
    assert "city=rare" in extract_linear(model).names
    chunks = tamis.open_rows(path, schema=model.reading_)
    want = np.concatenate([model.predict_proba(chunk.X) for chunk in chunks])
    given = {
        "age": np.array([[np.nan if age is None else age] for age, _, _ in rows]),
        "city": np.array([[city] for _, city, _ in rows], dtype=object),
        "member": np.array([[float(member)] for _, _, member in rows]),
    }
    actual = session_of(model)(given)
    np.testing.assert_allclose(actual["probabilities"], want, rtol=0, atol=1e-6)


def test_onnx_holds_the_kept_words_alone():
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    table, y = columns_of(gaps=False)
    words = [*"abc", *(f"w{k}" for k in range(100_000)), "good", "film", "élan"]
    texts, vectoriser = table["notes"], CountVectorizer(vocabulary=words, binary=True)
    model = make_pipeline(vectoriser, FTRLClassifier(1e-3, random_state=0)).fit(texts, y)
    actual = session_of(model)({"text": tokens_of(texts)})
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(texts), atol=1e-6)
    content = export_bytes(model, "onnx")
    assert len(content) < 5000
    graph = onnx.load_model_from_string(content)
    counted = next(node for node in graph.graph.node if node.op_type == "TfIdfVectorizer")
    pool = next(a.strings for a in counted.attribute if a.name == "pool_strings")
    assert {word.decode() for word in pool} == {"good", "film", "élan"}


@pytest.mark.parametrize("norm", ["l1", "l2", None])
def test_onnx_takes_tokens_of_a_vectoriser(norm):
    table, y = columns_of(gaps=False)
    texts = [*table["notes"][:-1], ""]
    vectoriser = TfidfVectorizer(norm=norm, ngram_range=(2, 3), sublinear_tf=norm is None)
    model = make_pipeline(vectoriser, FTRLClassifier(1e-4, random_state=0)).fit(texts, y)
    actual = session_of(model)({"text": tokens_of(texts)})
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(texts), atol=1e-6)


def test_onnx_takes_runs_of_letters():
    table, y = columns_of(gaps=False)
    texts = table["notes"]
    vectoriser = CountVectorizer(analyzer="char_wb", ngram_range=(1, 3))
    model = make_pipeline(vectoriser, FTRLClassifier(1e-4, random_state=0)).fit(texts, y)
    parts = [vectoriser.build_analyzer()(text) for text in texts]
    width = max(map(len, parts))
    given = np.array([own + [""] * (width - len(own)) for own in parts], dtype=object)
    actual = session_of(model)({"text": given})
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(texts), atol=1e-6)


def test_onnx_takes_parts_of_a_frame():
    table, y = columns_of()
    table = {name: table[name] for name in ("city", "age")}
    frame = pd.DataFrame(table)
    often = SimpleImputer(strategy="most_frequent")
    cities = make_pipeline(often, OneHotEncoder(handle_unknown="ignore"))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = ColumnTransformer([("c", cities, ["city"]), ("n", numbers, ["age"])])
    frame["city"] = frame["city"].where(frame["city"].notna(), np.nan)
    model = make_pipeline(parts, FTRLClassifier(1e-5, random_state=0)).fit(frame, y)
    actual = session_of(model)(given_of(table))
    np.testing.assert_allclose(actual["probabilities"], model.predict_proba(frame), atol=1e-6)


def test_onnx_refuses_with_a_way_out():
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    table, y = columns_of(gaps=False)
    texts = table["notes"]
    odd = make_pipeline(
        CountVectorizer(token_pattern=r"\w+ \w+", ngram_range=(1, 2)), FTRLClassifier(1e-4)
    )
    with pytest.raises(ValueError, match="take the default token_pattern"):
        export_bytes(odd.fit(texts, y), "onnx")
    named = {"scores": table["age"]}
    model = make_pipeline(Table(), FTRLClassifier(1e-5)).fit(named, y)
    with pytest.raises(ValueError, match=r"'scores'.*inputs='kept'"):
        export_bytes(model, "onnx")
    assert export_bytes(model, "onnx", inputs="kept")
    with pytest.raises(ValueError, match="inputs='some' is none of"):
        export_bytes(model, "onnx", inputs="some")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
def test_duckdb_reads_dates(way, dialect):
    """Also by the query for PostgreSQL, whose grammar and functions of dates DuckDB has."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    table, y = columns_of(way)
    table = {"when": table["when"]}
    model, base = fitted_table(table, y, missing="indicator"), duckdb.connect()
    want = model.predict_proba(table)[:, 1]
    query = export_bytes(model, "sql", dialect=dialect).decode()

    def asked(kind, words):
        base.execute(f'CREATE OR REPLACE TABLE "rows" ("when" {kind})')
        base.executemany('INSERT INTO "rows" VALUES (?)', [[word] for word in words])
        actual = base.execute(query).fetchall()
        return [row[2] for row in actual]

    np.testing.assert_allclose(asked("VARCHAR", table["when"]), want, rtol=0, atol=1e-12)
    if way in ("ymd", "stamps"):
        kind = "DATE" if way == "ymd" else "TIMESTAMP"
        np.testing.assert_allclose(asked(kind, table["when"]), want, rtol=0, atol=1e-12)
    lost = ["soon", "12:00", "1950-03-04 10:00:00+02:00", "1/2/1950", "1950-03-04 10"]
    if dialect == "duckdb":  # PostgreSQL refuses days that the calendar does not have
        lost += ["1950-02-30", "31.31.1950"]
    assert asked("VARCHAR", lost) == [None] * len(lost)


def test_duckdb_calls_functions_of_python():
    """What the refusal of SQL names as the way out, for texts."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    table, y = columns_of(gaps=False)
    texts, alone, base = {"notes": table["notes"]}, {}, duckdb.connect()
    model = fitted_table(texts, y)
    exec(export_bytes(model, "python"), alone)
    base.create_function("score", lambda t: alone["score"]({"notes": t}), ["VARCHAR"], "DOUBLE")
    base.execute('CREATE TABLE "rows" (notes VARCHAR)')
    base.executemany('INSERT INTO "rows" VALUES (?)', [[text] for text in table["notes"]])
    got = [row[0] for row in base.execute('SELECT score(notes) FROM "rows"').fetchall()]
    np.testing.assert_allclose(got, model.decision_function(texts), rtol=0, atol=1e-12)
