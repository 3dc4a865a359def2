"""Compiled moves of a reversible-jump chain over sparse random frequencies, under a first-order
Markov prior with its transition probabilities integrated out (a Polya urn).

A frequency is a walk over columns (`walks`, `lengths`), the distinct columns of the walk
(`columns`, `sizes`) and a value for each of these (`values`). Its contrast at a row is the cosine
of the difference to the nearest row of the same class, minus that to the nearest row of another
class; `contrasts` stores them.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import compiled, compiled_helper

S11 = np.uint64(11)
# Cumulative probabilities of the kinds of moves; the remaining moves replace a frequency.
BIRTH_END, DEATH_END, WALK_END = 0.25, 0.5, 0.85
MAX_DRAWS_PER_START = 1000  # draws of the prior for each initial frequency


class Chain(NamedTuple):
    """State of one chain, with room for `max_frequencies` walks of at most `max_length` columns."""

    walks: np.ndarray  # (max_frequencies, max_length) columns in the order of the walk
    lengths: np.ndarray  # (max_frequencies,)
    columns: np.ndarray  # (max_frequencies, max_length) the same without repeats
    sizes: np.ndarray  # (max_frequencies,)
    values: np.ndarray  # (max_frequencies, max_length)
    contrasts: np.ndarray  # (max_frequencies, rows)
    contrast_sum: np.ndarray  # (rows,) over the frequencies
    n_frequencies: np.ndarray  # (1,) present number
    n_proposed: np.ndarray  # (4,) proposed births, deaths, random-walk steps, replacements
    n_accepted: np.ndarray  # (4,) accepted ones


class Proposal(NamedTuple):
    """Arrays of one proposed frequency, and of the contrasts after its acceptance."""

    walk: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    contrast: np.ndarray
    contrast_sum: np.ndarray
    projection: np.ndarray


class PriorConstants(NamedTuple):
    """Constants of the prior and of the likelihood."""

    mean: float  # of the Poisson number of frequencies
    concentration: float  # weight of a new first column
    stop: float  # probability that a new step ends the walk
    scale: float  # standard deviation of a value of a frequency
    step_std: float  # standard deviation of a random-walk step
    sharpness: float  # factor of the mean contrast in the likelihood


# --------------------------------------------------------------------------- random draws
@compiled_helper
def uniform(key, counter):
    """Return the next uniform number in [0, 1) of this key."""
    counter[0] += ONE
    return float(mix64(key + counter[0] * GOLDEN) >> S11) * 1.1102230246251565e-16


@compiled_helper
def normal(key, counter):
    """Return the next standard normal number."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, counter)))
    return radius * math.cos(2.0 * math.pi * uniform(key, counter))


@compiled_helper
def successor(rank, column, chain, skip, walk, length):
    """Return the column after the visit number `rank` of a column, -1 if the walk ended there, -2
    if there are fewer visits.
    """
    for l in range(chain.n_frequencies[0]):
        if l == skip:
            continue
        for k in range(chain.lengths[l]):
            if chain.walks[l, k] == column:
                if rank == 0:
                    return chain.walks[l, k + 1] if k + 1 < chain.lengths[l] else -1
                rank -= 1
    for k in range(length - 1):
        if walk[k] == column:
            if rank == 0:
                return walk[k + 1]
            rank -= 1
    return -2


@compiled_helper
def count_visits(column, chain, skip, walk, length):
    """Return the number of earlier visits of a column, in the other walks and in this one."""
    count = 0
    for l in range(chain.n_frequencies[0]):
        if l != skip:
            for k in range(chain.lengths[l]):
                count += chain.walks[l, k] == column
    for k in range(length - 1):
        count += walk[k] == column
    return count


