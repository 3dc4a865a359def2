"""A linear model as JSON."""

import json

import tamis
from tamis.exporting.forms.python import text_facts
from tamis.exporting.inputs.fields import ONE_TEXT, Field
from tamis.exporting.linear import LINKS, LOG, Linear
from tamis.system.terminal import for_json

HASHING = (
    "FNV-1a of 64 bits over the UTF-8 bytes, mixed by x ^= x >> 30, x *= 0xBF58476D1CE4E5B9, "
    "x ^= x >> 27, x *= 0x94D049BB133111EB, x ^= x >> 31; 0 becomes 1. "
)
HASHED = {
    "names": "The column of a name in a namespace (written space^name) is the lowest bits of the "
    "mixture of hash(name) xor hash(space), of a name without one of hash(name) xor the offset "
    "basis 0xCBF29CE484222325.",
    "numbers": "The column of a number is the lowest bits of the mixture of the number less base.",
    "fields": "The column of a word is first plus the lowest bits of its hash, begun with the "
    "offset basis 0xCBF29CE484222325 xor hash(name of the field).",
    "text": "The column of a word is the absolute value of MurmurHash3 (x86, 32 bits, seed 0, "
    "signed) of its UTF-8 bytes modulo size, its sign that of the hash, where it has signs.",
}


def json_of(linear: Linear) -> str:
    """The text of the file."""
    text = json.dumps(document(linear), indent=1, ensure_ascii=False, allow_nan=False)
    return for_json(text) + "\n"


def document(linear: Linear) -> dict:
    """A model as plain data."""
    columns, weights = linear.columns.tolist(), linear.weights.tolist()
    spread = [None] * len(columns) if linear.spread is None else linear.spread.tolist()
    entries = zip(columns, linear.names, weights, spread, strict=True)
    found = {
        "format": "tamis linear model",
        "version": 1,
        "made_by": f"tamis {tamis.__version__}",
        "model": linear.model,
        "target": "numbers" if linear.classes is None else "labels" if linear.labels else "classes",
        "classes": linear.classes,
        "link": linear.link,
        "link_means": LINKS[linear.link],
        "largest_score": linear.largest_score if linear.link == LOG else None,
        "predict": _prediction(linear),
        "calibration": None if linear.lines is None else linear.lines.tolist(),
        "units": "a weight is for a column as it is read: (number - centre) / spread of its field, "
        "where it has them",
        "n_features": linear.n_features,
        "intercepts": linear.intercepts.tolist(),
        "features": [
            {"name": name, "column": column, "weights": own, "spread": wide}
            for column, name, own, wide in entries
        ],
        "reading": _reading(linear),
    }
    if linear.fields.kind == ONE_TEXT:
        found["text"] = found["reading"]["fields"][0]["text"]
    return found


def _prediction(linear: Linear) -> str:
    """What `predict` makes of the scores of a row."""
    if linear.classes is None:
        return "exp(min(score, largest_score))" if linear.link == LOG else "score"
    if linear.labels:
        return "of each label whether its score is positive"
    if len(linear.classes) == 2:
        return "the second class where the score is positive, else the first"
    return "the class of the highest score, the first of equal ones"


def _reading(linear: Linear) -> dict | None:
    """How records become columns; None where a column is a name."""
    reading, fields = linear.reading or {}, linear.fields
    if not reading and not fields.records:
        return None
    facts = {name: reading[name] for name in ("format", "zero_based") if name in reading}
    if fields.records:
        facts["missing"] = reading["layout"]["missing"] if "layout" in reading else None
        facts["fields"] = [_field(field) for field in fields.listed]
        facts["separator"] = fields.separator or None
    if fields.is_hashed:
        told = {"kind": fields.kind, "bits": fields.bits, "first": fields.first}
        means = HASHED[fields.kind] if fields.kind == ONE_TEXT else HASHING + HASHED[fields.kind]
        told |= {"base": fields.base, "means": means}
        facts["hashing"] = told
    return facts


def _field(field: Field) -> dict:
    """A field as plain data."""
    date = None if field.date is None else field.date.to_dict()
    text = None if field.text is None else text_facts(field.text)
    return field._asdict() | {"date": date, "text": text}
