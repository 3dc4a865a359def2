"""Scores of an ONNX graph whose inputs are the fields of a record, as a table has them."""

import math
from functools import partial

import numpy as np

from tamis.data.columns.date_parts import DAY, HOUR
from tamis.data.columns.dates import VALUES, DateEncoding
from tamis.data.columns.texts import TOKEN
from tamis.exporting.forms.onnx_graph import Graph
from tamis.exporting.inputs.fields import Field
from tamis.exporting.inputs.texts import Text
from tamis.exporting.linear import Linear

PLAIN = (TOKEN.pattern, r"(?u)\b\w\w+\b")  # tokens without spaces: ours and scikit-learn's


def scores_of_fields(graph: Graph, linear: Linear) -> str:
    """The scores of rows: what each field adds, and the intercepts.

    Numbers come as a tensor of doubles (nan: a gap), words as one of strings ("": a gap), dates as
    doubles, seconds since 1970 on the clock that they were written by (nan: a gap), each with a
    column; texts as strings, a column a token, the end of shorter rows filled with "".
    """
    if not len(linear.columns):
        raise ValueError("the model kept no column: its scores are the same for all rows.")
    weights = Weights(linear)
    begun = graph.constant(linear.intercepts[None, :])
    return graph.add("Sum", begun, *(_added(graph, f, weights) for f in linear.fields.listed))


class Weights:
    """Weights by column, in rows of all outputs."""

    def __init__(self, linear: Linear):
        self.rows = dict(zip(linear.columns.tolist(), linear.weights, strict=True))
        self.nothing = np.zeros(linear.outputs)

    def __getitem__(self, column: int | None) -> np.ndarray:
        return self.rows.get(-1 if column is None else column, self.nothing)

    def table(self, columns: list[int]) -> np.ndarray:
        """The weights of some columns, one below the other."""
        return np.array([self[column] for column in columns])


def _added(graph: Graph, field: Field, weights: Weights) -> str:
    """What a field adds to the scores."""
    kinds = graph.onnx.TensorProto
    if field.text is not None:
        return _of_text(graph, field.text, graph.input(field.name, None, kinds.STRING), weights)
    if field.words is not None:
        return _of_words(graph, field, graph.input(field.name, 1, kinds.STRING), weights)
    given = graph.input(field.name, 1, kinds.DOUBLE)
    gone = graph.add("IsNaN", given)
    safe = graph.add("Where", gone, graph.constant(np.array(float(field.fill or 0.0))), given)
    if field.date is not None:
        value = _of_date(graph, field.date, safe, weights)
    else:
        value = _in_units(graph, field, safe)
        value = graph.add("Mul", value, graph.constant(weights[field.number][None, :]))
    if field.fill is not None:
        return value
    missing = weights.nothing + np.nan if field.gap is None else weights[field.gap]
    return graph.add("Where", gone, graph.constant(missing[None, :]), value)


def _in_units(graph: Graph, field: Field, value: str) -> str:
    """A number less its centre, in units of its spread."""
    centre, spread = field.centre, field.spread
    if 0.0 < abs(centre) < float(np.finfo(np.float32).tiny):
        # Runtimes take such a centre for the zero of float32 and do not subtract it. A power
        # of two makes it larger and rounds nothing.
        power = 2.0 ** min(-math.frexp(spread)[1], 1000)
        value = graph.add("Mul", value, graph.constant(np.array(power)))
        centre, spread = centre * power, spread * power
    centred = graph.add("Sub", value, graph.constant(np.array(centre)))
    return graph.add("Div", centred, graph.constant(np.array(spread)))


def _of_words(graph: Graph, field: Field, given: str, weights: Weights) -> str:
    """The weights of a word, of any other one, and of a gap."""
    known = field.words or {}
    missing = weights.nothing + np.nan if field.gap is None else weights[field.gap]
    if "" in known and field.gap is not None and (weights[known[""]] != missing).any():
        raise ValueError(
            f"the column {field.name!r:.80} has gaps and the level '', and a graph takes '' for "
            "both. Replace the level before you fit, or export to json, python or sql."
        )
    table = np.vstack([weights[field.rest], missing, *(weights[c] for c in known.values())])
    places = {"": 1} | {word: k for k, word in enumerate(known, 2)}
    if field.fill is not None:
        places[""] = places.get(str(field.fill), 0)
    return _picked(graph, table, graph.look_up(given, places))


def _picked(graph: Graph, table: np.ndarray, places: str) -> str:
    """Rows of a table."""
    flat = graph.add("Reshape", places, graph.constant(np.array([-1])))
    return graph.add("Gather", graph.constant(table), flat, axis=0)


