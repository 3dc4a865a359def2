"""Iterate in a background thread: over chunks, or over the decompressed bytes of a file."""

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

_END = object()


def read_ahead(make: Callable[[], Iterator], depth: int = 2) -> Generator:
    """Yield the items of an iterator that another thread runs, at most `depth` of them ahead.

    Errors of the iterator are raised here.
    """
    pending: queue.Queue = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item) -> bool:
        while not stopped.is_set():
            try:
                pending.put(item, timeout=0.1)
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
        except BaseException as error:  # raised by the reading thread
            offer((_END, error))
        finally:
            items.close() if hasattr(items, "close") else None

    worker = threading.Thread(target=work, name="tamis reader", daemon=True)
    worker.start()
    try:
        while True:
            item, error = pending.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        with contextlib.suppress(queue.Empty):
            while True:
                pending.get_nowait()  # the worker may be waiting for a free slot
        worker.join()


_CHUNK_BYTES, _MAX_CHUNKS = 1 << 20, 6  # decompressed bytes of a chunk, and chunks read ahead


class DecompressedReader:
    """Reader of the bytes of a compressed file that another thread decompresses."""

    def __init__(self, source: Any):
        self.source = source
        self.chunks = read_ahead(lambda: iter(lambda: source.read(_CHUNK_BYTES), b""), _MAX_CHUNKS)
        self.buffer = memoryview(b"")

    def readinto(self, view: memoryview) -> int:
        """Fill the start of a view; return the number of bytes.

        An error is raised after all bytes before it.
        """
        self.buffer = self.buffer or memoryview(next(self.chunks, b""))
        count = min(len(view), len(self.buffer))
        view[:count], self.buffer = self.buffer[:count], self.buffer[count:]
        return count

    def close(self) -> None:
        """Stop the thread and close the file."""
        self.chunks.close()
        self.source.close()
