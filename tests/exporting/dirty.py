"""Random dirty tables: columns of every kind with hostile names and values, containers and files
that hold them, and what happens to a table between `fit` and `predict`.

A table is a dict of lists of Python's values; None is a gap. All of it follows from a generator of
random numbers.
"""

import csv
import gzip
import io
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tamis.data.tables.values import word_of

NAMES = ["a", "b", "age", "City", "city", "x", "X", "when", "tamis_score", "Tamis_prediction"]
NAMES += ['a"b', "a'b", "a;--", "a\nb", " ", "a ", "rowid", "select", "İ", "ß", "ſ", "%s", "?1"]
NAMES += [
    "日本",
    "🙂",
    "t.x",
    "0",
    "1",
    "x0",
    "x=y",
    "x=missing",
    "nan",
    "None",
    "a,b",
    "a|b",
    "id",
]
LEVELS = ["x", "X", "z", "it's", "NULL", "a\0b", "a", "'", "''", '"', "--", "\\", "é", "e\u0301"]
LEVELS += ["🙂", "a\nb", "x ", " x", "?", "%", "-1", "ß", "SS", "ss", "NA", "n/a", "nan", "None"]
LEVELS += ["", " ", "a,b", "a;b", "a\tb", "2024-01-01", "10115", "007", "1e5", "inf", "rare", "=1"]
LEVELS += ["missing", "Bonn", "BONN", "bonn", "1,5", "0x1F", "1_000", "١", "½", "\ufeff", "ſ"]
TRUTHS = [
    [True, False],
    ["True", "False"],
    ["true", "false"],
    ["TRUE", "FALSE"],
    ["1", "0"],
    [1, 0],
    [1.0, 0.0],
    ["yes", "no"],
    ["t", "f"],
    [True, "false"],
    ["true", "False", "other"],
]
MONEY = ["$1,234.50", "$99.00", "12 %", "12%", "€ 5", "1.234,5", "1,5", "(12)", "+7", "1 000"]
DATES = ["2024-01-31", "2024-01-31 24:00", "2024-12-31 24:00:00", "2023-02-28 23:59:59.5"]
DATES += ["2024-02-29T10:00Z", "2024-03-01 10:00 UTC", "2024-05-01 05:06:07,25", "1969-12-31 23:59"]
DATES += [
    "2024-05-01 05:06+02:00",
    "2024-05-01T05:06:07-0330",
    "0999-01-01",
    "2024-1-5",
    "9999-12-31",
]
SHAPES = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S"]
WORDS = [
    "good",
    "Bad",
    "film",
    "élan",
    "the",
    "a",
    "of",
    "ΣΑΣ",
    "straße",
    "ab",
    "x1",
    "don't",
    "日本",
]
FRAMES = ["dict of lists", "dict of arrays", "list of dicts", "pandas", "pandas objects"]
FRAMES += ["pandas kinds", "Polars", "Arrow", "array"]
FILES = ["CSV", "TSV", "CSV.gz", "TSV.gz", "Parquet", "Arrow file", "Feather", "Arrow stream"]
GAP_WORDS = ("", "na", "n/a", "nan", "null", "none")


class Case(NamedTuple):
    """A table to fit a model to."""

    table: dict[str, list]
    kinds: dict[str, str]  # of the columns whose kind is said to tamis
    y: list
    is_file: bool
    container: str
    options: dict[str, Any]
    is_sieve: bool
    is_regression: bool


