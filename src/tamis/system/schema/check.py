"""The one check of what comes from a model file: declared contents, scikit-learn's rules."""

import functools
from collections.abc import Iterable
from typing import Any

from tamis.system.schema.base import Content, ContentsError, Held, Outline, Promise, SparsePromise
from tamis.system.schema.values import plain_array, read_sparse

COMMON: dict[str, Content] = {}  # contents of every estimator, filled by `tamis.system.schema`


def _declared(cls: type) -> dict:
    """All that a class and its bases declare, its own first; None is in no file."""
    declared = dict(COMMON) if hasattr(cls, "get_params") else {}
    for base in cls.__mro__:
        for name, content in vars(base).get("_contents", {}).items():
            declared.setdefault(name, content)
    return declared


@functools.cache
def contents_of(cls: type) -> dict:
    """What files of a class hold; `...` names what any other attribute may be."""
    return {name: content for name, content in _declared(cls).items() if content is not None}


@functools.cache
def derived(cls: type) -> frozenset[str]:
    """Names of attributes that no file of a class holds, since others determine them."""
    return frozenset(name for name, content in _declared(cls).items() if content is None)


def undeclared(cls: type, names: Iterable[str]) -> list[str]:
    """Names of attributes that the class does not declare."""
    known = contents_of(cls)
    return [] if ... in known else [name for name in names if name not in known]


def settled(outline: Outline) -> Any:
    """The object that a file describes: compared as a whole before any array is read, then made."""
    path = outline.cls.__name__
    outline.held = Held(outline.parameters | outline.attributes)
    check_outline(outline, path)
    return made(outline, path)


def check_outline(outline: Outline, path: str) -> None:
    """Refuse an object by types, dtypes and shapes, for what it lacks or has beyond."""
    contents, held, attributes = contents_of(outline.cls), outline.held, outline.attributes
    for name in undeclared(outline.cls, attributes):
        raise ContentsError(
            f"{path} has the attribute {name!r}, which {outline.cls.__name__} does not hold"
        )
    for name, value in outline.parameters.items():
        outline_inside(value, f"{path}.{name}")
    # An estimator whose fit failed while its input was checked has early attributes alone, and is
    # not fitted.
    begun = not hasattr(outline.cls, "get_params") or any(
        not contents[name].early for name in attributes if name in contents
    )
    for name, content in contents.items():
        if name is ...:
            continue
        needed = content.needed(held)
        if name in attributes and needed is None:
            raise ContentsError(
                f"{path} has the attribute {name!r}, which does not go with its others"
            )
        if name in attributes:
            content.outline(attributes[name], held, f"{path}.{name}")
        elif begun and needed:
            raise ContentsError(f"{path} lacks the attribute {name!r}")
    if ... in contents:
        for name in attributes.keys() - contents.keys():
            contents[...].outline(attributes[name], held, f"{path}.{name}")
    held.close()


def outline_inside(value: object, path: str) -> None:
    """Check the outlines of objects that are somewhere in a value."""
    if isinstance(value, Outline):
        value.held = Held(value.parameters | value.attributes)
        check_outline(value, path)
    elif isinstance(value, dict | list | tuple):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            outline_inside(item, f"{path}[{name!r}]")


def made(outline: Outline, path: str) -> Any:
    """The object itself, made without a call of its constructor.

    A class may have a method `_restored` that makes what follows from its declared contents, and
    that raises ValueError for what no declaration can say.
    """
    cls, contents = outline.cls, contents_of(outline.cls)
    state = {name: filled(value, f"{path}.{name}") for name, value in outline.parameters.items()}
    for name, value in outline.attributes.items():
        state[name] = contents[name if name in contents else ...].fill(
            value, outline.held, f"{path}.{name}"
        )
    thing: Any = object.__new__(cls)
    thing.__dict__.update(state)
    try:
        if hasattr(cls, "_parameter_constraints"):
            thing._validate_params()
        if hasattr(cls, "_restored"):
            thing._restored()
    except ValueError as error:
        raise ContentsError(f"{path}: {error}") from None
    return thing


def filled(value: Any, path: str) -> Any:
    """A value of any kind, its arrays read and its objects made."""
    if isinstance(value, Promise):
        return plain_array(value)
    if isinstance(value, SparsePromise):
        return read_sparse(value)
    if isinstance(value, Outline):
        return made(value, path)
    if type(value) in (list, tuple):
        return type(value)(filled(item, f"{path}[{place}]") for place, item in enumerate(value))
    if type(value) is dict:
        return {name: filled(item, f"{path}[{name!r}]") for name, item in value.items()}
    return value
