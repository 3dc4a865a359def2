"""One run of the sieve: base settings tried on folds, a size chosen, paths over all rows down to
it, the final phase.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.errors import (
    Error,
    Held,
    Rows,
    baseline_rows,
    error_of,
    line_of,
    prior_line,
    rows_of,
)
from tamis.methods.sieve.ladder import Choice, Rule, ladder, settle, walked
from tamis.methods.sieve.paths import Group, Rung, Setting, Start, Task, crew, descend, path_keys
from tamis.methods.sieve.result import Result, Trail, joined
from tamis.methods.sieve.settings import Options, settings_for
from tamis.methods.sieve.table.columns import Sample
from tamis.methods.sieve.teams import Board, Team, Trial, check_boards

RELIEF = 0.3  # strength of the final phase, against that of the ladder
FINAL_PASSES = 3
FINAL_PATHS = 4
# Standard errors by which the targets must be less surprising than by the prior: at the chosen
# size, or by scores of many sizes together, which no choice has flattered.
TRUST, TRUST_TOGETHER = 3.0, 2.25
FEWEST = 16  # sizes up to this one, and up to a quarter of the rows, are taken together
OTHER_SIZES = 2**12  # rungs at least up to this size are kept for other sizes, and up to
FURTHER = 4  # times the chosen size


def sieve(
    sample: Sample, task: Task, options: Options, start: dict[str, list[Start]] | None = None
) -> Result:
    """Sieve all outputs with one support, or each with its own."""
    many = sample.table.outputs
    if not options.per_class or many == 1:
        return Run(sample, task, options, start).result()
    return joined(
        [
            Run(own_sample(sample, c), task, options, _own_start(start, c, many)).result()
            for c in range(many)
        ]
    )


def own_sample(sample: Sample, c: int) -> Sample:
    """The sample with the targets of one output."""
    table, units = sample.table, sample.units
    if table.targets.shape[1] > 1:
        targets = np.ascontiguousarray(table.targets[:, c : c + 1])
    else:
        targets = np.where(table.targets == c, 1.0, -1.0)
    return sample._replace(
        table=table._replace(targets=targets, outputs=1),
        units=type(units)(*(part[c : c + 1] for part in units)),
    )


def _own_start(start: dict[str, list[Start]] | None, c: int, many: int):
    """The level-0 models of one output."""
    if start is None:
        return None
    at = [0, 1 + c, 1 + many + c]
    return {
        base: [
            Start(
                np.ascontiguousarray(group.states[..., at]),
                np.ascontiguousarray(group.biases[..., at]),
                group.steps,
            )
            for group in groups
        ]
        for base, groups in start.items()
    }


# --------------------------------------------------------------------------- the run
class Found(NamedTuple):
    """Where a run ended: the setting and its trial, the size, the paths over all rows after the
    final phase and before it, the line of held-out scores, the shares of the teams, and the error
    to expect.
    """

    setting: Setting
    trial: Trial
    choice: Choice
    group: Group | None
    rungs: dict[int, Rung]
    line: np.ndarray
    shares: np.ndarray
    error: float


class Run:
    """One run of the sieve over a sample."""

    def __init__(self, sample: Sample, task: Task, options: Options, start=None):
        self.sample, self.table, self.task = sample, sample.table, task
        self.options, self.start = options, start
        # Losses of numbers may have heavy tails, which differences do not.
        paired, sizes = not options.classes, ladder(self.table.n_groups)
        self.rule = Rule(sizes, options.se, options.tolerance, options.size, paired)
        self.sizes = walked(sizes, self.table.always)
        check_boards(self.table, settings_for(self.table, task.loss, options), self.sizes)
        self.rows = np.arange(self.table.n_rows, dtype=np.uint64)
        self.held = Held(
            self.table.targets,
            self.table.weights,
            self.table.outputs,
            options.classes,
            task.loss,
            task.intercept > 0.0,
        )
        self.prior = prior_line(self.held)
        none = np.zeros((self.table.n_rows, self.table.outputs))
        self.prior_rows = rows_of(none, self.prior, self.held)
        self.history: list[dict] = []

    def result(self) -> Result:
        """The run, told in the units of X and y."""
        found = self.find()
        sample, (setting, trial, choice, group, _, line, shares, _) = self.sample, found
        deviations, seen = self.sample.deviations(), np.flatnonzero(shares)
        at, weights, bias = self._empty() if group is None else group.model()
        result = Result.of(
            sample.columns, sample.units, at, weights, bias, line, deviations[at], seen,
            shares[seen],
        )  # fmt: skip
        chosen = {"n_features": choice.size, "level": choice.level, "threshold": choice.threshold}
        turns = self.history[-1]["passes"] if self.history else 0
        sizes = self._sizes(trial.errors)
        result.told(sizes, self.history, {**setting.told(), **chosen}, turns)
        return result.judged(*self._errors(found), [self._trail(found, deviations)])

    def _empty(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, weights and intercepts of the prior alone."""
        many = self.table.outputs
        return np.zeros(0, dtype=np.int64), np.zeros((0, many)), np.zeros(many)

    def _sizes(self, errors: list[Error]) -> dict[str, np.ndarray]:
        """The ladder with the errors of its levels; the last is what always stays, or the prior."""
        prior = []
        if not self.table.always:
            prior = [error_of(self.prior_rows, self.prior_rows.surprise, self.held)]
            prior = [prior[0]._replace(plain=self._baseline())]
        unknown = [np.nan] * len(self.sizes)
        columns = {"error": "plain", "standard_error": "plain_spread", "soft_error": "soft"}
        sizes = {"size": np.append(self.sizes, np.zeros(len(prior), dtype=np.int64))}
        for name, kind in columns.items():
            known = [getattr(error, kind) for error in errors] or unknown
            sizes[name] = np.array([*known, *[getattr(error, kind) for error in prior]])
        return sizes

    def _baseline(self) -> float:
        """Error of the prior alone."""
        rows = baseline_rows(self.held, self.sample.folds[0])
        return float(np.average(rows, weights=self.held.mass))

    def _errors(self, found: Found) -> tuple[float, float, float]:
        """Error to expect of the model, its standard error, and the error of the prior."""
        baseline, (_, trial, choice, *_) = self._baseline(), found
        if not trial.errors:
            return np.nan, np.nan, baseline
        spread = trial.errors[choice.level].plain_spread
        if not choice.size:
            return trial.errors[-1].plain if self.table.always else baseline, spread, baseline
        return found.error, spread, baseline

    def _trail(self, found: Found, deviations: np.ndarray) -> Trail:
        """The rungs for other sizes."""
        first = self._first_kept(found.choice)
        kept = {level: rung for level, rung in found.rungs.items() if level >= first}
        lines = dict(enumerate(found.trial.lines)) or dict.fromkeys(kept, found.line)
        trail = Trail(kept, lines, found.setting.tilt, self.sample)
        prior = self.prior[:, 1] * self.sample.units.unit + self.sample.units.center
        return trail.settled(self.sample.columns, deviations, found.trial.survived, prior)

    def _first_kept(self, choice: Choice) -> int:
        """Level of the smallest rung that is not below the bar of other sizes."""
        bar = max(OTHER_SIZES, FURTHER * choice.size)
        return max(int(np.count_nonzero(self.sizes >= bar)) - 1, 0)

    # ------------------------------------------------------------------ what is done
    def find(self) -> Found:
        """Teams under each setting, choice of setting and size, all rows down to that size, final
        phase.
        """
        settings = settings_for(self.table, self.task.loss, self.options)
        with crew(self.options.threads) as run:
            trials = self._try(settings, run)
            at, choice, error = self._choose([trial.errors for trial in trials])
            setting, trial = settings[at], trials[at]
            del trials
            rungs = self._all_rows(setting, choice, run)
            if not choice.size and not self.table.always:
                none = np.zeros(len(self.table.density))
                return Found(setting, trial, choice, None, rungs, self.prior, none, error)
            group = self._final(setting, rungs[choice.level], choice, run)
            line, shares = self._final_teams(setting, trial, choice, run)
        return Found(setting, trial, choice, group, rungs, line, shares, error)

    def _try(self, settings: list[Setting], run) -> list[Trial]:
        """Groups of paths, each without one fold, down the whole ladder under each setting."""
        boards = [self._board(setting) for setting in settings]
        run([call for board in boards for call in board.calls()])
        return self._tried(boards)

    def _tried(self, boards: list["Board"]) -> list[Trial]:
        """What the teams of all settings found."""
        self.together = 0.0
        if boards[0].teams:
            none = self._none(boards[0])
            self.together = self._judge(self._pooled(boards)[None], none)[0].gain
        return [board.trial(self._judge, self._none(board)) for board in boards]

    def _none(self, board: "Board") -> np.ndarray:
        """Surprise of every row by what is there at size 0: the prior, or what always stays."""
        if not self.table.always or not board.teams:
            return self.prior_rows.surprise
        return self._held_out(board.scores[:, -1])[0].surprise

    def _pooled(self, boards: list["Board"]) -> np.ndarray:
        """Held-out scores of all settings and of sizes well below the number of rows, each in its
        own units: nothing in them was chosen by looking at errors.
        """
        few = np.flatnonzero(self.sizes <= max(FEWEST, self.table.n_rows / 4))
        total = np.zeros((self.table.n_rows, self.table.outputs))
        for split, level in (
            (split, at) for board in boards for split in board.scores for at in few
        ):
            spread = split[level].std(axis=0, dtype=float)
            total += split[level] / np.where(spread > 0.0, spread, 1.0)
        return total

    def _board(self, setting: Setting) -> "Board":
        """The teams of a setting, before they have begun."""
        teams = self._teams(setting)
        return Board(self.sample, self.task, setting, self.sizes, teams)

    def _teams(self, setting: Setting) -> list[Team]:
        """A team for every fold of every split that leaves rows to learn from."""
        teams = []
        for split, folds in enumerate(self.sample.folds[: setting.splits]):
            for fold in range(self.options.folds):
                inside = folds == fold
                if inside.any() and not inside.all():
                    number = split * self.options.folds + fold
                    keys = path_keys(0, number, setting.fold_paths)
                    start = self._started(setting, fold)
                    rows, held = self.rows[~inside], self.rows[inside]
                    teams.append(Team(rows, held, split, fold, keys, start, {}))
        return teams

    def _started(self, setting: Setting, group: int) -> Start | None:
        """The models of level 0 that a group starts from, if there are any."""
        return None if self.start is None else self.start[setting.name][group]

    def _judge(self, scores: np.ndarray, none: np.ndarray) -> tuple[Error, np.ndarray]:
        """Error and line of held-out scores (splits, rows, outputs)."""
        rows, line = self._held_out(scores)
        return error_of(rows, none, self.held), line

    def _held_out(self, scores: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Errors of each row and line of held-out scores (splits, rows, outputs): their means."""
        lines = [line_of(split.astype(float), self.held) for split in scores]
        rows = [
            rows_of(split.astype(float), line, self.held)
            for split, line in zip(scores, lines, strict=True)
        ]
        mean = Rows(*(np.mean(part, axis=0) for part in zip(*rows, strict=True)))
        return mean, np.mean(lines, axis=0)

    def _choose(self, trials: list[list[Error]]) -> tuple[int, Choice, float]:
        """Base, size (none where nothing is surely better than the prior), error to expect."""
        if not trials[0]:
            size = self.options.size
            return 0, Choice(0, int(self.sizes[0]) if size is None else size, np.nan), np.nan
        counted = [errors[: len(self.rule.sizes)] for errors in trials]
        base, choice, error = settle(counted, self.held.mass, self.rule)
        gain = trials[base][choice.level].gain
        if self.options.size is None and not (gain > TRUST or self.together > TRUST_TOGETHER):
            last = len(self.sizes) - 1 if self.table.always else choice.level
            choice = choice._replace(level=last, size=0)
        return base, choice, error

    def _all_rows(self, setting: Setting, choice: Choice, run) -> dict[int, Rung]:
        """Paths over all rows down to the level above the chosen size, a few of them further."""
        folds, rungs = self.options.folds, {}
        keys = path_keys(self.options.seed + 1, folds, setting.paths)
        keys = keys if choice.size else keys[: setting.fold_paths]
        start, none = self._started(setting, folds), self.rows[:0]
        group = Group(self.table, self.task, setting, self.rows, none, keys, start)

        wanted = min(self._first_kept(choice), choice.level)

        def seen(group, level):
            if level >= wanted:
                rungs[level] = group.rung()
            self._note(group, level)

        descend(group, self.sizes[: choice.level + 1], run, seen)
        group.thin(setting.fold_paths)
        told = len(self.history)
        if choice.level + 1 < len(self.sizes):
            descend(group, self.sizes, run, seen, choice.level + 1)
        del self.history[told:]
        return rungs

    def _final(self, setting: Setting, rung: Rung, choice: Choice, run) -> Group:
        """The final phase of all rows."""
        folds = self.options.folds
        keys = path_keys(self.options.seed + 1, folds, min(setting.paths, FINAL_PATHS))
        start = self._started(setting, folds)
        group = Group.at(
            self.table, self.task, setting, self.rows, self.rows[:0], keys, rung, choice.size, start
        )
        polish([group], run)
        self._note(group, choice.level + 1)
        return group

    def _final_teams(self, setting: Setting, trial: Trial, choice: Choice, run):
        """Line of the held-out scores at the chosen size, and the share of the teams that keep each
        column there.
        """
        teams, many = trial.teams, len(self.table.density)
        if not teams:
            return np.tile([1.0, 0.0], (self.table.outputs, 1)), np.zeros(many)
        if choice.level not in teams[0].rungs:
            return trial.lines[choice.level], (trial.survived >= choice.level).mean(axis=0)
        shape = (teams[-1].split + 1, self.table.n_rows, self.table.outputs)
        scores, shares = np.zeros(shape), np.zeros(many)
        for first in range(0, len(teams), self.options.threads):  # no more copies than threads
            some = teams[first : first + self.options.threads]
            groups = [
                Group.at(
                    self.table, self.task, setting, team.rows, team.held, team.keys,
                    team.rungs[choice.level], choice.size, team.start,
                )
                for team in some
            ]  # fmt: skip
            polish(groups, run)
            for group, team in zip(groups, some, strict=True):
                group.judge(scores[team.split])
                shares[group.columns] += 1.0
            del groups, group
        return self._held_out(scores)[1], shares / len(teams)

    def _note(self, group: Group, level: int) -> None:
        self.history.append(
            {
                "level": level,
                "n_features": len(group.columns),
                "passes": group.turns,
                "strength": float(np.mean(group.strengths)),
                "step": float(np.mean(group.rates)),
            }
        )


def polished(sample: Sample, task: Task, options: Options, trail: Trail, k: int, base: str):
    """The model of another size after a final phase of its own, on the rows of the fit."""
    run = Run(sample, task, options)
    at, weights = trail.rung(k)
    r, columns = trail.place(k), trail.columns[at]
    places = np.full(sample.columns.n_columns, -1)
    places[sample.columns.kept] = np.arange(len(sample.columns.kept))
    place = places[columns]
    there = place >= 0
    if not there.all():
        raise ValueError(
            f"resize: column {columns[~there][0]} is constant in these rows, but was not in those "
            "of the fit. Give the rows of the fit."
        )
    settings = {setting.name: setting for setting in settings_for(run.table, task.loss, options)}
    rung = Rung(place, weights, trail.biases[r], int(trail.turns[r]))
    with crew(options.threads) as crowd:
        group = run._final(settings[base], rung, Choice(int(trail.levels[r]), k, np.nan), crowd)
    part = trail.part(k, sample.columns.n_columns)
    shares = np.zeros(len(sample.columns.kept))
    shares[place] = part.all_shares()[0, columns]
    seen = np.flatnonzero(shares)
    return Result.of(
        sample.columns, sample.units, group.columns, group.weights, group.bias, trail.lines[r],
        sample.deviations()[group.columns], seen, shares[seen],
    )  # fmt: skip


def polish(groups: list[Group], run) -> None:
    """The final phase of groups: a weaker penalty, and means of the last pass."""
    for group in groups:
        group.tune(RELIEF)
    run([walk for group in groups for walk in group.walks(FINAL_PASSES)])
    for group in groups:
        group.pool()
