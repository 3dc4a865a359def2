"""Names from data that attack a terminal or a spreadsheet: no command prints them unescaped."""

import ast
import csv
import io
import json
import os
import pickle
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
import scipy.sparse as sp
from cli.commands import here
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import tamis.cli
from tamis import FTRLClassifier, Record, load, open_rows, save
from tamis.data.rows import ReadError
from tamis.model_files import ModelFileError
from tamis.system.terminal import for_csv, for_json, for_line, for_terminal

INVISIBLE = ["\u115f", "\u3164", "\u2800", "\ufe0f", "\u034f", "\U000e0100"]
NAMES = [
    "\x1b[2J\x1b[31mred",
    "a\u202egnp.exe",
    "over\rwritten",
    "two\nlines",
    "bell\x07 \x9b0m \x7f",
    "zero\u200bwidth\u2060 \ufeff \u00ad",
    "[bold red]markup[/] :smile:",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "+1+cmd",
    "-2+3",
    "\t=1+1",
    'quo"ted, name',
    "fill\u3164er",
    "plain",
]
CLASSES = ["yes\x1b[31m\u202e", "=no\n"]


def unsafe_characters(text):
    """Return the characters of a text that must not reach a terminal."""
    return {
        c
        for c in text
        if c != "\n"
        and (
            unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or c in INVISIBLE
        )
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with such names of columns, classes and file, and a text."""
    folder = tmp_path_factory.mktemp("hostile")
    random = np.random.default_rng(0)
    table = {name: random.normal(size=120).tolist() for name in NAMES} | {
        "target": [CLASSES[k % 2] for k in range(120)]
    }
    parquet.write_table(arrow.table(table), folder / "\x1b[2J\u202e.parquet")
    (folder / "text.txt").write_text(
        "ship [bold]sea\u202e wave \x1b[31mred ship sea\n" * 3 + "\x1b[31mred wave ship\n"
    )
    return folder


@pytest.fixture(scope="module")
def data(folder):
    return next(folder.glob("*.parquet"))


@pytest.fixture(scope="module")
def model(folder, data):
    """A model file with such a name; the model keeps all columns."""
    from tamis import train

    path = folder / "m\x1b[0m"
    save(train(FTRLClassifier(alpha=1e-9, random_state=0), open_rows(data)), path)
    return path


def check(result, code=0):
    assert result.code == code, result.err
    assert not unsafe_characters(result.out), unsafe_characters(result.out)
    assert not unsafe_characters(result.err), unsafe_characters(result.err)
    return result


# --------------------------------------------------------------------------- commands
def test_fit_and_check(data, folder, capsys):
    result = check(
        here(
            "fit",
            data,
            "--method",
            "ftrl",
            "--out",
            folder / "\u202eout",
            "--set",
            "alpha=1e-9",
            capsys=capsys,
        )
    )
    for text in (
        r"\x1b[2J\x1b[31mred",
        r"a\u202egnp.exe",
        "[bold red]markup[/] :smile:",
        "yes\\x1b[31m\\u202e",
    ):
        assert text in result.out
    for options in ([], ["--json"]):
        check(here("check", data, *options, capsys=capsys))
    printed = json.loads(
        check(
            here("fit", data, "--method", "ftrl", "--json", "--set", "alpha=1e-9", capsys=capsys)
        ).out
    )
    assert set(NAMES) - {line["name"] for line in printed["top"]} <= set()
    assert set(printed["classes"]) == set(CLASSES)


def test_inspect(model, capsys):
    result = check(here("inspect", model, "--top", 50, capsys=capsys))
    assert "[bold red]markup[/] :smile:" in result.out
    assert {
        line["name"]
        for line in json.loads(check(here("inspect", model, "--json", capsys=capsys)).out)["top"]
    } == set(NAMES)


def test_csv_holds_no_formula(model, capsys):
    result = check(here("inspect", model, "--csv", capsys=capsys))
    lines = list(csv.DictReader(io.StringIO(result.out)))
    assert len(lines) == len(NAMES)
    assert [float(line["weight"]) for line in lines] == sorted(
        (float(line["weight"]) for line in lines), key=abs, reverse=True
    )
    assert {
        "'=cmd|' /C calc'!A0",
        "'@SUM(1+1)*cmd",
        "'+1+cmd",
        "'-2+3",
        'quo"ted, name',
        "two\\nlines",
    } <= {line["name"] for line in lines}
    for line in lines:
        assert not line["name"].lstrip().startswith(("=", "+", "-", "@"))
        assert not line["class"].startswith("=")
        assert int(line["column"]) >= 0


def test_predictions_stay_one_a_line_and_keep_what_a_line_can_hold(model, data, tmp_path, capsys):
    for options in ([], ["--proba"]):
        result = here("predict", model, data, *options, capsys=capsys)
        assert result.code == 0
        assert len(result.out.splitlines()) == 120 + len(options)
        assert unsafe_characters(result.out) <= {"\u202e", "\t"}
        assert not unsafe_characters(result.err)
        here("predict", model, data, *options, "-o", tmp_path / "out", capsys=capsys)
        assert (tmp_path / "out").read_text() == result.out


def test_predictions_on_a_terminal(model, data):
    reader, writer = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "tamis", "predict", model, data], stdout=writer, stderr=writer
    )
    os.close(writer)
    output = b""
    while True:
        try:
            chunk = os.read(reader, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        output += chunk
    os.close(reader)
    text = output.decode().replace("\r\n", "\n")
    assert child.wait() == 0, text
    assert "yes\\x1b[31m\\u202e" in text
    assert not unsafe_characters(text)


def test_compare(data, capsys, tmp_path):
    result = check(
        here(
            "compare",
            data,
            "--methods",
            "ftrl",
            "--runs",
            2,
            "--threads",
            1,
            "--report",
            tmp_path / "\x1b.html",
            capsys=capsys,
        )
    )
    assert r"page: " in result.out
    check(
        here(
            "compare",
            data,
            "--methods",
            "ftrl",
            "--runs",
            2,
            "--threads",
            1,
            "--json",
            capsys=capsys,
        )
    )
    page = (tmp_path / "\x1b.html").read_text()
    assert "\x1b" not in page
    check(here("compare", data, "--methods", "\x1b[2J", capsys=capsys), 2)


def test_names_of_models_in_a_record():
    row = {
        "pick": "given",
        "error": 0.1,
        "error_sd": 0.01,
        "kept": 0.02,
        "kept_sd": 0.001,
        "kappa": 0.9,
        "stability": 0.9,
        "seconds": 0.1,
    }
    record = Record(rows=[{"model": "\x1b[2J[bold]x\u202e", **row}])
    assert not unsafe_characters(record.table())
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120)
    console.print(record.table(rich=True))
    assert not unsafe_characters(console.file.getvalue())
    assert "[bold]x" in console.file.getvalue()


def test_associate(folder, capsys, tmp_path):
    words = ["ship", "[bold]sea\u202e", "\x1b[31mred", "wave\n"]
    X = sp.csr_array(np.random.default_rng(0).poisson(1.0, (40, 4)).astype(float))
    np.savez(
        tmp_path / "c.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        terms=np.array(words),
    )
    queries = [argument for word in words for argument in ("--query", word)]
    result = check(
        here(
            "associate",
            tmp_path / "c.npz",
            *queries,
            "--components",
            3,
            "--radius",
            5,
            capsys=capsys,
        )
    )
    assert "[bold]sea\\u202e" in result.out
    check(
        here(
            "associate",
            tmp_path / "c.npz",
            *queries,
            "--components",
            3,
            "--json",
            "--page",
            tmp_path / "p\u202e",
            capsys=capsys,
        )
    )
    check(here("associate", tmp_path / "c.npz", "--query", "\x1b[2J", capsys=capsys), 1)
    check(
        here("associate", folder / "text.txt", "--query", "ship", "--components", 2, capsys=capsys)
    )


# --------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    "command", ["fit", "check", "predict", "inspect", "compare", "associate", "\x1b[2J\u202e"]
)
def test_errors_of_every_command(command, tmp_path, capsys):
    path = tmp_path / "\x1b[31m\u202e.csv"
    path.write_bytes(b'"\x1b[2J",b,y\n\x1b[2J,\xe2\x80\xae,1\n\xff\x9b\n')
    options = {"predict": [path], "check": ["--on-bad", "error"]}.get(command, [])
    check(
        here(command, path, *options, capsys=capsys),
        2 if command in ("associate", "\x1b[2J\u202e") else 1,
    )
    check(here("fit", tmp_path / "none\x1b[2J", "--method", "ftrl", capsys=capsys), 1)
    check(here("fit", path, "--\x1b[2J", capsys=capsys), 2)


@pytest.mark.parametrize("suffix", ["svm", "csv", "tsv", "vw", "npz", "parquet", "arrow"])
def test_what_readers_say(suffix, tmp_path):
    """No message repeats a file unescaped, whether it is raised or noted for skipped lines."""
    path = tmp_path / f"\x1b[2J\u202e.{suffix}"
    for text in (
        b"\x1b[2J\xe2\x80\xae:\x07 1\n",
        b'"\x1b\n[2J",b,y\n\x1b,\xe2\x80\xae,1\n1,1,1\n',
        b"1 1:\x1b[2J\n1 \xe2\x80\xae:2\n1 1:1\n",
        b"1 | a:\x1b\n1 | a:1\n",
    ):
        path.write_bytes(text)
        for on_bad in ("error", "skip"):
            messages = []
            try:
                rows = open_rows(path, on_bad=on_bad)
                list(rows)
                messages = rows.bad.first
            except ReadError as error:
                messages = [str(error)]
            assert not unsafe_characters("".join(messages))


def test_other_errors_that_quote(tmp_path):
    path = tmp_path / "m\x1b[2J\u202e"
    path.write_bytes(b"no model")
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert not unsafe_characters(str(caught.value))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(OSError, match="cannot save") as caught:
        save(FTRLClassifier(), tmp_path / "none\x1b" / "m\u202e")
    assert not unsafe_characters(str(caught.value.strerror))


# --------------------------------------------------------------------------- the functions
@given(st.text())
def test_the_laws_of_safe_text(text):
    escaped = for_terminal(text)
    assert not unsafe_characters(escaped)
    assert "\n" not in escaped
    assert for_terminal(escaped) == escaped
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in for_line(text))
    coded = for_json(json.dumps({"a": text}, indent=1, ensure_ascii=False))
    assert not unsafe_characters(coded)
    assert json.loads(coded) == {"a": text}
    cell = for_csv(text)
    assert not cell.lstrip().startswith(("=", "@"))
    assert not unsafe_characters(cell)
    if cell.lstrip()[:1] in ("+", "-"):
        float(cell)


@pytest.mark.parametrize(
    "text",
    ["plain", "naïve café", "日本語", "Ωμέγα", "emoji 🎉", r"C:\new", "[a] {b} <c>", "a_b^c=d"],
)
def test_ordinary_names_stay(text):
    assert for_terminal(text) == for_line(text) == for_csv(text) == for_json(text) == text


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (1, 1),
        (-1.5, -1.5),
        ("-1", "-1"),
        ("+1e5", "+1e5"),
        ("-.5", "-.5"),
        ("-inf", "'-inf"),
        ("-1-1", "'-1-1"),
        (" =1", "' =1"),
        (None, None),
    ],
)
def test_numbers_stay_numbers_in_cells(value, cell):
    assert for_csv(value) == cell


def test_there_is_one_way_to_the_terminal():
    """Commands print by the functions of `messages`; the other calls are known and tested above."""
    calls = set()
    for path in Path(tamis.cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "console.print",
                "sys.stdout.write",
                "sys.stderr.write",
            ):
                calls.add((path.stem, ast.unparse(node.func)))
    assert calls == {
        ("messages", "print"),
        ("output", "print"),
        ("output", "console.print"),
        ("compare", "console.print"),
        ("export", "sys.stdout.write"),  # a file on standard output, in a form of its own
    }
