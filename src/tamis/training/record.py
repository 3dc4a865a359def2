"""What the record of a checkpoint may hold: every field declared once, and one check of them all.

A record carries a checksum over all the rest, so that one that was edited, to whatever values, is
refused. The rules after that are a second line: nothing that a record says may lead outside the
files, whoever wrote it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tamis.base.scores import NO_SUMS, ROWS, WEIGHT
from tamis.data.rows import Position

FORMAT = 3
GROWTH = 1.5  # rows between two lines of the history, as a factor
_LARGEST = 2**63 - 1


@dataclass
class State:
    """All that a walk needs to go on, beside the model."""

    turn: int = 0  # passes that are complete
    seen: int = 0  # rows learnt, over all passes
    chunks: int = 0
    position: Position | None = None  # in the present pass
    mark: int = 0  # rows at which the history is written next
    charged: list[float] = field(default_factory=lambda: list(NO_SUMS))  # progressive losses
    met: list[list] = field(default_factory=list)  # targets that the baseline knows
    history: list[dict] = field(default_factory=list)
    facts: dict = field(default_factory=dict)  # what the source had decided


# --------------------------------------------------------------------------- the fields
class Rule(NamedTuple):
    """What a value must be, in words, and whether it is."""

    words: str
    holds: Callable[[Any], bool]


def _whole(least: int = 0) -> Rule:
    return Rule(
        f"a whole number from {least} on",
        lambda value: type(value) is int and least <= value <= _LARGEST,
    )


def _or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.holds(value))


def _is_line(value) -> bool:
    """Whether a line of the history has its pass and rows, and only numbers."""
    counts = isinstance(value, dict) and all(
        _whole(least).holds(value.get(name)) for name, least in (("pass", 1), ("rows", 0))
    )
    return counts and all(type(figure) in (int, float) for figure in value.values())


_TEXT = Rule("a text", lambda value: isinstance(value, str))
_CHARGED = Rule(
    f"{len(NO_SUMS)} numbers, the second and third from 0 on",
    lambda value: (
        isinstance(value, list)
        and [*map(type, value)] == [float] * len(NO_SUMS)
        and min(value[WEIGHT], value[ROWS]) >= 0.0
    ),
)
_MET = Rule(
    "a list of targets with their weights",
    lambda value: (
        isinstance(value, list)
        and all(
            isinstance(one, list)
            and len(one) == 2
            and type(one[0]) in (int, float, str, bool)
            and type(one[1]) is float
            and one[1] >= 0.0
            for one in value
        )
    ),
)
_HISTORY = Rule(
    "a list of lines with pass, rows and figures",
    lambda value: isinstance(value, list) and all(map(_is_line, value)),
)
_LABELS = Rule(
    "a list of labels",
    lambda value: isinstance(value, list) and all(type(one) in (int, float, str) for one in value),
)
_SWITCH = Rule("true or false", lambda value: isinstance(value, bool))
_BASE = Rule("0 or 1", lambda value: type(value) is int and value in (0, 1))
POSITION = {
    "file": _whole(),
    "offset": _whole(1),
    "line": _whole(1),
    "rows": _whole(),
    "width": _whole(),
}
FACTS = {
    "base": _or_none(_BASE),
    "several": _or_none(_SWITCH),
    "labels": _or_none(_LABELS),
    "n_features": _or_none(_whole(1)),
}
STATE = {
    "turn": _whole(),
    "seen": _whole(),
    "chunks": _whole(),
    "position": POSITION,
    "mark": _whole(1),
    "charged": _CHARGED,
    "met": _MET,
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


def fault(record: object) -> str:
    """What is wrong with a record, in words; nothing if it is as it should be."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return f"this is no checkpoint of format {FORMAT}"
    return _misfit(record, RECORD, "") or _altered(record)


def _misfit(found, fields: dict, path: str) -> str:
    """The first field that is missing, unknown or not what it must be."""
    if not isinstance(found, dict):
        return f"{path[:-1]!r} is {_short(found)}, not {{{', '.join(fields)}}}"
    for name in [*fields, *found]:
        if name not in found:
            return f"{path + name!r} is missing"
        if name not in fields:
            return f"{path + name!r} is no field of a checkpoint"
        rule, value = fields[name], found[name]
        if isinstance(rule, Rule):
            if not rule.holds(value):
                return f"{path + name!r} must be {rule.words}, not {_short(value)}"
        elif not (rule is POSITION and value is None) and (
            said := _misfit(value, rule, f"{path}{name}.")
        ):
            return said
    return ""


def _altered(record: dict) -> str:
    if record["checksum"] == checksum(record):
        return ""
    return "it was altered since it was written (its checksum does not match)"


def contradiction(state: dict, task: dict) -> str:
    """What is wrong with figures that cannot be together, or not for the task; else nothing."""
    turn, seen, position = state["turn"], state["seen"], state["position"]
    told = [line["rows"] for line in state["history"]]
    rules = {
        f"{turn} passes are done of {task['passes']}": turn + (position is not None)
        <= task["passes"],
        "no pass is done, and none begun": turn >= 1 or position is not None,
        f"{seen} rows in {turn} whole passes": position is not None or seen % max(turn, 1) == 0,
        f"{seen} rows learnt of {position and position['rows']} read": turn >= 1
        or position is None
        or seen <= position["rows"],
        f"{state['chunks']} chunks of {seen} rows": state["chunks"] <= seen,
        "the history does not fit the rows": bool(told)
        and told == sorted(set(told))
        and told[-1] <= seen,
        "the mark does not fit the history": bool(told)
        and state["mark"] == int(told[-1] * GROWTH) + 1,
        f"file {position and position['file'] + 1} of {len(task['file'])}": position is None
        or position["file"] < len(task["file"]),
    }
    return next(
        (
            f"its figures contradict each other ({words})"
            for words, holds in rules.items()
            if not holds
        ),
        "",
    )


def width_of(state: dict) -> int:
    """Columns that the rows are said to have."""
    return max((state["position"] or {}).get("width", 0), state["facts"]["n_features"] or 0)


def _short(value) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# --------------------------------------------------------------------------- to text and back
def checksum(record: dict) -> str:
    """SHA-256 of all of a record but its checksum."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def to_record(state: State, model: dict, task: dict) -> dict:
    """The record of a state."""
    fields = asdict(state)
    fields["position"] = None if state.position is None else state.position._asdict()
    fields["charged"] = [float(part) for part in state.charged]
    record = {"format": FORMAT, "model": model, "task": task, "state": fields}
    return record | {"checksum": checksum(record)}


def to_state(record: dict) -> State:
    """The state of a record without fault."""
    fields = dict(record["state"])
    place = fields.pop("position")
    return State(**fields, position=None if place is None else Position(**place))
