"""Models of counts and rates leave Python with their link: every form says the mean."""

import json
import math
import re
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from exporting.queries import run_query
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import (
    FTRLRegressor,
    GroupLassoClassifier,
    GroupLassoRegressor,
    MultiTaskRegressor,
    OnlineGroupLassoRegressor,
    OnlineMultiTaskRegressor,
)
from tamis.exporting.export import export_bytes
from tamis.exporting.linear import extract_linear
from tamis.numerics.numba import term
from tamis.terms.losses import Poisson

NAMES = [f"x{k}" for k in range(5)]
HUGE = np.array([[1e6] * 5, [-1e6] * 5, [0.0] * 5])  # means beyond what exp has, and below


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.6)
    return X, rng.poisson(np.exp(X @ [1.0, -0.5, 0.0, 0.3, 0.0])).astype(float)


def by_json(model, rows):
    """Means by the document alone."""
    facts = json.loads(export_bytes(model, "json"))
    assert (facts["link"], facts["target"]) == ("log", "numbers")
    columns = [feature["column"] for feature in facts["features"]]
    weights = np.array([feature["weights"] for feature in facts["features"]])
    scores = rows[:, columns] @ weights + facts["intercepts"]
    known = {"exp": np.exp, "min": np.minimum, "score": scores}
    return eval(facts["predict"], known | {"largest_score": facts["largest_score"]})


def by_python(model, rows):
    alone = {}
    exec(export_bytes(model, "python"), alone)
    with pytest.raises(ValueError, match="no probabilities"):
        alone["predict_proba"](rows[0].tolist())
    return np.array([alone["predict"](row) for row in rows.tolist()])


def by_sql(model, rows):
    actual = run_query(export_bytes(model, "sql").decode(), NAMES, rows.tolist())
    means = [values for name, values in actual.items() if name.startswith("tamis_prediction")]
    return np.column_stack(means)


def by_onnx(model, rows):
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra test)")
    session = runtime.InferenceSession(export_bytes(model, "onnx", inputs="kept"))
    kept = rows[:, extract_linear(model).columns].astype(np.float32)
    return session.run(["predictions"], {"rows": kept})[0]


FORMS = {by_json: 1e-12, by_python: 1e-12, by_sql: 1e-12, by_onnx: 1e-9}


def same(model, rows):
    """Every form says what `predict` says; rows are exact in float32, which the graph takes."""
    want = model.predict(rows)
    assert np.isfinite(want).all()
    for form, tolerance in FORMS.items():
        means = form(model, rows).reshape(want.shape)
        np.testing.assert_allclose(means, want, rtol=tolerance, atol=1e-300, err_msg=form.__name__)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda: FTRLRegressor(1e-4, loss="poisson", random_state=0),
        lambda: GroupLassoRegressor(alpha=0.01, loss=Poisson(2.0)),
        lambda: GroupLassoRegressor(alpha=0.01, loss=Poisson(math.inf)),
        lambda: OnlineGroupLassoRegressor(alpha=0.01, loss="poisson", random_state=0),
        lambda: MultiTaskRegressor(alpha=0.01, loss="poisson"),
        lambda: OnlineMultiTaskRegressor(alpha=0.01, loss="poisson", random_state=0),
    ],
)
def test_every_form_says_the_mean(make, outputs, form, counts):
    X, y = counts
    y = np.minimum(y, 7.0)  # Poisson(2) takes no more
    y = y if outputs == 1 else np.column_stack((y, y[::-1]))
    model = make().fit(form(X), y)
    assert np.ptp(model.predict(X)) > 0.1
    rows = X.astype(np.float32).astype(float)
    same(model, rows if model.loss == Poisson(math.inf) else np.vstack((rows, HUGE)))


def test_no_form_overflows_where_the_loss_has_no_bound(counts):
    X, y = counts
    model = GroupLassoRegressor(alpha=0.01, loss=Poisson(math.inf)).fit(X, y)
    rows = HUGE * np.sign(model.coef_)
    for form in FORMS:
        means = form(model, rows).ravel()
        assert np.isfinite(means).all()
        assert means[0] > 1e308
        assert means[1] < 1e-300


def test_steps_before_the_model_are_folded_into_the_score(counts):
    X, y = counts
    model = FTRLRegressor(1e-4, loss="poisson", random_state=0)
    steps = make_pipeline(StandardScaler(), model).fit(X, y)
    same(steps, X.astype(np.float32).astype(float))


def test_one_of_several_tasks_has_its_means(counts):
    X, y = counts
    task = np.arange(200) % 3
    model = MultiTaskRegressor(alpha=0.01, loss="poisson").fit(X, y * (1 + task), task)
    alone = {}
    exec(export_bytes(model, "python", task=2), alone)
    means = [alone["predict"](row) for row in X[task == 2].tolist()]
    want = model.predict(X[task == 2], task[task == 2])
    np.testing.assert_allclose(means, want, rtol=1e-12)


