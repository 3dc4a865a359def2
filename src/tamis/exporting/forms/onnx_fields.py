"""Scores of an ONNX graph whose inputs are the fields of a table."""

import math
from functools import partial

import numpy as np

from tamis.data.columns.date_parts import DAY, HOUR
from tamis.data.columns.dates import DATE_PART_VALUES, DateEncoding
from tamis.data.columns.texts import TOKEN_PATTERN
from tamis.exporting.forms.onnx_graph import OnnxGraph
from tamis.exporting.inputs.fields import Field
from tamis.exporting.inputs.texts import Text
from tamis.exporting.linear import LinearModel

DEFAULT_TOKEN_PATTERNS = (
    TOKEN_PATTERN.pattern,
    r"(?u)\b\w\w+\b",
)  # of tamis and scikit-learn: tokens without spaces


def field_scores(graph: OnnxGraph, linear: LinearModel) -> str:
    """Return the scores of rows: the intercepts plus the term of each field.

    Inputs have one column each: numbers are doubles (nan: a gap), words are strings ("": a gap),
    dates are doubles, seconds since 1970 in the local time of the data (nan: a gap). Texts are
    strings with one column per token; shorter rows end with "".
    """
    if not len(linear.columns):
        raise ValueError("the model kept no column: its scores are the same for all rows.")
    weights = ColumnWeights(linear)
    bias = graph.constant(linear.intercepts[None, :])
    return graph.add("Sum", bias, *(_field_score(graph, f, weights) for f in linear.fields.listed))


class ColumnWeights:
    """Weights of each column for all outputs."""

    def __init__(self, linear: LinearModel):
        self.rows = dict(zip(linear.columns.tolist(), linear.weights, strict=True))
        self.zero_weights = np.zeros(linear.outputs)

    def __getitem__(self, column: int | None) -> np.ndarray:
        return self.rows.get(-1 if column is None else column, self.zero_weights)

    def table(self, columns: list[int]) -> np.ndarray:
        """Return the weights of some columns as rows of a matrix."""
        return np.array([self[column] for column in columns])


def _field_score(graph: OnnxGraph, field: Field, weights: ColumnWeights) -> str:
    """Return the term of a field in the scores."""
    kinds = graph.onnx.TensorProto
    if field.text is not None:
        return _text_score(graph, field.text, graph.input(field.name, None, kinds.STRING), weights)
    if field.words is not None:
        return _category_score(graph, field, graph.input(field.name, 1, kinds.STRING), weights)
    input_name = graph.input(field.name, 1, kinds.DOUBLE)
    is_missing = graph.add("IsNaN", input_name)
    filled = graph.add(
        "Where", is_missing, graph.constant(np.array(float(field.fill or 0.0))), input_name
    )
    if field.date is not None:
        value = _date_score(graph, field.date, filled, weights)
    else:
        value = _standardized(graph, field, filled)
        value = graph.add("Mul", value, graph.constant(weights[field.number][None, :]))
    if field.fill is not None:
        return value
    missing = weights.zero_weights + np.nan if field.gap is None else weights[field.gap]
    return graph.add("Where", is_missing, graph.constant(missing[None, :]), value)


def _standardized(graph: OnnxGraph, field: Field, value: str) -> str:
    """Return (value - centre) / spread."""
    centre, spread = field.centre, field.spread
    if 0.0 < abs(centre) < float(np.finfo(np.float32).tiny):
        # Runtimes treat such a centre as the zero of float32. Scaling by a power of two makes it
        # larger without rounding.
        power = 2.0 ** min(-math.frexp(spread)[1], 1000)
        value = graph.add("Mul", value, graph.constant(np.array(power)))
        centre, spread = centre * power, spread * power
    centred = graph.add("Sub", value, graph.constant(np.array(centre)))
    return graph.add("Div", centred, graph.constant(np.array(spread)))


def _category_score(graph: OnnxGraph, field: Field, input_name: str, weights: ColumnWeights) -> str:
    """Return the weights of a word, of any other word, and of a gap."""
    word_columns = field.words or {}
    missing = weights.zero_weights + np.nan if field.gap is None else weights[field.gap]
    if (
        "" in word_columns
        and field.gap is not None
        and (weights[word_columns[""]] != missing).any()
    ):
        raise ValueError(
            f"the column {field.name!r:.80} has gaps and the level '', and a graph takes '' for "
            "both. Replace the level before you fit, or export to json, python or sql."
        )
    table = np.vstack([weights[field.rest], missing, *(weights[c] for c in word_columns.values())])
    codes = {"": 1} | {word: k for k, word in enumerate(word_columns, 2)}
    if field.fill is not None:
        codes[""] = codes.get(str(field.fill), 0)
    return _gather_rows(graph, table, graph.encode_labels(input_name, codes))


def _gather_rows(graph: OnnxGraph, table: np.ndarray, indices: str) -> str:
    """Return rows of a table."""
    flat_indices = graph.add("Reshape", indices, graph.constant(np.array([-1])))
    return graph.add("Gather", graph.constant(table), flat_indices, axis=0)


