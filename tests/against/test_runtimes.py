"""Exported models in the runtimes that they are for: ONNX Runtime and DuckDB."""

import numpy as np
import pytest
import tiny
from tiny import quiet

from tamis import (
    FTRLClassifier,
    FTRLRegressor,
    GroupLassoClassifier,
    PAClassifier,
    SieveClassifier,
    TriClassSVC,
)
from tamis.exporting.export import exported
from tamis.exporting.linear import linear_of

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
    session = runtime.InferenceSession(exported(model, "onnx", inputs=inputs))
    columns = slice(None) if inputs == "all" else linear_of(model).columns
    found = session.run(None, {"rows": X[:, columns].astype(np.float32)})
    told = dict(zip([one.name for one in session.get_outputs()], found, strict=True))
    what = "probabilities" if hasattr(model, "predict_proba") else "scores"
    np.testing.assert_allclose(told[what], answers_of(model), rtol=1e-6, atol=1e-6)
    if hasattr(model, "classes_"):
        assert told["predictions"].tolist() == model.predict(X).tolist()


def test_onnx_holds_the_kept_columns_alone(fitted):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    model = fitted["two"]
    graph = onnx.load_model_from_string(exported(model, "onnx"))
    assert [node.op_type for node in graph.graph.node][:3] == ["Gather", "Cast", "Gemm"]
    facts = {entry.key: entry.value for entry in graph.metadata_props}
    assert facts["columns"].split() == [str(c) for c in model.support_]


@EVERY
def test_duckdb_says_the_same(name, fitted):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    model, base = fitted[name], duckdb.connect()
    base.execute(f'CREATE TABLE "rows" ({", ".join(f"x{k} DOUBLE" for k in range(P))})')
    base.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * P)})', X.tolist())
    found = base.execute(exported(model, "sql", dialect="duckdb").decode())
    names = [column[0] for column in found.description]
    rows = found.fetchall()
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
    query = exported(model, "sql", dialect="duckdb").decode()
    got = base.sql(query).fetchnumpy()["tamis_probability"]
    np.testing.assert_allclose(np.asarray(got, dtype=float), want, rtol=0, atol=1e-12)
