"""Options that several commands share, and options as messages and the shell write them."""

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from tamis.data.options import CHOICES, DEFAULTS, FORMATS, KINDS


def add_run_options(parser) -> None:
    """Add --seed, --threads and --json."""
    parser.add_argument("--seed", type=int, default=0, help="seed; default: 0")
    parser.add_argument(
        "--threads", type=int, help="threads; default: all cores. The result does not depend on it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, no tables")


def add_reading_options(
    parser, has_schema: bool = False, skip: bool = False, blank: bool = False
) -> None:
    """Add the options of reading files, the first few of them where a model `has_schema`.

    `skip` makes skipping the default for bad lines; `blank` offers an empty line for each.
    """
    group = parser.add_argument_group("reading")
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
    chunk_rows = DEFAULTS["chunk_rows"]
    group.add_argument("--chunk-rows", type=int, default=chunk_rows, help=argparse.SUPPRESS)
    group.add_argument("--delimiter", help="delimiter of fields; default: that of the header")
    group.add_argument(
        "--encoding",
        help="encoding of text; default: utf-8, or that of the file a model was trained from",
    )
    if has_schema:
        return
    group.add_argument(
        "--target",
        type=decode_argument,
        help="column of the target, by name or number; default: the last one",
    )
    group.add_argument("--weight", type=decode_argument, help="column of the row weights")
    add_choice(group, "--zero-based", "auto yes no", "whether svmlight columns count from 0")
    add_choice(group, "--multilabel", "auto yes no", "whether svmlight rows have several labels")
    group.add_argument("--hash-bits", type=int, metavar="B", help="hash features into 2^B columns")
    add_choice(group, "--missing", CHOICES["missing"], "what empty fields mean; default: error")
    group.add_argument(
        "--decimal",
        choices=CHOICES["decimal"],
        default=DEFAULTS["decimal"],
        help="decimal sign; default: .",
    )
    group.add_argument(
        "--as",
        dest="kinds",
        type=decode_argument,
        action="append",
        default=[],
        metavar="COLUMN=KIND,...",
        help=f"kind of a column, if the detected one is wrong: {', '.join(KINDS)}; may be repeated",
    )
    add_choice(
        group,
        "--units",
        CHOICES["units"][::-1],
        "numbers of tables in units of their column's spread (the default), or as they are",
    )
    group.add_argument(
        "--rare",
        type=int,
        metavar="ROWS",
        help="levels of a category in fewer rows are merged; default: 5 in tables of 100 rows",
    )
    group.add_argument(
        "--ngrams",
        type=int,
        choices=CHOICES["ngrams"],
        default=DEFAULTS["ngrams"],
        help="longest run of words in a text that becomes a column; default: 1",
    )
    add_repeatable(group, "--categorical", "COLUMN", "a categorical column")
    add_repeatable(group, "--ignore", "COLUMN", "a column to leave out")


def add_choice(parser, flag: str, choices: str | Sequence[str], help: str) -> None:
    """Add an option that takes one of some words, the first of them by default."""
    choices = choices.split() if isinstance(choices, str) else choices
    parser.add_argument(flag, choices=choices, default=choices[0], help=help)


def add_repeatable(parser, flag: str, metavar: str, help: str) -> None:
    """Add an option that may be repeated."""
    options: dict[str, Any] = {"action": "append", "default": [], "metavar": metavar}
    parser.add_argument(flag, type=decode_argument, help=f"{help}; may be repeated", **options)


def decode_argument(word: str) -> str:
    """Return a word of the command line as UTF-8 where the locale could not decode it."""
    try:
        word.encode()
        return word
    except UnicodeEncodeError:
        return os.fsencode(word).decode("utf-8", "surrogateescape")


def as_option(name: str, *value: Any) -> str:
    """Return a parameter of the library as an option of the command line, with its value if any."""
    flag = "--as" if name == "kinds" else "--" + name.replace("_", "-")
    if not value or (name == "stream" and value[0] is True):
        return flag
    return f"{flag} {_shell_argument(value[0])}"


def _shell_argument(value: Any) -> str:
    """Return a value as a shell takes it."""
    if value is ...:
        return "..."
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = [f"{column}={kind}" for column, kind in value.items()]
    words = value if isinstance(value, list) else [value]
    return " ".join(shlex.quote(str(word)) for word in words)
