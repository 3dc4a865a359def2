"""Training by two readings, for models that ask for it: the first finds out what matters, the
second keeps it, then the model is fitted.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tamis.data.rows import ReadError, Rows
from tamis.data.source import RowSource
from tamis.system.progress import Progress
from tamis.training.judge import refuse_constant

MEMORY = 1000  # megabytes by default


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

    def refuse(self, checkpoint: Any) -> None:
        """Refuse what has a meaning for models that learn chunk by chunk alone."""
        name = type(self.model).__name__
        asked = {
            f"passes={self.walk.passes}": self.walk.passes > 1,
            "checkpoint": checkpoint is not None,
            'validate="progressive"': self.walk.judge.progressive,
        }
        for what, given in asked.items():
            if given:
                raise ValueError(
                    f"{what} is for models that learn chunk by chunk: {name} reads the rows twice "
                    "and then fits them. Leave it out, or pass stream=True (on the command line "
                    "--stream) for one that learns from a stream."
                )

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
            survey = first_reading(
                self.source, lambda: self.model._first_reading(self.memory), self.progress
            )
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


def first_reading(source: RowSource, watch: Any, progress: bool | str = "auto", columns=False):
    """A survey of a source in which a model looks on."""
    with Progress("first reading", source.total, progress) as bar:
        return source.survey(
            columns=columns, watch=watch, tell=lambda done: bar.advance(done - bar.done)
        )