# --------------------------------------------------------------------------- dates
def _of_date(graph: Graph, date: DateEncoding, seconds: str, weights: Weights) -> str:
    """The weights of the parts of a date."""
    found = [graph.add("Mul", seconds, graph.constant(weights.nothing[None, :]))]
    if date.trend >= 0 and date.span:
        away = graph.add("Sub", seconds, graph.constant(np.array(date.first)))
        trend = graph.add("Div", away, graph.constant(np.array(date.span)))
        found.append(graph.add("Mul", trend, graph.constant(weights[date.trend][None, :])))
    count = partial(_count, graph)
    days = graph.add("Floor", graph.add("Div", seconds, graph.constant(np.array(float(DAY)))))
    clock = graph.add("Sub", seconds, graph.add("Mul", days, graph.constant(np.array(float(DAY)))))
    days = graph.add("Cast", days, to=graph.onnx.TensorProto.INT64)
    if months := date.columns("month"):
        table = weights.table([months.get(month, -1) for month in VALUES["month"]])
        found.append(_picked(graph, table, _month(graph, days)))
    if weekdays := date.columns("weekday"):
        table = weights.table([weekdays.get(day, -1) for day in VALUES["weekday"]])
        # The first of January 1970 was a Thursday.
        found.append(_picked(graph, table, count("Mod", count("Add", days, 3), 7)))
    if hours := date.columns("hour"):
        table = weights.table([hours.get(hour, -1) for hour in VALUES["hour"]])
        whole = graph.add("Cast", clock, to=graph.onnx.TensorProto.INT64)
        found.append(_picked(graph, table, count("Div", whole, HOUR)))
    return graph.add("Sum", *found)


def _count(graph: Graph, operator: str, one: str, other: str | int) -> str:
    """An operation on whole numbers."""
    if isinstance(other, int):
        other = graph.constant(np.array(other, np.int64))
    return graph.add(operator, one, other)


def _month(graph: Graph, days: str) -> str:
    """Months from 0 on of days since 1970, by the calendar's cycle of 400 years from March on."""
    count = partial(_count, graph)
    day = count("Mod", count("Add", days, 719468), 146097)
    leaps = count("Sub", count("Div", day, 36524), count("Div", day, 1460))
    leaps = count("Sub", leaps, count("Div", day, 146096))
    year = count("Div", count("Add", day, leaps), 365)
    begun = count("Sub", count("Div", year, 4), count("Div", year, 100))
    begun = count("Add", count("Mul", year, 365), begun)
    inside = count("Sub", day, begun)
    from_march = count("Div", count("Add", count("Mul", inside, 5), 2), 153)
    return count("Mod", count("Add", from_march, 2), 12)


# --------------------------------------------------------------------------- texts
def _of_text(graph: Graph, text: Text, tokens: str, weights: Weights) -> str:
    """The weights of the words of a text, by how often they come."""
    if text.analyzer == "word" and text.ngrams[1] > 1 and text.pattern not in PLAIN:
        raise ValueError(
            f"tokens by the pattern {text.pattern!r} may have spaces, so that runs of them cannot "
            "be told apart in a graph. Export to python, or take the default token_pattern."
        )
    order = sorted(text.words, key=lambda word: _size(text, word))
    columns = [text.words[word] for word in order]
    counts = graph.add("TfIdfVectorizer", tokens, **_pool(text, order))
    double = graph.onnx.TensorProto.DOUBLE
    values = graph.add("Cast", counts, to=double)
    if text.binary:
        zero = graph.constant(np.array(0.0))
        values = graph.add("Cast", graph.add("Greater", values, zero), to=double)
    if text.sublinear:
        zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
        logged = graph.add("Add", graph.add("Log", graph.add("Max", values, one)), one)
        values = graph.add("Where", graph.add("Greater", values, zero), logged, zero)
    if text.factors:
        factors = np.array([text.factors[column] for column in columns])
        values = graph.add("Mul", values, graph.constant(factors))
    kept = np.array([k for k, column in enumerate(columns) if weights[column].any()])
    picked = graph.add("Gather", values, graph.constant(kept), axis=1)
    table = weights.table([columns[k] for k in kept])
    found = graph.add("MatMul", picked, graph.constant(table))
    if text.norm is None:
        return found
    operator = "ReduceL2" if text.norm == "l2" else "ReduceL1"
    length = graph.add(operator, values, axes=[1], keepdims=1)
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    length = graph.add("Where", graph.add("Greater", length, zero), length, one)
    return graph.add("Div", found, length)


def _size(text: Text, word: str) -> int:
    """How many tokens a word of a vocabulary has: n-grams of letters come as one."""
    return len(word.split(" ")) if text.analyzer == "word" and text.ngrams[1] > 1 else 1


def _pool(text: Text, order: list[str]) -> dict:
    """Settings by which tokens and runs of them are counted."""
    sizes = [_size(text, word) for word in order]
    longest = max(sizes, default=1)
    # Runs of one token come first, then those of two, and so on.
    pieces = [
        word.split(" ") if size > 1 else [word] for word, size in zip(order, sizes, strict=True)
    ]
    flat = [piece for some in pieces for piece in some]
    ends = np.cumsum([0] + [size * sizes.count(size) for size in range(1, longest)])
    return {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": longest,
        "max_skip_count": 0,
        "pool_strings": flat,
        "ngram_counts": ends.tolist(),
        "ngram_indexes": list(range(len(order))),
    }
