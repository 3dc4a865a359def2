"""Rivals that no installable package offers under today's scikit-learn, all through X'MX over
edges: LMNN, PGDM, SMLsm, SMLlp.
"""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.neighbors import NearestNeighbors

K = 3


def targets_of(X, y, k=K):
    """The k nearest rows of the own class."""
    found = np.empty((len(y), k), dtype=int)
    for c in np.unique(y):
        mine = np.flatnonzero(y == c)
        near = (
            NearestNeighbors(n_neighbors=min(k + 1, len(mine)))
            .fit(X[mine])
            .kneighbors(return_distance=False, n_neighbors=min(k, len(mine) - 1))
        )
        found[mine] = mine[np.resize(near, (len(mine), k)) if near.shape[1] < k else near]
    return found


def impostors_of(Z, y, count):
    """The nearest rows of other classes."""
    found = np.empty((len(y), count), dtype=int)
    for c in np.unique(y):
        mine, rest = np.flatnonzero(y == c), np.flatnonzero(y != c)
        near = (
            NearestNeighbors(n_neighbors=min(count, len(rest)))
            .fit(Z[rest])
            .kneighbors(Z[mine], return_distance=False)
        )
        found[mine] = rest[np.resize(near, (len(mine), count)) if near.shape[1] < count else near]
    return found


def squared(Z, rows, near):
    """Squared distances of each row to its listed rows."""
    return ((Z[rows][:, None] - Z[near]) ** 2).sum(axis=2)


def form(X, C):
    """X'MX with M = diag(C1) + diag(C'1) - C - C'."""
    M = (
        sp.diags_array(np.asarray(C.sum(axis=1)).ravel() + np.asarray(C.sum(axis=0)).ravel())
        - C
        - C.T
    )
    return X.T @ (M @ X)


class Mapped:
    """A rival whose metric is a linear map L (columns, rank)."""

    def transform(self, X):
        return X @ self.map_


class LMNN(Mapped):
    """Large-margin nearest neighbours in factor form: pull and push with equal weight, L-BFGS,
    impostors found anew in each round.
    """

    def __init__(self, rounds=8, iterations=15, impostors=20, mu=0.5):
        self.rounds, self.iterations, self.impostors, self.mu = rounds, iterations, impostors, mu

    def fit(self, X, y):
        rows, width = np.arange(len(y)), X.shape[1]
        near = targets_of(X, y)
        L = np.eye(width) / np.sqrt(squared(X, rows, near).mean())
        for _ in range(self.rounds):
            far = impostors_of(X @ L, y, self.impostors)
            L = minimize(
                self._loss,
                L.ravel(),
                (X, near, far),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.iterations},
            ).x.reshape(width, -1)
        self.map_ = L
        return self

    def _loss(self, flat, X, near, far):
        n, L = len(X), flat.reshape(X.shape[1], -1)
        Z, rows = X @ L, np.arange(n)
        pull, push = squared(Z, rows, near), squared(Z, rows, far)
        over = np.maximum(1.0 + pull[:, :, None] - push[:, None, :], 0.0)
        active = over > 0.0
        towards = (1 - self.mu) + self.mu * active.sum(axis=2)
        away = -self.mu * active.sum(axis=1)
        C = sp.csr_array(
            (
                np.r_[towards.ravel(), away.ravel()],
                (
                    np.r_[np.repeat(rows, near.shape[1]), np.repeat(rows, far.shape[1])],
                    np.r_[near.ravel(), far.ravel()],
                ),
            ),
            shape=(n, n),
        )
        M = (
            sp.diags_array(np.asarray(C.sum(axis=1)).ravel() + np.asarray(C.sum(axis=0)).ravel())
            - C
            - C.T
        )
        gradient = 2.0 * X.T @ (M @ Z)
        return ((1 - self.mu) * pull.sum() + self.mu * over.sum()) / n, gradient.ravel() / n


