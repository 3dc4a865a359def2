"""Multiple testing: q-values of a family of hypotheses, about single columns or groups."""

import numpy as np
import scipy.sparse as sp


def benjamini_hochberg(pvalues: np.ndarray, family: int, correction: str = "bh") -> np.ndarray:
    """Return the q-values of tests from a family of `family` hypotheses.

    Hypotheses without a test count with p-value 1. "by" is the procedure of Benjamini and
    Yekutieli, for any dependence. The result is that of `scipy.stats.false_discovery_control` for
    the p-values padded with ones, without the memory for these.
    """
    if correction not in ("bh", "by"):
        raise ValueError(f"correction must be 'bh' or 'by'. Got {correction!r}.")
    order = np.argsort(pvalues, kind="stable")
    size = family * harmonic(family) if correction == "by" else float(family)
    adjusted = size * pvalues[order] / np.arange(1, len(order) + 1)
    # The adjusted value exceeds 1 where the next hypothesis is an untested one.
    running_min = np.minimum.accumulate(adjusted[::-1])[::-1]
    qvalues = np.empty(len(order))
    qvalues[order] = np.clip(running_min, pvalues[order], 1.0)
    return qvalues


def evalue_pvalues(log_evalues: np.ndarray) -> np.ndarray:
    """Return p-values from logarithms of e-values, by Markov's inequality.

    The e-BH procedure is that of Benjamini and Hochberg with these p-values; it holds for any
    dependence.
    """
    return np.exp(-np.maximum(log_evalues, 0.0))


def representative_qvalues(
    pvalues: np.ndarray,
    columns: np.ndarray,
    representatives: np.ndarray,
    n_outputs: int,
    families: tuple[int, int],
    correction: str = "bh",
) -> np.ndarray:
    """Return the q-values of tests, each of a pair of a column and an output.

    A test that another one represents has q-value 1. `families` is the number of hypotheses: pairs,
    and columns. A q-value is the larger of that of the pair and that of its column, whose p-value
    is the smallest of its outputs times `n_outputs`. So the false discovery rate holds for pairs
    and for columns.
    """
    group_tests = np.flatnonzero(representatives == np.arange(len(representatives)))
    distinct, column_index = np.unique(columns[group_tests], return_inverse=True)
    smallest = np.full(len(distinct), np.inf)
    np.minimum.at(smallest, column_index, pvalues[group_tests])
    pair_qvalues = benjamini_hochberg(pvalues[group_tests], families[0], correction)
    column_qvalues = benjamini_hochberg(
        np.minimum(n_outputs * smallest, 1.0), families[1], correction
    )
    qvalues = np.ones(len(representatives))
    qvalues[group_tests] = np.maximum(pair_qvalues, column_qvalues[column_index])
    return qvalues


def harmonic(count: int) -> float:
    """Return 1 + 1/2 + ... + 1/count."""
    if count < 1_000_000:
        return float((1.0 / np.arange(1, count + 1)).sum())
    return float(np.log(count) + np.euler_gamma + 0.5 / count)


def find_representatives(
    pvalues: np.ndarray, outputs: np.ndarray, columns: np.ndarray, groups: list
) -> np.ndarray:
    """Return for each test the index of the test that represents its group, the group's head.

    By rising p-value, a column inside the group of an earlier head (of the same output) joins that
    group; any other column becomes a head.
    """
    representatives = np.empty(len(pvalues), dtype=np.int64)
    group_heads: dict[tuple[int, int], int] = {}
    for k in np.lexsort((columns, outputs, pvalues)):
        representative = group_heads.get((int(outputs[k]), int(columns[k])))
        representatives[k] = k if representative is None else representative
        if representative is None:
            for member in groups[k].tolist():
                group_heads.setdefault((int(outputs[k]), member), int(k))
    return representatives


def sparse_rows(groups: list[np.ndarray], values: list[np.ndarray], width: int) -> sp.csr_array:
    """Return a sparse matrix whose row i has `values[i]` in the columns `groups[i]`."""
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
    numbers = np.concatenate([np.zeros(0), *values])
    return sp.csr_array((numbers, columns, starts), shape=(len(groups), width))