@compiled_helper
def draw_frequency(chain, proposal, skip, n_columns, prior, key, counter):
    """Draw a frequency from the prior given the others (all but `skip`); return the length of its
    walk and its number of columns, both 0 if the walk is too long.
    """
    others = chain.n_frequencies[0] - (1 if 0 <= skip < chain.n_frequencies[0] else 0)
    position = uniform(key, counter) * (prior.concentration + others)
    if position < prior.concentration:
        proposal.walk[0] = int(uniform(key, counter) * n_columns)
    else:
        l = min(int(position - prior.concentration), others - 1)
        proposal.walk[0] = chain.walks[l + (1 if 0 <= skip <= l else 0), 0]
    length = 1
    while True:
        column = proposal.walk[length - 1]
        position = uniform(key, counter) * (
            1.0 + count_visits(column, chain, skip, proposal.walk, length)
        )
        if position < prior.stop:
            break
        if position < 1.0:
            next_column = int(uniform(key, counter) * n_columns)
        else:
            next_column = successor(int(position - 1.0), column, chain, skip, proposal.walk, length)
        if next_column < 0:
            break
        if length == proposal.walk.shape[0]:
            return 0, 0
        proposal.walk[length] = next_column
        length += 1
    size = 0
    for k in range(length):
        is_new = True
        for q in range(size):
            is_new = is_new and proposal.columns[q] != proposal.walk[k]
        if is_new:
            proposal.columns[size] = proposal.walk[k]
            proposal.values[size] = prior.scale * normal(key, counter)
            size += 1
    return length, size


# --------------------------------------------------------------------------- likelihood
@compiled_helper
def compute_contrast(proposal, size, columns, nearest_same, nearest_other):
    """Compute the contrasts of the proposed frequency: the cosine of the difference to the nearest
    row of the same class, minus that to the nearest row of another class.
    """
    data, indices, indptr = columns
    proposal.projection[:] = 0.0
    for q in range(size):
        j = proposal.columns[q]
        for k in range(indptr[j], indptr[j + 1]):
            proposal.projection[indices[k]] += proposal.values[q] * data[k]
    for i in range(nearest_same.shape[0]):
        same_angle = proposal.projection[i] - proposal.projection[nearest_same[i]]
        other_angle = proposal.projection[i] - proposal.projection[nearest_other[i]]
        proposal.contrast[i] = math.cos(same_angle) - math.cos(other_angle)


@compiled_helper
def log_likelihood(contrast_sum, count, weights, sharpness):
    """Return the log-likelihood of the labels, from the summed contrasts of `count` frequencies."""
    out = 0.0
    for i in range(contrast_sum.shape[0]):
        margin = sharpness * contrast_sum[i] / count
        if margin > 0.0:
            out -= weights[i] * math.log1p(math.exp(-margin))
        else:
            out -= weights[i] * (math.log1p(math.exp(margin)) - margin)
    return out


@compiled_helper
def store_frequency(chain, proposal, l, length, size):
    """Store the proposed frequency at index l."""
    # Number by number: Numba takes half a second to compile each assignment of a slice.
    chain.lengths[l], chain.sizes[l] = length, size
    for k in range(length):
        chain.walks[l, k] = proposal.walk[k]
    for q in range(size):
        chain.columns[l, q], chain.values[l, q] = proposal.columns[q], proposal.values[q]
    for i in range(chain.contrast_sum.shape[0]):
        chain.contrasts[l, i] = proposal.contrast[i]
        chain.contrast_sum[i] = proposal.contrast_sum[i]


@compiled_helper
def remove_frequency(chain, proposal, l):
    """Remove frequency l; the last one moves to its index."""
    last = chain.n_frequencies[0] - 1
    chain.lengths[l], chain.sizes[l] = chain.lengths[last], chain.sizes[last]
    for k in range(chain.walks.shape[1]):
        chain.walks[l, k], chain.columns[l, k] = chain.walks[last, k], chain.columns[last, k]
        chain.values[l, k] = chain.values[last, k]
    for i in range(chain.contrast_sum.shape[0]):
        chain.contrasts[l, i] = chain.contrasts[last, i]
        chain.contrast_sum[i] = proposal.contrast_sum[i]
    chain.n_frequencies[0] = last


