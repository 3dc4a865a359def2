"""The only module that imports Numba: compiled loops, terms, and methods of terms."""

import contextlib
import functools
import gc
import os
import pickle
import threading
import types as python_types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types as numba_types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import overload

from tamis.numerics import code_cache, code_digests

_CACHE_VARIABLE = "NUMBA_CACHE_DIR"
TERM_METHODS: list[str] = []
Function = TypeVar("Function", bound=Callable)
Class = TypeVar("Class", bound=type)
# Numba's annotation counts the typing context among the arguments of the call.
intrinsic: Callable[[Callable], Callable] = numba_intrinsic
ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


# --------------------------------------------------------------------------- loops
class Loop:
    """A compiled entry loop, with one Numba dispatcher per combination of terms.

    Numba's cache identifies namedtuples by module and name and does not see edits of other files.
    Therefore a loop is compiled under a name with digests of its terms and of the source files that
    it uses. Only loops with shipped terms are stored on disk: a stored loop with a user's term
    would crash every later process that cannot import the module of that term.
    """

    def __init__(self, function: Callable, **options: bool):
        self.python_function: Any = function  # typed Any for its __code__ and __name__
        self.options = {**ENTRY_OPTIONS, **options}
        self.dispatchers: dict[tuple, Any] = {}  # Numba's dispatchers
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the dispatcher for the terms among the arguments."""
        return self._dispatcher_for(arguments)(*arguments)

    def compiled_for(self, *arguments: Any) -> Callable:
        """Return the machine code for arguments of exactly these types.

        It skips the dispatcher's check of types, several microseconds per call; arguments of other
        types would be misread.
        """
        dispatcher = self._dispatcher_for(arguments)
        if not hasattr(dispatcher, "overloads"):  # under NUMBA_DISABLE_JIT
            return dispatcher
        return dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments)))

    def _dispatcher_for(self, arguments: tuple) -> Any:
        """Return the dispatcher for the terms among the arguments, made at the first call."""
        # Small loops are called thousands of times, so the test for a tuple comes first.
        classes = tuple(
            [
                code_digests.term_classes(a)
                for a in arguments
                if isinstance(a, tuple) and code_digests.is_term(a)
            ]
        )
        dispatcher = self.dispatchers.get(classes)
        if dispatcher is None:
            has_user_term = any(
                code_digests.is_term(a) and code_digests.is_user_defined(a) for a in arguments
            )
            dispatcher = self.dispatchers.setdefault(
                classes, self._make_dispatcher(classes, has_user_term)
            )
        return dispatcher

    def _make_dispatcher(self, classes: tuple, has_user_term: bool) -> Any:
        """Compile a dispatcher for these classes of terms."""
        python_function = self.python_function
        dispatcher = python_types.FunctionType(
            python_function.__code__,
            python_function.__globals__,
            python_function.__name__,
            python_function.__defaults__,
        )
        dispatcher.__module__ = python_function.__module__
        digest = code_digests.short_digest(
            repr(
                (
                    code_digests.class_names(classes),
                    code_digests.source_digest(python_function.__code__.co_filename),
                )
            )
        )
        dispatcher.__qualname__ = f"{python_function.__qualname__}_{digest}"
        return _dispatcher(dispatcher, not has_user_term, self.options)

    def signatures(self) -> int:
        """Return the number of compiled signatures, over all combinations of terms."""
        return sum(len(dispatcher.signatures) for dispatcher in self.dispatchers.values())

    def misses(self) -> int:
        """Return the number of signatures that were not found on disk."""
        return sum(
            sum(dispatcher.stats.cache_misses.values()) for dispatcher in self.dispatchers.values()
        )


@functools.cache
def _cache_class() -> type:
    """Return a subclass of Numba's cache that uses trusted folders and verifies digests.

    The folder is the one of NUMBA_CACHE_DIR or the one of the source. Damaged code is compiled
    again and not executed. Numba has no public names for this; where it has moved these names, an
    AttributeError leaves each process without a cache.
    """
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    class TrustedFolderCache(CompileResultCacheImpl):
        """Without Numba's folder of the user, since nobody checks its owner."""

        _locator_classes = [  # noqa: RUF012 (as in Numba)
            locator
            for locator in CompileResultCacheImpl._locator_classes
            if "UserProvided" in locator.__name__ or "InTree" in locator.__name__
        ]

    class VerifiedCache(FunctionCache):
        _impl_class = TrustedFolderCache

        def __init__(self, function: Callable):
            super().__init__(function)
            files: Any = self._cache_file
            for name, method in (("_load_data", self._read), ("_save_data", self._write)):
                getattr(files, name)  # an AttributeError where Numba has moved it
                setattr(files, name, method)

        def _read(self, name: str) -> Any:
            with open(self._cache_file._data_path(name), "rb") as file:
                return pickle.loads(code_cache.remove_digest(file.read()))

        def _write(self, name: str, data: Any) -> None:
            with self._cache_file._open_for_write(self._cache_file._data_path(name)) as file:
                file.write(code_cache.add_digest(self._cache_file._dump(data)))

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with code_cache.discarding_damaged(self._cache_file._index_path):
                # Numba would prepare to compile first. Loading needs only its runtime: 0.09 to
                # 0.12 s less for the first fit of a process (FTRL, AROW, tasks; medians of 7).
                try:
                    from numba.core.runtime import rtsys

                    rtsys.initialize(target_context)
                    load, guard = self._load_overload, self._guard_against_spurious_io_errors
                except (ImportError, AttributeError):  # Numba has moved them
                    return super().load_overload(sig, target_context)
                with guard():
                    return load(sig, target_context)
            return None  # another process has the file, or it is damaged

        def save_overload(self, sig: Any, data: Any) -> None:
            with code_cache.discarding_damaged(self._cache_file._index_path):
                super().save_overload(sig, data)

    return VerifiedCache


