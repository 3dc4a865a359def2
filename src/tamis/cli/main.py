"""The way in: parse, run a command, and turn every failure into one line and an exit code.

Exit codes: 0 done; 1 the data, a model file or a folder is not as it should be; 2 wrong options;
130 interrupted; 141 the reader of the output went away.
"""

import importlib
import os
import signal
import sys
import warnings
from typing import Any

from tamis.cli.methods import UsageError
from tamis.cli.parser import make_parser
from tamis.cli.say import complain, note

FAILED, USAGE, INTERRUPTED, PIPE = 1, 2, 130, 141


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    _open_output()
    parser = make_parser()
    given = parser.parse_args(arguments)
    given.words = ["tamis", *(sys.argv[1:] if arguments is None else arguments)]
    warnings.showwarning = _note
    signal.signal(signal.SIGTERM, _stop)
    if given.command in ("fit", "predict", "check", "inspect", "select"):
        sys.meta_path.insert(0, _NoPandas)
    try:
        importlib.import_module("tamis.cli.data").check_outputs(given)
        home = _HOMES.get(given.command, given.command)
        importlib.import_module(f"tamis.cli.commands.{home}").run(given)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # Nobody is there for what is still in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except KeyboardInterrupt:
        folder = getattr(given, "checkpoint", None)
        kept = folder and os.path.exists(os.path.join(folder, "checkpoint.json"))
        note(f"interrupted; the same command goes on from {folder}." if kept else "interrupted.")
        return INTERRUPTED
    except UsageError as error:
        complain(f"tamis {given.command}: {error}")
        return USAGE
    except Exception as error:
        if os.environ.get("TAMIS_DEBUG"):
            raise
        complain(f"tamis {given.command}: {_said(error)}")
        return FAILED
    finally:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _NoPandas]


# commands whose modules have other names
_HOMES = {"inspect": "look", "associate": "finding.associate", "select": "finding.select"}


class _NoPandas:
    """pandas is not there: scikit-learn and pyarrow would load 60 MB that no command needs."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and know nothing of other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


def _said(error: Exception) -> str:
    """An error in one line; of one that no one foresaw, also how to see more."""
    words = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return (
            f"not enough memory ({words}). Hash the columns into fewer (--hash-bits 20), or use "
            "--method ftrl."
        )
    if isinstance(error, ValueError | OSError | FloatingPointError | ImportError | TypeError):
        return words
    return f"{type(error).__name__}: {words}. Set TAMIS_DEBUG=1 to see where."


def _open_output() -> None:
    """Output in UTF-8, as in files, unless PYTHONIOENCODING or a terminal wants another encoding;
    what that lacks is escaped.
    """
    out: Any = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
        if not out.isatty() and not os.environ.get("PYTHONIOENCODING"):
            out.reconfigure(encoding="utf-8")


def _note(message, category, filename, lineno, file=None, line=None) -> None:
    """Warnings as notes."""
    note(f"note: {' '.join(str(message).split())}")


def _stop(number, frame) -> None:
    """A polite end is an interruption."""
    os.kill(os.getpid(), signal.SIGINT)
