"""The Python blocks of the pages, the README and CONTRIBUTING run as printed; the reference lists
every public name.
"""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import check_pages

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore:.*the chains do not agree yet")
@pytest.mark.filterwarnings("ignore:TriClassSVC makes no use of 200 rows")
@pytest.mark.own_seeds  # what the pages print
@pytest.mark.parametrize(
    "page", check_pages.PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}"
)
def test_page(page):
    assert check_pages.run(page) == 0


@pytest.mark.parametrize(("said", "failed"), [("tamis ...", 0), ("something else", 1)])
def test_commands_of_a_page_say_what_the_page_says(tmp_path, capsys, said, failed):
    page = tmp_path / "page.md"
    page.write_text(f"```console run\n$ tamis --version  # aside\n{said}\n```\n")
    assert check_pages.run(page) == failed
    assert ("expected:" in capsys.readouterr().out) == bool(failed)


def test_reference():
    assert check_pages.unlisted() == []


def test_files_that_contributing_names_for_tasks_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page.split("<!-- tasks -->")[1].split("<!-- end of tasks -->")[0]
    files = re.findall(r"`([^`]+/[^`]+)`", table)
    assert files
    assert not [file for file in files if not (ROOT / file).exists()]


def test_machines_are_told_of_every_page_of_the_guide():
    docs = ROOT / "docs"
    listed = (docs / "guide.md").read_text().split(":hidden:")[1].split(":::")[0].split()
    told = (docs / "llms.txt").read_text()
    assert [page for page in listed if f"({page}.html)" not in told] == []
