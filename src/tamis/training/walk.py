"""The one training walk: rows from a source, into any model with `partial_fit`, or by two readings
into one that asks for them.
"""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from tamis.base.class_messages import too_many_classes_message
from tamis.base.scores import summarize_losses
from tamis.data.rows import Misplaced, Position, ReadError, Rows, class_numbers
from tamis.data.source import SMALL_BYTES, RowSource
from tamis.system.files import StrPath
from tamis.system.progress import Progress
from tamis.system.threads import locked
from tamis.training.checkpoint import ANEW, FREE, CheckpointError, Folder, take_files
from tamis.training.interruption import Interruption
from tamis.training.judge import Ends, Judge, Validate, constant
from tamis.training.readings import MEMORY, Readings, reads_twice
from tamis.training.record import GROWTH, State
from tamis.training.refusals import refuse_options


class Learner(Protocol):
    """What can be trained: any model with `partial_fit`."""

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
    checkpoint: StrPath | Folder | None = None,
    every: int = 100_000,
    progress: bool | Literal["auto"] = "auto",
    stream: bool = False,
    memory: int = MEMORY,
) -> Model:
    """Train a model from a source of rows, in bounded memory: chunk by chunk, or by two readings.

    Rows are read ahead by a thread while the model learns. How they are cut into chunks does not
    matter to the models of tamis. A model that must know its classes and columns beforehand (all
    that lack ``grow=True``) makes the source be read once more, before the first pass, to find
    them. `refine` is called at the end where the model has it.

    A sieve reads rows that can be read again twice, and is then fitted (`stream=True` walks it
    through them instead). The first reading gathers sums of every column over all rows, and a
    sample; the second keeps of all rows the columns that may matter. Where the fit of all of them
    (48 bytes an entry, 400 a row) fits into the `memory`, these are all columns, and the model is
    that of `fit`; rows of a quarter of it stay from the first reading for the second. Else they are
    those whose contrast between the classes (or with the target) is three standard errors, the
    strongest eight for each one that a sieve of the sample keeps, that one, and those with few
    entries. What predicts a fold is chosen without its targets, so that held-out errors stay
    honest.

    Parameters
    ----------
    model : estimator
        Any model with `partial_fit`, fitted or not; a fitted one goes on.
    rows : RowSource, or iterable of Rows or of (X, y)
        What `open_rows` gives, or chunks of your own; several passes need an iterable that can be
        iterated again.
    passes : int, default=1
        Passes over the rows, in their order.
    validate : None, "progressive", RowSource or (X, y), default=None
        "progressive" predicts, in the first pass, chunks before they are learnt from, and keeps the
        mean error: the first 16 chunks, then one in eight. Rows of their own are predicted whenever
        the history is written.
    checkpoint : path or None, default=None
        Folder for checkpoints, and for nothing else: it is made if need be, and refused if it holds
        anything but a checkpoint, or while another process or thread uses it. If it holds a
        checkpoint of the same task, training goes on from there, to the same bits; one of other
        data or parameters is refused.
    every : int, default=100_000
        Rows between two checkpoints, at least.
    progress : bool or "auto", default="auto"
        Progress; "auto" shows it after three seconds, as a bar on a terminal and elsewhere as a
        line every 30 seconds.
    stream : bool, default=False
        Whether a sieve learns by `partial_fit`, as it does from rows that go by once: then
        `passes`, `checkpoint` and `validate="progressive"` have a meaning for it. What it loses is
        said there. One in mid-stream goes on so in any case.
    memory : int, default=1000
        Megabytes for the rows of a sieve in its fit, the copies of two threads among them; each
        further thread may hold a quarter more. Where the columns that may matter need more, a part
        of the rows is fitted, with a warning.

    Returns
    -------
    model : estimator
        The same object. `train_history_` holds what happened, as a list of dicts: passes, rows, and
        error, loss and nonzero weights where they are known. `reading_` holds what the columns
        mean, for `open_rows` (its `schema`).

    Raises
    ------
    tamis.data.rows.ReadError
        If the rows cannot be read as asked.
    tamis.training.checkpoint.CheckpointError
        If the folder's checkpoint is of another task, altered or damaged, or if the folder is in
        use or holds other files.

    See Also
    --------
    open_rows : Rows from files.
    save : Keep the model.

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
    walk = Walk(model, rows, passes, validate, every)
    take_files(model, getattr(walk.source, "files", ()), checkpoint)
    if twice:
        Readings(walk, memory, progress).run()
        return model
    # A folder is claimed by the caller, who has more to do before others may have it.
    if checkpoint is None or isinstance(checkpoint, Folder):
        walk.run(checkpoint, progress)
        return model
    with Folder(checkpoint) as folder:
        walk.run(folder, progress)
    return model


class Walk:
    """A walk under way."""

    def __init__(self, model: Any, rows: Iterable, passes: int, validate: Validate, every: int):
        self.model, self.rows, self.passes, self.every = model, rows, passes, every
        self.source: Any = rows if isinstance(rows, RowSource) else None
        self.judge, self.state = Judge(validate), State()
        self.ends = Ends(model, self.source)
        self.told: dict = {}
        if passes > 1 and self.source is not None:
            self.source.keep()

    def task(self) -> dict:
        """What is learnt from what and how, as plain data."""
        if self.source is None:
            raise ValueError(
                "checkpoints need rows that can be found again: pass what open_rows gives, not "
                "chunks of your own."
            )
        options = {
            name: repr(value)
            for name, value in self.source.options._asdict().items()
            if name not in FREE
        }
        chosen = {
            name: repr(value)
            for name, value in sorted(self.model.get_params(deep=True).items())
            if name not in ("n_jobs", "verbose")
        }
        begun = (
            repr(getattr(self.model, "t_", None)) if hasattr(self.model, "n_features_in_") else None
        )
        return {
            "model": type(self.model).__name__,
            "parameters": chosen,
            "passes": self.passes,
            "validation": self.judge.name,
            "reading": options,
            "file": self.source.identity(),
            "begun": begun,
        }

    # ------------------------------------------------------------------ the walk
    def run(self, folder: Folder | None, progress: bool | str) -> None:
        """All passes, from the last checkpoint on."""
        if folder is not None and (found := folder.read(self.task())) is not None:
            model, self.state = found
            self.model.__setstate__(model.__getstate__())
            self.ends.looks = False  # it sees the rest alone
            self._recall(self.state.facts)
        total = (self.source.total if self.source else 0) * self.passes
        with (
            Interruption(folder is not None) as interrupted,
            Progress("train", max(total, 1), progress) as bar,
        ):
            while self.state.turn < self.passes:
                self._pass(folder, interrupted, bar)
                self.state.turn, self.state.position = self.state.turn + 1, None
                self._write_history(last=True)
                if folder is not None:
                    self._save(folder)
        self.ends.refuse(self.model)
        if hasattr(self.model, "refine"):
            self.model.refine()
            self.state.history[-1] |= {
                "nonzeros": len(self.model.support_),
                **self.judge.look(self.model),
            }
        self.model.train_history_ = self.state.history
        if self.source is not None:
            self.model.reading_ = self.source.schema

    def _pass(self, folder, interrupted, bar) -> None:
        """One pass, or the rest of one."""
        state, begun, since = self.state, time.monotonic(), 0
        for chunk in self._chunks(state.position):
            for piece in self.judge.pieces(self.model, chunk, state):
                self._learn(piece)
            state.chunks += chunk.X.shape[0] > 0
            state.seen += chunk.X.shape[0]
            since += chunk.X.shape[0]
            state.position = chunk.position
            if state.seen >= state.mark:
                self._write_history()
            rate = since / max(time.monotonic() - begun, 1e-9)
            place = state.turn * self.source.total + self.source.done if self.source else 0
            bar.advance(
                place - bar.done, f"{state.seen:,} rows, {rate:,.0f} a second{self._words()}"
            )
            if folder is not None and (
                state.seen // self.every > (state.seen - chunk.X.shape[0]) // self.every
                or interrupted.asked
            ):
                self._save(folder)
                interrupted.stop()

    def _chunks(self, position: Position | None) -> Iterator[Rows]:
        """The chunks of one pass."""
        if self.source is not None:
            self._prepare()
            try:
                yield from self.source.read(position)
            except Misplaced as error:
                raise CheckpointError(
                    f"The checkpoint does not fit its file. {error} {ANEW}"
                ) from error
            return
        for chunk in self.rows:
            if isinstance(chunk, Rows):
                yield chunk
            else:
                X, targets = chunk
                yield Rows(X, targets, 0)

    def _save(self, folder: Folder) -> None:
        self.state.facts = self._facts()
        folder.write(self.model, self.state)

    # ------------------------------------------------------------------ learning
    def _prepare(self) -> None:
        """Survey the source if the model has to know more than the first chunk says."""
        source, model = self.source, self.model
        fitted, grows = hasattr(model, "n_features_in_"), getattr(model, "grow", False)
        if fitted or grows or source.surveyed is not None:
            return
        if self._wants_classes() or source.n_features is None:
            with Progress("survey", max(source.total, 1)) as bar:
                tell = lambda done: bar.advance(done - bar.done)  # noqa: E731
                source.survey(tell=tell, memory=SMALL_BYTES)

    def _wants_classes(self) -> bool:
        return "classes" in inspect.signature(self.model.partial_fit).parameters

    def _learn(self, chunk: Rows) -> None:
        """Judge the chunk, then learn from it."""
        if not chunk.X.shape[0]:
            return
        self.ends.meet(chunk.targets)
        named: dict[str, Any] = {} if chunk.weights is None else {"sample_weight": chunk.weights}
        targets = chunk.targets
        if self._wants_classes():
            targets = self._as_classes(chunk)
            if not hasattr(self.model, "classes_") and not hasattr(targets, "tocsr"):
                classes = self._classes(targets)
                named |= {} if classes is None else {"classes": classes}
        self.judge.before(self.model, chunk, targets, self.state)
        self.model.partial_fit(chunk.X, targets, **named)
        self.judge.after(self.model, chunk, targets, self.state)

    def _as_classes(self, chunk: Rows):
        """Numbers as whole ones where they are."""
        targets = chunk.targets
        if (
            getattr(getattr(targets, "dtype", None), "kind", "") != "f"
            or getattr(targets, "ndim", 1) > 1
        ):
            return targets
        known = getattr(self.model, "classes_", None)
        if known is not None and known.dtype.kind == "f":
            return targets
        survey = self.source.surveyed if self.source else None
        if survey is not None and known is None and not survey.whole:
            return targets
        at = f"{chunk.file}, at or after line {chunk.first_line}" if chunk.file else "a chunk"
        return class_numbers(targets, at)

    def _classes(self, targets):
        """All classes, for the first call."""
        if getattr(self.model, "grow", False):
            return None
        if self.source is None:
            again = iter(self.rows)
            if again is self.rows:
                raise ValueError(
                    "the classes are not known: pass chunks that can be iterated again (a list), "
                    "or a model with grow=True."
                )
            return np.unique(np.concatenate([np.asarray(chunk[1]) for chunk in again]))
        survey = self.source.survey()
        if survey.many:
            raise ReadError(f"{self.source.files[0]}: {too_many_classes_message()}")
        if len(survey.classes) == 1 and not survey.several:
            raise ValueError(constant(self.model, survey.classes[0]))
        return np.array(survey.classes).astype(targets.dtype)

    # ------------------------------------------------------------------ what is told
    def _write_history(self, last: bool = False) -> None:
        """A line of the history, at rows that grow by a factor and at the end of each pass."""
        state = self.state
        state.mark = int(state.seen * GROWTH) + 1
        line = {"pass": state.turn + (not last), "rows": state.seen, **_glimpse(self.model)}
        line |= summarize_losses(state.charged)
        if state.seen:
            line |= self.judge.look(self.model)
        if state.history and state.history[-1]["rows"] == state.seen:
            state.history.pop()
        state.history.append(line)
        self.told = line

    def _words(self) -> str:
        """Loss and nonzeros as the bar shows them."""
        names = (
            ("error", "error {:.4f}"),
            ("validation_error", "held out {:.4f}"),
            ("loss", "loss {:.4f}"),
            ("nonzeros", "{:,} kept"),
        )
        return "".join(
            ", " + text.format(self.told[name]) for name, text in names if name in self.told
        )

    # ------------------------------------------------------------------ what the source decided
    def _facts(self) -> dict:
        source = self.source
        return {
            "base": source.base,
            "several": source.several,
            "labels": source.labels,
            "n_features": source.options.n_features,
        }

    def _recall(self, facts: dict) -> None:
        source = self.source
        for name, now in self._facts().items():
            if now is not None and facts[name] != now:
                raise CheckpointError(
                    f"The checkpoint has {name} {facts[name]!r} where the rows have {now!r}. {ANEW}"
                )
        source.base, source.several = facts["base"], facts["several"]
        source.labels = facts["labels"]
        source.options = source.options._replace(n_features=facts["n_features"])


def _glimpse(model) -> dict:
    """Loss and nonzeros as the model itself has noted them; nothing is computed."""
    noted = vars(model).get("history_") or [{}]
    return {name: noted[-1][name] for name in ("loss", "nonzeros") if name in noted[-1]}
