"""The parser of the command line. It loads nothing heavy, so that ``tamis --help`` is quick."""

import argparse
from typing import NoReturn

import tamis
from tamis.cli.methods import COMPARED, METHODS
from tamis.cli.options import (
    add_choice,
    add_reading_options,
    add_repeatable,
    add_run_options,
    decode_argument,
)
from tamis.system.terminal import for_terminal

EXPORT_FORMATS = ("json", "python", "sql", "onnx", "scorecard")
_FILES = "a file, a glob, or - for standard input; several are read one after the other"


class Parser(argparse.ArgumentParser):
    """A parser that escapes the words of a wrong command in its messages."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and end the process."""
        super().error(for_terminal(message))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="tamis",
        description="Sieve a few trustworthy features out of many: from a file to a model, a table "
        "and a page.",
        epilog="Every command has its own --help. Files: svmlight, CSV, TSV, Parquet, Arrow, npz "
        "and Vowpal Wabbit text, also gz, bz2, xz or zst.",
    )
    parser.add_argument("--version", action="version", version=f"tamis {tamis.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_fit(commands)
    _add_predict(commands)
    _add_inspect(commands)
    _add_explain(commands)
    _add_export(commands)
    _add_compare(commands)
    _add_select(commands)
    _add_check(commands)
    _add_associate(commands)
    _add_demo(commands)
    _add_warm(commands)
    return parser


def _add_fit(commands) -> None:
    parser = commands.add_parser(
        "fit",
        help="train a model from a file of any size",
        description="Train a model, in bounded memory, and show what it kept.",
    )
    parser.add_argument("train", nargs="+", metavar="TRAIN", help=_FILES)
    parser.add_argument("--method", choices=METHODS, default="sieve", help="default: sieve")
    add_choice(parser, "--task", "auto classify regress", "auto goes by the targets")
    parser.add_argument(
        "--loss", help="loss of the model, such as logistic, hinge, squared_error or huber"
    )
    add_repeatable(parser, "--set", "NAME=VALUE", "any other parameter of the model")
    parser.add_argument("--passes", type=int, default=1, help="passes over the file; default: 1")
    parser.add_argument(
        "--memory",
        type=int,
        metavar="MB",
        help="megabytes for the rows that a sieve fits. From a larger file it takes the columns "
        "that may matter and, if they do not fit either, a sample of the rows. Default: 1000",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="let a sieve learn in passes, as from a stream: less accurate, but --passes and "
        "--checkpoint work",
    )
    parser.add_argument("--test", metavar="FILE", help="rows to measure the error on")
    parser.add_argument("--out", metavar="MODEL", help="where to write the model")
    parser.add_argument(
        "--report", metavar="PAGE.html", help="where to write a page about data and model"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoints: the same command goes on after an interruption, to the same "
        "bits",
    )
    parser.add_argument(
        "--every",
        type=int,
        default=100_000,
        metavar="ROWS",
        help="rows between checkpoints; default: 100000",
    )
    parser.add_argument(
        "--discoveries",
        action="store_true",
        help="also test the kept features, as tamis select does, and show their q-values; this "
        "reads the file a few more times",
    )
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="learn on a Dask cluster, one partition a file: tcp://HOST:PORT of its scheduler, or "
        "local:N for N workers on this machine",
    )
    parser.add_argument("--top", type=int, default=20, help="features to show; default: 20")
    add_run_options(parser)
    add_reading_options(parser)


def _add_predict(commands) -> None:
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a file",
        description="Write predictions, one line a row.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    parser.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument(
        "-o", "--out", metavar="OUT", help="where to write; default: standard output"
    )
    parser.add_argument(
        "--proba",
        action="store_true",
        help="probabilities, tab-separated, after a line with the classes",
    )
    add_reading_options(parser, has_schema=True, blank=True)


