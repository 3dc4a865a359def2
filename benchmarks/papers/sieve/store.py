"""Results as lines of JSON, one a (part, name, method, run), kept as they come: a run can be
stopped, taken up again, and done anew for one method.
"""

import json
from pathlib import Path

KEY = ("part", "name", "method", "run")


class Store:
    """All results of a file; a later line replaces an earlier one."""

    def __init__(self, path: Path):
        self.path = path
        self.found: dict[tuple, dict] = {}
        self.read()

    def read(self) -> None:
        """Take what the file holds, also what another process added."""
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                result = json.loads(line)
                self.found[tuple(result[key] for key in KEY)] = result

    def get(self, *key) -> dict | None:
        """A result, if it is there."""
        return self.found.get(key)

    def keep(self, *key, **figures) -> dict:
        """Add a result."""
        result = dict(zip(KEY, key, strict=True)) | figures
        self.found[key] = result
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        return result

    def forget(self, methods, names) -> None:
        """Drop the results of methods, where names are given of these sets alone."""
        self.found = {
            key: result
            for key, result in self.found.items()
            if not (key[2] in methods and (not names or key[1] in names))
        }
        lines = [json.dumps(result) + "\n" for result in self.found.values()]
        self.path.write_text("".join(lines))

    def of(self, part: str, name: str, method: str) -> list[dict]:
        """The results of all runs, in their order."""
        mine = [r for key, r in self.found.items() if key[:3] == (part, name, method)]
        return sorted(mine, key=lambda result: str(result["run"]))
