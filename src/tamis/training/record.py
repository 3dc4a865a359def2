"""Records of checkpoints: the declaration of their fields, and the check of a record.

A record has a checksum over its other fields, so that an edited one is refused. The rules of the
fields are a second check: no value of a record may lead outside the files.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tamis.base.scores import ROWS, WEIGHT, ZERO_SUMS
from tamis.data.rows import Position

FORMAT = 3
HISTORY_GROWTH = 1.5  # factor between the rows of two entries of the history
_LARGEST = 2**63 - 1


@dataclass
class State:
    """State of a training in addition to the model."""

    turn: int = 0  # complete passes
    seen: int = 0  # rows learnt in all passes
    chunks: int = 0
    position: Position | None = None  # in the current pass; None at its start
    mark: int = 0  # number of rows at the next entry of the history
    # Sums of the progressive losses.
    charged: list[float] = field(default_factory=lambda: list(ZERO_SUMS))
    met: list[list] = field(default_factory=list)  # [target, weight] pairs that the baseline knows
    history: list[dict] = field(default_factory=list)
    # Decisions of the source: base, several, labels, n_features.
    facts: dict = field(default_factory=dict)


# --------------------------------------------------------------------------- the fields
class Rule(NamedTuple):
    """Rule of a field: its description, and a function that checks a value."""

    description: str
    is_valid: Callable[[Any], bool]


def _integer(minimum: int = 0) -> Rule:
    return Rule(
        f"a whole number from {minimum} on",
        lambda value: type(value) is int and minimum <= value <= _LARGEST,
    )


def _or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.description}, or null", lambda value: value is None or rule.is_valid(value))


def _is_history_entry(value) -> bool:
    """Return whether an entry of the history has its pass and rows, and only numbers."""
    counts = isinstance(value, dict) and all(
        _integer(minimum).is_valid(value.get(name)) for name, minimum in (("pass", 1), ("rows", 0))
    )
    return counts and all(type(number) in (int, float) for number in value.values())


_TEXT = Rule("a text", lambda value: isinstance(value, str))
_LOSS_SUMS = Rule(
    f"{len(ZERO_SUMS)} numbers, the second and third from 0 on",
    lambda value: (
        isinstance(value, list)
        and [*map(type, value)] == [float] * len(ZERO_SUMS)
        and min(value[WEIGHT], value[ROWS]) >= 0.0
    ),
)
_TARGET_WEIGHTS = Rule(
    "a list of targets with their weights",
    lambda value: (
        isinstance(value, list)
        and all(
            isinstance(item, list)
            and len(item) == 2
            and type(item[0]) in (int, float, str, bool)
            and type(item[1]) is float
            and item[1] >= 0.0
            for item in value
        )
    ),
)
_HISTORY = Rule(
    "a list of lines with pass, rows and figures",
    lambda value: isinstance(value, list) and all(map(_is_history_entry, value)),
)
_LABELS = Rule(
    "a list of labels",
    lambda value: (
        isinstance(value, list) and all(type(item) in (int, float, str) for item in value)
    ),
)
_BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))
_BASE = Rule("0 or 1", lambda value: type(value) is int and value in (0, 1))
POSITION = {
    "file": _integer(),
    "offset": _integer(1),
    "line": _integer(1),
    "rows": _integer(),
    "width": _integer(),
}
FACTS = {
    "base": _or_none(_BASE),
    "several": _or_none(_BOOLEAN),
    "labels": _or_none(_LABELS),
    "n_features": _or_none(_integer(1)),
}
STATE = {
    "turn": _integer(),
    "seen": _integer(),
    "chunks": _integer(),
    "position": POSITION,
    "mark": _integer(1),
    "charged": _LOSS_SUMS,
    "met": _TARGET_WEIGHTS,
    "history": _HISTORY,
    "facts": FACTS,
}
RECORD = {
    "format": Rule(str(FORMAT), lambda value: type(value) is int and value == FORMAT),
    "model": {"name": _TEXT, "checksum": _TEXT},
    "task": Rule("what is learnt", lambda value: isinstance(value, dict)),
    "state": STATE,
    "checksum": _TEXT,
}


def find_error(record: object) -> str:
    """Return what is wrong with a record, or an empty text."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return f"this is no checkpoint of format {FORMAT}"
    return _first_mismatch(record, RECORD, "") or _checksum_error(record)


def _first_mismatch(value_at_path, fields: dict, path: str) -> str:
    """Return the first field that is missing, unknown or invalid as text."""
    if not isinstance(value_at_path, dict):
        return f"{path[:-1]!r} is {_short(value_at_path)}, not {{{', '.join(fields)}}}"
    for name in [*fields, *value_at_path]:
        if name not in value_at_path:
            return f"{path + name!r} is missing"
        if name not in fields:
            return f"{path + name!r} is no field of a checkpoint"
        rule, value = fields[name], value_at_path[name]
        if isinstance(rule, Rule):
            if not rule.is_valid(value):
                return f"{path + name!r} must be {rule.description}, not {_short(value)}"
        elif not (rule is POSITION and value is None) and (
            mismatch := _first_mismatch(value, rule, f"{path}{name}.")
        ):
            return mismatch
    return ""


def _checksum_error(record: dict) -> str:
    if record["checksum"] == checksum(record):
        return ""
    return "it was altered since it was written (its checksum does not match)"


def find_contradiction(state: dict, task: dict) -> str:
    """Return which numbers of a state contradict each other or the task, or an empty text."""
    turn, seen, position = state["turn"], state["seen"], state["position"]
    history_rows = [line["rows"] for line in state["history"]]
    rules = {
        f"{turn} passes are done of {task['passes']}": turn + (position is not None)
        <= task["passes"],
        "no pass is done, and none begun": turn >= 1 or position is not None,
        f"{seen} rows in {turn} whole passes": position is not None or seen % max(turn, 1) == 0,
        f"{seen} rows learnt of {position and position['rows']} read": turn >= 1
        or position is None
        or seen <= position["rows"],
        f"{state['chunks']} chunks of {seen} rows": state["chunks"] <= seen,
        "the history does not fit the rows": bool(history_rows)
        and history_rows == sorted(set(history_rows))
        and history_rows[-1] <= seen,
        "the mark does not fit the history": bool(history_rows)
        and state["mark"] == int(history_rows[-1] * HISTORY_GROWTH) + 1,
        f"file {position and position['file'] + 1} of {len(task['file'])}": position is None
        or position["file"] < len(task["file"]),
    }
    return next(
        (
            f"its figures contradict each other ({description})"
            for description, is_valid in rules.items()
            if not is_valid
        ),
        "",
    )


def n_columns_of(state: dict) -> int:
    """Return the number of columns that the rows have according to a state."""
    return max((state["position"] or {}).get("width", 0), state["facts"]["n_features"] or 0)


def _short(value) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# --------------------------------------------------------------------------- to text and back
def checksum(record: dict) -> str:
    """Return the SHA-256 of a record without its checksum."""
    content = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def to_record(state: State, model: dict, task: dict) -> dict:
    """Return the record of a state."""
    fields = asdict(state)
    fields["position"] = None if state.position is None else state.position._asdict()
    fields["charged"] = [float(loss_sum) for loss_sum in state.charged]
    record = {"format": FORMAT, "model": model, "task": task, "state": fields}
    return record | {"checksum": checksum(record)}


def to_state(record: dict) -> State:
    """Return the state of a valid record."""
    fields = dict(record["state"])
    position = fields.pop("position")
    return State(**fields, position=None if position is None else Position(**position))
