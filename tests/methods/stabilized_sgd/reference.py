"""Stabilized truncated SGD in plain Python: dictionaries and sorted lists, without compaction."""

import math

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    """Return the finaliser of SplitMix64."""
    x %= WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def permutation(n, seed, path, rows_before):
    """Return the order of a path's pass: four rounds of a Feistel network over the next power of
    four, repeated while the value is at least n.
    """
    key = mix(mix(seed + path * GOLDEN) + rows_before * GOLDEN) | 1
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
    """Return a Poisson(1) number by inversion."""
    u = (mix(mix(seed + path * GOLDEN) ^ mix(row + GOLDEN)) >> 11) / 2**53
    k, probability, total = 0, math.exp(-1.0), math.exp(-1.0)
    while u >= total and k < 20:
        k += 1
        probability /= k
        total += probability
    return float(k)


def soft_threshold(w, a):
    """Return w moved towards 0 by at most a."""
    return math.copysign(max(0.0, abs(w) - a), w) if abs(w) > a else 0.0


class Reference:
    """The model of one output."""

    def __init__(
        self,
        rows,
        targets,
        gradient,
        *,
        burst,
        bursts_per_stage,
        rejection,
        annealing,
        purge,
        burn_in_stages,
        eta,
        min_votes,
        alpha,
        gravity,
        intercept,
    ):
        self.rows, self.targets, self.gradient = rows, targets, gradient
        self.first_burst, self.bursts_per_stage = burst, bursts_per_stage
        self.rejection, self.annealing, self.purge = rejection, annealing, purge
        self.burn_in_stages, self.eta, self.min_votes = burn_in_stages, eta, min_votes
        self.alpha, self.fixed_gravity, self.intercept = alpha, gravity, intercept

    def run(self, row_orders, known_features=None):
        """Learn from `row_orders`, the list of (row, weight) of each path.

        `known_features` are known from the start in a fit, and None in a stream.
        """
        paths, stream = len(row_orders), known_features is None
        self.present_features = set(known_features or ())
        self.seen_features = set(known_features or ())
        self.purged = set()
        self.w = [{} for _ in range(paths)]
        self.b = [0.0] * paths
        self.carried_votes, self.current_gravity, self.stage, self.history = {}, 0.0, 0, []
        if self.fixed_gravity is not None and self.burn_in_stages == 0:
            self.current_gravity = self.fixed_gravity
        start_row, total, burst = 0, len(row_orders[0]), self.first_burst
        while start_row < total:
            stop = min(total, start_row + burst * self.bursts_per_stage)
            n_bursts, n_survived, pool, self.burst_counts = {}, {}, [], [{} for _ in range(paths)]
            for m in range(paths):
                for begin in range(start_row, stop, burst):
                    end = min(begin + burst, start_row + burst * self.bursts_per_stage)
                    rows = row_orders[m][begin : min(end, stop)]
                    self.run_burst(m, rows, end <= total, n_bursts, n_survived, pool)
            if stream:
                for row, _ in row_orders[0][start_row:stop]:
                    new = set(self.rows[row]) - self.purged - self.seen_features
                    self.present_features |= new
                    self.seen_features |= new
            if stop - start_row == burst * self.bursts_per_stage:
                self.end_of_stage(n_bursts, n_survived, pool)
                burst = self.next_burst()
            start_row = stop
        return self

    def run_burst(self, m, rows, is_complete, n_bursts, n_survived, pool):
        w, start, k = self.w[m], {}, {}
        for row, weight in rows:
            if weight == 0.0:
                continue
            x = {j: v for j, v in self.rows[row].items() if j not in self.purged}
            score = self.b[m]
            for j in sorted(x):
                start.setdefault(j, w.get(j, 0.0))
                k[j] = k.get(j, 0) + 1
                score += w.get(j, 0.0) * x[j]
            s = self.gradient(score, self.targets[row]) * weight
            for j in x:
                w[j] = w.get(j, 0.0) - self.eta * s * x[j]
            if self.intercept:
                self.b[m] -= self.eta * s
        if not is_complete:
            self.burst_counts[m] = k
            return
        for j in k:
            pool.append((j, abs(w[j] - start[j]) / k[j]))
            w[j] = soft_threshold(w[j], self.current_gravity * k[j])
            n_bursts[j] = n_bursts.get(j, 0) + 1
            n_survived[j] = n_survived.get(j, 0) + (w[j] != 0.0)

    def end_of_stage(self, n_bursts, n_survived, pool):
        self.stage += 1
        if self.stage > self.burn_in_stages:
            for j in n_bursts:
                c, b = self.carried_votes.get(j, (0, 0))
                c, b = c + n_bursts[j], b + n_survived[j]
                if c >= max(self.min_votes, 1):
                    self.carried_votes[j] = (0, 0)
                    if b < self.purge * c:
                        self.present_features.discard(j)
                        self.purged.add(j)
                        for w in self.w:
                            w[j] = 0.0
                else:
                    self.carried_votes[j] = (c, b)
        self.history.append((self.stage, len(self.present_features), self.current_gravity))
        u = 1.0 - len(self.present_features) / max(len(self.seen_features), 1)
        self.current_gravity = 0.0
        if self.stage >= self.burn_in_stages:
            values = sorted(v for j, v in pool if j not in self.purged)
            rank = math.ceil(self.phi(u) * len(values))
            self.current_gravity = (
                (values[rank - 1] if rank else 0.0)
                if self.fixed_gravity is None
                else self.fixed_gravity
            )

    def phi(self, u):
        a = self.annealing
        if a >= 0:
            return self.rejection * (math.exp(-a * u) - u * math.exp(-a))
        return self.rejection * math.log(1 - a * (1 - u)) / math.log(1 - a)

    def next_burst(self):
        if not self.alpha:
            return self.first_burst
        fraction = self.alpha * len(self.present_features) / max(len(self.seen_features), 1)
        return (
            int(
                min(
                    max(1, math.ceil(self.first_burst * math.log(1 / fraction))),
                    20 * self.first_burst,
                )
            )
            if fraction
            else 20 * self.first_burst
        )

    def weights(self, m, p):
        """Return the weights of path m, with the present burst truncated."""
        return [
            soft_threshold(
                self.w[m].get(j, 0.0), self.current_gravity * self.burst_counts[m].get(j, 0)
            )
            for j in range(p)
        ]
