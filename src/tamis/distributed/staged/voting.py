"""Stabilized descent on partitions: paths vote together after a part of every visit.

The paths are dealt out to crews, as many as there are partitions with rows, or paths. In visit v
crew c is at partition (c + v) modulo their number, so that after a sweep every path has learnt
every row. In a visit each path walks the partition in an order of its own, in `stages` parts, each
of which is a round: after it all crews' votes, whole numbers, are added up in a tree, and what
leaves is told to all crews, with the rejection and the length of bursts from there on.

A part has about 100 rows unless told otherwise. In parts of many more, features leave under a
rejection that is out of date, and too many do; in parts of fewer than 25, a stage of `fit`, by
too few votes.

So what `fit` calls a stage is two things here. After `bursts_per_stage` bursts a crew sets its own
gravity, by what its own paths have moved; features leave by the votes of a part of a visit, which
are more than those of a few bursts: a rare feature that one path has truncated once may stay. The
burn-in is counted in sweeps, and all sweeps are made.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tamis.distributed.executors import Held, merge_tree
from tamis.distributed.placing import Places, replayed
from tamis.distributed.rounds import AccountError
from tamis.distributed.staged.grounds import (
    Counted,
    Given,
    Ground,
    Grounds,
    even_weights,
    read,
)
from tamis.distributed.visits import Partition
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.apart import Tally, board_of, judged, walked, whole
from tamis.methods.stabilized_sgd.loop_columns import measure
from tamis.methods.stabilized_sgd.paths import NO_COUNTS, Bundle, StabilizedEngine
from tamis.numerics.csr import Csr, frozen
from tamis.system.progress import Progress

PART = 100  # rows of a round, where nothing else is asked for
DRAW = 0x9E3779B97F4A7C15  # between the seeds of two crews


class Rows(NamedTuple):
    """Rows of a partition: targets (an output each), weights, and norms."""

    rows: Csr
    targets: list[np.ndarray]
    weights: np.ndarray
    norms: np.ndarray


class Course(NamedTuple):
    """What every visit is told."""

    loss: tuple
    plan: loop.Plan
    permuted: bool
    stages: int


@dataclass
class Crew(Held):
    """Some paths on their way, a bundle an output; the seed of their orders; what they counted in
    the last stage, and what they have learnt.
    """

    bundles: list[Bundle]
    seed: int
    tallies: list[Tally] | None = None
    visited: tuple[int, ...] = ()
    rows: int = 0


@dataclass
class Board(Held):
    """What all paths share, an output each."""

    bundles: list[Bundle]


# --------------------------------------------------------------------------- on workers
def measured(partition: Partition, model: Any, outputs: int) -> Ground:
    """A partition as paths walk it; or how it is read, where it is not held."""
    if partition.blocks is None:
        return Ground(partition.number, (partition, model, outputs))
    return Ground(partition.number, _rows(read(partition, model), outputs))


def _rows(given: Given, outputs: int) -> Rows:
    rows, columns, weights, *_ = given
    norms = np.empty(rows.n_rows)
    measure(*rows[:3], norms, NO_COUNTS)
    if columns.shape[1] < outputs:
        targets = [np.where(columns[:, 0] == c, 1.0, -1.0) for c in range(outputs)]
    else:
        targets = [np.ascontiguousarray(columns[:, c]) for c in range(outputs)]
    return Rows(rows, [frozen(one) for one in targets], weights, frozen(norms))


def stay(crew: Crew, board: Board, ground: Ground, course: Course, stage: int) -> Crew:
    """A crew after a stage; the one given stays as it is."""
    held = ground.what
    if not isinstance(held, Rows):
        partition, model, outputs = held
        held = _rows(read(partition, model), outputs)
    rows, targets, weights, norms = held
    span = tuple(rows.n_rows * part // course.stages for part in (stage, stage + 1))
    turn = np.uint64(crew.rows - span[0])  # rows before this visit, as `fit` has it
    source = loop.Source(np.uint64(crew.seed), turn, course.permuted)
    beside = (weights, norms, span, course.loss, course.plan, source)
    found = [
        walked(bundle, shared, rows, aims, *beside)
        for bundle, shared, aims in zip(crew.bundles, board.bundles, targets, strict=True)
    ]
    bundles, tallies = (list(one) for one in zip(*found, strict=True))
    visited = crew.visited + ((ground.number,) if stage + 1 == course.stages else ())
    learnt = crew.rows + span[1] - span[0]
    return replace(crew, bundles=bundles, tallies=tallies, visited=visited, rows=learnt)


def tallies_of(crew: Crew) -> list[Tally]:
    """What a crew counted."""
    return crew.tallies or []


def tallied(left: list[Tally], right: list[Tally]) -> list[Tally]:
    """What two branches counted."""
    return [one.plus(other) for one, other in zip(left, right, strict=True)]


def decide(board: Board, tallies: list[Tally], paths: int, plan: loop.Plan) -> Board:
    """What all paths counted decides what is next."""
    pairs = zip(board.bundles, tallies, strict=True)
    return Board([judged(bundle, tally, paths, plan) for bundle, tally in pairs])


# --------------------------------------------------------------------------- here
class Voting:
    """All rounds of a stabilized model."""

    def __init__(self, model: Any, places: Places, counted: Counted, sweeps: int, stages):
        self.model, self.sweeps, self.targets = model, sweeps, counted.targets
        self.executor, outputs = places.executor, counted.targets.outputs
        weighed = model
        if getattr(model, "class_weight", None) == "balanced":
            weighed = type(model)(**{**model.get_params(), "class_weight": even_weights(counted)})
        self.grounds = Grounds(places, measured, weighed, outputs)
        self.full, self.learnt = self.grounds.full, self.grounds.agreed.learnt
        stages = stages or -(-max(self.learnt[k] for k in self.full) // PART)
        plan = model._plan(0, resampled=not model.shuffle)
        burn = round(model._setting().burn_in * len(self.full) * stages)
        plan = plan._replace(burn=float(max(1, burn) if plan.gravity < 0.0 else burn))
        self.course = Course(model._loss(), plan, model.shuffle, stages)
        self.seed, width, many = model._seed(), len(counted.columns), model.n_paths
        self.board = Board([board_of(counted.columns, plan) for _ in range(outputs)])
        dealt = np.array_split(np.arange(many), min(many, len(self.full)))
        self.crews = [
            Crew([Bundle(len(own), width) for _ in range(outputs)], (self.seed + c * DRAW) % 2**64)
            for c, own in enumerate(dealt)
        ]
        self.counted = counted

    def run(self, segment: int, shown: bool | str) -> Any:
        """The model after all sweeps; `segment` visits are replayed together."""
        visits, done = self.sweeps * len(self.full), 0
        handles: Any = None
        with Progress("fit", visits, shown) as bar:
            while done < visits:
                stop = min(done + segment, visits)
                handles = self._segment(handles, done, stop)
                self.account(stop)
                kept = max(int(bundle.clock.kept) for bundle in self.board.bundles)
                bar.advance(stop - done, f"visit {stop:,} of {visits:,}, {kept:,} features")
                done = stop
        self.grounds.forget()
        return self._model()

    def _segment(self, handles: Any, done: int, stop: int) -> Any:
        """Some visits of all crews; where their results lie."""
        held = [handles]

        def forget() -> None:
            self.grounds.forget()
            self.executor.cancel(held[0] or [])
            held[0] = None

        def attempt() -> list:
            spots = self.grounds.open()
            if held[0] is None:
                held[0] = [
                    self.executor.put(one, spots[c % len(spots)][0])
                    for c, one in enumerate([*self.crews, self.board])
                ]
            *crews, board = held[0]
            for visit in range(done, stop):
                for stage in range(self.course.stages):
                    crews, board = self._round(crews, board, spots, visit, stage)
            ended = [*crews, board]
            *self.crews, self.board = self.executor.gather(ended)
            return ended

        return replayed(attempt, forget)

    def _round(self, crews: list, board: Any, spots: list, visit: int, stage: int) -> tuple:
        """One stage of all crews, and what they decide."""
        after, nodes = [], []
        for c, crew in enumerate(crews):
            home, ground = spots[(c + visit) % len(spots)]
            after.append(
                self.executor.submit(stay, crew, board, ground, self.course, stage, home=home)
            )
            nodes.append((home, self.executor.submit(tallies_of, after[-1], home=home)))
        home, tallies = merge_tree(self.executor, nodes, tallied)
        decided = (decide, board, tallies, self.model.n_paths, self.course.plan)
        return after, self.executor.submit(*decided, home=home)

    def account(self, visits: int) -> None:
        """Refuse paths that have not learnt every row as often as they should have by now."""
        for c, crew in enumerate(self.crews):
            due = [self.full[(c + v) % len(self.full)] for v in range(visits)]
            rows = sum(self.learnt[k] for k in due)
            if list(crew.visited) != due or (crew.rows != rows and self._counts_rows()):
                raise AccountError(
                    f"crew {c} has learnt {crew.rows:,} rows of partitions {list(crew.visited)} "
                    f"where {rows:,} were due: nobody knows what it has learnt, and it is thrown "
                    "away."
                )

    def _counts_rows(self) -> bool:
        """Whether every row of weight above 0 is learnt: not where a class weighs nothing."""
        weights = getattr(self.model, "class_weight", None)
        return not isinstance(weights, dict) or all(weights.values())

    def _model(self) -> Any:
        """An ordinary model of all paths."""
        model, outputs = self.model, self.targets.outputs
        engine = StabilizedEngine(model.n_paths, len(self.counted.columns), outputs, self.seed)
        engine.bundles = [
            whole(self.board.bundles[c], [crew.bundles[c] for crew in self.crews])
            for c in range(outputs)
        ]
        model.n_iter_, model.n_features_in_ = self.sweeps, engine.features
        model._targets, model._engine = self.targets, engine
        for bundle in engine.bundles:
            model._check_finite(bundle)
        if not engine.count():
            model._warn_empty()
        return model
