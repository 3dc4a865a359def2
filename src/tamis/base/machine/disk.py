"""Files written whole or not at all, and locks that die with their process."""

import contextlib
import os
import re
import secrets
import weakref
from collections.abc import Iterator
from typing import IO, Any, BinaryIO

from tamis.base.machine.screen import for_terminal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

StrPath = str | os.PathLike[str]
TEMPORARY = re.compile(r"\.tamis-[0-9a-f]{24}\.tmp")
_HELD: weakref.WeakSet = weakref.WeakSet()


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
    """A new file that takes the place of `path` once it is on disk, or leaves no trace."""
    # A link stays a link: its target is replaced.
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        sweep(folder)
        file, temporary = _begin(folder)
        try:
            with file:
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
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot {verb} to {for_terminal(os.fspath(path))} ({error.strerror or error}): {verb} "
            "needs a folder that exists, has room and may be written to, since it writes a "
            "temporary file beside the one asked for. Choose another folder",
        ) from error


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
