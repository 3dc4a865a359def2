"""The Python blocks of the pages, the README and CONTRIBUTING run as printed; the reference lists every public name."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import check_pages


@pytest.mark.skipif(bool(os.environ.get("TAMIS_TEST_SEED")), reason="the pages print what their own seeds give")
@pytest.mark.parametrize("page", check_pages.PAGES, ids=lambda page: page.name)
def test_page(page):
    assert check_pages.run(page) == 0


def test_reference():
    assert check_pages.unlisted() == []
