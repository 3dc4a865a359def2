"""Forms of export: fields of tables and their gaps, hashed names, texts, points; and refusals."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from exporting.queries import run_query
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import FTRLClassifier, FTRLRegressor, GMKLClassifier, MultiTaskClassifier
from tamis.exporting.export import export, export_bytes, resolve_form
from tamis.exporting.forms.scorecard import choose_scorecard
from tamis.exporting.linear import extract_linear

RNG = np.random.default_rng(0)


def run_python(model, **options):
    """The functions of an exported file."""
    alone = {}
    exec(export_bytes(model, "python", **options), alone)
    return alone


# --------------------------------------------------------------------------- tables
HEAD = ["age", 'we"ird | name', "city", "y"]
CITIES = ["Paris", "L'Aquila", "1"]


def records(gaps=True, n=200, seed=0):
    """Records of a table, with gaps or without."""
    rng = np.random.default_rng(seed)
    actual = []
    for _ in range(n):
        age, weird, city = int(rng.integers(20, 60)), float(rng.normal()), CITIES[rng.integers(3)]
        score = (age - 40) / 10 + 2 * weird + 2 * (city == "L'Aquila")
        lost = gaps and rng.random() < 0.2
        record = [None if lost else age, weird, None if gaps and rng.random() < 0.2 else city]
        actual.append([*record, "yes" if score > 0 else "no"])
    return actual


def table_model(folder, missing, **reading):
    """A model trained from a CSV, and the table's path."""
    path = folder / "train.csv"
    pd.DataFrame(records(missing != "error"), columns=HEAD).to_csv(path, index=False)
    rows = tamis.open_rows(path, missing=missing, **reading)
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    tamis.train(model, rows, passes=20)
    return model, path


@pytest.mark.parametrize("missing", ["error", "zero", "indicator"])
@pytest.mark.parametrize("bits", [None, 6])
def test_python_reads_records_as_the_file_was_read(missing, bits, tmp_path):
    model, path = table_model(tmp_path, missing, hash_bits=bits)
    want = np.concatenate(
        [model.predict_proba(c.X) for c in tamis.open_rows(path, schema=model.reading_)]
    )
    alone = run_python(model)
    asked = [dict(zip(HEAD, r, strict=True)) for r in records(missing != "error")]
    got = [alone["predict_proba"](one) for one in asked]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    texts = [{name: "" if v is None else str(v) for name, v in one.items()} for one in asked]
    np.testing.assert_allclose([alone["predict_proba"](one) for one in texts], want, atol=1e-12)
    lost = {**asked[0], "age": None}
    if missing == "error":
        with pytest.raises(ValueError, match="the field 'age' is missing"):
            alone["score"](lost)
        service = tamis.live(model)
        with pytest.raises(ValueError, match="None"):
            service.score({k: v for k, v in lost.items() if k != "y"})
    else:
        assert np.isfinite(alone["score"](lost))
    assert alone["score"]({}) == pytest.approx(model.intercept_[0])


@pytest.mark.parametrize("missing", ["error", "zero", "indicator"])
def test_sql_reads_gaps_as_the_file_was_read(missing, tmp_path):
    model, path = table_model(tmp_path, missing)
    want = np.concatenate(
        [model.predict_proba(c.X) for c in tamis.open_rows(path, schema=model.reading_)]
    )
    rows = records(missing != "error")
    actual = run_query(export_bytes(model, "sql").decode(), HEAD, rows)
    np.testing.assert_allclose(actual["tamis_probability"], want[:, 1], rtol=0, atol=1e-12)
    assert set(actual["tamis_prediction"]) == {"yes", "no"}
    gaps = [[None, 1.0, "Paris", None], [40, 1.0, None, None], [None, 1.0, None, None]]
    lost = run_query(export_bytes(model, "sql").decode(), HEAD, gaps)
    for name in ("tamis_score", "tamis_probability", "tamis_prediction"):
        assert [value is None for value in lost[name]] == [missing == "error"] * 3


