"""The one door to Numba: compiled loops, terms, and the methods of terms."""

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

_CACHE = "NUMBA_CACHE_DIR"
TERM_METHODS: list[str] = []
Function = TypeVar("Function", bound=Callable)
Class = TypeVar("Class", bound=type)
# Numba's own type takes the typing context for an argument of the call.
intrinsic: Callable[[Callable], Callable] = numba_intrinsic
ENTRY: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


# --------------------------------------------------------------------------- loops
class Loop:
    """A compiled entry loop: a dispatcher a combination of terms, on disk if all are tamis's.

    Numba's cache tells namedtuples apart by module and name, and does not see edits in other files.
    So the function is compiled under a name that holds a digest of the terms' code and of the files
    that helpers live in. And a cached loop that has seen a foreign term crashes every later process
    in which that term's module is gone, so those stay in memory.
    """

    def __init__(self, function: Callable, **options: bool):
        self.plain: Any = function  # with code and name, as functions have
        self.options = {**ENTRY, **options}
        self.twins: dict[tuple, Any] = {}  # Numba's dispatchers
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the dispatcher for the terms among the arguments."""
        return self._for(arguments)(*arguments)

    def prepared(self, *arguments: Any) -> Callable:
        """The machine code for arguments of exactly these types, without the look at them that a
        dispatcher takes in every call (several microseconds); others would be misread.
        """
        twin = self._for(arguments)
        if not hasattr(twin, "overloads"):  # under NUMBA_DISABLE_JIT
            return twin
        return twin.compile(tuple(map(twin.typeof_pyval, arguments)))

    def _for(self, arguments: tuple) -> Any:
        """The dispatcher for the terms among the arguments."""
        # Small loops are called thousands of times: what is no tuple is passed over at once.
        kinds = tuple(
            [
                code_digests.kind_of(a)
                for a in arguments
                if isinstance(a, tuple) and code_digests.is_term(a)
            ]
        )
        twin = self.twins.get(kinds)
        if twin is None:
            foreign = any(code_digests.is_term(a) and code_digests.is_foreign(a) for a in arguments)
            twin = self.twins.setdefault(kinds, self._twin(kinds, foreign))
        return twin

    def _twin(self, kinds: tuple, foreign: bool) -> Any:
        """The dispatcher for these kinds of terms."""
        plain = self.plain
        twin = python_types.FunctionType(
            plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__
        )
        twin.__module__ = plain.__module__
        digest = code_digests.hexdigest(
            repr(
                (
                    code_digests.names_of(kinds),
                    code_digests.digest_of_sources(plain.__code__.co_filename),
                )
            )
        )
        twin.__qualname__ = f"{plain.__qualname__}_{digest}"
        return _dispatcher(twin, not foreign, self.options)

    def signatures(self) -> int:
        """Number of compiled signatures, over all combinations of terms."""
        return sum(len(twin.signatures) for twin in self.twins.values())

    def misses(self) -> int:
        """Number of signatures that were not found on disk."""
        return sum(sum(twin.stats.cache_misses.values()) for twin in self.twins.values())


@functools.cache
def _store_class() -> type:
    """Numba's store of machine code, but only in the folder that NUMBA_CACHE_DIR names or beside
    the source, and with a digest, so that damaged code is compiled again and not run.

    Numba has no public names for either: this is for safety and saves no time. Where it has moved
    these names, each process compiles for itself.
    """
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    class Placed(CompileResultCacheImpl):
        """Not in Numba's own folder of the user, for nobody looks whose that is."""

        _locator_classes = [  # noqa: RUF012 (as in Numba)
            kind
            for kind in CompileResultCacheImpl._locator_classes
            if "UserProvided" in kind.__name__ or "InTree" in kind.__name__
        ]

    class Stored(FunctionCache):
        _impl_class = Placed

        def __init__(self, function: Callable):
            super().__init__(function)
            files: Any = self._cache_file
            for name, method in (("_load_data", self._read), ("_save_data", self._write)):
                getattr(files, name)  # an AttributeError where Numba has moved it
                setattr(files, name, method)

        def _read(self, name: str) -> Any:
            with open(self._cache_file._data_path(name), "rb") as file:
                return pickle.loads(code_cache.unsealed(file.read()))

        def _write(self, name: str, data: Any) -> None:
            with self._cache_file._open_for_write(self._cache_file._data_path(name)) as file:
                file.write(code_cache.sealed(self._cache_file._dump(data)))

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with code_cache.dropping(self._cache_file._index_path):
                # Numba first gets ready to compile. To load, its runtime is enough: .09 to .12 s
                # less for the first fit of a process (FTRL, AROW, tasks; medians of 7).
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
            with code_cache.dropping(self._cache_file._index_path):
                super().save_overload(sig, data)

    return Stored


