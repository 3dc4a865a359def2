"""Declarations made of others: lists, dicts, nested objects, and choices between them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.system.schema.base import Content, LazyArray, ObjectData, Sizes, refuse
from tamis.system.schema.check import check_nested, check_object, load_value, make_object

# Bytes of an array in a record such as `cv_results_`. Arrays that grow with the data have a
# declared shape.
_MAX_PLAIN_BYTES = 1 << 24
# Classes of objects inside models, saved by their declared attributes.
NESTED_CLASSES: dict[str, type] = {}


class Items(Content):
    """A list or tuple: with a declaration per item, or one declaration for all."""

    def __init__(
        self,
        kind: type[list] | type[tuple],
        items: Content | list[Content],
        count: str | None = None,
        minimum: int = 0,
    ):
        self.kind, self.items, self.count, self.minimum = kind, items, count, minimum

    def _item_contents(self, value: list | tuple) -> list[Content]:
        return self.items if isinstance(self.items, list) else [self.items] * len(value)

    def matches(self, value: object) -> bool:
        """Return whether it is the right kind of sequence."""
        return type(value) is self.kind

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check all items."""
        n_items = len(self.items) if isinstance(self.items, list) else None
        is_wrong_kind = type(value) is not self.kind or len(value) < self.minimum
        if is_wrong_kind or n_items not in (None, len(value)):
            expected = f"{self.minimum} or more" if n_items is None else n_items
            refuse(path, f"a {self.kind.__name__} of {expected} items", value)
        if self.count is not None:
            sizes.check_length(self.count, len(value), path)
        for index, (item, content) in enumerate(
            zip(value, self._item_contents(value), strict=True)
        ):
            content.check(item, sizes, f"{path}[{index}]")

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return all items, loaded."""
        return self.kind(
            c.load(v, sizes, f"{path}[{k}]")
            for k, (v, c) in enumerate(zip(value, self._item_contents(value), strict=True))
        )


class SeparateSizes(Content):
    """A content with its own sizes, as each chunk of a list; the owner shares the named ones."""

    def __init__(self, inner: Content, *shared_names: str):
        self.inner, self.shared_names = inner, shared_names

    def _inner_sizes(self, sizes: Sizes) -> Sizes:
        return Sizes(sizes.state, sizes, {name: name for name in self.shared_names})

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check the inner content."""
        inner_sizes = self._inner_sizes(sizes)
        self.inner.check(value, inner_sizes, path)
        inner_sizes.check_confirmed()

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Load the inner content, with its sizes set again."""
        inner_sizes = self._inner_sizes(sizes)
        self.inner.check(value, inner_sizes, path)
        return self.inner.load(value, inner_sizes, path)


class Record(Content):
    """A dict of named contents."""

    def __init__(self, contents: dict[str, Content]):
        self.contents = contents

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check that it has these entries and no others."""
        if type(value) is not dict or set(value) != set(self.contents):
            refuse(path, f"a dict of {', '.join(self.contents)}", value)
        for name, content in self.contents.items():
            content.check(value[name], sizes, f"{path}[{name!r}]")

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return all entries, loaded."""
        return {
            name: self.contents[name].load(item, sizes, f"{path}[{name!r}]")
            for name, item in value.items()
        }


class Plain(Content):
    """Plain data about a fit, for people: numbers, texts, small arrays, lists and dicts of them."""

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check all kinds, at every depth, and the sizes of arrays."""
        if isinstance(value, LazyArray):
            if value.dtype.itemsize * int(np.prod(value.shape, dtype=object)) > _MAX_PLAIN_BYTES:
                refuse(path, f"of at most {_MAX_PLAIN_BYTES} bytes", value)
        elif isinstance(value, dict | list | tuple):
            for name, item in value.items() if isinstance(value, dict) else enumerate(value):
                self.check(item, sizes, f"{path}[{name!r}]")
        elif not (
            value is None or isinstance(value, str | bool | int | float | np.generic | np.ndarray)
        ):
            refuse(path, "a number, a text, an array, or a list or dict of those", value)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the data with its arrays read."""
        return load_value(value, path)


class Anything(Content):
    """A value of any kind that the format supports."""

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check the objects inside it."""
        check_nested(value, path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the value with its arrays read and its objects made."""
        return load_value(value, path)


class NestedObject(Content):
    """An object of one class; it shares sizes with its owner by name, or as inner="outer"."""

    def __init__(self, cls: type, *shared_names: str, **renamed: str):
        self.cls, self.shared = cls, {**{name: name for name in shared_names}, **renamed}
        if (
            not hasattr(cls, "get_params")
            and NESTED_CLASSES.setdefault(cls.__name__, cls) is not cls
        ):
            raise TypeError(f"two parts of models are called {cls.__name__}; rename one class.")

    def matches(self, value: object) -> bool:
        """Return whether it is an object of the class."""
        return isinstance(value, ObjectData) and value.cls is self.cls

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check all its attributes."""
        if not self.matches(value):
            refuse(path, f"a {self.cls.__name__}", value)
        value.sizes = Sizes(value.parameters | value.attributes, sizes, self.shared)
        check_object(value, path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the object."""
        return make_object(value, path)


class OneOf(Content):
    """The first of some contents that matches the value; None matches None."""

    def __init__(self, *contents: Content | None) -> None:
        self.contents = contents

    def _chosen(self, value: object) -> Content:
        return next(
            (c for c in self.contents if c is not None and c.matches(value)),
            next(c for c in self.contents if c is not None),
        )

    def matches(self, value: object) -> bool:
        """Return whether any of them matches."""
        return (value is None and None in self.contents) or any(
            c is not None and c.matches(value) for c in self.contents
        )

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check the one that matches."""
        if not (value is None and None in self.contents):
            self._chosen(value).check(value, sizes, path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Load the one that matches."""
        return None if value is None else self._chosen(value).load(value, sizes, path)


class SelectedBy(Content):
    """A content selected by the value of another attribute; absent without a selection."""

    def __init__(
        self, name: str, choices: Mapping[Any, Content | None], other: Content | None = None
    ):
        self.name, self.choices, self.other = name, choices, other

    def _chosen(self, sizes: Sizes) -> Content | None:
        key = sizes.state.get(self.name)
        if isinstance(key, str | bool | int | None):
            return self.choices.get(key, self.other)
        return self.other

    def is_required(self, sizes: Sizes) -> bool | None:
        """Return whether a content is selected and required."""
        chosen = self._chosen(sizes)
        return None if chosen is None else chosen.is_required(sizes)

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check the selected content."""
        if (chosen := self._chosen(sizes)) is not None:
            chosen.check(value, sizes, path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Load the selected content."""
        chosen = self._chosen(sizes)
        return None if chosen is None else chosen.load(value, sizes, path)


class MarkedContent(Content):
    """A content with marks: optional, or early."""

    def __init__(self, inner: Content, optional: bool, early: bool):
        self.inner, self.optional, self.early = inner, optional, early

    def is_required(self, sizes: Sizes) -> bool | None:
        """As the inner content, unless it is optional."""
        required = self.inner.is_required(sizes)
        return required if required is None else required and not self.optional

    def matches(self, value: object) -> bool:
        """As the inner content."""
        return self.inner.matches(value)

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check the inner content."""
        self.inner.check(value, sizes, path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Load the inner content."""
        return self.inner.load(value, sizes, path)
