"""`train`: train any model with `partial_fit` in passes over rows, or a sieve by two readings."""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from tamis.base.class_messages import too_many_classes_message
from tamis.base.scores import summarize_losses
from tamis.data.rows import Position, PositionError, ReadError, Rows, class_numbers
from tamis.data.source import MAX_CACHED_BYTES, RowSource
from tamis.system.files import StrPath
from tamis.system.progress import Progress
from tamis.system.threads import locked
from tamis.training.checkpoint import (
    IGNORED_OPTIONS,
    RESTART_HINT,
    CheckpointError,
    CheckpointFolder,
    take_files,
)
from tamis.training.interruption import Interruption
from tamis.training.option_checks import refuse_options
from tamis.training.record import HISTORY_GROWTH, State
from tamis.training.two_pass import DEFAULT_MEMORY_MB, TwoPassTrainer, reads_twice
from tamis.training.validation import TargetRange, Validate, Validator, constant_target_message


class Learner(Protocol):
    """Model that can be trained: any model with `partial_fit`."""

    @property
    def partial_fit(self) -> Callable[..., Any]:
        """Learn from a chunk."""


Model = TypeVar("Model", bound=Learner)


@locked
def train(
    model: Model,
    rows: RowSource | Iterable[Rows] | Iterable[tuple[Any, Any]],
    *,
    passes: int = 1,
    validate: Validate = None,
    checkpoint: StrPath | CheckpointFolder | None = None,
    every: int = 100_000,
    progress: bool | Literal["auto"] = "auto",
    stream: bool = False,
    memory: int = DEFAULT_MEMORY_MB,
) -> Model:
    """Train a model on a source of rows, in bounded memory: chunk by chunk, or by two readings.

    A thread reads rows ahead while the model learns. The models of tamis do not depend on how rows
    are cut into chunks. For a model that must know its classes and columns beforehand (all without
    ``grow=True``), the source is read once more before the first pass. If the model has `refine`,
    it is called at the end.

    A sieve reads the rows twice if they can be read again, and is then fitted (with `stream=True`
    it learns in passes instead). The first reading gathers sums of every column over all rows, and
    a sample; the second stores the candidate columns of all rows. If the fit of all columns (48
    bytes an entry, 400 a row) fits into `memory`, all columns are candidates, and the model equals
    that of `fit`; rows that need a quarter of it stay in memory between the readings. Otherwise
    candidates are the columns whose contrast between the classes (or with the target) is three
    standard errors, the columns that a sieve of the sample selects with the strongest eight for
    each, and columns with few entries. Columns for a fold are chosen without its targets, so that
    held-out errors are not optimistic.

    Parameters
    ----------
    model : estimator
        Any model with `partial_fit`; the training of a fitted one continues.
    rows : RowSource, or iterable of Rows or of (X, y)
        The result of `open_rows`, or chunks; several passes need an iterable that can be iterated
        again.
    passes : int, default=1
        Passes over the rows, in their order.
    validate : None, "progressive", RowSource or (X, y), default=None
        "progressive" predicts chunks of the first pass before they are learnt, and stores the mean
        error: the first 16 chunks, then one in eight. Held-out rows are predicted at each entry of
        the history.
    checkpoint : path or None, default=None
        Folder for checkpoints only: it is created if it does not exist, and refused if it has other
        files, or while another process or thread uses it. If it has a checkpoint of the same task,
        training resumes there, with the same bits; one of other data or parameters is refused.
    every : int, default=100_000
        Minimum number of rows between two checkpoints.
    progress : bool or "auto", default="auto"
        Whether to show progress; "auto" does after three seconds, as a bar on a terminal, or else
        as a line every 30 seconds.
    stream : bool, default=False
        Whether a sieve learns by `partial_fit`, as from rows that can be read only once. It then
        supports `passes`, `checkpoint` and ``validate="progressive"``. The documentation of its
        `partial_fit` lists the drawbacks. A sieve that has learnt from a stream always continues
        so.
    memory : int, default=1000
        Megabytes for the rows of a sieve in its fit, including the copies of two threads; each
        further thread may need a quarter more. If the candidate columns need more, only some of the
        rows are used, with a warning.

    Returns
    -------
    model : estimator
        The same object. `train_history_` is a list of dicts with passes and rows, and with error,
        loss and nonzero weights if they are known. `reading_` is the `schema` of the columns for
        `open_rows`.

    Raises
    ------
    tamis.data.rows.ReadError
        If the rows cannot be read.
    tamis.training.checkpoint.CheckpointError
        If the folder's checkpoint is of another task, altered or damaged, or if the folder is in
        use or has other files.

    See Also
    --------
    open_rows : Rows from files.
    save : Save the model.

    Examples
    --------
    >>> import tamis
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "1 1:2 3:1\\n-1 2:1 3:1\\n" * 50
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "few.svm").write_text(text)
    ...     rows = tamis.open_rows(Path(folder, "few.svm"), chunk_rows=20)
    ...     model = tamis.train(tamis.FTRLClassifier(), rows, passes=2, validate="progressive")
    >>> model.classes_.tolist(), model.t_
    ([-1, 1], 200)
    >>> model.train_history_[-1]["error"] < 0.1
    True
    """
    twice = not stream and reads_twice(model, rows)
    refuse_options(
        type(model).__name__,
        twice,
        passes=passes,
        every=every,
        memory=memory,
        checkpoint=checkpoint,
        validate=validate,
    )
    trainer = Trainer(model, rows, passes, validate, every)
    take_files(model, getattr(trainer.source, "files", ()), checkpoint)
    if twice:
        TwoPassTrainer(trainer, memory, progress).run()
        return model
    # The caller has locked the folder, and releases it after further work.
    if checkpoint is None or isinstance(checkpoint, CheckpointFolder):
        trainer.run(checkpoint, progress)
        return model
    with CheckpointFolder(checkpoint) as folder:
        trainer.run(folder, progress)
    return model


