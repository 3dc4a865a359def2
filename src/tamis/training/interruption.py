"""Ctrl-C during training: stop after the next checkpoint."""

import signal
import threading


class Interruption:
    """Handler of Ctrl-C that waits for the checkpoint after the chunk; a second Ctrl-C does not
    wait.
    """

    def __init__(self, is_active: bool):
        self.is_active = is_active and threading.current_thread() is threading.main_thread()
        self.is_requested = False

    def __enter__(self):
        if self.is_active:
            self.previous_handler = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *failure):
        if self.is_active:
            signal.signal(signal.SIGINT, self.previous_handler)

    def _request(self, number, frame):
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True

    def raise_if_requested(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.is_requested:
            raise KeyboardInterrupt
