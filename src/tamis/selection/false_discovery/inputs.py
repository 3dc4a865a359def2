"""Rows as users give them, from files or as pairs that can be gone over again: measured once, and
their targets coded.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import MAX_CLASSES, one_class_message, too_many_classes_message
from tamis.base.fast_checks import check_array, check_sparse, dense, distinct, kind_of_targets
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.data.rows import Labels, Rows
from tamis.data.source import RowSource
from tamis.selection.false_discovery.claims import CLASSES
from tamis.selection.false_discovery.stream import OutcomeChunk, ColumnMoments, widened
from tamis.system.progress import Progress


class FirstReading:
    """What the first reading finds: sums of the columns, and what the targets are."""

    def __init__(self) -> None:
        self.moments = ColumnMoments()
        self.values: set = set()
        self.kinds: set[str] = set()
        self.width = 0  # of a matrix of targets

    def add(self, rows: Any) -> None:
        """Take in a chunk."""
        several = isinstance(rows, Rows) and isinstance(rows.targets, Labels)
        if several:  # which labels there are is known once all rows were read
            rows = rows._replace(targets=np.ones(rows.X.shape[0]))
        X, targets, weights = _plain(rows)
        if not X.shape[0]:
            return
        self.moments.add(X, weights)
        if several:
            self.kinds.add("multilabel-indicator")
            return
        self.kinds.add(kind_of_targets(targets))
        if sp.issparse(targets) or targets.ndim > 1:
            self.width = max(self.width, targets.shape[1])
        elif len(self.values) <= MAX_CLASSES:
            self.values.update(np.unique(targets).tolist())


class RepeatedReader:
    """Chunks of rows, measured in a first reading; later ones give coded targets."""

    def __init__(self, rows: Any, progress: bool | str):
        self.rows, self.progress, self.readings = rows, progress, 1
        if isinstance(rows, RowSource):
            with Progress("reading 1", max(rows.total, 1), progress) as bar:
                rows.survey(watch=FirstReading, tell=lambda done: bar.advance(done - bar.done))
            assert rows.surveyed is not None
            first, rows.surveyed.beside = rows.surveyed.beside, None
        else:
            if iter(rows) is rows:
                raise ValueError(
                    "the rows are read several times: pass what can be gone over again "
                    "(open_rows, or a list of pairs), not an iterator."
                )
            first = FirstReading()
            for chunk in rows:
                first.add(chunk)
        assert isinstance(first, FirstReading)
        self.first, self.moments = first, first.moments
        if not self.moments.n_rows:
            raise ValueError("no rows: there is no chunk with a row in it.")

    def _read(self) -> Iterator[tuple[sp.csr_array, Any, np.ndarray]]:
        """Rows, targets as they are, weights; under a bar."""
        self.readings += 1
        source = self.rows if isinstance(self.rows, RowSource) else None
        seen, total = 0, max(source.total, 1) if source is not None else 0
        with Progress(f"reading {self.readings}", total, self.progress) as bar:
            for chunk in self.rows:
                X, targets, weights = _plain(chunk)
                if X.shape[0]:
                    yield X, targets, weights
                seen += X.shape[0]
                done = source.done if source is not None else 0
                bar.advance(done - bar.done, f"{seen:,} rows")

    def coded(self, how: str) -> ClassTargets | NumberTargets:
        """Classes or numbers: as asked, or as they look."""
        source = self.rows if isinstance(self.rows, RowSource) else None
        if how == "auto" and source is not None and source.surveyed is not None:
            classes = source.surveyed.as_classes()
        else:
            classes = how == "classes" or (how == "auto" and self.first.kinds <= {*CLASSES})
        names = np.arange(self.first.width)
        if source is not None and source.several and source.labels:
            names = np.asarray(source.labels)
        if len(names):
            return ClassTargets(names, labels=True) if classes else NumberTargets(len(names), False)
        if not classes:
            return NumberTargets(1, True)
        if len(self.first.values) > MAX_CLASSES:
            raise ValueError(too_many_classes_message("Pass targets='numbers'."))
        if len(self.first.values) < 2:
            raise ValueError(one_class_message("FDRSelector", next(iter(self.first.values))))
        return ClassTargets(distinct(self.first.values))

    def chunks(self, coded: ClassTargets | NumberTargets) -> Iterator[OutcomeChunk]:
        """Another reading, with targets (rows, outputs): 0 and 1 for classes."""
        for X, targets, weights in self._read():
            yield OutcomeChunk(X, _outcomes(targets, coded), weights)

    def whole(self, coded: ClassTargets | NumberTargets) -> OutcomeChunk:
        """All rows in memory."""
        parts, width = list(self.chunks(coded)), self.moments.sums.shape[1]
        X = sp.vstack([widened(part.X, width) for part in parts], format="csr")
        outcomes, weights = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return OutcomeChunk(sp.csr_array(X), outcomes, weights)


def _plain(chunk: Any) -> tuple[sp.csr_array, Any, np.ndarray]:
    """Rows, targets and weights of a chunk of a file, or of a pair (or three) of arrays."""
    if isinstance(chunk, Rows):
        X, targets, weights = chunk.X, chunk.targets, chunk.weights
    else:
        X, targets, weights = (*chunk, None)[:3]
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0)
    if targets is None:
        raise ValueError("there are no targets: name their column.")
    check_sparse(targets, "targets")
    targets = targets.tocsr() if sp.issparse(targets) else np.asarray(targets)
    if not targets.ndim:
        raise ValueError(f"the targets of a chunk are a single value, {targets!r}. Pass one a row.")
    if targets.dtype == object and kind_of_targets(targets) == "unknown":
        targets = check_array(targets, ensure_2d=False, dtype=np.float64, input_name="targets")
    if targets.dtype.kind == "f" and not sp.issparse(targets) and np.isnan(targets).any():
        raise ValueError("a target is missing (nan). Leave such rows out.")
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    X = sp.csr_array(X)
    if not weights.all():  # a row of weight 0 was not met
        there = np.flatnonzero(weights)
        X, targets, weights = X[there], targets[there], weights[there]
    return (X if X.dtype == np.float64 else X.astype(np.float64)), targets, weights


def _outcomes(targets: Any, coded: ClassTargets | NumberTargets) -> np.ndarray:
    targets = dense(targets)
    if isinstance(coded, NumberTargets):
        return np.asarray(targets, dtype=float).reshape(len(targets), coded.outputs)
    if coded.labels:
        return (targets > 0).astype(float)
    codes = np.searchsorted(coded.classes, targets)
    if coded.outputs == 1:
        return (codes == 1).astype(float)[:, None]
    return (codes[:, None] == np.arange(coded.outputs)).astype(float)
