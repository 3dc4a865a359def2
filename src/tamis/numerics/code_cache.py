"""Compiled code on disk: a folder that nobody else can write to, and files that may be damaged."""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

_HOME = Path(__file__).parent
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = hashlib.sha256().digest_size
_warned = False


@functools.cache
def folder_for_code() -> str | None:
    """A folder of the user alone, for where the package's own cannot be written to; None: no other.

    What lies in it is run: it is used only where nobody else could have put it there.
    """
    if os.access(_HOME, os.W_OK):
        return None
    for place in (_in_home, _in_scratch):
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
            folder = place()
            folder.mkdir(0o700, parents=True, exist_ok=True)
            if _is_private(folder) and os.access(folder, os.W_OK):
                return str(folder)
    return None


def _in_home() -> Path:
    return (Path.home() / ".cache").resolve() / "tamis"


def _in_scratch() -> Path:
    if not hasattr(os, "geteuid"):
        raise FileNotFoundError("Windows does not say whose a folder is")
    return Path(tempfile.gettempdir()).resolve() / f"tamis-{os.geteuid()}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can write into a folder, or put another one in its place."""
    if not hasattr(os, "geteuid"):  # Windows, where a home is its user's own
        return not folder.is_symlink()
    found, me = os.lstat(folder), os.geteuid()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != me or found.st_mode & _OTHERS:
        return False
    for above in map(os.lstat, folder.parents):
        open_to_all = above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX
        if above.st_uid not in (0, me) or open_to_all:
            return False
    return True


# --------------------------------------------------------------------------- files
def sealed(data: bytes) -> bytes:
    """Machine code and, before it, its digest: code with a gap of zeros in it must not be run."""
    return hashlib.sha256(data).digest() + data


def unsealed(data: bytes) -> bytes:
    """Machine code, where it is as it was written."""
    code = data[_DIGEST:]
    if hashlib.sha256(code).digest() != data[:_DIGEST]:
        raise ValueError("a file was cut short or changed")
    return code


@contextlib.contextmanager
def dropping(index: str) -> Iterator[None]:
    """Go on where stored code cannot be read or written: forget what the index names, warn once."""
    try:
        yield
    except Exception as error:  # whatever unpickling meets in a file that was cut short
        with contextlib.suppress(OSError):
            os.unlink(index)
        _warn(os.path.dirname(index), error)


def _warn(folder: str, error: Exception) -> None:
    global _warned
    if not _warned:
        _warned = True
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(
            f"Compiled code in {folder} could not be read or written ({reason}); it is compiled "
            "again. If this goes on, make room on the disk or remove the folder, or let "
            "NUMBA_CACHE_DIR name another.",
            stacklevel=2,
        )
