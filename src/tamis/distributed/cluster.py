"""Dask: tasks pinned to workers, watched, and never waited for in vain.

Only what `distributed` documents is used: submit, scatter, compute, release, scheduler_info, and
`dask.sizeof`. Workers import this module with their first task, and so know the sizes of models and
partitions; without them a partition of 32 MB counts as nothing, and is moved about.
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

from tamis.distributed.executors import KEPT, Held, Lost
from tamis.distributed.visits import Block, Partition, Path, bytes_in

distributed: Any = None
with suppress(ImportError):
    distributed = import_module("distributed")

PAUSE = 0.5  # seconds between two looks at the workers
SHARE = 0.5  # of a worker's memory that partitions may take


if distributed is not None:
    import_module("dask.sizeof").sizeof.register((Path, Partition, Block, Held), bytes_in)


def run(task: Callable, *given: Any) -> Any:
    """A task, called by way of this module."""
    return task(*given)


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
        self.known: dict[str, Any] = {}  # what the scheduler said last of its workers
        self.pinned: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # homes of handles
        self.ended: WeakSet[Any] = WeakSet()  # handles that were seen to be done

    # ------------------------------------------------------------------ workers
    def _alive(self) -> bool:
        """Whether the scheduler is there; one that the client looks for has forgotten all tasks."""
        return self.client.status == "running"

    def _lost(self) -> Lost:
        """Who was lost, where results are gone: what was sent to a worker dies with it.

        Nobody waits for what was under way, wherever its handles are still held.
        """
        under = [one for one, home in self.pinned.items() if home not in self.known]
        under = [one for one in under if one not in self.ended]
        self.pinned.clear()
        return Lost("worker" if self._alive() else "scheduler", under=under)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler says of its workers."""
        if not self._alive():
            raise Lost("scheduler")
        try:
            said = _within(self.timeout, lambda: self.client.scheduler_info(n_workers=-1))
        except Empty:
            words = f"it has not answered for {self.timeout:g} seconds"
            raise Lost("scheduler", words) from None
        except (OSError, TimeoutError, RuntimeError) as error:
            raise Lost("scheduler") from error
        self.known = dict(said["workers"])
        return self.known

    def homes(self) -> list[str]:
        """Addresses of the workers; where there is none yet, waited for."""
        begun = time.monotonic()
        while not (found := sorted(self._workers())):
            if time.monotonic() - begun > self.timeout:
                raise TimeoutError(
                    f"the scheduler has had no worker for {self.timeout:g} seconds. Start some and "
                    "call fit again, or pass a larger timeout; with checkpoint= it goes on from "
                    "its last round."
                )
            time.sleep(PAUSE)
        return found

    def room(self, home: str) -> int:
        """Half of the worker's memory, as it was known when `homes` was asked."""
        limit = self.known.get(home, {}).get("memory_limit")
        return int(SHARE * limit) if limit else KEPT

    def memory(self, home: str) -> int:
        """The worker's memory, where it has a limit."""
        return self.known.get(home, {}).get("memory_limit") or sys.maxsize

    def host(self, home: str) -> str:
        """The host that the scheduler knows it by."""
        return str(self.known.get(home, {}).get("host", home))

    # ------------------------------------------------------------------ tasks
    def submit(self, task: Callable, *given: Any, home: str) -> Any:
        """A task for one worker and no other: stealing would move partitions."""
        return self._pin(
            self._asked(
                lambda: self.client.submit(
                    run, task, *given, workers=[home], allow_other_workers=False, pure=False
                )
            ),
            home,
        )

    def put(self, value: Any, home: str) -> Any:
        """A value sent there, or a collection computed there."""
        there = {"workers": [home]}
        if isinstance(value, tuple) and any(hasattr(one, "__dask_graph__") for one in value):
            parts = [self.put(one, home) for one in value]
            return self.submit(_paired, *parts, home=home)
        if hasattr(value, "__dask_graph__"):
            made = self._asked(
                lambda: self.client.compute(value, allow_other_workers=False, **there)
            )
            return self._pin(made, home)
        # The timeout of `scatter` is for finding workers alone.
        scatter = partial(self.client.scatter, [value], hash=False, timeout=self.timeout, **there)
        try:
            sent = self._asked(lambda: _within(self.timeout, scatter))
        except Empty:
            self._workers()
            raise TimeoutError(
                f"{home} has taken nothing for {self.timeout:g} seconds. Look at its log, pass "
                "smaller blocks, or a larger timeout."
            ) from None
        except KeyError:  # so the scheduler says that it knows no such worker any more
            if home in self._workers():
                raise
            raise self._lost() from None
        return self._pin(sent[0], home)

    def _pin(self, future: Any, home: str) -> Any:
        self.pinned[future] = home
        return future

    def _asked(self, call: Callable) -> Any:
        """What the client says, or that nobody answers."""
        try:
            return call()
        except (OSError, TimeoutError) as error:
            raise self._lost() from error

    def cancel(self, handles: Sequence[Any]) -> None:
        """Let go of tasks and results, which the scheduler then forgets.

        Not `Client.cancel`: on tasks that others wait for it trips an assertion of the scheduler
        (2026.8), which ends the client's connection.
        """
        for future in handles:
            self.pinned.pop(future, None)
            with suppress(OSError, TimeoutError):
                future.release()

    # ------------------------------------------------------------------ waiting
    def gather(self, handles: Sequence[Any]) -> list:
        """Results, once all are there; the workers are looked at all the while."""
        self._wait(list(handles))
        return [self._fetched(future) for future in handles]

    def _wait(self, handles: list[Any]) -> None:
        """Wait until all are done."""
        finished, since = 0, time.monotonic()
        while True:
            try:
                distributed.wait(handles, timeout=PAUSE)
            except TimeoutError:
                pass
            except distributed.CancelledError as error:
                raise self._lost() from error
            self._look(handles)
            self.ended.update(future for future in handles if future.done())
            done = sum(future.done() for future in handles)
            if done == len(handles):
                return
            if done > finished:
                finished, since = done, time.monotonic()
            self._be_patient(since)

    def _look(self, handles: Sequence[Any]) -> None:
        """Raise what a task raised, and `Lost` where a home is gone."""
        for future in handles:
            if future.status == "error":
                error = future.exception(timeout=self.timeout)
                if isinstance(error, distributed.KilledWorker):
                    raise RuntimeError(_killed(self.pinned.get(future, "?"))) from error
                raise error.with_traceback(None)
            if future.status in ("cancelled", "lost"):
                raise self._lost()
        if set(self.pinned.values()) - set(self._workers()):
            raise self._lost()

    def _be_patient(self, since: float) -> None:
        if time.monotonic() - since > self.timeout:
            raise TimeoutError(
                f"no task has ended for {self.timeout:g} seconds. Look at the workers' logs, pass "
                "smaller partitions, or a larger timeout."
            )

    def _fetched(self, future: Any) -> Any:
        """A result brought here; asked again where it is long on its way."""
        pause, since = 4 * PAUSE, time.monotonic()
        while True:
            try:
                return future.result(timeout=pause)
            except TimeoutError:
                self._look([future])
                self._be_patient(since)
                pause *= 2.0
            except (distributed.CancelledError, OSError) as error:
                raise self._lost() from error


def _within(seconds: float, ask: Callable) -> Any:
    """What is said to a question that may be waited for in vain (a scheduler that is frozen, not
    gone, keeps its connections); `Empty` if nothing is. Its thread is then left behind.
    """
    answers: SimpleQueue = SimpleQueue()

    def asked() -> None:
        try:
            answers.put((ask(), None))
        except Exception as error:
            answers.put((None, error))

    Thread(target=asked, daemon=True).start()
    found, error = answers.get(timeout=seconds)
    if error is not None:
        raise error
    return found


def _paired(*parts: Any) -> tuple:
    """Parts of a block, together."""
    return parts


def _killed(home: str) -> str:
    """Words about a task that kills workers."""
    return (
        f"a partition has killed the workers that held it, the last {home}: most likely it does "
        "not fit into their memory. Cut the data into smaller files or blocks, or give workers "
        "more memory."
    )
