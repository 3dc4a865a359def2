"""CONTRIBUTING names the files to open for seven tasks, and methods their files: they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
METHODS = sorted(path.parent for path in (ROOT / "src/tamis/methods").glob("*/__init__.py"))


def tasks():
    """Tasks and the files that are named for them."""
    table = PAGE.split("<!-- tasks -->")[1].split("<!-- end of tasks -->")[0]
    for line in table.strip().splitlines()[2:]:
        task, files = line.strip("|").split("|")
        yield task.strip(), re.findall(r"`([^`]+/[^`]+)`", files)


@pytest.mark.parametrize(("task", "files"), list(tasks()))
def test_the_files_of_a_task_are_there(task, files):
    assert files
    assert not [file for file in files if not (ROOT / file).exists()]


@pytest.mark.parametrize("folder", METHODS, ids=lambda folder: folder.name)
def test_a_method_lists_its_files(folder):
    """What it is, a paper of some year, and every file in it."""
    text = (folder / "__init__.py").read_text()
    assert re.search(r"\b(19|20)\d\d\b", text), "no paper"
    inside = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    inside += [path.parent.name for path in folder.glob("*/__init__.py")]
    assert not [name for name in inside if not re.search(rf"\b{name}\b", text)]
