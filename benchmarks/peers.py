"""Peers of the benchmarks: which are there, and installing those that install.

``python -m benchmarks.peers`` installs the peers of the extra `bench`; one that does not install on
a machine takes no other with it, and the pages name it. ``python -m benchmarks.peers peers``
installs the few that tests need.
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
    """Install what is not there: all at once, or one after another where one of them does not
    install. A machine without a network says so soon.
    """
    missing = [name for name in listed(extra) if not has(name)]
    if not missing or _installed(missing, PATIENCE[extra]):
        return
    for name in missing:
        if not _installed([name], PATIENCE[extra]):
            print(f"{name} does not install here: it is left out, and said so.", flush=True)


def _installed(names: list[str], seconds: float) -> bool:
    """Whether pip installs these packages in time."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-compile", "--retries", "1", *names]
    try:
        return not subprocess.run(command, check=False, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:2])
