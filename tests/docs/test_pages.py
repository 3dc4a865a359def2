"""The Python blocks of the pages, the README and CONTRIBUTING run as printed; the reference lists
every public name.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import check_pages


@pytest.mark.own_seeds  # what the pages print
@pytest.mark.parametrize("page", check_pages.PAGES, ids=lambda page: page.name)
def test_page(page):
    assert check_pages.run(page) == 0


def test_reference():
    assert check_pages.unlisted() == []
