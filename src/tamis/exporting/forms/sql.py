"""A linear model as a query: score, probabilities and prediction of every row of a table."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.forms.sql_fields import (
    DUCKDB,
    POSTGRESQL,
    SQLITE,
    number,
    quoted,
    summand,
    text,
)
from tamis.exporting.inputs.fields import ONE_TEXT
from tamis.exporting.linear import IDENTITY, LINKS, LOG, SOFTMAX, Linear
from tamis.system.spelling import option

DIALECTS = (SQLITE, POSTGRESQL, DUCKDB)
SUMMANDS = 100  # in a pair of parentheses: databases bound the depth of expressions
EDGE = "700"  # beyond it exp overflows, which some databases refuse


def sql_of(linear: Linear, dialect: str = "sqlite", table: str = "rows") -> str:
    """The text of the query."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(DIALECTS)}.")
    _refuse(linear)
    _refuse_alike(linear, dialect)
    prefix, marks = _prefix(linear), _marks(linear)
    scores = [f"{prefix}_score{mark}" for mark in marks]
    inner = "".join(
        f"    {_score(linear, output, dialect)} AS {name},\n" for output, name in enumerate(scores)
    )
    outer = [f"  {value} AS {prefix}_{name}" for name, value in _answers(linear, scores, dialect)]
    head = f"-- {_line(linear.title)}, written by tamis {tamis.__version__} for {dialect}\n"
    head += f"-- {LINKS[linear.link]}\n"
    if linear.link == LOG:
        head += f"-- largest_score: {number(linear.largest_score)}\n"
    told = enumerate(linear.classes or [])
    head += "".join(f"-- {place}: {label!r}\n" for place, label in told)
    selected = ",\n".join(["  scored.*", *outer])
    # Scores come first: of two columns with one name a database takes the first.
    return (
        f"{head}SELECT\n{selected}\nFROM (\n  SELECT\n{inner}"
        f"    t.*\n  FROM {quoted(table)} AS t\n) AS scored;\n"
    )


def _prefix(linear: Linear) -> str:
    """What the names of the outputs begin with: no name of a column that is known does."""
    taken = [name.casefold() for name in linear.table]
    tries = ("tamis", *(f"tamis{number}" for number in range(2, len(taken) + 3)))
    return next(one for one in tries if not any(name.startswith(f"{one}_") for name in taken))


def _refuse_alike(linear: Linear, dialect: str) -> None:
    """Refuse fields that a database takes for another column of their table."""

    def taken(name: str) -> str:
        if dialect == POSTGRESQL:
            return name.encode()[:63].decode(errors="ignore")
        return "".join(one.lower() if one.isascii() else one for one in name)

    known: dict[str, set[str]] = {}
    for name in linear.table:
        known.setdefault(taken(name), set()).add(name)
    for field in linear.fields.listed:
        alike = sorted(known.get(taken(field.name), ()))
        if len(alike) > 1:
            raise ValueError(
                f"the columns {alike[0]!r:.80} and {alike[1]!r:.80} have one name in {dialect}, "
                "which looks at no capitals, or at 63 bytes. Rename one before you fit."
            )


def _refuse(linear: Linear) -> None:
    """Refuse what SQL has no functions for."""
    texts = linear.fields.texts
    if not texts and not linear.fields.is_hashed:
        return
    way = "Export it to python, whose functions SQLite and DuckDB call once create_function has "
    if texts:
        column = linear.fields.kind != ONE_TEXT  # that could be left out
        without = option("kinds", {texts[0]: "skip"})
        other = f", or fit without: {without}" if column else ""
        raise ValueError(
            f"the model splits texts into words ({', '.join(texts[:5])}), and databases differ in "
            f"what is a word or a lower-case letter. {way}them{other}."
        )
    raise ValueError(f"the model hashes names, which SQL has no function for. {way}them.")


def _marks(linear: Linear) -> list[str]:
    """What is written behind the names of the outputs."""
    if linear.outputs == 1 and not linear.labels:
        return [""]
    return [f"_{output}" for output in range(linear.outputs)]


# --------------------------------------------------------------------------- scores
def _score(linear: Linear, output: int, dialect: str) -> str:
    """The score of an output as one expression."""
    weights = dict(zip(linear.columns.tolist(), linear.weights[:, output].tolist(), strict=True))
    parts = [number(float(linear.intercepts[output]))]
    gaps = linear.fields.gaps
    parts += [
        part for field in linear.fields.listed if (part := summand(field, weights, dialect, gaps))
    ]
    while len(parts) > SUMMANDS:
        cut = range(0, len(parts), SUMMANDS)
        parts = [f"({' + '.join(parts[at : at + SUMMANDS])})" for at in cut]
    return "\n      + ".join(parts)


# --------------------------------------------------------------------------- answers
def _answers(linear: Linear, scores: list[str], dialect: str) -> list[tuple[str, str]]:
    """Names and expressions of what is made from the scores."""
    marks, found = _marks(linear), list[tuple[str, str]]()
    if linear.link == LOG:
        largest = number(linear.largest_score)
        means = (f"EXP({_bounded(score, largest)})" for score in scores)
        return [(f"prediction{mark}", mean) for mark, mean in zip(marks, means, strict=True)]
    if linear.classes is None:
        return []
    if linear.link != IDENTITY:
        found += _probabilities(linear, scores, marks, dialect)
    classes = [_constant(label, dialect) for label in linear.classes]
    if linear.labels:
        return found + [
            (f"prediction{mark}", f"CASE WHEN {score} > 0 THEN 1 WHEN {score} <= 0 THEN 0 END")
            for mark, score in zip(marks, scores, strict=True)
        ]
    if len(classes) == 2:
        whens = f"WHEN {scores[0]} > 0 THEN {classes[1]} WHEN {scores[0]} <= 0 THEN {classes[0]}"
    else:
        most = _most(scores, dialect)
        pairs = zip(scores, classes, strict=True)
        whens = f"WHEN {' + '.join(scores)} IS NULL THEN NULL "  # the largest may leave it out
        whens += " ".join(f"WHEN {score} = {most} THEN {name}" for score, name in pairs)
    return [*found, ("prediction", f"CASE {whens} END")]


def _probabilities(linear, scores, marks, dialect) -> list[tuple[str, str]]:
    """Names and expressions of the probabilities: of two classes that of the second."""
    names = [f"probability{mark}" for mark in marks]
    lines = np.tile([1.0, 0.0], (len(scores), 1)) if linear.lines is None else linear.lines
    lined = [
        score if (a, b) == (1.0, 0.0) else f"({number(a)} * {score} + {number(b)})"
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


def _bounded(value: str, largest: str = EDGE) -> str:
    """A number whose exp is one; of a missing one nothing."""
    high, low = f"WHEN {value} > {largest} THEN {largest}", f"WHEN {value} < -{EDGE} THEN -{EDGE}"
    return f"(CASE {high} {low} ELSE {value} END)"


def _most(values: list[str], dialect: str) -> str:
    """The largest of some numbers."""
    return f"{'MAX' if dialect == SQLITE else 'GREATEST'}({', '.join(values)})"


def _constant(value: Any, dialect: str) -> str:
    """A class as a constant."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return number(value)
    return repr(value) if isinstance(value, int) else text(str(value), dialect)


def _line(text: str) -> str:
    """A text as a comment."""
    return " ".join(text.split())
