"""Checkpoints: a partly trained model and its position in the files, in a folder.

::

    checkpoint.lock     locked by the process that uses the folder; has the ID of its model files,
                        and whether the folder was created for checkpoints
    checkpoint.json     the record: task, position in the files, counters, and its model file
    model-ID-a.tamis    the models, written alternately
    model-ID-b.tamis

The new model is written to the file that the record does not name, then the record is replaced, and
only then the older model is removed: at any moment the folder has a complete pair. Only files of
these names are removed, and the folder itself only if it was created here; a folder with other
files is refused. The lock is one of the operating system, which releases it when the process ends.
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
    TEMPORARY_NAME,
    StrPath,
    atomic_writer,
    is_same_file,
    lock,
    record_sources,
    refuse_overwriting,
    remove_stale_files,
)
from tamis.system.terminal import for_terminal
from tamis.training.record import (
    FORMAT,
    State,
    find_contradiction,
    find_error,
    n_columns_of,
    to_record,
    to_state,
)

RECORD_NAME, LOCK_NAME = "checkpoint.json", "checkpoint.lock"
RESTART_HINT = "Remove the folder to begin anew."
# Reading options that may differ between the checkpoint and now.
IGNORED_OPTIONS = ("n_features", "chunk_bytes")
_CHECKSUM_LENGTH = 32  # bytes at the end of a model file


class CheckpointError(ValueError):
    """Error of a checkpoint that is damaged or of another task, or of a folder with other files."""

    def __init__(self, message: str = ""):
        super().__init__(for_terminal(message))  # the message quotes names and parameters


class CheckpointFolder:
    """Folder of checkpoints, locked for this training while the context lasts."""

    def __init__(self, path: StrPath):
        self.path, self.current = Path(path), ""
        self.lock_file: Any = None
        self.task: dict = {}

    # ------------------------------------------------------------------ locking
    def __enter__(self) -> Self:
        try:
            is_new = self._lock_folder()
            try:
                self._identify(is_new)
            except BaseException:
                self.lock_file.close()
                raise
        except OSError as error:
            raise CheckpointError(
                f"{self.path}: checkpoints need a folder that can be written to ({error.strerror})."
            ) from error
        remove_stale_files(self.path)
        return self

    def __exit__(self, *failure):
        if not self.lock_file.closed:
            if not (self.path / RECORD_NAME).exists():
                self.clear()  # there is no checkpoint to resume from
            self.lock_file.close()

    def _lock_folder(self) -> bool:
        """Create the folder if it does not exist, and lock it; return whether it was created."""
        while True:
            try:
                self.path.mkdir(parents=True)
                is_new = True
            except FileExistsError:
                if not self.path.is_dir():
                    raise
                is_new = False
                if not (self.path / LOCK_NAME).exists():
                    self._refuse_others(lambda name: name == LOCK_NAME)
            # Another process may have just removed the folder.
            with contextlib.suppress(FileNotFoundError):
                self.lock_file = open(self.path / LOCK_NAME, "a+b")  # noqa: SIM115 (it is locked as long as it is open)
                try:
                    is_free = lock(self.lock_file)
                except OSError:
                    is_free = True
                    warnings.warn(
                        f"{self.path}: this disk has no locks, so a second process in the same "
                        "folder goes unnoticed.",
                        stacklevel=3,
                    )
                if not is_free:
                    self.lock_file.close()
                    raise CheckpointError(
                        f"{self.path}: another process, or another thread, is using this folder. "
                        "Wait for it, or name another folder."
                    )
                if is_same_file(self.lock_file, self.path / LOCK_NAME):
                    return is_new
                self.lock_file.close()

    def _identify(self, is_new: bool) -> None:
        """Read or write the names of the folder's files in its lock file; refuse any other file."""
        self.lock_file.seek(0)
        text = self.lock_file.read()
        if not text:
            text = json.dumps(
                {"format": FORMAT, "id": secrets.token_hex(8), "made": is_new}
            ).encode()
            self.lock_file.write(text)
            self.lock_file.flush()
            os.fsync(self.lock_file.fileno())
        try:
            contents = json.loads(text)
            self.is_new, key = contents["made"] is True, bytes.fromhex(contents["id"]).hex()
        except (ValueError, TypeError, KeyError):
            raise CheckpointError(
                f"{self.path / LOCK_NAME}: no checkpoint wrote this file. Name another folder."
            ) from None
        self.names = names = self._named(key)
        self._refuse_others(
            lambda name: name in (LOCK_NAME, RECORD_NAME, *names) or TEMPORARY_NAME.fullmatch(name)
        )

    def _named(self, key: str) -> list[str]:
        """Return the names of the model files of this folder."""
        return [f"model-{key}-{letter}.tamis" for letter in "ab"]

    def _refuse_others(self, is_known) -> None:
        """Refuse a folder with unknown files."""
        others = sorted(name for name in os.listdir(self.path) if not is_known(name))
        if others:
            others_text = f" and {len(others) - 1} more" if len(others) > 1 else ""
            message = f"it holds {others[0]!r}{others_text}, which no checkpoint wrote"
            raise CheckpointError(
                f"{self.path}: {message}. Checkpoints need a folder of their own: name one that is "
                "empty or new."
            )

    # ------------------------------------------------------------------ reading and writing
    def write(self, model: Any, state: State) -> None:
        """Save the model and the state."""
        older = self.current
        self.current = next(name for name in self.names if name != older)
        save(model, self.path / self.current)
        record = to_record(
            state, {"name": self.current, "checksum": self._model_checksum(self.current)}, self.task
        )
        with atomic_writer(self.path / RECORD_NAME) as file:
            file.write(json.dumps(record, indent=1).encode())
        self._remove(older)

    def _record(self, task: dict) -> Any:
        """Return the stored record of a task, or None."""
        record_path, self.task = self.path / RECORD_NAME, json.loads(json.dumps(task))
        try:
            record = json.loads(record_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self._remove(*self.names)
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{record_path}: it cannot be read ({error}). {RESTART_HINT}"
            ) from error
        if record is None:
            raise CheckpointError(
                f"{record_path}: it holds null, which is no checkpoint. {RESTART_HINT}"
            )
        return record

    def read(self, task: dict) -> tuple[Any, State] | None:
        """Return the model and the state of the last checkpoint, or None.

        `task` describes the model, the files and the options as plain data.
        """
        record_path, record = self.path / RECORD_NAME, self._record(task)
        if record is None:
            return None
        message = find_error(record)
        if not message and record["model"]["name"] not in self.names:
            message = (
                f"'model.name' is {record['model']['name'][:60]!r}, which is not of this folder"
            )
        if message:
            raise CheckpointError(f"{record_path}: {message}. {RESTART_HINT}")
        self._compare(self.task, record["task"])
        if message := find_contradiction(record["state"], task):
            raise CheckpointError(f"{record_path}: {message}. {RESTART_HINT}")
        model = self._load(record["model"])
        if type(model).__name__ != task["model"]:
            raise CheckpointError(
                f"{self.path}: its model is of another class, {type(model).__name__}. "
                f"{RESTART_HINT}"
            )
        if n_columns_of(record["state"]) > (width := getattr(model, "n_features_in_", 0)):
            raise CheckpointError(
                f"{record_path}: more columns than the {width:,} of its model. {RESTART_HINT}"
            )
        self.current = record["model"]["name"]
        self._remove(*(name for name in self.names if name != self.current))
        return model, to_state(record)

    def _load(self, entry: dict):
        """Return the model that a record names."""
        try:
            model = load(self.path / entry["name"])
            is_same = self._model_checksum(entry["name"]) == entry["checksum"]
        except (OSError, ModelFileError) as error:
            raise CheckpointError(
                f"{self.path}: its model cannot be loaded ({error}). {RESTART_HINT}"
            ) from error
        if not is_same:
            raise CheckpointError(
                f"{self.path}: its model is not the one that was written with the record. "
                f"{RESTART_HINT}"
            )
        return model

    def _model_checksum(self, name: str) -> str:
        """Return the checksum at the end of a model file."""
        with open(self.path / name, "rb") as file:
            file.seek(-_CHECKSUM_LENGTH, os.SEEK_END)
            return file.read().hex()

    def clear(self) -> None:
        """Remove the checkpoint after training, and the folder if it was created for it."""
        self._remove(RECORD_NAME, *self.names)
        remove_stale_files(self.path)
        if os.name == "nt":
            self.lock_file.close()  # Windows removes no open file
        self._remove(LOCK_NAME)
        self.lock_file.close()
        if self.is_new:
            with contextlib.suppress(OSError):  # the folder has other files: it stays
                self.path.rmdir()

    def _remove(self, *names: str) -> None:
        """Remove some of this folder's files."""
        for name in filter(None, names):
            (self.path / name).unlink(missing_ok=True)

    def _compare(self, current: dict, stored: dict) -> None:
        """Refuse a checkpoint of another task; the message has the first difference."""
        if isinstance(reading := stored.get("reading"), dict):
            stored = {
                **stored,
                "reading": {k: v for k, v in reading.items() if k not in IGNORED_OPTIONS},
            }
        for field in [*current, *stored]:
            stored_value = stored.get(field, "missing")
            current_value = current.get(field, "missing")
            if stored_value != current_value:
                difference = _difference(current_value, stored_value)
                raise CheckpointError(
                    f"{self.path}: its checkpoint is of another task: {field} {difference}. Use "
                    "the same task, name another folder, or remove this one."
                )


def take_files(
    model: Any, files: Iterable[str], checkpoint: StrPath | CheckpointFolder | None
) -> None:
    """Record the files that a model is trained on; refuse them in a folder of checkpoints."""
    if checkpoint is not None:
        refuse_overwriting(
            checkpoint.path if isinstance(checkpoint, CheckpointFolder) else checkpoint, files
        )
    record_sources(model, files)


def _difference(current, stored) -> str:
    """Return the difference between two values as text."""
    if (
        isinstance(current, list)
        and isinstance(stored, list)
        and len(current) == len(stored)
        and current
        and isinstance(current[0], dict)
    ):
        number = next(k for k in range(len(current)) if current[k] != stored[k])
        return f"{number + 1} has changed since ({_difference(current[number], stored[number])})"
    if isinstance(current, dict) and isinstance(stored, dict):
        name = next((k for k in sorted({*current, *stored}) if current.get(k) != stored.get(k)), "")
        return f"{name!r} was {str(stored.get(name))[:60]}, now {str(current.get(name))[:60]}"
    return f"was {str(stored)[:60]}, now {str(current)[:60]}"