def _compile_without_gc(twin: Any) -> None:
    """Let a dispatcher collect no garbage while it compiles: Numba makes objects by the million, of
    which few die. Saves .27 s of 4.2 s of FTRL's first fit without stored code (median of 7).
    """
    compile_ = twin.compile

    def compile_without_gc(sig: Any) -> Any:
        usual = gc.isenabled()
        gc.disable()
        try:
            return compile_(sig)
        finally:
            if usual:
                gc.enable()

    twin.compile = compile_without_gc


def _dispatcher(function: Callable, cached: bool, options: dict[str, Any]) -> Any:
    """Numba's dispatcher; its cache lies in the package, in a folder of the user, or nowhere."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # read at run time
        return function
    folder = code_cache.folder_for_code() if cached and _CACHE not in os.environ else None
    try:
        if folder is not None:
            os.environ[_CACHE] = folder  # for this moment only: other users of Numba keep their own
            numba.config.reload_config()
        twin: Any = numba.njit(**options)(function)
        _compile_without_gc(twin)
        if cached:
            # No folder to cache in; or Numba has moved its private names.
            with contextlib.suppress(RuntimeError, ImportError, AttributeError):
                twin._cache = _store_class()(function)
        return twin
    finally:
        if folder is not None:
            del os.environ[_CACHE]
            numba.config.reload_config()


def compiled(function: Callable) -> Loop:
    """Compile an entry loop."""
    return Loop(function)


def compiled_parallel(function: Callable) -> Loop:
    """Compile an entry loop whose ``prange`` runs on several threads."""
    return Loop(function, parallel=True)


@functools.cache
def _helper_class() -> type:
    """Numba's dispatcher for functions that Python cannot call: .27 s less of 4.8 s that the first
    fit of online tasks takes without stored code (median of 7).
    """
    from numba.core.registry import CPUDispatcher

    class Helper(CPUDispatcher):
        def __call__(self, *given: Any) -> Any:
            """Run a twin that Python can call, as tests do."""
            if "twin" not in vars(self):
                self.twin = numba.njit(**ENTRY)(self.py_func)
            return self.twin(*given)

        def get_call_template(self, args: Any, kws: Any) -> Any:
            """Numba would compile another version for every number that a caller writes out."""
            return super().get_call_template(tuple(map(numba_types.unliteral, args)), kws)

    return Helper


def helper(function: Function) -> Function:
    """Compile a function that entry loops call; their cache files hold its machine code."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # read at run time
        return function
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        return _helper_class()(function, targetoptions={"nopython": True, **ENTRY, **wrappers})
    except ImportError:  # Numba has moved the name
        return cast(Function, numba.njit(**ENTRY)(function))