def case_of(rng: np.random.Generator) -> Case:
    """A random table with its target, and the way in which it reaches a model."""
    n = int(rng.choice([1, 2, 3, rng.integers(5, 20), rng.integers(20, 61)], p=FEW_ROWS))
    table, kinds, missing = (
        {},
        {},
        str(rng.choice(["error", "zero", "indicator"], p=[0.2, 0.4, 0.4])),
    )
    gaps = 0.0 if missing == "error" and rng.random() < 0.9 else float(rng.choice([0.0, 0.1, 0.4]))
    is_file = bool(rng.random() < 0.4)
    for name in _some(rng, NAMES, rng.integers(1, 6)):
        if is_file:  # names in text files have no blanks at their ends, and are no numbers
            name = f"n{name}" if name.strip() in ("0", "1", "nan") else name.strip() or "blank"
        kind, values = COLUMNS[rng.choice(len(COLUMNS), p=SHARES)](rng, n)
        table[name] = [None if rng.random() < gaps else value for value in values]
        if kind and rng.random() < 0.9:
            kinds[name] = kind
        elif rng.random() < 0.03:
            kinds[name] = str(rng.choice(["number", "category", "date", "text", "skip"]))
    is_regression = bool(rng.random() < 0.2)
    options = {"missing": missing, "units": str(rng.choice(["none", "spread"], p=[0.3, 0.7]))}
    if rng.random() < 0.15:
        options["hash_bits"] = int(rng.choice([1, 6, 18]))
    if rng.random() < 0.3:
        options["rare"] = int(rng.integers(1, 4))
    if rng.random() < 0.1:
        options["ngrams"] = int(rng.integers(2, 4))
    container = str(rng.choice(FILES if is_file else FRAMES))
    if container == "array":  # whose columns have no other names
        names = {name: f"x{k}" for k, name in enumerate(table)}
        table = {names[name]: values for name, values in table.items()}
        kinds = {names[name]: kind for name, kind in kinds.items()}
    return Case(
        table,
        kinds,
        _targets(rng, n, is_regression),
        is_file,
        container,
        options,
        bool(rng.random() < 0.01),
        is_regression,
    )


FEW_ROWS = [0.02, 0.03, 0.03, 0.32, 0.6]


def _some(rng, pool: list, count: int, again: bool = False) -> list:
    return [pool[k] for k in rng.choice(len(pool), int(count), replace=again)]


def _targets(rng, n: int, is_regression: bool) -> list:
    """Numbers, or two or more classes, each of which is there if there are rows enough."""
    if is_regression:
        return [float(value) for value in rng.normal(size=n).round(3) * 10.0 ** rng.integers(-3, 4)]
    safe = [level for level in LEVELS if level.strip().lower() not in GAP_WORDS]
    pools = [[True, False], [0, 1], [-1, 1], ["yes", "no"], ["1", "0"], _some(rng, safe, 2)]
    pools += [_some(rng, safe, rng.integers(3, 6)), [1, 2, 3], ["a", "A", "b"]]
    classes = pools[rng.integers(len(pools))]
    y = [*classes, *_some(rng, classes, max(n - len(classes), 0), True)][:n]
    return [y[k] for k in rng.permutation(n)]


# --------------------------------------------------------------------------- columns
def _numbers(rng, n):
    scale = 10.0 ** rng.integers(-3, 6)
    return None, [float(value) for value in (rng.normal(size=n) * scale).round(6)]


def _counts(rng, n):
    return None, [int(value) for value in rng.integers(-3, 50, n) * (rng.random(n) < 0.7)]


def _odd_sizes(rng, n):
    style = rng.integers(6)
    if style == 0:
        return None, [float(value) for value in rng.normal(size=n) * 1e-46]
    if style == 1:
        return None, [float(value) for value in rng.normal(size=n) * 1e-300]
    if style == 2:
        return None, [float(value) for value in rng.normal(size=n) * 10.0 ** rng.integers(30, 50)]
    if style == 3:
        return None, [
            float(value) for value in rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)
        ]
    if style == 4:
        return None, _some(rng, [2**53 + 1, 2**63 - 1, -(2**63), 10**18, 1, 0], n, True)
    return None, _some(
        rng, [0.0, -0.0, 5e-324, 1e300, 1.7e308, float("inf"), 10**400, 10**30], n, True
    )


def _decimals(rng, n):
    return None, [Decimal(f"{value:.2f}") for value in rng.normal(size=n) * 100]


def _lengths(rng, n):
    return None, [timedelta(seconds=float(value)) for value in rng.integers(-(10**6), 10**6, n)]


