"""A walk a data kind: from files to a verdict by the real command line, what the terminal says kept
on a page, and the page of the report photographed.

`TAMIS_DATA=FOLDER python -m benchmarks walks [--quick]`. Each kind is a file of this folder with
`TITLE`, `ABOUT` and `walk(session, quick)`, which makes its files (sets.py), runs commands and
Python (session.py), and returns goals. Pictures lie in build/walks, at 1280 and 390 wide, light and
dark, where a Chromium is there. `TAMIS_WALKS=tables,streams` walks some kinds only.
"""

import importlib
import os
import tempfile
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, flow, verdict
from benchmarks.realsets import ABSENT
from benchmarks.walks.pictures import SCHEMES, SIZES, photograph
from benchmarks.walks.session import Session

KINDS = ("text", "tables", "genomics", "streams", "images", "many_labels", "few_labels")
PICTURES = ROOT / "build" / "walks"
OPENING = """
    What a stranger sees: files as they come (CSV, Parquet, svmlight, Vowpal Wabbit's text; words,
    dates and gaps), the command line run in a process of its own, and all that it says. The rows
    are of real sets unless a walk says otherwise; dates, names and gaps that a set does not have
    were made up, as each walk tells. Settings were chosen inside the training rows, by the method
    itself; test rows are those that the set came with, or a part that was held out at random. For
    how to do this with data of your own see [the guide](../guide.md).
"""


def run(quick: bool) -> Page:
    """Walk every kind that is there."""
    page = Page("walks", "Walks", OPENING)
    if "TAMIS_DATA" not in os.environ:
        page.opening += f"\n\n{ABSENT}"
        return page
    sessions = []
    for kind in chosen():
        module = importlib.import_module(f"benchmarks.walks.{kind}")
        with tempfile.TemporaryDirectory() as folder:
            session = Session(Path(folder))
            page.goals += module.walk(session, quick) or []
            page.sections.append((module.TITLE, f"{flow(module.ABOUT)}\n\n{session}"))
            session.widths = photograph(session.pages, PICTURES, kind)
        sessions.append(session)
    page.goals += manners(sessions)
    return page


def chosen() -> list[str]:
    """Kinds that have a file here; of them those that TAMIS_WALKS names, if it does."""
    asked = os.environ.get("TAMIS_WALKS", ",".join(KINDS)).split(",")
    here = Path(__file__).parent
    return [kind for kind in KINDS if kind in asked and (here / f"{kind}.py").exists()]


def manners(sessions: list[Session]) -> list[Goal]:
    """What every walk must keep: commands end as they should, pages fit the screen."""
    commands = [step for session in sessions for step in session.steps if step.expected is not None]
    astray = [step for step in commands if step.code != step.expected]
    told = f"{len(commands) - len(astray)} of {len(commands)}"
    goals = [Goal("every command ends as it should", told, verdict(not astray))]
    found = [one for session in sessions for one in session.widths]
    if found:
        wide = [name for name, width, content in found if content > width]
        said = f"{len(found) - len(wide)} of {len(found)} pictures"
        promise = f"no page is wider than its screen ({' and '.join(map(str, SIZES))} wide, "
        goals.append(Goal(promise + f"{' and '.join(SCHEMES)})", said, verdict(not wide)))
    return goals
