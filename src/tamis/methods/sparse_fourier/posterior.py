"""Rounds of chains with new neighbours for each round, the mean and diagnostics of the last round,
and the features of its frequencies.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.sparse_fourier.chain import ChainResult, ChainSchedule, FourierData, run_chain
from tamis.methods.sparse_fourier.loop import PriorConstants
from tamis.solvers.neighbors import class_neighbors

NEIGHBOR_FREQUENCIES = 512  # frequencies of the learnt kernel in the search for neighbours
MOVES = ("birth", "death", "walk", "replacement")


class Posterior(NamedTuple):
    """The mean over the chains of the last round: frequencies and their weights, the inclusion of
    columns, the traces of the chains, and their diagnostics.
    """

    frequencies: sp.csr_array
    weights: np.ndarray
    inclusion_probability: np.ndarray
    inclusion_share: np.ndarray
    trace: dict
    diagnostics: dict


def sample_posterior(
    scaled,
    codes: np.ndarray,
    prior: PriorConstants,
    schedule: ChainSchedule,
    seeds: np.ndarray,
    n_threads: int,
    report_moves: Callable[[int], None],
) -> Posterior:
    """Run all rounds; `seeds` has a row for each round, with a seed for each chain."""
    representation = scaled
    for round_index in range(len(seeds)):
        rows = _find_neighbors(scaled, representation, codes)
        with ThreadPoolExecutor(min(len(seeds[round_index]), n_threads)) as pool:
            chains = [
                pool.submit(run_chain, rows, prior, schedule, int(seed), report_moves)
                for seed in seeds[round_index]
            ]
            chain_results = [chain.result() for chain in chains]
        frequencies = sp.vstack(
            [chain_result.frequencies for chain_result in chain_results], format="csr"
        )
        weights = np.concatenate([chain_result.weights for chain_result in chain_results]) / len(
            chain_results
        )
        if round_index + 1 < len(seeds):
            representation = fourier_features(scaled, frequencies, weights, NEIGHBOR_FREQUENCIES)
    trace = {
        "n_frequencies": np.array([chain_result.counts for chain_result in chain_results]),
        "log_likelihood": np.array([chain_result.likelihoods for chain_result in chain_results]),
    }
    inclusion_probability = np.mean(
        [chain_result.inclusion_probability for chain_result in chain_results], axis=0
    )
    inclusion_share = np.mean(
        [chain_result.inclusion_share for chain_result in chain_results], axis=0
    )
    return Posterior(
        frequencies,
        weights,
        inclusion_probability,
        inclusion_share,
        trace,
        _diagnose(chain_results, trace),
    )


def _find_neighbors(scaled, representation, codes: np.ndarray) -> FourierData:
    """Return the columns of `scaled` with neighbours in `representation`; rows that are alone in
    their class have no neighbour and a weight of 0.
    """
    edges = class_neighbors(representation, codes, 1)
    nearest_same, nearest_other = edges.nearest[:, 0], edges.nearest[:, 1]
    columns = sp.csc_array(scaled, dtype=np.float64)
    is_alone = nearest_same == np.arange(len(nearest_same))
    if is_alone.all():
        raise ValueError(
            "SparseFourierFeatures needs a class of at least 2 rows, but every class has one row. "
            "Check y."
        )
    csc = (columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64))
    return FourierData(csc, nearest_same, nearest_other, 1.0 - is_alone, scaled.shape[1])


# --------------------------------------------------------------------------- diagnostics
def _diagnose(chain_results: list[ChainResult], trace: dict) -> dict:
    """Return the acceptance rates of the moves, and R-hat and effective size of the traces."""
    n_draws = chain_results[0].n_draws
    n_proposed = np.sum([chain_result.n_proposed for chain_result in chain_results], axis=0)
    n_accepted = np.sum([chain_result.n_accepted for chain_result in chain_results], axis=0)
    traces = {name: schedule[:, -n_draws:].astype(float) for name, schedule in trace.items()}
    return {
        "acceptance": {
            move: float(n_accepted[k] / n_proposed[k]) if n_proposed[k] else 0.0
            for k, move in enumerate(MOVES)
        },
        "r_hat": {name: split_r_hat(schedule) for name, schedule in traces.items()},
        "effective_size": {name: effective_size(schedule) for name, schedule in traces.items()},
    }


def split_r_hat(traces: np.ndarray) -> float:
    """Return the split R-hat of Gelman and Rubin over the traces (rows): 1 if the chains agree, nan
    for too few records.
    """
    half = traces.shape[1] // 2
    if half < 2:
        return float("nan")
    halves = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))


def effective_size(traces: np.ndarray) -> float:
    """Return the effective sample size of all traces, by Geyer's initial positive sequence of
    autocovariances.
    """
    n = traces.shape[1]
    centred = traces - traces.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0)
    if covariance[0] <= 0.0:
        return float(traces.size)
    rho = covariance / covariance[0]
    pairs = rho[0 : n - 1 : 2] + rho[1:n:2]
    stop = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    return float(traces.size / max(1.0, 2.0 * pairs[:stop].sum() - 1.0))


# --------------------------------------------------------------------------- features
def resample_frequencies(weights: np.ndarray, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of at most n frequencies, drawn systematically in proportion to their
    weights, and new weights.

    The n largest weights would be biased to frequencies at which a chain was stuck.
    """
    if n is None or n >= len(weights):
        return np.arange(len(weights)), weights
    cumulative = np.cumsum(weights)
    indices = np.searchsorted(cumulative, (np.arange(n) + 0.5) / n * cumulative[-1])
    drawn, counts = np.unique(indices, return_counts=True)
    return drawn, counts / n


def fourier_features(X, frequencies, weights: np.ndarray, n: int | None) -> np.ndarray:
    """Return the cosines, then the sines, of at most n frequencies; each row has norm 1."""
    indices, resampled_weights = resample_frequencies(weights, n)
    angles = X @ frequencies[indices].T
    angles = angles.toarray() if sp.issparse(angles) else angles
    amplitudes = np.sqrt(resampled_weights)
    return np.hstack([np.cos(angles) * amplitudes, np.sin(angles) * amplitudes])


def divide_by_deviations(X, deviations):
    """Divide the columns by their standard deviations; the kernel depends only on differences of
    rows, so centring is not needed.
    """
    return sp.csr_array(X @ sp.diags_array(1.0 / deviations)) if sp.issparse(X) else X / deviations
