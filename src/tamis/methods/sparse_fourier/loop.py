"""Moves of a reversible-jump chain over sparse random frequencies, under a first-order Markov prior
with its chances summed out.

A frequency is a walk over columns (`walks`, `lengths`), the columns it meets (`columns`, `sizes`)
and a number for each (`waves`). What it says about each row, the contrast of its cosine towards the
nearest row of the same class and of another one, is kept in `contrasts`.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import compiled, helper

S11 = np.uint64(11)
# shares of the moves, summed up; the rest replaces a frequency
BIRTH, DEATH, WALK = 0.25, 0.5, 0.85
DRAWS = 1000  # walks that may be drawn for each of the first frequencies


class Chain(NamedTuple):
    """State of one chain."""

    walks: np.ndarray  # (most, longest) columns in the order of the walk
    lengths: np.ndarray  # (most,)
    columns: np.ndarray  # (most, longest) the same without repeats
    sizes: np.ndarray  # (most,)
    waves: np.ndarray  # (most, longest)
    contrasts: np.ndarray  # (most, rows)
    total: np.ndarray  # (rows,) sum of contrasts
    alive: np.ndarray  # (1,) frequencies now
    tried: np.ndarray  # (4,) births, deaths, steps, replacements tried
    taken: np.ndarray  # (4,) and accepted


class Draft(NamedTuple):
    """Room for one frequency that may be taken, and for what the rows would then be worth."""

    walk: np.ndarray
    columns: np.ndarray
    waves: np.ndarray
    contrast: np.ndarray
    total: np.ndarray
    line: np.ndarray


class Prior(NamedTuple):
    """Constants of the prior and of the likelihood."""

    mean: float  # of the Poisson number of frequencies
    first: float  # weight of a fresh first column
    stop: float  # chance that a fresh step ends the walk
    spread: float  # deviation of a number of a frequency
    stride: float  # deviation of a random-walk step
    sharpness: float  # factor of the mean contrast in the likelihood


# --------------------------------------------------------------------------- chance
@helper
def uniform(key, dice):
    """The next number in [0, 1) of this key."""
    dice[0] += ONE
    return float(mix64(key + dice[0] * GOLDEN) >> S11) * 1.1102230246251565e-16


@helper
def normal(key, dice):
    """The next normal number."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, dice)))
    return radius * math.cos(2.0 * math.pi * uniform(key, dice))


@helper
def successor(place, now, chain, skip, walk, length):
    """Where the `place`-th earlier visit of a column went on to: a column, -1 for the end, -2 if
    there were fewer visits.
    """
    for l in range(chain.alive[0]):
        if l == skip:
            continue
        for k in range(chain.lengths[l]):
            if chain.walks[l, k] == now:
                if place == 0:
                    return chain.walks[l, k + 1] if k + 1 < chain.lengths[l] else -1
                place -= 1
    for k in range(length - 1):
        if walk[k] == now:
            if place == 0:
                return walk[k + 1]
            place -= 1
    return -2


@helper
def visits(now, chain, skip, walk, length):
    """How often a column was met before, in the other walks and in this one."""
    count = 0
    for l in range(chain.alive[0]):
        if l != skip:
            for k in range(chain.lengths[l]):
                count += chain.walks[l, k] == now
    for k in range(length - 1):
        count += walk[k] == now
    return count


@helper
def draw(chain, draft, skip, n_columns, prior, key, dice):
    """A frequency from the prior given the others (all but `skip`); length of its walk and number
    of its columns, 0 if it grew too long.
    """
    others = chain.alive[0] - (1 if 0 <= skip < chain.alive[0] else 0)
    place = uniform(key, dice) * (prior.first + others)
    if place < prior.first:
        draft.walk[0] = int(uniform(key, dice) * n_columns)
    else:
        l = min(int(place - prior.first), others - 1)
        draft.walk[0] = chain.walks[l + (1 if 0 <= skip <= l else 0), 0]
    length = 1
    while True:
        now = draft.walk[length - 1]
        place = uniform(key, dice) * (1.0 + visits(now, chain, skip, draft.walk, length))
        if place < prior.stop:
            break
        if place < 1.0:
            after = int(uniform(key, dice) * n_columns)
        else:
            after = successor(int(place - 1.0), now, chain, skip, draft.walk, length)
        if after < 0:
            break
        if length == draft.walk.shape[0]:
            return 0, 0
        draft.walk[length] = after
        length += 1
    size = 0
    for k in range(length):
        fresh = True
        for q in range(size):
            fresh = fresh and draft.columns[q] != draft.walk[k]
        if fresh:
            draft.columns[size] = draft.walk[k]
            draft.waves[size] = prior.spread * normal(key, dice)
            size += 1
    return length, size


