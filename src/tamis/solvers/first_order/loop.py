"""The first-order pass: every loss, penalty, rule and step, binary or many outputs, O(nonzeros of
the row) a step.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, inlined, prefetch
from tamis.numerics.random import shuffled
from tamis.terms.methods import (
    Ledger,
    absorb,
    accrue,
    bend,
    null,
    owes,
    pull,
    rebase,
    settle,
    settles_slowly,
    size,
    tame,
    unit,
    waits,
)
from tamis.terms.penalties import Free

FREE = Free()
ONE, EIGHT, LINE = np.uint64(1), np.uint64(8), np.uint64(16)
# Numbers between the fetch of a column's cells and the look at them. A whole row ahead is too far:
# with twenty outputs two rows do not fit into the nearest cache.
AHEAD = np.uint64(8)
SETTLE_EVERY = (
    2.0**20
)  # steps after which all cells are settled, so that no toll outgrows the weights
SMALLEST = 1e-60  # scale below which they are settled earlier
ROOM = 1024  # cells of a row whose settled weights are kept
FULL = 1e100  # product of factors that is turned into a sum
# automatic steps of the intercept, against those of a row: it is in every row, and would swing
CALM = 0.0625


@inlined
def tick(rule, penalty, eta, ledger, lifts):
    """The ledger after one more step."""
    scale, toll, base = accrue(rule, penalty, eta, ledger, lifts)
    scales, tolls = ledger.scales + scale, ledger.tolls + scale * toll
    return Ledger(ledger.steps, scale, toll, base, scales, tolls)


@inlined
def reopen(rule, penalty, state, ledger):
    """Settle all cells and open the ledger anew."""
    for cell in range(np.uint64(state.shape[1])):
        rebase(rule, state, penalty, cell, ledger)
    return Ledger(ledger.steps, 1.0, 0.0, ledger.base, ledger.scales, ledger.tolls)


@inlined
def opened(ledger):
    """The ledger at the start of its next step."""
    steps, rest = ledger.steps + 1.0, (ledger.base, ledger.scales, ledger.tolls)
    return Ledger(steps, ledger.scale, ledger.toll, *rest)


@inlined
def plain(ledger):
    """The numbers of a ledger: Python gets them sooner than a named tuple."""
    balance = ledger.steps, ledger.scale, ledger.toll
    return *balance, ledger.base, ledger.scales, ledger.tolls


@inlined
def overdue(rule, ledger):
    """Whether every cell must be settled now."""
    debt, turns = owes(rule), ledger.steps / SETTLE_EVERY
    return debt > 0.0 and (ledger.scale < SMALLEST * debt or math.floor(turns) == turns)


@inlined
def observe(stats, share, sqnorm, weight):
    """Running mean of the rows' norm (steadier than that of its square on raw counts), and total of
    their weights; `share` is that of this row.
    """
    return stats[0] + (math.sqrt(sqnorm) - stats[0]) * share, stats[1], stats[2] + weight


@inlined
def observe_null(stats, share, null):
    """Running mean of the loss's slope at score 0: the unit of gradients."""
    return stats[0], stats[1] + (null - stats[1]) * share, stats[2]


@inlined
def place(r, stop, n, key):
    """Number of the row at position r of the walk, or of its last row beyond the end."""
    r = min(r, stop - ONE)
    return shuffled(r, n, key) if key else r


@inlined
def fetch_row(data, indices, first, last):
    """Bring a row that lies anywhere into the cache."""
    for k in range(first, last, LINE):
        prefetch(data, k)
        prefetch(data, k + EIGHT)
        prefetch(indices, k)


@inlined
def fetch_cells(indices, k, state, many):
    """Bring the cells of all outputs of the k-th number's column into the cache before they are
    read; beyond a row's end that is one of the next row as stored.
    """
    cell = np.uint64(indices[min(k, np.uint64(indices.shape[0]) - ONE)]) * many
    for column in range(np.uint64(state.shape[0])):
        for c in range(np.uint64(0), many, EIGHT):
            prefetch(state, column * np.uint64(state.shape[1]) + cell + c)


@inlined
def charged(total, product, cost, factor, weight):
    """The running loss with a row's added: a sum, and a product whose logarithm belongs to it."""
    total += cost * weight
    if weight == 1.0:
        product *= factor
    else:
        total += math.log(factor) * weight
    if product > FULL:
        return total + math.log(product), 1.0
    return total, product


