"""A linear model as JSON."""

import json

import tamis
from tamis.exporting.linear import LINKS, Linear
from tamis.exporting.python import text_facts

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
}


def json_of(linear: Linear) -> str:
    """The text of the file."""
    return json.dumps(document(linear), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
    if linear.text is not None:
        found["text"] = text_facts(linear.text)
    return found


def _reading(linear: Linear) -> dict | None:
    """How records become columns; None where a column is a name."""
    reading, fields = linear.reading, linear.fields
    if not reading:
        return None
    facts = {name: reading.get(name) for name in ("format", "zero_based")}
    if "layout" in reading:
        facts["missing"] = reading["layout"]["missing"]
        facts["fields"] = [field._asdict() for field in fields.listed]
        if fields.unread:  # how dates and texts become columns
            facts["dates_and_texts"] = {
                name: {"kind": role, **more[0]}
                for name, role, _, _, *more in reading["layout"]["columns"]
                if name in fields.unread and more
            }
    if fields.is_hashed:
        told = {"kind": fields.kind, "bits": fields.bits, "first": fields.first}
        told |= {"base": fields.base, "means": HASHING + HASHED[fields.kind]}
        facts["hashing"] = told
    return facts
