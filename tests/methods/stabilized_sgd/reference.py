"""Stabilized truncated descent in plain Python, from the notes: dictionaries, sorted lists, no
packing, no compaction.
"""

import math

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    """The finaliser of SplitMix64."""
    x %= WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def permutation(n, seed, path, turn):
    """Order of a path's pass: four rounds of a Feistel network over the next power of four, values
    beyond n walked on.
    """
    key = mix(mix(seed + path * GOLDEN) + turn * GOLDEN) | 1
    bits = 1
    while (n - 1) >> (2 * bits):
        bits += 1
    mask = (1 << bits) - 1

    def image(position):
        while True:
            left, right = position >> bits, position & mask
            for r in range(4):
                left, right = right, left ^ (mix(right + (key + r) * GOLDEN) & mask)
            position = (left << bits) | right
            if position < n:
                return position

    return [image(i) for i in range(n)]


def poisson(seed, path, row):
    """Poisson(1) by inversion."""
    u = (mix(mix(seed + path * GOLDEN) ^ mix(row + GOLDEN)) >> 11) / 2**53
    k, chance, total = 0, math.exp(-1.0), math.exp(-1.0)
    while u >= total and k < 20:
        k += 1
        chance /= k
        total += chance
    return float(k)


def soft(w, a):
    """Soft threshold."""
    return math.copysign(max(0.0, abs(w) - a), w) if abs(w) > a else 0.0


class Reference:
    """One output. `visits[m]` is the list of (row, weight) of path m, in the order of its walk."""

    def __init__(
        self,
        rows,
        targets,
        slope,
        *,
        burst,
        bursts,
        rejection,
        annealing,
        purge,
        burn,
        eta,
        min_votes,
        alpha,
        gravity,
        intercept,
    ):
        self.rows, self.targets, self.slope = rows, targets, slope
        self.first, self.bursts, self.rejection, self.annealing, self.purge = (
            burst,
            bursts,
            rejection,
            annealing,
            purge,
        )
        self.burn, self.eta, self.min_votes, self.alpha, self.fixed, self.intercept = (
            burn,
            eta,
            min_votes,
            alpha,
            gravity,
            intercept,
        )

    def run(self, visits, seen=None):
        """Walk; `seen` is the set of features known from the start (a fit), or None (a stream)."""
        paths, stream = len(visits), seen is None
        self.omega, self.ever = set(seen or ()), set(seen or ())
        self.gone = set()
        self.w = [{} for _ in range(paths)]
        self.b = [0.0] * paths
        self.carried, self.g, self.stage, self.history = {}, 0.0, 0, []
        if self.fixed is not None and self.burn == 0:
            self.g = self.fixed
        at, total, burst = 0, len(visits[0]), self.first
        while at < total:
            stop = min(total, at + burst * self.bursts)
            met, kept, pool, self.open = {}, {}, [], [{} for _ in range(paths)]
            for m in range(paths):
                for begin in range(at, stop, burst):
                    end = min(begin + burst, at + burst * self.bursts)
                    whole = end <= total
                    self.one_burst(m, visits[m][begin : min(end, stop)], whole, met, kept, pool)
            if stream:
                for row, _ in visits[0][at:stop]:
                    new = set(self.rows[row]) - self.gone - self.ever
                    self.omega |= new
                    self.ever |= new
            if stop - at == burst * self.bursts:
                self.end_of_stage(met, kept, pool)
                burst = self.next_burst()
            at = stop
        return self

    def one_burst(self, m, visits, whole, met, kept, pool):
        w, start, k = self.w[m], {}, {}
        for row, weight in visits:
            if weight == 0.0:
                continue
            x = {j: v for j, v in self.rows[row].items() if j not in self.gone}
            score = self.b[m]
            for j in sorted(x):
                start.setdefault(j, w.get(j, 0.0))
                k[j] = k.get(j, 0) + 1
                score += w.get(j, 0.0) * x[j]
            s = self.slope(score, self.targets[row]) * weight
            for j in x:
                w[j] = w.get(j, 0.0) - self.eta * s * x[j]
            if self.intercept:
                self.b[m] -= self.eta * s
        if not whole:
            self.open[m] = k
            return
        for j in k:
            pool.append((j, abs(w[j] - start[j]) / k[j]))
            w[j] = soft(w[j], self.g * k[j])
            met[j] = met.get(j, 0) + 1
            kept[j] = kept.get(j, 0) + (w[j] != 0.0)

    def end_of_stage(self, met, kept, pool):
        self.stage += 1
        if self.stage > self.burn:
            for j in met:
                c, b = self.carried.get(j, (0, 0))
                c, b = c + met[j], b + kept[j]
                if c >= max(self.min_votes, 1):
                    self.carried[j] = (0, 0)
                    if b < self.purge * c:
                        self.omega.discard(j)
                        self.gone.add(j)
                        for w in self.w:
                            w[j] = 0.0
                else:
                    self.carried[j] = (c, b)
        self.history.append((self.stage, len(self.omega), self.g))
        u = 1.0 - len(self.omega) / max(len(self.ever), 1)
        self.g = 0.0
        if self.stage >= self.burn:
            values = sorted(v for j, v in pool if j not in self.gone)
            rank = math.ceil(self.phi(u) * len(values))
            self.g = (values[rank - 1] if rank else 0.0) if self.fixed is None else self.fixed

    def phi(self, u):
        a = self.annealing
        if a >= 0:
            return self.rejection * (math.exp(-a * u) - u * math.exp(-a))
        return self.rejection * math.log(1 - a * (1 - u)) / math.log(1 - a)

    def next_burst(self):
        if not self.alpha:
            return self.first
        share = self.alpha * len(self.omega) / max(len(self.ever), 1)
        return (
            int(min(max(1, math.ceil(self.first * math.log(1 / share))), 20 * self.first))
            if share
            else 20 * self.first
        )

    def weights(self, m, p):
        """Path m's weights, an open burst truncated."""
        return [soft(self.w[m].get(j, 0.0), self.g * self.open[m].get(j, 0)) for j in range(p)]
