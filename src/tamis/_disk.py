"""Files written whole or not at all."""

import contextlib
import os
import secrets


@contextlib.contextmanager
def replacing(path, verb: str = "save"):
    """A new file that takes the place of `path` once it is safe on disk, and leaves no trace on failure."""
    # A link stays a link: its target is replaced.
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".tamis-{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot {verb} to {path} ({error.strerror or error}): {verb} needs a folder that exists, has room and may be "
            "written to, since it writes a temporary file beside the one asked for. Choose another folder",
        ) from error
