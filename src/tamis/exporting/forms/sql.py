"""A linear model as a query: score, probabilities and prediction of every row of a table."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.forms.sql_fields import (
    DUCKDB,
    POSTGRESQL,
    SQLITE,
    format_number,
    quote_name,
    quote_text,
    summand,
)
from tamis.exporting.inputs.fields import ONE_TEXT
from tamis.exporting.linear import IDENTITY, LINKS, LOG, SOFTMAX, LinearModel
from tamis.system.spelling import format_option

DIALECTS = (SQLITE, POSTGRESQL, DUCKDB)
MAX_SUMMANDS = 100  # per pair of parentheses, since databases bound the depth of expressions
MAX_EXPONENT_TEXT = "700"  # exp overflows beyond it, an error in some databases


def to_sql(linear: LinearModel, dialect: str = "sqlite", table: str = "rows") -> str:
    """Return the text of the query."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(DIALECTS)}.")
    _check_supported(linear)
    _check_column_names(linear, dialect)
    prefix, marks = _prefix(linear), _suffixes(linear)
    scores = [f"{prefix}_score{mark}" for mark in marks]
    inner = "".join(
        f"    {_score(linear, output, dialect)} AS {name},\n" for output, name in enumerate(scores)
    )
    outer = [
        f"  {value} AS {prefix}_{name}"
        for name, value in _output_expressions(linear, scores, dialect)
    ]
    head = f"-- {_single_line(linear.title)}, written by tamis {tamis.__version__} for {dialect}\n"
    head += f"-- {LINKS[linear.link]}\n"
    if linear.link == LOG:
        head += f"-- largest_score: {format_number(linear.largest_score)}\n"
    labels = enumerate(linear.classes or [])
    head += "".join(f"-- {index}: {label!r}\n" for index, label in labels)
    selected = ",\n".join(["  scored.*", *outer])
    # Scores come first: of two columns with one name a database uses the first.
    return (
        f"{head}SELECT\n{selected}\nFROM (\n  SELECT\n{inner}"
        f"    t.*\n  FROM {quote_name(table)} AS t\n) AS scored;\n"
    )


def _prefix(linear: LinearModel) -> str:
    """Return a prefix of output names that no known column has."""
    known_names = [name.casefold() for name in linear.table]
    prefixes = ("tamis", *(f"tamis{k}" for k in range(2, len(known_names) + 3)))
    return next(
        prefix
        for prefix in prefixes
        if not any(name.startswith(f"{prefix}_") for name in known_names)
    )


def _check_column_names(linear: LinearModel, dialect: str) -> None:
    """Raise an error for fields whose name equals that of another column in the database."""

    def database_name(name: str) -> str:
        if dialect == POSTGRESQL:
            return name.encode()[:63].decode(errors="ignore")
        return "".join(letter.lower() if letter.isascii() else letter for letter in name)

    columns_by_name: dict[str, set[str]] = {}
    for name in linear.table:
        columns_by_name.setdefault(database_name(name), set()).add(name)
    for field in linear.fields.listed:
        same_name = sorted(columns_by_name.get(database_name(field.name), ()))
        if len(same_name) > 1:
            raise ValueError(
                f"the columns {same_name[0]!r:.80} and {same_name[1]!r:.80} have one name in "
                f"{dialect}, which ignores capitals, or all but 63 bytes. Rename one before you "
                "fit."
            )


def _check_supported(linear: LinearModel) -> None:
    """Raise an error for texts and hashed names, for which SQL has no functions."""
    texts = linear.fields.texts
    if not texts and not linear.fields.is_hashed:
        return
    advice = "Export it to python, whose functions SQLite and DuckDB call once create_function has "
    if texts:
        is_table = linear.fields.kind != ONE_TEXT  # that could be left out
        without = format_option("kinds", {texts[0]: "skip"})
        alternative = f", or fit without: {without}" if is_table else ""
        raise ValueError(
            f"the model splits texts into words ({', '.join(texts[:5])}), and databases differ in "
            f"what is a word or a lower-case letter. {advice}them{alternative}."
        )
    raise ValueError(f"the model hashes names, which SQL has no function for. {advice}them.")


def _suffixes(linear: LinearModel) -> list[str]:
    """Return the suffixes of output names."""
    if linear.outputs == 1 and not linear.labels:
        return [""]
    return [f"_{output}" for output in range(linear.outputs)]


