"""Peers of the benchmarks: which are there, and installing those that install.

``python -m benchmarks.peers`` installs each peer of the extra `bench` on its own, so that one that
does not install on a machine takes no other with it; the pages name it. ``python -m
benchmarks.peers peers`` installs the few that tests need.
"""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
MODULES = {"metric-learn": "metric_learn"}  # where it is not the name itself
PATIENCE = {"bench": 900.0, "peers": 60.0}  # seconds for one of them


def listed(extra: str = "bench") -> list[str]:
    """The packages of an extra, without tamis itself."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    names = project["optional-dependencies"][extra]
    return [name for name in names if not name.startswith("tamis[")]


def has(name: str) -> bool:
    """Whether a peer is installed."""
    return importlib.util.find_spec(MODULES.get(name, name)) is not None


def absent(names) -> str:
    """A sentence about peers that are not installed here; nothing where all are."""
    missing = [name for name in names if not has(name)]
    return f"Not installed here, and so without figures: {', '.join(missing)}." if missing else ""


def main(extra: str = "bench") -> None:
    """Install one after another what is not there; a machine without a network says so soon."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for name in listed(extra):
        if has(name):
            continue
        try:
            done = subprocess.run(
                [*pip, "--retries", "1", name], check=False, timeout=PATIENCE[extra]
            )
            failed = bool(done.returncode)
        except subprocess.TimeoutExpired:
            failed = True
        if failed:
            print(f"{name} does not install here: it is left out, and said so.", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