# --------------------------------------------------------------------------- dates
def _date_score(graph: OnnxGraph, date: DateEncoding, seconds: str, weights: ColumnWeights) -> str:
    """Return the term of a date."""
    terms = [graph.add("Mul", seconds, graph.constant(weights.zero_weights[None, :]))]
    if date.trend >= 0 and date.span:
        since_first = graph.add("Sub", seconds, graph.constant(np.array(date.first)))
        trend = graph.add("Div", since_first, graph.constant(np.array(date.span)))
        terms.append(graph.add("Mul", trend, graph.constant(weights[date.trend][None, :])))
    integer = partial(_integer_operation, graph)
    days = graph.add("Floor", graph.add("Div", seconds, graph.constant(np.array(float(DAY)))))
    time_of_day = graph.add(
        "Sub", seconds, graph.add("Mul", days, graph.constant(np.array(float(DAY))))
    )
    days = graph.add("Cast", days, to=graph.onnx.TensorProto.INT64)
    if months := date.columns("month"):
        table = weights.table([months.get(month, -1) for month in DATE_PART_VALUES["month"]])
        terms.append(_gather_rows(graph, table, _month(graph, days)))
    if weekdays := date.columns("weekday"):
        table = weights.table([weekdays.get(day, -1) for day in DATE_PART_VALUES["weekday"]])
        # The first of January 1970 was a Thursday.
        terms.append(_gather_rows(graph, table, integer("Mod", integer("Add", days, 3), 7)))
    if hours := date.columns("hour"):
        table = weights.table([hours.get(hour, -1) for hour in DATE_PART_VALUES["hour"]])
        whole_seconds = graph.add("Cast", time_of_day, to=graph.onnx.TensorProto.INT64)
        terms.append(_gather_rows(graph, table, integer("Div", whole_seconds, HOUR)))
    return graph.add("Sum", *terms)


def _integer_operation(graph: OnnxGraph, operator: str, left: str, right: str | int) -> str:
    """Add an operation on integers."""
    if isinstance(right, int):
        right = graph.constant(np.array(right, np.int64))
    return graph.add(operator, left, right)


def _month(graph: OnnxGraph, days: str) -> str:
    """Return months (0 to 11) of days since 1970, by the 400-year cycle that starts in March."""
    integer = partial(_integer_operation, graph)
    day = integer("Mod", integer("Add", days, 719468), 146097)
    leaps = integer("Sub", integer("Div", day, 36524), integer("Div", day, 1460))
    leaps = integer("Sub", leaps, integer("Div", day, 146096))
    year = integer("Div", integer("Add", day, leaps), 365)
    year_start = integer("Sub", integer("Div", year, 4), integer("Div", year, 100))
    year_start = integer("Add", integer("Mul", year, 365), year_start)
    day_of_year = integer("Sub", day, year_start)
    from_march = integer("Div", integer("Add", integer("Mul", day_of_year, 5), 2), 153)
    return integer("Mod", integer("Add", from_march, 2), 12)


# --------------------------------------------------------------------------- texts
def _text_score(graph: OnnxGraph, text: Text, tokens: str, weights: ColumnWeights) -> str:
    """Return the term of a text: weights of its words times their values."""
    if (
        text.analyzer == "word"
        and text.ngrams[1] > 1
        and text.pattern not in DEFAULT_TOKEN_PATTERNS
    ):
        raise ValueError(
            f"tokens by the pattern {text.pattern!r} may have spaces, so that runs of them cannot "
            "be told apart in a graph. Export to python, or take the default token_pattern."
        )
    order = sorted(text.words, key=lambda word: _n_tokens(text, word))
    columns = [text.words[word] for word in order]
    counts = graph.add("TfIdfVectorizer", tokens, **_tfidf_attributes(text, order))
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
    weighted = np.array([k for k, column in enumerate(columns) if weights[column].any()])
    weighted_values = graph.add("Gather", values, graph.constant(weighted), axis=1)
    table = weights.table([columns[k] for k in weighted])
    scores = graph.add("MatMul", weighted_values, graph.constant(table))
    if text.norm is None:
        return scores
    operator = "ReduceL2" if text.norm == "l2" else "ReduceL1"
    length = graph.add(operator, values, axes=[1], keepdims=1)
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    length = graph.add("Where", graph.add("Greater", length, zero), length, one)
    return graph.add("Div", scores, length)


def _n_tokens(text: Text, word: str) -> int:
    """Return the number of tokens of a vocabulary entry; n-grams of letters are one token."""
    return len(word.split(" ")) if text.analyzer == "word" and text.ngrams[1] > 1 else 1


def _tfidf_attributes(text: Text, order: list[str]) -> dict:
    """Return the attributes of the node that counts tokens and n-grams."""
    sizes = [_n_tokens(text, word) for word in order]
    longest = max(sizes, default=1)
    # Unigrams come first, then bigrams, and so on.
    token_lists = [
        word.split(" ") if size > 1 else [word] for word, size in zip(order, sizes, strict=True)
    ]
    pool = [token for tokens in token_lists for token in tokens]
    ends = np.cumsum([0] + [size * sizes.count(size) for size in range(1, longest)])
    return {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": longest,
        "max_skip_count": 0,
        "pool_strings": pool,
        "ngram_counts": ends.tolist(),
        "ngram_indexes": list(range(len(order))),
    }
