"""Dates, texts and the steps of Pipelines leave Python as they were read."""

import json
import runpy

import numpy as np
import pandas as pd
import pytest
from exporting.queries import run_query
from exporting.records import WAYS, columns_of, fitted, rows_of
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import tamis
from tamis import FTRLClassifier, SieveClassifier
from tamis.exporting.export import export_bytes
from tamis.exporting.forms.standalone import _murmur
from tamis.exporting.linear import extract_linear

RNG = np.random.default_rng(0)


def run_python(model, **options):
    """The functions of an exported file."""
    alone = {}
    exec(export_bytes(model, "python", **options), alone)
    return alone


def same(model, rows, X):
    """An exported file says of rows what a model says of X."""
    alone = run_python(model)
    got = [alone["predict_proba"](row) for row in rows]
    np.testing.assert_allclose(got, model.predict_proba(X), rtol=0, atol=1e-12)
    assert [alone["predict"](row) for row in rows] == model.predict(X).tolist()


# --------------------------------------------------------------------------- dates and texts
@pytest.mark.parametrize("missing", ["error", "zero", "indicator"])
@pytest.mark.parametrize("bits", [None, 7])
@pytest.mark.parametrize("ngrams", [1, 3])
def test_python_reads_dates_and_texts_as_the_table_was_read(missing, bits, ngrams):
    table, y = columns_of(gaps=missing != "error")
    model = fitted(table, y, missing=missing, hash_bits=bits, ngrams=ngrams)
    other, _ = columns_of(gaps=missing != "error", seed=1)
    same(model, rows_of(other), other)
    alone = run_python(model)
    kept = {"when", "notes", "city", "age"}
    assert kept == {*alone["NUMBERS"], *alone["DATES"], *alone["TEXTS"], *alone["WORDS"]} | (
        {"city"} if bits else set()
    )
    if missing == "error":
        with pytest.raises(ValueError, match="the field 'when' is missing"):
            alone["score"]({"when": None})
        assert alone["score"]({"notes": None}) == alone["score"]({})
    with pytest.raises(ValueError, match="'soon' of the field 'when' is no date"):
        alone["score"]({"when": "soon"})


@pytest.mark.parametrize("way", WAYS)
def test_dates_are_read_as_they_are_written(way):
    table, y = columns_of(way)
    table = {name: table[name] for name in ("when", "age")}
    model = fitted(table, y, missing="indicator")
    same(model, rows_of(table), table)
    # Zones move the trend, not the parts; a year that comes first is plain in any column.
    odd = {
        "when": ["1950-03-04 23:30:00+05:30", "1950-03-04T24:00Z", "1950-3-4"],
        "age": [None] * 3,
    }
    same(model, rows_of(odd), odd)
    want = model.predict_proba(table)[:, 1]
    rows = [list(row.values()) for row in rows_of(table)]
    actual = run_query(export_bytes(model, "sql").decode(), list(table), rows)
    np.testing.assert_allclose(actual["tamis_probability"], want, rtol=0, atol=1e-12)


def test_sql_says_nothing_of_what_is_no_date():
    table, y = columns_of()
    table = {"when": table["when"]}
    model = fitted(table, y, missing="zero")
    query = export_bytes(model, "sql").decode()
    known = ["1950-03-04 10:00:00", "1950-03-04T10:00:00Z", "1950-03-04 10:00:00+00:00", None]
    actual = run_query(query, ["when"], [[word] for word in known])["tamis_probability"]
    np.testing.assert_allclose(actual, model.predict_proba({"when": known})[:, 1], atol=1e-12)
    lost = ["soon", "now", "12:00", 2440587.5, "1950-02-30", "1950-03-04 10:00+02:00", "1950-3-4"]
    actual = run_query(query, ["when"], [[word] for word in lost])
    assert actual["tamis_prediction"] == (None,) * len(lost)


def test_a_model_of_a_file_reads_records_of_it(tmp_path):
    table, y = columns_of()
    lines = ["when,notes,age,y"]
    for when, notes, age, label in zip(table["when"], table["notes"], table["age"], y, strict=True):
        lines.append(f"{when or ''},{notes or 'NA'},{'' if age is None else age},{label}")
    path = tmp_path / "train.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    kinds = {"notes": "text", "when": "date"}
    model = FTRLClassifier(1e-5, random_state=0)
    tamis.train(model, tamis.open_rows(path, kinds=kinds, missing="zero"), passes=3)
    chunks = tamis.open_rows(path, schema=model.reading_)
    want = np.concatenate([model.predict_proba(chunk.X) for chunk in chunks])
    tamis.export(model, tmp_path / "alone.py")
    alone = runpy.run_path(str(tmp_path / "alone.py"))
    asked = [dict(zip(["when", "notes", "age"], line.split(","), strict=False)) for line in lines]
    got = [alone["predict_proba"](row) for row in asked[1:]]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    told = json.loads(export_bytes(model, "json"))
    fields = {field["name"]: field for field in told["reading"]["fields"]}
    assert set(fields["when"]["date"]["parts"]) <= set(
        model.reading_["layout"]["columns"][0][4]["parts"]
    )
    assert fields["notes"]["text"]["norm"] == "l2"
    with pytest.raises(ValueError, match=r"\(notes\).*create_function"):
        export_bytes(model, "sql")