def test_json_names_fields_and_their_words(tmp_path):
    model, _ = table_model(tmp_path, "indicator")
    told = json.loads(export_bytes(model, "json"))
    assert told["reading"]["missing"] == "indicator"
    fields = {field["name"]: field for field in told["reading"]["fields"]}
    assert set(fields["city"]["words"]) <= {*CITIES, "1.0"}
    names = {feature["name"] for feature in told["features"]}
    assert {"age", "city=L'Aquila"} <= names


def test_sql_takes_no_gap_for_a_rare_word(tmp_path):
    path, rows = tmp_path / "train.csv", []
    for k in range(120):
        city = ["Bonn", "Ulm", None][k % 3] if k < 90 else f"rare{k}"
        rows.append([city, "yes" if k >= 90 else "no"])
    pd.DataFrame(rows, columns=["city", "y"]).to_csv(path, index=False)
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    kinds = {"city": "category"}
    tamis.train(model, tamis.open_rows(path, missing="zero", kinds=kinds), passes=5)
    chunks = tamis.open_rows(path, schema=model.reading_)
    want = np.concatenate([model.predict_proba(chunk.X)[:, 1] for chunk in chunks])
    assert "city=rare" in extract_linear(model).names
    actual = run_query(export_bytes(model, "sql").decode(), ["city", "y"], rows)
    np.testing.assert_allclose(actual["tamis_probability"], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "duckdb"])
def test_sql_quotes_all_names(dialect, tmp_path):
    model, _ = table_model(tmp_path, "zero")
    query = export_bytes(model, "sql", dialect=dialect, table='my "table').decode()
    assert 'FROM "my ""table" AS t' in query
    assert 't."we""ird | name"' in query
    assert "'L''Aquila'" in query
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", query)
    assert bare.count("(") == bare.count(")")
    assert "Aquila" not in bare


def test_long_sums_are_not_deep():
    model = FTRLRegressor(alpha=0.0, random_state=0)
    X = RNG.normal(size=(50, 1500))
    model.fit(X, X[:, 0])
    actual = run_query(
        export_bytes(model, "sql").decode(), [f"x{k}" for k in range(1500)], X.tolist()
    )
    np.testing.assert_allclose(actual["tamis_score"], model.predict(X), rtol=1e-9, atol=1e-9)


# --------------------------------------------------------------------------- hashed names
def test_names_are_hashed_as_the_text_was(tmp_path):
    path, words = tmp_path / "train.vw", [f"wörd{k}" for k in range(20)]
    lines, asked = [], []
    for _ in range(200):
        some = RNG.choice(20, 5, replace=False)
        good = some.min() < 3
        lines.append(
            f"{1 if good else -1} |a {' '.join(words[k] for k in some)} |b x:{some[0]}.5 | c"
        )
        asked.append({f"a^{words[k]}": 1.0 for k in some} | {"b^x": some[0] + 0.5, "c": 1.0})
    path.write_text("\n".join(lines) + "\n")
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    tamis.train(model, tamis.open_rows(path, hash_bits=10), passes=5)
    want = np.concatenate(
        [model.predict_proba(c.X) for c in tamis.open_rows(path, schema=model.reading_)]
    )
    alone = run_python(model)
    np.testing.assert_allclose([alone["predict_proba"](one) for one in asked], want, atol=1e-12)
    assert alone["score"]({"^c": 2.0}) == alone["score"]({"c": 2.0}) != alone["score"]({})
    hashing = json.loads(export_bytes(model, "json"))["reading"]["hashing"]
    assert (hashing["kind"], hashing["bits"]) == ("names", 10)
    for form in ("sql", "onnx"):
        with pytest.raises(ValueError, match="the model hashes names"):
            export_bytes(model, form)


def test_numbers_of_columns_are_hashed_as_the_text_was(tmp_path):
    path = tmp_path / "train.svm"
    rows = [{int(k) + 1: 1.0 for k in RNG.choice(50, 5, replace=False)} for _ in range(200)]
    lines = [
        f"{1 if min(row) < 10 else -1} " + " ".join(f"{k}:1" for k in sorted(row)) for row in rows
    ]
    path.write_text("\n".join(lines) + "\n")
    model = FTRLClassifier(alpha=1e-4, random_state=0)
    tamis.train(model, tamis.open_rows(path, hash_bits=5), passes=5)
    want = np.concatenate(
        [model.decision_function(c.X) for c in tamis.open_rows(path, schema=model.reading_)]
    )
    alone = run_python(model)
    np.testing.assert_allclose([alone["score"](row) for row in rows], want, atol=1e-12)


