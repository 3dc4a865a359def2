"""A random dirty table is fitted, changed, predicted and exported: what goes wrong, if anything.

A model answers with finite numbers, the same for the same content in every container and file and
in every export, or refuses in a sentence of tamis (or of scikit-learn) that names a column or a
value.
"""

import json
import linecache
import math
import re
import sqlite3
import tempfile
import traceback
import warnings
from collections import Counter
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn
from exporting.dirty import (
    FILES,
    FRAMES,
    GAP_WORDS,
    Case,
    case_of,
    change_of,
    frame_of,
    source_of,
    without_gap_words,
)
from sklearn.pipeline import make_pipeline

import tamis
from tamis.data.columns.dates import read_column_date
from tamis.data.tables.layout import CATEGORY, DATE, NUMBER, TEXT, Layout
from tamis.data.tables.values import is_gap, word_of
from tamis.exporting.export import export_bytes
from tamis.exporting.forms.scorecard import choose_scorecard, display_columns
from tamis.exporting.linear import LinearModel, extract_linear

SEED = 1
NON_FINITE, DIFFERENCE, RAW = "non-finite", "difference", "raw exception"
CHANGED = 3  # changes of a table that are looked at
PLAIN_DATE = re.compile(
    r"\s*(\d{4}-\d\d-\d\d|\d{4}/\d\d/\d\d|\d\d[./]\d\d[./]\d{4})"
    r"([ T]\d\d:\d\d(:\d\d([.,]\d+)?)?\s*(Z|UTC|[-+]00:?00|[-+]00)?)?\s*"
)
HOMES = (str(Path(tamis.__file__).parent), str(Path(sklearn.__file__).parent))


class Answer(NamedTuple):
    """What a model says of some rows."""

    scores: np.ndarray  # (rows, outputs)
    predictions: list
    sizes: np.ndarray  # of what is added up to a score, by row: errors of rounding go by it

    def of(self, rows: list[int]) -> "Answer":
        """The answer of some of the rows."""
        return Answer(self.scores[rows], [self.predictions[k] for k in rows], self.sizes[rows])