# --------------------------------------------------------------------------- what rows say
@helper
def contrast(draft, size, columns, own, other):
    """Cosine towards the nearest row of the own class minus that towards the nearest other row, of
    the drafted frequency.
    """
    data, indices, indptr = columns
    draft.line[:] = 0.0
    for q in range(size):
        j = draft.columns[q]
        for k in range(indptr[j], indptr[j + 1]):
            draft.line[indices[k]] += draft.waves[q] * data[k]
    for i in range(own.shape[0]):
        near, far = draft.line[i] - draft.line[own[i]], draft.line[i] - draft.line[other[i]]
        draft.contrast[i] = math.cos(near) - math.cos(far)


@helper
def likelihood(total, count, weights, sharpness):
    """Logarithm of the chance of all labels, from the summed contrasts of `count` frequencies."""
    out = 0.0
    for i in range(total.shape[0]):
        margin = sharpness * total[i] / count
        if margin > 0.0:
            out -= weights[i] * math.log1p(math.exp(-margin))
        else:
            out -= weights[i] * (math.log1p(math.exp(margin)) - margin)
    return out


@helper
def keep(chain, draft, l, length, size):
    """Put the draft into place l."""
    # Number by number: Numba takes half a second to compile each assignment of a slice.
    chain.lengths[l], chain.sizes[l] = length, size
    for k in range(length):
        chain.walks[l, k] = draft.walk[k]
    for q in range(size):
        chain.columns[l, q], chain.waves[l, q] = draft.columns[q], draft.waves[q]
    for i in range(chain.total.shape[0]):
        chain.contrasts[l, i], chain.total[i] = draft.contrast[i], draft.total[i]


@helper
def remove(chain, draft, l):
    """Take frequency l away; the last one moves into its place."""
    last = chain.alive[0] - 1
    chain.lengths[l], chain.sizes[l] = chain.lengths[last], chain.sizes[last]
    for k in range(chain.walks.shape[1]):
        chain.walks[l, k], chain.columns[l, k] = chain.walks[last, k], chain.columns[last, k]
        chain.waves[l, k] = chain.waves[last, k]
    for i in range(chain.total.shape[0]):
        chain.contrasts[l, i], chain.total[i] = chain.contrasts[last, i], draft.total[i]
    chain.alive[0] = last


# --------------------------------------------------------------------------- moves
@compiled
def begin(chain, draft, n_start, columns, own, other, n_columns, prior, key):
    """Draw the first frequencies from the prior; fewer where nearly all walks are too long: others
    are born later.
    """
    dice = np.zeros(1, np.uint64)
    for _ in range(DRAWS * n_start):
        if chain.alive[0] >= n_start:
            break
        length, size = draw(chain, draft, -1, n_columns, prior, key, dice)
        if length:
            contrast(draft, size, columns, own, other)
            for i in range(draft.total.shape[0]):
                draft.total[i] = chain.total[i] + draft.contrast[i]
            keep(chain, draft, chain.alive[0], length, size)
            chain.alive[0] += 1


@compiled
def move(chain, draft, columns, own, other, weights, n_columns, prior, key, first, steps):
    """Make some moves; the logarithm of the likelihood after them."""
    dice = np.zeros(1, np.uint64)
    now = likelihood(chain.total, chain.alive[0], weights, prior.sharpness)
    for step in range(steps):
        dice[0] = np.uint64(first + step) << np.uint64(24)
        count, kind = chain.alive[0], uniform(key, dice)
        l, odds, length, size = min(int(uniform(key, dice) * count), count - 1), 0.0, 0, 0
        if kind < BIRTH:
            which, after = 0, count + 1
            if count < chain.walks.shape[0]:
                length, size = draw(chain, draft, -1, n_columns, prior, key, dice)
            odds = math.log(prior.mean / (count + 1.0))
        elif kind < DEATH:
            which, after, length = 1, count - 1, count - 1
            odds = math.log(count / prior.mean)
        elif kind < WALK:
            which, after, length, size = 2, count, chain.lengths[l], chain.sizes[l]
            squares = 0.0
            for q in range(size):
                draft.columns[q] = chain.columns[l, q]
                draft.waves[q] = chain.waves[l, q] + prior.stride * normal(key, dice)
                squares += draft.waves[q] ** 2 - chain.waves[l, q] ** 2
            for k in range(length):
                draft.walk[k] = chain.walks[l, k]
            odds = -0.5 * squares / prior.spread**2
        else:
            which, after = 3, count
            length, size = draw(chain, draft, l, n_columns, prior, key, dice)
        chain.tried[which] += 1
        # No room, nothing to take away, or a walk beyond the longest: no chance under the prior.
        if length == 0:
            continue
        if which != 1:
            contrast(draft, size, columns, own, other)
        for i in range(draft.total.shape[0]):
            draft.total[i] = (
                chain.total[i]
                + (draft.contrast[i] if which != 1 else 0.0)
                - (chain.contrasts[l, i] if which != 0 else 0.0)
            )
        then = likelihood(draft.total, after, weights, prior.sharpness)
        if math.log(1.0 - uniform(key, dice)) < then - now + odds:
            chain.taken[which] += 1
            now = then
            if which == 1:
                remove(chain, draft, l)
            else:
                keep(chain, draft, count if which == 0 else l, length, size)
                chain.alive[0] = after
    return now