def _compile_without_gc(dispatcher: Any) -> None:
    """Disable garbage collection while a dispatcher compiles.

    Numba makes millions of objects and few of them become garbage. Saves 0.27 s of 4.2 s of the
    first FTRL fit without stored code (median of 7).
    """
    compile_ = dispatcher.compile

    def compile_without_gc(sig: Any) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_(sig)
        finally:
            if was_enabled:
                gc.enable()

    dispatcher.compile = compile_without_gc


def _dispatcher(function: Callable, use_cache: bool, options: dict[str, Any]) -> Any:
    """Return Numba's dispatcher, cached in the package, in a folder of the user, or not at all."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # read at run time
        return function
    folder = (
        code_cache.user_cache_folder() if use_cache and _CACHE_VARIABLE not in os.environ else None
    )
    try:
        if folder is not None:
            # Restored below: other users of Numba keep their folder.
            os.environ[_CACHE_VARIABLE] = folder
            numba.config.reload_config()
        dispatcher: Any = numba.njit(**options)(function)
        _compile_without_gc(dispatcher)
        if use_cache:
            # RuntimeError: no folder for the cache; else Numba has moved its private names.
            with contextlib.suppress(RuntimeError, ImportError, AttributeError):
                dispatcher._cache = _cache_class()(function)
        return dispatcher
    finally:
        if folder is not None:
            del os.environ[_CACHE_VARIABLE]
            numba.config.reload_config()


def compiled(function: Callable) -> Loop:
    """Compile an entry loop."""
    return Loop(function)


def compiled_parallel(function: Callable) -> Loop:
    """Compile an entry loop whose ``prange`` runs on several threads."""
    return Loop(function, parallel=True)


@functools.cache
def _helper_class() -> type:
    """Return a subclass of Numba's dispatcher without the code that lets Python call it.

    Saves 0.27 s of 4.8 s of the first fit of online tasks without stored code (median of 7).
    """
    from numba.core.registry import CPUDispatcher

    class Helper(CPUDispatcher):
        def __call__(self, *arguments: Any) -> Any:
            """Run a version that Python can call, for tests."""
            if "callable_version" not in vars(self):
                self.callable_version = numba.njit(**ENTRY_OPTIONS)(self.py_func)
            return self.callable_version(*arguments)

        def get_call_template(self, args: Any, kws: Any) -> Any:
            """Without literal types: Numba would compile another version for every literal."""
            return super().get_call_template(tuple(map(numba_types.unliteral, args)), kws)

    return Helper


def compiled_helper(function: Function) -> Function:
    """Compile a function for entry loops to call; their cache files hold its machine code."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # read at run time
        return function
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        return _helper_class()(
            function, targetoptions={"nopython": True, **ENTRY_OPTIONS, **wrappers}
        )
    except ImportError:  # Numba has moved the name
        return cast(Function, numba.njit(**ENTRY_OPTIONS)(function))


