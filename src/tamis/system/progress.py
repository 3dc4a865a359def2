"""Progress of long work: a bar on a terminal, elsewhere a line now and then; both only after a few
seconds.
"""

import sys
import time
from contextvars import ContextVar
from typing import Any

from tamis.system.terminal import for_terminal

PATIENCE = 3.0  # seconds before anything is shown
PAUSE = 30.0  # seconds between two lines, where there is no terminal


class Progress:
    """Rows of a fit, or other parts of some work; a `total` of 0 is an unknown one.

    `shown`: False, True (at once), or "auto" (after some seconds).
    """

    def __init__(self, label: str, total: int, shown: bool | str = "auto", patience=PATIENCE):
        self.label, self.total, self.done = label, total, 0
        self.wanted, self.terminal = bool(shown), sys.stderr.isatty()
        self.begun, self.patience = time.monotonic(), 0.0 if shown is True else patience
        self.next_line = self.begun + self.patience
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        self.token = _CURRENT.set(self)
        return self

    def __exit__(self, *failure: object) -> None:
        _CURRENT.reset(self.token)
        if self.bar is not None:
            self.bar.stop()

    def advance(self, rows: int, note: str = "") -> None:
        """Count rows as done, and say something beside the bar."""
        self.done += rows
        now = time.monotonic()
        if not self.wanted or now - self.begun < self.patience:
            return
        if not self.terminal:
            if now >= self.next_line:
                self.next_line = now + PAUSE
                self._print_line(now, note)
            return
        if self.bar is None:
            self._open()
        self.bar.update(self.task, completed=self.done, note=note)

    def _print_line(self, now: float, note: str) -> None:
        parts = [f"{100 * self.done / self.total:.0f} %"] if self.total > 0 else []
        parts += [f"{now - self.begun:.0f} s", *([note] if note else [])]
        print(for_terminal(f"{self.label}: {', '.join(parts)}"), file=sys.stderr, flush=True)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        known = self.total > 0
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *((TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn()) if known else ()),
            *(() if known else (TimeElapsedColumn(),)),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.label, total=self.total if known else None, note="")
        self.bar.start()


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def tell(note: str) -> None:
    """Say how far it has got to whoever shows the progress of the work that this is a part of."""
    progress = _CURRENT.get()
    if progress is not None:
        progress.advance(0, note)
