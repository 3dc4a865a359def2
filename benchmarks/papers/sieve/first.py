"""The first edition of the sieve: the commit that held it, unpacked under build/, runs the same
command in a process of its own.
"""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.papers.sieve.methods import FIRST, SIEVE

COMMIT = "3cac74b"


def unpack(place: Path) -> str:
    """Unpack the commit's sources; what went wrong, or nothing."""
    if (place / "src").exists():
        return ""
    done = subprocess.run(
        ["git", "archive", COMMIT, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        return f"commit {COMMIT} is not in this clone's history"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")
    return ""


def run(options: list[str]) -> str:
    """Run the command with the first edition; the reason if it cannot be had."""
    place = ROOT / "build" / "first_edition"
    missing = unpack(place)
    if missing:
        return missing
    path = os.pathsep.join(filter(None, [str(place / "src"), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "benchmarks.papers.sieve", "--edition", FIRST]
    subprocess.run(
        [*command, "--only", SIEVE, *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    return ""
