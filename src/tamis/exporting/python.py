"""A linear model as a Python file that needs nothing but Python."""

from pathlib import Path
from pprint import pformat

import tamis
from tamis.exporting import standalone
from tamis.exporting.linear import LINKS, Linear
from tamis.exporting.text import Text

_MARK = "# " + "-" * 96 + "\n"
_HEAD = '''"""{title}, written by tamis {version}; it needs nothing but Python.

`score`, `predict` and `predict_proba` take a row: {rows}.
"""

import math
import re
import unicodedata

'''


def python_of(linear: Linear) -> str:
    """The text of the file."""
    linear.fields.check("Python")
    rows = "a mapping from names to values, or a sequence of all columns"
    if linear.text is not None:
        rows = "a text, or a sequence of all columns"
    head = _HEAD.format(title=linear.title, version=tamis.__version__, rows=rows)
    lines = [f"{name} = {_written(value)}\n" for name, value in constants(linear).items()]
    body = Path(standalone.__file__).read_text(encoding="utf-8").partition(_MARK)[2]
    return f"{head}# {LINKS[linear.link]}\n{''.join(lines)}\n{_MARK}{body}"


def constants(linear: Linear) -> dict:
    """What the functions of the file look at."""
    fields, listed = linear.fields, linear.fields.listed if linear.text is None else []
    weights = linear.weights.tolist()
    return {
        "CLASSES": linear.classes or [],
        "LABELS": linear.labels,
        "LINK": linear.link,
        "LINES": [] if linear.lines is None else linear.lines.tolist(),
        "INTERCEPTS": linear.intercepts.tolist(),
        "WEIGHTS": dict(zip(linear.columns.tolist(), weights, strict=True)),
        "N_FEATURES": linear.n_features,
        "KIND": fields.kind,
        "NUMBERS": {field.name: field.number for field in listed if field.number is not None},
        "WORDS": {f.name: f.words for f in listed if f.words or f.rest >= 0},
        "UNITS": {
            field.name: (field.centre, field.spread)
            for field in listed
            if (field.centre, field.spread) != (0.0, 1.0)
        },
        "FLAGS": [field.name for field in listed if field.flags],
        "RESTS": {field.name: field.rest for field in listed if field.rest >= 0},
        "HASHED": [field.name for field in listed if field.hashed],
        "GAPS": {field.name: field.gap for field in listed if field.gap is not None},
        "BITS": fields.bits,
        "FIRST": fields.first,
        "BASE": fields.base,
        "TEXT": {} if linear.text is None else text_facts(linear.text),
    }


def text_facts(text: Text) -> dict:
    """How a text becomes columns, as plain data, with the words that are needed."""
    needed = set(text.words.values())
    factors = None
    if text.factors is not None:
        factors = {column: float(text.factors[column]) for column in sorted(needed)}
    facts = {name: value for name, value in text._asdict().items() if name != "names"}
    return facts | {"factors": factors, "ngrams": list(text.ngrams)}


def _written(value) -> str:
    """A constant as Python has it."""
    return pformat(value, width=96, compact=True, sort_dicts=False)
