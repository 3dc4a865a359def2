"""Checkpoints: a model in mid-stream and where its reading goes on, in a folder.

::

    checkpoint.lock        locked by the one process that uses the folder; says which files are of
    it, and whether the folder was made for it checkpoint.json        the record: task, place in the
    files, counters, and which of the two models belongs to it model-ID-a.tamis       the models
    take turns; ID is drawn when the folder is first used model-ID-b.tamis

The model that the record does not name is written first, then the record takes the place of the one
before, and only then is the older model removed: whatever moment a process dies at, the folder
holds one whole pair. Only files of these names are ever removed, and the folder itself only if it
was made here; a folder that holds anything else is refused. The lock is the system's, so that a
process that dies leaves none behind.
"""

import contextlib
import json
import os
import secrets
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from tamis.model_files import ModelFileError, load, save
from tamis.system.files import (
    TEMPORARY,
    StrPath,
    is_at,
    lock,
    made_from,
    refuse_inputs,
    replacing,
    sweep,
)
from tamis.system.terminal import for_terminal
from tamis.training.record import FORMAT, State, contradiction, fault, to_record, to_state, width_of

NAME, MARK = "checkpoint.json", "checkpoint.lock"
ANEW = "Remove the folder to begin anew."
FREE = ("n_features", "chunk_bytes")  # of how the rows are read: it may differ in a later version
_CHECKSUM_LENGTH = 32  # that end a model file


class CheckpointError(ValueError):
    """A checkpoint that is damaged or of something else, or a folder that is not free for one."""

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(message))  # it quotes names and parameters


