"""A progress bar for long fits: only on a terminal, only after a few seconds."""

import sys
import time
from typing import Any


class Progress:
    """Rows of a fit; `shown`: False, True, or "auto" (a terminal, after `patience` s)."""

    def __init__(self, label: str, total: int, shown: bool | str = "auto", patience: float = 3.0):
        self.label, self.total, self.done = label, total, 0
        self.wanted = shown is True or (shown == "auto" and sys.stderr.isatty())
        self.begun, self.patience = time.monotonic(), 0.0 if shown is True else patience
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *failure: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, rows: int, note: str = "") -> None:
        """Count rows as done, and say something beside the bar."""
        self.done += rows
        if not self.wanted or time.monotonic() - self.begun < self.patience:
            return
        if self.bar is None:
            self._open()
        self.bar.update(self.task, completed=self.done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.label, total=self.total, note="")
        self.bar.start()
