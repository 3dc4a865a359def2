"""The page that opens the benchmarks: figures out of the pages' tables, a picture, all verdicts."""

import json
import sys

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import index, jobs, peers, tried
from benchmarks.clock import ROOT

SPEED = """# Speed

## A pass by fit, 2 x 3

| one pass | ns | median |
| --- | ---: | ---: |
| tamis SGD | 2.00 | 2.10 |
| scikit-learn SGD, no penalty | 3.00 | 3.10 |

## Against the hand-written loop

| pass | tamis / hand-written |
| --- | ---: |
| SGD | 1.10 |
"""
FILES = """# Files

## Reading alone

| text | MB | tamis, MB/s | against | MB/s | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
| svmlight, 6 digits | 61 | 1,200 | scikit-learn | 40 | 30 |
| CSV, numbers alone | 61 | 300 | pandas, C reader | 600 | 0.5 |
"""
GOALS = [
    {"promise": "fast", "figure": "1.1", "verdict": "met"},
    {"promise": "small | light", "figure": "9", "verdict": "not met"},
    {"promise": "a fair trial", "figure": "8", "verdict": "not met", "check": True},
]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "speed.md").write_text(SPEED)
    (tmp_path / "files.md").write_text(FILES)
    known = {"speed": {"title": "Speed", "goals": GOALS}, "files": {"title": "Files", "goals": []}}
    (tmp_path / "goals.json").write_text(json.dumps(known))
    return tmp_path


def test_figures_are_found_by_caption_row_and_column(place):
    found = {one.name: one for one in jobs.collect(place)}
    assert found["A pass of SGD"].ratios == {"scikit-learn": 1.5}
    assert found["A pass of SGD"].tamis == 2.0
    # Of speeds more is better: who reads twice as fast takes half the time.
    assert found["Reading svmlight"].ratios == {"scikit-learn": 30.0}
    assert found["Reading CSV"].ratios == {"pandas": 0.5}
    # What no page holds is left out: no job of other pages, no peer without a figure.
    assert set(found) == {"A pass of SGD", "Reading svmlight", "Reading CSV"}
    assert len(json.loads((place / "jobs.json").read_text())) == 3


def test_a_cell_without_a_number_is_no_figure(place):
    (place / "speed.md").write_text(SPEED.replace("3.00", "not installed"))
    assert "A pass of SGD" not in {one.name for one in jobs.collect(place)}


def test_the_index_opens_with_the_picture_and_says_what_is_not_met(place, monkeypatch):
    monkeypatch.setitem(tried.TRIED, "speed", {"small": "less of it"})
    index.write(place)
    text = (place / "index.md").read_text()
    assert text.index("](jobs.png)") < text.index("## Floors") < text.index("## Goals")
    assert (place / "jobs.png").stat().st_size > 10_000
    assert "Reading CSV: pandas 0.50" in text  # for those who cannot see the picture
    assert "faster than tamis: reading csv." in text
    assert "1 of 2 goals are met" in text
    assert "a fair trial" not in text  # nobody promised it
    assert "`latency`" in text
    assert "| small \\| light | 9 | less of it |" in text
    assert "nan" not in text.split()


def test_what_was_tried_is_about_promises_that_pages_make():
    known = json.loads((ROOT / "docs" / "performance" / "goals.json").read_text())
    for part, words in tried.TRIED.items():
        promises = [goal["promise"] for goal in known[part]["goals"]]
        for begin in words:
            assert any(promise.startswith(begin) for promise in promises), (part, begin)


def test_a_part_that_fails_stops_no_other(monkeypatch, capsys, tmp_path):
    ran = []

    def run_part(part, quick):
        ran.append(part)
        if part == "latency":
            raise RuntimeError("no such peer")

    monkeypatch.setattr(benchmarks, "run_part", run_part)
    monkeypatch.setattr(benchmarks, "PARTS", {"speed": "", "latency": "", "live": ""})
    monkeypatch.setattr(benchmarks, "DONE", tmp_path / "build" / "done.json")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick"])
    with pytest.raises(SystemExit, match="failed: latency"):
        benchmarks.main()
    assert ran == ["speed", "latency", "live"]
    assert "no such peer" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", "--resume"])
    with pytest.raises(SystemExit, match="failed: latency"):
        benchmarks.main()
    assert ran[3:] == ["latency"]  # the others have their pages
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--list", "--quick"])
    benchmarks.main()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[-3:]] == [
        "speed", "latency", "live",
    ]  # fmt: skip


def test_the_extra_holds_all_peers():
    assert {"vowpalwabbit", "river", "celer", "skglm", "adelie", "metric-learn", "abess"} <= set(
        peers.listed()
    )
    assert set(peers.listed("peers")) <= set(peers.listed())
    assert peers.absent(["json"]) == ""
    assert peers.absent(["json", "no_such_peer"]).endswith(": no_such_peer.")