def _add_inspect(commands) -> None:
    parser = commands.add_parser(
        "inspect",
        help="show what a model kept",
        description="Show the features of a model with their weights.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    parser.add_argument("--top", type=int, default=30, help="features to show; default: 30")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="all kept features as CSV")
    output.add_argument("--json", action="store_true", help="as JSON")


def _add_explain(commands) -> None:
    parser = commands.add_parser(
        "explain",
        help="show what the prediction of one row is made of",
        description="Show what each feature of a row adds to its score, the largest first.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    parser.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument("--row", type=int, default=1, help="number of the row, from 1; default: 1")
    parser.add_argument(
        "--class",
        dest="label",
        type=decode_argument,
        help="class to explain; default: the predicted class, of two classes the second",
    )
    parser.add_argument("--top", type=int, default=20, help="features to show; default: 20")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_reading_options(parser, has_schema=True)


def _add_export(commands) -> None:
    parser = commands.add_parser(
        "export",
        help="write a model for use outside of Python",
        description="Write a linear model with the few columns that it kept.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    parser.add_argument(
        "--to", choices=EXPORT_FORMATS, help="format of the result; default: by the suffix of --out"
    )
    parser.add_argument(
        "-o", "--out", metavar="OUT", help="where to write; default: standard output"
    )
    add_choice(parser, "--dialect", "sqlite postgresql duckdb", "dialect of SQL; default: sqlite")
    parser.add_argument("--table", default="rows", help="table that the SQL reads; default: rows")
    parser.add_argument(
        "--inputs",
        choices=["fields", "all", "kept"],
        help="inputs of an ONNX model: one a field, or one tensor of all columns or of the kept "
        "ones; default: fields for a table, all columns for other files",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=10,
        help="largest number of points of a feature on a scorecard; default: 10",
    )
    parser.add_argument(
        "--test",
        metavar="FILE",
        help="rows to measure the error that the rounding of a scorecard adds",
    )
    add_reading_options(parser, has_schema=True)


def _add_compare(commands) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare methods by error, size and stability",
        description="Tune each method inside the training rows, fit it on many random orders of "
        "them, and measure its error on the test rows.",
    )
    parser.add_argument("train", nargs="+", metavar="TRAIN", help=_FILES)
    parser.add_argument(
        "--test",
        metavar="FILE",
        help="test rows; default: a fraction of 0.3 of the rows is held out",
    )
    parser.add_argument("--runs", type=int, default=10, help="random orders; default: 10")
    parser.add_argument(
        "--methods", metavar="A,B,...", default=",".join(COMPARED), help="default: %(default)s"
    )
    add_choice(parser, "--task", "auto classify regress", "auto goes by the targets")
    parser.add_argument("--report", metavar="PAGE.html", help="where to write a page")
    parser.add_argument(
        "--silence", metavar="CODE,...", default="", help="checks of the data to leave out"
    )
    add_run_options(parser)
    add_reading_options(parser)


def _add_select(commands) -> None:
    parser = commands.add_parser(
        "select",
        help="select features at a stated false discovery rate",
        description="List the features that may be claimed, each with its effect, q-value and "
        "substitutes.",
    )
    parser.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument(
        "--fdr",
        type=float,
        default=0.1,
        help="largest expected fraction of false discoveries; default: 0.1",
    )
    parser.add_argument(
        "--substitutes",
        default="0.5",
        help="correlation above which a column may replace another, or none; default: 0.5",
    )
    parser.add_argument("--candidates", type=int, default=60, help="columns to test; default: 60")
    parser.add_argument(
        "--screen", choices=("path", "ftrl", "rda"), help="default: path below 100,000 rows"
    )
    add_choice(parser, "--correction", "bh by", "by allows for any dependence; default: bh")
    add_choice(parser, "--task", "auto classify regress", "auto goes by the targets")
    parser.add_argument("--memory", type=int, default=1000, metavar="MB", help="default: 1000")
    parser.add_argument("--out", metavar="MODEL", help="where to write the selector")
    parser.add_argument("--top", type=int, default=30, help="features to show; default: 30")
    parser.add_argument("--csv", action="store_true", help="all selected features as CSV")
    parser.add_argument(
        "--threads", type=int, help="threads; default: all cores. The result does not depend on it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, no tables")
    add_reading_options(parser)


def _add_check(commands) -> None:
    parser = commands.add_parser(
        "check",
        help="read a whole file and describe its contents",
        description="Show rows, features, density, labels, bad lines, memory and a method.",
    )
    parser.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_reading_options(parser, skip=True)


def _add_associate(commands) -> None:
    parser = commands.add_parser(
        "associate",
        help="words that predict a word",
        description="List a few words that predict each query, by one low-rank factorisation of "
        "the corpus.",
    )
    parser.add_argument(
        "corpus",
        metavar="CORPUS",
        help="a docword file (UCI), an npz file with counts and terms, or text with one document a "
        "line",
    )
    add_repeatable(parser, "--query", "WORD", "a word to list the predictors of")
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="words, one a line; default: the file next to the docword file",
    )
    parser.add_argument("--top", type=int, default=10, help="words in a list; default: 10")
    parser.add_argument(
        "--components", type=int, default=50, help="rank of the factorisation; default: 50"
    )
    parser.add_argument(
        "--radius",
        type=float,
        default=1.0,
        help="bound of the sum of absolute weights; smaller gives shorter lists; default: 1",
    )
    parser.add_argument(
        "--robustness",
        type=float,
        default=0.1,
        help="fraction of the low-rank error to be robust against, 0 to 1; default: 0.1",
    )
    add_choice(parser, "--weighting", "tfidf none", "weighting of counts; default: tfidf")
    add_choice(parser, "--dtype", "float64 float32", "precision; float32 halves the memory")
    parser.add_argument(
        "--page",
        metavar="PAGE.html",
        help="where to write a page that shows the list of a word that one types",
    )
    parser.add_argument(
        "--words",
        dest="frequent",
        type=int,
        default=1000,
        help="most frequent words that get a list on the page; default: 1000",
    )
    parser.add_argument("--title", help="title of the page")
    add_run_options(parser)


def _add_demo(commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="a tour without a file",
        description="Make data with rare but important features, compare methods, fit a model and "
        "write a page.",
    )
    parser.add_argument(
        "--report", metavar="PAGE.html", default="tamis-demo.html", help="default: %(default)s"
    )
    add_run_options(parser)


def _add_warm(commands) -> None:
    parser = commands.add_parser(
        "warm",
        help="compile the usual loops, so that later commands start at once",
        description="Fit every method on tiny data, so that later fits find their loops compiled.",
    )
    parser.add_argument(
        "--methods", metavar="A,B,...", default=",".join(METHODS), help="default: all"
    )