@inlined
def look(data, indices, first, last, state, rule, penalty, ledger, kept):
    """Score of a row in units of the ledger's scale, and its squared norm."""
    score, sqnorm, keeps = 0.0, 0.0, last - first <= np.uint64(kept.shape[0])
    for k in range(first, last):
        x = np.float64(data[k])
        weight = settle(rule, state, penalty, indices[k], ledger)
        if settles_slowly(rule) and keeps:
            kept[k - first] = weight
        score += weight * x
        sqnorm += x * x
    return score, sqnorm


@inlined
def move(data, indices, first, last, state, rule, penalty, ledger, kept, s, pace):
    """Take a row of that slope into its cells."""
    keeps = last - first <= np.uint64(kept.shape[0])
    for k in range(first, last):
        if settles_slowly(rule) and keeps:
            weight = kept[k - first]
        else:
            weight = settle(rule, state, penalty, indices[k], ledger)
        absorb(rule, state, penalty, indices[k], weight, s, np.float64(data[k]), pace, ledger)


@inlined
def move_bias(bias, rule, ledger, output, s, eta):
    """Take a slope into an intercept."""
    weight = settle(rule, bias, FREE, output, ledger)
    absorb(rule, bias, FREE, output, weight, s, 1.0, eta * s / ledger.scale, ledger)


