"""The sieve on a stream: models of level 0 for every fold, column statistics, and a bounded sample
of rows.
"""

from copy import copy
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import csr_from_matrix
from tamis.methods.sieve.fit import fit_in_memory
from tamis.methods.sieve.paths import InitialState, Objective
from tamis.methods.sieve.result import SieveResult
from tamis.methods.sieve.settings import (
    MIN_DENSE_DENSITY,
    FeatureGroups,
    SieveOptions,
    base_settings,
)
from tamis.methods.sieve.stream.loop import TOTALS, Chunk, StreamArrays, StreamSettings, stream_rows
from tamis.methods.sieve.stream.sample import KeyedRows, sampling_keys, smallest_keys
from tamis.methods.sieve.table.standard_units import (
    ColumnScaling,
    Sample,
    TargetUnits,
    make_sample,
    unpenalized_last,
    with_groups,
)
from tamis.numerics.csr import Csr
from tamis.numerics.hashing import row_hashes
from tamis.system.schema import (
    array,
    count,
    flag,
    list_of,
    nested_object,
    number,
    optional,
    rows,
    separate_sizes,
    size,
    tuple_of,
)

MAX_KEY = np.uint64(2**64 - 1)


class SieveStream:
    """Bounded state of a stream. Every decision depends on the rows and their number alone, not on
    how they are cut into chunks.

    The sample holds the `n_sample` distinct rows with the smallest keys; a repeated row adds to its
    weight. The sample of an object never changes: `learn` and `merge_waiting` return a new stream,
    so that concurrent readers of the old one see a consistent sample.
    """

    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "n_outputs": size("outputs"),
        "folds": size("folds"),
        "n_sample": count(1),
        "classes": flag(),
        "feature_groups": optional(nested_object(FeatureGroups, "columns")),
        "counts": array("f8", "columns", minimum=0.0),
        "squares": array("f8", "columns", minimum=0.0),
        "filled": array("f8", 1, minimum=0.0),
        "states": array("f8", 2, "folds+1", "columns", "1+2*outputs"),
        "biases": array("f8", 2, "folds+1", "1+2*outputs"),
        "steps": array("f8", "folds+1", minimum=0.0),
        "totals": array("f8", "4+3*outputs"),
        "keys": array("u8", "sample", increasing=True),
        "bar": number(int, minimum=0, maximum=int(MAX_KEY)),
        "evicted": flag(),
        "rows": rows("sample", "columns"),
        "targets": array("f8", "sample", "targets", any_width_if_empty=True),
        "weights": array("f8", "sample", minimum=0.0),
        "waiting": list_of(
            separate_sizes(
                tuple_of(
                    rows("n", "columns"),
                    array("u8", "n"),
                    array("f8", "n", "targets"),
                    array("f8", "n", minimum=0.0),
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
        # The fields of TOTALS, then three numbers an output.
        self.steps, self.totals = np.zeros(folds + 1), np.zeros(4 + 3 * n_outputs)
        # The largest key of a full sample, and whether rows were left out.
        self.bar, self.evicted = int(MAX_KEY), False
        self.keys, self.rows = np.zeros(0, dtype=np.uint64), sp.csr_array((0, n_columns))
        self.targets = np.zeros((0, 1))
        self.weights: np.ndarray = np.zeros(0)
        self.waiting: list = []  # rows that are not yet merged into the sample

    def _after_load(self) -> None:
        """Refuse targets of a classifier that are no classes; loops use them as indices."""
        for targets in (
            (self.targets, *(chunk[2] for chunk in self.waiting)) if self.classes else ()
        ):
            is_encoded = targets.shape[1] == 1 and self.n_outputs > 1
            allowed = np.arange(self.n_outputs) if is_encoded else (-1, 1)
            if not np.isin(targets, allowed).all():
                raise ValueError(f"the sample holds a target that is none of {allowed}")

    @property
    def n_rows(self) -> int:
        """Number of rows seen, without those of weight 0."""
        return int(self.arrays.totals[0].rows)

    @property
    def arrays(self) -> StreamArrays:
        """Views of all arrays that the loop changes."""
        totals = self.totals[:4].view(TOTALS)
        positives, means, deviations = self.totals[4:].reshape(3, self.n_outputs)
        columns = self.counts, self.squares, self.filled
        models = self.steps, self.states, self.biases
        return StreamArrays(*columns, totals, positives, means, deviations, *models)

    # ------------------------------------------------------------------ learning
    def learn(self, rows: Csr, targets, weights, objective: Objective, strength) -> "SieveStream":
        """Learn from the rows in their order, and return the stream with its new sample.

        The models and the statistics, which both streams share, are changed; the sample of this
        one is not. `strength` is that of the penalty.
        """
        hashes = row_hashes(rows)
        folds = hash_folds(hashes, self.folds)
        settings = [
            [
                (setting.step, setting.strength, setting.scales_with_rarity)
                for setting in base_settings(objective.loss, strength, is_dense)
            ]
            for is_dense in (False, True)
        ]
        stream_rows(
            Chunk(*rows[:3], targets, weights, folds),
            self.arrays,
            np.array(settings, dtype=float),
            objective.loss,
            StreamSettings(
                objective.curvature, objective.intercept, float(self.classes), MIN_DENSE_DENSITY
            ),
        )
        return self._offer(rows, hashes, targets, weights)

    def _offer(self, rows: Csr, hashes, targets, weights) -> "SieveStream":
        """Return the stream with those of the rows waiting that may belong to its sample.

        These are the rows with small keys. When many wait they are merged into the sample.
        """
        chunk = KeyedRows.select(rows, sampling_keys(hashes, targets), targets, weights, self.bar)
        if not len(chunk.keys):
            return self
        stream = copy(self)
        stream.waiting = [*self.waiting, tuple(chunk)]
        n_waiting = sum(len(keys) for _, keys, _, _ in stream.waiting)
        return stream.merge_waiting() if n_waiting > max(len(self.keys), 1024) else stream

    def merge_waiting(self) -> "SieveStream":
        """Return the stream with the waiting rows merged into its sample."""
        if not self.waiting:
            return self
        stream = copy(self)
        old_sample = (self.rows, self.keys, self.targets, self.weights)
        chunks = [KeyedRows(*chunk) for chunk in [old_sample, *self.waiting] if len(chunk[1])]
        new_sample, is_cut = smallest_keys(chunks, self.n_sample)
        if is_cut:
            stream.bar, stream.evicted = int(new_sample.keys[-1]), True
        stream.rows, stream.keys, stream.targets, stream.weights = new_sample
        stream.waiting = []
        return stream

    # ------------------------------------------------------------------ the fit of the sample
    def fit_sample(self, objective: Objective, options: SieveOptions) -> SieveResult:
        """Fit the sample, and leave the stream as it is.

        If rows were left out of the sample, the fit starts from the models of the stream, and has
        all columns of the stream.
        """
        if not self.n_rows:
            return SieveResult.empty(self.n_columns, self.n_outputs)
        options = options._replace(n_folds=self.folds)  # those of the first call
        stream = self.merge_waiting()
        rows, is_centred = csr_from_matrix(stream.rows), objective.intercept > 0.0
        arguments = rows, stream.targets, stream.weights, self.n_outputs, options, is_centred
        sample = make_sample(*arguments, row_hashes(rows) if stream.evicted else None)
        if not stream.evicted:
            return fit_in_memory(sample, objective, options)
        sample = self._with_all_columns(sample)
        # `se` counts standard errors of an error over all rows, as in `fit`.
        fraction = stream.weights.sum() / self.arrays.totals[0].weight
        options = options._replace(se=options.se * float(np.sqrt(fraction)))
        initial = self._initial_states(sample.scaling, sample.units)
        return fit_in_memory(sample, objective, options, initial)

    def _with_all_columns(self, sample: Sample) -> Sample:
        """Return the sample with all columns of the stream, and their densities in all rows.

        Most words of a text do not occur in a sample of its rows.
        """
        table, scaling, groups = sample.table, sample.scaling, self.feature_groups
        is_constant = np.zeros(self.n_columns, dtype=bool)  # in the sample
        is_constant[np.unique(self.merge_waiting().rows.indices)] = True
        is_constant[scaling.retained] = False
        columns = np.flatnonzero((self.squares > 0.0) & ~is_constant)
        columns = columns if groups is None else unpenalized_last(columns, groups.labels)
        new_index = np.zeros(self.n_columns, dtype=np.int64)
        new_index[columns] = np.arange(len(columns))
        positions = new_index[scaling.retained]
        scale = np.sqrt(self.counts[columns] / self.squares[columns])
        shift = np.zeros(len(columns))
        scale[positions], shift[positions] = scaling.scale, scaling.shift
        indices = positions.astype(table.indices.dtype)[table.indices]
        density = np.minimum(self.counts[columns] / self.arrays.totals[0].weight, 1.0)
        # The density of a column with a shift counts the rows that differ from the shift.
        density[positions] = np.where(scaling.shift == 0.0, density[positions], table.density)
        table = table._replace(indices=indices, density=density)
        return sample._replace(
            table=table if groups is None else with_groups(table, groups, columns),
            scaling=scaling._replace(retained=columns, scale=scale, shift=shift),
        )

    def _initial_states(
        self, scaling: ColumnScaling, units: TargetUnits
    ) -> dict[str, list[InitialState]]:
        """Return the models of level 0 of every setting and fold, in the units of the sample."""
        outputs, columns = self.n_outputs, scaling.retained
        states, biases = self.states[:, :, columns].copy(), self.biases.copy()
        squares = np.maximum(self.squares[columns], 1e-300)
        to_original = np.sqrt(np.maximum(self.counts[columns], 1e-300) / squares)[:, None]
        ratio, offset = self._target_units(units)
        for block in (slice(1, 1 + outputs), slice(1 + outputs, 1 + 2 * outputs)):
            original_weights = states[..., block] * to_original * ratio
            states[..., block] = original_weights / scaling.scale[:, None]
            bias_shift = np.einsum("sgjc,j->sgc", original_weights, scaling.shift)
            biases[..., block] = biases[..., block] * ratio + bias_shift
        biases[..., 1 : 1 + outputs] += offset
        return {
            name: [
                InitialState(*group) for group in zip(states[s], biases[s], self.steps, strict=True)
            ]
            for s, name in enumerate(("conservative", "aggressive"))
        }

    def _target_units(self, units: TargetUnits) -> tuple[np.ndarray, np.ndarray]:
        """Return ratio and shift from the target units of the stream to those of the sample."""
        if self.classes:
            return np.ones(self.n_outputs), np.zeros(self.n_outputs)
        arrays = self.arrays
        weight = max(arrays.totals[0].weight, 1e-300)
        stream_unit = np.where(arrays.deviations > 0.0, arrays.deviations / weight, 1.0)
        return stream_unit / units.unit, (arrays.means - units.center) / units.unit
