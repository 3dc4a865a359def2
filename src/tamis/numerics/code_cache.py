"""Files of compiled code: a folder that only the user can write to, and digests of the files."""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

_PACKAGE_FOLDER = Path(__file__).parent
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DIGEST_SIZE = hashlib.sha256().digest_size
_warned = False


@functools.cache
def user_cache_folder() -> str | None:
    """Return a private folder for compiled code if the package's folder is read-only, else None.

    Files of this folder are executed, so it must be a folder where nobody else can write. None also
    means that no such folder exists.
    """
    if os.access(_PACKAGE_FOLDER, os.W_OK):
        return None
    for candidate in (_home_cache_folder, _temporary_cache_folder):
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
            folder = candidate()
            folder.mkdir(0o700, parents=True, exist_ok=True)
            if _is_private(folder) and os.access(folder, os.W_OK):
                return str(folder)
    return None


def _home_cache_folder() -> Path:
    """Return the cache folder in the user's home."""
    return (Path.home() / ".cache").resolve() / "tamis"


def _temporary_cache_folder() -> Path:
    """Return the user's cache folder among the temporary files."""
    if not hasattr(os, "geteuid"):
        raise FileNotFoundError("Windows does not tell the owner of a folder")
    return Path(tempfile.gettempdir()).resolve() / f"tamis-{os.geteuid()}"


def _is_private(folder: Path) -> bool:
    """Return whether nobody else can write into a folder or replace it."""
    if not hasattr(os, "geteuid"):  # on Windows only the user can write into a home folder
        return not folder.is_symlink()
    status, user = os.lstat(folder), os.geteuid()
    if (
        not stat.S_ISDIR(status.st_mode)
        or status.st_uid != user
        or status.st_mode & _WRITABLE_BY_OTHERS
    ):
        return False
    for parent in map(os.lstat, folder.parents):
        is_open_to_all = parent.st_mode & stat.S_IWOTH and not parent.st_mode & stat.S_ISVTX
        if parent.st_uid not in (0, user) or is_open_to_all:
            return False
    return True


# --------------------------------------------------------------------------- files
def add_digest(data: bytes) -> bytes:
    """Return machine code after its digest, so that damaged code is not executed."""
    return hashlib.sha256(data).digest() + data


def remove_digest(data: bytes) -> bytes:
    """Return the machine code of `add_digest`; ValueError if it does not match its digest."""
    code = data[_DIGEST_SIZE:]
    if hashlib.sha256(code).digest() != data[:_DIGEST_SIZE]:
        raise ValueError("a file was cut short or changed")
    return code


@contextlib.contextmanager
def discarding_damaged(index: str) -> Iterator[None]:
    """Suppress errors of reading or writing stored code, delete its index and warn once."""
    try:
        yield
    except Exception as error:  # unpickling a truncated file can raise anything
        with contextlib.suppress(OSError):
            os.unlink(index)
        _warn(os.path.dirname(index), error)


def _warn(folder: str, error: Exception) -> None:
    """Warn once per process that compiled code could not be read or written."""
    global _warned
    if not _warned:
        _warned = True
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(
            f"Compiled code in {folder} could not be read or written ({reason}); it is compiled "
            "again. If this happens again, free space on the disk, remove the folder, or set "
            "NUMBA_CACHE_DIR to another one.",
            stacklevel=2,
        )
