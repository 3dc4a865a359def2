"""Options that several commands share: chance, reading, and words to choose from."""

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from tamis.data.options import CHOICES, DEFAULTS, FORMATS, KINDS


def chance(one) -> None:
    """Seed, threads, JSON."""
    one.add_argument("--seed", type=int, default=0, help="seed; default: 0")
    one.add_argument(
        "--threads", type=int, help="threads; default: all cores. The result does not depend on it"
    )
    one.add_argument("--json", action="store_true", help="print JSON, no tables")


def reading(one, schema: bool = False, skip: bool = False, blank: bool = False) -> None:
    """How files are read; fewer options where a model knows its `schema`."""
    group = one.add_argument_group("reading")
    group.add_argument(
        "--format", choices=FORMATS, help="default: by the name, else by the first line"
    )
    group.add_argument(
        "--on-bad",
        choices=CHOICES["on_bad"] + (("blank",) if blank else ()),
        default="skip" if skip else "error",
        help="what to do about bad lines; default: %(default)s"
        + ("; blank writes an empty line for each" if blank else ""),
    )
    group.add_argument(
        "--max-line-bytes",
        type=int,
        default=DEFAULTS["max_line_bytes"],
        metavar="B",
        help="longest line that is read; default: 64 MiB",
    )
    rows = DEFAULTS["chunk_rows"]
    group.add_argument("--chunk-rows", type=int, default=rows, help=argparse.SUPPRESS)
    group.add_argument("--delimiter", help="of fields; default: as the header has it")
    group.add_argument(
        "--encoding", help="of words; default: utf-8, or that of the file a model was trained from"
    )
    if schema:
        return
    group.add_argument(
        "--target",
        type=typed,
        help="column of the target, by name or number; default: the last one",
    )
    group.add_argument("--weight", type=typed, help="column of the row weights")
    choice(group, "--zero-based", "auto yes no", "whether svmlight columns count from 0")
    choice(group, "--multilabel", "auto yes no", "whether svmlight rows have several labels")
    group.add_argument("--hash-bits", type=int, metavar="B", help="hash features into 2^B columns")
    choice(group, "--missing", CHOICES["missing"], "what empty fields mean; default: error")
    group.add_argument(
        "--decimal",
        choices=CHOICES["decimal"],
        default=DEFAULTS["decimal"],
        help="sign before decimals; default: .",
    )
    group.add_argument(
        "--as",
        dest="kinds",
        type=typed,
        action="append",
        default=[],
        metavar="COLUMN=KIND,...",
        help=f"what a column is, where it is not as found: one of {', '.join(KINDS)}; may be "
        "repeated",
    )
    choice(
        group,
        "--units",
        CHOICES["units"][::-1],
        "numbers of tables in units of their column's spread (the default), or as they are",
    )
    group.add_argument(
        "--rare",
        type=int,
        metavar="ROWS",
        help="levels of a category in fewer rows share one; default: 5 in tables of 100 rows",
    )
    group.add_argument(
        "--ngrams",
        type=int,
        choices=CHOICES["ngrams"],
        default=DEFAULTS["ngrams"],
        help="longest run of words of a text that has a column; default: 1",
    )
    several(group, "--categorical", "COLUMN", "a column of words")
    several(group, "--ignore", "COLUMN", "a column to leave out")


def choice(one, flag: str, words: str | Sequence[str], help: str) -> None:
    """One of some words, the first of them by default."""
    choices = words.split() if isinstance(words, str) else words
    one.add_argument(flag, choices=choices, default=choices[0], help=help)


def several(one, flag: str, metavar: str, help: str) -> None:
    """An option that may be repeated."""
    again = f"{help}; may be repeated"
    one.add_argument(flag, type=typed, action="append", default=[], metavar=metavar, help=again)


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
