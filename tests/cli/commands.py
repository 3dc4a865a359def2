"""Run the command line in a new process."""

import os
import subprocess
import sys
from typing import NamedTuple


class Done(NamedTuple):
    code: int
    out: str
    err: str


def tamis(*arguments, given=None, shell=None, cwd=None, **environment) -> Done:
    """Run `tamis` with the arguments; `given` is its standard input, or `shell` redirects it."""
    command = [sys.executable, "-m", "tamis", *map(str, arguments)]
    surroundings = {**os.environ, **environment}
    if shell is not None:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    done = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=surroundings,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def here(*arguments, capsys) -> Done:
    """Run `tamis` in this process: quicker, the same words."""
    import warnings

    from tamis.cli import main

    showing = warnings.showwarning
    try:
        code = main.main([str(a) for a in arguments])
    except SystemExit as ended:
        code = ended.code
    finally:
        warnings.showwarning = showing
    seen = capsys.readouterr()
    return Done(code, seen.out, seen.err)