def _whole_numbers(rng, n):
    """Whole numbers that are names, such as postal codes."""
    pool = [int(code) for code in rng.integers(10100, 10120, 4)]
    style = rng.integers(3)
    codes = _some(rng, [(int, float, str)[style](code) for code in pool], n, True)
    return "category", codes


def _levels(rng, n):
    return "category" if rng.random() < 0.5 else None, _some(
        rng, _some(rng, LEVELS, rng.integers(2, 8)), n, True
    )


def _truths(rng, n):
    kind = "category" if rng.random() < 0.3 else None
    return kind, _some(rng, TRUTHS[rng.integers(len(TRUTHS))], n, True)


def _money(rng, n):
    return None, _some(rng, MONEY[: rng.integers(2, len(MONEY) + 1)], n, True)


def _dates(rng, n):
    style = rng.integers(6)
    if style == 0:
        return "date", _some(rng, _some(rng, DATES, 5), n, True)
    start = datetime(2000 + int(rng.integers(30)), 1, 1)
    span = float(rng.choice([0.0, 86400.0, 1e6, 1e8]))
    actual = [start + timedelta(seconds=round(span * float(part))) for part in rng.random(n)]
    if style == 1:
        shape = SHAPES[rng.integers(len(SHAPES))]
        return None, [when.strftime(shape) for when in actual]
    if style == 2:
        return None, [when.date() for when in actual]
    if style == 3:
        zones = [UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-3, minutes=-30))]
        several = rng.random() < 0.3
        zone = zones[rng.integers(3)]
        return None, [
            when.replace(tzinfo=zones[rng.integers(3)] if several else zone) for when in actual
        ]
    return None, actual


def _texts(rng, n):
    actual = [" ".join(_some(rng, WORDS, rng.integers(0, 9), True)) for _ in range(n)]
    return "text" if rng.random() < 0.5 else None, actual


def _constant(rng, n):
    return None, [_some(rng, ["same", 1, 0.0, True, "", date(2024, 1, 1)], 1)[0]] * n


def _empty(rng, n):
    return None, [None] * n


def _identifiers(rng, n):
    return None, [f"id{k}" if n % 2 else k for k in range(n)]


def _mixed(rng, n):
    """Numbers, truth values and words in one column."""
    pool = [1, 2.5, "x", "3", True, None, Decimal("1.50"), "", 10115.0, "true"]
    return "category" if rng.random() < 0.5 else None, _some(rng, pool, n, True)


COLUMNS = [_numbers, _counts, _odd_sizes, _decimals, _lengths, _whole_numbers, _levels, _truths]
COLUMNS += [_money, _dates, _texts, _constant, _empty, _identifiers, _mixed]
SHARES = np.array([4, 2, 1, 1, 1, 2, 6, 2, 1, 4, 2, 0.5, 0.3, 0.3, 1])
SHARES /= SHARES.sum()


# --------------------------------------------------------------------------- after the fit
class Change(NamedTuple):
    """A table that is not as it was when a model was fitted to it."""

    name: str
    table: dict[str, list]
    rows: list[int] | None  # rows of the first table that mean the same; None: it means another


def change_of(rng: np.random.Generator, table: dict[str, list], levels: set[str]) -> Change:
    """One random change of a table; `levels` are columns whose values are no numbers and dates."""
    n = len(next(iter(table.values())))
    whole, name = list(range(n)), str(rng.choice(CHANGES))
    names = list(table)
    one = names[rng.integers(len(names))]
    if name == "reordered":
        return Change(name, {key: table[key] for key in _some(rng, names, len(names))}, whole)
    if name == "more columns":
        known = {key.strip() for key in table}
        extra = str(rng.choice([key for key in NAMES if key.strip() not in known]))
        _, values = COLUMNS[rng.choice(len(COLUMNS), p=SHARES)](rng, n)
        return Change(name, table | {extra: values}, whole)
    if name == "other spelling":
        changed = {}
        for key, values in table.items():
            # Dates that are levels are others if respelt.
            dated = any(isinstance(value, date) for value in values)
            changed[key] = values if dated and key in levels else respelt(rng, values)
        return Change(name, changed, whole)
    if name == "some rows":
        rows = sorted(_some(rng, whole, rng.integers(1, n + 1)))
        return Change(name, {key: [v[k] for k in rows] for key, v in table.items()}, rows)
    if name == "dropped":
        return Change(name, {key: values for key, values in table.items() if key != one}, None)
    if name == "renamed":
        other = str(rng.choice([key for key in [*NAMES, one.upper()] if key not in table]))
        changed = {other if key == one else key: values for key, values in table.items()}
        return Change(name, changed, None)
    values = list(table[one])
    if name == "other kind":
        values = COLUMNS[rng.choice(len(COLUMNS), p=SHARES)](rng, n)[1]
    for k in range(n):
        if name == "new levels" and rng.random() < 0.5:
            values[k] = _some(rng, LEVELS, 1)[0]
        if name == "more gaps" and rng.random() < 0.3:
            values[k] = None
        if name == "odd values" and rng.random() < 0.3:
            values[k] = _some(rng, ODD, 1)[0]
    return Change(name, table | {one: values}, None)


