"""Escapes for names that come from data: for a terminal, a line, JSON, a spreadsheet, Markdown.

Columns, classes and files can have any name: with an escape sequence that clears the screen, a
U+202E that reverses the rest of the line, a line break, or a formula.
"""

import re
import sys

# Characters that are printable for str.isprintable() but invisible: fillers, joiners, variation
# selectors.
_INVISIBLE_CHARACTERS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164"
    "\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
_NOT_ASCII = re.compile("[^ -~]")
_INVISIBLE = re.compile(f"[{_INVISIBLE_CHARACTERS}]")
_LINE_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ASCII_REPLACEMENTS = str.maketrans({"±": "+-", "−": "-", "–": "-", "…": "..."})
_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_MARKUP = re.compile(r"[\\`*\[\]|<&]")  # the start of code, a link, a cell, a tag, an entity
# scheme, user and password, host and path, query (which can contain keys)
_ADDRESS = re.compile(
    r"(\b[A-Za-z][\w+.-]*://)([^\s/?#]*@)?([^\s?]*)(\?(?:\.\.\.)?\S*?(?=[:;,.)'\"]*(?:\s|$)))?"
)
_FORMULA_STARTS = tuple("=+-@＝＋－＠")  # the wide forms are formulas too


def for_terminal(text: object) -> str:
    """Return the text with invisible characters (controls, unusual spaces) as escapes."""
    return _NOT_ASCII.sub(
        lambda match: match[0] if _is_visible(match[0]) else _escape(match[0]), str(text)
    )


def for_output(text: str) -> str:
    """Return the text, with characters that standard output cannot write replaced.

    Printing a result must not end a script with an error.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return (
            text.translate(_ASCII_REPLACEMENTS)
            .encode(encoding, "backslashreplace")
            .decode(encoding)
        )
    return text


def for_line(text: object) -> str:
    """Return the text as one line of a file: only line breaks and lone surrogates are escaped."""
    return _LINE_BREAKING.sub(lambda match: _escape(match[0]), str(text))


def for_json(text: str) -> str:
    """Return JSON with invisible characters as JSON escapes, which every reader decodes."""
    return "\n".join(_NOT_ASCII.sub(_json_escape, line) for line in text.split("\n"))


def for_csv(value: object) -> int | float | str | None:
    """Return a cell: numbers unchanged, text safe for a terminal, formulas quoted."""
    if value is None or isinstance(value, int | float):
        return value
    text = for_terminal(value)
    is_formula = text.lstrip().startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def for_markdown(text: object) -> str:
    """Return the text as one line of Markdown, also in a cell, with all markup escaped."""
    line = for_terminal(" ".join(str(text).split()))
    return _MARKUP.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line)


def without_secrets(text: object) -> str:
    """Return the text with users, passwords and queries of addresses as "..."."""
    return _ADDRESS.sub(_hide_secrets, str(text))


def _hide_secrets(address: re.Match) -> str:
    scheme, user, path, query = address.groups()
    return f"{scheme}{'...@' if user else ''}{path}{'?...' if query else ''}"


def _is_visible(character: str) -> bool:
    return character.isprintable() and not _INVISIBLE.match(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escape(matched: re.Match) -> str:
    character = matched[0]
    if _is_visible(character):
        return character
    code_units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code_units[i : i + 4]}" for i in range(0, len(code_units), 4))