# --------------------------------------------------------------------------- scores
def _score(linear: LinearModel, output: int, dialect: str) -> str:
    """Return the score of an output as one expression."""
    weights = dict(zip(linear.columns.tolist(), linear.weights[:, output].tolist(), strict=True))
    terms = [format_number(float(linear.intercepts[output]))]
    gaps = linear.fields.gaps
    terms += [
        term for field in linear.fields.listed if (term := summand(field, weights, dialect, gaps))
    ]
    while len(terms) > MAX_SUMMANDS:
        starts = range(0, len(terms), MAX_SUMMANDS)
        terms = [f"({' + '.join(terms[start : start + MAX_SUMMANDS])})" for start in starts]
    return "\n      + ".join(terms)


# --------------------------------------------------------------------------- outputs
def _output_expressions(
    linear: LinearModel, scores: list[str], dialect: str
) -> list[tuple[str, str]]:
    """Return names and expressions of probabilities and predictions."""
    marks, expressions = _suffixes(linear), list[tuple[str, str]]()
    if linear.link == LOG:
        largest = format_number(linear.largest_score)
        means = (f"EXP({_clipped(score, largest)})" for score in scores)
        return [(f"prediction{mark}", mean) for mark, mean in zip(marks, means, strict=True)]
    if linear.classes is None:
        return []
    if linear.link != IDENTITY:
        expressions += _probabilities(linear, scores, marks, dialect)
    classes = [_class_literal(label, dialect) for label in linear.classes]
    if linear.labels:
        return expressions + [
            (f"prediction{mark}", f"CASE WHEN {score} > 0 THEN 1 WHEN {score} <= 0 THEN 0 END")
            for mark, score in zip(marks, scores, strict=True)
        ]
    if len(classes) == 2:
        whens = f"WHEN {scores[0]} > 0 THEN {classes[1]} WHEN {scores[0]} <= 0 THEN {classes[0]}"
    else:
        maximum = _maximum(scores, dialect)
        pairs = zip(scores, classes, strict=True)
        whens = f"WHEN {' + '.join(scores)} IS NULL THEN NULL "  # the maximum may ignore NULL
        whens += " ".join(f"WHEN {score} = {maximum} THEN {name}" for score, name in pairs)
    return [*expressions, ("prediction", f"CASE {whens} END")]


def _probabilities(linear, scores, marks, dialect) -> list[tuple[str, str]]:
    """Return names and expressions of the probabilities; for two classes that of the second."""
    names = [f"probability{mark}" for mark in marks]
    calibration = (
        np.tile([1.0, 0.0], (len(scores), 1)) if linear.calibration is None else linear.calibration
    )
    calibrated = [
        score if (a, b) == (1.0, 0.0) else f"({format_number(a)} * {score} + {format_number(b)})"
        for score, (a, b) in zip(scores, calibration.tolist(), strict=True)
    ]
    if linear.link == SOFTMAX:
        maximum = _maximum(calibrated, dialect)
        likelihoods = [f"EXP({_clipped(f'({value} - {maximum})')})" for value in calibrated]
    else:
        likelihoods = [f"(1 / (1 + EXP(-{_clipped(value)})))" for value in calibrated]
    if linear.labels or len(scores) == 1:
        return list(zip(names, likelihoods, strict=True))
    total = " + ".join(likelihoods)
    return [
        (name, f"{likelihood} / ({total})")
        for name, likelihood in zip(names, likelihoods, strict=True)
    ]


def _clipped(value: str, largest: str = MAX_EXPONENT_TEXT) -> str:
    """Return an expression that clips a value to the range of exp; NULL stays NULL."""
    high, low = (
        f"WHEN {value} > {largest} THEN {largest}",
        f"WHEN {value} < -{MAX_EXPONENT_TEXT} THEN -{MAX_EXPONENT_TEXT}",
    )
    return f"(CASE {high} {low} ELSE {value} END)"


def _maximum(values: list[str], dialect: str) -> str:
    """Return the maximum of some expressions."""
    return f"{'MAX' if dialect == SQLITE else 'GREATEST'}({', '.join(values)})"


def _class_literal(value: Any, dialect: str) -> str:
    """Return a class as a SQL constant."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return format_number(value)
    return repr(value) if isinstance(value, int) else quote_text(str(value), dialect)


def _single_line(value: str) -> str:
    """Return a text on one line, for a comment."""
    return " ".join(value.split())
