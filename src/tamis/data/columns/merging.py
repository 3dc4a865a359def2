"""Merge profiles of several files with the same columns, in the order of the files.

Levels, kinds and gaps equal those of one reading. Means and standard deviations may differ in the
last bits; they depend on how the table was cut into files, not on who read them.
"""

from collections.abc import Sequence

import numpy as np

from tamis.data.columns.dates import DateDetector
from tamis.data.columns.profile import (
    COUNT,
    FIRST_GAP,
    LAST,
    MAX_COUNTED_CHARACTERS,
    MAX_COUNTED_NUMBERS,
    MAX_COUNTED_WORDS,
    MAXIMUM,
    MEAN,
    MINIMUM,
    N_DISTINCT,
    N_FRACTIONS,
    N_GAPS,
    N_JUMPS,
    N_ZEROS,
    NEARLY_ALL_DISTINCT,
    SUM_OF_SQUARES,
    NumericSummary,
    Profile,
    StringSummary,
)
from tamis.data.columns.texts import RowCounts
from tamis.data.tables.layout import MAX_LEVELS


def merge_profiles(profiles: Sequence[Profile]) -> Profile:
    """Return the merged profile; the first profile is changed."""
    merged, *others = profiles
    for other in others:
        _merge_numeric(merged.numeric_summary, other.numeric_summary, merged.rows)
        for name, column in merged.strings.items():
            _merge_strings(column, other.strings[name], merged.rows)
        merged.first_gaps = other.first_gaps | merged.first_gaps
        merged.undecoded = list(dict.fromkeys(merged.undecoded + other.undecoded))
        merged.rows += other.rows
    merged.cached_figures = {}
    return merged


def merge_texts(row_counts: Sequence[dict[str, RowCounts]]) -> dict[str, RowCounts]:
    """Return the numbers of rows with each word of all files; the first counts are changed."""
    merged, *others = row_counts
    for other in others:
        for name, counts in other.items():
            merged[name].rows += counts.rows
            merged[name].counts += counts.counts
    return merged


def _merge_numeric(merged: NumericSummary, other: NumericSummary, rows_before: int) -> None:
    """Add the summaries of numeric columns of another file, after `rows_before` rows."""
    for j, (column, other_column) in enumerate(zip(merged.state, other.state, strict=True)):
        if other_column[N_GAPS] and not column[N_GAPS]:
            column[FIRST_GAP] = rows_before + other_column[FIRST_GAP]
        column[N_GAPS] += other_column[N_GAPS]
        if not other_column[COUNT]:
            continue
        # Without jumps the last number determines the first.
        first_number = other_column[LAST] - other_column[COUNT] + 1.0
        if column[COUNT] and (other_column[N_JUMPS] or first_number != column[LAST] + 1.0):
            column[N_JUMPS] += 1.0
        column[N_JUMPS], column[LAST] = column[N_JUMPS] + other_column[N_JUMPS], other_column[LAST]
        total = column[COUNT] + other_column[COUNT]
        mean_difference = other_column[MEAN] - column[MEAN]
        column[SUM_OF_SQUARES] += (
            other_column[SUM_OF_SQUARES]
            + mean_difference**2 * column[COUNT] * other_column[COUNT] / total
        )
        column[MEAN] += mean_difference * other_column[COUNT] / total
        column[MINIMUM] = min(column[MINIMUM], other_column[MINIMUM])
        column[MAXIMUM] = max(column[MAXIMUM], other_column[MAXIMUM])
        for field in (COUNT, N_ZEROS, N_FRACTIONS):
            column[field] += other_column[field]
        _merge_distinct_values(merged, other, j)
    stride = max(merged.stride, other.stride)
    merged.sample_blocks = [merged.sample[:: stride // merged.stride]]
    merged.stride = stride
    merged.add_to_sample(other.sample[:: stride // other.stride])


def _merge_distinct_values(merged: NumericSummary, other: NumericSummary, j: int) -> None:
    """Add the counts of distinct numbers of column `j`."""
    column, n_known = merged.state[j], int(other.state[j, N_DISTINCT])
    for value, count in zip(
        other.distinct_values[j, :n_known], other.counts[j, :n_known], strict=False
    ):
        n_stored = int(column[N_DISTINCT])
        matches = np.flatnonzero(
            merged.distinct_values[j, : min(n_stored, MAX_COUNTED_NUMBERS)] == value
        )
        if len(matches):
            merged.counts[j, matches[0]] += count
        elif n_stored < MAX_COUNTED_NUMBERS:
            merged.distinct_values[j, n_stored], merged.counts[j, n_stored] = value, count
        column[N_DISTINCT] += 0.0 if len(matches) or n_stored > MAX_COUNTED_NUMBERS else 1.0
    if n_known > MAX_COUNTED_NUMBERS:
        column[N_DISTINCT] = MAX_COUNTED_NUMBERS + 1


def _merge_strings(merged: StringSummary, other: StringSummary, rows_before: int) -> None:
    """Add the summary of a string column of another file, after `rows_before` rows."""
    if other.gaps and not merged.gaps:
        merged.first_gap = rows_before + other.first_gap
    if merged.numeric_summary is not None and other.numeric_summary is not None:
        _merge_numeric(merged.numeric_summary, other.numeric_summary, rows_before)
    merged.gaps, merged.n_filled = merged.gaps + other.gaps, merged.n_filled + other.n_filled
    merged.is_truth_value, merged.is_comma_number = (
        merged.is_truth_value and other.is_truth_value,
        merged.is_comma_number and other.is_comma_number,
    )
    merged.dates = _merge_dates(merged.dates, other.dates)
    merged.counts += other.counts
    merged.n_characters = sum(map(len, merged.counts))
    merged.is_counting = merged.is_counting and other.is_counting
    merged.over_limit |= other.over_limit
    if not merged.over_limit and (
        len(merged.counts) > MAX_COUNTED_WORDS or merged.n_characters > MAX_COUNTED_CHARACTERS
    ):
        merged.over_limit = True
        is_mostly_distinct = (
            merged._distinct_fraction() > NEARLY_ALL_DISTINCT
            or merged.n_characters > MAX_COUNTED_CHARACTERS // 2
        )
        merged.is_counting = merged.is_counting and not is_mostly_distinct
    merged.is_counting = merged.is_counting and len(merged.counts) <= MAX_LEVELS


def _merge_dates(merged: DateDetector | None, other: DateDetector | None) -> DateDetector | None:
    """Return the date formats that fit both files, or None."""
    if merged is None or other is None:
        return None
    merged.date_formats = {
        date_format: None
        for date_format in merged.date_formats
        if date_format in other.date_formats
    }
    for date_format in merged.date_formats:
        merged.ranges[date_format].merge(other.ranges[date_format])
    return merged if merged.date_formats else None
