"""Checkpoints of rounds: the models of all paths and a record, in a folder of their own.

There are two sets of names. The models are written under the names that the record does not hold,
then the record is replaced: whenever a process dies, the folder holds one complete set.
"""

import json
from typing import Any

from tamis.distributed.worker_tasks import PathState
from tamis.model_files import save
from tamis.system.files import StrPath, atomic_writer
from tamis.training.checkpoint import RECORD_NAME, RESTART_HINT, CheckpointError, CheckpointFolder
from tamis.training.record import checksum

KIND = "tamis rounds 1"


class PathCheckpoints(CheckpointFolder):
    """The checkpoint folder of a number of paths, claimed for this run while the context lasts."""

    def __init__(self, path: StrPath, paths: int):
        super().__init__(path)
        self.paths, self.letter = paths, "b"

    def _named(self, key: str) -> list[str]:
        return [f"model-{key}-{letter}-{m}.tamis" for letter in "ab" for m in range(self.paths)]

    def _set_names(self, letter: str) -> list[str]:
        """Names of the models of set "a" or "b"."""
        half = len(self.names) // 2
        return self.names[:half] if letter == "a" else self.names[half:]

    def put(self, done: int, paths: list[PathState]) -> None:
        """Write the models after so many rounds."""
        before, self.letter = self.letter, "a" if self.letter == "b" else "b"
        names = self._set_names(self.letter)
        for name, path in zip(names, paths, strict=True):
            save(path.model, self.path / name)
        entries = [
            {"name": name, "checksum": self._model_checksum(name), "visited": path.visited}
            | {"rows": path.rows, "steps": path.steps}
            for name, path in zip(names, paths, strict=True)
        ]
        record = {"kind": KIND, "round": done, "paths": entries, "task": self.task}
        record = json.loads(json.dumps(record))
        record["checksum"] = checksum(record)
        with atomic_writer(self.path / RECORD_NAME) as file:
            file.write(json.dumps(record, indent=1).encode())
        self._remove(*self._set_names(before))

    def load(self, task: dict) -> tuple[int, list[PathState]] | None:
        """Number of rounds that are done, and the paths after them; None where there is no
        record.
        """
        file, record = self.path / RECORD_NAME, self._record(task)
        if record is None:
            return None
        if error := _record_error(record):
            raise CheckpointError(f"{file}: {error}. {RESTART_HINT}")
        self._compare(self.task, record["task"])
        names = [one["name"] for one in record["paths"]]
        if names not in (self._set_names("a"), self._set_names("b")):
            raise CheckpointError(f"{file}: its models are not of this folder. {RESTART_HINT}")
        self.letter = "a" if names == self._set_names("a") else "b"
        self._remove(*self._set_names("a" if self.letter == "b" else "b"))
        return record["round"], [self._load_path(one) for one in record["paths"]]

    def _load_path(self, entry: dict) -> PathState:
        """Load a path of a record."""
        visited = tuple(entry["visited"])
        return PathState(self._load(entry), visited, entry["rows"], entry["steps"])


def _record_error(record: Any) -> str:
    """What is wrong with a record; empty where it is sound."""
    if not isinstance(record, dict) or record.get("kind") != KIND:
        return "this is no checkpoint of rounds"
    if record.get("checksum") != checksum(record):
        return "it was altered since it was written (its checksum does not match)"
    return ""
