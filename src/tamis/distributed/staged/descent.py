"""Groups of paths that lie apart go down the ladder: all walk a level, each from partition to
partition; then they are pooled here, and partitions say how those do that never saw a row.

A level is a round, and what is replayed where a worker is lost: states come home after it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tamis.distributed.executors import merge_tree
from tamis.distributed.placing import replayed
from tamis.distributed.rounds import AccountError
from tamis.distributed.staged.grounds import Grounds
from tamis.distributed.staged.walkers import (
    EVERY,
    Leg,
    Look,
    Looked,
    Looks,
    Walker,
    look,
    looked_together,
    step,
)
from tamis.methods.sieve.loop import pool_states
from tamis.methods.sieve.paths import Group, Rung, Setting, Task
from tamis.methods.sieve.table.columns import Table
from tamis.numerics.hashing import GOLDEN
from tamis.system.progress import tell


class Apart(Group):
    """A group whose rows and paths lie apart: what is known of it here. `aim` are the split and
    fold that it never sees, `number` tells it from others.
    """

    def __init__(self, table: Table, task: Task, setting: Setting, keys, aim, number: int):
        self.table, self.task, self.setting, self.keys = table, task, setting, keys
        self.aim, self.number, self.always = aim, number, table.always
        self.columns = np.arange(len(table.density))
        self.walkers = [Walker() for _ in keys]
        self.turns, self.age, self.n_rows = 0, 0.0, 0
        self.whole = True  # whether no column has left

    @classmethod
    def on(cls, rung: Rung, size: int, *given: Any) -> "Apart":
        """Paths that are to go on from the pooled weights of a rung, with its largest groups."""
        group = cls(*given)
        group.columns, group.weights = rung.columns.astype(np.int64), rung.weights.astype(float)
        group.always = int(np.count_nonzero(group.columns >= group.table.n_free))
        group.bias, group.turns, group.age = rung.bias, rung.turns, float(rung.turns)
        stay = group.staying(size)
        group.columns, group.weights = group.columns[stay], group.weights[stay]
        group.whole = len(group.columns) == len(group.table.density)
        return group

    def placed(self, found: Looked) -> None:
        """Begin the paths of a rung, with step factors by the squares of all rows."""
        many = self.table.outputs
        state, bias = np.zeros((len(self.columns), 1 + 2 * many)), np.zeros(1 + 2 * many)
        squares = found.squares
        state[:, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
        bias[0] = 1.0 / np.sqrt(found.weight)
        state[:, 1 : 1 + many], bias[1 : 1 + many] = self.weights, self.bias
        self.walkers = [Walker(self._named(), state, bias) for _ in self.keys]

    def thin(self, paths: int) -> None:
        """Go on with the first few paths."""
        self.keys, self.walkers = self.keys[:paths], self.walkers[:paths]

    def asks(self, **more: Any) -> Look:
        """What partitions are asked about it."""
        return Look(self.aim, self._named(), **more)

    def asks_judged(self, **more: Any) -> Look:
        """The same, with held-out rows scored, if there are any."""
        if self.aim == EVERY:
            return self.asks(**more)
        return self.asks(weights=self.weights, bias=self.bias, **more)

    def _named(self) -> np.ndarray | None:
        return None if self.whole else self.columns

    def set_pace(self, found: Looked, relief: float = 1.0) -> None:
        """Step and strength for the columns that are left."""
        self.n_rows = found.rows
        self.pace_by(found.total, found.mass, found.rows, relief)

    def leg(self, path: int, turn: int, output: int) -> Leg:
        """The next but so many passes of a path; every other one goes backwards."""
        key = int(self.keys[path - path % 2]) + (self.turns << 20) + turn * int(GOLDEN)
        pace = (self.rates, self.strengths, self.age + turn, self.always)
        return Leg(self.aim, output, self.task, *pace, key % 2**64, path % 2 == 1)

    def route(self, path: int, turn: int, partitions: int) -> list[int]:
        """The order in which a path visits the partitions in a pass, another one for each pair."""
        first = self.number * ((len(self.keys) + 1) // 2) + path // 2 + self.turns + turn
        order = [(first + r) % partitions for r in range(partitions)]
        return order[::-1] if path % 2 else order

    def pool(self) -> None:
        """Mean over the paths, in their order, of the mean iterate of the last pass."""
        many = self.table.outputs
        states = np.stack([w.state for w in self.walkers if w.state is not None])
        biases = np.stack([w.bias for w in self.walkers if w.bias is not None])[:, None]
        self.weights, bias = np.empty((len(self.columns), many)), np.empty((1, many))
        pool_states(states, float(max(self.n_rows, 1)), self.weights)
        pool_states(biases, float(max(self.n_rows, 1)), bias)
        self.bias = bias[0]

    def narrow(self, stay: np.ndarray) -> None:
        """Leave some columns, by their present numbers."""
        if len(stay) == len(self.columns):
            return
        self.columns, self.whole = self.columns[stay], False
        self.walkers = [
            Walker(self.columns, None if w.state is None else w.state[stay], w.bias)
            for w in self.walkers
        ]


class Field:
    """Partitions that groups walk over; `output`: the one that is learnt, -1 for all at once."""

    def __init__(self, lots: Grounds, output: int = -1):
        self.lots, self.executor, self.output = lots, lots.executor, output

    def walk(self, groups: list[Apart], passes: list[int]) -> None:
        """So many passes of all paths of each group, all at the same time; the bits do not depend
        on that. Then they are pooled.
        """
        ended = replayed(lambda: self._walked(groups, passes), self.lots.forget)
        for group, own, many in zip(groups, ended, passes, strict=True):
            group.walkers = own
            self.account(group, many)
            group.turns, group.age = group.turns + many, group.age + many
            group.pool()

    def _walked(self, groups: list[Apart], passes: list[int]) -> list[list[Walker]]:
        spots = self.lots.open()
        paths = [(g, path) for g, group in enumerate(groups) for path in range(len(group.keys))]
        handles: dict[tuple[int, int], Any] = {}
        for turn in range(max(passes)):
            going = [(g, path) for g, path in paths if turn < passes[g]]
            routes = {at: groups[at[0]].route(at[1], turn, len(spots)) for at in going}
            for r in range(len(spots)):
                for at in going:
                    group, (home, ground) = groups[at[0]], spots[routes[at][r]]
                    handle = handles.get(at)
                    if handle is None:
                        fresh = replace(group.walkers[at[1]], steps=0, visited=())
                        handle = self.executor.put(fresh, home)
                    leg = group.leg(at[1], turn, self.output)
                    first = r == 0  # of a pass, whose steps are counted from 0
                    handles[at] = self.executor.submit(_step, handle, ground, leg, first, home=home)
        found = dict(zip(paths, self.executor.gather([handles[at] for at in paths]), strict=True))
        return [[found[g, path] for path in range(len(x.keys))] for g, x in enumerate(groups)]

    def account(self, group: Apart, passes: int) -> None:
        """Refuse paths that have not walked every row of theirs as often as they should have."""
        due = sorted(self.lots.full * passes)
        for path, walker in enumerate(group.walkers):
            if sorted(walker.visited) != due or walker.steps != group.n_rows:
                raise AccountError(
                    f"path {path} of a sieve has walked {walker.steps:,} rows of partitions "
                    f"{list(walker.visited)} where {group.n_rows:,} rows were due in each of "
                    f"{passes} passes: nobody knows what it has learnt, and it is thrown away."
                )

    def look(self, looks: list[Look]) -> list[Looked]:
        """What all partitions say."""

        def attempt() -> list[Looked]:
            spots, told, nodes = self.lots.open(), {}, []
            for home, ground in spots:
                if home not in told:
                    told[home] = self.executor.put(Looks(looks), home)
                nodes.append((home, self.executor.submit(look, ground, told[home], home=home)))
            return self.executor.gather([merge_tree(self.executor, nodes, looked_together)[1]])[0]

        return replayed(attempt, self.lots.forget)

    def begin(self, groups: list[Apart]) -> None:
        """Set the pace of groups at the top."""
        for group, found in zip(groups, self.look([g.asks() for g in groups]), strict=True):
            group.set_pace(found)

    def descend(
        self, groups: list[Apart], sizes: np.ndarray, seen: Callable, first: int = 0
    ) -> None:
        """Take groups down the ladder, from level `first` on; `seen(at, group, level, scores)`
        looks at each once its averages are pooled and its held-out rows scored.
        """
        if first:
            for group in groups:
                group.keep(int(sizes[first]))
        self.begin(groups)
        for level in range(first, len(sizes)):
            tell(f"{int(sizes[level]):,} features on the ladder")
            setting = [group.setting for group in groups]
            self.walk(groups, [one.first_passes if level == 0 else one.passes for one in setting])
            last = level + 1 == len(sizes)
            stays = [None if last else g.staying(int(sizes[level + 1])) for g in groups]
            asked = [g.asks_judged(stay=stay) for g, stay in zip(groups, stays, strict=True)]
            for at, (group, found) in enumerate(zip(groups, self.look(asked), strict=True)):
                seen(at, group, level, found.scores)
                stay = stays[at]
                if stay is not None:
                    group.weights = group.weights[stay]
                    group.narrow(stay)
                    group.set_pace(found)

    def polish(self, groups: list[Apart], relief: float, passes: int) -> list[Looked]:
        """The final phase of groups on their rungs; what partitions say after it."""
        asked = [group.asks(squares=True) for group in groups]
        for group, found in zip(groups, self.look(asked), strict=True):
            group.placed(found)
            group.set_pace(found, relief)
        self.walk(groups, [passes] * len(groups))
        return self.look([group.asks_judged(precision="f8") for group in groups])


def _step(walker: Walker, ground: Any, leg: Leg, first: bool) -> Walker:
    """A step on a leg; the first one of a pass forgets what was averaged before."""
    if first and walker.state is not None and walker.bias is not None:
        many = len(leg.rates)
        state, bias = walker.state.copy(), walker.bias.copy()
        state[:, 1 + many :] = bias[1 + many :] = 0.0
        walker = replace(walker, state=state, bias=bias, steps=0)
    return step(walker, ground, leg)