class Folder:
    """A folder of checkpoints, claimed for this walk while the context lasts."""

    def __init__(self, path: StrPath):
        self.path, self.current = Path(path), ""
        self.mark: Any = None
        self.task: dict = {}

    # ------------------------------------------------------------------ claiming
    def __enter__(self) -> Self:
        try:
            made = self._claim()
            try:
                self._own(made)
            except BaseException:
                self.mark.close()
                raise
        except OSError as error:
            raise CheckpointError(
                f"{self.path}: checkpoints need a folder that can be written to ({error.strerror})."
            ) from error
        sweep(self.path)
        return self

    def __exit__(self, *failure):
        if not self.mark.closed:
            if not (self.path / NAME).exists():
                self.clear()  # nothing to go on from
            self.mark.close()

    def _claim(self) -> bool:
        """Make the folder if need be, and lock it; whether it was made here and now."""
        while True:
            try:
                self.path.mkdir(parents=True)
                made = True
            except FileExistsError:
                if not self.path.is_dir():
                    raise
                made = False
                if not (self.path / MARK).exists():
                    self._refuse_others(lambda name: name == MARK)
            # Whoever had the folder may have just removed it.
            with contextlib.suppress(FileNotFoundError):
                self.mark = open(self.path / MARK, "a+b")  # noqa: SIM115 (it is locked as long as it is open)
                try:
                    free = lock(self.mark)
                except OSError:
                    free = True
                    warnings.warn(
                        f"{self.path}: this disk has no locks, so a second process in the same "
                        "folder goes unnoticed.",
                        stacklevel=3,
                    )
                if not free:
                    self.mark.close()
                    raise CheckpointError(
                        f"{self.path}: another process, or another thread, is using this folder. "
                        "Wait for it, or name another folder."
                    )
                if is_at(self.mark, self.path / MARK):
                    return made
                self.mark.close()

    def _own(self, made: bool) -> None:
        """Read which files are of this folder, or draw their names; refuse any other file."""
        self.mark.seek(0)
        text = self.mark.read()
        if not text:
            text = json.dumps({"format": FORMAT, "id": secrets.token_hex(8), "made": made}).encode()
            self.mark.write(text)
            self.mark.flush()
            os.fsync(self.mark.fileno())
        try:
            said = json.loads(text)
            self.made, key = said["made"] is True, bytes.fromhex(said["id"]).hex()
        except (ValueError, TypeError, KeyError):
            raise CheckpointError(
                f"{self.path / MARK}: no checkpoint wrote this file. Name another folder."
            ) from None
        self.names = names = self._named(key)
        self._refuse_others(lambda name: name in (MARK, NAME, *names) or TEMPORARY.fullmatch(name))

    def _named(self, key: str) -> list[str]:
        """Names of the models of this folder."""
        return [f"model-{key}-{letter}.tamis" for letter in "ab"]

    def _refuse_others(self, known) -> None:
        others = sorted(name for name in os.listdir(self.path) if not known(name))
        if others:
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            said = f"it holds {others[0]!r}{more}, which no checkpoint wrote"
            raise CheckpointError(
                f"{self.path}: {said}. Checkpoints need a folder of their own: name one that is "
                "empty or new."
            )

    # ------------------------------------------------------------------ reading and writing
    def write(self, model: Any, state: State) -> None:
        """Save the model and the state."""
        older = self.current
        self.current = next(name for name in self.names if name != older)
        save(model, self.path / self.current)
        record = to_record(
            state, {"name": self.current, "checksum": self._sum(self.current)}, self.task
        )
        with replacing(self.path / NAME) as file:
            file.write(json.dumps(record, indent=1).encode())
        self._remove(older)

    def _record(self, task: dict) -> Any:
        """The record of a task as it was written; None where there is none."""
        place, self.task = self.path / NAME, json.loads(json.dumps(task))
        try:
            record = json.loads(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self._remove(*self.names)
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{place}: it cannot be read ({error}). {ANEW}") from error
        if record is None:
            raise CheckpointError(f"{place}: it holds null, which is no checkpoint. {ANEW}")
        return record

    def read(self, task: dict) -> tuple[Any, State] | None:
        """The model and the state of the last checkpoint; None where there is none.

        `task` is plain data: what is learnt from what and how.
        """
        place, record = self.path / NAME, self._record(task)
        if record is None:
            return None
        said = fault(record)
        if not said and record["model"]["name"] not in self.names:
            said = f"'model.name' is {record['model']['name'][:60]!r}, which is not of this folder"
        if said:
            raise CheckpointError(f"{place}: {said}. {ANEW}")
        self._compare(self.task, record["task"])
        if said := contradiction(record["state"], task):
            raise CheckpointError(f"{place}: {said}. {ANEW}")
        model = self._load(record["model"])
        if type(model).__name__ != task["model"]:
            raise CheckpointError(
                f"{self.path}: its model is of another class, {type(model).__name__}. {ANEW}"
            )
        if width_of(record["state"]) > (width := getattr(model, "n_features_in_", 0)):
            raise CheckpointError(f"{place}: more columns than the {width:,} of its model. {ANEW}")
        self.current = record["model"]["name"]
        self._remove(*(name for name in self.names if name != self.current))
        return model, to_state(record)

    def _load(self, facts: dict):
        """The model that a record names."""
        try:
            model = load(self.path / facts["name"])
            same = self._sum(facts["name"]) == facts["checksum"]
        except (OSError, ModelFileError) as error:
            raise CheckpointError(
                f"{self.path}: its model cannot be loaded ({error}). {ANEW}"
            ) from error
        if not same:
            raise CheckpointError(
                f"{self.path}: its model is not the one that was written with the record. {ANEW}"
            )
        return model

    def _sum(self, name: str) -> str:
        """The checksum that closes a model file."""
        with open(self.path / name, "rb") as file:
            file.seek(-_CHECKSUM_LENGTH, os.SEEK_END)
            return file.read().hex()

    def clear(self) -> None:
        """Remove the checkpoint, and the folder if it was made for it: the work is done."""
        self._remove(NAME, *self.names)
        sweep(self.path)
        if os.name == "nt":
            self.mark.close()  # Windows removes no open file
        self._remove(MARK)
        self.mark.close()
        if self.made:
            with contextlib.suppress(OSError):  # something else has been put there: it stays
                self.path.rmdir()

    def _remove(self, *names: str) -> None:
        """Remove some of this folder's own files."""
        for name in filter(None, names):
            (self.path / name).unlink(missing_ok=True)

    def _compare(self, ours: dict, theirs: dict) -> None:
        """Refuse a checkpoint of another task, with the first difference."""
        if isinstance(reading := theirs.get("reading"), dict):
            theirs = {**theirs, "reading": {k: v for k, v in reading.items() if k not in FREE}}
        for part in [*ours, *theirs]:
            was, now = theirs.get(part, "missing"), ours.get(part, "missing")
            if was != now:
                said = _difference(now, was)
                raise CheckpointError(
                    f"{self.path}: its checkpoint is of another task: {part} {said}. Do as before, "
                    "name another folder, or remove this one."
                )


def take_files(model: Any, files: Iterable[str], checkpoint: StrPath | Folder | None) -> None:
    """Note what a model is learnt from, and refuse a folder of checkpoints that holds it."""
    if checkpoint is not None:
        refuse_inputs(checkpoint.path if isinstance(checkpoint, Folder) else checkpoint, files)
    made_from(model, files)


def _difference(ours, theirs) -> str:
    """What differs, in words."""
    if (
        isinstance(ours, list)
        and isinstance(theirs, list)
        and len(ours) == len(theirs)
        and ours
        and isinstance(ours[0], dict)
    ):
        number = next(k for k in range(len(ours)) if ours[k] != theirs[k])
        return f"{number + 1} has changed since ({_difference(ours[number], theirs[number])})"
    if isinstance(ours, dict) and isinstance(theirs, dict):
        name = next((k for k in sorted({*ours, *theirs}) if ours.get(k) != theirs.get(k)), "")
        return f"{name!r} was {str(theirs.get(name))[:60]}, now {str(ours.get(name))[:60]}"
    return f"was {str(theirs)[:60]}, now {str(ours)[:60]}"