@compiled
def learn_one(rows, span, cells, loss, penalty, rule, step, clocks):
    """Walk rows of one output.

    `rows` is (data, indices, indptr, targets, weights), `span` (start, stop, key of the shuffle or
    0), `cells` (state, bias, costs), `clocks` (ledger, ledger of the intercept, statistics, flags).
    The statistics are (mean norm, mean slope at 0, total weight), the flags (intercept, automatic
    eta, automatic alpha). Returns the two ledgers and the statistics.
    """
    data, indices, indptr, targets, weights = rows
    start, stop, key = span
    state, bias, costs = cells
    ledger, bias_ledger, stats = Ledger(*clocks[0]), Ledger(*clocks[1]), clocks[2]
    intercept, auto_eta, auto_alpha = clocks[3]
    n, origin = np.uint64(targets.shape[0]), np.uint64(0)
    total, product = costs[0, 0], costs[1, 0]
    kept = np.empty(ROOM if settles_slowly(rule) else 0)
    ahead = place(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, place(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        y = targets[i, 0]
        ledger, bias_ledger = opened(ledger), opened(bias_ledger)
        share, back = 1.0 / ledger.steps, 1.0 / ledger.scale
        if auto_eta or auto_alpha:
            stats = observe_null(stats, share, abs(null(loss, y)))
        # What does not need the score comes before it is known: the processor goes on meanwhile.
        eta = 1.0 if waits(step) else size(step, ledger.steps, 1.0, 1.0)
        score, sqnorm = look(data, indices, first, last, state, rule, penalty, ledger, kept)
        stats = observe(stats, share, sqnorm, weight)
        lift, lifts, calm = 1.0, (1.0, 1.0), 1.0
        if auto_alpha:
            lifts = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            lift = unit(rule, stats[0], stats[1]) if stats[0] > 0.0 else 1.0
            calm = CALM * unit(rule, 1.0, stats[1])
        score *= ledger.scale
        if intercept:
            score += bias_ledger.scale * settle(rule, bias, FREE, origin, bias_ledger)
        s, cost, factor = pull(loss, score, y)
        s *= weight
        total, product = charged(total, product, cost, factor, weight)
        if waits(step):
            eta = size(step, ledger.steps, cost + math.log(factor), sqnorm)
        bias_eta, eta = calm * eta, lift * eta
        if s != 0.0:
            pace = (tame(rule, eta, bend(loss), sqnorm) if auto_eta else eta) * back * s
            move(data, indices, first, last, state, rule, penalty, ledger, kept, s, pace)
            if intercept:
                move_bias(bias, rule, bias_ledger, origin, s, bias_eta)
        ledger = tick(rule, penalty, eta, ledger, lifts)
        if intercept:
            bias_ledger = tick(rule, FREE, bias_eta, bias_ledger, lifts)
        if overdue(rule, ledger):
            ledger = reopen(rule, penalty, state, ledger)
    costs[0, 0], costs[1, 0] = total, product
    return plain(ledger), plain(bias_ledger), stats


@compiled
def learn_many(rows, span, cells, loss, penalty, rule, step, clocks, part):
    """Walk rows once for the outputs `part` = (first, of how many) on, as many as `cells` hold:
    classes against the rest, labels or regression targets.

    `targets` has one column that holds the class number, or a column an output. Cell j * many + c
    is output c of feature j. The rest is as in `learn_one`.
    """
    data, indices, indptr, targets, weights = rows
    start, stop, key = span
    state, bias, costs = cells
    ledger, bias_ledger, stats = Ledger(*clocks[0]), Ledger(*clocks[1]), clocks[2]
    intercept, auto_eta, auto_alpha = clocks[3]
    low, outputs = part
    n, many = np.uint64(targets.shape[0]), np.uint64(bias.shape[1])
    scratch, wanted = np.zeros((3, many)), np.zeros(outputs)
    scores, slopes, paces = scratch[0], scratch[1], scratch[2]
    longest = min(np.uint64(ROOM), np.uint64(data.shape[0]))
    kept = np.empty(longest * many if settles_slowly(rule) else np.uint64(0))
    ahead = place(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, place(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        sqnorm = 0.0
        for c in range(outputs):
            if targets.shape[1] == 1:
                wanted[c] = 1.0 if targets[i, 0] == c else -1.0
            else:
                wanted[c] = targets[i, c]
        for c in range(many):
            scores[c] = 0.0
        keeps = settles_slowly(rule) and (last - first) * many <= np.uint64(kept.shape[0])
        for k in range(first, last):
            x = np.float64(data[k])
            cell, place_kept = np.uint64(indices[k]) * many, (k - first) * many
            fetch_cells(indices, k + AHEAD, state, many)
            if keeps:
                for c in range(many):
                    held = settle(rule, state, penalty, cell + c, ledger)
                    kept[place_kept + c] = held
                    scores[c] += held * x
            else:
                for c in range(many):
                    scores[c] += settle(rule, state, penalty, cell + c, ledger) * x
            sqnorm += x * x
        ledger, bias_ledger = opened(ledger), opened(bias_ledger)
        t, share, back = ledger.steps, 1.0 / ledger.steps, 1.0 / ledger.scale
        stats = observe(stats, share, sqnorm, weight)
        lifts, lift, calm = (1.0, 1.0), 1.0, 1.0
        if auto_eta or auto_alpha:
            start_slope = 0.0
            for c in range(outputs):
                start_slope += abs(null(loss, wanted[c]))
            stats = observe_null(stats, share, start_slope / outputs)
        if auto_alpha:
            lifts = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            lift = unit(rule, stats[0], stats[1]) if stats[0] > 0.0 else 1.0
            calm = CALM * unit(rule, 1.0, stats[1])
        eta = 0.0
        for c in range(many):
            score = scores[c] * ledger.scale
            if intercept:
                score += bias_ledger.scale * settle(rule, bias, FREE, c, bias_ledger)
            s, cost, factor = pull(loss, score, wanted[low + c])
            s *= weight
            costs[0, c], costs[1, c] = charged(costs[0, c], costs[1, c], cost, factor, weight)
            eta = size(step, t, cost + math.log(factor), sqnorm)
            slopes[c] = s
            rate = tame(rule, lift * eta, bend(loss), sqnorm) if auto_eta else lift * eta
            paces[c] = rate * back * s
            if intercept and s != 0.0:
                move_bias(bias, rule, bias_ledger, c, s, calm * eta)
        for k in range(first, last):
            x = np.float64(data[k])
            cell, place_kept = np.uint64(indices[k]) * many, (k - first) * many
            if keeps:
                for c in range(many):
                    held = kept[place_kept + c]
                    absorb(rule, state, penalty, cell + c, held, slopes[c], x, paces[c], ledger)
            else:
                for c in range(many):
                    held = settle(rule, state, penalty, cell + c, ledger)
                    absorb(rule, state, penalty, cell + c, held, slopes[c], x, paces[c], ledger)
        ledger = tick(rule, penalty, lift * eta, ledger, lifts)
        if intercept:
            bias_ledger = tick(rule, FREE, calm * eta, bias_ledger, lifts)
        if overdue(rule, ledger):
            ledger = reopen(rule, penalty, state, ledger)
    return plain(ledger), plain(bias_ledger), stats
