"""Names that come from data, made safe for a terminal, a line, JSON, a spreadsheet, Markdown.

A column, a class or a file may be called anything: an escape sequence that clears the screen, a
U+202E that turns the rest of the line around, a line break, a formula.
"""

import re
import sys

# What str.isprintable() lets through although nothing is seen: fillers, joiners, variation
# selectors.
_UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164"
    "\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
_MAYBE = re.compile("[^ -~]")
_HIDDEN = re.compile(f"[{_UNSEEN}]")
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PLAIN = str.maketrans({"±": "+-", "−": "-", "–": "-", "…": "..."})
_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_MARKUP = re.compile(r"[\\`*\[\]|<&]")  # what begins code, a link, a cell, a tag, an entity
# scheme, user and password, the rest, and what is asked for: keys come there
_ADDRESS = re.compile(
    r"(\b[A-Za-z][\w+.-]*://)([^\s/?#]*@)?([^\s?]*)(\?(?:\.\.\.)?\S*?(?=[:;,.)'\"]*(?:\s|$)))?"
)
_FORMULA = tuple("=+-@＝＋－＠")  # the wide forms are formulas too


def for_terminal(text: object) -> str:
    """The text, all that is not seen as itself written as an escape (controls, odd blanks, ...)."""
    return _MAYBE.sub(
        lambda found: found[0] if _is_seen(found[0]) else _escape(found[0]), str(text)
    )


def for_output(text: str) -> str:
    """The text as it is where standard output can write it, else with escapes: to print a result
    ends no script.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def for_line(text: object) -> str:
    """The text as one line of a file: only what breaks it or cannot be written is escaped."""
    return _BREAKING.sub(lambda found: _escape(found[0]), str(text))


def for_json(text: str) -> str:
    """JSON with its invisible characters as JSON's own escapes, which every reader turns back."""
    return "\n".join(_MAYBE.sub(_json_escape, line) for line in text.split("\n"))


def for_csv(value: object) -> int | float | str | None:
    """A cell: numbers as they are, text safe for a terminal, what looks like a formula quoted."""
    if value is None or isinstance(value, int | float):
        return value
    text = for_terminal(value)
    formula = text.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text


def for_markdown(text: object) -> str:
    """The text on one line of Markdown or in a cell, without anything that is markup."""
    line = for_terminal(" ".join(str(text).split()))
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), line)


def without_secrets(text: object) -> str:
    """The text, addresses in it without user, password and query: `s3://...@host/rows.csv?...`."""
    return _ADDRESS.sub(_shortened, str(text))


def _shortened(found: re.Match) -> str:
    scheme, user, place, query = found.groups()
    return f"{scheme}{'...@' if user else ''}{place}{'?...' if query else ''}"


def _is_seen(character: str) -> bool:
    return character.isprintable() and not _HIDDEN.match(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escape(found: re.Match) -> str:
    character = found[0]
    if _is_seen(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
