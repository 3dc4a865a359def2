"""One thread per model: a second thread that would train or save the same model gets an error.

A dictionary holds the thread that works on each model, by the identity of the model, for the time
of the call. Nothing is stored on the model, so copies, pickles and model files do not contain it.
`predict` and other methods that only read need no lock; `tests/laws/test_threads.py` tests what
they guarantee.
"""

import functools
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable)
_busy_models: dict[int, tuple[int]] = {}  # by id of a model: the thread that works on it


def locked(function: Function) -> Function:
    """Let only one thread at a time call this with the same first argument, a model.

    A thread may call again within its call.
    """

    @functools.wraps(function)
    def call(model: object, *arguments: Any, **keywords: Any) -> Any:
        # A new tuple per call: only the outermost call of a thread releases the model.
        key, owner = id(model), (get_ident(),)
        try:
            # `setdefault` is atomic.
            if _busy_models.setdefault(key, owner) != owner:
                raise RuntimeError(
                    f"{function.__name__}: another thread is training or saving this same "
                    f"{type(model).__name__}, and two threads at once would corrupt it. Give each "
                    "thread its own model (sklearn.base.clone, or copy.deepcopy beforehand), or "
                    "put a lock around the calls."
                )
            return function(model, *arguments, **keywords)
        finally:
            if _busy_models.get(key) is owner:
                del _busy_models[key]

    return cast(Function, call)


def _forget_other_threads() -> None:
    """In a forked child, remove the threads of the parent, which will never finish their calls."""
    for key, owner in list(_busy_models.items()):
        if owner != (get_ident(),):
            del _busy_models[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's `n_jobs`."""
    if n_jobs is None:
        return 1
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs) if n_jobs < 0 else n_jobs


def single_threaded_blas() -> AbstractContextManager:
    """Limit BLAS and OpenMP libraries to one thread while the context lasts.

    Threads on small matrices cost more than they save, and sums would depend on their number.
    """
    return _thread_pools(len(sys.modules)).limit(limits=1)


@functools.lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:
    """Return the libraries with thread pools.

    The search takes longer than a small fit, so it is repeated only when a new module is loaded.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
