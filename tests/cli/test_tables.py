"""Tables of every format and content, by the command line: one table gives one model."""

import ast
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.commands import here, tamis

from tamis import data, load
from tamis.cli.options import as_option
from tamis.system.spelling import format_option, use_spelling

pytestmark = pytest.mark.quick

N = 120
RANDOM = np.random.default_rng(0)
BASE = {"age": RANDOM.integers(20, 60, N), "size": RANDOM.normal(size=N).round(3)}
CITY = np.array(["Bonn", "Köln", "Ulm"])[RANDOM.integers(0, 3, N)]
CLASS = np.where(BASE["age"] + 10 * BASE["size"] > 40, 1, 0)
DAYS = pd.date_range("2024-01-01 06:30", periods=N, freq="31h")
GAPS = np.where(np.arange(N) % 7 == 3, None, CITY)
TABLES = {
    "numbers": {},
    "words": {"city": CITY},
    "dates": {"when": DAYS},
    "nanoseconds": {"when": DAYS + pd.to_timedelta(1, "ns")},
    "booleans": {"member": BASE["age"] % 3 == 0},
    "gaps": {"city": GAPS, "height": np.where(np.arange(N) % 5 == 0, np.nan, 1.5 * BASE["age"])},
    "text target": {"city": CITY, "y": np.where(CLASS == 1, "good", "bad")},
    "empty column": {"nothing": np.full(N, np.nan)},
    "text": {"notes": [f"it is {word} in {word} today {k % 9}{k}" for k, word in enumerate(CITY)]},
}
WIDTHS = {
    "numbers": 2,
    "words": 5,
    "dates": 2 + 1 + 6 + 7 + 24,
    "nanoseconds": 2 + 1 + 6 + 7 + 24,
    "booleans": 3,
    "gaps": 6,
    "text target": 5,
    "empty column": 2,
    "text": 2 + 7,
}
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "arrow")


def make_frame(table):
    frame = pd.DataFrame({**BASE, **TABLES[table]})
    columns = [name for name in frame if name != "y"]
    return frame.assign(y=TABLES[table].get("y", CLASS))[[*columns, "y"]]


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".arrow":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def fit_file(table, suffix, folder, capsys):
    """Check, fit and predict by the command line; return the model, notes and predictions."""
    path = write(make_frame(table), folder / f"a.{suffix}")
    options = ["--missing", "zero"] if table == "gaps" else []
    result = here("check", path, "--json", *options, capsys=capsys)
    assert result.code == 0, result.err
    audit = json.loads(result.out)
    assert audit["rows"] == N
    assert audit["features"] == WIDTHS[table]
    out = folder / f"{suffix}.tamis"
    result = here("fit", path, "--method", "ftrl", "--out", out, *options, capsys=capsys)
    assert result.code == 0, result.err
    predicted = here("predict", out, path, capsys=capsys)
    assert predicted.code == 0, predicted.err
    assert len(predicted.out.splitlines()) == N
    return load(out), audit["notes"], predicted.out


@pytest.mark.parametrize("table", TABLES)
def test_one_table_in_every_format(table, tmp_path, capsys):
    expected, notes, predicted = fit_file(table, "csv", tmp_path, capsys)
    for suffix in FORMATS[1:]:
        model, other_notes, predictions = fit_file(table, suffix, tmp_path, capsys)
        assert np.array_equal(model.coef_, expected.coef_), suffix
        assert model.reading_["layout"] == expected.reading_["layout"], suffix
        assert other_notes == notes, suffix
        assert predictions == predicted, suffix


def test_one_model_reads_every_format(tmp_path, capsys):
    frame = make_frame("words").assign(when=DAYS, member=BASE["age"] % 3 == 0)
    paths = [write(frame, tmp_path / f"a.{suffix}") for suffix in FORMATS]
    for path in (paths[0], paths[3]):
        options = ["--method", "ftrl", "--target", "y", "--out", tmp_path / "m"]
        assert here("fit", path, *options, capsys=capsys).code == 0
        predictions = {here("predict", tmp_path / "m", other, capsys=capsys).out for other in paths}
        assert len(predictions) == 1
        assert len(predictions.pop().splitlines()) == N


