"""Run the blocks of the pages: ``python docs/check_pages.py [PAGE ...]``.

A fenced block marked ``python`` is run: as a doctest where it has prompts, else as it stands. Of
one marked ``console run`` every line that begins with ``$`` is run, and must say what the page
says. The blocks of a page share one namespace and one folder, empty at first, from top to bottom.
Blocks marked otherwise (``text``, ``console``) are not run.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import signal
import sys
import tempfile
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGES = [
    *sorted([*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]),
    *sorted(DOCS.glob("data/*.md")),
]
FENCE = re.compile(r"^([ ]*)```(python|console run)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path):
    """The blocks of a page that run, each with its mark and the number of the line before it."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(2), match.group(3)


def run(page: Path) -> int:
    """Run a page; return how many of its blocks failed."""
    names = {"__name__": f"page_{page.stem}"}
    runner, parser = doctest.DocTestRunner(optionflags=FLAGS), doctest.DocTestParser()
    failed, home = 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for line, mark, code in blocks(page):
                if mark != "python":
                    said = [_says(*step, page, line) for step in steps(code)]
                    failed += not all(said)
                elif ">>>" in code:
                    test = parser.get_doctest(code, names, page.name, str(page), line)
                    failed += bool(runner.run(test, clear_globs=False).failed)
                    names.update(test.globs)
                else:
                    exec(compile("\n" * line + code, str(page), "exec"), names)
        finally:
            os.chdir(home)
    return failed


def steps(code: str) -> list[tuple[str, str]]:
    """Commands of a block, and what the page has them say."""
    parts = re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]
    return [(command, said) for command, _, said in (part.partition("\n") for part in parts)]


def terminal(command: str) -> str:
    """What a command says, remarks and results together."""
    from tamis.cli.main import main

    _, *words = shlex.split(command, comments=True)
    said, polite = io.StringIO(), signal.getsignal(signal.SIGTERM)
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            contextlib.suppress(SystemExit),
            warnings.catch_warnings(),
        ):
            main(words)
    finally:
        signal.signal(signal.SIGTERM, polite)
    return said.getvalue()


def _says(command: str, expected: str, page: Path, line: int) -> bool:
    """Whether a command says what the page says."""
    found = terminal(command)
    good = doctest.OutputChecker().check_output(expected, found, FLAGS)
    if not good:
        print(f"{page}, block after line {line}\n$ {command}\nexpected:\n{expected}\ngot:\n{found}")
    return good


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