CHANGES = ["reordered", "more columns", "other spelling", "some rows", "dropped", "renamed"]
CHANGES += ["other kind", "new levels", "more gaps", "odd values"]
ODD = [float("inf"), -1e300, 1e60, 10**400, "soon", "2024-02-30", "24:00", "1_000", "1e400", " 1 "]
ODD += [True, b"bytes", 1.5, Decimal("1e60"), Decimal("NaN"), "0000-01-01", "2024-01-01 24:30"]
ODD += [np.float32(0.1), np.int8(3), pd.NaT, pd.NA, timedelta(days=1), date(2024, 1, 1), "12:00"]


def respelt(rng: np.random.Generator, values: list) -> list:
    """A column whose values are written or typed otherwise and mean the same."""
    filled = [value for value in values if value is not None]
    kinds = {type(value) for value in filled}
    if not filled:
        return values
    if kinds <= {int, float} and all(abs(value) < 1e15 for value in filled):
        if all(value == int(value) for value in filled):
            ways = [int, float, str, lambda v: f"{int(v)}.0", np.int64, np.float64, Decimal]
            way = ways[rng.integers(len(ways))]
            return [None if v is None else way(int(v)) for v in values]
        ways = [str, lambda v: Decimal(str(v)), np.float64]
    elif kinds == {bool}:
        ways = [str, lambda v: str(v).lower(), lambda v: str(v).upper(), np.bool_]
    elif kinds == {Decimal}:
        ways = [word_of, float]
    elif kinds == {timedelta}:
        ways = [timedelta.total_seconds, np.timedelta64, pd.Timedelta]
    elif kinds == {datetime}:
        ways = [str, datetime.isoformat, pd.Timestamp]
        if filled[0].tzinfo is None:
            ways.append(np.datetime64)
    elif kinds == {date}:
        ways = [str, pd.Timestamp]
    else:
        return values
    way = ways[rng.integers(len(ways))]
    return [None if value is None else way(value) for value in values]


# --------------------------------------------------------------------------- containers
def frame_of(rng: np.random.Generator, table: dict[str, list], container: str) -> Any:
    """The table in a container; None where that cannot hold it."""
    if container == "dict of lists":
        return {name: list(values) for name, values in table.items()}
    if container == "list of dicts":
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if container == "array":
        if list(table) != [f"x{k}" for k in range(len(table))]:
            return None
        rows = np.empty((len(next(iter(table.values()))), len(table)), dtype=object)
        for k, values in enumerate(table.values()):
            rows[:, k] = values
        return rows
    if container == "dict of arrays":
        return {name: _array(rng, values) for name, values in table.items()}
    if container in ("Polars", "Arrow") and any(map(_has_zones, table.values())):
        return None  # they turn them into one zone, and the clock is another
    try:
        if container in ("Polars", "Arrow"):
            plain = {name: _plain_numbers(values) for name, values in table.items()}
            return pl.DataFrame(plain, strict=True) if container == "Polars" else pa.table(plain)
        if container != "pandas objects" and any(map(_are_rounded, table.values())):
            return None
        frame = pd.DataFrame(table, dtype=object if container == "pandas objects" else None)
        return frame.convert_dtypes() if container == "pandas kinds" else frame
    except (Exception, pl.exceptions.PanicException):
        return None


