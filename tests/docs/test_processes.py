"""Cells of paper pages: in order and in several processes, until the time is over, and where they
were made.
"""

import functools
import operator

import pytest

from benchmarks.papers import processes


def _jobs(count: int) -> list[tuple]:
    return [(k, functools.partial(operator.mul, k, 10)) for k in range(count)]


@pytest.mark.parametrize("count", [1, 2])
def test_every_job_is_done_once(count):
    done = processes.each(processes.called, _jobs(5), count)
    found = [(job[0], cell) for job, (cell, seconds) in done if seconds >= 0.0]
    assert sorted(found) == [(k, 10 * k) for k in range(5)]


def test_no_job_begins_when_the_time_is_over():
    assert list(processes.each(processes.called, _jobs(5), seconds=-1.0)) == []
    assert processes._Work(processes.called, 0.0)(_jobs(1)[0])[1:] == (False, None)


def test_a_cell_that_fails_stops_no_other(capsys):
    work = processes._Work(processes.called, float("inf"))
    assert work((0, functools.partial(operator.truediv, 1, 0)))[1:] == (False, None)
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert work(_jobs(2)[1])[1:] == (True, (10, pytest.approx(0.0, abs=1.0)))


def test_a_page_names_every_machine_that_made_its_cells_once(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "STORES", tmp_path)
    monkeypatch.setattr(processes, "versions", lambda: "Python 3")
    for name, side in (("slow", 1), ("slow", 1), ("wide", 16)):
        monkeypatch.setattr(processes, "machine", lambda name=name: name)
        processes.made_here("page", side)
    slow, wide = processes.made_on("page").split("\n\n")
    assert "slow" in slow
    assert "wide, 16 processes" in wide
    assert processes.made_on("another") == "wide; Python 3."
