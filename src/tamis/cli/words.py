"""Words of the command line: options as messages name them, and arguments of the shell."""

import os
import shlex
from typing import Any


def typed(word: str) -> str:
    """A word of the command line, which is UTF-8 where the locale cannot read it."""
    try:
        word.encode()
        return word
    except UnicodeEncodeError:
        return os.fsencode(word).decode("utf-8", "surrogateescape")


def as_option(name: str, *value: Any) -> str:
    """A parameter of the library as an option, its value as a shell takes it."""
    flag = "--as" if name == "kinds" else "--" + name.replace("_", "-")
    if not value or (name == "stream" and value[0] is True):
        return flag
    return f"{flag} {_argument(value[0])}"


def _argument(value: Any) -> str:
    """A value as a shell takes it."""
    if value is ...:
        return "..."
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = [f"{column}={kind}" for column, kind in value.items()]
    words = value if isinstance(value, list) else [value]
    return " ".join(shlex.quote(str(word)) for word in words)
