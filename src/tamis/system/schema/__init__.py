"""Schema of model files: the attributes of each saved class, declared in `_contents`.

A class declares ``_contents = {"coef_": array("f8", "outputs", "columns"), ...}``; a subclass adds
to the declarations of its bases. None stands for an attribute that is not saved: one that a
subclass lacks, or one that `_after_load` computes from the others. Names such as "columns" are
sizes: the first attribute with a size sets it, and all others must agree. Loading has two passes.
`check` compares types, dtypes and shapes before any array is read, so that a file that does not fit
takes no memory; `load` then reads the arrays, checks their numbers and makes the objects. Compiled
loops rely on these checks.
"""

from tamis.system.schema.base import (
    Content,
    ContentsError,
    LazyArray,
    LazySparseMatrix,
    Length,
    ObjectData,
)
from tamis.system.schema.check import (
    COMMON,
    build_object,
    declared_contents,
    derived_attributes,
    load_value,
    undeclared_attributes,
)
from tamis.system.schema.nested import (
    NESTED_CLASSES,
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
    "NESTED_CLASSES",
    "Content",
    "ContentsError",
    "LazyArray",
    "LazySparseMatrix",
    "ObjectData",
    "any_value",
    "array",
    "build_object",
    "choice",
    "count",
    "declared_contents",
    "derived_attributes",
    "flag",
    "floats",
    "index_tuple",
    "indices",
    "labels",
    "list_of",
    "load_value",
    "names",
    "nested_object",
    "number",
    "one_of",
    "optional",
    "plain_data",
    "record",
    "records",
    "rows",
    "selected_by",
    "separate_sizes",
    "set_early",
    "size",
    "statistic",
    "term",
    "text",
    "tuple_of",
    "undeclared_attributes",
]

array, rows, number, choice, labels, names, term = Array, Rows, Number, Choice, Labels, Names, Term
separate_sizes, nested_object, one_of, selected_by, record = (
    SeparateSizes,
    NestedObject,
    OneOf,
    SelectedBy,
    Record,
)


def any_value() -> Content:
    """A value of any kind that the format supports."""
    return Anything()


def plain_data() -> Content:
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


def size(*names: str, minimum: int = 1, equals: str | None = None) -> Content:
    """An integer that is a size, such as the number of columns; it can be required to equal
    another.
    """
    return Number(
        int, minimum=minimum, equals=equals, binds=dict.fromkeys(names, lambda number, _: number)
    )


def count(minimum: int = 0) -> Content:
    """An integer that counts something."""
    return Number(int, minimum=minimum)


def floats(length: int, minimum: float | None = None, maximum: float | None = None) -> Content:
    """A tuple of finite floats that loops read."""
    return Items(tuple, [Number(float, minimum=minimum, maximum=maximum, exact=True)] * length)


def indices(
    *lengths: Length, below: str, increasing: bool = False, distinct: bool = False
) -> Content:
    """Integers from 0 to below a size."""
    return Array("i8", *lengths, minimum=0, below=below, increasing=increasing, distinct=distinct)


def list_of(content: Content, count: str | None = None, minimum: int = 0) -> Content:
    """A list of contents of one kind."""
    return Items(list, content, count, minimum)


def tuple_of(*contents: Content) -> Content:
    """A tuple of contents, one declaration each."""
    return Items(tuple, list(contents))


def index_tuple(below: str) -> Content:
    """A tuple of one or more integers from 0 to below a size."""
    return Items(tuple, Number(int, minimum=0, below=below), minimum=1)


def statistic(finite: bool = True) -> Content:
    """A float that describes a fit."""
    return Number(float, finite=finite)


def optional(content: Content) -> Content:
    """A content that may be absent."""
    return MarkedContent(content, optional=True, early=content.early)


def set_early(content: Content) -> Content:
    """A content that a fit sets while it validates its input.

    A model whose fit then failed has this content alone.
    """
    return MarkedContent(
        content, optional=isinstance(content, MarkedContent) and content.optional, early=True
    )


COMMON.update(
    n_features_in_=set_early(size("columns")),
    feature_names_in_=set_early(optional(names("columns"))),
    train_history_=set_early(optional(plain_data())),
    reading_=set_early(optional(plain_data())),
    _sklearn_output_config=set_early(optional(plain_data())),
)
