"""Rows of a sieve where they lie: columns in standard units by sums over all partitions, folds by
content, and the rows that are held out, which are judged here.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from tamis.distributed.executors import Held
from tamis.distributed.placing import Places
from tamis.distributed.staged.grounds import Counted, Ground, Grounds, even_weights, read
from tamis.distributed.visits import Partition
from tamis.methods.sieve.settings import Options
from tamis.methods.sieve.table.columns import (
    Measured,
    Passes,
    Sample,
    Table,
    Units,
    arranged,
    class_units,
    marked,
    measured_by,
    number_units,
    scaled_weights,
    settled_order,
)
from tamis.numerics.csr import NOTHING, Csr
from tamis.numerics.hashing import mix64_array, row_hashes
from tamis.numerics.moments import add_raw_moments

LAST = 2**64 - 1


class Kept(NamedTuple):
    """The smallest words of rows (at most so many), and weights and numbers of all rows."""

    words: np.ndarray
    most: int
    mass: float
    rows: int


class Judged(NamedTuple):
    """Rows that are judged: targets and weights, folds (rows, deals), words of their content; and
    sums over all rows: moments of the columns.
    """

    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    words: np.ndarray
    moments: np.ndarray


class Manner(Held):
    """How rows are brought to standard units: what all partitions agree on."""

    def __init__(self, measured: Measured, units: Units, options: Options, outputs: int):
        self.measured, self.units, self.options, self.outputs = measured, units, options, outputs
        self.bar, self.scale = LAST, 1.0


class Lot(NamedTuple):
    """A partition in standard units: its sample, and the numbers of the rows that are judged."""

    sample: Sample
    judged: np.ndarray
    words: np.ndarray


# --------------------------------------------------------------------------- on workers
class Taken(NamedTuple):
    """A partition as a fit takes it: rows, targets, weights, words for the content of the rows, and
    their order by these.
    """

    rows: Csr
    targets: np.ndarray
    weights: np.ndarray
    words: np.ndarray
    order: np.ndarray


def taken(partition: Partition, model: Any, scale: float | None = None) -> Ground:
    """A partition as a fit takes it; with weights if they have a scale."""
    rows, targets, weights, *_ = read(partition, model)
    if scale is not None and scale != 1.0 and not len(weights):
        weights = np.ones(rows.n_rows)
    if (scale is None or scale == 1.0) and (weights == 1.0).all():
        weights = NOTHING
    words = row_hashes(rows)
    order = settled_order(words, targets, weights)
    return Ground(partition.number, Taken(rows, targets, weights, words, order))


def words_of(ground: Ground) -> np.ndarray:
    """A word for each row: the smallest are judged."""
    return mix64_array(ground.what.words * np.uint64(7))


def smallest_words(ground: Ground, most: int) -> Kept:
    """The smallest words of a partition."""
    given = ground.what
    words = np.sort(words_of(ground))[:most]
    mass = float(given.rows.n_rows)
    mass = float(given.weights[given.order].sum()) if len(given.weights) else mass
    return Kept(words, most, mass, given.rows.n_rows)


def smallest_together(left: Kept, right: Kept) -> Kept:
    """The smallest words of both."""
    words = np.sort(np.concatenate([left.words, right.words]))[: left.most]
    return Kept(words, left.most, left.mass + right.mass, left.rows + right.rows)


def aims_of(ground: Ground, bar: int) -> tuple[np.ndarray]:
    """Targets of the rows that are judged."""
    return (ground.what.targets[words_of(ground) <= np.uint64(bar)],)


def _passes(ground: Ground, scale: float) -> Passes:
    """Passes over the rows of a partition."""
    rows, _, weights, _, order = ground.what
    if not len(weights) and scale != 1.0:
        weights = np.ones(rows.n_rows)
    return Passes(rows, order.astype(np.uint64), scaled_weights(weights, order, scale))


def column_sums(ground: Ground, scale: float) -> np.ndarray:
    """Entries, squares and tops of a partition."""
    return _passes(ground, scale).columns()


def sums_together(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Those of both."""
    return np.stack([*(left[:2] + right[:2]), np.maximum(left[2], right[2])])


def column_leaders(ground: Ground, scale: float, full: np.ndarray) -> np.ndarray:
    """Leading values, their lead, and sums of a partition."""
    return _passes(ground, scale).leaders(full)