def _plain_numbers(values: list) -> list:
    """A column without NumPy's numbers: Arrow and Polars round all to the type of the first."""
    return [value.item() if isinstance(value, np.number) else value for value in values]


def _are_rounded(values: list) -> bool:
    """Whether pandas rounds whole numbers, which become floats beside a gap."""
    return None in values and any(type(v) is int and abs(v) > 2**53 for v in values)


def _has_zones(values: list) -> bool:
    """Whether a column has moments of zones other than universal time."""
    return any(isinstance(v, datetime) and v.tzinfo not in (None, UTC) for v in values)


def _array(rng, values: list) -> Any:
    """A column as an array; gaps of numbers are nan or masked."""
    filled = [value for value in values if value is not None]
    if not filled or {type(value) for value in filled} - {int, float}:
        return np.fromiter(values, dtype=object, count=len(values))
    if max(map(abs, filled)) > 2**53:
        return np.array(values, dtype=object)
    kind = np.int64 if {type(value) for value in filled} == {int} else np.float64
    gone = [value is None for value in values]
    if rng.random() < 0.5 or (kind == np.int64 and not any(gone)):
        whole = np.array([0 if value is None else value for value in values], dtype=kind)
        return np.ma.array(whole, mask=gone) if any(gone) else whole
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def without_gap_words(table: dict[str, list]) -> dict[str, list]:
    """The table with None for words that are gaps in text files."""
    return {
        name: [None if isinstance(v, str) and v.lower() in GAP_WORDS else v for v in values]
        for name, values in table.items()
    }


def source_of(rng: np.random.Generator, table: dict[str, list], kind: str, folder: Path) -> Any:
    """The table as a file, or as a stream, with its delimiter; None where that cannot hold it."""
    if kind == "Arrow stream":
        made = frame_of(rng, table, "Arrow")
        return None if made is None else (made, None)
    if kind in ("Parquet", "Arrow file", "Feather"):
        made = frame_of(rng, table, "Arrow")
        if made is None:
            return None
        path = (
            folder / {"Parquet": "t.parquet", "Arrow file": "t.arrow", "Feather": "t.feather"}[kind]
        )
        try:
            if kind == "Parquet":
                pa.parquet.write_table(made, path)
            elif kind == "Feather":
                pa.feather.write_feather(made, path, compression="uncompressed")
            else:
                with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, made.schema) as out:
                    out.write_table(made)
        except Exception:
            return None
        return path, None
    return _text_file(rng, table, kind, folder)


def _text_file(rng, table: dict, kind: str, folder: Path) -> tuple[Path, str | None] | None:
    if "\n" in "".join(table):  # a header is one line
        return None
    if any(isinstance(value, str) and "\0" in value for one in table.values() for value in one):
        return None
    text, delimiter = io.StringIO(), "\t" if kind.startswith("TSV") else str(rng.choice([",", ";"]))
    writer = csv.writer(text, delimiter=delimiter, lineterminator=str(rng.choice(["\n", "\r\n"])))
    writer.writerow(table)
    gap = str(rng.choice(["", "NA", "null", "NaN"]))
    for row in zip(*table.values(), strict=True):
        writer.writerow([_text(value, gap) for value in row])
    path = folder / f"t.{kind.lower()}"
    content = text.getvalue().encode()
    if rng.random() < 0.1:
        content = b"\xef\xbb\xbf" + content
    path.write_bytes(gzip.compress(content, 1) if kind.endswith("gz") else content)
    # The header tells it, where no name holds such a sign.
    return path, delimiter if re.search("[,;\t|]", "".join(table)) or len(table) == 1 else None


def _text(value: Any, gap: str) -> str:
    """A value as a text file has it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return gap
    if isinstance(value, timedelta | np.timedelta64):
        return repr(pd.Timedelta(value).total_seconds())
    return word_of(value) if isinstance(value, Decimal) else str(value)
