"""Training by two readings, for models that ask for it: the first finds out what matters, the
second keeps it, then the model is fitted.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tamis.data.rows import ReadError, Rows
from tamis.data.source import RowSource
from tamis.data.survey import Survey
from tamis.system.progress import Progress
from tamis.training.judge import refuse_constant

MEMORY = 1000  # megabytes by default
A_FIT = 4  # bytes of a fit for each byte of its rows


def reads_twice(model: Any, rows: Iterable) -> bool:
    """Whether a model asks for two readings, and the rows can be read so often."""
    asks = getattr(model, "_reads_twice", None)
    again = isinstance(rows, RowSource) or iter(rows) is not rows
    return asks is not None and asks() and again


class Readings:
    """Both readings and the fit of a walk's model."""

    def __init__(self, walk: Any, memory: int, progress: bool | str):
        self.walk, self.model, self.source = walk, walk.model, walk.source
        self.memory, self.progress = memory * 10**6, progress

    def run(self) -> None:
        """Read, read again, fit, and say what happened."""
        first = self._first()
        if self.walk.ends.looks:
            refuse_constant(self.model, self.source)
        with Progress("looking at a sample", 0, self.progress):
            kept = self.model._second_reading(first, self.memory)
        del first  # sums of all columns, which nobody needs any more
        for chunk in self._chunks("second reading"):
            targets = self.walk._as_classes(chunk) if self.walk._wants_classes() else chunk.targets
            kept.add(chunk._replace(targets=targets))
        with Progress("fit", 0, self.progress):
            self.model._fit_kept(kept)
        line = {"pass": 2, "rows": kept.rows_read, "columns": kept.n_kept, "fitted": kept.n_rows}
        line |= {"nonzeros": len(self.model.support_), **self.walk.judge.look(self.model)}
        self.model.train_history_ = [line]
        if self.source is not None:
            self.model.reading_ = self.source.schema

    def _first(self) -> Any:
        """What the first reading found: that of a survey, where one was made for this model."""
        if self.source is None:
            first = self.model._first_reading(self.memory)
            for chunk in self._chunks("first reading"):
                first.add(chunk)
            if first.contrasts is None:
                raise ReadError("no rows: there is no chunk with a row in it.")
            return first
        survey = self.source.surveyed
        if survey is None or survey.beside is None:
            survey = first_reading(self.source, self.model, self.memory, self.progress)
        first, survey.beside = survey.beside, None
        return first

    def _chunks(self, label: str) -> Iterator[Rows]:
        """The chunks of a reading, under a bar."""
        total, rows = self.source.total if self.source else 0, 0
        with Progress(label, total, self.progress) as bar:
            for chunk in self.walk._chunks(None):
                if chunk.X.shape[0]:
                    yield chunk
                rows += chunk.X.shape[0]
                bar.advance((self.source.done if self.source else 0) - bar.done, f"{rows:,} rows")


def first_reading(
    source: RowSource,
    model: Any,
    memory: int,
    progress: bool | str = "auto",
    task: str | None = "model",
    columns: bool = False,
) -> Survey:
    """A survey of a source in which a model looks on. Rows whose fit takes no more than `memory`
    bytes stay for the second reading.
    """
    with Progress("first reading", source.total, progress) as bar:
        return source.survey(
            columns=columns,
            watch=lambda: model._first_reading(memory, task),
            tell=lambda done: bar.advance(done - bar.done),
            memory=memory // A_FIT,
        )
