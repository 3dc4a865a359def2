"""Checkpoints: a model in mid-stream and where its reading goes on, in a folder, written in one step.

``checkpoint.json`` names the model file that belongs to it. The model is written first, under a name of its own, then the JSON takes
the place of the one before, and only then is the older model removed: whatever moment a process dies at, the folder holds one whole pair.
"""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tamis.persist import ModelFileError, load, save
from tamis.read.rows import Position

FORMAT = 1
NAME = "checkpoint.json"


class CheckpointError(ValueError):
    """A checkpoint that does not belong to what is asked for, or that is damaged."""


@dataclass
class State:
    """All that a walk needs to go on, beside the model."""

    turn: int = 0  # passes that are complete
    seen: int = 0  # rows learnt, over all passes
    chunks: int = 0
    position: Position | None = None  # in the present pass
    mark: int = 0  # rows at which the history is written next
    charged: list[float] = field(default_factory=lambda: [0.0, 0.0])  # progressive loss and its weight
    history: list[dict] = field(default_factory=list)
    facts: dict = field(default_factory=dict)  # what the source had decided


class Folder:
    """A folder of checkpoints for one task: `task` is plain data that says what is learnt from what and how."""

    def __init__(self, path, task: dict):
        self.path, self.task = Path(path), json.loads(json.dumps(task))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{path}: checkpoints need a folder that can be written to ({error.strerror}).") from error

    def write(self, model, state: State) -> None:
        """Save the model and the state."""
        name = f"model-{state.turn}-{state.seen}.tamis"
        save(model, self.path / name)
        text = json.dumps({"format": FORMAT, "model": name, "task": self.task, "state": asdict(state)}, indent=1)
        temporary = self.path / f".{NAME}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / NAME)
        self._sweep(name)

    def read(self) -> tuple[Any, State] | None:
        """The model and the state of the last checkpoint; None where there is none."""
        try:
            found = json.loads((self.path / NAME).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{self.path / NAME}: it cannot be read ({error}). Remove the folder to begin anew.") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise CheckpointError(f"{self.path / NAME}: this is no checkpoint of format {FORMAT}. Remove the folder to begin anew.")
        self._compare(found["task"])
        try:
            model = load(self.path / found["model"])
        except (OSError, ModelFileError) as error:
            raise CheckpointError(f"{self.path}: its model cannot be loaded ({error}). Remove the folder to begin anew.") from error
        state = State(**found["state"])
        state.position = None if state.position is None else Position(*_position(state.position))
        self._sweep(found["model"])
        return model, state

    def clear(self) -> None:
        """Remove the checkpoint: the work is done."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / NAME).unlink()
        self._sweep("")
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def _sweep(self, kept: str) -> None:
        """Remove older models, and what a killed process left."""
        for pattern in ("model-*.tamis", ".tamis-*.tmp"):
            for path in self.path.glob(pattern):
                if path.name != kept:
                    with contextlib.suppress(FileNotFoundError):
                        path.unlink()

    def _compare(self, before: dict) -> None:
        """Refuse a checkpoint of another task, with the first difference."""
        for part in self.task:
            ours, theirs = self.task[part], before.get(part)
            if ours != theirs:
                said = _difference(ours, theirs)
                raise CheckpointError(
                    f"{self.path}: its checkpoint is of another task: {part} {said}. Do as before, name another folder, or remove this one."
                )


def _position(found) -> list:
    return list(found.values()) if isinstance(found, dict) else list(found)


def _difference(ours, theirs) -> str:
    """What differs, in words."""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs) and ours and isinstance(ours[0], dict):
        number = next(k for k in range(len(ours)) if ours[k] != theirs[k])
        return f"{number + 1} has changed since ({_difference(ours[number], theirs[number])})"
    if isinstance(ours, dict) and isinstance(theirs, dict):
        name = next((k for k in sorted({*ours, *theirs}) if ours.get(k) != theirs.get(k)), "")
        return f"{name!r} was {str(theirs.get(name))[:60]}, now {str(ours.get(name))[:60]}"
    return f"was {str(theirs)[:60]}, now {str(ours)[:60]}"
