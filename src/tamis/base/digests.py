"""Digests of sources: what the names of compiled loops hold, so that an edit is a new loop."""

import functools
import hashlib
import os
import re
from pathlib import Path

_HOME = Path(__file__).parents[2]  # the folder that tamis lies in
# Words that are no imports (comments, `as`) name no file. A parser would take 40 ms at a first fit.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(tamis[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(tamis[\w.]*))",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")


def hexdigest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@functools.cache
def digest_of_sources(path: str) -> str:
    """Digest of a file and of all files of tamis that it imports, however deep."""
    found, waiting = {Path(__file__), Path(__file__).with_name("jit.py")}, [Path(path)]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return hexdigest("".join(file.read_text() for file in sorted(found) if file.exists()))


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Files of tamis that a file names in its imports."""
    if not path.exists():  # typed at a prompt
        return ()
    named = set()
    for home, beside, whole in _IMPORT.findall(path.read_text()):
        named |= {whole} if whole else {home, *(f"{home}.{name}" for name in _WORD.findall(beside))}
    places = [os.path.join(_HOME, *name.split(".")) for name in named]
    files = [file for place in places for file in (f"{place}.py", f"{place}/__init__.py")]
    return tuple(Path(file) for file in files if os.path.exists(file))
