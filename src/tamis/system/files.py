"""Atomic writes of files, and locks that end with their process."""

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
TEMPORARY_NAME = re.compile(r"\.tamis-[0-9a-f]{24}\.tmp")
MAX_LINKS = 40  # in a chain of symbolic links
_LOCKED_FILES: weakref.WeakSet = weakref.WeakSet()
_SOURCES: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


# --------------------------------------------------------------------------- locks
def lock(file: IO) -> bool:
    """Lock an open file without waiting, also against other threads; return False if it is locked.

    The lock ends when the file is closed or the process ends.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt = _windows_locks()
            file.seek(1 << 30)  # far behind the bytes that others read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
    except (BlockingIOError, PermissionError):
        return False
    _LOCKED_FILES.add(file)
    return True


def _windows_locks() -> Any:
    """Return the module of locks on Windows; OSError on systems without locks."""
    try:
        import msvcrt
    except ImportError:
        raise OSError("this system has no locks") from None
    return msvcrt


def is_same_file(file: IO, path: StrPath) -> bool:
    """Return whether an open file is still the file at `path` (not replaced before the lock)."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _release_locks() -> None:
    """Redirect a forked child's copies of locked files to the null device.

    The child shares the locks of its parent and would hold them longer than the parent. It must not
    close the files: another thread of the parent may have been writing, and then closing would wait
    for ever.
    """
    descriptors = [file.fileno() for file in list(_LOCKED_FILES) if not file.closed]
    if descriptors:
        null_device = os.open(os.devnull, os.O_RDWR)
        for descriptor in descriptors:
            os.dup2(null_device, descriptor, inheritable=False)
        os.close(null_device)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_locks)


# --------------------------------------------------------------------------- writing
@contextlib.contextmanager
def atomic_writer(path: StrPath, verb: str = "save") -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` once it is on disk; on failure nothing remains.

    If `path` is a special file (a device, a FIFO, /dev/stdout), yield that file instead.
    """
    path = os.fsdecode(path)
    replaces_file = is_replaced(path)
    try:
        if replaces_file:
            with _replacement_file(path) as file:
                yield file
        else:
            with _open_special_file(path) as file:
                yield file
    except OSError as error:
        reason = error.strerror or error
        advice = (
            f": {verb} needs a folder that exists, with free space and rights to write, since it "
            "writes a temporary file next to the output. Choose another folder"
        )
        raise OSError(
            error.errno,
            f"cannot {verb} to {for_terminal(path)} ({reason}){advice * replaces_file}",
        ) from error


def is_replaced(path: StrPath) -> bool:
    """Return whether a write to `path` creates or replaces a file (not a special file)."""
    if _descriptor(path) is not None:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


def _descriptor(path: StrPath) -> int | None:
    """Return the descriptor of this process behind /dev/stdout, /dev/fd/63 or a link to them."""
    folder, name = os.path.split(os.path.abspath(path))
    for _ in range(MAX_LINKS):
        if name.isdecimal() and os.path.realpath(folder) == os.path.realpath("/dev/fd"):
            return int(name)
        try:
            link = os.readlink(os.path.join(folder, name))
        except OSError:
            return None
        folder, name = os.path.split(os.path.normpath(os.path.join(folder, link)))
    return None


def _open_special_file(path: StrPath) -> BinaryIO:
    """Open a special file for writing; a descriptor continues after its previous output."""
    descriptor = _descriptor(path)
    return open(path, "wb") if descriptor is None else open(os.dup(descriptor), "wb")


@contextlib.contextmanager
def _replacement_file(path: StrPath) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` on success and is removed on failure."""
    # A link stays: its target is replaced.
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    remove_stale_files(folder)
    file, temporary = _create_temporary(folder)
    try:
        with file:
            _copy_permissions(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows moves no open file
            os.replace(temporary, target)  # while locked, so that no other process sweeps it
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _copy_permissions(target: str, temporary: str) -> None:
    """Copy the mode and, where allowed, the owner of the file that will be replaced."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
    with contextlib.suppress(OSError):  # a disk without modes
        os.chmod(temporary, status.st_mode & 0o777)  # setuid is for the old content


# --------------------------------------------------------------------------- outputs and inputs
def record_sources(product: object, files: Iterable[StrPath]) -> None:
    """Record the files that an object was made from, for the life of the object in this process."""
    paths = (os.path.abspath(name) for name in files if os.path.exists(name))
    with contextlib.suppress(TypeError):  # another library's object without weak references
        _SOURCES[product] = tuple(dict.fromkeys((*get_sources(product), *paths)))


def get_sources(product: object) -> tuple[str, ...]:
    """Return the files that an object, or a step of a Pipeline, was made from.

    It knows the objects that were made in this process.
    """
    sources = list[str]()
    for owner in (product, *(step for _, step in getattr(product, "steps", ()))):
        with contextlib.suppress(TypeError):
            sources += _SOURCES.get(owner, ())
    return tuple(sources)


def refuse_overwriting(
    path: StrPath,
    inputs: Iterable[StrPath],
    may_replace: Callable[[StrPath], bool] = lambda name: False,
) -> None:
    """Raise ValueError if an output would replace one of the inputs, or if its folder contains one.

    "-" is standard input. `may_replace` exempts inputs.
    """
    for name in inputs:
        if _would_replace(name, path) and not may_replace(name):
            shown = "standard input" if name == "-" else for_terminal(os.fspath(name))
            raise ValueError(
                f"{for_terminal(os.fspath(path))}: this output would replace an input, {shown}. "
                "Write it somewhere else."
            )


def _would_replace(name: StrPath, path: StrPath) -> bool:
    """Return whether writing to `path`, a file or a folder, replaces the file `name`."""
    try:
        status = os.fstat(0) if name == "-" else os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            return False
        if os.path.isdir(path):
            return name != "-" and os.path.samefile(os.path.dirname(os.path.realpath(name)), path)
        return os.path.samestat(status, os.stat(path))
    except (OSError, ValueError):  # a file that does not exist, or an invalid name
        return False


def remove_stale_files(folder: StrPath) -> None:
    """Remove the temporary files of dead processes in a folder: those that are not locked."""
    if fcntl is None:
        return  # a closed file that is about to be moved would look like one of a dead process
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError), open(entry.path, "r+b") as file:
                    if lock(file):
                        os.unlink(entry.path)


def _create_temporary(folder: str) -> tuple[BinaryIO, str]:
    """Create a temporary file, locked while it is open; return it and its path."""
    while True:
        temporary = os.path.join(folder, f".tamis-{secrets.token_hex(12)}.tmp")
        file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
        with contextlib.suppress(OSError):  # on a disk without locks nothing is swept either
            lock(file)
        if fcntl is None or is_same_file(file, temporary):
            return file, temporary
        file.close()  # another process swept it before it was locked


def _sync_folder(folder: str) -> None:
    """Sync a folder, so that a new name in it survives a crash."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
