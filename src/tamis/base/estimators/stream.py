"""Online linear models that pass over the rows until the loss no longer falls, and streams of
classes and numbers.
"""

import math
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis.base.estimators.linear import LinearStream
from tamis.base.estimators.passes import Patience
from tamis.base.parameters import BOOL, COUNT, FRACTION, NUMBER, estimator, parameter
from tamis.base.splits import hold_out
from tamis.base.validation import warn_user
from tamis.numerics.csr import Csr, frozen
from tamis.numerics.targets import EncodedTargets
from tamis.system.progress import Progress
from tamis.system.schema import records


@estimator(kw_only=True)
class Stream(LinearStream):
    """Base of the models that pass over the rows until the loss no longer falls.

    Their engine has ``learn(rows, coded, weights, key, n_jobs, tell)``, ``count(columns)``,
    `weight` and `loss` as well.
    """

    tol: float | None = parameter(
        1e-3,
        [NUMBER, None],
        "`fit` ends when the mean loss of a pass (with `early_stopping`, the held-out score) has "
        "not improved by `tol` times the first pass's loss (by `tol`) for `n_iter_no_change` "
        "passes. None runs all passes.",
    )
    n_iter_no_change: int = parameter(3, [COUNT], "Passes without improvement before `fit` ends.")
    warm_start: bool = parameter(False, [BOOL], "Whether `fit` goes on from the present state.")
    _contents: ClassVar[dict] = {"history_": records()}

    # ------------------------------------------------------------------ training
    def _prepare(self, options, targets, n_features: int, again: bool) -> None:
        if not again:
            self.history_: list[dict] = []
        super()._prepare(options, targets, n_features, again)

    def _goes_on(self) -> bool:
        return self.warm_start

    def _learn(self, options, rows: Csr, coded: EncodedTargets, weights) -> None:
        self._engine.learn(rows, coded, weights, n_jobs=self._threads())

    def _look(self, before: float) -> None:
        """Looking at all weights costs O(columns): only as often as the stream doubles."""
        if not math.isfinite(sum(map(sum, self._engine.costs.tolist()))):
            self._diverged()
        after = self._engine.steps
        if int(after).bit_length() > int(before).bit_length():
            nonzeros = self._engine.count()
            self.history_.append(self._record(self._engine, nonzeros))
            if not nonzeros and after >= 1024:
                self._warn_empty()

    def _run(self, rows, coded: EncodedTargets, weights, passes) -> None:
        """All passes of a fit, until the loss (or the held-out score) no longer improves."""
        seed, threads = self._seed(), self._threads()
        patience = Patience(self.tol, self.n_iter_no_change)
        shown = self.verbose if self.verbose == "auto" else bool(self.verbose)
        total = rows.n_rows * self.max_iter
        with (
            Progress(type(self).__name__, total, shown) as progress,
            self._near(rows, passes) as (engine, rows, met),
        ):
            held, weights = self._hold_out(rows, coded, weights, seed)
            for turn in range(1, self.max_iter + 1):
                self.n_iter_, before = turn, _charged(engine)
                passes.begin()
                key = _key(seed, turn) if self.shuffle else 0
                engine.learn(
                    rows,
                    coded,
                    weights,
                    key,
                    threads,
                    lambda n: progress.advance(n, f"pass {self.n_iter_}"),
                )
                record = self._record(engine, engine.count(met), before)
                if held is not None:
                    record["validation_score"] = self._targets.score(
                        engine.score(held[0]), *held[1:]
                    )
                self.history_.append(record)
                if not np.isfinite(record["loss"]):
                    self._diverged()
                if turn == 1 and held is None and self.tol is not None:
                    patience.slack = self.tol * record["loss"]
                ended = patience.ended(
                    record["loss"] if held is None else -record["validation_score"]
                )
                if passes.stopped() or ended:
                    break
            else:
                if self.tol is not None and self.max_iter > 1:
                    self._warn_unfinished(record)
        passes.end()
        if not record["nonzeros"]:
            self._warn_empty()

    @contextmanager
    def _near(self, rows: Csr, passes):
        """Engine and rows that the passes walk, and the columns that alone can get weights, or None
        for all.

        Where columns outnumber the nonzeros no pass may look at all of them. Then the passes walk
        an engine of the columns that occur, whose cells come home at the end; callbacks, though,
        look at the model after each pass.
        """
        engine = self._engine
        if rows.n_features <= len(rows.indices) or engine.steps:
            yield engine, rows, None
            return
        columns, near = rows.packed()
        if passes.watched or not engine.packs:
            yield engine, rows, columns
            return
        packed = engine.packed(columns)
        try:
            yield packed, near, None
        finally:
            engine.follow(packed, columns)

    def _hold_out(self, rows, coded, weights, seed):
        """Rows kept for early stopping, their columns and weights, or None; and the weights of
        the others.
        """
        return None, weights

    # ------------------------------------------------------------------ records and warnings
    def _record(self, engine, nonzeros: int, before=(0.0, 0.0)) -> dict:
        """What happened since `before`: mean loss of each row before it was learnt, and what is
        kept.
        """
        cost, weight = _charged(engine)
        mean = (cost - before[0]) / max(weight - before[1], np.finfo(float).tiny)
        return {
            "pass": getattr(self, "n_iter_", 1),
            "rows": int(engine.steps),
            "loss": float(mean / self._targets.outputs),
            "nonzeros": int(nonzeros),
        }

    def _warn_unfinished(self, record):
        change = abs(self.history_[-2]["loss"] - record["loss"])
        warn_user(
            f"{type(self).__name__} used all {self.max_iter} passes while its loss still changed "
            f"by {change:.2g} a pass (now {record['loss']:.4g}). "
            "Raise max_iter or tol, or pass tol=None to run exactly max_iter passes.",
            ConvergenceWarning,
        )


@estimator(kw_only=True)
class Growing(Stream):
    """Streams whose weights may be held at 0 or above, and which may grow."""

    positive: bool = parameter(False, [BOOL], "Whether weights must not be negative.")
    grow: bool = parameter(
        False,
        [BOOL],
        "Whether `partial_fit` accepts new columns (at the right) and new classes in mid-stream.",
    )

    def _may_grow(self) -> bool:
        return self.grow


@estimator(kw_only=True)
class HeldOut(Stream):
    """Streams that can end by the score of rows that are held out."""

    early_stopping: bool = parameter(
        False, [BOOL], "Whether to hold out rows and end by their score."
    )
    validation_fraction: float = parameter(
        0.1, [FRACTION], "Share of rows held out with `early_stopping`."
    )

    def _hold_out(self, rows, coded, weights, seed):
        if not self.early_stopping:
            return None, weights
        present = np.flatnonzero(weights) if len(weights) else np.arange(rows.n_rows)
        strata = self._targets.strata(coded.columns[present])
        _, held = hold_out(
            present, self.validation_fraction, strata=strata, random_state=seed % 2**32
        )
        held.sort()
        weights = np.ones(rows.n_rows) if not len(weights) else weights.copy()
        marks = weights[held].copy()
        weights[held] = 0.0
        return (rows.picked(held), coded.columns[held], marks), frozen(weights)


def _charged(engine) -> tuple[float, float]:
    """Loss and weight of all rows so far."""
    return engine.loss, engine.weight


def _key(seed: int, turn: int) -> int:
    """Key of a pass's shuffle; never 0."""
    mixed = np.random.SeedSequence([seed, turn]).generate_state(1, np.uint64)[0]
    return int(mixed) | 1
