"""``tamis warm`` and ``tamis demo``, run in full."""

import json
import re

import numpy as np
import pytest
from cli.commands import here
from processes import run_process
from reporting.pages import Page

from tamis.cli.commands import demo
from tamis.cli.methods import METHODS, TASKS, has_task

LINES = "".join(f"{k % 2} {1 + k % 7}:{k + 1} {9 + k % 5}:0.5\n" for k in range(300))


WARM = """
import sys
from numba.core.registry import CPUDispatcher
from tamis.cli.main import main

compiled, real = [], CPUDispatcher.compile
CPUDispatcher.compile = lambda loop, a: (compiled.append(loop.py_func.__name__), real(loop, a))[1]
assert main(["warm", "--methods", "pa"]) == 0
print(len(compiled))
del compiled[:]
assert main(["fit", sys.argv[1], "--method", "pa", "--out", sys.argv[2]]) == 0
assert main(["predict", sys.argv[2], sys.argv[1], "--out", sys.argv[3]]) == 0
print("then", *compiled)
"""


def test_after_warming_up_nothing_is_compiled(tmp_path):
    """A fit and predictions of a warmed method compile no other loop and no other types."""
    (tmp_path / "a.svm").write_text(LINES)
    first, *_, last = run_process(WARM, *(tmp_path / name for name in ("a.svm", "m", "out"))).split(
        "\n"
    )[:-1]
    assert int(first) > 8
    assert last == "then"


def test_every_method_is_warmed_or_has_no_such_task(capsys, monkeypatch):
    """Only a task that a method does not have is left out; an error ends the command."""
    result = here("warm", capsys=capsys)
    assert result.code == 0
    count = sum(has_task(method, task) for method in METHODS for task in TASKS)
    assert len(result.err.splitlines()) == count > len(METHODS)
    from tamis.cli.commands import warm

    monkeypatch.setattr(warm, "train", lambda *args, **kwargs: 1 / 0)
    result = here("warm", "--methods", "ftrl", capsys=capsys)
    assert result.code == 1
    assert "ZeroDivisionError" in result.err
    result = here("warm", "--methods", "none", capsys=capsys)
    assert result.code == 2
    assert "'none' is not among sieve" in result.err


def test_the_demo(tmp_path, capsys):
    page = tmp_path / "demo.html"
    result = here("demo", "--threads", 1, "--report", page, capsys=capsys)
    assert result.code == 0, result.err
    assert re.match(r"3,000 rows .* 20,000 words, .* 1,000 .* 40 words", result.out)
    lines = result.out.splitlines()
    table = [line.split("│")[1].strip() for line in lines if "±" in line and "│" in line]
    assert table == list(demo.COMPARED)
    assert any(re.match(r"Error \d+\.\d % ± \d\.\d on 1,000 test rows", line) for line in lines)
    assert f"page: {page}" in lines
    sections = Page(page).check().sections()
    assert {"features", "methods", "data", "making"} <= set(sections)
    text = page.read_text(encoding="utf-8")
    assert "No rows were given" not in text
    explained = re.search(r"right, row \d+</td>.*?</tr>", text)[0]
    assert re.search(r"word \d+</bdi> [+−]\d", explained)  # by the names of the page


@pytest.mark.own_seeds
def test_the_demo_in_json(tmp_path, capsys, monkeypatch):
    """The same command on less data."""
    for name, value in (("N_ROWS", 800), ("N_WORDS", 2000), ("N_INFORMATIVE", 12)):
        monkeypatch.setattr(demo, name, value)
    options = ["--threads", 1, "--json", "--report", tmp_path / "demo.html"]
    printed = json.loads(here("demo", *options, capsys=capsys).out)
    errors = {row["model"]: row["error"] for row in printed["record"]["rows"]}
    assert set(errors) == set(demo.COMPARED)
    assert errors["sieve"] == min(errors.values()) < 0.3
    assert printed["fit"]["error"] < 0.3
    assert 4 <= printed["fit"]["planted"] <= printed["fit"]["kept"] <= 24
    assert np.isfinite([line["weight"] for line in printed["fit"]["top"]]).all()
    assert (tmp_path / "demo.html").exists()