def test_a_model_of_a_table_says_means_and_nothing_of_gaps(tmp_path, counts):
    X, y = counts
    city = np.where(X[:, 1] > 0, "Ulm", "L'Aquila")
    table = pd.DataFrame({"age": 40 + 10 * X[:, 0], "city": city, "y": y})
    table.to_csv(tmp_path / "train.csv", index=False)
    model = FTRLRegressor(1e-4, loss="poisson", random_state=0)
    kinds = {"city": "category", "age": "number", "y": "number"}
    tamis.train(model, tamis.open_rows(tmp_path / "train.csv", target="y", kinds=kinds), passes=5)
    chunks = tamis.open_rows(tmp_path / "train.csv", schema=model.reading_)
    want = np.concatenate([model.predict(chunk.X) for chunk in chunks])
    records = table[["age", "city"]].to_dict("records")
    alone = {}
    exec(export_bytes(model, "python"), alone)
    np.testing.assert_allclose([alone["predict"](one) for one in records], want, rtol=1e-12)
    query = export_bytes(model, "sql").decode()
    rows = [[*list(one.values())] for one in [*records, {"age": None, "city": "Ulm"}]]
    *means, missing = run_query(query, ["age", "city"], rows)["tamis_prediction"]
    np.testing.assert_allclose(means, want, rtol=1e-12)
    assert missing is None
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra test)")
    session = runtime.InferenceSession(export_bytes(model, "onnx"))
    age = np.array([*table["age"], np.nan])[:, None]
    fields = {"age": age, "city": np.array([*city, "Ulm"], dtype=object)[:, None]}
    means = session.run(["predictions"], fields)[0]
    np.testing.assert_allclose(means[:-1], want, rtol=1e-9)
    assert np.isnan(means[-1])


@pytest.mark.parametrize("largest_score", [30.0, 1.0])
def test_a_scorecard_says_the_mean_of_points(largest_score, counts):
    X, y = counts
    loss = Poisson(largest_score)
    model = GroupLassoRegressor(alpha=0.01, loss=loss).fit(X, np.minimum(y, 2.0))
    text = export_bytes(model, "scorecard", points=1000, X=X).decode()
    points = np.zeros(len(X))
    for name, unit, worth in re.findall(
        r"\| (x\d)(?:, for every ([\d.,]+))? \| ([+-]\d+) \|", text
    ):
        points += X[:, int(name[1])] / float((unit or "1").replace(",", "")) * int(worth)
    way = re.search(r"The score is (\S+) and the points divided by (\d\S*)\.", text)
    begun, scale = map(float, way.groups())
    scores = begun + points / scale
    want = model.predict(X)
    np.testing.assert_allclose(np.exp(np.minimum(scores, largest_score)), want, rtol=0.02)
    assert f"a score above {largest_score:g} counts as {largest_score:g}" in text
    listed = np.array(re.findall(r"\| (-?[\d.]+) \| ([\d.]+) \|", text), dtype=float)
    np.testing.assert_allclose(np.exp(begun + listed[:, 0] / scale), listed[:, 1], rtol=0.02)
    assert len(listed) >= 3
    assert listed[:, 1].max() <= math.exp(largest_score)


# --------------------------------------------------------------------------- refusals
@term
class SquareRoot(NamedTuple):
    """A user's loss whose mean is the square of the score."""

    scale: float = 1.0

    def accepts(self, targets):
        return targets >= 0.0

    def value(self, score, target):
        return 0.5 * self.scale * (score - math.sqrt(target)) ** 2

    def gradient(self, score, target):
        return self.scale * (score - math.sqrt(target))

    def hessian(self, score, target):
        return self.scale

    def hessian_bound(self):
        return self.scale

    def conjugate(self, gradient, target):
        return 0.5 * gradient * gradient / self.scale + gradient * math.sqrt(target)

    def inverse_link(self, score):
        return score * score


@pytest.mark.parametrize("to", ["json", "python", "sql", "onnx", "scorecard"])
def test_a_link_of_a_user_is_refused(to, counts):
    model = GroupLassoRegressor(alpha=0.01, loss=SquareRoot()).fit(*counts)
    with pytest.raises(ValueError, match=r"GroupLassoRegressor.*SquareRoot"):
        export_bytes(model, to)


def test_a_model_with_an_offset_is_refused(counts):
    X, y = counts
    offset = np.zeros(len(y))
    batch = GroupLassoRegressor(alpha=0.01, loss="poisson").fit(X, y, offset=offset)
    stream = FTRLRegressor(loss="poisson", random_state=0).fit(X, y, offset=offset)
    classes = GroupLassoClassifier(alpha=0.01).fit(X, y > 0, offset=offset)
    for model in (batch, stream, classes):
        with pytest.raises(ValueError, match=f"{type(model).__name__}.*offset"):
            export_bytes(model, "json")
