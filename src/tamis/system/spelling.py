"""Options and names in sentences: messages name options as keywords of Python, or, while a command
runs, as the command line has them, and leave the middle of a long name out.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Spelling = Callable[..., str]  # of a name, and of a value where there is one
LONGEST = 60  # characters of a name or word in a message: a damaged file may have far longer ones


def short(value: Any) -> Any:
    """A name as messages show it, and what holds names: the middle of a long one is left out, since
    long names often differ at their ends alone.
    """
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[: LONGEST // 2]}...{value[3 - LONGEST // 2 :]}"
    if isinstance(value, list):
        return [short(one) for one in value]
    if isinstance(value, dict):
        return {short(name): one for name, one in value.items()}
    return value


def as_keyword(name: str, *value: Any) -> str:
    """An option as a keyword of a call; a value of ... is one that the reader has to find."""
    if not value:
        return name
    return f"{name}={'...' if value[0] is ... else repr(value[0])}"


_spelling: Spelling = as_keyword


def option(name: str, *value: Any) -> str:
    """An option, with its value if there is one, as whoever reads the message writes it."""
    return _spelling(name, *map(short, value))


def parameter(name: str, function: str) -> str:
    """An option of a function, as the subject of a sentence."""
    return f"The {name!r} parameter of {function}" if _spelling is as_keyword else option(name)


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Spell options in another way, in all threads of this process."""
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before
