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


BETWEEN = "\x1c"  # a character that no command prints
SEVERAL = f"""
import sys
from tamis.cli import main

main._take_closed_streams()
*lines, last = [line.split("{BETWEEN}") for line in sys.argv[1:]]
codes = set()
for line in lines:
    codes.add(main.main(line))
    print("{BETWEEN}", flush=True)
sys.argv[1:] = last
try:
    main.command()
except SystemExit as ended:
    codes.add(ended.code)
sys.exit(codes.pop() if len(codes) == 1 else f"codes: {{codes}}")
"""


def several(*lines, shell="", cwd=None, encoding="utf-8", **environment):
    """Run `tamis` with one line of arguments after the other in one new process, whose streams
    `shell` redirects. Returns the exit code of all of them, what each printed, and all errors.
    """
    words = [BETWEEN.join(map(str, line)) for line in lines]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-c", SEVERAL, *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )
    errors = done.stderr.decode(encoding)
    assert "Traceback" not in errors, errors
    return done.returncode, done.stdout.decode(encoding).split(f"{BETWEEN}\n"), errors


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
