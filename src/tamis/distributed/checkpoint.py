"""Checkpoints of rounds: the models of all paths and a record, in a folder of their own.

The models that the record does not name are written first, then the record takes the place of the
one before: whatever moment a process dies at, the folder holds one whole set.
"""

import json
from typing import Any

from tamis.distributed.visits import Path
from tamis.model_files import save
from tamis.system.files import StrPath, replacing
from tamis.training.checkpoint import ANEW, NAME, CheckpointError, Folder
from tamis.training.record import checksum

KIND = "tamis rounds 1"


class Rounds(Folder):
    """A folder of checkpoints of so many paths, claimed for this run while the context lasts."""

    def __init__(self, path: StrPath, paths: int):
        super().__init__(path)
        self.paths, self.letter = paths, "b"

    def _named(self, key: str) -> list[str]:
        return [f"model-{key}-{letter}-{m}.tamis" for letter in "ab" for m in range(self.paths)]

    def _of(self, letter: str) -> list[str]:
        """Names of the models of one set."""
        half = len(self.names) // 2
        return self.names[:half] if letter == "a" else self.names[half:]

    def put(self, done: int, paths: list[Path]) -> None:
        """Keep the models after so many rounds."""
        before, self.letter = self.letter, "a" if self.letter == "b" else "b"
        names = self._of(self.letter)
        for name, path in zip(names, paths, strict=True):
            save(path.model, self.path / name)
        facts = [
            {"name": name, "checksum": self._sum(name), "visited": path.visited}
            | {"rows": path.rows, "steps": path.steps}
            for name, path in zip(names, paths, strict=True)
        ]
        record = {"kind": KIND, "round": done, "paths": facts, "task": self.task}
        record = json.loads(json.dumps(record))
        record["checksum"] = checksum(record)
        with replacing(self.path / NAME) as file:
            file.write(json.dumps(record, indent=1).encode())
        self._remove(*self._of(before))

    def found(self, task: dict) -> tuple[int, list[Path]] | None:
        """Rounds that are done, and the models after them; None where there is no record."""
        place, record = self.path / NAME, self._record(task)
        if record is None:
            return None
        if said := _fault(record):
            raise CheckpointError(f"{place}: {said}. {ANEW}")
        self._compare(self.task, record["task"])
        names = [one["name"] for one in record["paths"]]
        if names not in (self._of("a"), self._of("b")):
            raise CheckpointError(f"{place}: its models are not of this folder. {ANEW}")
        self.letter = "a" if names == self._of("a") else "b"
        self._remove(*self._of("a" if self.letter == "b" else "b"))
        return record["round"], [self._path(one) for one in record["paths"]]

    def _path(self, facts: dict) -> Path:
        """A path of a record."""
        visited = tuple(facts["visited"])
        return Path(self._load(facts), visited, facts["rows"], facts["steps"])


def _fault(record: Any) -> str:
    """What is wrong with a record, in words."""
    if not isinstance(record, dict) or record.get("kind") != KIND:
        return "this is no checkpoint of rounds"
    if record.get("checksum") != checksum(record):
        return "it was altered since it was written (its checksum does not match)"
    return ""
