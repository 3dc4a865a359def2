"""Names of columns; of hashed ones another reading finds those in the buckets that matter."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tamis.data.rows import Context, Position
from tamis.numerics.hashing import mix64_array

if TYPE_CHECKING:
    from tamis.data.source import RowSource

LISTED = 4  # names of a bucket that are written out


def names_of(source: "RowSource", columns: Iterable[int]) -> list[str]:
    """Names of columns: the table's own, the number in the file, or a bucket's, joined by "|"."""
    columns = [int(c) for c in columns]
    if source.options.hash_bits and source.format != "npz":
        seen = _in_buckets(source, columns)
        plain = source.layout.names()[: source.layout.buckets] if source.layout is not None else []
        return [
            plain[c] if c < len(plain) else _joined(seen.get(c, {}), c - len(plain))
            for c in columns
        ]
    if source.layout is not None:
        names = source.layout.names()
        return [names[c] for c in columns]
    first = source.base if source.format == "svmlight" and source.base is not None else 0
    return [str(c + first) for c in columns]


def _joined(names: dict, bucket: int) -> str:
    """The names of a bucket; more than one is a collision."""
    if not names:
        return f"bucket {bucket}"
    listed = " | ".join(list(names)[:LISTED])
    return listed if len(names) <= LISTED else f"{listed} | {len(names) - LISTED} more"


def _in_buckets(source, columns) -> dict[int, dict]:
    """Names seen in each of the columns, in the order of their first appearance."""
    found: dict[int, dict] = {c: {} for c in columns}
    for column, name in _named(source, found):
        if column in found:
            found[column].setdefault(name)
    return found


def _named(source, wanted):
    """Columns and the names that fall into them, over all files."""
    source.keep()
    context = Context(skip=True, base=source.base, several=source.several)
    if source.format == "vw":
        mask = np.zeros(1 << source.options.hash_bits, bool)
        mask[list(wanted)] = True
        for file in source.files:
            yield from source._reader(context).names(file, mask)
    elif source.format == "svmlight":
        yield from _numbers(source, context)
    elif source.layout is not None:
        reader = source._reader(context)
        for file in source.files:
            for words in reader.words(file):
                yield from source.layout.hashed(words)


def _numbers(source, context):
    """Column numbers of svmlight text, and the columns that they are hashed into."""
    from tamis.data.text.svmlight import SvmlightReader

    bits, base = source.options.hash_bits, source.base or 0
    for file in source.files:
        reader = SvmlightReader(source.options._replace(hash_bits=0, n_features=None), context)
        for rows, _ in reader.read(file, Position()):
            numbers = np.unique(rows.X.indices).astype(np.uint64)
            for number, column in zip(
                numbers.tolist(),
                (mix64_array(numbers) & np.uint64((1 << bits) - 1)).tolist(),
                strict=True,
            ):
                yield column, str(number + base)
