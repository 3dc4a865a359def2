"""Python processes for tests."""

import os
import subprocess
import sys
import textwrap

import pytest


def run_process(code, *arguments, timeout=300, **options):
    """Run code in a new Python process; return what it printed.

    A crash is a failure that shows the process's words.
    """
    environment = {**os.environ, **{k: str(v) for k, v in options.pop("env", {}).items()}}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )
    if done.returncode:
        pytest.fail(
            "the process ended with "
            f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}",
            pytrace=False,
        )
    return done.stdout


def start_process(code, *arguments, **options):
    """Start code in a new Python process that the test talks to, and ends."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **options
    )
