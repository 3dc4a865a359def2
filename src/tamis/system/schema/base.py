"""Unread values of a model file, the sizes that they share, and the base class of declarations."""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

_TRUSTED_ENTRIES = 1 << 20  # a smaller array may be all zeros
# Of a larger array a file stores at least one entry in so many, unless another array or number
# confirms its lengths.
_MAX_ENTRIES_PER_STORED = 64

Length = str | int | tuple[str | int, str | int]  # a size or a number; or two alternatives
Binds = dict[str, Callable[[Any, "Sizes"], int]]  # sizes as functions of a value and the sizes


class ContentsError(ValueError):
    """A file does not match the declarations of its class."""


class LazyArray:
    """An array of a file that is not read yet; `zeros` of its entries are 0 and not stored.

    ``read(inspect)`` reads the array and passes all stored numbers to `inspect`, chunk by chunk.
    """

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], zeros: int, read: Callable):
        self.dtype, self.shape, self.zeros, self.read = dtype, shape, zeros, read

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def proves_size(self) -> bool:
        """Whether the file stores enough entries to confirm the size; zeros take no space in it."""
        entries = math.prod(self.shape)
        return (
            entries <= _TRUSTED_ENTRIES
            or (entries - self.zeros) * _MAX_ENTRIES_PER_STORED >= entries
        )


class LazySparseMatrix:
    """A sparse matrix of a file that is not read yet."""

    def __init__(self, cls: type, shape: tuple[int, ...], arrays: dict[str, LazyArray]):
        self.cls, self.shape, self.arrays = cls, shape, arrays


class ObjectData:
    """An object that is not made yet: its class, parameters (of an estimator) and attributes."""

    sizes: "Sizes"  # set by the check

    def __init__(self, cls: type, parameters: dict, attributes: dict):
        self.cls, self.parameters, self.attributes = cls, parameters, attributes


def described(value: object) -> str:
    """Return a short description of a value, for messages."""
    if isinstance(value, LazyArray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, LazySparseMatrix):
        return f"a sparse matrix of shape {value.shape}"
    if isinstance(value, ObjectData):
        return f"a {value.cls.__name__}"
    return f"the {type(value).__name__} {repr(value)[:60]}" if value is not None else "None"


def refuse(path: str, rule: str, value: object) -> NoReturn:
    """Raise an error with the attribute, the rule and the value."""
    raise ContentsError(f"{path} must be {rule}; the file has {described(value)}")


class Sizes:
    """The state of one object and the sizes of its attributes; some sizes belong to its owner."""

    def __init__(
        self, state: dict, outer: "Sizes | None" = None, shared: dict[str, str] | None = None
    ):
        self.state, self.outer, self.shared = state, outer, shared or {}
        self.sizes: dict[str, int] = {}
        self.unconfirmed: dict[str, str] = {}  # sizes that only unstored zeros show, with the path

    def size(self, name: str) -> int | None:
        """Return a size by its name, None if it is not set."""
        if name in self.shared and self.outer:
            return self.outer.size(self.shared[name])
        return self.sizes.get(name)

    def set_size(self, name: str, value: int, path: str, proves_size: bool = True) -> None:
        """Set a size, or compare it with its value.

        A size from an array of unstored zeros (`proves_size` is False) needs a second attribute
        with the same size.
        """
        existing = self.size(name)
        if existing is not None and existing != value:
            raise ContentsError(
                f"{path} has {value} {name}, but there are {existing} in what came before it"
            )
        if name in self.shared and self.outer:
            self.outer.set_size(self.shared[name], value, path, proves_size)
            return
        self.sizes[name] = value
        if existing is None and not proves_size:
            self.unconfirmed[name] = path
        else:
            self.unconfirmed.pop(name, None)

    def check_confirmed(self) -> None:
        """Refuse sizes that come from one array of unstored zeros only."""
        for name, path in self.unconfirmed.items():
            raise ContentsError(
                f"{path} has {self.sizes[name]} {name}, almost all of them zeros that are not "
                "stored, and no other attribute has this size"
            )

    def set_sizes(self, binds: Binds, value: object, path: str) -> None:
        """Set sizes by functions of a value and of these sizes."""
        for name, size_of in binds.items():
            self.set_size(name, int(size_of(value, self)), path)

    def evaluate_size(self, text: str | int, path: str) -> int:
        """Return a sum of products of sizes and numbers, such as "columns+1" or "2*outputs"."""
        if isinstance(text, int):
            return text
        total = 0
        for product in text.split("+"):
            factor_product = 1
            for factor in product.split("*"):
                number = int(factor) if factor.isdigit() else self.size(factor)
                if number is None:
                    raise ContentsError(
                        f"{path} needs the number of {product}, which nothing in the file sets"
                    )
                factor_product *= number
            total += factor_product
        return total

    def check_length(
        self, declaration: Length, length: int, path: str, proves_size: bool = True
    ) -> None:
        """Compare a length with its declaration, or set the size if it is a name without a value.

        A tuple declares a length and an alternative.
        """
        declared: str | int = (
            declaration[length == declaration[1]] if isinstance(declaration, tuple) else declaration
        )
        if isinstance(declared, str) and re.fullmatch("[a-z_]+", declared):
            self.set_size(declared, length, path, proves_size)
        elif (expected := self.evaluate_size(declared, path)) != length:
            raise ContentsError(f"{path} has the length {length}, but {declared} = {expected}")


# --------------------------------------------------------------------------- declarations
class Content:
    """The declaration of one attribute.

    `early` contents are set while a fit validates its input, so they can be the only ones.
    """

    early = False

    def is_required(self, sizes: Sizes) -> bool | None:
        """Return whether the attribute is required; None if it is not allowed."""
        return True

    def matches(self, value: object) -> bool:
        """Return whether the value is of the right kind, whatever its sizes."""
        return True

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Refuse a value with a wrong type, dtype or shape."""

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the value with its arrays read; refuse wrong numbers."""
        return value
