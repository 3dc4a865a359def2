"""One thread a model: a second one that would change it meanwhile is refused in time.

Who is at which model is kept here, by identity, and only for as long as a call lasts. Nothing lies
on the model: copies, pickles and model files know nothing of it. `predict` and all that only looks
need no turn; see `tests/laws/test_threads.py` for what they promise.
"""

import functools
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable)
_turns: dict[int, tuple[int]] = {}  # id of a model: the thread whose call has it now


def locked(function: Function) -> Function:
    """Let one thread at a time call this with the same first argument, a model.

    A thread may call again from inside its own call.
    """

    @functools.wraps(function)
    def call(model: object, *given: Any, **named: Any) -> Any:
        # A tuple of this call: what the outermost call of a thread takes, it alone gives back.
        key, mine = id(model), (get_ident(),)
        try:
            # `setdefault` is a single step, in which no other thread can come between.
            if _turns.setdefault(key, mine) != mine:
                raise RuntimeError(
                    f"{function.__name__}: another thread is training or saving this same "
                    f"{type(model).__name__}, and two at once would spoil it. Give each thread a "
                    "model of its own (sklearn.base.clone, or copy.deepcopy beforehand), or put a "
                    "lock around the calls."
                )
            return function(model, *given, **named)
        finally:
            if _turns.get(key) is mine:
                del _turns[key]

    return cast(Function, call)


def _forget_other_threads() -> None:
    """The child of a fork has one thread: turns of the others would never end."""
    for key, turn in list(_turns.items()):
        if turn != (get_ident(),):
            del _turns[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def count_threads(n_jobs: int | None) -> int:
    """Number of threads that scikit-learn's `n_jobs` asks for."""
    if n_jobs is None:
        return 1
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs) if n_jobs < 0 else n_jobs


def one_thread() -> AbstractContextManager:
    """While this lasts, BLAS and its like work alone: threads that share small matrices cost more
    than they do, and sums depend on their number.
    """
    return _libraries(len(sys.modules)).limit(limits=1)


@functools.lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """The libraries with threads of their own, for as long as no module is loaded that may bring
    another; looking for them takes longer than a small fit.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
