"""Options and names in messages.

Messages show options as Python keywords or, while a command runs, as options of the command line.
They shorten long names.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Spelling = Callable[..., str]  # from a name and perhaps a value to the text of a message
MAX_NAME_LENGTH = 60  # characters in a message; names in a damaged file can be far longer


def shorten_names(value: Any) -> Any:
    """Return a name, or a container of names, with the middle of long names left out.

    Long names often differ only at their ends.
    """
    if isinstance(value, str) and len(value) > MAX_NAME_LENGTH:
        return f"{value[: MAX_NAME_LENGTH // 2]}...{value[3 - MAX_NAME_LENGTH // 2 :]}"
    if isinstance(value, list):
        return [shorten_names(item) for item in value]
    if isinstance(value, dict):
        return {shorten_names(name): item for name, item in value.items()}
    return value


def as_keyword(name: str, *value: Any) -> str:
    """Return an option as a keyword argument; the value ... stands for one that the reader fills
    in.
    """
    if not value:
        return name
    return f"{name}={'...' if value[0] is ... else repr(value[0])}"


_spelling: Spelling = as_keyword


def format_option(name: str, *value: Any) -> str:
    """Return an option, with its value if there is one, in the current spelling."""
    return _spelling(name, *map(shorten_names, value))


def format_parameter(name: str, function: str) -> str:
    """Return an option of a function as the subject of a sentence."""
    return (
        f"The {name!r} parameter of {function}" if _spelling is as_keyword else format_option(name)
    )


@contextmanager
def use_spelling(spelling: Spelling) -> Iterator[None]:
    """Use another spelling of options in all threads of this process."""
    global _spelling
    previous, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = previous
