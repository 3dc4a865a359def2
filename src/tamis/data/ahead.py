"""Read ahead: a thread makes the next chunks while this one is learnt from, and one unpacks the
bytes that chunks are made of.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

_END = object()
_PIECE, _PIECES = 1 << 20, 6  # unpacked bytes that are handed over at a time, and how many wait


def ahead(make: Callable[[], Iterator], depth: int = 2) -> Generator:
    """Items of an iterator that another thread runs, at most `depth` waiting, and its errors."""
    waiting: queue.Queue = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        items = make()
        try:
            for item in items:
                if not offer((item, None)):
                    break
            offer((_END, None))
        except BaseException as error:  # handed over to the thread that reads
            offer((_END, error))
        finally:
            items.close() if hasattr(items, "close") else None

    worker = threading.Thread(target=work, name="tamis reader", daemon=True)
    worker.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()  # so that the worker need not wait for room
        worker.join()


class Unpacked:
    """Bytes of a compressed file, unpacked by another thread."""

    def __init__(self, source: Any):
        self.source = source
        self.pieces = ahead(lambda: iter(lambda: source.read(_PIECE), b""), _PIECES)
        self.ready = memoryview(b"")

    def readinto(self, view: memoryview) -> int:
        """Fill a view as far as the next piece goes; an error comes behind all bytes before it."""
        self.ready = self.ready or memoryview(next(self.pieces, b""))
        count = min(len(view), len(self.ready))
        view[:count], self.ready = self.ready[:count], self.ready[count:]
        return count

    def close(self) -> None:
        """Stop the thread, and let go of the file."""
        self.pieces.close()
        self.source.close()
