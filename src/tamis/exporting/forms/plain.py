"""A linear model as JSON."""

import json

import tamis
from tamis.exporting.forms.python import text_settings
from tamis.exporting.inputs.fields import ONE_TEXT, Field
from tamis.exporting.linear import LINKS, LOG, LinearModel
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


def to_json(linear: LinearModel) -> str:
    """Return the text of the file."""
    text = json.dumps(document(linear), indent=1, ensure_ascii=False, allow_nan=False)
    return for_json(text) + "\n"


def document(linear: LinearModel) -> dict:
    """Return a model as plain data."""
    columns, weights = linear.columns.tolist(), linear.weights.tolist()
    deviations = [None] * len(columns) if linear.deviations is None else linear.deviations.tolist()
    entries = zip(columns, linear.names, weights, deviations, strict=True)
    data = {
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
        "calibration": None if linear.calibration is None else linear.calibration.tolist(),
        "units": "a weight is for a column as it is read: (number - centre) / spread of its field, "
        "where it has them",
        "n_features": linear.n_features,
        "intercepts": linear.intercepts.tolist(),
        "features": [
            {"name": name, "column": column, "weights": column_weights, "spread": deviation}
            for column, name, column_weights, deviation in entries
        ],
        "reading": _reading(linear),
    }
    if linear.fields.kind == ONE_TEXT:
        data["text"] = data["reading"]["fields"][0]["text"]
    return data


def _prediction(linear: LinearModel) -> str:
    """Return a description of `predict` in terms of the scores of a row."""
    if linear.classes is None:
        return "exp(min(score, largest_score))" if linear.link == LOG else "score"
    if linear.labels:
        return "of each label whether its score is positive"
    if len(linear.classes) == 2:
        return "the second class where the score is positive, else the first"
    return "the class of the highest score, the first of equal ones"


def _reading(linear: LinearModel) -> dict | None:
    """Return how records become columns; None if fields are named columns."""
    reading, fields = linear.reading or {}, linear.fields
    if not reading and not fields.records:
        return None
    description = {name: reading[name] for name in ("format", "zero_based") if name in reading}
    if fields.records:
        description["missing"] = reading["layout"]["missing"] if "layout" in reading else None
        description["fields"] = [_field(field) for field in fields.listed]
        description["separator"] = fields.separator or None
    if fields.is_hashed:
        hashing = {"kind": fields.kind, "bits": fields.bits, "first": fields.first}
        means = HASHED[fields.kind] if fields.kind == ONE_TEXT else HASHING + HASHED[fields.kind]
        hashing |= {"base": fields.base, "means": means}
        description["hashing"] = hashing
    return description


def _field(field: Field) -> dict:
    """Return a field as plain data."""
    date = None if field.date is None else field.date.to_dict()
    text = None if field.text is None else text_settings(field.text)
    return field._asdict() | {"date": date, "text": text}
