"""Contents made of contents: lists, dicts, parts, and choices between them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.system.schema.check import check_outline, filled, made, outline_inside
from tamis.system.schema.base import Content, Held, Outline, Promise, refuse

# Bytes of an array in a record such as `cv_results_`; what grows with the data is declared by its
# shape.
_LARGEST_PLAIN = 1 << 24
# Classes that models are made of, saved like them by their attributes, as models declare them.
PARTS: dict[str, type] = {}


class Items(Content):
    """A list or tuple: of contents one by one, or of as many of one kind as a size says."""

    def __init__(
        self,
        kind: type[list] | type[tuple],
        items: Content | list[Content],
        count: str | None = None,
        least: int = 0,
    ):
        self.kind, self.items, self.count, self.least = kind, items, count, least

    def _each(self, value: list | tuple) -> list[Content]:
        return self.items if isinstance(self.items, list) else [self.items] * len(value)

    def suits(self, value: object) -> bool:
        """The right kind of sequence."""
        return type(value) is self.kind

    def outline(self, value: Any, held: Held, path: str) -> None:
        """All items."""
        fixed = len(self.items) if isinstance(self.items, list) else None
        few = type(value) is not self.kind or len(value) < self.least
        if few or fixed not in (None, len(value)):
            many = f"{self.least} or more" if fixed is None else fixed
            refuse(path, f"a {self.kind.__name__} of {many} items", value)
        if self.count is not None:
            held.fit(self.count, len(value), path)
        for place, (item, content) in enumerate(zip(value, self._each(value), strict=True)):
            content.outline(item, held, f"{path}[{place}]")

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """All items, filled."""
        return self.kind(
            c.fill(v, held, f"{path}[{k}]")
            for k, (v, c) in enumerate(zip(value, self._each(value), strict=True))
        )


class Apart(Content):
    """A content with sizes of its own, as each chunk of a list; `known` ones are the owner's."""

    def __init__(self, inside: Content, *known: str):
        self.inside, self.known = inside, known

    def _held(self, held: Held) -> Held:
        return Held(held.state, held, {name: name for name in self.known})

    def outline(self, value: Any, held: Held, path: str) -> None:
        """As the content inside."""
        own = self._held(held)
        self.inside.outline(value, own, path)
        own.close()

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """As the content inside, whose sizes are found again."""
        own = self._held(held)
        self.inside.outline(value, own, path)
        return self.inside.fill(value, own, path)


class Record(Content):
    """A dict of named contents."""

    def __init__(self, contents: dict[str, Content]):
        self.contents = contents

    def outline(self, value: Any, held: Held, path: str) -> None:
        """All entries, and no others."""
        if type(value) is not dict or set(value) != set(self.contents):
            refuse(path, f"a dict of {', '.join(self.contents)}", value)
        for name, content in self.contents.items():
            content.outline(value[name], held, f"{path}[{name!r}]")

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """All entries, filled."""
        return {
            name: self.contents[name].fill(item, held, f"{path}[{name!r}]")
            for name, item in value.items()
        }


class Plain(Content):
    """Numbers, texts, small arrays, lists and dicts of those: what happened, for people to read."""

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Kinds, all the way down, and sizes of arrays."""
        if isinstance(value, Promise):
            if value.dtype.itemsize * int(np.prod(value.shape, dtype=object)) > _LARGEST_PLAIN:
                refuse(path, f"of at most {_LARGEST_PLAIN} bytes", value)
        elif isinstance(value, dict | list | tuple):
            for name, item in value.items() if isinstance(value, dict) else enumerate(value):
                self.outline(item, held, f"{path}[{name!r}]")
        elif not (
            value is None or isinstance(value, str | bool | int | float | np.generic | np.ndarray)
        ):
            refuse(path, "a number, a text, an array, or a list or dict of those", value)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The record, its arrays read."""
        return filled(value, path)


class Anything(Content):
    """Whatever the format knows."""

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Objects inside it."""
        outline_inside(value, path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The value, its arrays read and its objects made."""
        return filled(value, path)


class Part(Content):
    """An object of one class; sizes shared with its owner by name, or as own="the owner's"."""

    def __init__(self, cls: type, *same: str, **renamed: str):
        self.cls, self.shared = cls, {**{name: name for name in same}, **renamed}
        if not hasattr(cls, "get_params") and PARTS.setdefault(cls.__name__, cls) is not cls:
            raise TypeError(f"two parts of models are called {cls.__name__}; files tell by names.")

    def suits(self, value: object) -> bool:
        """An object of the class."""
        return isinstance(value, Outline) and value.cls is self.cls

    def outline(self, value: Any, held: Held, path: str) -> None:
        """All its attributes."""
        if not self.suits(value):
            refuse(path, f"a {self.cls.__name__}", value)
        value.held = Held(value.parameters | value.attributes, held, self.shared)
        check_outline(value, path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The object."""
        return made(value, path)


class OneOf(Content):
    """The first of some contents that suits the kind of the value; None stands for itself."""

    def __init__(self, *contents: Content | None) -> None:
        self.contents = contents

    def _chosen(self, value: object) -> Content:
        return next(
            (c for c in self.contents if c is not None and c.suits(value)),
            next(c for c in self.contents if c is not None),
        )

    def suits(self, value: object) -> bool:
        """Any of them."""
        return (value is None and None in self.contents) or any(
            c is not None and c.suits(value) for c in self.contents
        )

    def outline(self, value: Any, held: Held, path: str) -> None:
        """As the one that suits."""
        if not (value is None and None in self.contents):
            self._chosen(value).outline(value, held, path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """As the one that suits."""
        return None if value is None else self._chosen(value).fill(value, held, path)


class By(Content):
    """A content chosen by what another attribute holds; absent where that is no choice."""

    def __init__(
        self, name: str, choices: Mapping[Any, Content | None], other: Content | None = None
    ):
        self.name, self.choices, self.other = name, choices, other

    def _chosen(self, held: Held) -> Content | None:
        key = held.state.get(self.name)
        if isinstance(key, str | bool | int | None):
            return self.choices.get(key, self.other)
        return self.other

    def needed(self, held: Held) -> bool | None:
        """Whether there is a choice."""
        chosen = self._chosen(held)
        return None if chosen is None else chosen.needed(held)

    def outline(self, value: Any, held: Held, path: str) -> None:
        """As the chosen one."""
        if (chosen := self._chosen(held)) is not None:
            chosen.outline(value, held, path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """As the chosen one."""
        chosen = self._chosen(held)
        return None if chosen is None else chosen.fill(value, held, path)


class Marked(Content):
    """Another content that may be absent, or that may stand alone."""

    def __init__(self, inside: Content, optional: bool, early: bool):
        self.inside, self.optional, self.early = inside, optional, early

    def needed(self, held: Held) -> bool | None:
        """As the content inside, unless it may be absent."""
        needed = self.inside.needed(held)
        return needed if needed is None else needed and not self.optional

    def suits(self, value: object) -> bool:
        """As the content inside."""
        return self.inside.suits(value)

    def outline(self, value: Any, held: Held, path: str) -> None:
        """As the content inside."""
        self.inside.outline(value, held, path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """As the content inside."""
        return self.inside.fill(value, held, path)