@pytest.mark.parametrize("table", ["words", "nanoseconds", "empty column"])
def test_parquet_in_a_process_of_its_own(table, tmp_path):
    """In a process that has not loaded pandas."""
    path = write(make_frame(table), tmp_path / "a.parquet")
    result = tamis("check", path, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["features"] == WIDTHS[table]


@pytest.mark.parametrize("method", ["sieve", "ftrl"])
def test_a_target_of_many_words_is_refused_in_words(method, tmp_path, capsys):
    lines = "".join(f"{k % 17};{3 * (k % 17)},{k:02d}\n" for k in range(90))
    (tmp_path / "a.csv").write_text(f"x;price\n{lines}")
    result = here("fit", tmp_path / "a.csv", "--method", method, capsys=capsys)
    assert result.code == 1
    assert "90 different" in result.err
    assert "--decimal ," in result.err
    more = ["--method", method, "--decimal", ","]
    assert here("fit", tmp_path / "a.csv", *more, capsys=capsys).code == 0


# --------------------------------------------------------------------------- options in messages
@pytest.mark.parametrize(
    ("parameter", "keyword", "argument"),
    [
        (("missing", "zero"), "missing='zero'", "--missing zero"),
        (("kinds", {"the city": "text"}), "kinds={'the city': 'text'}", "--as 'the city=text'"),
        (("categorical", ["b"]), "categorical=['b']", "--categorical b"),
        (("zero_based", True), "zero_based=True", "--zero-based yes"),
        (("hash_bits", 20), "hash_bits=20", "--hash-bits 20"),
        (("format", ...), "format=...", "--format ..."),
        (("stream", True), "stream=True", "--stream"),
        (("target",), "target", "--target"),
    ],
)
def test_options_as_keywords_and_as_arguments(parameter, keyword, argument):
    assert format_option(*parameter) == keyword
    with use_spelling(as_option):
        assert format_option(*parameter) == argument
    assert format_option(*parameter) == keyword


def message_texts():
    """Yield the texts in the code of all readers, without the fields of f-strings."""
    for path in Path(data.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                yield (
                    path,
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "{}"
                        for part in node.values
                    ),
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def test_no_message_of_the_readers_names_keywords_of_python():
    """Except docstrings, and messages about frames, which the command line never shows."""
    n_messages = 0
    for path, text in message_texts():
        if "Parameters\n" in text or not re.search(r"\b([Pp]ass|Use|Check) ", text):
            continue
        n_messages += 1
        assert not re.search(r"(?<![-\w])[a-z_]+=", text), (path, text)
    assert n_messages > 20


def test_messages_name_options(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("age,city,y\n" + "1,a,0\n,b,1\n2,,1\n" * 30)
    result = here("fit", tmp_path / "a.csv", capsys=capsys)
    assert result.code == 1
    assert re.search(r"age \(30 rows, .* line 3\), city \(30 rows, .* line 4\)", result.err)
    assert "--missing zero" in result.err
    assert "--missing indicator" in result.err
    assert "missing=" not in result.err


def test_gaps_in_the_target_are_about_the_target(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("age,city,y\n" + "1,a,0\n3,b,\n2,a,1\n" * 10)
    result = here("fit", tmp_path / "a.csv", capsys=capsys)
    assert result.code == 1
    assert re.search("target 'y' .* 10 rows, .* line 3", result.err)
    assert "--on-bad skip" in result.err
    assert "--missing" not in result.err


def test_kinds_on_the_command_line(tmp_path, capsys):
    frame = pd.read_csv(io.StringIO("zip,n,y\n" + "10,5,0\n20,6,1\n30,7,0\n" * 40))
    path = write(frame, tmp_path / "a.csv")
    options = ["--as", "zip=category,n=skip", "--method", "ftrl", "--out", tmp_path / "m"]
    assert here("fit", path, *options, capsys=capsys).code == 0
    inspected = here("inspect", tmp_path / "m", "--csv", capsys=capsys).out
    assert "zip=20" in inspected
    result = here("fit", path, "--as", "zip=zipcode", capsys=capsys)
    assert result.code == 2
    assert "number, category, date, text, skip" in result.err
    result = here("fit", path, "--as", "nobody=text", capsys=capsys)
    assert result.code == 1
    assert "the columns are 'zip', 'n', 'y'" in result.err


@pytest.mark.parametrize("target", ["one", "3"])
@pytest.mark.parametrize("method", ["sieve", "ftrl"])
def test_a_target_that_never_changes(target, method, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("age,y\n" + f"1,{target}\n2,{target}\n" * 30)
    result = here("fit", tmp_path / "a.csv", "--method", method, capsys=capsys)
    assert result.code == 1
    assert "one class" in result.err or "never changes" in result.err


# --------------------------------------------------------------------------- summaries of data
def test_columns_one_by_one(tmp_path, capsys):
    frame = make_frame("gaps").assign(when=DAYS, notes=TABLES["text"]["notes"], same=1)
    path = write(frame, tmp_path / "a.csv")
    options = ["--target", "y", "--missing", "zero"]
    columns = json.loads(here("check", path, "--json", *options, capsys=capsys).out)["columns"]
    kinds = {c["name"]: c["kind"] for c in columns}
    assert kinds == {
        "age": "number",
        "size": "number",
        "city": "category",
        "height": "number",
        "y": "target",
        "when": "date",
        "notes": "text",
        "same": "constant",
    }
    by_name = {c["name"]: c for c in columns}
    assert by_name["city"]["gaps"] == sum(v is None for v in GAPS)
    assert by_name["size"]["spread"] == pytest.approx(BASE["size"].std())
    assert sum(by_name["size"]["histogram"]) == N
    assert by_name["when"]["span"] == ["2024-01-01", str(DAYS[-1].date())]
    assert by_name["city"]["top"][0][1] == max(
        sum(v == city for v in GAPS) for city in ("Bonn", "Köln", "Ulm")
    )
    printed = here("check", path, *options, capsys=capsys).out
    for text in ("Bonn", "2024-01-01 to", "words a row", "spread", "█", "constant"):
        assert text in printed


def test_gaps_are_counted_by_column_and_not_listed(tmp_path, capsys):
    path = write(make_frame("gaps"), tmp_path / "a.csv")
    result = here("check", path, capsys=capsys)
    assert result.code == 0
    assert re.search(r"left out: city \(17 rows, .* line 5\), height \(24 rows", result.err)
    assert "is missing" not in result.err


def test_gaps_in_the_target_are_counted_and_not_listed(tmp_path, capsys):
    frame = make_frame("text target")
    frame.loc[3:9, "y"] = None
    result = here("check", write(frame, tmp_path / "a.csv"), capsys=capsys)
    assert re.search(r"left out: y \(7 rows, .* line 5\)", result.err)
    assert "every row needs it" not in result.err
    result = here("check", write(frame.assign(y="same"), tmp_path / "b.csv"), capsys=capsys)
    assert "the target is same in all rows" in result.err


def test_a_class_that_is_called_none_is_explained(tmp_path, capsys):
    frame = make_frame("text target")
    frame["y"] = np.where(np.arange(N) % 2, "none", "some")
    result = here("fit", write(frame, tmp_path / "a.csv"), "--target", "y", capsys=capsys)
    assert result.code == 1
    assert "null and None mean a gap" in result.err


def test_decimal_commas_are_numbers(tmp_path, capsys):
    make_frame("numbers").to_csv(tmp_path / "a.csv", index=False, sep=";", decimal=",")
    options = ["--decimal", ",", "--json"]
    result = here("check", tmp_path / "a.csv", *options, capsys=capsys)
    (size,) = [c for c in json.loads(result.out)["columns"] if c["name"] == "size"]
    assert size["spread"] == pytest.approx(BASE["size"].std())
    assert sum(size["histogram"]) == N


@pytest.mark.parametrize("method", ["sieve", "ftrl", "arow"])
def test_a_table_is_opened_twice(method, tmp_path, monkeypatch, capsys):
    """Once for its profile and once for training; delimiter, checks and page open it no more."""
    path, names = write(make_frame("words"), tmp_path / "a.csv"), []

    def counting_open(name, *arguments, real_open=open, **options):
        names.append(name)
        return real_open(name, *arguments, **options)

    monkeypatch.setattr("builtins.open", counting_open)
    outputs = ["--out", tmp_path / "m.tamis", "--report", tmp_path / "p.html"]
    result = here("fit", path, "--method", method, *outputs, capsys=capsys)
    assert result.code == 0, result.err
    assert names.count(str(path)) == 2


def test_rows_that_were_skipped_are_not_checked(tmp_path, capsys):
    """A target that is missing is no class."""
    frame = make_frame("words")
    frame["y"] = np.where(np.arange(N) % 20 == 3, "", np.where(frame["y"] > 0, "yes", "no"))
    path = write(frame, tmp_path / "a.csv")
    skip = ["--on-bad", "skip", "--json"]
    for test in ([], ["--test", path]):
        result = here("fit", path, *skip, *test, capsys=capsys)
        assert "class ''" not in result.out
        assert json.loads(result.out)["classes"] == ["no", "yes"]


def test_checks_read_the_training_rows(tmp_path, capsys):
    """Without test rows the checks find a leak in the training rows, with test rows a shift."""
    frame = make_frame("numbers")
    leak = frame.assign(told=2.0 * frame["y"] + 0.01 * RANDOM.normal(size=N))
    path = write(leak[["told", "age", "size", "y"]], tmp_path / "a.csv")
    result = here("fit", path, "--json", capsys=capsys)
    states = {c["code"]: c["state"] for c in json.loads(result.out)["checks"]}
    assert states["TAM010"] == "found"
    assert [code for code, state in states.items() if state == "not checked"] == [
        "TAM006",
        "TAM011",
    ]
    path = write(frame, tmp_path / "b.csv")
    test = write(frame.assign(age=frame["age"] + 30), tmp_path / "c.csv")
    result = here("fit", path, "--test", test, "--json", capsys=capsys)
    checks = {c["code"]: c for c in json.loads(result.out)["checks"]}
    assert checks["TAM011"]["state"] == "found"
    assert "age" in checks["TAM011"]["said"]


def test_compare_notes_what_was_decided_about_columns(tmp_path, capsys):
    path = write(make_frame("empty column"), tmp_path / "a.csv")
    result = here("compare", path, "--methods", "ftrl", "--runs", 2, capsys=capsys)
    assert result.code == 0, result.err
    assert re.search("left out, .*empty.*: nothing", result.err)


def test_equal_rows_are_reported(tmp_path, capsys):
    frame = make_frame("numbers")
    path = write(pd.concat([frame, frame[:30]]), tmp_path / "a.csv")
    assert "30 of 150 rows equal an earlier one" in here("check", path, capsys=capsys).err
    path = write(frame, tmp_path / "b.csv")
    assert "equal" not in here("check", path, capsys=capsys).err


def test_a_column_of_large_numbers_harms_no_method(tmp_path, capsys):
    """FTRL fails with a column of 1e15 unless columns are scaled; a note says that they are."""
    frame = make_frame("numbers").assign(account=RANDOM.integers(10**14, 10**15, N))
    path = write(frame[["account", "age", "size", "y"]], tmp_path / "a.csv")
    errors = {}
    for units in ("spread", "none"):
        options = ["--method", "ftrl", "--units", units, "--test", path, "--json"]
        result = here("fit", path, *options, capsys=capsys)
        assert result.code == 0, result.err
        errors[units] = json.loads(result.out)["error"]
        assert ("in units of their column's spread" in result.err) == (units == "spread")
    assert errors["spread"] < 0.2 < errors["none"]


def test_a_file_of_a_header_has_no_rows(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,b,y\n")
    assert "no rows" in here("fit", tmp_path / "a.csv", capsys=capsys).err


def test_the_page_shows_the_columns(tmp_path, capsys):
    frame = make_frame("words").rename(columns={"city": "<b>city"})
    path = write(frame, tmp_path / "a.csv")
    options = ["--method", "ftrl", "--report", tmp_path / "page.html"]
    assert here("fit", path, *options, capsys=capsys).code == 0
    page = (tmp_path / "page.html").read_text()
    assert "The columns of the table." in page
    assert "category" in page
    assert "&lt;b&gt;city" in page
    assert "<b>city" not in page


# ------------------------------------------------------------------------------------ bad lines
def test_bad_lines_keep_their_place_in_predictions(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,y\n" + "1,0\n2,1\n" * 30)
    assert here("fit", tmp_path / "a.csv", "--out", tmp_path / "m", capsys=capsys).code == 0
    (tmp_path / "b.csv").write_text("a\nx\n1\n2\nx\n" + "1\n" * 9 + "x\n" * 12)
    predict = ["predict", tmp_path / "m", tmp_path / "b.csv", "--chunk-rows", 2]
    skipped = here(*predict, "--on-bad", "skip", capsys=capsys)
    blank = here(*predict, "--on-bad", "blank", capsys=capsys)
    assert skipped.code == blank.code == 0
    assert skipped.out.splitlines() == ["0", "1", *"0" * 9]
    assert blank.out.splitlines() == ["", "0", "1", "", *"0" * 9, *[""] * 12]
    assert "14 bad lines" in skipped.err
    assert "--on-bad blank" in skipped.err
    assert "14 bad lines" in blank.err
    assert "--on-bad blank" not in blank.err
    for result in skipped, blank:
        assert all(f"b.csv, line {k}, column 1" in result.err for k in (2, 5, 15))
        assert "and 4 more" in result.err


def test_a_text_column_without_words_is_refused(tmp_path, capsys):
    lines = "".join(f"{'?!' * (k % 5)} . {'-' * k},{k % 2}\n" for k in range(60))
    (tmp_path / "a.csv").write_text(f"t,y\n{lines}")
    result = here("fit", tmp_path / "a.csv", "--as", "t=text", capsys=capsys)
    assert result.code == 1
    assert "t is text without words" in result.err