def leaders_together(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A value in more than half of all rows leads here too: leads add, or cancel each other."""
    same, first = left[0] == right[0], left[1] >= right[1]
    lead = np.where(same, left[1] + right[1], np.abs(left[1] - right[1]))
    return np.stack([np.where(same | first, left[0], right[0]), lead, left[2] + right[2]])


def column_spread(ground: Ground, scale: float, *about: np.ndarray) -> np.ndarray:
    """Rows with the leading value, and squares, of a partition."""
    return _passes(ground, scale).about(*(one.copy() for one in about))


def plus(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A sum."""
    return left + right


def lot(partition: Partition, model: Any, manner: Manner) -> Ground:
    """A partition in standard units."""
    ground, manner = taken(partition, model, manner.scale), deepcopy(manner)  # to be written to
    rows, targets, weights, words, order = ground.what
    given = (rows, targets, weights, manner.outputs, manner.options, manner.units, manner.measured)
    chosen = words_of(ground) <= np.uint64(manner.bar)
    sample, order, words = arranged(*given, words, order, scale=manner.scale)
    return Ground(partition.number, Lot(sample, np.flatnonzero(chosen[order]), words))


def judged_of(ground: Ground) -> Judged:
    """What is known of the rows that are judged, and the moments of all."""
    sample, at, words = ground.what
    table = sample.table
    moments = np.zeros((2, len(table.density)))
    add_raw_moments(table.data, table.indices, table.indptr, table.weights, moments)
    weights = table.weights[at] if len(table.weights) else np.ones(len(at))
    return Judged(table.targets[at], weights, sample.folds[:, at].T, words[at], moments)


def judged_together(left: Judged, right: Judged) -> Judged:
    """Rows one after the other, sums added."""
    rows = [np.concatenate(pair) for pair in zip(left[:4], right[:4], strict=True)]
    return Judged(rows[0], rows[1], rows[2], rows[3], left.moments + right.moments)


# --------------------------------------------------------------------------- here
class Together:
    """`Passes` over all partitions; what an engine brings may be read-only, and is copied."""

    def __init__(self, grounds: Grounds, scale: float):
        self.grounds, self.scale = grounds, scale

    def columns(self) -> np.ndarray:
        """Entries, squares, tops."""
        return self.grounds.summed(column_sums, sums_together, self.scale).copy()

    def leaders(self, full: np.ndarray) -> np.ndarray:
        """Leading values, their lead, sums."""
        return self.grounds.summed(column_leaders, leaders_together, self.scale, full).copy()

    def about(self, full: np.ndarray, leader: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Rows with the leading value, squares about the mean and about it."""
        found: np.ndarray = self.grounds.summed(
            column_spread, plus, self.scale, full, leader, means
        )
        return found.copy()


class Surveyed(Sample):
    """The rows that are judged, without their entries, and the spread of all columns."""

    spread: np.ndarray

    def deviations(self) -> np.ndarray:
        """Standard deviation of each column, over all rows of all partitions."""
        return self.spread


def surveyed(model: Any, places: Places, counted: Counted, options: Options):
    """Partitions in standard units, the sample of those rows that are judged, and their order."""
    if getattr(model, "class_weight", None) == "balanced":
        model = type(model)(**{**model.get_params(), "class_weight": even_weights(counted)})
    raw, outputs = Grounds(places, taken, model), counted.targets.outputs
    kept = raw.summed(smallest_words, smallest_together, model.n_sample)
    bar = int(kept.words[-1]) if kept.rows > model.n_sample else LAST
    scale = kept.rows / kept.mass
    units = class_units(outputs)
    if not options.classes:
        aims = raw.summed(aims_of, _joined, bar)[0]
        units = number_units(aims, NOTHING, model.fit_intercept)
    labels = None if options.whole is None else options.whole.labels
    given = (kept.rows, len(counted.columns), model.fit_intercept, not options.classes, labels)
    manner = Manner(measured_by(Together(raw, scale), *given), units, options, outputs)
    manner.bar, manner.scale = bar, scale
    raw.forget()
    lots = Grounds(places, lot, model, manner)
    found: Judged = lots.summed(judged_of, judged_together)
    order = np.lexsort((np.arange(len(found.words)), found.words))
    return lots, _sample(found, order, manner, kept.rows), order


def _joined(left: tuple, right: tuple) -> tuple:
    return (np.concatenate([left[0], right[0]]),)


def _sample(found: Judged, order: np.ndarray, manner: Manner, rows: int) -> Surveyed:
    """The rows that are judged, as a run reads them."""
    weights, many = found.weights[order], len(order)
    weights = NOTHING if (weights == 1.0).all() else weights
    none, columns = np.zeros(0), manner.measured.columns
    table = Table(
        none, none.astype(np.uint32), np.zeros(many + 1, np.uint64),
        np.ascontiguousarray(found.targets[order]), weights, manner.measured.density,
        manner.outputs,
    )  # fmt: skip
    if manner.options.whole is not None:
        table = marked(table, manner.options.whole, columns.kept)
    sample = Surveyed(table, columns, manner.units, np.ascontiguousarray(found.folds[order].T))
    means, squares = found.moments / rows
    sample.spread = np.sqrt(np.maximum(squares - means**2, 0.0)) / columns.scale
    return sample
