"""Dask as an engine: tasks are pinned to workers, and a worker that is lost ends the wait for it.

Only documented functions of `distributed` are used: submit, scatter, compute, release,
scheduler_info, and `dask.sizeof`. Workers import this module with their first task, and then know
the sizes of models and partitions; without them Dask takes a partition of 32 MB for empty, and
moves it.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tamis.distributed.executors import PARTITION_MEMORY, ConnectionLost, RemoteValue
from tamis.distributed.worker_tasks import Block, Partition, PathState, array_bytes

distributed: Any = None
with suppress(ImportError):
    distributed = import_module("distributed")

POLL_SECONDS = 0.5  # between two checks of the workers
PARTITION_SHARE = 0.5  # of a worker's memory that partitions may take


if distributed is not None:
    import_module("dask.sizeof").sizeof.register(
        (PathState, Partition, Block, RemoteValue), array_bytes
    )


def run(task: Callable, *args: Any) -> Any:
    """Call a task; workers import this module to do so, and with it the sizes above."""
    return task(*args)


class DaskExecutor:
    """A cluster by its client; `timeout` seconds without news of any task are an error."""

    def __init__(self, client: Any, timeout: float):
        if distributed is None:
            raise ImportError(
                "learning on a cluster needs dask's scheduler: pip install 'tamis[dask]'. With "
                "client=None everything is done here."
            )
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise TypeError(f"client must be None or a distributed.Client. Got {client!r}.")
        self.client, self.timeout = client, timeout
        self.worker_info: dict[str, Any] = {}  # the scheduler's last answer
        self.pinned: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # workers of handles
        self.finished: WeakSet[Any] = WeakSet()  # handles whose task has ended

    # ------------------------------------------------------------------ workers
    def _alive(self) -> bool:
        """Whether the client is connected; a scheduler that it reconnects to knows no task."""
        return self.client.status == "running"

    def _lost(self) -> ConnectionLost:
        """The error for results that are gone; all handles are forgotten, also those that somebody
        still holds.
        """
        pending = [one for one, worker in self.pinned.items() if worker not in self.worker_info]
        pending = [one for one in pending if one not in self.finished]
        self.pinned.clear()
        return ConnectionLost("worker" if self._alive() else "scheduler", pending=pending)

    def _workers(self) -> dict[str, Any]:
        """Ask the scheduler for its workers."""
        if not self._alive():
            raise ConnectionLost("scheduler")
        try:
            answer = _within(self.timeout, lambda: self.client.scheduler_info(n_workers=-1))
        except Empty:
            message = f"it has not answered for {self.timeout:g} seconds"
            raise ConnectionLost("scheduler", message) from None
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ConnectionLost("scheduler") from error
        self.worker_info = dict(answer["workers"])
        return self.worker_info

    def workers(self) -> list[str]:
        """Addresses of the workers; waits for the first one."""
        start = time.monotonic()
        while not (addresses := sorted(self._workers())):
            if time.monotonic() - start > self.timeout:
                raise TimeoutError(
                    f"the scheduler has had no worker for {self.timeout:g} seconds. Start some and "
                    "call fit again, or pass a larger timeout; with checkpoint= it goes on from "
                    "its last round."
                )
            time.sleep(POLL_SECONDS)
        return addresses

    def capacity(self, worker: str) -> int:
        """Half of the worker's memory, by the last answer of the scheduler."""
        limit = self.worker_info.get(worker, {}).get("memory_limit")
        return int(PARTITION_SHARE * limit) if limit else PARTITION_MEMORY

    def memory(self, worker: str) -> int:
        """The worker's memory, where it has a limit."""
        return self.worker_info.get(worker, {}).get("memory_limit") or sys.maxsize

    def host(self, worker: str) -> str:
        """The worker's host, as the scheduler names it."""
        return str(self.worker_info.get(worker, {}).get("host", worker))

    # ------------------------------------------------------------------ tasks
    def submit(self, task: Callable, *args: Any, worker: str) -> Any:
        """Submit a task to one worker and no other: work stealing would move partitions."""
        options = {"workers": [worker], "allow_other_workers": False, "pure": False}
        future = self._call_client(lambda: self.client.submit(run, task, *args, **options))
        return self._pin(future, worker)

    def put(self, value: Any, worker: str) -> Any:
        """Send a value to a worker, or compute a collection there."""
        only = {"workers": [worker]}
        if isinstance(value, tuple) and any(hasattr(one, "__dask_graph__") for one in value):
            members = [self.put(one, worker) for one in value]
            return self.submit(_as_tuple, *members, worker=worker)
        if hasattr(value, "__dask_graph__"):
            future = self._call_client(
                lambda: self.client.compute(value, allow_other_workers=False, **only)
            )
            return self._pin(future, worker)
        # The timeout of `scatter` covers only the search for workers.
        scatter = partial(self.client.scatter, [value], hash=False, timeout=self.timeout, **only)
        try:
            futures = self._call_client(lambda: _within(self.timeout, scatter))
        except Empty:
            self._workers()
            raise TimeoutError(
                f"{worker} has taken nothing for {self.timeout:g} seconds. Look at its log, pass "
                "smaller blocks, or a larger timeout."
            ) from None
        except KeyError:  # the scheduler's answer where it does not know the worker any more
            if worker in self._workers():
                raise
            raise self._lost() from None
        return self._pin(futures[0], worker)

    def _pin(self, future: Any, worker: str) -> Any:
        self.pinned[future] = worker
        return future

    def _call_client(self, call: Callable) -> Any:
        """Call the client; an error of the connection becomes `ConnectionLost`."""
        try:
            return call()
        except (OSError, TimeoutError) as error:
            raise self._lost() from error

    def cancel(self, handles: Sequence[Any]) -> None:
        """Release tasks and results, which the scheduler then forgets.

        Not `Client.cancel`: on tasks that others wait for it trips an assertion of the scheduler
        (2026.8), which ends the client's connection.
        """
        for future in handles:
            self.pinned.pop(future, None)
            with suppress(OSError, TimeoutError):
                future.release()

    # ------------------------------------------------------------------ waiting
    def gather(self, handles: Sequence[Any]) -> list:
        """Wait for all results and fetch them, while the workers are checked."""
        self._wait(list(handles))
        return [self._fetch(future) for future in handles]

    def _wait(self, handles: list[Any]) -> None:
        """Wait until all tasks have ended."""
        n_done, since = 0, time.monotonic()
        while True:
            try:
                distributed.wait(handles, timeout=POLL_SECONDS)
            except TimeoutError:
                pass
            except distributed.CancelledError as error:
                raise self._lost() from error
            self._check(handles)
            self.finished.update(future for future in handles if future.done())
            done = sum(future.done() for future in handles)
            if done == len(handles):
                return
            if done > n_done:
                n_done, since = done, time.monotonic()
            self._check_timeout(since)

    def _check(self, handles: Sequence[Any]) -> None:
        """Raise the error of a task, or `ConnectionLost` where a worker is gone."""
        for future in handles:
            if future.status == "error":
                error = future.exception(timeout=self.timeout)
                if isinstance(error, distributed.KilledWorker):
                    raise RuntimeError(_killed_message(self.pinned.get(future, "?"))) from error
                raise error.with_traceback(None)
            if future.status in ("cancelled", "lost"):
                raise self._lost()
        if set(self.pinned.values()) - set(self._workers()):
            raise self._lost()

    def _check_timeout(self, since: float) -> None:
        if time.monotonic() - since > self.timeout:
            raise TimeoutError(
                f"no task has ended for {self.timeout:g} seconds. Look at the workers' logs, pass "
                "smaller partitions, or a larger timeout."
            )

    def _fetch(self, future: Any) -> Any:
        """Fetch a result; the request is repeated, with a longer wait, where it takes long."""
        pause, since = 4 * POLL_SECONDS, time.monotonic()
        while True:
            try:
                return future.result(timeout=pause)
            except TimeoutError:
                self._check([future])
                self._check_timeout(since)
                pause *= 2.0
            except (distributed.CancelledError, OSError) as error:
                raise self._lost() from error


def _within(seconds: float, call: Callable) -> Any:
    """Result of a call that may never return (a frozen scheduler keeps its connections); raises
    `Empty` after so many seconds, and leaves the thread of the call behind.
    """
    results: SimpleQueue = SimpleQueue()

    def run_call() -> None:
        try:
            results.put((call(), None))
        except Exception as error:
            results.put((None, error))

    Thread(target=run_call, daemon=True).start()
    result, error = results.get(timeout=seconds)
    if error is not None:
        raise error
    return result


def _as_tuple(*members: Any) -> tuple:
    """X, y and perhaps weights of a block."""
    return members


def _killed_message(worker: str) -> str:
    """Message about a task that kills workers."""
    return (
        f"a partition has killed the workers that held it, the last {worker}: most likely it does "
        "not fit into their memory. Cut the data into smaller files or blocks, or give workers "
        "more memory."
    )
