"""The words of the command line. Nothing heavy is loaded here: ``tamis --help`` is quick."""

import argparse
from typing import NoReturn

import tamis
from tamis.cli.methods import COMPARED, METHODS
from tamis.cli.options import chance, choice, reading, several, typed
from tamis.system.terminal import for_terminal

FORMS = ("json", "python", "sql", "onnx", "scorecard")
_FILES = "a file, a glob, or - for standard input; several are read one after the other"


class Parser(argparse.ArgumentParser):
    """A parser that repeats no word of a wrong command as it is."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        super().error(for_terminal(message))


def make_parser() -> argparse.ArgumentParser:
    """All commands."""
    parser = Parser(
        prog="tamis",
        description="Sieve a few trustworthy features out of many: from a file to a model, a table "
        "and a page.",
        epilog="Every command has its own --help. Files: svmlight, CSV, TSV, Parquet, Arrow, npz "
        "and Vowpal Wabbit text, also gz, bz2, xz or zst.",
    )
    parser.add_argument("--version", action="version", version=f"tamis {tamis.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _fit(commands)
    _predict(commands)
    _inspect(commands)
    _explain(commands)
    _export(commands)
    _compare(commands)
    _select(commands)
    _check(commands)
    _associate(commands)
    _demo(commands)
    _warm(commands)
    return parser


def _fit(commands) -> None:
    one = commands.add_parser(
        "fit",
        help="train a model from a file of any size",
        description="Train a model, in bounded memory, and show what it kept.",
    )
    one.add_argument("train", nargs="+", metavar="TRAIN", help=_FILES)
    one.add_argument("--method", choices=METHODS, default="sieve", help="default: sieve")
    choice(one, "--task", "auto classify regress", "auto goes by the targets")
    one.add_argument(
        "--loss", help="loss of the model, such as logistic, hinge, squared_error or huber"
    )
    several(one, "--set", "NAME=VALUE", "any other parameter of the model")
    one.add_argument("--passes", type=int, default=1, help="passes over the file; default: 1")
    one.add_argument(
        "--memory",
        type=int,
        metavar="MB",
        help="megabytes for the rows of a sieve in its fit; of a larger file it fits the columns "
        "that may matter, and if need be a part of the rows. Default: 1000",
    )
    one.add_argument(
        "--stream",
        action="store_true",
        help="let a sieve learn in passes, as from a stream that goes by once: less accurate, for "
        "--passes and --checkpoint",
    )
    one.add_argument("--test", metavar="FILE", help="rows to measure the error on")
    one.add_argument("--out", metavar="MODEL", help="where to write the model")
    one.add_argument(
        "--report", metavar="PAGE.html", help="where to write a page about data and model"
    )
    one.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoints: the same command goes on after an interruption, to the same "
        "bits",
    )
    one.add_argument(
        "--every",
        type=int,
        default=100_000,
        metavar="ROWS",
        help="rows between checkpoints; default: 100000",
    )
    one.add_argument(
        "--discoveries",
        action="store_true",
        help="test the kept features too, by tamis select: q-values beside the weights, for some "
        "more readings of the file",
    )
    one.add_argument(
        "--cluster",
        metavar="WHERE",
        help="learn on a Dask cluster, a file a partition: tcp://HOST:PORT of its scheduler, or "
        "local:N for N workers of this machine",
    )
    one.add_argument("--top", type=int, default=20, help="features to show; default: 20")
    chance(one)
    reading(one)


def _predict(commands) -> None:
    one = commands.add_parser(
        "predict", help="predict the rows of a file", description="Predictions, one line a row."
    )
    one.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    one.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    one.add_argument("-o", "--out", metavar="OUT", help="where to write; default: standard output")
    one.add_argument(
        "--proba",
        action="store_true",
        help="probabilities, tab-separated, after a line with the classes",
    )
    reading(one, schema=True, blank=True)


def _inspect(commands) -> None:
    one = commands.add_parser(
        "inspect",
        help="show what a model kept",
        description="The features of a model with their weights.",
    )
    one.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    one.add_argument("--top", type=int, default=30, help="features to show; default: 30")
    shape = one.add_mutually_exclusive_group()
    shape.add_argument("--csv", action="store_true", help="all kept features as CSV")
    shape.add_argument("--json", action="store_true", help="as JSON")


def _explain(commands) -> None:
    one = commands.add_parser(
        "explain",
        help="say where the prediction of one row comes from",
        description="What each feature of a row adds to its score, the largest first.",
    )
    one.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    one.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    one.add_argument("--row", type=int, default=1, help="number of the row, from 1; default: 1")
    one.add_argument(
        "--class",
        dest="label",
        type=typed,
        help="class to explain; default: the predicted one, of two the second",
    )
    one.add_argument("--top", type=int, default=20, help="features to show; default: 20")
    one.add_argument("--json", action="store_true", help="as JSON")
    reading(one, schema=True)


def _export(commands) -> None:
    one = commands.add_parser(
        "export",
        help="write a model for use outside of Python",
        description="A linear model as the few columns that it kept.",
    )
    one.add_argument("model", metavar="MODEL", help="a file that tamis fit --out wrote")
    one.add_argument(
        "--to", choices=FORMS, help="form of the result; default: by the suffix of --out"
    )
    one.add_argument("-o", "--out", metavar="OUT", help="where to write; default: standard output")
    choice(one, "--dialect", "sqlite postgresql duckdb", "of SQL; default: sqlite")
    one.add_argument("--table", default="rows", help="table that SQL reads; default: rows")
    one.add_argument(
        "--inputs",
        choices=["fields", "all", "kept"],
        help="what ONNX takes: an input a field, a tensor of all columns, or of the kept ones; "
        "default: fields of a table, all columns of other files",
    )
    one.add_argument(
        "--points",
        type=int,
        default=10,
        help="most points of a feature on a scorecard; default: 10",
    )
    one.add_argument(
        "--test", metavar="FILE", help="rows to measure what the rounding of a scorecard costs"
    )
    reading(one, schema=True)


def _compare(commands) -> None:
    one = commands.add_parser(
        "compare",
        help="compare methods by error, size and stability",
        description="Each method is tuned inside the training rows, then fitted on many random "
        "orders of them, and judged on the test rows.",
    )
    one.add_argument("train", nargs="+", metavar="TRAIN", help=_FILES)
    one.add_argument(
        "--test", metavar="FILE", help="test rows; default: a share of 0.3 is held out"
    )
    one.add_argument("--runs", type=int, default=10, help="random orders; default: 10")
    one.add_argument(
        "--methods", metavar="A,B,...", default=",".join(COMPARED), help="default: %(default)s"
    )
    choice(one, "--task", "auto classify regress", "auto goes by the targets")
    one.add_argument("--report", metavar="PAGE.html", help="where to write a page")
    one.add_argument(
        "--silence", metavar="CODE,...", default="", help="checks of the data that shall not run"
    )
    chance(one)
    reading(one)


def _select(commands) -> None:
    one = commands.add_parser(
        "select",
        help="select features at a stated false discovery rate",
        description="The features that may be claimed, each with its effect, q-value and "
        "substitutes.",
    )
    one.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    one.add_argument(
        "--fdr", type=float, default=0.1, help="largest expected share of false ones; default: 0.1"
    )
    one.add_argument(
        "--substitutes",
        default="0.5",
        help="correlation above which a column may stand in for another, or none; default: 0.5",
    )
    one.add_argument("--candidates", type=int, default=60, help="columns to test; default: 60")
    one.add_argument(
        "--screen", choices=("path", "ftrl", "rda"), help="default: path below 100,000 rows"
    )
    choice(one, "--correction", "bh by", "by allows for any dependence; default: bh")
    choice(one, "--task", "auto classify regress", "auto goes by the targets")
    one.add_argument("--memory", type=int, default=1000, metavar="MB", help="default: 1000")
    one.add_argument("--out", metavar="MODEL", help="where to write the selector")
    one.add_argument("--top", type=int, default=30, help="features to show; default: 30")
    one.add_argument("--csv", action="store_true", help="all selected features as CSV")
    one.add_argument(
        "--threads", type=int, help="threads; default: all cores. The result does not depend on it"
    )
    one.add_argument("--json", action="store_true", help="print JSON, no tables")
    reading(one)


def _check(commands) -> None:
    one = commands.add_parser(
        "check",
        help="read a whole file and say what is in it",
        description="Rows, features, density, labels, bad lines, memory, method.",
    )
    one.add_argument("file", nargs="+", metavar="FILE", help=_FILES)
    one.add_argument("--json", action="store_true", help="as JSON")
    reading(one, skip=True)


def _associate(commands) -> None:
    one = commands.add_parser(
        "associate",
        help="words that predict a word",
        description="For each query the short list of words that predict it, from one low-rank "
        "factorisation of the corpus.",
    )
    one.add_argument(
        "corpus",
        metavar="CORPUS",
        help="a docword file (UCI), an npz file with counts and terms, or text with one document a "
        "line",
    )
    several(one, "--query", "WORD", "a word to ask for")
    one.add_argument(
        "--vocabulary", metavar="FILE", help="words, one a line; default: beside the docword file"
    )
    one.add_argument("--top", type=int, default=10, help="words in a list; default: 10")
    one.add_argument(
        "--components", type=int, default=50, help="rank of the factorisation; default: 50"
    )
    one.add_argument(
        "--radius",
        type=float,
        default=1.0,
        help="bound of the weights' sum; smaller gives shorter lists; default: 1",
    )
    one.add_argument(
        "--robustness",
        type=float,
        default=0.1,
        help="share of the error to insure against, 0 to 1; default: 0.1",
    )
    choice(one, "--weighting", "tfidf none", "how counts are weighed; default: tfidf")
    choice(one, "--dtype", "float64 float32", "precision; float32 halves the memory")
    one.add_argument(
        "--page",
        metavar="PAGE.html",
        help="where to write a page on which one types a word and sees its list",
    )
    one.add_argument(
        "--words",
        dest="frequent",
        type=int,
        default=1000,
        help="most frequent words that get a list on the page; default: 1000",
    )
    one.add_argument("--title", help="title of the page")
    chance(one)


def _demo(commands) -> None:
    one = commands.add_parser(
        "demo",
        help="a tour without a file",
        description="Makes data with rare but important features, compares methods, fits, writes a "
        "page.",
    )
    one.add_argument(
        "--report", metavar="PAGE.html", default="tamis-demo.html", help="default: %(default)s"
    )
    chance(one)


def _warm(commands) -> None:
    one = commands.add_parser(
        "warm",
        help="compile the usual loops once, so that later commands start at once",
        description="Tiny fits of every method, so that the loops of later ones are there.",
    )
    one.add_argument("--methods", metavar="A,B,...", default=",".join(METHODS), help="default: all")
