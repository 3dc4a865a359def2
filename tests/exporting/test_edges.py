"""Forms of handmade models at their edges: the first column, gaps, words that have no column of
their own, one day alone, and cards of rows that say nothing.
"""

import numpy as np
import pytest
from exporting.queries import run_query
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from tamis import FTRLClassifier, FTRLRegressor, Table, export
from tamis.data.columns.date_parts import WEEKDAYS
from tamis.data.columns.dates import DateEncoding
from tamis.data.tables.layout import Column, Layout
from tamis.exporting.export import export_bytes
from tamis.exporting.forms.onnx import to_onnx
from tamis.exporting.forms.python import to_python
from tamis.exporting.forms.scorecard import _explain_points, _round_unit, choose_scorecard
from tamis.exporting.forms.sql import to_sql
from tamis.exporting.inputs.encoders import _selected_names, dict_vectoriser_fields, only_fills_gaps
from tamis.exporting.inputs.fields import LISTED, Field, Fields, table_fields
from tamis.exporting.linear import IDENTITY, LOGISTIC, LinearModel, extract_linear

DAY = 86400.0


def handmade(weights, listed=(), **more):
    """A model of numbers whose columns 0, 1, ... have these weights; its intercept is 0.5."""
    given = {
        "model": "Handmade",
        "columns": np.arange(len(weights)),
        "names": [f"c{k}" for k in range(len(weights))],
        "weights": np.array(weights, float)[:, None],
        "intercepts": np.array([0.5]),
        "n_features": len(weights),
        "classes": None,
        "labels": False,
        "link": IDENTITY,
        "calibration": None,
        "deviations": None,
        "reading": None,
        "fields": Fields(LISTED, list(listed), gaps=(), records=True),
    }
    return LinearModel(**(given | more))


def by_python(linear, records):
    alone = {}
    exec(to_python(linear), alone)
    return [alone["score"](record) for record in records]


def by_sql(linear, records):
    names = list(records[0])
    rows = [[record[name] for name in names] for record in records]
    actual = run_query(to_sql(linear), names, rows)
    return list(actual[next(name for name in actual if name.startswith("tamis"))])


def by_onnx(linear, records):
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra test)")
    session = runtime.InferenceSession(to_onnx(linear, "fields"))
    asked = {}
    for one in session.get_inputs():
        column = [record[one.name] for record in records]
        words = "string" in one.type
        gap = "" if words else np.nan
        filled = [gap if value is None else value for value in column]
        asked[one.name] = np.array(filled, dtype=object if words else float)[:, None]
    return session.run(["scores"], asked)[0].ravel().tolist()


FORMS = pytest.mark.parametrize("form", [by_python, by_sql, by_onnx])


@FORMS
def test_a_field_whose_gap_alone_has_a_weight(form):
    linear = handmade([2.0, 3.0], [Field("a", 0, gap=-1), Field("lost", -1, gap=1)])
    records = [{"a": 1.0, "lost": 5.0}, {"a": 1.0, "lost": None}, {"a": None, "lost": 5.0}]
    assert form(linear, records) == pytest.approx([2.5, 5.5, 0.5])


@FORMS
def test_gaps_alone_are_read_as_their_column_is(form):
    facts = {"written": "ymd", "first": 0.0, "last": DAY, "parts": ["trend"]}
    columns = [Column("open", "number", True, facts={"as": "flags"})]
    columns.append(Column("when", "date", True, facts=facts))
    fields = table_fields(Layout(columns, missing="indicator"), {1, 3})
    linear = handmade([0.0, 2.0, 0.0, 3.0], fields=fields)
    rows = [{"open": "False", "when": "1970-01-02"}, {"open": None, "when": None}]
    if form is by_onnx:
        rows[0] = {"open": 0.0, "when": DAY}
    assert form(linear, rows) == pytest.approx([0.5, 5.5])


@FORMS
def test_columns_of_tiny_spread_are_centred(form):
    for centre, spread in ((3e-47, 1e-46), (2e-300, 1e-300), (5e-324, 1e-323), (1e-46, 1.0)):
        linear = handmade([2.0], [Field("a", 0, gap=-1, centre=centre, spread=spread)])
        rows = [{"a": value} for value in (0.0, centre, 4 * spread)]
        want = [0.5 + 2.0 * ((row["a"] - centre) / spread) for row in rows]
        assert form(linear, rows) == pytest.approx(want, rel=1e-12)


def test_a_graph_has_scores_that_float32_has_not():
    linear = handmade([1e40], [Field("a", 0, gap=-1)])
    assert by_onnx(linear, [{"a": 1e6}]) == pytest.approx([1e46], rel=1e-12)


def test_a_graph_cannot_tell_a_blank_level_from_a_gap():
    linear = handmade([2.0, 3.0], [Field("city", words={"": 0, "ulm": 1}, gap=-1)])
    with pytest.raises(ValueError, match=r"column 'city' .*level ''"):
        by_onnx(linear, [{"city": "ulm"}])
    alike = handmade([2.0, 3.0], [Field("city", words={"": 0, "ulm": 1}, gap=0)])
    assert by_onnx(alike, [{"city": None}, {"city": "ulm"}]) == pytest.approx([2.5, 3.5])


@FORMS
def test_the_first_column_may_be_that_of_other_words(form):
    listed = [Field("city", words={"bonn": 1}, rest=0, gap=-1)]
    records = [{"city": "bonn"}, {"city": "ulm"}, {"city": None}]
    assert form(handmade([2.0, 3.0], listed), records) == pytest.approx([3.5, 2.5, 0.5])


