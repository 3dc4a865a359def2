"""A linear model as a query: score, probabilities and prediction of every row of a table."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.fields import Field
from tamis.exporting.linear import IDENTITY, LINKS, SOFTMAX, Linear

DIALECTS = ("sqlite", "postgresql", "duckdb")
SUMMANDS = 100  # in a pair of parentheses: databases bound the depth of expressions
EDGE = "700"  # beyond it exp overflows, which some databases refuse


def sql_of(linear: Linear, dialect: str = "sqlite", table: str = "rows") -> str:
    """The text of the query."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(DIALECTS)}.")
    if linear.text is not None or linear.fields.is_hashed:
        what = "splits texts into words" if linear.text is not None else "hashes names"
        raise ValueError(
            f"the model {what}, which SQL has no function for. Export it to json or python."
        )
    linear.fields.check("SQL")
    marks = _marks(linear)
    scores = [_quoted(f"tamis_score{mark}") for mark in marks]
    inner = ",\n".join(
        f"    {_score(linear, output)} AS {scores[output]}" for output in range(linear.outputs)
    )
    outer = [f"  {value} AS {_quoted(name)}" for name, value in _answers(linear, scores, dialect)]
    head = f"-- {_line(linear.title)}, written by tamis {tamis.__version__} for {dialect}\n"
    head += f"-- {LINKS[linear.link]}\n"
    selected = ",\n".join(["  scored.*", *outer])
    return (
        f"{head}SELECT\n{selected}\nFROM (\n  SELECT\n    t.*,\n{inner}\n"
        f"  FROM {_quoted(table)} AS t\n) AS scored;\n"
    )


def _marks(linear: Linear) -> list[str]:
    """What is written behind the names of the outputs."""
    if linear.outputs == 1 and not linear.labels:
        return [""]
    if linear.classes is None:
        return [f"_{output}" for output in range(linear.outputs)]
    return [f"_{label}" for label in linear.classes]


# --------------------------------------------------------------------------- scores
def _score(linear: Linear, output: int) -> str:
    """The score of an output as one expression."""
    weights = dict(zip(linear.columns.tolist(), linear.weights[:, output].tolist(), strict=True))
    parts = [_number(float(linear.intercepts[output]))]
    parts += [part for field in linear.fields.listed if (part := _summand(field, weights))]
    while len(parts) > SUMMANDS:
        cut = range(0, len(parts), SUMMANDS)
        parts = [f"({' + '.join(parts[at : at + SUMMANDS])})" for at in cut]
    return "\n      + ".join(parts)


def _summand(field: Field, weights: dict[int, float]) -> str:
    """What a field adds to a score; nothing where it has no weight."""
    name = f"t.{_quoted(field.name)}"
    gap = None if field.gap is None else weights.get(field.gap, 0.0)
    if field.words is None:
        weight = weights.get(-1 if field.number is None else field.number, 0.0)
        if not weight and not gap and field.gap is not None:
            return ""
        read = _read(field, name)
        value = f"{_number(weight)} * {read}"
        if not gap:
            return value if gap is None else f"{_number(weight)} * COALESCE({read}, 0)"
    else:
        whens = "".join(
            f" WHEN {_text(word)} THEN {_number(weights.get(column, 0.0))}"
            for word, column in field.words.items()
            if weights.get(column) or field.rest >= 0
        )
        rest = _number(weights.get(field.rest, 0.0)) if field.rest >= 0 else "0"
        if not whens and rest == "0" and not gap and field.gap is not None:
            return ""
        value = f"CASE CAST({name} AS VARCHAR){whens} ELSE {rest} END" if whens else rest
        if gap is not None and not gap:
            return value
    missing = "NULL" if gap is None else _number(gap)
    return f"CASE WHEN {name} IS NULL THEN {missing} ELSE {value} END"


def _read(field: Field, name: str) -> str:
    """A number as the model takes it: true as 1, and in units of the column."""
    if field.flags:
        words = "WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0"
        name = f"CASE LOWER(CAST({name} AS VARCHAR)) {words} END"
    if (field.centre, field.spread) == (0.0, 1.0):
        return name
    return f"(({name} - {_number(field.centre)}) / {_number(field.spread)})"


# --------------------------------------------------------------------------- answers
def _answers(linear: Linear, scores: list[str], dialect: str) -> list[tuple[str, str]]:
    """Names and expressions of what is made from the scores."""
    if linear.classes is None:
        return []
    marks, found = _marks(linear), []
    if linear.link != IDENTITY:
        found += _probabilities(linear, scores, marks, dialect)
    classes = [_constant(label) for label in linear.classes]
    if linear.labels:
        return found + [
            (f"tamis_prediction{mark}", f"CASE WHEN {score} > 0 THEN 1 ELSE 0 END")
            for mark, score in zip(marks, scores, strict=True)
        ]
    if len(classes) == 2:
        whens = f"WHEN {scores[0]} > 0 THEN {classes[1]} WHEN {scores[0]} <= 0 THEN {classes[0]}"
    else:
        most = _most(scores, dialect)
        pairs = zip(scores, classes, strict=True)
        whens = " ".join(f"WHEN {score} = {most} THEN {name}" for score, name in pairs)
    return [*found, ("tamis_prediction", f"CASE {whens} END")]


def _probabilities(linear, scores, marks, dialect) -> list[tuple[str, str]]:
    """Names and expressions of the probabilities: of two classes that of the second."""
    names = [f"tamis_probability{mark}" for mark in marks]
    lines = np.tile([1.0, 0.0], (len(scores), 1)) if linear.lines is None else linear.lines
    lined = [
        score if (a, b) == (1.0, 0.0) else f"({_number(a)} * {score} + {_number(b)})"
        for score, (a, b) in zip(scores, lines.tolist(), strict=True)
    ]
    if linear.link == SOFTMAX:
        most = _most(lined, dialect)
        parts = [f"EXP({_bounded(f'({one} - {most})')})" for one in lined]
    else:
        parts = [f"(1 / (1 + EXP(-{_bounded(one)})))" for one in lined]
    if linear.labels or len(scores) == 1:
        return list(zip(names, parts, strict=True))
    total = " + ".join(parts)
    return [(name, f"{part} / ({total})") for name, part in zip(names, parts, strict=True)]


def _bounded(value: str) -> str:
    """A number whose exp is one; of a missing one nothing."""
    high, low = f"WHEN {value} > {EDGE} THEN {EDGE}", f"WHEN {value} < -{EDGE} THEN -{EDGE}"
    return f"(CASE {high} {low} ELSE {value} END)"


def _most(values: list[str], dialect: str) -> str:
    """The largest of some numbers."""
    return f"{'MAX' if dialect == 'sqlite' else 'GREATEST'}({', '.join(values)})"


# --------------------------------------------------------------------------- words of SQL
def _quoted(name: str) -> str:
    """A name as SQL takes any."""
    return '"' + str(name).replace('"', '""') + '"'


def _text(word: str) -> str:
    """A word as a constant."""
    return "'" + str(word).replace("'", "''") + "'"


def _constant(value: Any) -> str:
    """A class as a constant."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value) if isinstance(value, int | float) else _text(value)


def _number(value: float) -> str:
    """A number of double precision: with an exponent it is no decimal."""
    return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"


def _line(text: str) -> str:
    """A text as a comment."""
    return " ".join(text.split())