def inlined(function: Function) -> Function:
    """A helper laid into the loops that call it: a call counts its arrays up and down, which locks
    the memory and takes longer than what many of them do.
    """
    return cast(Function, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


def copied(function: Function) -> Function:
    """A helper whose source is copied into its callers: for small ones and those with one caller,
    as every function that Numba compiles by itself costs a tenth of a second or more.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": "always"}
    return cast(Function, numba.njit(**options)(function))


prange = numba.prange


def prefetch(array: np.ndarray, cell: int | np.integer) -> None:
    """Ask for element `cell` of an array's last axis before it is needed; no effect otherwise."""


@intrinsic
def _prefetch(context, array, cell):
    """LLVM's prefetch of the address of an element."""

    def generate(context, builder, signature, arguments):
        kind, index = signature.args
        view = context.make_array(kind)(context, builder, arguments[0])
        stride = builder.extract_value(view.strides, kind.ndim - 1)
        offset = builder.mul(stride, context.cast(builder, arguments[1], index, numba_types.intp))
        byte = ir.IntType(8).as_pointer()
        place = builder.gep(builder.bitcast(view.data, byte), [offset])
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        builder.call(
            builder.module.declare_intrinsic("llvm.prefetch", [byte], kind),
            [place, word(0), word(3), word(1)],
        )
        return context.get_dummy_value()

    return numba_types.void(array, cell), generate


@overload(prefetch)
def _typed_prefetch(array, cell):
    return lambda array, cell: _prefetch(array, cell)


def claim(counters: np.ndarray, cell: int | np.integer) -> int | np.integer:
    """Count up one of the whole numbers in a vector and return it as it was: no two threads get the
    same.
    """
    before = counters[cell]
    counters[cell] += 1
    return before


@intrinsic
def _claim(context, counters, cell):
    """LLVM's atomic addition of 1."""

    def generate(context, builder, signature, arguments):
        kind, index = signature.args
        view = context.make_array(kind)(context, builder, arguments[0])
        place = builder.gep(
            view.data, [context.cast(builder, arguments[1], index, numba_types.intp)]
        )
        return builder.atomic_rmw("add", place, place.type.pointee(1), "monotonic")

    return counters.dtype(counters, cell), generate


@overload(claim)
def _typed_claim(counters, cell):
    return lambda counters, cell: _claim(counters, cell)


# --------------------------------------------------------------------------- threads
_parallel = threading.Lock()  # one parallel loop at a time: workqueue aborts under two threads
_forked = False


def _note_fork() -> None:
    """OpenMP dies in the child of a process that has used it: children stay serial."""
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def on_threads(parallel: Loop, serial: Loop, threads: int, *given: Any) -> Any:
    """Run a parallel loop on so many threads or, where unsafe, its serial twin: the same bits."""
    if threads == 1 or _forked or not _parallel.acquire(blocking=False):
        return serial(*given)
    try:
        usual = _launch()
        try:
            most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # read at run time
            numba.set_num_threads(min(threads, most))
            return parallel(*given)
        finally:
            numba.set_num_threads(usual)
    finally:
        _parallel.release()


def _launch() -> int:
    """Start Numba's threads, as far as nobody has; return how many are in use."""
    # GNU OpenMP reads how long to spin at a barrier when it is loaded, here. Its own choice is for
    # ever, and where other programs want the cores a stage then lasts as long as their time slices
    # (20 times as long was seen); without any, waking up costs more than a stage.
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return numba.get_num_threads()
    os.environ["GOMP_SPINCOUNT"] = "40000"
    try:
        return numba.get_num_threads()
    finally:
        del os.environ["GOMP_SPINCOUNT"]


# --------------------------------------------------------------------------- terms
def _same(self, other):
    """Terms are equal when they are of one type and hold equal numbers."""
    return type(self) is type(other) and tuple.__eq__(self, other)


def _hash(self):
    return hash((type(self), tuple.__hash__(self)))


def term(cls: Class) -> Class:
    """Turn a NamedTuple with methods into a term: a tuple of numbers that compiled loops accept.

    The class name gets a digest of the methods: a term before and after an edit must not share
    machine code.
    """
    kind: Any = cls  # the class of a NamedTuple, for which there is no word in types
    if not kind._fields:
        raise TypeError(
            f"{cls.__name__} has no field; a term needs at least one (Numba cannot call methods of "
            "an empty tuple)."
        )
    plain = cls.__name__

    def __repr__(self):
        inside = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
        return f"{plain}({', '.join(inside)})"

    kind.__repr__, kind.__hash__ = __repr__, _hash
    kind.__eq__, kind.__ne__ = _same, lambda a, b: not _same(a, b)
    kind.__name__ = f"{plain}_{code_digests.digest_of_methods(cls)}"
    kind.is_tamis_term = True
    return cls


# --------------------------------------------------------------------------- methods of terms
def term_method(function: Any = None, *, otherwise: Callable | None = None) -> Any:
    """Teach Numba a method of terms: the call goes to the method of that name of the term that is
    the first argument, or to `otherwise` where the term has none.

    Not ``overload_method`` on Numba's namedtuple type: that would be global to the process and
    break the namedtuples of other libraries.
    """
    if function is None:
        return functools.partial(term_method, otherwise=otherwise)
    name = function.__name__
    TERM_METHODS.append(name)

    plain = function
    if otherwise is not None:

        @functools.wraps(function)
        def plain(self, *arguments):
            return (function if hasattr(self, name) else otherwise)(self, *arguments)

    @overload(plain, strict=False)
    def typed(self, *arguments):
        cls = getattr(self, "instance_class", None)
        if isinstance(self, numba_types.BaseNamedTuple) and getattr(cls, "is_tamis_term", False):
            return getattr(cls, name, otherwise)
        return None

    return plain
