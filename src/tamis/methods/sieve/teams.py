"""Teams: groups of paths that never see one fold each, down the whole ladder."""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.errors import Error
from tamis.methods.sieve.paths import Group, Rung, Setting, Start, Task, descend, in_turn
from tamis.methods.sieve.table.columns import Sample
from tamis.system.memory import check_memory

KEPT = 2**17  # largest rung of a team that is kept for the final phase


class Team(NamedTuple):
    """Rows that a group of paths learns from and those that it never sees, the split that these are
    of and their fold, the keys of its orders, what it starts from, where it stood at each level.
    """

    rows: np.ndarray
    held: np.ndarray
    split: int
    fold: int
    keys: np.ndarray
    start: Start | None
    rungs: dict[int, Rung]


class Trial(NamedTuple):
    """A setting on the folds: its teams, errors and lines of each level on rows that the paths
    never saw, and the last level that each feature reached in each team.
    """

    teams: list[Team]
    errors: list[Error]
    lines: list[np.ndarray]
    survived: np.ndarray


def check_boards(table, settings: list[Setting], sizes) -> None:
    """Refuse more held-out scores than memory has room for, before anything is learnt."""
    numbers = sum(setting.splits for setting in settings) * len(sizes) * table.n_rows
    check_memory(
        f"the held-out scores of {table.n_rows:,} rows and {table.outputs:,} outputs at "
        f"{len(sizes)} sizes",
        4 * numbers * table.outputs,
        "Learn from fewer rows or classes, or by FOBOSClassifier or FTRLClassifier, which keep no "
        "such scores.",
    )


class Board:
    """Teams at work under one setting, and what is written down of them."""

    def __init__(self, sample: Sample, task: Task, setting: Setting, sizes, teams: list[Team]):
        self.sample, self.task, self.setting = sample, task, setting
        self.sizes, self.teams, table = sizes, teams, sample.table
        splits = max((team.split for team in teams), default=-1) + 1
        shape = (splits, len(sizes), table.n_rows, table.outputs)
        self.scores = np.zeros(shape, dtype=np.float32)
        self.survived = np.zeros((len(teams), len(table.density)), dtype=np.uint8)

    def calls(self) -> list:
        """Each team's way down the ladder, as calls that may run at the same time."""
        return [lambda at=at: self._go(at) for at in range(len(self.teams))]

    def _go(self, at: int) -> None:
        """Take one team down the ladder; only as many are in memory as run at a time."""
        team = self.teams[at]
        group = Group(
            self.sample.table, self.task, self.setting, team.rows, team.held, team.keys, team.start
        )
        if self.sample.open is not None:
            group.narrow(np.flatnonzero(self.sample.open[team.fold]))

        def seen(group, level):
            group.judge(self.scores[team.split, level])
            self.survived[at, group.columns] = level
            if len(group.columns) <= KEPT:
                team.rungs[level] = group.rung()

        descend(group, self.sizes, in_turn, seen)

    def trial(self, judge, none: np.ndarray) -> Trial:
        """What the teams found; `judge` takes held-out scores to an error and a line, and `none` is
        the surprise at size 0.
        """
        levels = range(len(self.sizes) if self.teams else 0)
        found = [judge(self.scores[:, level], none) for level in levels]
        errors, lines = [list(part) for part in zip(*found, strict=True)] if found else ([], [])
        return Trial(self.teams, errors, lines, self.survived)
