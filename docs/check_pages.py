"""Run the Python blocks of the pages: ``python docs/check_pages.py [PAGE ...]``.

A fenced block marked ``python`` is run: as a doctest where it has prompts, else as it stands. The
blocks of a page share one namespace, from top to bottom, in an empty folder. Blocks marked
otherwise (``text``, ``console``) are not run.
"""

import doctest
import os
import re
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGES = sorted([*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"])
FENCE = re.compile(r"^([ ]*)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path):
    """The Python blocks of a page, each with the number of the line before it."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(2)


def run(page: Path) -> int:
    """Run a page; return how many of its blocks failed."""
    names = {"__name__": f"page_{page.stem}"}
    runner, parser = doctest.DocTestRunner(optionflags=FLAGS), doctest.DocTestParser()
    failed, home = 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for line, code in blocks(page):
                if ">>>" in code:
                    test = parser.get_doctest(code, names, page.name, str(page), line)
                    failed += bool(runner.run(test, clear_globs=False).failed)
                    names.update(test.globs)
                else:
                    exec(compile("\n" * line + code, str(page), "exec"), names)
        finally:
            os.chdir(home)
    return failed


def unlisted() -> list[str]:
    """Public names that the reference, docs/api.rst, does not list."""
    import tamis

    listed = set((DOCS / "api.rst").read_text(encoding="utf-8").split())
    return sorted({*tamis._HOMES, *tamis.terms.__all__} - listed)


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    results = {page: run(page) for page in pages}
    for page, failed in results.items():
        print(f"{page.name}: {sum(1 for _ in blocks(page))} blocks, {failed} failed")
    for name in unlisted():
        print(f"api.rst: {name} is missing")
    sys.exit(any(results.values()) or bool(unlisted()))