class PGDM(Mapped):
    """Xing's problem: the largest mean distance of unlike pairs with like pairs within 1, by
    projected gradient over {V >= 0, tr V = 1}.
    """

    def __init__(self, pairs=20_000, iterations=100, ridge=1e-3):
        self.pairs, self.iterations, self.ridge = pairs, iterations, ridge

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        within = sum(
            (X[y == c] - X[y == c].mean(axis=0)).T
            @ (X[y == c] - X[y == c].mean(axis=0))
            * 2
            * np.sum(y == c)
            for c in np.unique(y)
        )
        within /= sum(np.sum(y == c) ** 2 for c in np.unique(y))
        values, vectors = np.linalg.eigh(
            within + self.ridge * np.trace(within) / len(within) * np.eye(len(within))
        )
        R = (vectors / np.sqrt(values)) @ vectors.T
        i, j = rng.integers(0, len(y), (2, 3 * self.pairs))
        unlike = np.flatnonzero(y[i] != y[j])[: self.pairs]
        i, j, Z = i[unlike], j[unlike], X @ R
        V, step = np.eye(len(R)) / len(R), 1.0
        lengths = self._lengths(Z, V, i, j)
        for _ in range(self.iterations):
            load = 0.5 / (lengths * len(i))
            gradient = form(Z, sp.csr_array((load, (i, j)), shape=(len(y), len(y))))
            while step > 1e-8:
                trial = _trace_one(V + step * gradient)
                longer = self._lengths(Z, trial, i, j)
                if longer.mean() > lengths.mean():
                    break
                step *= 0.5
            if step <= 1e-8 or longer.mean() - lengths.mean() < 1e-6 * lengths.mean():
                break
            V, lengths, step = trial, longer, 2 * step
        values, vectors = np.linalg.eigh(R @ V @ R)
        self.map_ = vectors * np.sqrt(np.maximum(values, 0.0))
        return self

    @staticmethod
    def _lengths(Z, V, i, j):
        """Distances of pairs, by the products of all rows."""
        products = Z @ V @ Z.T
        square = products.diagonal()
        return np.sqrt(np.maximum(square[i] + square[j] - 2.0 * products[i, j], 1e-12))


def _trace_one(V):
    """The nearest matrix that is positive semidefinite and of trace 1."""
    values, vectors = np.linalg.eigh(0.5 * (V + V.T))
    ordered = np.sort(values)[::-1]
    total = (np.cumsum(ordered) - 1.0) / np.arange(1, len(ordered) + 1)
    level = total[np.flatnonzero(ordered > total)[-1]]
    return (vectors * np.maximum(values - level, 0.0)) @ vectors.T


class SMLsm(Mapped):
    """Sparse metric learning with the (2,1) norm, which over rotations is the trace: smoothed hinge
    of triplets + mu tr(W), FISTA.
    """

    def __init__(self, mu=0.01, width=0.5, iterations=60, impostors=3):
        self.mu, self.width, self.iterations, self.impostors = mu, width, iterations, impostors

    def fit(self, X, y):
        rows, near, far = np.arange(len(y)), targets_of(X, y), impostors_of(X, y, self.impostors)
        i, j, l = (
            part.ravel()
            for part in np.broadcast_arrays(rows[:, None, None], near[:, :, None], far[:, None, :])
        )
        W = point = np.zeros((X.shape[1], X.shape[1]))
        momentum, step = 1.0, 1.0
        for _ in range(self.iterations):
            value, gradient = self._smooth(point, X, i, j, l)
            while True:
                values, vectors = np.linalg.eigh(point - step * gradient)
                new = (vectors * np.maximum(values - step * self.mu, 0.0)) @ vectors.T
                apart = new - point
                if (
                    self._smooth(new, X, i, j, l, slope=False)
                    <= value + np.sum(gradient * apart) + np.sum(apart**2) / (2 * step) + 1e-12
                ):
                    break
                step *= 0.5
            later = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
            point, W, momentum = new + (momentum - 1) / later * (new - W), new, later
        values, vectors = np.linalg.eigh(W)
        self.map_ = vectors * np.sqrt(np.maximum(values, 0.0))
        return self

    def _smooth(self, W, X, i, j, l, slope=True):
        Z = X @ W
        inner = lambda a, b: np.einsum("ij,ij->i", Z[a] - Z[b], X[a] - X[b])  # noqa: E731
        short = 1.0 + inner(i, j) - inner(i, l)
        value = np.where(
            short <= 0,
            0.0,
            np.where(short < self.width, short**2 / (2 * self.width), short - self.width / 2),
        ).mean()
        if not slope:
            return value
        load = np.clip(short / self.width, 0.0, 1.0) / len(i)
        C = sp.csr_array((np.r_[load, -load], (np.r_[i, i], np.r_[j, l])), shape=(len(X), len(X)))
        return value, form(X, C)


class SMLlp(Mapped):
    """Sparse metric learning by a linear program: diagonal W >= 0, triplets of one neighbour with
    margin 1.
    """

    def __init__(self, mu=0.01):
        self.mu = mu

    def fit(self, X, y):
        near, far = targets_of(X, y, 1)[:, 0], impostors_of(X, y, 1)[:, 0]
        gain = (X - X[far]) ** 2 - (X - X[near]) ** 2
        n, width = gain.shape
        A = sp.hstack([sp.csr_array(-gain), -sp.eye_array(n)])
        solved = linprog(
            np.r_[np.full(width, self.mu), np.full(n, 1.0 / n)],
            A_ub=A,
            b_ub=-np.ones(n),
            method="highs",
        )
        self.map_ = np.diag(np.sqrt(np.maximum(solved.x[:width], 0.0)))
        return self