def test_a_function_of_python_serves_sqlite():
    """What the refusal of SQL names as the way out."""
    import sqlite3

    table, y = columns_of(gaps=False)
    model = fitted({"notes": table["notes"]}, y)
    score, base = run_python(model)["score"], sqlite3.connect(":memory:")
    base.create_function("score", 1, lambda notes: score({"notes": notes}))
    got = [base.execute("SELECT score(?)", [text]).fetchone()[0] for text in table["notes"]]
    np.testing.assert_allclose(got, model.decision_function({"notes": table["notes"]}), atol=1e-12)


def test_decimal_commas_and_truth_are_numbers(tmp_path):
    path, lines = tmp_path / "train.csv", ["size;flag;y"]
    for k in range(60):
        lines.append(f"{k // 10},{k % 10};{['TRUE', 'false'][k % 2]};{'yes' if k > 30 else 'no'}")
    path.write_text("\n".join(lines) + "\n")
    model = FTRLClassifier(1e-5, random_state=0)
    tamis.train(model, tamis.open_rows(path, decimal=","), passes=5)
    want = np.concatenate(
        [model.predict_proba(c.X) for c in tamis.open_rows(path, schema=model.reading_)]
    )
    alone = run_python(model)
    asked = [dict(zip(["size", "flag"], line.split(";"), strict=False)) for line in lines[1:]]
    np.testing.assert_allclose([alone["predict_proba"](r) for r in asked], want, atol=1e-12)
    rows = [[k / 10, k % 2 == 0, None] for k in range(60)]
    query = export_bytes(model, "sql").decode()
    actual = run_query(query, ["size", "flag", "y"], rows)
    np.testing.assert_allclose(actual["tamis_probability"], want[:, 1], atol=1e-12)
    assert run_query(query, ["size", "flag"], [["1,5", 1]])["tamis_score"] == (None,)


# --------------------------------------------------------------------------- steps of Pipelines
TEXTS = [" ".join(RNG.choice(["Good", "bad", "film", "élan", "x", "end"], 9)) for _ in range(90)]
LABELS = ["good" if text.count("Good") > text.count("bad") else "bad" for text in TEXTS]