class Trial:
    """One table: counts of what was compared, and what was wrong."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def say(self, kind: str, what: str) -> None:
        """Note something wrong."""
        self.wrong.append(f"{kind}: {' '.join(what.split())[:500]}")

    def refused(self, error: Exception, names: Any, where: str) -> None:
        """Count a refusal, or note a raw exception."""
        if why := raw(error, names):
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            self.say(RAW, f"{where}, {place}: {why}: {type(error).__name__}: {str(error)!r:.300}")
        self.counts["refused"] += 1

    def same(self, one: Answer, other: Answer, where: str) -> bool:
        """Compare two answers to the same rows."""
        self.counts["compared"] += 1
        return self.close(one, other.scores, other.predictions, where)

    def close(self, answer: Answer, scores: Any, predictions: list | None, where: str) -> bool:
        """Compare an answer with scores, and with predictions that rounding does not change."""
        scores = np.asarray(scores, dtype=float).reshape(answer.scores.shape)
        room = 1e-9 * answer.sizes[:, None] + 1e-300
        away = ~(np.abs(scores - answer.scores) <= room)
        if away.any():
            row, output = np.argwhere(away)[0]
            said = f"{scores[row, output]!r} for {answer.scores[row, output]!r}"
            self.say(DIFFERENCE, f"{where}: row {row} has the score {said}")
            return False
        for row, (got, want) in enumerate(zip(predictions or [], answer.predictions, strict=False)):
            if is_other(got, want) and clear(answer, row):
                self.say(DIFFERENCE, f"{where}: row {row} is {got!r} and not {want!r}")
                return False
        return True


def is_other(got: Any, want: Any) -> bool:
    """Whether a prediction is another; numbers are compared as scores."""
    if isinstance(want, float) and not isinstance(got, str):
        return False
    return str(got) != str(want) and not (isinstance(want, bool) and int(got) == int(want))


def clear(answer: Answer, row: int) -> bool:
    """Whether a decision is no matter of rounding."""
    scores = np.sort(answer.scores[row])
    margin = abs(scores[0]) if len(scores) == 1 else scores[-1] - scores[-2]
    return bool(margin > 1e-9 * answer.sizes[row])


def raw(error: Exception, names: Any) -> str:
    """Why an exception is no refusal: another type, from elsewhere, or says too little."""
    if not isinstance(error, ValueError | TypeError):
        return "another type"
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    if not last.filename.startswith(HOMES) or not line.startswith("raise"):
        return "from elsewhere"
    said = str(error)
    if last.filename.startswith(HOMES[1]):
        return ""
    named = any(str(name) in said for name in names) or re.search(r"\d|'.+'|\".+\"|\by\b", said)
    return "" if len(said) >= 25 and named else "says too little"


# --------------------------------------------------------------------------- one table
def outcome(number: int, seed: int = SEED) -> Trial:
    """What becomes of one table."""
    rng = np.random.default_rng([seed, number])
    case, trial = case_of(rng), Trial()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        (_file_trial if case.is_file else _frame_trial)(trial, case, rng, Path(folder))
    return trial


def _estimator(case: Case) -> Any:
    if case.is_sieve:
        return (tamis.SieveRegressor if case.is_regression else tamis.SieveClassifier)(
            random_state=0
        )
    chosen = tamis.FTRLRegressor if case.is_regression else tamis.FTRLClassifier
    return chosen(1e-5, random_state=0)


def _frame_trial(trial: Trial, case: Case, rng, folder: Path) -> None:
    """A `Table` in a Pipeline, fitted to a frame."""
    if rng.random() < 0.02:
        return _alike(trial, case, rng)
    kinds = case.kinds or None
    model = make_pipeline(tamis.Table(kinds=kinds, **case.options), _estimator(case))
    container = case.container
    X = frame_of(rng, case.table, container)
    if X is None:
        container, X = "dict of lists", case.table
    trial.counts[f"fitted to {container}"] += 1
    try:
        model.fit(X, case.y)
    except Exception as error:
        return trial.refused(error, case.table, f"fit to {container}")

    def ask(table: dict, container: str) -> Any:
        actual = frame_of(rng, table, container)
        if actual is None:
            return None
        if container.startswith(("pandas", "array")) and list(table) != list(case.table):
            return None  # scikit-learn refuses other names, another order and another width
        try:
            return answer_of(model, model[0].transform(actual), actual)
        except Exception as error:
            return error

    _ask_all(trial, case, rng, ask, [container, *FRAMES], linear_or_none(trial, model, case.table))


def _file_trial(trial: Trial, case: Case, rng, folder: Path) -> None:
    """A model trained from a file, asked by files and frames."""
    # Text files hold no NA that is a word; what is read from them takes such a word for a gap.
    is_text = case.container.startswith(("CSV", "TSV"))
    clean = not is_text and rng.random() < 0.5
    table = without_gap_words(case.table) if clean else case.table
    case = case._replace(table=table)
    target = next(name for name in ("y", "target", "label") if name not in table)
    place = int(rng.integers(len(table) + 1)) if rng.random() < 0.3 else len(table)
    whole = list(table.items())
    whole.insert(place, (target, case.y))
    container = case.container
    source = source_of(rng, dict(whole), container, folder)
    if source is None:
        return
    trial.counts[f"fitted to {container}"] += 1
    options = dict(case.options) | {"delimiter": source[1]}
    model = _estimator(case)
    try:
        rows = tamis.open_rows(source[0], target=target, kinds=case.kinds or None, **options)
        tamis.train(model, rows, passes=int(rng.integers(1, 4)))
    except Exception as error:
        return trial.refused(error, [*table, target, Path(folder).name], f"fit to {container}")
    reading = model.reading_

    def ask(table: dict, container: str) -> Any:
        try:
            if container in FRAMES:
                actual = frame_of(rng, table, container)
                return None if actual is None else answer_of(model, reading.rows(actual), actual)
            actual = source_of(rng, table, container, folder)
            if actual is None:
                return None
            rows = tamis.open_rows(actual[0], delimiter=actual[1], schema=reading, target=False)
            chunks = list(rows)
            return joined([answer_of(model, chunk.X, chunk.X) for chunk in chunks])
        except Exception as error:
            return error

    # An array is not a table to such a model: its columns are those of features.
    others = [container, *_some(rng, FILES, 3), *(one for one in FRAMES if one != "array")]
    if not is_text and not clean:
        others = [one for one in others if not one.startswith(("CSV", "TSV"))]
    both = linear_or_none(trial, model, table)
    _ask_all(trial, case, rng, ask, others, both, without_gap_words if clean else None)


def _some(rng, pool: list, count: int) -> list:
    return [pool[k] for k in rng.choice(len(pool), min(count, len(pool)), replace=False)]


def joined(answers: list[Answer]) -> Answer:
    """Answers to chunks as one."""
    return Answer(
        np.concatenate([one.scores for one in answers]),
        [label for one in answers for label in one.predictions],
        np.concatenate([one.sizes for one in answers]),
    )


def answer_of(model: Any, rows: Any, X: Any) -> Answer:
    """What a model says of X, whose columns are rows."""
    last = model[-1] if hasattr(model, "steps") else model
    predictions = model.predict(X)
    scores = model.decision_function(X) if hasattr(model, "decision_function") else predictions
    scores = np.asarray(scores, dtype=float).reshape(len(predictions), -1)
    weights = np.abs(np.atleast_2d(last.coef_)).max(axis=0)
    sizes = abs(rows) @ weights + np.abs(last.intercept_).max() + 1e-12
    if hasattr(model, "predict_proba"):
        likely = model.predict_proba(X)
        scores = np.where(np.isfinite(likely).all(), scores, np.nan)
    return Answer(scores, predictions.tolist(), np.asarray(sizes))


def linear_or_none(trial: Trial, model: Any, names: Any) -> tuple[Any, LinearModel | None]:
    """The model, and what its exports start from, where it has any."""
    try:
        return model, extract_linear(model)
    except Exception as error:
        trial.refused(error, names, "export")
        return model, None


def _ask_all(trial: Trial, case: Case, rng, ask, containers: list[str], both, cleaned=None) -> None:
    """Ask for the table and changed ones, in some containers; compare, and export."""
    known: Answer | None = None
    for container in [containers[0], *_some(rng, containers[1:], 3)]:
        answer = _checked(trial, ask(case.table, container), case.table, container)
        if isinstance(answer, Answer) and known is not None:
            trial.same(known, answer, f"{container} for {containers[0]}")
        elif isinstance(answer, Answer):
            known = answer
        elif answer is not None:
            trial.say(DIFFERENCE, f"{container} refuses the rows of the fit: {answer!r:.300}")
    if known is None:
        return
    last, model, linear = (case.table, known), *both
    levels = {c.name for c in layout_of(model).features if c.role in (CATEGORY, TEXT)}
    for _ in range(CHANGED):
        change = change_of(rng, case.table, levels)
        table, rows = change.table, change.rows
        if not table:
            continue
        if cleaned is not None:
            table = cleaned(table)
        first, refusals = None, []
        is_text = rng.random() < 0.4
        if rows is None:  # text and frames may differ in what an odd value is: True, b"bytes"
            group = [one for one in containers if one.startswith(("CSV", "TSV")) == is_text]
        for container in _some(rng, containers if rows is not None else group or containers, 2):
            answer = _checked(trial, ask(table, container), table, f"{change.name}, {container}")
            if answer is not None:
                kind = "refused" if isinstance(answer, Exception) else "answered"
                trial.counts[f"{change.name}: {kind}"] += 1
            if isinstance(answer, Exception):
                refusals.append(f"{container}: {answer!r:.200}")
            elif answer is not None:
                said = f"{change.name}, {container}"
                if rows is not None:
                    trial.same(known.of(rows), answer, said)
                elif first is not None:
                    trial.same(first, answer, said)
                first = answer
        if refusals and (first is not None or rows is not None):
            trial.say(DIFFERENCE, f"{change.name}: refused by {'; '.join(refusals)}")
        if first is not None and set(case.table) <= set(table):
            last = table, first
    if linear is not None:
        _exports(trial, rng, model, linear, *last)


def layout_of(model: Any) -> Layout:
    """How a model reads a table."""
    return Layout.from_dict(
        model[0].layout_ if hasattr(model, "steps") else model.reading_["layout"]
    )


def _checked(trial: Trial, answer: Any, table: dict, where: str) -> Any:
    """An answer that is finite, or the refusal."""
    if isinstance(answer, Exception):
        trial.refused(answer, table, where)
    elif answer is not None:
        trial.counts["predicted"] += 1
        numbers = [one for one in answer.predictions if isinstance(one, float)]
        if not np.isfinite(answer.scores).all() or not np.isfinite(numbers).all():
            trial.say(NON_FINITE, where)
    return answer


def _alike(trial: Trial, case: Case, rng) -> None:
    """Columns of one name are refused, by their name."""
    name, values = next(iter(case.table.items()))
    frames = {
        "dict of lists": {1: values, "1": values},
        "list of dicts": [{1: value, "1": value} for value in values],
        "pandas": pd.DataFrame([[value, value] for value in values], columns=[name, name]),
    }
    for container, frame in frames.items():
        trial.counts[f"fitted to {container}"] += 1
        shown = name if container == "pandas" else "1"
        for use in (tamis.Table(**case.options), make_pipeline(tamis.Table(), _estimator(case))):
            try:
                use.fit(frame, case.y)
            except Exception as error:
                trial.refused(error, [shown], f"two columns of one name in {container}")
                if repr(shown)[:50] not in str(error):
                    trial.say(RAW, f"{shown!r} is not named: {error!r}")
            else:
                trial.say(DIFFERENCE, f"two columns are called {shown!r} in {container}")


# --------------------------------------------------------------------------- exports
def _exports(trial: Trial, rng, model, linear: LinearModel, table: dict, answer: Answer) -> None:
    """Compare all exports with the answer to a table."""
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    layout = layout_of(model)
    for form, ask in EXPORTS.items():
        if rng.random() > SHARES.get(form, 1.0) or (form == "live" and not can_live(model)):
            continue
        try:
            asked = ask(model, linear, layout, records)
        except Exception as error:
            trial.refused(error, [*table, "model"], form)
            trial.counts[f"{form}: refused"] += 1
            if not _may_refuse(form, linear, records, error):
                trial.say(DIFFERENCE, f"{form} refuses: {error!r:.300}")
            continue
        scores, predictions, skipped = asked
        kept = [k for k in range(len(records)) if k not in skipped]
        trial.counts[f"{form}: rows"] += len(kept)
        trial.counts[f"{form}: rows that it cannot hold"] += len(skipped)
        trial.counts[form] += 1
        if kept:
            actual = np.asarray(scores, dtype=float).reshape(len(records), -1)[kept]
            said = [predictions[k] for k in kept] if predictions is not None else None
            trial.close(answer.of(kept), actual, said, form)


def _may_refuse(form: str, linear: LinearModel, records: list, error: Exception) -> bool:
    """Whether the docs say that a form refuses such a model."""
    if form == "scorecard":
        return linear.outputs != 1
    if form in ("SQLite", "DuckDB"):
        alike = len({_small(name) for name in linear.table}) < len(linear.table)
        nul = any("\0" in name for name in linear.table)
        return alike or nul or bool(linear.fields.texts) or linear.fields.is_hashed
    if form == "ONNX":
        blank = any(f.words and "" in f.words for f in linear.fields.listed)
        return linear.fields.is_hashed or not len(linear.columns) or blank
    return False


def _small(name: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in name)


def by_python(model, linear, layout, records):
    """Scores and predictions of an exported file."""
    alone: dict = {}
    exec(export_bytes(model, "python"), alone)
    return [alone["score"](r) for r in records], [alone["predict"](r) for r in records], set()


def by_json(model, linear, layout, records):
    """Scores by the document, as a program of one's own makes them."""
    told = json.loads(export_bytes(model, "json"))
    weights = {one["column"]: np.array(one["weights"]) for one in told["features"]}
    reading = told["reading"]
    gaps = GAP_WORDS if reading.get("format") in ("csv", "tsv") else ()
    scores, skipped = [], set()
    for row, record in enumerate(records):
        score = np.array(told["intercepts"], dtype=float)
        for field in reading["fields"]:
            if field["hashed"] or (field["text"] and field["text"]["hashing"]):
                skipped.add(row)  # the Python file does the same
                continue
            for column, value in _added(field, record[field["name"]], gaps):
                score = score + value * weights.get(column, 0.0)
        scores.append(score)
    return scores, None, skipped


