"""A linear model as a Python file that needs nothing but Python."""

from pathlib import Path
from pprint import pformat
from types import ModuleType

import tamis
from tamis.data.columns import date_parts
from tamis.exporting.forms import standalone
from tamis.exporting.inputs.fields import ONE_TEXT
from tamis.exporting.inputs.texts import Text
from tamis.exporting.linear import LINKS, LOG, LinearModel

_MARK = "# " + "-" * 96 + "\n"
_HEADER = '''"""{title}, written by tamis {version}; it needs nothing but Python.

`score`, `predict` and `predict_proba` take a row: {rows}.
"""

import datetime
import math
import re
import unicodedata

'''


def to_python(linear: LinearModel) -> str:
    """Return the text of the file."""
    rows = "a mapping from names to values, or a sequence of all columns"
    if linear.fields.kind == ONE_TEXT:
        rows = "a text, or a sequence of all columns"
    elif linear.fields.records:
        rows = "a mapping from fields to values as the table has them, or a sequence of all columns"
        rows += "\nthat they become"
    head = _HEADER.format(title=linear.title, version=tamis.__version__, rows=rows)
    lines = [f"{name} = {_format_constant(value)}\n" for name, value in constants(linear).items()]
    body = "\n\n".join(_below_mark(module) for module in (date_parts, standalone))
    return f"{head}# {LINKS[linear.link]}\n{''.join(lines)}\n{_MARK}{body}"


def _below_mark(module: ModuleType) -> str:
    """Return the source of a module below the line of dashes."""
    return Path(str(module.__file__)).read_text(encoding="utf-8").partition(_MARK)[2]


def constants(linear: LinearModel) -> dict:
    """Return the constants that the functions of the file read; `standalone.py` lists them."""
    fields, listed = linear.fields, linear.fields.listed
    named = zip(linear.names, linear.columns.tolist(), strict=True)
    weights = linear.weights.tolist()
    return {
        "CLASSES": linear.classes or [],
        "LABELS": linear.labels,
        "LINK": linear.link,
        "LARGEST_SCORE": linear.largest_score if linear.link == LOG else None,
        "LINES": [] if linear.calibration is None else linear.calibration.tolist(),
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
        "FLAGS": [field.name for field in listed if field.way == "flags"],
        "COMMAS": [field.name for field in listed if field.way == "commas"],
        "RESTS": {field.name: field.rest for field in listed if field.rest >= 0},
        "HASHED": [field.name for field in listed if field.hashed],
        "GAPS": {field.name: field.gap for field in listed if field.gap is not None},
        "FILLS": {field.name: field.fill for field in listed if field.fill is not None},
        "MISSING": list(fields.gaps),
        "DATES": {field.name: field.date.to_dict() for field in listed if field.date},
        "TEXTS": {field.name: text_settings(field.text) for field in listed if field.text},
        "KEYS": dict(named) if fields.separator else {},
        "SEPARATOR": fields.separator,
        "BITS": fields.bits,
        "FIRST": fields.first,
        "BASE": fields.base,
    }


def text_settings(text: Text) -> dict:
    """Return how a text becomes columns, as plain data."""
    return text._asdict() | {"ngrams": list(text.ngrams)}


def _format_constant(value) -> str:
    """Return a constant as Python source."""
    return pformat(value, width=96, compact=True, sort_dicts=False)
