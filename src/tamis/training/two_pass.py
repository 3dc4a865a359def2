"""Training by two readings of the rows, for models that require all rows at once.

The first reading gathers statistics of the columns, the second one stores the relevant columns,
then the model is fitted.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tamis.data.rows import ReadError, Rows
from tamis.data.source import RowSource
from tamis.data.survey import Survey
from tamis.system.progress import Progress
from tamis.training.validation import refuse_constant

DEFAULT_MEMORY_MB = 1000  # megabytes
FIT_BYTES_RATIO = 4  # bytes of a fit for each byte of its rows


def reads_twice(model: Any, rows: Iterable) -> bool:
    """Return whether a model requires two readings and the rows can be read twice."""
    method = getattr(model, "_reads_twice", None)
    is_rereadable = isinstance(rows, RowSource) or iter(rows) is not rows
    return method is not None and method() and is_rereadable


class TwoPassTrainer:
    """Training of a model by two readings and a fit."""

    def __init__(self, trainer: Any, memory: int, progress: bool | str):
        self.trainer, self.model, self.source = trainer, trainer.model, trainer.source
        self.memory, self.progress = memory * 10**6, progress

    def run(self) -> None:
        """Read twice, fit, and write the history."""
        statistics = self._first()
        if self.trainer.target_range.is_active:
            refuse_constant(self.model, self.source)
        with Progress("looking at a sample", 0, self.progress):
            second_reading = self.model._second_reading(statistics, self.memory)
        del statistics  # free the sums of all columns
        for chunk in self._chunks("second reading"):
            targets = (
                self.trainer._as_classes(chunk) if self.trainer._takes_classes() else chunk.targets
            )
            second_reading.add(chunk._replace(targets=targets))
        with Progress("fit", 0, self.progress):
            self.model._fit_second_reading(second_reading)
        entry = {
            "pass": 2,
            "rows": second_reading.rows_read,
            "columns": second_reading.n_kept,
            "fitted": second_reading.n_rows,
        }
        entry |= {
            "nonzeros": len(self.model.support_),
            **self.trainer.validator.held_out_error(self.model),
        }
        self.model.train_history_ = [entry]
        if self.source is not None:
            self.model.reading_ = self.source.schema

    def _first(self) -> Any:
        """Return the statistics of the first reading, or of a survey made for this model."""
        if self.source is None:
            statistics = self.model._first_reading(self.memory)
            for chunk in self._chunks("first reading"):
                statistics.add(chunk)
            if statistics.contrasts is None:
                raise ReadError("no rows: there is no chunk with a row in it.")
            return statistics
        survey = self.source.survey_result
        if survey is None or survey.observer is None:
            survey = survey_for_model(self.source, self.model, self.memory, self.progress)
        statistics, survey.observer = survey.observer, None
        return statistics

    def _chunks(self, label: str) -> Iterator[Rows]:
        """Yield the chunks of a reading, with a progress bar."""
        total, rows = self.source.total if self.source else 0, 0
        with Progress(label, total, self.progress) as progress_bar:
            for chunk in self.trainer._chunks(None):
                if chunk.X.shape[0]:
                    yield chunk
                rows += chunk.X.shape[0]
                progress_bar.advance(
                    (self.source.done if self.source else 0) - progress_bar.done, f"{rows:,} rows"
                )


def survey_for_model(
    source: RowSource,
    model: Any,
    memory: int,
    progress: bool | str = "auto",
    task: str | None = "model",
    columns: bool = False,
) -> Survey:
    """Return a survey of a source with the statistics that a model needs.

    Rows whose fit takes at most `memory` bytes stay in memory for the second reading.
    """
    with Progress("first reading", source.total, progress) as progress_bar:
        return source.survey(
            columns=columns,
            watch=lambda: model._first_reading(memory, task),
            tell=lambda done: progress_bar.advance(done - progress_bar.done),
            memory=memory // FIT_BYTES_RATIO,
        )