# --------------------------------------------------------------------------- texts
TEXTS = [
    " ".join(RNG.choice(["Good", "bad", "film", "an", "élan", "it's", "x"], 12)) + f" {k % 7} end."
    for k in range(120)
]


@pytest.mark.parametrize(
    "vectoriser",
    [
        CountVectorizer(),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), strip_accents="unicode"),
        CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False, binary=True),
        TfidfVectorizer(ngram_range=(1, 2), stop_words=["an"], strip_accents="ascii"),
        TfidfVectorizer(norm=None, sublinear_tf=True),
        TfidfVectorizer(norm="l1", use_idf=False),
    ],
    ids=lambda v: f"{type(v).__name__}-{v.analyzer}",
)
def test_texts_become_columns_as_the_vectoriser_makes_them(vectoriser):
    y = ["good" if text.count("Good") > text.count("bad") else "bad" for text in TEXTS]
    pipeline = make_pipeline(vectoriser, FTRLClassifier(alpha=1e-3, random_state=0)).fit(TEXTS, y)
    alone = run_python(pipeline)
    got = [alone["predict_proba"](text) for text in TEXTS]
    np.testing.assert_allclose(got, pipeline.predict_proba(TEXTS), rtol=0, atol=1e-12)
    told = json.loads(export_bytes(pipeline, "json"))
    support = set(pipeline[-1].support_.tolist())
    words = set(told["text"]["words"].values())
    # Lengths of rows need all words, where rows have a length.
    everything = getattr(vectoriser, "norm", None) is not None
    assert words == (set(range(len(vectoriser.vocabulary_))) if everything else support)
    with pytest.raises(ValueError, match="splits texts into words"):
        export_bytes(pipeline, "sql")


# --------------------------------------------------------------------------- points
def test_a_scorecard_keeps_the_order_of_risks():
    X = np.column_stack(((RNG.random((500, 3)) < 0.5).astype(float), RNG.normal(0, 8000, 500)))
    y = X @ [1.0, -2.0, 0.5, 1 / 8000] + RNG.logistic(size=500) * 0.3 > 0
    model = FTRLClassifier(alpha=1e-4, random_state=0).fit(X / [1, 1, 1, 8000], y)
    linear = extract_linear(model)
    linear = linear._replace(weights=linear.weights / np.array([[1], [1], [1], [8000]]))
    card = choose_scorecard(linear, 10, X)
    assert card.units.tolist() == [1.0, 1.0, 1.0, 10000.0]
    assert card.points.dtype.kind == "i"
    assert 5 <= np.abs(card.points).max() <= 10
    assert card.threshold == pytest.approx(-linear.intercepts[0] * card.scale)
    assert linear.intercepts[0]
    own = X @ linear.weights[:, 0] + linear.intercepts[0]
    other = (X @ (card.points / card.units) - card.threshold) / card.scale
    ranks = np.corrcoef(own.argsort().argsort(), other.argsort().argsort())[0, 1]
    assert card.error["rank_correlation"] == pytest.approx(ranks, abs=1e-3)
    assert ranks > 0.99
    assert card.error["changed"] == ((own > 0) != (other > 0)).sum()
    assert card.error["largest"] == pytest.approx(np.abs(own - other).max())
    coarse = choose_scorecard(linear, 1, X)
    assert coarse.error["rank_correlation"] < card.error["rank_correlation"]


def test_a_scorecard_without_rows_states_a_bound():
    X = RNG.normal(size=(200, 4))
    model = FTRLClassifier(alpha=1e-4, random_state=0).fit(X, X[:, 0] + 0.3 * X[:, 1] > 0)
    card = choose_scorecard(extract_linear(model), 10)
    corners = RNG.choice([-1.0, 1.0], size=(200, len(card.points)))
    away = corners @ (extract_linear(model).weights[:, 0] - card.points / card.scale)
    assert np.abs(away).max() <= card.error["bound"] + 1e-12
    text = export_bytes(model, "scorecard").decode()
    assert f"by at most {card.error['bound']:.3g}" in text
    assert "decisions change" in export_bytes(model, "scorecard", X=X).decode()
    assert "decisions change" in export_bytes(model, "scorecard", X=sp.csr_array(X)).decode()


