"""Progress: nothing for three seconds, then a bar, or a line every thirty seconds."""

import pytest

from tamis.system import progress
from tamis.system.progress import Progress, report_progress

pytestmark = pytest.mark.quick


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes when it is told to."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_where_there_is_no_terminal(clock, capsys):
    with Progress("second reading", 200) as bar:
        for _ in range(100):
            clock[0] += 1.0
            bar.advance(2, f"{bar.done} rows")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "second reading: 3 %, 3 s, 4 rows"
    assert [line.split(",")[1] for line in lines] == [" 3 s", " 33 s", " 63 s", " 93 s"]


def test_work_of_unknown_length_and_parts_that_tell(clock, capsys):
    report_progress("to nobody")
    with Progress("fit", 0):
        clock[0] += 4.0
        with Progress("inside", 0, False):
            report_progress("not shown")
        report_progress("12 features")
    report_progress("to nobody")
    assert capsys.readouterr().err == "fit: 4 s, 12 features\n"


@pytest.mark.parametrize("shown", [False, "auto"])
def test_nothing_at_first_or_where_it_is_not_wanted(shown, clock, capsys):
    with Progress("fit", 10, shown) as bar:
        clock[0] += 2.9 if shown else 100.0
        bar.advance(5)
    assert capsys.readouterr().err == ""
