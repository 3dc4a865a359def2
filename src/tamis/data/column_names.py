"""Names of columns. Those of hashed columns are found by reading the files again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tamis.data.rows import Position, ReaderState
from tamis.numerics.hashing import mix64_array

if TYPE_CHECKING:
    from tamis.data.source import RowSource

MAX_LISTED = 4  # names of a bucket; a note counts the others


def names_of(source: "RowSource", columns: Iterable[int]) -> list[str]:
    """Return the names of columns: those of the table, numbers in the file, or the names of a
    bucket joined by "|".
    """
    columns = [int(c) for c in columns]
    if source.options.hash_bits and source.format != "npz":
        names_by_bucket = _names_by_bucket(source, columns)
        unhashed_names = (
            source.layout.names()[: source.layout.first_bucket] if source.layout is not None else []
        )
        return [
            unhashed_names[c]
            if c < len(unhashed_names)
            else _join_names(names_by_bucket.get(c, {}), c - len(unhashed_names))
            for c in columns
        ]
    if source.layout is not None:
        names = source.layout.names()
        return [names[c] for c in columns]
    first = source.base if source.format == "svmlight" and source.base is not None else 0
    return [str(c + first) for c in columns]


def _join_names(names: dict, bucket: int) -> str:
    """Return the names of a bucket as one; more than one is a collision."""
    if not names:
        return f"bucket {bucket}"
    listed = " | ".join(list(names)[:MAX_LISTED])
    return listed if len(names) <= MAX_LISTED else f"{listed} | {len(names) - MAX_LISTED} more"


def _names_by_bucket(source, columns) -> dict[int, dict]:
    """Return the names in each of the columns, in the order of their first appearance."""
    names_by_bucket: dict[int, dict] = {c: {} for c in columns}
    for column, name in _hashed_names(source, names_by_bucket):
        if column in names_by_bucket:
            names_by_bucket[column].setdefault(name)
    return names_by_bucket


def _hashed_names(source, buckets):
    """Yield (column, name) pairs of the hashed columns of all files."""
    source.keep()
    context = ReaderState(skip=True, base=source.base, several=source.several)
    if source.format == "vw":
        mask = np.zeros(1 << source.options.hash_bits, bool)
        mask[list(buckets)] = True
        for file in source.files:
            yield from source._reader(context).names(file, mask)
    elif source.format == "svmlight":
        yield from _hashed_numbers(source, context)
    elif source.layout is not None:
        reader = source._reader(context)
        for file in source.files:
            for strings in reader.words(file):
                yield from source.layout.hashed_names(strings)


def _hashed_numbers(source, context):
    """Yield (hashed column, number in the file) pairs of svmlight text."""
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
