"""Files written whole or not at all, and locks that die with their process."""

import contextlib
import os
import re
import secrets
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, BinaryIO

from tamis.system.terminal import for_terminal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

StrPath = str | os.PathLike[str]
TEMPORARY = re.compile(r"\.tamis-[0-9a-f]{24}\.tmp")
MOST_LINKS = 40  # of a chain
_HELD: weakref.WeakSet = weakref.WeakSet()
_MADE_FROM: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


# --------------------------------------------------------------------------- locks
def lock(file: IO) -> bool:
    """Lock an open file without waiting, against other threads too; False where another holds it.

    Closing the file, or dying, frees it.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt = _windows_locks()
            file.seek(1 << 30)  # far behind what others may want to read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
    except (BlockingIOError, PermissionError):
        return False
    _HELD.add(file)
    return True


def _windows_locks() -> Any:
    """The module of Windows's locks; an OSError where there is none, as on a disk without locks."""
    try:
        import msvcrt
    except ImportError:
        raise OSError("this system has no locks") from None
    return msvcrt


def is_at(file: IO, path: StrPath) -> bool:
    """Whether an open file is still the one at `path`, and was not removed before it was locked."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _let_go() -> None:
    """A forked child shares its parent's locks and would outlive them: its files become nothing.

    They are not closed: a thread that the child does not have may have been writing, and then
    closing waits for ever.
    """
    held = [file.fileno() for file in list(_HELD) if not file.closed]
    if held:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in held:
            os.dup2(nothing, number, inheritable=False)
        os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


# --------------------------------------------------------------------------- writing
@contextlib.contextmanager
def replacing(path: StrPath, verb: str = "save") -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is on disk, or leaves no trace.

    What is there and is no regular file (a device, a FIFO, /dev/stdout) is written into.
    """
    path = os.fsdecode(path)
    replaced = is_replaced(path)
    try:
        if replaced:
            with _new_file(path) as file:
                yield file
        else:
            with _written_into(path) as file:
                yield file
    except OSError as error:
        advice = (
            f": {verb} needs a folder that exists, has room and may be written to, since it writes "
            "a temporary file beside the one asked for. Choose another folder"
        )
        raise OSError(
            error.errno,
            f"cannot {verb} to {for_terminal(path)} ({error.strerror or error}){advice * replaced}",
        ) from error


def is_replaced(path: StrPath) -> bool:
    """Whether writing to `path` makes or replaces a file, and does not write into what is there."""
    if _descriptor(path) is not None:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


def _descriptor(path: StrPath) -> int | None:
    """The descriptor of this process that /dev/stdout, /dev/fd/63 or a link to such stands for."""
    folder, name = os.path.split(os.path.abspath(path))
    for _ in range(MOST_LINKS):
        if name.isdecimal() and os.path.realpath(folder) == os.path.realpath("/dev/fd"):
            return int(name)
        try:
            link = os.readlink(os.path.join(folder, name))
        except OSError:
            return None
        folder, name = os.path.split(os.path.normpath(os.path.join(folder, link)))
    return None


def _written_into(path: StrPath) -> BinaryIO:
    """A stream into what is no regular file; into a descriptor, after what it has been given."""
    number = _descriptor(path)
    return open(path, "wb") if number is None else open(os.dup(number), "wb")


@contextlib.contextmanager
def _new_file(path: StrPath) -> Iterator[BinaryIO]:
    """A temporary file that takes the place of `path`, or is removed."""
    # A link stays a link: its target is replaced.
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    sweep(folder)
    file, temporary = _begin(folder)
    try:
        with file:
            _take_rights(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows moves no open file
            os.replace(temporary, target)  # while it is locked, lest another's sweep takes it
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync(folder)


def _take_rights(target: str, temporary: str) -> None:
    """Mode, and owner where that is allowed, of the file that is to be replaced."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):  # a disk without modes
        os.chmod(temporary, old.st_mode & 0o777)  # setuid is for the old content


# --------------------------------------------------------------------------- outputs and inputs
def made_from(product: object, files: Iterable[StrPath]) -> None:
    """Note the files that an object was made from, for as long as this process has it."""
    names = (os.path.abspath(name) for name in files if os.path.exists(name))
    with contextlib.suppress(TypeError):  # an object of others that takes no weak reference
        _MADE_FROM[product] = tuple(dict.fromkeys((*sources_of(product), *names)))


def sources_of(product: object) -> tuple[str, ...]:
    """The files that an object, or a step of a Pipeline, was made from, as far as this process
    knows.
    """
    found = list[str]()
    for one in (product, *(step for _, step in getattr(product, "steps", ()))):
        with contextlib.suppress(TypeError):
            found += _MADE_FROM.get(one, ())
    return tuple(found)


def refuse_inputs(
    path: StrPath,
    inputs: Iterable[StrPath],
    may_replace: Callable[[StrPath], bool] = lambda name: False,
) -> None:
    """Refuse an output that would replace one of the inputs ("-" is standard input), or a folder
    for outputs that holds one; but for inputs that it `may_replace`.
    """
    for name in inputs:
        if _is_lost(name, path) and not may_replace(name):
            told = "standard input" if name == "-" else for_terminal(os.fspath(name))
            raise ValueError(
                f"{for_terminal(os.fspath(path))}: this output would replace an input, {told}. "
                "Write it somewhere else."
            )


def _is_lost(name: StrPath, path: StrPath) -> bool:
    """Whether writing to `path`, a file or a folder, replaces the file `name`."""
    try:
        there = os.fstat(0) if name == "-" else os.stat(name)
        if not stat.S_ISREG(there.st_mode):
            return False
        if os.path.isdir(path):
            return name != "-" and os.path.samefile(os.path.dirname(os.path.realpath(name)), path)
        return os.path.samestat(there, os.stat(path))
    except (OSError, ValueError):  # one of them is not there, or its name can be no file's
        return False


def sweep(folder: StrPath) -> None:
    """Remove what dead processes left of `replacing` in a folder; nothing that is locked."""
    if fcntl is None:
        return  # a file that is closed, and about to be moved, could not be told from a dead one
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError), open(entry.path, "r+b") as file:
                    if lock(file):
                        os.unlink(entry.path)


def _begin(folder: str) -> tuple[BinaryIO, str]:
    """A new temporary file, locked as long as it is open, and its name."""
    while True:
        temporary = os.path.join(folder, f".tamis-{secrets.token_hex(12)}.tmp")
        file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
        with contextlib.suppress(OSError):  # a disk without locks: nobody sweeps there either
            lock(file)
        if fcntl is None or is_at(file, temporary):
            return file, temporary
        file.close()  # swept between its making and its locking


def _sync(folder: str) -> None:
    """Make the new name itself safe, where a folder can be synced."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