class Trainer:
    """Training of a model in passes over the rows of a source."""

    def __init__(self, model: Any, rows: Iterable, passes: int, validate: Validate, every: int):
        self.model, self.rows, self.passes, self.every = model, rows, passes, every
        self.source: Any = rows if isinstance(rows, RowSource) else None
        self.validator, self.state = Validator(validate), State()
        self.target_range = TargetRange(model, self.source)
        self.last_entry: dict = {}
        if passes > 1 and self.source is not None:
            self.source.keep()

    def task(self) -> dict:
        """Return model, parameters, files and options as plain data."""
        if self.source is None:
            raise ValueError(
                "checkpoints need rows that can be found again: pass what open_rows gives, not "
                "chunks of your own."
            )
        options = {
            name: repr(value)
            for name, value in self.source.options._asdict().items()
            if name not in IGNORED_OPTIONS
        }
        parameters = {
            name: repr(value)
            for name, value in sorted(self.model.get_params(deep=True).items())
            if name not in ("n_jobs", "verbose")
        }
        steps_before = (
            repr(getattr(self.model, "t_", None)) if hasattr(self.model, "n_features_in_") else None
        )
        return {
            "model": type(self.model).__name__,
            "parameters": parameters,
            "passes": self.passes,
            "validation": self.validator.name,
            "reading": options,
            "file": self.source.identity(),
            "begun": steps_before,
        }

    # ------------------------------------------------------------------ passes
    def run(self, folder: CheckpointFolder | None, progress: bool | str) -> None:
        """Run all passes, from the last checkpoint on, and set the attributes of the model."""
        if folder is not None and (checkpoint := folder.read(self.task())) is not None:
            model, self.state = checkpoint
            self.model.__setstate__(model.__getstate__())
            self.target_range.is_active = False  # it sees only the remaining rows
            self._restore_source(self.state.facts)
        total = (self.source.total if self.source else 0) * self.passes
        with (
            Interruption(folder is not None) as interruption,
            Progress("train", max(total, 1), progress) as progress_bar,
        ):
            while self.state.turn < self.passes:
                self._pass(folder, interruption, progress_bar)
                self.state.turn, self.state.position = self.state.turn + 1, None
                self._write_history(last=True)
                if folder is not None:
                    self._save(folder)
        self.target_range.refuse(self.model)
        if hasattr(self.model, "refine"):
            self.model.refine()
            self.state.history[-1] |= {
                "nonzeros": len(self.model.support_),
                **self.validator.held_out_error(self.model),
            }
        self.model.train_history_ = self.state.history
        if self.source is not None:
            self.model.reading_ = self.source.schema

    def _pass(self, folder, interruption, progress_bar) -> None:
        """Run one pass, or the remaining part of one."""
        state, start_time, rows_this_pass = self.state, time.monotonic(), 0
        for chunk in self._chunks(state.position):
            for piece in self.validator.split_first_chunk(self.model, chunk, state):
                self._learn(piece)
            state.chunks += chunk.X.shape[0] > 0
            state.seen += chunk.X.shape[0]
            rows_this_pass += chunk.X.shape[0]
            state.position = chunk.position
            if state.seen >= state.mark:
                self._write_history()
            rate = rows_this_pass / max(time.monotonic() - start_time, 1e-9)
            bytes_done = state.turn * self.source.total + self.source.done if self.source else 0
            progress_bar.advance(
                bytes_done - progress_bar.done,
                f"{state.seen:,} rows, {rate:,.0f} a second{self._progress_text()}",
            )
            if folder is not None and (
                state.seen // self.every > (state.seen - chunk.X.shape[0]) // self.every
                or interruption.is_requested
            ):
                self._save(folder)
                interruption.raise_if_requested()

    def _chunks(self, position: Position | None) -> Iterator[Rows]:
        """Yield the chunks of one pass."""
        if self.source is not None:
            self._survey_if_needed()
            try:
                yield from self.source.read(position)
            except PositionError as error:
                raise CheckpointError(
                    f"The checkpoint does not fit its file. {error} {RESTART_HINT}"
                ) from error
            return
        for chunk in self.rows:
            if isinstance(chunk, Rows):
                yield chunk
            else:
                X, targets = chunk
                yield Rows(X, targets, 0)

    def _save(self, folder: CheckpointFolder) -> None:
        self.state.facts = self._source_decisions()
        folder.write(self.model, self.state)

    # ------------------------------------------------------------------ learning
    def _survey_if_needed(self) -> None:
        """Survey the source if the model must know all classes or columns beforehand."""
        source, model = self.source, self.model
        fitted, grows = hasattr(model, "n_features_in_"), getattr(model, "grow", False)
        if fitted or grows or source.survey_result is not None:
            return
        if self._takes_classes() or source.n_features is None:
            with Progress("survey", max(source.total, 1)) as progress_bar:
                on_progress = lambda done: progress_bar.advance(done - progress_bar.done)  # noqa: E731
                source.survey(tell=on_progress, memory=MAX_CACHED_BYTES)

    def _takes_classes(self) -> bool:
        return "classes" in inspect.signature(self.model.partial_fit).parameters

    def _learn(self, chunk: Rows) -> None:
        """Score the chunk, then learn from it."""
        if not chunk.X.shape[0]:
            return
        self.target_range.add(chunk.targets)
        keywords: dict[str, Any] = {} if chunk.weights is None else {"sample_weight": chunk.weights}
        targets = chunk.targets
        if self._takes_classes():
            targets = self._as_classes(chunk)
            if not hasattr(self.model, "classes_") and not hasattr(targets, "tocsr"):
                classes = self._classes(targets)
                keywords |= {} if classes is None else {"classes": classes}
        self.validator.score_chunk(self.model, chunk, targets, self.state)
        self.model.partial_fit(chunk.X, targets, **keywords)
        self.validator.add_targets(self.model, chunk, targets, self.state)

    def _as_classes(self, chunk: Rows):
        """Return numeric targets as integers unless the classes are fractions."""
        targets = chunk.targets
        if (
            getattr(getattr(targets, "dtype", None), "kind", "") != "f"
            or getattr(targets, "ndim", 1) > 1
        ):
            return targets
        classes = getattr(self.model, "classes_", None)
        if classes is not None and classes.dtype.kind == "f":
            return targets
        survey = self.source.survey_result if self.source else None
        if survey is not None and classes is None and not survey.is_integer:
            return targets
        location = f"{chunk.file}, at or after line {chunk.first_line}" if chunk.file else "a chunk"
        return class_numbers(targets, location)

    def _classes(self, targets):
        """Return all classes, for the first call of `partial_fit`."""
        if getattr(self.model, "grow", False):
            return None
        if self.source is None:
            chunks = iter(self.rows)
            if chunks is self.rows:
                raise ValueError(
                    "the classes are not known: pass chunks that can be iterated again (a list), "
                    "or a model with grow=True."
                )
            return np.unique(np.concatenate([np.asarray(chunk[1]) for chunk in chunks]))
        survey = self.source.survey()
        if survey.many:
            raise ReadError(f"{self.source.files[0]}: {too_many_classes_message()}")
        if len(survey.classes) == 1 and not survey.several:
            raise ValueError(constant_target_message(self.model, survey.classes[0]))
        return np.array(survey.classes).astype(targets.dtype)

    # ------------------------------------------------------------------ history
    def _write_history(self, last: bool = False) -> None:
        """Add an entry to the history.

        The rows between entries grow by a factor; each pass ends with one.
        """
        state = self.state
        state.mark = int(state.seen * HISTORY_GROWTH) + 1
        entry = {"pass": state.turn + (not last), "rows": state.seen, **_model_history(self.model)}
        entry |= summarize_losses(state.charged)
        if state.seen:
            entry |= self.validator.held_out_error(self.model)
        if state.history and state.history[-1]["rows"] == state.seen:
            state.history.pop()
        state.history.append(entry)
        self.last_entry = entry

    def _progress_text(self) -> str:
        """Return loss and number of nonzeros for the progress bar."""
        names = (
            ("error", "error {:.4f}"),
            ("validation_error", "held out {:.4f}"),
            ("loss", "loss {:.4f}"),
            ("nonzeros", "{:,} kept"),
        )
        return "".join(
            ", " + text.format(self.last_entry[name])
            for name, text in names
            if name in self.last_entry
        )

    # ------------------------------------------------------------------ decisions of the source
    def _source_decisions(self) -> dict:
        source = self.source
        return {
            "base": source.base,
            "several": source.several,
            "labels": source.labels,
            "n_features": source.options.n_features,
        }

    def _restore_source(self, stored: dict) -> None:
        source = self.source
        for name, current in self._source_decisions().items():
            if current is not None and stored[name] != current:
                raise CheckpointError(
                    f"The checkpoint has {name} {stored[name]!r} where the rows have {current!r}. "
                    f"{RESTART_HINT}"
                )
        source.base, source.several = stored["base"], stored["several"]
        source.labels = stored["labels"]
        source.options = source.options._replace(n_features=stored["n_features"])


def _model_history(model) -> dict:
    """Return loss and nonzeros from the last entry of the model's history; nothing is computed."""
    history = vars(model).get("history_") or [{}]
    return {name: history[-1][name] for name in ("loss", "nonzeros") if name in history[-1]}
