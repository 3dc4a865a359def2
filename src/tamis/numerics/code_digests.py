"""Digests of source files and terms, for the names of compiled loops.

A loop is stored under a name with these digests, so that every edit gives a new loop.
"""

import functools
import hashlib
import os
import re
import types
from numbers import Real
from pathlib import Path

_SOURCE_ROOT = Path(__file__).parents[2]  # the folder that contains tamis
# Other words that match (comments, `as`) name no file. A parser would take 40 ms at a first fit.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(tamis[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(tamis[\w.]*))",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")


def short_digest(text: str) -> str:
    """Return a digest of a text, 12 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@functools.cache
def source_digest(path: str) -> str:
    """Return a digest of a file and of all files of tamis that it imports, directly or not."""
    cache_files = {
        Path(__file__).parent / name for name in ("code_digests.py", "numba.py", "code_cache.py")
    }
    files, pending = cache_files, [Path(path)]
    while pending:
        file = pending.pop()
        if file not in files:
            files.add(file)
            pending += _imported(file)
    return short_digest("".join(file.read_text("utf-8") for file in sorted(files) if file.exists()))


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Return the files of tamis that a file imports directly."""
    if not path.exists():  # code typed at a prompt
        return ()
    modules = set()
    for package, names, module in _IMPORT.findall(path.read_text("utf-8")):
        modules |= (
            {module}
            if module
            else {package, *(f"{package}.{name}" for name in _WORD.findall(names))}
        )
    stems = [os.path.join(_SOURCE_ROOT, *name.split(".")) for name in modules]
    files = [file for stem in stems for file in (f"{stem}.py", f"{stem}/__init__.py")]
    return tuple(Path(file) for file in files if os.path.exists(file))


def method_digest(cls: type) -> str:
    """Return a digest of the methods of a term: their bytecode, constants and names."""
    methods = {
        name: value
        for name, value in sorted(vars(cls).items())
        if isinstance(value, types.FunctionType) and name[0] != "_"
    }
    return short_digest(
        repr([(name, _code_content(method.__code__)) for name, method in methods.items()])
    )


def _code_content(code: types.CodeType) -> tuple:
    """Return all fields of a code object that do not depend on its place in a file."""
    constants = tuple(
        _code_content(c) if isinstance(c, types.CodeType) else c for c in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames


def is_term(value: object) -> bool:
    """Return whether the value is a term (an instance, not a class)."""
    return isinstance(value, tuple) and getattr(value, "is_tamis_term", False)


def as_floats(value):
    """Return the term with all its numbers as floats, so that Hinge(1) needs no new compilation."""
    return type(value)(
        *(as_floats(v) if is_term(v) else float(v) if isinstance(v, Real) else v for v in value)
    )


def is_user_defined(value: tuple) -> bool:
    """Return whether a term, or a term inside it, is defined outside tamis."""
    is_outside = not type(value).__module__.startswith("tamis.")
    return is_outside or any(is_user_defined(v) for v in value if is_term(v))


def missing_methods(value: object, *names: str) -> list[str]:
    """Return the names of the methods that a term lacks."""
    return [name for name in names if not callable(getattr(value, name, None))]


def term_classes(value: tuple) -> tuple:
    """Return the class of a term and, nested, the classes of the terms inside it."""
    return type(value), *(term_classes(v) for v in value if is_term(v))


def class_names(classes: tuple) -> tuple:
    """Return the names of these classes, which contain their digests."""
    return tuple(class_names(c) if isinstance(c, tuple) else c.__name__ for c in classes)
