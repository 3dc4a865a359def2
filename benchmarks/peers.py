"""Peers of the benchmarks: which are there, and installing those that install.

``python -m benchmarks.peers`` installs each peer of the extra `bench` on its own, so that one that
does not install on a machine takes no other with it; the pages name it.
"""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
MODULES = {"metric-learn": "metric_learn"}  # where it is not the name itself


def listed() -> list[str]:
    """The packages of the extra `bench`, without tamis itself."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["bench"]
    return [name for name in extra if not name.startswith("tamis[")]


def has(name: str) -> bool:
    """Whether a peer is installed."""
    return importlib.util.find_spec(MODULES.get(name, name)) is not None


def absent(names) -> str:
    """A sentence about peers that are not installed here; nothing where all are."""
    missing = [name for name in names if not has(name)]
    return f"Not installed here, and so without figures: {', '.join(missing)}." if missing else ""


def main() -> None:
    """Install one after another."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for name in listed():
        if subprocess.run([*pip, name], check=False).returncode:
            print(f"{name} does not install here: the pages will say so.", flush=True)


if __name__ == "__main__":
    main()
