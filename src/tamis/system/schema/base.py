"""What comes from a file before it is read, and the sizes that it must agree on."""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

_SMALL = 1 << 20  # entries of an array that may all be zeros
# of a larger one, at least one in so many is stored, unless another array or number says its
# lengths too
_SHARE = 64


Length = str | int | tuple[str | int, str | int]  # a size, a number, or the first and a way out
Binds = dict[str, Callable[[Any, "Held"], int]]  # sizes by functions of a value and what is held


class ContentsError(ValueError):
    """What a file holds is not what the class declares."""


class Promise:
    """An array of a file that has not been read yet; `zeros` of its entries are 0 and not stored.

    ``read(inspect)`` reads it, and hands all that is stored to `inspect`, piece by piece.
    """

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], zeros: int, read: Callable):
        self.dtype, self.shape, self.zeros, self.read = dtype, shape, zeros, read

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def backed(self) -> bool:
        """Whether the file holds enough of an array for its size to be believed; zeros are free."""
        entries = math.prod(self.shape)
        return entries <= _SMALL or (entries - self.zeros) * _SHARE >= entries


class SparsePromise:
    """A sparse matrix of a file that has not been read yet."""

    def __init__(self, cls: type, shape: tuple[int, ...], parts: dict[str, Promise]):
        self.cls, self.shape, self.parts = cls, shape, parts


class Outline:
    """An object that is not made yet: class, parameters (of an estimator) and attributes."""

    held: "Held"  # its sizes, once they are looked at

    def __init__(self, cls: type, parameters: dict, attributes: dict):
        self.cls, self.parameters, self.attributes = cls, parameters, attributes


def described(value: object) -> str:
    """What was found, in a few words."""
    if isinstance(value, Promise):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, SparsePromise):
        return f"a sparse matrix of shape {value.shape}"
    if isinstance(value, Outline):
        return f"a {value.cls.__name__}"
    return f"the {type(value).__name__} {repr(value)[:60]}" if value is not None else "None"


def refuse(path: str, rule: str, value: object) -> NoReturn:
    """Raise an error that names the attribute, the rule and what was found."""
    raise ContentsError(f"{path} must be {rule}; the file has {described(value)}")


class Held:
    """The state of one object and the sizes its attributes agreed on, some of them its owner's."""

    def __init__(
        self, state: dict, outer: "Held | None" = None, shared: dict[str, str] | None = None
    ):
        self.state, self.outer, self.shared = state, outer, shared or {}
        self.sizes: dict[str, int] = {}
        self.doubtful: dict[str, str] = {}  # sizes that only zeros speak for so far, and where

    def size(self, name: str) -> int | None:
        """A size by its name, None where nothing has set it."""
        if name in self.shared and self.outer:
            return self.outer.size(self.shared[name])
        return self.sizes.get(name)

    def bind(self, name: str, value: int, path: str, backed: bool = True) -> None:
        """Set a size, or compare it; what is not backed needs a second one to say the same."""
        known = self.size(name)
        if known is not None and known != value:
            raise ContentsError(
                f"{path} has {value} {name}, but there are {known} in what came before it"
            )
        if name in self.shared and self.outer:
            self.outer.bind(self.shared[name], value, path, backed)
            return
        self.sizes[name] = value
        if known is None and not backed:
            self.doubtful[name] = path
        else:
            self.doubtful.pop(name, None)

    def close(self) -> None:
        """Refuse sizes that only one array says, and by zeros alone."""
        for name, path in self.doubtful.items():
            raise ContentsError(
                f"{path} has {self.sizes[name]} {name}, almost all of them zeros that are not "
                "stored, and nothing else says so"
            )

    def bind_all(self, binds: Binds, value: object, path: str) -> None:
        """Set sizes that follow from a value, by functions of it and of what is held."""
        for name, size_of in binds.items():
            self.bind(name, int(size_of(value, self)), path)

    def measure(self, text: str | int, path: str) -> int:
        """A sum of products of sizes and numbers, such as "columns+1" or "2*outputs"."""
        if isinstance(text, int):
            return text
        total = 0
        for product in text.split("+"):
            found = 1
            for factor in product.split("*"):
                number = int(factor) if factor.isdigit() else self.size(factor)
                if number is None:
                    raise ContentsError(
                        f"{path} needs the number of {product}, which nothing in the file sets"
                    )
                found *= number
            total += found
        return total

    def fit(self, text: Length, length: int, path: str, backed: bool = True) -> None:
        """Compare a length with its declaration; a bare name that is not set yet is set by it.

        Of a tuple the second one is a way out.
        """
        wanted: str | int = text[length == text[1]] if isinstance(text, tuple) else text
        if isinstance(wanted, str) and re.fullmatch("[a-z_]+", wanted):
            self.bind(wanted, length, path, backed)
        elif (known := self.measure(wanted, path)) != length:
            raise ContentsError(f"{path} has the length {length}, but {wanted} = {known}")


# --------------------------------------------------------------------------- declarations
class Content:
    """One declaration.

    `early` contents may stand alone: they are set while input is checked, before a fit can fail.
    """

    early = False

    def needed(self, held: Held) -> bool | None:
        """Whether the attribute must be there; None where it must not."""
        return True

    def suits(self, value: object) -> bool:
        """Whether the kind of the value is the right one, whatever its sizes."""
        return True

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Refuse a value by its type, its dtype and its shape."""

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The value itself, its arrays read; refused by its numbers."""
        return value
