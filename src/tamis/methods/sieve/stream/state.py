"""The sieve on a stream: level-0 models of every group, column statistics, and a bounded sample of
rows.
"""

from copy import copy
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import _from_csr
from tamis.methods.sieve.fit import fit_in_memory
from tamis.methods.sieve.paths import InitialState, Task
from tamis.methods.sieve.result import Result
from tamis.methods.sieve.settings import DENSE, FeatureGroups, Options, bases_of
from tamis.methods.sieve.stream.loop import CLOCK, Chunk, Running, StreamSettings, stream_rows
from tamis.methods.sieve.stream.sample import Keyed, keys_of, smallest
from tamis.methods.sieve.table.columns import (
    Columns,
    Sample,
    Units,
    always_last,
    marked,
    sample_of,
)
from tamis.numerics.csr import Csr
from tamis.numerics.hashing import row_hashes
from tamis.system.schema import (
    apart,
    array,
    count,
    flag,
    listing,
    number,
    optional,
    part,
    rows,
    size,
    tuple_of,
)

LAST = np.uint64(2**64 - 1)


class SieveStream:
    """Bounded state of a stream; every decision depends on the rows and their count alone, not on
    how they are cut.

    The sample holds the `n_sample` distinct rows with the smallest hash of their content, a
    repeated row with its weight. It never changes on an object: `learn` and `taken_in` return the
    stream with the next one, so that who looks at this one finds its parts together.
    """

    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "n_outputs": size("outputs"),
        "folds": size("folds"),
        "n_sample": count(1),
        "classes": flag(),
        "feature_groups": optional(part(FeatureGroups, "columns")),
        "counts": array("f8", "columns", least=0.0),
        "squares": array("f8", "columns", least=0.0),
        "filled": array("f8", 1, least=0.0),
        "states": array("f8", 2, "folds+1", "columns", "1+2*outputs"),
        "biases": array("f8", 2, "folds+1", "1+2*outputs"),
        "steps": array("f8", "folds+1", least=0.0),
        "totals": array("f8", "4+3*outputs"),
        "keys": array("u8", "sample", increasing=True),
        "bar": number(int, least=0, most=int(LAST)),
        "evicted": flag(),
        "rows": rows("sample", "columns"),
        "targets": array("f8", "sample", "targets", loose=True),
        "weights": array("f8", "sample", least=0.0),
        "waiting": listing(
            apart(
                tuple_of(
                    rows("n", "columns"),
                    array("u8", "n"),
                    array("f8", "n", "targets"),
                    array("f8", "n", least=0.0),
                ),
                "columns",
                "targets",
            )
        ),
    }

    feature_groups: FeatureGroups | None = None

    def __init__(
        self,
        n_columns: int,
        n_outputs: int,
        folds: int,
        n_sample: int,
        classes: bool,
        feature_groups: FeatureGroups | None = None,
    ):
        if feature_groups is not None:  # those of the first call
            self.feature_groups = feature_groups
        self.n_columns, self.n_outputs, self.folds = n_columns, n_outputs, folds
        self.n_sample, self.classes = n_sample, classes
        width = 1 + 2 * n_outputs
        self.counts, self.squares = np.zeros(n_columns), np.zeros(n_columns)
        self.filled = np.zeros(1)  # weight of all entries
        self.states = np.zeros((2, folds + 1, n_columns, width))
        self.biases = np.zeros((2, folds + 1, width))
        # A clock, then three numbers an output.
        self.steps, self.totals = np.zeros(folds + 1), np.zeros(4 + 3 * n_outputs)
        self.keys, self.bar, self.evicted = np.zeros(0, dtype=np.uint64), int(LAST), False
        self.rows = sp.csr_array((0, n_columns))
        self.targets = np.zeros((0, 1))
        self.weights: np.ndarray = np.zeros(0)
        self.waiting: list = []  # rows not yet taken into the sample

    def _restored(self) -> None:
        """Refuse targets that are no classes of this stream: loops take them as indices."""
        for targets in (self.targets, *(held[2] for held in self.waiting)) if self.classes else ():
            coded = targets.shape[1] == 1 and self.n_outputs > 1
            allowed = np.arange(self.n_outputs) if coded else (-1, 1)
            if not np.isin(targets, allowed).all():
                raise ValueError(f"the sample holds a target that is none of {allowed}")

    @property
    def n_rows(self) -> int:
        """Rows seen, those of weight 0 left out."""
        return int(self.running.clock[0].rows)

    @property
    def running(self) -> Running:
        """All that the loop changes, by name."""
        clock = self.totals[:4].view(CLOCK)
        first, second, third = self.totals[4:].reshape(3, self.n_outputs)
        columns = self.counts, self.squares, self.filled
        models = self.steps, self.states, self.biases
        return Running(*columns, clock, first, second, third, *models)

    # ------------------------------------------------------------------ learning
    def learn(self, rows: Csr, targets, weights, task: Task, strength) -> "SieveStream":
        """Walk the rows in their order, then offer them to the sample; the stream from then on."""
        hashes = row_hashes(rows)
        folds = hash_folds(hashes, self.folds)
        both = [bases_of(task.loss, strength, full) for full in (False, True)]
        bases = [[(base.step, base.strength, base.follows) for base in bases] for bases in both]
        stream_rows(
            Chunk(*rows[:3], targets, weights, folds),
            self.running,
            np.array(bases, dtype=float),
            task.loss,
            StreamSettings(task.curvature, task.intercept, float(self.classes), DENSE),
        )
        return self._offered(rows, hashes, targets, weights)

    def _offered(self, rows: Csr, hashes, targets, weights) -> "SieveStream":
        """The stream with rows whose key is small enough before its sample; they are taken in when
        there are many.
        """
        part = Keyed.picked(rows, keys_of(hashes, targets), targets, weights, self.bar)
        if not len(part.keys):
            return self
        after = copy(self)
        after.waiting = [*self.waiting, tuple(part)]
        many = sum(len(keys) for _, keys, _, _ in after.waiting)
        return after.taken_in() if many > max(len(self.keys), 1024) else after

    def taken_in(self) -> "SieveStream":
        """The stream with the waiting rows in its sample: the smallest keys of both; the same row
        and target again adds to its weight.
        """
        if not self.waiting:
            return self
        after = copy(self)
        held = (self.rows, self.keys, self.targets, self.weights)
        parts = [Keyed(*part) for part in [held, *self.waiting] if len(part[1])]
        found, cut = smallest(parts, self.n_sample)
        if cut:
            after.bar, after.evicted = int(found.keys[-1]), True
        after.rows, after.keys, after.targets, after.weights = found
        after.waiting = []
        return after

    # ------------------------------------------------------------------ what has been learnt
    def refined(self, task: Task, options: Options) -> Result:
        """A fit of the sample; from the stream's own models, and with its columns, once
        the sample is a part of it only. The stream stays as it is.
        """
        if not self.n_rows:
            return Result.of_nothing(self.n_columns, self.n_outputs)
        options = options._replace(folds=self.folds)  # those of its first call
        whole = self.taken_in()
        rows, centred = _from_csr(whole.rows), task.intercept > 0.0
        given = rows, whole.targets, whole.weights, self.n_outputs, options, centred
        sample = sample_of(*given, row_hashes(rows) if whole.evicted else None)
        if not whole.evicted:
            return fit_in_memory(sample, task, options)
        sample = self._widened(sample)
        # The size gives up standard errors of an error over all rows, as that of `fit` does.
        share = whole.weights.sum() / self.running.clock[0].weight
        options = options._replace(se=options.se * float(np.sqrt(share)))
        return fit_in_memory(sample, task, options, self._start(sample.columns, sample.units))

    def _widened(self, sample: Sample) -> Sample:
        """The sample with all columns of the stream, those that its own rows lack too, and with how
        often they are filled in all rows: most words of a text are not in a part of it.
        """
        table, columns, groups = sample.table, sample.columns, self.feature_groups
        dropped = np.zeros(self.n_columns, dtype=bool)  # met in the sample, and found constant
        dropped[np.unique(self.taken_in().rows.indices)] = True
        dropped[columns.kept] = False
        kept = np.flatnonzero((self.squares > 0.0) & ~dropped)
        kept = kept if groups is None else always_last(kept, groups.labels)
        place = np.zeros(self.n_columns, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        at = place[columns.kept]
        scale, shift = np.sqrt(self.counts[kept] / self.squares[kept]), np.zeros(len(kept))
        scale[at], shift[at] = columns.scale, columns.shift
        indices = at.astype(table.indices.dtype)[table.indices]
        density = np.minimum(self.counts[kept] / self.running.clock[0].weight, 1.0)
        # A column that is measured from elsewhere than 0 is filled wherever it is not there.
        density[at] = np.where(columns.shift == 0.0, density[at], table.density)
        table = table._replace(indices=indices, density=density)
        return sample._replace(
            table=table if groups is None else marked(table, groups, kept),
            columns=columns._replace(kept=kept, scale=scale, shift=shift),
        )

    def _start(self, columns: Columns, units: Units) -> dict[str, list[InitialState]]:
        """The level-0 models of every base and group, in the units of the sample."""
        many, at = self.n_outputs, columns.kept
        states, biases = self.states[:, :, at].copy(), self.biases.copy()
        squares = np.maximum(self.squares[at], 1e-300)
        to_given = np.sqrt(np.maximum(self.counts[at], 1e-300) / squares)[:, None]
        ratio, offset = self._target_units(units)
        for own in (slice(1, 1 + many), slice(1 + many, 1 + 2 * many)):
            given = states[..., own] * to_given * ratio
            states[..., own] = given / columns.scale[:, None]
            shifted = np.einsum("sgjc,j->sgc", given, columns.shift)
            biases[..., own] = biases[..., own] * ratio + shifted
        biases[..., 1 : 1 + many] += offset
        return {
            base: [
                InitialState(*group) for group in zip(states[s], biases[s], self.steps, strict=True)
            ]
            for s, base in enumerate(("conservative", "aggressive"))
        }

    def _target_units(self, units: Units) -> tuple[np.ndarray, np.ndarray]:
        """Units of the running targets against those of the sample, and the shift between their
        centers.
        """
        many = self.n_outputs
        if self.classes:
            return np.ones(many), np.zeros(many)
        running = self.running
        means, deviations = running.means, running.deviations
        weight = max(running.clock[0].weight, 1e-300)
        own = np.where(deviations > 0.0, deviations / weight, 1.0)
        return own / units.unit, (means - units.center) / units.unit