def read_card(text, records):
    """Points of records by a card alone, as a person adds them, and the threshold on it."""
    gaps = dict(re.findall(r"(?:as|,) (\w+) (-?\d+(?:\.\d+)?)", text))
    points = np.zeros(len(records))
    for name, unit, worth in re.findall(
        r"\| (.*?)(?:, for every ([\d.,]+))? \| ([+-]\d+) \|", text
    ):
        field, _, word = name.partition("=")
        for row, record in enumerate(records):
            day = pd.Timestamp(record["when"])
            if "days since" in name:
                value = (day - pd.Timestamp(name.split()[-1])).days
            elif field == "when.month":
                value = str(day.month) == word
            elif field == "when.weekday":
                value = day.day_name()[:3] == word
            elif word:
                value = record[field] == word
            else:
                value = gaps.get(name, np.nan) if record[name] is None else record[name]
            points[row] += int(worth) * float(value) / float((unit or "1").replace(",", ""))
    return points, float(re.search(r"More than (-?[\d.]+) points: yes", text)[1])


@pytest.mark.parametrize("given", [False, True], ids=["bound", "rows"])
def test_a_scorecard_counts_in_numbers_of_the_table(given):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 300), unit="D")
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 300) + 0.0,
            "city": rng.choice(["Bonn", "Ulm"], 300),
            "when": days,
        }
    )
    votes = (table["age"] - 40) / 10 + (table["city"] == "Bonn") + days.month / 4 - 2
    y = np.where(votes + rng.normal(0, 0.3, 300) > 0, "yes", "no")
    table["age"] = table["age"].where(rng.random(300) > 0.1)
    table["when"] = table["when"].astype(str)
    kinds = {"age": "number", "city": "category", "when": "date"}
    steps = make_pipeline(
        tamis.Table(kinds=kinds, missing="zero"), FTRLClassifier(1e-4, random_state=0)
    ).fit(table, y)
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    text = export_bytes(steps, "scorecard", points=50, X=table if given else None).decode()
    points, threshold = read_card(text, records)
    changed = int(((points > threshold) != (steps.predict(table) == "yes")).sum())
    assert "age, for every 10 |" in text
    if given:
        assert f"{changed:,} decisions change" in text
    assert changed < 15
    assert np.corrcoef(points, steps.decision_function(table))[0, 1] > 0.99


def test_a_scorecard_without_rows_takes_the_units_of_a_scaler():
    X = RNG.normal(size=(200, 2)) * [1.0, 8000.0]
    y = X[:, 0] + X[:, 1] / 8000 > 0
    model = make_pipeline(StandardScaler(), FTRLClassifier(1e-4, random_state=0)).fit(X, y)
    text = export_bytes(model, "scorecard").decode()
    assert "| x1, for every 10,000 | +" in text
    assert "| x0 | +" in text


def test_a_scorecard_says_of_texts_that_they_need_a_program():
    texts = ["good film", "bad film"] * 30
    model = make_pipeline(TfidfVectorizer(), FTRLClassifier(random_state=0)).fit(texts, [1, 0] * 30)
    text = export_bytes(model, "scorecard", X=texts).decode()
    assert "(text) counts by its weight" in text
    assert "Rounding, on 60 rows" in text
    counted = make_pipeline(CountVectorizer(), FTRLClassifier(random_state=0))
    assert "program" not in export_bytes(counted.fit(texts, [1, 0] * 30), "scorecard").decode()


