"""Run the command line in a new process."""

import os
import subprocess
import sys
from typing import NamedTuple


class Result(NamedTuple):
    code: int
    out: str
    err: str


def tamis(*arguments, given=None, shell=None, cwd=None, **environment) -> Result:
    """Run `tamis` in a new process; `given` is its standard input, or `shell` redirects it."""
    command = [sys.executable, "-m", "tamis", *map(str, arguments)]
    if shell is not None:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    process = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=300,
        check=False,
    )
    assert "Traceback" not in process.stderr, process.stderr
    return Result(process.returncode, process.stdout, process.stderr)


SEPARATOR = "\x1c"  # a character that no command prints
SEVERAL_SCRIPT = f"""
import sys
from tamis.cli import main

main._replace_closed_streams()
*lines, last = [line.split("{SEPARATOR}") for line in sys.argv[1:]]
codes = set()
for line in lines:
    codes.add(main.main(line))
    print("{SEPARATOR}", flush=True)
sys.argv[1:] = last
try:
    main.command()
except SystemExit as ended:
    codes.add(ended.code)
sys.exit(codes.pop() if len(codes) == 1 else f"codes: {{codes}}")
"""


def several(*lines, shell="", cwd=None, encoding="utf-8", **environment):
    """Run `tamis` with one line of arguments after the other in one new process; `shell` redirects
    its streams. Return their common exit code, what each line printed, and all errors.
    """
    arguments = [SEPARATOR.join(map(str, line)) for line in lines]
    process = subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-c", SEVERAL_SCRIPT, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )
    errors = process.stderr.decode(encoding)
    assert "Traceback" not in errors, errors
    return process.returncode, process.stdout.decode(encoding).split(f"{SEPARATOR}\n"), errors


def here(*arguments, capsys) -> Result:
    """Run `tamis` in this process, which is faster."""
    import warnings

    from tamis.cli import main

    original = warnings.showwarning
    try:
        code = main.main([str(a) for a in arguments])
    except SystemExit as ended:
        code = ended.code
    finally:
        warnings.showwarning = original
    captured = capsys.readouterr()
    return Result(code, captured.out, captured.err)
