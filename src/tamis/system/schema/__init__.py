"""Schema of model files: the attributes of each saved class, declared in `_contents`.

A class declares ``_contents = {"coef_": array("f8", "outputs", "columns"), ...}``; a subclass adds
to the declarations of its bases. None stands for an attribute that is not saved: one that a
subclass lacks, or one that `_restored` computes from the others. Names such as "columns" are sizes:
the first attribute with a size sets it, and all others must agree. Loading has two passes. `check`
compares types, dtypes and shapes before any array is read, so that a file that does not fit takes
no memory; `load` then reads the arrays, checks their numbers and makes the objects. Compiled loops
rely on these checks.
"""

from tamis.system.schema.base import Content, ContentsError, Length, Outline, Promise, SparsePromise
from tamis.system.schema.check import COMMON, contents_of, derived, filled, settled, undeclared
from tamis.system.schema.nested import (
    PARTS,
    Anything,
    Items,
    MarkedContent,
    NestedObject,
    OneOf,
    Plain,
    Record,
    SelectedBy,
    SeparateSizes,
)
from tamis.system.schema.values import Array, Choice, Labels, Names, Number, Rows, Term

__all__ = [
    "PARTS",
    "Content",
    "ContentsError",
    "Outline",
    "Promise",
    "SparsePromise",
    "anything",
    "apart",
    "array",
    "by",
    "choice",
    "contents_of",
    "count",
    "derived",
    "early",
    "figure",
    "filled",
    "flag",
    "floats",
    "index_tuple",
    "indices",
    "labels",
    "listing",
    "names",
    "number",
    "one_of",
    "optional",
    "part",
    "plain",
    "record",
    "records",
    "rows",
    "settled",
    "size",
    "term",
    "text",
    "tuple_of",
    "undeclared",
]

array, rows, number, choice, labels, names, term = Array, Rows, Number, Choice, Labels, Names, Term
apart, part, one_of, by, record = SeparateSizes, NestedObject, OneOf, SelectedBy, Record


def anything() -> Content:
    """A value of any kind that the format supports."""
    return Anything()


def plain() -> Content:
    """Plain data about a fit, for people to read."""
    return Plain()


def records() -> Content:
    """A list of plain records, such as one per pass."""
    return Items(list, Plain())


def text() -> Content:
    """Any text."""
    return Choice()


def flag() -> Content:
    """True or False."""
    return Number(bool)


def size(*names: str, least: int = 1, equals: str | None = None) -> Content:
    """An integer that is a size, such as the number of columns; it can be required to equal
    another.
    """
    return Number(
        int, least=least, equals=equals, binds=dict.fromkeys(names, lambda number, _: number)
    )


def count(least: int = 0) -> Content:
    """An integer that counts something."""
    return Number(int, least=least)


def floats(how_many: int, least: float | None = None, most: float | None = None) -> Content:
    """A tuple of finite floats that loops read."""
    return Items(tuple, [Number(float, least=least, most=most, exact=True)] * how_many)


def indices(
    *lengths: Length, below: str, increasing: bool = False, distinct: bool = False
) -> Content:
    """Integers from 0 to below a size."""
    return Array("i8", *lengths, least=0, below=below, increasing=increasing, distinct=distinct)


def listing(content: Content, count: str | None = None, least: int = 0) -> Content:
    """A list of contents of one kind."""
    return Items(list, content, count, least)


def tuple_of(*contents: Content) -> Content:
    """A tuple of contents, one declaration each."""
    return Items(tuple, list(contents))


def index_tuple(below: str) -> Content:
    """A tuple of one or more integers from 0 to below a size."""
    return Items(tuple, Number(int, least=0, below=below), least=1)


def figure(finite: bool = True) -> Content:
    """A float that describes a fit."""
    return Number(float, finite=finite)


def optional(content: Content) -> Content:
    """A content that may be absent."""
    return MarkedContent(content, optional=True, early=content.early)


def early(content: Content) -> Content:
    """A content that a fit sets while it validates its input.

    A model whose fit then failed has this content alone.
    """
    return MarkedContent(
        content, optional=isinstance(content, MarkedContent) and content.optional, early=True
    )


COMMON.update(
    n_features_in_=early(size("columns")),
    feature_names_in_=early(optional(names("columns"))),
    train_history_=early(optional(plain())),
    reading_=early(optional(plain())),
    _sklearn_output_config=early(optional(plain())),
)