# --------------------------------------------------------------------------- who, where, how many
def test_few_columns_of_many_leave():
    rows = np.concatenate((RNG.integers(0, 300, 600), np.arange(300), np.arange(300)))
    columns = np.repeat([0, 17, 999_999], [600, 300, 300])
    columns[:600] = RNG.integers(18, 999_999, 600)  # few of them come twice
    X = sp.csr_array((RNG.normal(size=1200), (rows, columns)), shape=(300, 1_000_000))
    y = X[:, [17]].toarray()[:, 0] > X[:, [999_999]].toarray()[:, 0]
    model = FTRLClassifier(alpha=0.05, random_state=0).fit(X, y)
    assert {17, 999_999} <= set(model.support_.tolist())
    assert len(model.support_) < 100
    told = json.loads(export_bytes(model, "json"))
    assert [f["column"] for f in told["features"]] == model.support_.tolist()
    assert len(export_bytes(model, "python")) < 20_000
    assert len(model.explain(X).names) == len(model.support_)


def test_names_may_be_given_and_tasks_chosen(tmp_path):
    X = RNG.normal(size=(60, 3))
    model = FTRLClassifier(random_state=0).fit(X, X[:, 0] > 0)
    names = ["one", "two", "three"]
    assert set(run_python(model, names=names)["NUMBERS"]) <= set(names)
    with pytest.raises(ValueError, match=r"names has 1 .* 3 columns"):
        export_bytes(model, "json", names=["one"])
    with pytest.raises(ValueError, match="knows no tasks"):
        export_bytes(model, "json", task="a")
    task = np.array(["a", "b"])[np.arange(60) % 2]
    several = MultiTaskClassifier(alpha=0.01).fit(X, X[:, 0] > 0, task)
    with pytest.raises(ValueError, match=r"pass task, .*\['a', 'b'\]"):
        export_bytes(several, "json")
    alone = run_python(several, task="b")
    got = [alone["predict_proba"](row) for row in X.tolist()]
    np.testing.assert_allclose(got, several.predict_proba(X, ["b"] * 60), atol=1e-12)


def test_labels_are_independent():
    X = RNG.normal(size=(80, 4))
    Y = (X[:, :3] > 0).astype(int)
    model = FTRLClassifier(random_state=0).fit(X, Y)
    alone = run_python(model)
    got = [alone["predict_proba"](row) for row in X.tolist()]
    np.testing.assert_allclose(got, model.predict_proba(X), atol=1e-12)
    assert [alone["predict"](row) for row in X.tolist()] == model.predict(X).tolist()
    actual = run_query(export_bytes(model, "sql").decode(), [f"x{k}" for k in range(4)], X.tolist())
    assert list(actual["tamis_prediction_1"]) == model.predict(X)[:, 1].tolist()


def test_the_form_goes_by_the_suffix(tmp_path):
    assert resolve_form("a.PY", None) == "python"
    assert resolve_form("a.txt", "sql") == "sql"
    with pytest.raises(ValueError, match=r"the suffix '.txt' names no form"):
        resolve_form("a.txt", None)
    with pytest.raises(ValueError, match="to='pmml' is none of json, python"):
        resolve_form("a.json", "pmml")
    X = RNG.normal(size=(60, 3))
    path = tmp_path / "model.json"
    export(FTRLClassifier(random_state=0).fit(X, X[:, 0] > 0), path)
    assert json.loads(path.read_text())["format"] == "tamis linear model"


def test_what_cannot_leave_is_told_what_can(monkeypatch):
    X = RNG.normal(size=(40, 2))
    y = X[:, 0] > 0
    with pytest.raises(TypeError, match="Linear models can be exported"):
        export_bytes(GMKLClassifier(random_state=0).fit(X, y), "json")
    with pytest.raises(TypeError, match="takes a fitted model of tamis"):
        export_bytes(CountVectorizer(), "json")
    with pytest.raises(TypeError, match="a Pipeline with a PCA cannot be exported"):
        export_bytes(make_pipeline(PCA(1), FTRLClassifier()).fit(X, y), "json")
    with pytest.raises(ValueError, match="a scorecard is for one score"):
        export_bytes(FTRLClassifier().fit(X, np.arange(40) % 3), "scorecard")
    with pytest.raises(ValueError, match="dialect='oracle' is none of"):
        export_bytes(FTRLClassifier().fit(X, y), "sql", dialect="oracle")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[export\]'"):
        export_bytes(FTRLClassifier().fit(X, y), "onnx")
