"""Ctrl-C at a moment that leaves a whole checkpoint behind."""

import signal
import threading


class Interruption:
    """Ctrl-C waits for the end of a chunk and its checkpoint; a second one does not wait."""

    def __init__(self, wanted: bool):
        self.wanted = wanted and threading.current_thread() is threading.main_thread()
        self.asked = False

    def __enter__(self):
        if self.wanted:
            self.before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *failure):
        if self.wanted:
            signal.signal(signal.SIGINT, self.before)

    def _ask(self, number, frame):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def stop(self) -> None:
        """End now, if that was asked for."""
        if self.asked:
            raise KeyboardInterrupt