def test_words_that_all_share_a_column():
    linear = handmade([2.0], [Field("city", words={}, rest=0, gap=-1)])
    assert by_python(linear, [{"city": "ulm"}, {"city": None}]) == [2.5, 0.5]
    strict = handmade([2.0], [Field("city", words={}, rest=0)])
    assert by_python(strict, [{"city": "ulm"}]) == [2.5]


@pytest.mark.parametrize("form", [by_sql, by_onnx])
def test_a_date_of_one_day_has_no_trend_and_other_days_no_weight(form):
    date = DateEncoding("ymd", DAY, DAY, {"trend": 0, f"weekday={WEEKDAYS[4]}": 1})
    linear = handmade([2.0, 3.0], [Field("when", gap=-1, date=date)])
    # The first of January 1970 was a Thursday.
    given = [DAY, 4 * DAY] if form is by_onnx else ["1970-01-02", "1970-01-05"]
    assert form(linear, [{"when": day} for day in given]) == pytest.approx([3.5, 0.5])


def test_single_tokens_leave_by_any_pattern():
    texts = ["ab cd", "ab ef", "cd ef", "ef gh"] * 5
    vectoriser = CountVectorizer(token_pattern=r"[a-z]+ ?")
    steps = make_pipeline(vectoriser, FTRLClassifier(1e-4, random_state=0))
    pytest.importorskip("onnx", reason="onnx is not installed (extra export)")
    assert export_bytes(steps.fit(texts, [0, 0, 1, 1] * 5), "onnx", inputs="fields")


# --------------------------------------------------------------------------- what becomes a field
def test_gaps_of_keys_and_texts_add_nothing():
    actual = dict_vectoriser_fields(np.arange(2), ["age", "city=bonn"], "=")
    assert [field.gap for field in actual.listed] == [-1, -1]
    texts = make_pipeline(CountVectorizer(), FTRLRegressor(random_state=0))
    (field,) = extract_linear(texts.fit(["ab cd", "ab ef"], [0.0, 1.0])).fields.listed
    assert field.gap == -1


def test_a_number_that_is_known_by_its_gaps_has_no_column():
    table = Table(kinds={"age": "number", "size": "number"}, missing="indicator")
    table.fit({"age": [1.0, None, 3.0, 2.0], "size": [4.0, 5.0, None, 1.0]})
    layout = Layout.from_dict(table.layout_)
    gap = layout.places["size"] + layout.sizes["size"]
    (field,) = table_fields(layout, {gap}).listed
    assert (field.name, field.number, field.gap) == ("size", -1, gap)


def test_a_slice_by_names_takes_the_last_one_too():
    assert _selected_names(slice("b", "c"), list("abcd")) == ["b", "c"]
    assert _selected_names(slice(None, "b"), list("abcd")) == ["a", "b"]
    assert _selected_names(slice(1, 3), list("abcd")) == ["b", "c"]


def test_imputers_of_other_values_than_gaps_are_none():
    X = np.array([[1.0, 2.0], [0.0, 3.0]])
    assert only_fills_gaps(SimpleImputer().fit(X))
    assert not only_fills_gaps(SimpleImputer(missing_values=0).fit(X))
    assert only_fills_gaps(
        SimpleImputer(missing_values=None, strategy="most_frequent").fit([["a"]])
    )


# --------------------------------------------------------------------------- cards
def test_units_are_round():
    assert _round_unit(np.array([5.2, 0.021, 1.4, 88.0, 0.0])).tolist() == [
        5.0,
        0.02,
        1.0,
        100.0,
        1.0,
    ]


def test_rows_that_say_nothing_leave_the_largest_card():
    card = choose_scorecard(handmade([0.5, -2.0]), 10, np.ones((4, 2)))
    assert card.points.tolist() == [2, -10]
    assert card.error["rank_correlation"] is None


def test_a_score_of_0_is_one_decision_and_stays_it():
    linear = handmade([1.0, -0.33], intercepts=np.zeros(1), classes=["no", "yes"], link=LOGISTIC)
    rows = np.array([[0.0, 0.0], [33.0, 100.0], [1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    card = choose_scorecard(linear, 3, rows)
    own, other = rows @ linear.weights[:, 0], rows @ (card.points / card.units)
    assert other[0] == own[0] == own[1] == 0.0
    assert card.error["changed"] == int(((own > 0) != (other - card.threshold > 0)).sum())
    even = choose_scorecard(linear._replace(weights=np.array([[1.0], [-0.5]])), 2, rows[[0, 2, 3]])
    assert even.error["changed"] == 0


def test_even_odds_are_at_the_threshold():
    linear = handmade([1.0], classes=["no", "yes"], link=LOGISTIC)
    card = choose_scorecard(linear, 10)
    (line,) = (row for row in _explain_points(linear, card) if row.endswith("| 50% |"))
    assert float(line.split("|")[1]) == pytest.approx(card.threshold, abs=0.05)


def test_a_card_has_ten_points_at_most_unless_told(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = FTRLRegressor(random_state=0).fit(X, X @ [1.0, -2.0, 0.3])
    export(model, tmp_path / "card.md")
    ten, more = (export_bytes(model, "scorecard", points=most) for most in (10, 11))
    assert (tmp_path / "card.md").read_bytes() == ten != more