def _added(field: dict, value: Any, gaps) -> list:
    """Columns of one field of the document, and their values."""
    if is_gap(value, gaps):
        return [(field["gap"], 1.0)]
    if field["number"] is not None:
        return [(field["number"], (_number(field, value) - field["centre"]) / field["spread"])]
    if field["date"]:
        return _parts(field["date"], word_of(value))
    if field["text"]:
        return _tokens(field["text"], word_of(value))
    return [(field["words"].get(word_of(value), field["rest"]), 1.0)]


def _number(field: dict, value: Any) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        return value / np.timedelta64(1, "s")
    if isinstance(value, str) and field["way"] == "flags":
        return {"true": 1.0, "false": 0.0}.get(value.strip().lower()) or float(
            {"true": "1", "false": "0"}.get(value.strip().lower(), value)
        )
    if isinstance(value, str) and field["way"] == "commas":
        return float(value.replace(".", "").replace(",", "."))
    return float(value)


def _parts(facts: dict, word: str) -> list:
    when = read_column_date(word, facts["written"])
    span, names = facts["last"] - facts["first"], facts["parts"]
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    return [
        (names.get("trend", -1), (when.seconds - facts["first"]) / span if span > 0 else 0.0),
        (names.get(f"month={when.month}", -1), 1.0),
        (names.get(f"weekday={days[when.weekday]}", -1), 1.0),
        (names.get(f"hour={when.hour}", -1), 1.0),
    ]