@pytest.mark.parametrize(
    "steps",
    [
        [HashingVectorizer(n_features=64)],
        [HashingVectorizer(n_features=50, alternate_sign=False, norm="l1", ngram_range=(1, 2))],
        [HashingVectorizer(n_features=8, binary=True, norm=None, analyzer="char")],
        [CountVectorizer(), TfidfTransformer(sublinear_tf=True, norm=None)],
        [CountVectorizer(), StandardScaler(with_mean=False), SelectKBest(k=3)],
        [TfidfVectorizer(), SelectKBest(k=3), MaxAbsScaler()],
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_texts_go_through_all_steps(steps):
    model = make_pipeline(*steps, FTRLClassifier(1e-3, random_state=0)).fit(TEXTS, LABELS)
    asked = [*TEXTS, "", "never met", "Good good"]
    same(model, asked, asked)
    told = json.loads(export_bytes(model, "json"))
    if getattr(steps[-1], "norm", None) is None and hasattr(steps[0], "vocabulary_"):
        norm = steps[0].norm if hasattr(steps[0], "norm") else None
        assert (len(told["text"]["words"]) == len(told["features"])) == (norm is None)
    assert len(told["features"]) <= model[-1].support_.size


def test_a_million_words_leave_as_the_few_that_were_kept():
    """The vectoriser is pruned: what was not kept is not written."""
    texts = [f"{text} rare{k}" for k, text in enumerate(TEXTS)]
    vectoriser = CountVectorizer(vocabulary=["good", "bad", *(f"w{k}" for k in range(100_000))])
    model = make_pipeline(vectoriser, FTRLClassifier(1e-2, random_state=0)).fit(texts, LABELS)
    same(model, texts, texts)
    assert run_python(model)["TEXTS"]["text"]["words"] == {"good": 0, "bad": 1}
    assert len(export_bytes(model, "python")) < 30_000


def test_hashes_are_those_of_scikit_learn():
    from sklearn.utils import murmurhash3_32

    for word in ["", "a", "ab", "abc", "abcd", "élan vital", "x" * 37]:
        assert _murmur(word.encode()) == murmurhash3_32(word, positive=True)


def test_dicts_go_by_their_keys():
    cities = ["Bonn", "L'Aquila", "a=b"]
    rows = [{"age": float(k % 9), "city": cities[k % 3], "k=1": k % 2} for k in range(60)]
    y = ["yes" if row["city"] == "Bonn" or row["k=1"] else "no" for row in rows]
    model = make_pipeline(DictVectorizer(), FTRLClassifier(1e-4, random_state=0)).fit(rows, y)
    asked = [*rows, {"new": 1, "city": "Ulm"}, {"city": ["Bonn", "a=b"]}, {"k": "1"}, {}]
    same(model, asked, asked)
    plain = [{key: row[key] for key in ("age", "city")} for row in rows]
    model = make_pipeline(DictVectorizer(), FTRLClassifier(1e-4, random_state=0)).fit(plain, y)
    actual = run_query(
        export_bytes(model, "sql").decode(), ["age", "city"], [list(r.values()) for r in plain]
    )
    want = model.predict_proba(plain)[:, 1]
    np.testing.assert_allclose(actual["tamis_probability"], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"drop": "first"},
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 8},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 8, "drop": "first"},
        {"handle_unknown": "ignore", "max_categories": 2},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_categories_go_as_they_were_encoded(settings):
    rows = [[["Bonn", "Ulm", "L'Aquila", "Bonn"][k % 4], [1, 2, 2.5][k % 3]] for k in range(60)]
    rows += [["Rome", 7], ["Oslo", 8]]
    X = np.array(rows, dtype=object)
    y = [city == "Bonn" or size == 2 for city, size in rows]
    model = make_pipeline(OneHotEncoder(**settings), FTRLClassifier(1e-4, random_state=0)).fit(X, y)
    if settings.get("handle_unknown", "error") != "error":
        rows += [["Paris", 1], ["Bonn", 99]]
        X = np.array(rows, dtype=object)
    same(model, [dict(zip(["x0", "x1"], row, strict=True)) for row in rows], X)
    actual = run_query(export_bytes(model, "sql").decode(), ["x0", "x1"], rows)
    np.testing.assert_allclose(
        actual["tamis_probability"], model.predict_proba(X)[:, 1], atol=1e-12
    )


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 1)),
        RobustScaler(),
        RobustScaler(with_centering=False),
        MaxAbsScaler(),
    ],
    ids=str,
)
def test_scalers_are_folded_into_the_weights(scaler):
    X = RNG.normal(3.0, [1.0, 5.0, 0.1, 2.0], size=(80, 4))
    y = np.arange(80) % 3
    X[:, 1] += y
    model = make_pipeline(SelectKBest(k=3), scaler, FTRLClassifier(1e-4, random_state=0)).fit(X, y)
    same(model, X.tolist(), X)
    actual = run_query(export_bytes(model, "sql").decode(), [f"x{k}" for k in range(4)], X.tolist())
    for label in range(3):
        got = actual[f"tamis_probability_{label}"]
        np.testing.assert_allclose(got, model.predict_proba(X)[:, label], rtol=0, atol=1e-12)
    assert extract_linear(model).n_features == 4


@pytest.mark.parametrize("settings", [{}, {"drop": "first"}, {"min_frequency": 20}], ids=str)
def test_gaps_are_categories(settings):
    rows = [[["a", "b", np.nan][k % 3], [np.nan, 1.0, 2.0, 1.0][k % 4]] for k in range(60)]
    X = np.array(rows, dtype=object)
    y = [k % 3 == 2 or k % 4 == 0 for k in range(60)]
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", **settings)
    model = make_pipeline(encoder, FTRLClassifier(1e-4, random_state=0)).fit(X, y)
    same(model, [dict(zip(["x0", "x1"], row, strict=True)) for row in rows], X)
    last = [[["b", np.nan][k % 2]] for k in range(60)]
    encoder, X = OneHotEncoder(drop=[np.nan]), np.array(last, dtype=object)
    model = make_pipeline(encoder, FTRLClassifier(1e-4, random_state=0)).fit(X, y)
    same(model, [{"x0": row[0]} for row in last], X)


def test_gaps_of_all_columns_are_filled():
    X = RNG.normal(size=(80, 3))
    y = X[:, 0] + X[:, 2] > 0
    X[RNG.random(X.shape) < 0.2] = np.nan
    steps = SimpleImputer(strategy="median"), StandardScaler(), FTRLClassifier(random_state=0)
    model = make_pipeline(*steps).fit(X, y)
    same(model, X.tolist(), X)
    same(model, [{f"x{k}": v for k, v in enumerate(row)} for row in X.tolist()], X)
    rows = [[None if v != v else v for v in row] for row in X.tolist()]
    actual = run_query(export_bytes(model, "sql").decode(), ["x0", "x1", "x2"], rows)
    np.testing.assert_allclose(
        actual["tamis_probability"], model.predict_proba(X)[:, 1], atol=1e-12
    )
    marked = make_pipeline(SimpleImputer(add_indicator=True), FTRLClassifier(random_state=0))
    with pytest.raises(TypeError, match="a SimpleImputer cannot be exported"):
        export_bytes(marked.fit(X, y), "json")