def force_inlined(function: Function) -> Function:
    """Compile a helper that LLVM inlines into the loops that call it.

    A call changes the reference counts of its arrays atomically, which costs more than a short
    helper does.
    """
    return cast(Function, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


def source_inlined(function: Function) -> Function:
    """Compile a helper whose source Numba copies into its callers.

    For small helpers and those with one caller: each function that Numba compiles separately costs
    0.1 s or more.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": "always"}
    return cast(Function, numba.njit(**options)(function))


prange = numba.prange


def prefetch(array: np.ndarray, cell: int | np.integer) -> None:
    """Prefetch element `cell` of the last axis of an array; no effect outside compiled code."""


@intrinsic
def _prefetch(context, array, cell):
    """LLVM's prefetch of the address of an element."""

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        stride = builder.extract_value(view.strides, array_type.ndim - 1)
        offset = builder.mul(
            stride, context.cast(builder, arguments[1], index_type, numba_types.intp)
        )
        byte = ir.IntType(8).as_pointer()
        address = builder.gep(builder.bitcast(view.data, byte), [offset])
        int32 = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
        builder.call(
            builder.module.declare_intrinsic("llvm.prefetch", [byte], function_type),
            [address, int32(0), int32(3), int32(1)],
        )
        return context.get_dummy_value()

    return numba_types.void(array, cell), generate


@overload(prefetch)
def _typed_prefetch(array, cell):
    return lambda array, cell: _prefetch(array, cell)


def fetch_and_add(counters: np.ndarray, cell: int | np.integer) -> int | np.integer:
    """Add 1 to a counter and return its previous value, atomically over threads."""
    before = counters[cell]
    counters[cell] += 1
    return before


@intrinsic
def _claim(context, counters, cell):
    """LLVM's atomic addition of 1."""

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        address = builder.gep(
            view.data, [context.cast(builder, arguments[1], index_type, numba_types.intp)]
        )
        return builder.atomic_rmw("add", address, address.type.pointee(1), "monotonic")

    return counters.dtype(counters, cell), generate


@overload(fetch_and_add)
def _typed_claim(counters, cell):
    return lambda counters, cell: _claim(counters, cell)


# --------------------------------------------------------------------------- threads
_parallel_lock = threading.Lock()  # one parallel loop at a time: workqueue aborts under two threads
_is_forked = False


def _note_fork() -> None:
    """Make a forked child serial: OpenMP crashes in it if the parent has used threads."""
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def run_parallel(parallel: Loop, serial: Loop, threads: int, *arguments: Any) -> Any:
    """Run a parallel loop on some threads, or its serial twin (same bits) if that is unsafe."""
    if threads == 1 or _is_forked or not _parallel_lock.acquire(blocking=False):
        return serial(*arguments)
    try:
        previous = _start_threads()
        try:
            max_threads = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # read at run time
            numba.set_num_threads(min(threads, max_threads))
            return parallel(*arguments)
        finally:
            numba.set_num_threads(previous)
    finally:
        _parallel_lock.release()


def _start_threads() -> int:
    """Start Numba's threads if they are not running; return how many are in use."""
    # GNU OpenMP reads how long threads spin at a barrier when it is loaded, here. By default they
    # spin for ever: where other programs use the cores, a stage then lasts as long as their time
    # slices (measured: 20 times as long). Without any spinning, waking up costs more than a stage.
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return numba.get_num_threads()
    os.environ["GOMP_SPINCOUNT"] = "40000"
    try:
        return numba.get_num_threads()
    finally:
        del os.environ["GOMP_SPINCOUNT"]


# --------------------------------------------------------------------------- terms
def _equal_terms(self, other):
    """Return whether two terms have the same type and equal numbers."""
    return type(self) is type(other) and tuple.__eq__(self, other)


def _hash_term(self):
    return hash((type(self), tuple.__hash__(self)))


def term(cls: Class) -> Class:
    """Make a term of a NamedTuple with methods: a tuple of numbers that compiled loops accept.

    The class name gets a digest of the methods, so that a term before an edit and after it never
    share machine code.
    """
    named_tuple: Any = cls  # typing has no name for the class of a NamedTuple
    if not named_tuple._fields:
        raise TypeError(
            f"{cls.__name__} has no field; a term needs at least one (Numba cannot call methods of "
            "an empty tuple)."
        )
    class_name = cls.__name__

    def __repr__(self):
        fields = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
        return f"{class_name}({', '.join(fields)})"

    named_tuple.__repr__, named_tuple.__hash__ = __repr__, _hash_term
    named_tuple.__eq__, named_tuple.__ne__ = _equal_terms, lambda a, b: not _equal_terms(a, b)
    named_tuple.__name__ = f"{class_name}_{code_digests.method_digest(cls)}"
    named_tuple.is_tamis_term = True
    return cls


# --------------------------------------------------------------------------- methods of terms
def term_method(function: Any = None, *, otherwise: Callable | None = None) -> Any:
    """Register a method of terms with Numba.

    A call in a loop goes to the method of that name of the first argument, a term, or to
    `otherwise` if the term has none. Numba's ``overload_method`` on namedtuples is no option: it is
    global to the process and would break namedtuples of other libraries.
    """
    if function is None:
        return functools.partial(term_method, otherwise=otherwise)
    name = function.__name__
    TERM_METHODS.append(name)

    function_in_python = function
    if otherwise is not None:

        @functools.wraps(function)
        def function_in_python(self, *arguments):
            return (function if hasattr(self, name) else otherwise)(self, *arguments)

    @overload(function_in_python, strict=False)
    def overloaded(self, *arguments):
        cls = getattr(self, "instance_class", None)
        if isinstance(self, numba_types.BaseNamedTuple) and getattr(cls, "is_tamis_term", False):
            return getattr(cls, name, otherwise)
        return None

    return function_in_python
