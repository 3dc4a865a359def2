"""The way in: parse, run a command, and turn every failure into one line and an exit code.

Exit codes: 0 done; 1 the data, a model file or a folder is not as it should be; 2 wrong options;
130 interrupted (SIGINT); 141 the reader of the output went away; 143 terminated (SIGTERM).
"""

import _thread
import atexit
import importlib
import os
import signal
import sys
import time
import warnings
from typing import Any, NoReturn

from tamis.cli.messages import complain, note
from tamis.cli.methods import UsageError
from tamis.cli.options import as_option
from tamis.cli.parser import make_parser
from tamis.system.spelling import spelled
from tamis.system.terminal import without_secrets

FAILED, USAGE, PIPE, SIGNALLED = 1, 2, 141, 128
INTERRUPTED, TERMINATED = SIGNALLED + signal.SIGINT, SIGNALLED + signal.SIGTERM
GRACE = 1.0  # seconds for threads and temporary files after a signal


def command() -> NoReturn:
    """Run the command line as a process of its own."""
    _take_closed_streams()
    stop = Stop()
    stop.listen()
    code = main(stop=stop)
    if code in (INTERRUPTED, TERMINATED):
        # Other threads may be in a long loop or wait for input: the process does not wait for them.
        _thread.start_new_thread(_exit_late, (code,))
        atexit._run_exitfuncs()  # temporary folders
        os._exit(code)
    stop.listen(signal.SIG_DFL)  # while Python ends there is nothing to clean up, and no traceback
    sys.exit(code)


def _take_closed_streams() -> None:
    """Nothing in place of standard streams that are closed, lest a file that is opened becomes one;
    what is printed is lost, as was asked for, and standard input is still known to be closed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            if number:
                setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: SIM115


def _exit_late(code: int) -> None:
    time.sleep(GRACE)
    os._exit(code)


@spelled(as_option)
def main(arguments: list[str] | None = None, stop: "Stop | None" = None) -> int:
    """Run the command line; returns the exit code."""
    _open_output()
    stop = stop or Stop()
    name = "tamis"
    try:
        given = make_parser().parse_args(arguments)
        name = f"tamis {given.command}"
        words = sys.argv[1:] if arguments is None else arguments
        given.words = ["tamis", *map(without_secrets, words)]  # pages show them
        warnings.showwarning = _note
        stop.folder = getattr(given, "checkpoint", None)
        import_sklearn()
        importlib.import_module("tamis.cli.data").check_outputs(given)
        importlib.import_module(f"tamis.cli.commands.{given.command}").run(given)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        return stop.end()
    except BrokenPipeError:
        # Nobody is there for what is still in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except UsageError as error:
        complain(f"{name}: {error}")
        return USAGE
    except Exception as error:
        if stop.code:  # what an interruption has become on its way
            return stop.end()
        if os.environ.get("TAMIS_DEBUG"):
            raise
        complain(f"{name}: {_said(error)}")
        return FAILED


def import_sklearn() -> None:
    """Import scikit-learn without pandas, which it imports where it can: 60 MB that no command
    needs. Whoever does need pandas can still import it.
    """
    if "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # as if it were not installed
        try:
            import sklearn.utils.fixes  # noqa: F401
        finally:
            del sys.modules["pandas"]


def _said(error: Exception) -> str:
    """An error in one line; of one that no one foresaw, also how to see more."""
    words = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError) and not words.endswith("."):  # no sentence with a way out
        return (
            f"not enough memory ({words}). Hash the columns into fewer (--hash-bits 20), or use "
            "--method ftrl."
        )
    foreseen = ValueError, OSError, FloatingPointError, ImportError, TypeError, MemoryError
    if isinstance(error, foreseen):
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


class Stop:
    """SIGINT and SIGTERM end the command by KeyboardInterrupt; once, since a second one would end
    its cleaning. SIGINT stays ignored where it is, as in the background of a script.
    """

    def __init__(self):
        self.folder: str | None = None  # of checkpoints
        self.code, self.told = 0, False

    def listen(self, handler: Any = None) -> None:
        """Take the signals, or give them to another handler."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self if handler is None else handler)

    def __call__(self, number: int, frame: object) -> NoReturn:
        """A signal has come."""
        self.listen(signal.SIG_IGN)
        self.code = SIGNALLED + number
        sys.unraisablehook = lambda _: None  # of the exception where Python can only print it
        # Not by threading, whose locks the interrupted line may hold.
        _thread.start_new_thread(self._leave, ())
        raise KeyboardInterrupt

    def end(self) -> int:
        """Say it, and return the exit code."""
        self.told = True
        kept = self.folder and os.path.exists(os.path.join(self.folder, "checkpoint.json"))
        word = "terminated" if self.code == TERMINATED else "interrupted"
        more = f"; the same command goes on from {self.folder}." if kept else "."
        note(word + more)
        return self.code or INTERRUPTED

    def _leave(self) -> None:
        """End the process where the exception does not: while other threads work or wait."""
        time.sleep(GRACE)
        if not self.told:
            os._exit(self.end())
