"""A run of the sieve whose rows lie apart.

Paths walk as those of `fit` do, in other orders: rows are shuffled inside of partitions, which
every pair of paths visits in another order. Columns are measured by sums over all partitions. What
is judged (sizes, bases, lines, errors) are the held-out scores of all rows, or, of more than
`n_sample` rows, of so many with the smallest words for their content; medians of numbers are of the
same.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.distributed.placing import Places
from tamis.distributed.staged.columns import Surveyed, surveyed
from tamis.distributed.staged.descent import Apart, Field
from tamis.distributed.staged.grounds import Counted, Grounds
from tamis.distributed.staged.walkers import EVERY
from tamis.methods.sieve.fit import (
    FINAL_PASSES,
    FINAL_PATHS,
    RELIEF,
    Run,
    own_sample,
)
from tamis.methods.sieve.ladder import Choice
from tamis.methods.sieve.paths import Rung, Setting, Task, path_keys
from tamis.methods.sieve.result import joined
from tamis.methods.sieve.settings import Options, options_of, task_of
from tamis.methods.sieve.teams import KEPT, Team, Trial
from tamis.system.progress import Progress


class RunApart(Run):
    """A run whose groups of paths walk over a field; `order` is that of the judged rows."""

    def __init__(self, sample: Surveyed, task: Task, options: Options, field: Field, order):
        super().__init__(sample, task, options)
        self.field, self.order = field, order

    def _group(self, setting: Setting, keys: np.ndarray, aim, number: int) -> Apart:
        return Apart(self.table, self.task, setting, keys, aim, number)

    def _try(self, settings: list[Setting], run) -> list[Trial]:
        """All teams of all settings down the ladder, level by level."""
        boards = [self._board(setting) for setting in settings]
        places = [(board, at) for board in boards for at in range(len(board.teams))]
        groups = [
            self._group(board.setting, team.keys, (team.split, team.fold), number)
            for number, (board, team) in enumerate((board, board.teams[at]) for board, at in places)
        ]

        def seen(number: int, group: Apart, level: int, scores: np.ndarray) -> None:
            board, at = places[number]
            team = board.teams[at]
            board.scores[team.split, level] += scores[self.order]
            board.survived[at, group.columns] = level
            if len(group.columns) <= KEPT:
                team.rungs[level] = group.rung()

        if groups:
            self.field.descend(groups, self.sizes, seen)
        return self._tried(boards)

    def _all_rows(self, setting: Setting, choice: Choice, run) -> dict[int, Rung]:
        """Paths over all rows down to the level above the chosen size, a few of them further."""
        folds, rungs = self.options.folds, {}
        keys = path_keys(self.options.seed + 1, folds, setting.paths)
        keys = keys if choice.size else keys[: setting.fold_paths]
        group = self._group(setting, keys, EVERY, 0)
        wanted = min(self._first_kept(choice), choice.level)

        def seen(_, group: Apart, level: int, scores: np.ndarray) -> None:
            if level >= wanted:
                rungs[level] = group.rung()
            self._note(group, level)

        self.field.descend([group], self.sizes[: choice.level + 1], seen)
        group.thin(setting.fold_paths)
        told = len(self.history)
        if choice.level + 1 < len(self.sizes):
            self.field.descend([group], self.sizes, seen, choice.level + 1)
        del self.history[told:]
        return rungs

    def _final(self, setting: Setting, rung: Rung, choice: Choice, run) -> Any:
        """The final phase of all rows."""
        folds = self.options.folds
        keys = path_keys(self.options.seed + 1, folds, min(setting.paths, FINAL_PATHS))
        group = Apart.on(
            rung, choice.size, self.table, self.task, setting, keys, EVERY, 0
        )  # fmt: skip
        self.field.polish([group], RELIEF, FINAL_PASSES)
        self._note(group, choice.level + 1)
        return group

    def _final_teams(self, setting: Setting, trial: Trial, choice: Choice, run):
        """Line of the held-out scores at the chosen size, and the share of the teams that keep each
        column there.
        """
        teams, many = trial.teams, len(self.table.density)
        if not teams or choice.level not in teams[0].rungs:
            return super()._final_teams(setting, trial, choice, run)
        groups = [self._on(setting, team, choice, number) for number, team in enumerate(teams)]
        shape = (teams[-1].split + 1, self.table.n_rows, self.table.outputs)
        scores, shares = np.zeros(shape), np.zeros(many)
        said = self.field.polish(groups, RELIEF, FINAL_PASSES)
        for team, group, found in zip(teams, groups, said, strict=True):
            scores[team.split] += found.scores[self.order]
            shares[group.columns] += 1.0
        return self._held_out(scores)[1], shares / len(teams)

    def _on(self, setting: Setting, team: Team, choice: Choice, number: int) -> Apart:
        given = (self.table, self.task, setting, team.keys, (team.split, team.fold), number)
        return Apart.on(team.rungs[choice.level], choice.size, *given)


def fit_sieve(model: Any, places: Places, counted: Counted, shown: bool | str) -> Any:
    """A sieve of all partitions."""
    width, targets = len(counted.columns), counted.targets
    names = places.agreed.seen[places.agreed.full[0]].names if places.agreed else None
    model.n_features_in_ = width
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)  # groups may be said by them
    options = options_of(model, width, is_classifier(model))._replace(threads=1)
    with Progress("fit", 0, shown):
        lots, sample, order = surveyed(model, places, counted, options)
        result = _sieved(sample, task_of(model), options, lots, order)
    lots.forget()
    model._targets, model._result = targets, model._warned(result)
    return model


def _sieved(sample: Surveyed, task: Task, options: Options, lots: Grounds, order) -> Any:
    """All outputs with one support, or each with its own."""
    many = sample.table.outputs
    if not options.per_class or many == 1:
        return RunApart(sample, task, options, Field(lots), order).result()
    found = []
    for c in range(many):
        own = Surveyed(*own_sample(sample, c))
        own.spread = sample.spread
        found.append(RunApart(own, task, options, Field(lots, c), order).result())
    return joined(found)