def _tokens(facts: dict, text: str) -> list:
    words, sizes = re.findall(facts["pattern"], text.lower()), range(1, facts["ngrams"][1] + 1)
    runs = [" ".join(words[k : k + n]) for n in sizes for k in range(len(words) - n + 1)]
    counts = Counter(facts["words"][run] for run in runs if run in facts["words"])
    factors = facts["factors"] or {}
    values = {c: (1.0 + math.log(n)) * factors.get(str(c), 1.0) for c, n in counts.items()}
    length = math.sqrt(sum(value * value for value in values.values())) or 1.0
    return [(column, value / length) for column, value in values.items()]


def by_scorecard(model, linear, layout, records):
    """The card is written, and says the scores of rows up to the rounding that it tells."""
    reader = model[0].transform if hasattr(model, "steps") else model.reading_.rows
    columns = {name: [record[name] for record in records] for name in records[0]}
    X = reader(columns)
    export_bytes(model, "scorecard", X=columns if hasattr(model, "steps") else X)
    card, units = choose_scorecard(linear, 10, X), display_columns(linear)
    raw_values = np.asarray(X[:, linear.columns].todense()) * units.spreads + units.centres
    actual = (raw_values @ (card.points / card.units) - card.threshold) / card.scale
    scores = X[:, linear.columns] @ linear.weights[:, 0] + linear.intercepts[0]
    away, most = np.abs(actual - scores), card.error.get("largest", card.error["bound"])
    sizes = np.abs(raw_values) @ np.abs(card.points / card.units) + abs(card.threshold)
    good = away <= most * (1 + 1e-9) + 1e-9 * (sizes / card.scale + np.abs(scores) + 1e-3)
    if len(records) > 1 and not good.all():
        return np.where(good, scores, np.nan), None, set()
    return scores, None, set()


