"""One walk of the sieve over the next rows of a stream: all groups and both settings, every
constant a running one.
"""

import math

import numpy as np

from tamis.base.jit import compiled, helper
from tamis.base.verbs import slope
from tamis.methods.sieve.loop import ONE, shrunk

TINY = 1e-300  # a square may underflow, and 0 / 0 is no step
# Places in the running totals: rows, weight, columns seen, sum of squared norms in standard units;
# then, an output each, weight of the positives, mean target, sum of absolute deviations from it.
ROWS, WEIGHT, SEEN, SQUARES, OUTPUTS = 0, 1, 2, 3, 4


@helper
def standard_row(data, indices, first, last, weight, counts, squares, totals, z):
    """Fill a row's values in the units of the columns so far (its own where a column is new), and
    count it; its squared norm.
    """
    norm = 1.0
    for k in range(first, last):
        j, x = indices[k], float(data[k])
        known = counts[j] > 0.0
        value = x / math.sqrt(squares[j] / counts[j]) if known else (1.0 if x > 0.0 else -1.0)
        if not known:
            totals[SEEN] += 1.0
        counts[j] += weight
        squares[j] += weight * x * x
        z[k - first] = value
        norm += value * value
    return norm


@helper
def standard_target(y, weight, classes, c, many, totals):
    """The target in the units of those before it, and the step's divisor for rare classes; counts
    it.
    """
    if classes:
        totals[OUTPUTS + c] += weight * (y > 0.0)
        share = totals[OUTPUTS + c] / totals[WEIGHT]
        rarity = 4.0 * share * (1.0 - share)
        return y, rarity if rarity > 0.0 else 1.0
    mean, apart = totals[OUTPUTS + many + c], totals[OUTPUTS + 2 * many + c]
    before = totals[WEIGHT] - weight
    unit = apart / before if apart > 0.0 else 1.0
    center = mean if before > 0.0 else y
    totals[OUTPUTS + many + c] += (y - mean) * weight / totals[WEIGHT]
    totals[OUTPUTS + 2 * many + c] += weight * abs(y - center)
    return (y - center) / unit, 1.0


@helper
def step_row(
    indices,
    first,
    last,
    z,
    weight,
    scores,
    wanted,
    rates,
    tolls,
    loss,
    pull,
    intercept,
    state,
    bias,
    t,
):
    """One step of one model on one row."""
    many = np.uint64(scores.shape[0])
    for c in range(many):
        scores[c] = bias[ONE + c]
    reach = weight / math.sqrt(bias[0] + weight) if intercept else 0.0
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        for c in range(many):
            scores[c] += state[j, ONE + c] * x
        reach += weight * x * x / math.sqrt(state[j, 0] + weight * x * x + TINY)
    for c in range(many):
        scores[c] = weight * slope(loss, scores[c], wanted[c]) / (1.0 + pull * rates[c] * reach)
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        state[j, 0] += weight * x * x
        h = 1.0 / math.sqrt(state[j, 0] + TINY)
        for c in range(many):
            old = state[j, ONE + c]
            new = shrunk(
                old - rates[c] * h * scores[c] * x, rates[c] * h * tolls[c] * weight * abs(x)
            )
            state[j, ONE + c] = new
            state[j, ONE + many + c] += t * (new - old)
    if intercept:
        bias[0] += weight
        for c in range(many):
            move = -rates[c] / math.sqrt(bias[0]) * scores[c]
            bias[ONE + c] += move
            bias[ONE + many + c] += t * move


@compiled
def stream_rows(
    data,
    indices,
    indptr,
    targets,
    weights,
    folds,
    counts,
    squares,
    totals,
    steps,
    states,
    biases,
    bases,
    loss,
    pull,
    intercept,
    classes,
):
    """Walk rows once in their order.

    `states` is (settings, groups, columns, numbers); `steps` counts the rows of each group; `bases`
    has a row (step, strength, whether they follow the class shares) a setting. A row of weight 0 is
    skipped.
    """
    settings, groups, many = states.shape[0], states.shape[1], (biases.shape[2] - 1) // 2
    longest = np.uint64(1)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        longest = max(longest, indptr[i + ONE] - indptr[i])
    z, scores, wanted, rarity = np.empty(longest), np.empty(many), np.empty(many), np.empty(many)
    rates, tolls = np.empty(many), np.empty(many)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        totals[ROWS] += 1.0
        totals[WEIGHT] += weight
        totals[SQUARES] += standard_row(
            data, indices, first, last, weight, counts, squares, totals, z
        )
        for c in range(many):
            y = (
                targets[i, c]
                if targets.shape[1] > 1 or many == 1
                else (1.0 if targets[i, 0] == c else -1.0)
            )
            wanted[c], rarity[c] = standard_target(y, weight, classes, c, many, totals)
        size = 1.0 / math.sqrt(totals[SQUARES] / totals[ROWS])
        fewness = math.sqrt(min(1.0, totals[SEEN] / totals[ROWS]))
        heavy = weight * totals[ROWS] / totals[WEIGHT]
        for s in range(settings):
            for c in range(many):
                rates[c] = size * bases[s, 0] / (rarity[c] if bases[s, 2] else 1.0)
                tolls[c] = fewness * bases[s, 1] * (rarity[c] if bases[s, 2] else 1.0)
            for g in range(groups):
                if g != folds[i]:
                    step_row(
                        indices,
                        first,
                        last,
                        z,
                        heavy,
                        scores,
                        wanted,
                        rates,
                        tolls,
                        loss,
                        pull,
                        intercept,
                        states[s, g],
                        biases[s, g],
                        steps[g],
                    )
        for g in range(groups):
            if g != folds[i]:
                steps[g] += 1.0
