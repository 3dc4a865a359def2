"""Input of `FDRSelector.fit_rows`: rows of files or chunks of arrays that are read several times,
with encoded targets.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import MAX_CLASSES, one_class_message, too_many_classes_message
from tamis.base.fast_checks import check_array, check_sparse, target_type, to_dense, unique_classes
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.data.rows import Labels, Rows
from tamis.data.source import RowSource
from tamis.selection.false_discovery.base_selector import CLASS_TARGET_TYPES
from tamis.selection.false_discovery.stream import ColumnMoments, OutcomeChunk, widen
from tamis.system.progress import Progress


class FirstReading:
    """Sums of the columns and the types of the targets, from the first pass."""

    def __init__(self) -> None:
        self.moments = ColumnMoments()
        self.distinct_targets: set = set()
        self.target_types: set[str] = set()
        self.n_outputs = 0  # columns of the targets, where these are a matrix

    def add(self, rows: Any) -> None:
        """Add a chunk."""
        has_labels = isinstance(rows, Rows) and isinstance(rows.targets, Labels)
        if has_labels:  # the set of labels is known only after all rows
            rows = rows._replace(targets=np.ones(rows.X.shape[0]))
        X, targets, weights = _unpack_chunk(rows)
        if not X.shape[0]:
            return
        self.moments.add(X, weights)
        if has_labels:
            self.target_types.add("multilabel-indicator")
            return
        self.target_types.add(target_type(targets))
        if sp.issparse(targets) or targets.ndim > 1:
            self.n_outputs = max(self.n_outputs, targets.shape[1])
        elif len(self.distinct_targets) <= MAX_CLASSES:
            self.distinct_targets.update(np.unique(targets).tolist())


class RepeatedReader:
    """Rows in chunks: a first pass sums the columns, later passes give encoded targets."""

    def __init__(self, rows: Any, progress: bool | str):
        self.rows, self.progress, self.n_readings = rows, progress, 1
        if isinstance(rows, RowSource):
            with Progress("reading 1", max(rows.total, 1), progress) as progress_bar:
                rows.survey(
                    watch=FirstReading,
                    tell=lambda done: progress_bar.advance(done - progress_bar.done),
                )
            assert rows.survey_result is not None
            first, rows.survey_result.observer = rows.survey_result.observer, None
        else:
            if iter(rows) is rows:
                raise ValueError(
                    "the rows are read several times: pass open_rows(...) or a list of pairs, "
                    "not an iterator."
                )
            first = FirstReading()
            for chunk in rows:
                first.add(chunk)
        assert isinstance(first, FirstReading)
        self.first, self.moments = first, first.moments
        if not self.moments.n_rows:
            raise ValueError("no rows: there is no chunk with a row in it.")

    def _read_chunks(self) -> Iterator[tuple[sp.csr_array, Any, np.ndarray]]:
        """Yield rows, targets as they are, and weights, under a progress bar."""
        self.n_readings += 1
        source = self.rows if isinstance(self.rows, RowSource) else None
        n_rows_read, total = 0, max(source.total, 1) if source is not None else 0
        with Progress(f"reading {self.n_readings}", total, self.progress) as progress_bar:
            for chunk in self.rows:
                X, targets, weights = _unpack_chunk(chunk)
                if X.shape[0]:
                    yield X, targets, weights
                n_rows_read += X.shape[0]
                progress_done = source.done if source is not None else 0
                progress_bar.advance(progress_done - progress_bar.done, f"{n_rows_read:,} rows")

    def resolve_targets(self, target_type: str) -> ClassTargets | NumberTargets:
        """Return the encoding of the targets: `target_type`, or by their values for "auto"."""
        source = self.rows if isinstance(self.rows, RowSource) else None
        if target_type == "auto" and source is not None and source.survey_result is not None:
            classes = source.survey_result.as_classes()
        else:
            classes = target_type == "classes" or (
                target_type == "auto" and self.first.target_types <= {*CLASS_TARGET_TYPES}
            )
        names = np.arange(self.first.n_outputs)
        if source is not None and source.several and source.labels:
            names = np.asarray(source.labels)
        if len(names):
            return ClassTargets(names, labels=True) if classes else NumberTargets(len(names), False)
        if not classes:
            return NumberTargets(1, True)
        if len(self.first.distinct_targets) > MAX_CLASSES:
            raise ValueError(too_many_classes_message("Pass targets='numbers'."))
        if len(self.first.distinct_targets) < 2:
            raise ValueError(
                one_class_message("FDRSelector", next(iter(self.first.distinct_targets)))
            )
        return ClassTargets(unique_classes(self.first.distinct_targets))

    def chunks(self, encoding: ClassTargets | NumberTargets) -> Iterator[OutcomeChunk]:
        """Read the rows again, with outcomes (rows, outputs): 0 and 1 for classes."""
        for X, targets, weights in self._read_chunks():
            yield OutcomeChunk(X, _encode_outcomes(targets, encoding), weights)

    def read_all(self, encoding: ClassTargets | NumberTargets) -> OutcomeChunk:
        """Read all rows into one chunk."""
        chunks, width = list(self.chunks(encoding)), self.moments.sums.shape[1]
        X = sp.vstack([widen(chunk.X, width) for chunk in chunks], format="csr")
        outcomes, weights = (np.concatenate([chunk[k] for chunk in chunks]) for k in (1, 2))
        return OutcomeChunk(sp.csr_array(X), outcomes, weights)


def _unpack_chunk(chunk: Any) -> tuple[sp.csr_array, Any, np.ndarray]:
    """Return rows, targets and weights of a chunk: of a file, (X, y), or (X, y, weights)."""
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
    if targets.dtype == object and target_type(targets) == "unknown":
        targets = check_array(targets, ensure_2d=False, dtype=np.float64, input_name="targets")
    if targets.dtype.kind == "f" and not sp.issparse(targets) and np.isnan(targets).any():
        raise ValueError("a target is missing (nan). Leave such rows out.")
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    X = sp.csr_array(X)
    if not weights.all():  # a row of weight 0 does not count
        counted = np.flatnonzero(weights)
        X, targets, weights = X[counted], targets[counted], weights[counted]
    return (X if X.dtype == np.float64 else X.astype(np.float64)), targets, weights


def _encode_outcomes(targets: Any, encoding: ClassTargets | NumberTargets) -> np.ndarray:
    """Return the targets as floats (rows, outputs): 0 and 1 for classes."""
    targets = to_dense(targets)
    if isinstance(encoding, NumberTargets):
        return np.asarray(targets, dtype=float).reshape(len(targets), encoding.outputs)
    if encoding.labels:
        return (targets > 0).astype(float)
    codes = np.searchsorted(encoding.classes, targets)
    if encoding.outputs == 1:
        return (codes == 1).astype(float)[:, None]
    return (codes[:, None] == np.arange(encoding.outputs)).astype(float)
