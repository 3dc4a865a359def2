"""Check and construction of the objects of a model file."""

import functools
from collections.abc import Iterable
from typing import Any

from tamis.system.schema.base import (
    Content,
    ContentsError,
    LazyArray,
    LazySparseMatrix,
    ObjectData,
    Sizes,
)
from tamis.system.schema.values import read_array, read_sparse

COMMON: dict[str, Content] = {}  # contents of all estimators; `tamis.system.schema` adds them


def _declared(cls: type) -> dict:
    """Return the contents that a class and its bases declare; None means not saved."""
    declared = dict(COMMON) if hasattr(cls, "get_params") else {}
    for base in cls.__mro__:
        for name, content in vars(base).get("_contents", {}).items():
            declared.setdefault(name, content)
    return declared


@functools.cache
def declared_contents(cls: type) -> dict:
    """Return the saved contents of a class; `...` declares all other attributes."""
    return {name: content for name, content in _declared(cls).items() if content is not None}


@functools.cache
def derived_attributes(cls: type) -> frozenset[str]:
    """Return the names of attributes that are computed from others and not saved."""
    return frozenset(name for name, content in _declared(cls).items() if content is None)


def undeclared_attributes(cls: type, names: Iterable[str]) -> list[str]:
    """Return the names that the class does not declare."""
    declared = declared_contents(cls)
    return [] if ... in declared else [name for name in names if name not in declared]


def build_object(object_data: ObjectData) -> Any:
    """Return the object that a file describes, after a check of its structure."""
    path = object_data.cls.__name__
    object_data.sizes = Sizes(object_data.parameters | object_data.attributes)
    check_object(object_data, path)
    return make_object(object_data, path)


def check_object(object_data: ObjectData, path: str) -> None:
    """Check types, dtypes and shapes of an object, and which attributes it has."""
    contents, sizes, attributes = (
        declared_contents(object_data.cls),
        object_data.sizes,
        object_data.attributes,
    )
    for name in undeclared_attributes(object_data.cls, attributes):
        raise ContentsError(
            f"{path} has the attribute {name!r}, which {object_data.cls.__name__} does not declare"
        )
    for name, value in object_data.parameters.items():
        check_nested(value, f"{path}.{name}")
    # An estimator whose fit failed during validation has only early attributes and is not fitted.
    is_fitted = not hasattr(object_data.cls, "get_params") or any(
        not contents[name].early for name in attributes if name in contents
    )
    for name, content in contents.items():
        if name is ...:
            continue
        required = content.is_required(sizes)
        if name in attributes and required is None:
            raise ContentsError(
                f"{path} has the attribute {name!r}, which its other attributes rule out"
            )
        if name in attributes:
            content.check(attributes[name], sizes, f"{path}.{name}")
        elif is_fitted and required:
            raise ContentsError(f"{path} lacks the attribute {name!r}")
    if ... in contents:
        for name in attributes.keys() - contents.keys():
            contents[...].check(attributes[name], sizes, f"{path}.{name}")
    sizes.check_confirmed()


def check_nested(value: object, path: str) -> None:
    """Check the objects inside a value."""
    if isinstance(value, ObjectData):
        value.sizes = Sizes(value.parameters | value.attributes)
        check_object(value, path)
    elif isinstance(value, dict | list | tuple):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            check_nested(item, f"{path}[{name!r}]")


def make_object(object_data: ObjectData, path: str) -> Any:
    """Return the object, made without its constructor.

    If the class has a method `_after_load`, this computes the other attributes, and raises
    ValueError for rules that no declaration can express.
    """
    cls, contents = object_data.cls, declared_contents(object_data.cls)
    state = {
        name: load_value(value, f"{path}.{name}") for name, value in object_data.parameters.items()
    }
    for name, value in object_data.attributes.items():
        state[name] = contents[name if name in contents else ...].load(
            value, object_data.sizes, f"{path}.{name}"
        )
    instance: Any = object.__new__(cls)
    instance.__dict__.update(state)
    try:
        if hasattr(cls, "_parameter_constraints"):
            instance._validate_params()
        if hasattr(cls, "_after_load"):
            instance._after_load()
    except ValueError as error:
        raise ContentsError(f"{path}: {error}") from None
    return instance


def load_value(value: Any, path: str) -> Any:
    """Return a value of any kind with its arrays read and its objects made."""
    if isinstance(value, LazyArray):
        return read_array(value)
    if isinstance(value, LazySparseMatrix):
        return read_sparse(value)
    if isinstance(value, ObjectData):
        return make_object(value, path)
    if type(value) in (list, tuple):
        return type(value)(load_value(item, f"{path}[{index}]") for index, item in enumerate(value))
    if type(value) is dict:
        return {name: load_value(item, f"{path}[{name!r}]") for name, item in value.items()}
    return value