def can_live(model: Any) -> bool:
    """Whether a model is one that goes into service: online, and trained from a file."""
    return isinstance(model, tamis.FTRLClassifier | tamis.FTRLRegressor)


def by_live(model, linear, layout, records):
    """Scores and predictions of a model in service."""
    service = tamis.live(model)
    scores = [service.score(record) for record in records]
    return scores, [service.predict(record) for record in records], set()


def by_sqlite(model, linear, layout, records):
    """Scores and predictions of the query in SQLite."""
    base = sqlite3.connect(":memory:")
    try:
        return _by_query(base, "sqlite", model, linear, layout, records)
    finally:
        base.close()


def by_duckdb(model, linear, layout, records):
    """Scores and predictions of the query in DuckDB."""
    return _by_query(_duckdb(), "duckdb", model, linear, layout, _with_gaps(records, linear))


def _with_gaps(records: list, linear: LinearModel) -> list:
    """The records with None for words that are gaps to the model."""
    words = linear.fields.gaps
    return [{k: None if is_gap(v, words) else v for k, v in row.items()} for row in records]


@cache
def _duckdb() -> Any:
    """A database of DuckDB, in memory; to open one takes longer than to ask it."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


def _by_query(base, dialect: str, model, linear, layout, records):
    query = export_bytes(model, "sql", dialect=dialect).decode()
    numbers = {c.name for c in layout.features if c.role == NUMBER}
    names = [name for name in records[0] if name in linear.table] or list(records[0])[:1]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    typed, again = quoted, "OR REPLACE " if dialect == "duckdb" else ""
    if dialect == "duckdb":
        kinds = ["DOUBLE" if name in numbers else "VARCHAR" for name in names]
        typed = [f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True)]
    base.execute(f'CREATE {again}TABLE "rows" ({", ".join(typed)})')
    values = [[_stored(r[name], name in numbers) for name in names] for r in records]
    base.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * len(names))})', values)
    made = base.execute(query)
    told, rows = [column[0] for column in made.description], made.fetchall()
    outputs = linear.outputs
    scores = [row[:outputs] for row in rows]
    at = [k for k, name in enumerate(told) if name.endswith("_prediction") and name not in names]
    skipped = set()
    for k, row in enumerate(scores):
        if None in row and not _is_plain(records[k], linear, layout):
            skipped.add(k)
    scores = [[np.nan if one is None else one for one in row] for row in scores]
    return scores, [row[at[0]] for row in rows] if at else None, skipped


def _is_plain(record: dict, linear: LinearModel, layout) -> bool:
    """Whether SQL may not say NULL of a record: no blank category, no date of another zone."""
    for column in layout.features:
        value = record[column.name]
        if is_gap(value, linear.fields.gaps):
            continue
        if column.role == CATEGORY and word_of(value) == "":
            return False
        if column.role == DATE and not PLAIN_DATE.fullmatch(word_of(value)):
            return False
    return True


def _stored(value: Any, is_number: bool) -> Any:
    """A value as a database has it."""
    if is_gap(value):
        return None
    if not is_number:
        return word_of(value)
    if isinstance(value, str):
        small = value.strip().lower()
        return {"true": 1, "false": 0}.get(small) if small in ("true", "false") else _plain(value)
    if isinstance(value, timedelta | np.timedelta64):
        return _number({}, value)
    return int(value) if isinstance(value, bool) else float(value)


def _plain(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:  # a word that is a gap
        return value


def by_onnx(model, linear, layout, records):
    """Scores and predictions of the graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(export_bytes(model, "onnx"), options)
    records = _with_gaps(records, linear)
    roles, facts = {c.name: c.role for c in layout.features}, {c.name: c for c in layout.features}
    asked, skipped = {}, set()
    for given in session.get_inputs():
        column = [record[given.name] for record in records]
        if roles[given.name] == DATE:
            actual = []
            for k, value in enumerate(column):
                seconds = _clock(value, facts[given.name].facts["written"])
                actual.append(np.nan if seconds is None else seconds)
                if seconds is None:
                    skipped.add(k)
            asked[given.name] = np.array(actual, dtype=float)[:, None]
        elif roles[given.name] == NUMBER:
            numbers = [_stored(value, True) for value in column]
            asked[given.name] = np.array(
                [np.nan if value is None else value for value in numbers], dtype=float
            )[:, None]
        elif roles[given.name] == CATEGORY:
            words = ["" if is_gap(value) else word_of(value) for value in column]
            skipped |= {k for k, v in enumerate(column) if not is_gap(v) and words[k] == ""}
            skipped |= {k for k, word in enumerate(words) if "\0" in word}
            words = [word.replace("\0", "") for word in words]
            asked[given.name] = np.array(words, dtype=object)[:, None]
        else:
            tokens = [[] if is_gap(v) else re.findall(r"\w\w+", word_of(v).lower()) for v in column]
            width = max(1, *map(len, tokens)) if tokens else 1
            asked[given.name] = np.array(
                [row + [""] * (width - len(row)) for row in tokens], dtype=object
            )
    names = [one.name for one in session.get_outputs()]
    actual = dict(zip(names, session.run(None, asked), strict=True))
    predictions = actual["predictions"].ravel().tolist() if "predictions" in actual else None
    return actual["scores"], predictions, skipped


def _clock(value: Any, way: str) -> float | None:
    """Seconds since 1970 on the clock; nan for a gap, None where a number cannot say the date."""
    if is_gap(value):
        return math.nan
    word = word_of(value)
    when = read_column_date(word, way)
    if when is None or when.clock >= 86400.0 or (when.seconds - when.clock) % 86400 != 0:
        return None
    return when.seconds


EXPORTS = {
    "Python": by_python,
    "live": by_live,
    "JSON": by_json,
    "scorecard": by_scorecard,
    "SQLite": by_sqlite,
    "DuckDB": by_duckdb,
    "ONNX": by_onnx,
}
SHARES = {"scorecard": 0.05, "DuckDB": 0.2}  # of the tables that dear forms are compared on


# --------------------------------------------------------------------------- in a process
def work(seed: int, first: int, stop: int) -> None:
    """Try tables and print what became of each."""
    outcome(0, seed)
    print("ready", flush=True)
    for number in range(first, stop):
        try:
            trial = outcome(number, seed)
        except Exception:
            trial = Trial()
            trial.say("trial", traceback.format_exc()[-400:])
        print(number, json.dumps([trial.counts, trial.wrong]), flush=True)