def test_spreads_are_those_of_the_columns_before_the_scaler():
    X = RNG.normal(size=(200, 5)) * [1.0, 10.0, 100.0, 5.0, 0.1]
    y = X[:, 0] + X[:, 1] / 10 > 0
    model = make_pipeline(StandardScaler(), SieveClassifier(random_state=0)).fit(X, y)
    linear = extract_linear(model)
    assert {0, 1} <= set(linear.columns.tolist())
    np.testing.assert_allclose(linear.deviations, X.std(axis=0)[linear.columns], rtol=0.05)


def frame_of(gaps):
    """A frame of numbers, words and texts."""
    table, y = columns_of(gaps=False)
    frame = pd.DataFrame(table).assign(size=RNG.exponential(3.0, 160), none=1.0)
    if gaps:
        frame.loc[RNG.random(160) < 0.2, "age"] = np.nan
        frame.loc[RNG.random(160) < 0.2, "city"] = np.nan
    return frame, y


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("rest", ["drop", "passthrough"])
def test_parts_of_a_frame_go_as_they_were_transformed(gaps, rest):
    frame, y = frame_of(gaps)
    frame = frame.drop(columns="when")
    fill = SimpleImputer(strategy="median") if gaps else "passthrough"
    often = SimpleImputer(strategy="most_frequent") if gaps else "passthrough"
    parts = ColumnTransformer(
        [
            ("numbers", make_pipeline(fill, StandardScaler(), MinMaxScaler()), ["age"]),
            ("words", TfidfVectorizer(), "notes"),
            ("cities", make_pipeline(often, OneHotEncoder(handle_unknown="ignore")), ["city"]),
            ("nothing", "drop", ["none"]),
        ],
        remainder=rest,
    )
    model = make_pipeline(parts, MaxAbsScaler(), FTRLClassifier(1e-5, random_state=0))
    model.fit(frame, y)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    same(model, records, frame)
    assert ("size" in run_python(model)["NUMBERS"]) == (rest == "passthrough")


def test_parts_of_a_frame_are_columns_of_sql():
    frame, y = frame_of(True)
    frame = frame[["size", "age", "city"]]
    cities = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder())
    numbers = make_pipeline(SimpleImputer(), RobustScaler())
    parts = ColumnTransformer([("n", numbers, slice(0, 2)), ("c", cities, [False, False, True])])
    model = make_pipeline(parts, FTRLClassifier(1e-5, random_state=0)).fit(frame, y)
    records = frame.astype(object).where(frame.notna(), None)
    same(model, records.to_dict("records"), frame)
    actual = run_query(
        export_bytes(model, "sql").decode(), list(frame), records.to_numpy().tolist()
    )
    want = model.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(actual["tamis_probability"], want, rtol=0, atol=1e-12)
    twice = ColumnTransformer([("n", numbers, ["age"]), ("m", MaxAbsScaler(), ["age"])])
    whole = frame.assign(age=frame["size"])
    model = make_pipeline(twice, FTRLClassifier(0.0, random_state=0)).fit(whole, y)
    with pytest.raises(TypeError, match="the column 'age' goes into two parts"):
        export_bytes(model, "json")
    odd = ColumnTransformer([("n", QuantileTransformer(n_quantiles=5), ["age"])])
    model = make_pipeline(odd, FTRLClassifier(0.0, random_state=0)).fit(whole, y)
    with pytest.raises(TypeError, match="a QuantileTransformer"):
        export_bytes(model, "json")


def test_what_pipelines_cannot_is_said():
    X = RNG.normal(size=(40, 2))
    y = X[:, 0] > 0
    clipped = make_pipeline(MinMaxScaler(clip=True), FTRLClassifier(random_state=0)).fit(X, y)
    with pytest.raises(TypeError, match="a MinMaxScaler cannot be exported"):
        export_bytes(clipped, "json")
    twice = make_pipeline(TfidfVectorizer(), TfidfTransformer(), FTRLClassifier(random_state=0))
    with pytest.raises(TypeError, match="a TfidfTransformer cannot be exported"):
        export_bytes(twice.fit(TEXTS, LABELS), "json")
    own = make_pipeline(CountVectorizer(tokenizer=str.split), FTRLClassifier(random_state=0))
    with pytest.warns(UserWarning, match="token_pattern"):
        own.fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="a function of yours"):
        export_bytes(own, "json")
