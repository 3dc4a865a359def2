"""Walks of the benchmarks: what a terminal said, as a page shows it."""

import pytest

from benchmarks.walks import manners
from benchmarks.walks.session import PROGRESS, Session

pytestmark = pytest.mark.quick


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


def test_steps_are_shown_as_they_were_run(session):
    session.run("echo one")
    session.run("false", expected=1)
    session.say("Words between\n   two steps.")
    session.python("print(2 + 3)")
    assert str(session) == (
        "```console\n$ echo one\none\n$ false\n```\n\nWords between two steps.\n\n"
        "```py\nprint(2 + 3)\n```\n\n```text\n5\n```"
    )
    assert manners([session])[0].verdict == "met"


def test_a_command_that_ends_otherwise_is_told(session):
    session.run("false")
    (goal,) = manners([session])
    assert (goal.figure, goal.verdict) == ("0 of 1", "not met")


def test_no_place_and_no_time_of_this_machine_is_told(session):
    session.run("pwd; echo 'fit: 10 s, 108 features on the ladder'; echo 'survey: 100 %, 3 s'")
    assert session.steps[0].said == "."
    assert not PROGRESS.fullmatch("tamis: 3 s more")


def test_the_middle_of_long_output_is_left_out(session):
    whole = session.run("seq 10", most=4)
    assert session.steps[0].said.split("\n") == ["1", "2", "... 6 lines more", "9", "10"]
    assert len(whole.split()) == 10


def test_pages_that_are_wider_than_the_screen_are_told(session):
    session.widths = [("a.png", 390, 390), ("b.png", 390, 391)]
    assert manners([session])[1].figure == "1 of 2 pictures"
