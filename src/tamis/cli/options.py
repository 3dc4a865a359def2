"""Options that several commands share: chance, reading, and words to choose from."""

import argparse

from tamis.cli.words import typed

FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npz", "vw")


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
        choices=("error", "skip", "blank") if blank else ("error", "skip"),
        default="skip" if skip else "error",
        help="what to do about bad lines; default: %(default)s"
        + ("; blank writes an empty line for each" if blank else ""),
    )
    group.add_argument(
        "--max-line-bytes",
        type=int,
        default=2**26,
        metavar="B",
        help="longest line that is read; default: 64 MiB",
    )
    group.add_argument("--chunk-rows", type=int, default=16384, help=argparse.SUPPRESS)
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
    choice(group, "--missing", "error zero indicator", "what empty fields mean; default: error")
    group.add_argument(
        "--decimal", choices=(".", ","), default=".", help="sign before decimals; default: ."
    )
    group.add_argument(
        "--as",
        dest="kinds",
        type=typed,
        action="append",
        default=[],
        metavar="COLUMN=KIND,...",
        help="what a column is, where it is not as found: number, category, date, text or skip; "
        "may be repeated",
    )
    choice(
        group,
        "--units",
        "spread none",
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
        choices=(1, 2, 3),
        default=1,
        help="longest run of words of a text that has a column; default: 1",
    )
    several(group, "--categorical", "COLUMN", "a column of words")
    several(group, "--ignore", "COLUMN", "a column to leave out")


def choice(one, flag: str, words: str, help: str) -> None:
    """One of some words, the first of them by default."""
    choices = words.split()
    one.add_argument(flag, choices=choices, default=choices[0], help=help)


def several(one, flag: str, metavar: str, help: str) -> None:
    """An option that may be repeated."""
    again = f"{help}; may be repeated"
    one.add_argument(flag, type=typed, action="append", default=[], metavar=metavar, help=again)
