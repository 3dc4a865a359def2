"""What `tamis fit` will hold at most, by what a reading of the whole file found."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.base.machine.threads import count_threads
from tamis.cli.methods import METHODS, UsageError, build, class_of
from tamis.read.rows import Rows
from tamis.read.survey import Survey
from tamis.training.readings import MEMORY

if TYPE_CHECKING:
    from tamis.methods.sieve.stream.memory import Facts

MEGA = 10**6
READING = 235 * MEGA  # Python, its libraries and the reader, where nobody has measured them
ROOM = 1 << 22  # places of the table that columns are counted in
LISTED = 32  # bytes a weight of lists of all nonzero weights


class Met:
    """Counts columns with an entry, in a table of fixed size: exactly where there are not more
    columns than places, else by how many places are taken.
    """

    def __init__(self):
        self.places, self.columns = np.zeros(ROOM, dtype=bool), 0

    def add(self, rows: Rows) -> None:
        """Look at a chunk."""
        self.columns = max(self.columns, rows.X.shape[1])
        self.places[rows.X.indices % ROOM] = True

    def count(self) -> int:
        """Columns with an entry, about."""
        taken = int(np.count_nonzero(self.places))
        if self.columns <= ROOM:
            return taken
        free = max(ROOM - taken, 1) / ROOM
        return min(round(-ROOM * np.log(free)), self.columns)


class State(NamedTuple):
    """What a method holds: bytes a column and output, bytes a column beside, whether it takes new
    columns on the way (old and new state lie side by side then) or lists all its weights at the
    end, and megabytes of code that it loads.
    """

    cell: int
    column: int = 0
    grows: bool = False
    lists: bool = False
    code: int = 14

    def needed(self, facts: "Facts") -> int:
        """Bytes of the state and of `coef_`, which is shown at the end."""
        columns, outputs = facts.columns, facts.outputs
        state = (self.cell * outputs + self.column) * columns
        listed = LISTED * facts.met * outputs if self.lists else 0
        shown = 8 * columns * outputs
        return self.code * MEGA + (2 if self.grows else 1) * state + shown + listed


FIRST_ORDER, CONFIDENCE = State(8, grows=True), State(16, lists=True)
STATES = {
    "truncated": FIRST_ORDER,
    "fobos": FIRST_ORDER,
    "rda": FIRST_ORDER,
    "online": FIRST_ORDER,
    "ftrl": State(16, grows=True),
    "arow": CONFIDENCE,
    "cw": CONFIDENCE,
    "scw": CONFIDENCE,
    "narow": CONFIDENCE,
    "pa": CONFIDENCE,
    # Members, owners and sums of the groups, and what makes them anew.
    "group": State(8, 72, grows=True, code=18),
    # Of every path a weight and a count, and the ballots of all.
    "stabilized": State(36 + 10 * 16, 24, lists=True, code=18),
}
SIEVE_CODE = 32 * MEGA


def needed_by(survey: Survey, base: int | None = None) -> dict[str, int]:
    """Bytes that `tamis fit` holds at most, by method; `base` is what was held to read the file."""
    from tamis.methods.sieve.stream.memory import memory_of  # late: it loads scikit-learn

    base = READING if base is None else base
    facts = facts_of(survey)
    task = "classify" if facts.classes else "regress"
    found = {}
    for method in METHODS:
        if not _has(method, task):
            continue
        if method == "sieve":
            model = build(method, task)
            threads = count_threads(model.n_jobs)
            more = SIEVE_CODE + memory_of(facts, model.n_folds, MEMORY * MEGA, threads)
        else:
            more = STATES[method].needed(facts)
        found[method] = base + more
    return found


def facts_of(survey: Survey) -> "Facts":
    """What is known of a file; columns that nobody counted count as filled."""
    from tamis.methods.sieve.stream.memory import Facts, rarer_share

    counts, met = list(survey.labels.values()), survey.features
    if isinstance(survey.beside, Met):
        met = survey.beside.count()
    elif survey.counts is not None:
        met = int(np.count_nonzero(survey.counts))
    classes = len(counts) if survey.as_classes() else 0
    rarer = rarer_share(counts) if classes > 1 else 0.5
    return Facts(survey.rows, survey.features, met, survey.nonzeros, classes, rarer)


def _has(method: str, task: str) -> bool:
    """Whether a method has a model for the task."""
    try:
        class_of(method, task)
    except UsageError:
        return False
    return True
