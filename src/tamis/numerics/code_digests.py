"""What the names of compiled loops hold, so that an edit is a new loop: digests of sources and of
terms.
"""

import functools
import hashlib
import os
import re
import types
from numbers import Real
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
    own = {
        Path(__file__).parent / name for name in ("code_digests.py", "numba.py", "code_cache.py")
    }
    found, waiting = own, [Path(path)]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return hexdigest("".join(file.read_text("utf-8") for file in sorted(found) if file.exists()))


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Files of tamis that a file names in its imports."""
    if not path.exists():  # typed at a prompt
        return ()
    named = set()
    for home, beside, whole in _IMPORT.findall(path.read_text("utf-8")):
        named |= {whole} if whole else {home, *(f"{home}.{name}" for name in _WORD.findall(beside))}
    places = [os.path.join(_HOME, *name.split(".")) for name in named]
    files = [file for place in places for file in (f"{place}.py", f"{place}/__init__.py")]
    return tuple(Path(file) for file in files if os.path.exists(file))


def digest_of_methods(cls: type) -> str:
    """Digest of all that a term's methods do: their bytecode, constants and names."""
    methods = {
        name: value
        for name, value in sorted(vars(cls).items())
        if isinstance(value, types.FunctionType) and name[0] != "_"
    }
    return hexdigest(repr([(name, _content(method.__code__)) for name, method in methods.items()]))


def _content(code: types.CodeType) -> tuple:
    """All of a code object that does not depend on where it lies."""
    constants = tuple(_content(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames


def is_term(thing: object) -> bool:
    """Whether the value is a term (not the class of one)."""
    return isinstance(thing, tuple) and getattr(thing, "is_tamis_term", False)


def as_floats(given):
    """The term with all numbers as floats, so that Hinge(1) is not a second compilation."""
    return type(given)(
        *(as_floats(v) if is_term(v) else float(v) if isinstance(v, Real) else v for v in given)
    )


def is_foreign(value: tuple) -> bool:
    """Whether a term, or one inside it, was defined outside tamis."""
    outside = not type(value).__module__.startswith("tamis.")
    return outside or any(is_foreign(v) for v in value if is_term(v))


def missing_methods(value: object, *names: str) -> list[str]:
    """Names of the methods that a term lacks."""
    return [name for name in names if not callable(getattr(value, name, None))]


def kind_of(value: tuple) -> tuple:
    """The class of a term and the kinds of the terms inside it."""
    return type(value), *(kind_of(v) for v in value if is_term(v))


def names_of(kinds: tuple) -> tuple:
    """The same with names, which hold the digests, in place of classes."""
    return tuple(names_of(k) if isinstance(k, tuple) else k.__name__ for k in kinds)