# --------------------------------------------------------------------------- moves
@compiled
def initialize_chain(
    chain, proposal, n_start, columns, nearest_same, nearest_other, n_columns, prior, key
):
    """Draw the initial frequencies from the prior; fewer than `n_start` if nearly all walks are too
    long, since births add others later.
    """
    counter = np.zeros(1, np.uint64)
    for _ in range(MAX_DRAWS_PER_START * n_start):
        if chain.n_frequencies[0] >= n_start:
            break
        length, size = draw_frequency(chain, proposal, -1, n_columns, prior, key, counter)
        if length:
            compute_contrast(proposal, size, columns, nearest_same, nearest_other)
            for i in range(proposal.contrast_sum.shape[0]):
                proposal.contrast_sum[i] = chain.contrast_sum[i] + proposal.contrast[i]
            store_frequency(chain, proposal, chain.n_frequencies[0], length, size)
            chain.n_frequencies[0] += 1


@compiled
def run_moves(
    chain,
    proposal,
    columns,
    nearest_same,
    nearest_other,
    weights,
    n_columns,
    prior,
    key,
    first_move,
    steps,
):
    """Run some moves; return the log-likelihood after them."""
    counter = np.zeros(1, np.uint64)
    current = log_likelihood(chain.contrast_sum, chain.n_frequencies[0], weights, prior.sharpness)
    for step in range(steps):
        counter[0] = np.uint64(first_move + step) << np.uint64(24)
        count, u = chain.n_frequencies[0], uniform(key, counter)
        l, log_ratio, length, size = min(int(uniform(key, counter) * count), count - 1), 0.0, 0, 0
        if u < BIRTH_END:
            kind, new_count = 0, count + 1
            if count < chain.walks.shape[0]:
                length, size = draw_frequency(chain, proposal, -1, n_columns, prior, key, counter)
            log_ratio = math.log(prior.mean / (count + 1.0))
        elif u < DEATH_END:
            kind, new_count, length = 1, count - 1, count - 1
            log_ratio = math.log(count / prior.mean)
        elif u < WALK_END:
            kind, new_count, length, size = 2, count, chain.lengths[l], chain.sizes[l]
            squares = 0.0
            for q in range(size):
                proposal.columns[q] = chain.columns[l, q]
                proposal.values[q] = chain.values[l, q] + prior.step_std * normal(key, counter)
                squares += proposal.values[q] ** 2 - chain.values[l, q] ** 2
            for k in range(length):
                proposal.walk[k] = chain.walks[l, k]
            log_ratio = -0.5 * squares / prior.scale**2
        else:
            kind, new_count = 3, count
            length, size = draw_frequency(chain, proposal, l, n_columns, prior, key, counter)
        chain.n_proposed[kind] += 1
        # Too many frequencies, none left, or too long a walk: the prior probability is 0.
        if length == 0:
            continue
        if kind != 1:
            compute_contrast(proposal, size, columns, nearest_same, nearest_other)
        for i in range(proposal.contrast_sum.shape[0]):
            proposal.contrast_sum[i] = (
                chain.contrast_sum[i]
                + (proposal.contrast[i] if kind != 1 else 0.0)
                - (chain.contrasts[l, i] if kind != 0 else 0.0)
            )
        proposed = log_likelihood(proposal.contrast_sum, new_count, weights, prior.sharpness)
        if math.log(1.0 - uniform(key, counter)) < proposed - current + log_ratio:
            chain.n_accepted[kind] += 1
            current = proposed
            if kind == 1:
                remove_frequency(chain, proposal, l)
            else:
                store_frequency(chain, proposal, count if kind == 0 else l, length, size)
                chain.n_frequencies[0] = new_count
    return current
