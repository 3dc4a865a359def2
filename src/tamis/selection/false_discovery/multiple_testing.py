"""From p-values to claims: q-values over all columns, of single columns or of groups."""

import numpy as np
import scipy.sparse as sp


def qvalues_of(pvalues: np.ndarray, family: int, correction: str) -> np.ndarray:
    """Benjamini and Hochberg's q-values of the tests of a family; all that is not given has
    p-value 1. "by" is Benjamini and Yekutieli's, for any dependence.
    """
    order = np.argsort(pvalues, kind="stable")
    size = family * harmonic(family) if correction == "by" else float(family)
    raised = size * pvalues[order] / np.arange(1, len(order) + 1)
    # The next p-value may be 1 of an untested one.
    least = np.minimum.accumulate(raised[::-1])[::-1]
    found = np.empty(len(order))
    found[order] = np.clip(least, pvalues[order], 1.0)
    return found


def of_pairs(
    pvalues: np.ndarray, columns: np.ndarray, sizes: tuple[int, int], correction: str
) -> np.ndarray:
    """q-values of pairs of a column and an output, out of so many `sizes` of both: the larger of
    the pair's own and of its column's, whose p-value is the smallest of its outputs times their
    number. Both rates are kept then: that of the pairs, and that of the columns that stand in one.
    """
    own = qvalues_of(pvalues, sizes[0] * sizes[1], correction)
    least, at = least_of(pvalues, columns)
    return np.maximum(own, qvalues_of(np.minimum(sizes[1] * least, 1.0), sizes[0], correction)[at])


def least_of(values: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest value of every column that there is, and the place of each test's column."""
    distinct, at = np.unique(columns, return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, at, values)
    return least, at


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    if count < 1_000_000:
        return float((1.0 / np.arange(1, count + 1)).sum())
    return float(np.log(count) + np.euler_gamma + 0.5 / count)


def heads_of(
    pvalues: np.ndarray, outputs: np.ndarray, columns: np.ndarray, groups: list
) -> np.ndarray:
    """Head of every test, by number: by rising p-value, a column inside the group of an earlier
    head (of the same output) joins it, any other becomes a head itself.
    """
    heads = np.empty(len(pvalues), dtype=np.int64)
    taken: dict[tuple[int, int], int] = {}
    for k in np.lexsort((columns, outputs, pvalues)):
        head = taken.get((int(outputs[k]), int(columns[k])))
        heads[k] = k if head is None else head
        if head is None:
            for member in groups[k].tolist():
                taken.setdefault((int(outputs[k]), member), int(k))
    return heads


def stacked(groups: list[np.ndarray], values: list[np.ndarray], width: int) -> sp.csr_array:
    """Rows of a sparse matrix from columns and their values."""
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
    numbers = np.concatenate([np.zeros(0), *values])
    return sp.csr_array((numbers, columns, starts), shape=(len(groups), width))
