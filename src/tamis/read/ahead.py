"""Read ahead: a thread makes the next chunks while this one is learnt from."""

import queue
import threading
from collections.abc import Callable, Iterator

_END = object()


def ahead(make: Callable[[], Iterator], depth: int = 2) -> Iterator:
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
        worker.join()
