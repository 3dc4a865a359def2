"""Advice in words of the place: what the library says of its parameters, as options."""

import os
import re

# Parameters of the library, and what they are called on the command line.
NAMES = """
    format target weight on_bad max_line_bytes hash_bits missing delimiter categorical ignore units
    rare ngrams decimal encoding inputs passes every memory checkpoint
"""
OPTIONS = {name: "--" + name.replace("_", "-") for name in NAMES.split()}
_YES = {"True": "yes", "False": "no"}
_WORD = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAMED = re.compile(
    rf"\b(zero_based|multilabel|kinds|stream|{'|'.join(OPTIONS)})="
    rf"(\[(?:{_WORD})\]|\{{(?:{_WORD}): (?:{_WORD})\}}|{_WORD}|True|False|-?[\w]+|\.\.\.)?"
)
_PARAMETER = re.compile(r"The '(\w+)' parameter of open_rows")


def typed(word: str) -> str:
    """A word of the command line, which is UTF-8 where the locale cannot read it."""
    try:
        word.encode()
        return word
    except UnicodeEncodeError:
        return os.fsencode(word).decode("utf-8", "surrogateescape")


def in_options(text: str) -> str:
    """A sentence of the library as the command line would say it."""
    text = _PARAMETER.sub(lambda found: OPTIONS.get(found[1], found[0]), text)
    return _NAMED.sub(_option, text).replace("larger max_line_bytes", "larger --max-line-bytes")


def _option(found: re.Match) -> str:
    name, value = found[1], found[2] or ""
    words = [_plain(word) for word in re.findall(_WORD, value)]
    if name == "kinds":
        return f"--as {'='.join(words)}" if words else "--as"
    if name == "stream":
        return "--stream"
    if name in ("zero_based", "multilabel"):
        return f"--{name.replace('_', '-')} {_YES.get(value, value)}"
    said = " ".join(words) if words else value
    return f"{OPTIONS[name]} {said}".rstrip()


def _plain(word: str) -> str:
    """A quoted word as a shell takes it."""
    inside = re.sub(r"\\(.)", r"\1", word[1:-1])
    return inside if re.fullmatch(r"[\w.@%+:/-]+", inside) else "'" + inside.replace("'", "") + "'"
