"""From p-values to claims: q-values over a whole family of hypotheses, of single columns or of
groups.
"""

import numpy as np
import scipy.sparse as sp


def benjamini_hochberg(pvalues: np.ndarray, family: int, correction: str = "bh") -> np.ndarray:
    """Return the q-values of the tests of a family of so many hypotheses, of which all that were
    not tested count as p = 1. "by" is Benjamini and Yekutieli's, for any dependence.

    As `scipy.stats.false_discovery_control` of the p-values padded with ones, which for a million
    columns are not made.
    """
    order = np.argsort(pvalues, kind="stable")
    size = family * harmonic(family) if correction == "by" else float(family)
    raised = size * pvalues[order] / np.arange(1, len(order) + 1)
    # The next p-value may be 1 of an untested one.
    least = np.minimum.accumulate(raised[::-1])[::-1]
    qvalues = np.empty(len(order))
    qvalues[order] = np.clip(least, pvalues[order], 1.0)
    return qvalues


def evalue_pvalues(log_evalues: np.ndarray) -> np.ndarray:
    """Return p-values from logarithms of e-values, by Markov's inequality. The e-BH procedure is
    Benjamini and Hochberg's with these, and needs no assumption on their dependence.
    """
    return np.exp(-np.maximum(log_evalues, 0.0))


def representative_qvalues(
    pvalues: np.ndarray,
    columns: np.ndarray,
    heads: np.ndarray,
    n_outputs: int,
    families: tuple[int, int],
    correction: str = "bh",
) -> np.ndarray:
    """Return the q-values of tests of pairs of a column and an output; 1 for a test that joins the
    group of another. `families` counts the hypotheses: pairs, and columns.

    It is the larger of the pair's q-value and of its column's, whose p-value is the smallest of its
    outputs times their number. Both rates are kept then: that of the pairs, and that of the columns
    that stand in one.
    """
    own = np.flatnonzero(heads == np.arange(len(heads)))
    distinct, at = np.unique(columns[own], return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, at, pvalues[own])
    of_pairs = benjamini_hochberg(pvalues[own], families[0], correction)
    of_columns = benjamini_hochberg(np.minimum(n_outputs * least, 1.0), families[1], correction)
    qvalues = np.ones(len(heads))
    qvalues[own] = np.maximum(of_pairs, of_columns[at])
    return qvalues


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


def sparse_rows(groups: list[np.ndarray], values: list[np.ndarray], width: int) -> sp.csr_array:
    """Rows of a sparse matrix from columns and their values."""
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
    numbers = np.concatenate([np.zeros(0), *values])
    return sp.csr_array((numbers, columns, starts), shape=(len(groups), width))
