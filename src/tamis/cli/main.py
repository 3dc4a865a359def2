"""The entry point: parse the options, run a command, turn a failure into one line and a code.

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

from tamis.cli.messages import print_error, print_note
from tamis.cli.methods import UsageError
from tamis.cli.options import as_option
from tamis.cli.parser import make_parser
from tamis.system.spelling import use_spelling
from tamis.system.terminal import without_secrets

EXIT_FAILURE, EXIT_USAGE, EXIT_BROKEN_PIPE = 1, 2, 141
EXIT_SIGNAL = 128  # plus the number of the signal
EXIT_INTERRUPTED = EXIT_SIGNAL + signal.SIGINT
EXIT_TERMINATED = EXIT_SIGNAL + signal.SIGTERM
CLEANUP_SECONDS = 1.0  # for threads and temporary files after a signal


def command() -> NoReturn:
    """Run the command line as a process, and end the process."""
    _replace_closed_streams()
    signals = SignalHandler()
    signals.install()
    code = main(signals=signals)
    if code in (EXIT_INTERRUPTED, EXIT_TERMINATED):
        # Other threads may be in a long loop or wait for input: the process does not wait for them.
        _thread.start_new_thread(_exit_later, (code,))
        atexit._run_exitfuncs()  # temporary folders
        os._exit(code)
    # While Python ends there is nothing to clean up, and a signal must not print a traceback.
    signals.install(signal.SIG_DFL)
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise the next file that is opened would become that stream. `sys.stdin` stays None, so that
    readers can refuse a closed standard input.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
            if descriptor:
                setattr(sys, name, open(descriptor, "w", encoding="utf-8"))  # noqa: SIM115


def _exit_later(code: int) -> None:
    """End the process after the time for cleaning up."""
    time.sleep(CLEANUP_SECONDS)
    os._exit(code)


@use_spelling(as_option)
def main(arguments: list[str] | None = None, signals: "SignalHandler | None" = None) -> int:
    """Run the command line and return its exit code."""
    _set_encoding()
    signals = signals or SignalHandler()
    name = "tamis"
    try:
        args = make_parser().parse_args(arguments)
        name = f"tamis {args.command}"
        argv = sys.argv[1:] if arguments is None else arguments
        args.command_line = ["tamis", *map(without_secrets, argv)]  # for pages
        warnings.showwarning = _print_warning
        signals.checkpoint = getattr(args, "checkpoint", None)
        import_sklearn()
        importlib.import_module("tamis.cli.data").check_outputs(args)
        importlib.import_module(f"tamis.cli.commands.{args.command}").run(args)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        return signals.report()
    except BrokenPipeError:
        # Nobody reads what is still in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except UsageError as error:
        print_error(f"{name}: {error}")
        return EXIT_USAGE
    except Exception as error:
        if signals.code:  # an interruption that another library turned into its own exception
            return signals.report()
        if os.environ.get("TAMIS_DEBUG"):
            raise
        print_error(f"{name}: {_describe_error(error)}")
        return EXIT_FAILURE


def import_sklearn() -> None:
    """Import scikit-learn without pandas, which it imports where it can.

    Pandas takes 60 MB and no command needs it. A later `import pandas` still works.
    """
    if "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # as if it were not installed
        try:
            import sklearn.utils.fixes  # noqa: F401
        finally:
            del sys.modules["pandas"]


def _describe_error(error: Exception) -> str:
    """Return an error in one line; for an unexpected one also say how to get the traceback."""
    message = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError) and not message.endswith("."):  # not a message of tamis
        return (
            f"not enough memory ({message}). Hash the columns into fewer (--hash-bits 20), or use "
            "--method ftrl."
        )
    expected = ValueError, OSError, FloatingPointError, ImportError, TypeError, MemoryError
    if isinstance(error, expected):
        return message
    return f"{type(error).__name__}: {message}. Set TAMIS_DEBUG=1 to see where."


def _set_encoding() -> None:
    """Write UTF-8 to files and pipes unless PYTHONIOENCODING names another encoding.

    A terminal keeps its encoding. Characters that an encoding lacks are escaped.
    """
    out: Any = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
        if not out.isatty() and not os.environ.get("PYTHONIOENCODING"):
            out.reconfigure(encoding="utf-8")


def _print_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Print a warning as a note, in place of `warnings.showwarning`."""
    print_note(f"note: {' '.join(str(message).split())}")


class SignalHandler:
    """Handler of SIGINT and SIGTERM that ends the command by a KeyboardInterrupt.

    It acts once, since a second exception would end the cleaning up. SIGINT stays ignored where it
    is ignored, as in the background of a script.
    """

    def __init__(self):
        self.checkpoint: str | None = None  # folder of checkpoints
        self.code, self.is_reported = 0, False

    def install(self, handler: Any = None) -> None:
        """Handle the signals by this object, or by another handler."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self if handler is None else handler)

    def __call__(self, number: int, frame: object) -> NoReturn:
        """Handle a signal."""
        self.install(signal.SIG_IGN)
        self.code = EXIT_SIGNAL + number
        sys.unraisablehook = lambda _: None  # where Python can only print the exception
        # Not by the module threading: the interrupted line may hold its locks.
        _thread.start_new_thread(self._force_exit, ())
        raise KeyboardInterrupt

    def report(self) -> int:
        """Print that the command was interrupted, and return the exit code."""
        self.is_reported = True
        path = self.checkpoint and os.path.join(self.checkpoint, "checkpoint.json")
        word = "terminated" if self.code == EXIT_TERMINATED else "interrupted"
        can_continue = path and os.path.exists(path)
        resume = f"; the same command goes on from {self.checkpoint}." if can_continue else "."
        print_note(word + resume)
        return self.code or EXIT_INTERRUPTED

    def _force_exit(self) -> None:
        """End the process if the exception did not, since another thread works or waits."""
        time.sleep(CLEANUP_SECONDS)
        if not self.is_reported:
            os._exit(self.report())
