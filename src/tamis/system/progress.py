"""Progress of long work: a bar on a terminal, else a line now and then; after a few seconds."""

import sys
import time
from contextvars import ContextVar
from typing import Any

from tamis.system.terminal import for_terminal

DELAY_SECONDS = 3.0  # before the first display: short work shows none
LINE_INTERVAL_SECONDS = 30.0  # between two lines without a terminal


class Progress:
    """Progress of some work, in rows or other units; `total` is 0 if it is unknown.

    `shown` is False, True (at once) or "auto" (after some seconds).
    """

    def __init__(self, label: str, total: int, shown: bool | str = "auto", delay=DELAY_SECONDS):
        self.label, self.total, self.done = label, total, 0
        self.is_shown, self.is_terminal = bool(shown), sys.stderr.isatty()
        self.started, self.delay = time.monotonic(), 0.0 if shown is True else delay
        self.next_line = self.started + self.delay
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        self.token = _CURRENT.set(self)
        return self

    def __exit__(self, *failure: object) -> None:
        _CURRENT.reset(self.token)
        if self.bar is not None:
            self.bar.stop()

    def advance(self, rows: int, note: str = "") -> None:
        """Add to the number of rows done, and show a note."""
        self.done += rows
        now = time.monotonic()
        if not self.is_shown or now - self.started < self.delay:
            return
        if not self.is_terminal:
            if now >= self.next_line:
                self.next_line = now + LINE_INTERVAL_SECONDS
                self._print_line(now, note)
            return
        if self.bar is None:
            self._open()
        self.bar.update(self.task, completed=self.done, note=note)

    def _print_line(self, now: float, note: str) -> None:
        fields = [f"{100 * self.done / self.total:.0f} %"] if self.total > 0 else []
        fields += [f"{now - self.started:.0f} s", *([note] if note else [])]
        print(for_terminal(f"{self.label}: {', '.join(fields)}"), file=sys.stderr, flush=True)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        has_total = self.total > 0
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *((TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn()) if has_total else ()),
            *(() if has_total else (TimeElapsedColumn(),)),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.label, total=self.total if has_total else None, note="")
        self.bar.start()


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def report_progress(note: str) -> None:
    """Show a note in the progress display of the work that runs now, if there is one."""
    progress = _CURRENT.get()
    if progress is not None:
        progress.advance(0, note)
