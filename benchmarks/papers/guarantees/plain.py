"""The method by hand, in plain NumPy and scikit-learn: slow, dense, and written to be read beside
the description, so that `FDRSelector` can be held against it.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import Lasso, lasso_path


class Discoveries(NamedTuple):
    """What the method gives."""

    pvalues: np.ndarray
    qvalues: np.ndarray
    scores: np.ndarray
    head: np.ndarray  # of each column, -1 where it is in no group
    candidates: np.ndarray
    controls: dict[int, np.ndarray]  # columns beside the constant and the common factors


def discover(X, y, classes: bool, substitutes=0.5, n_candidates=60, n_controls=10, factors=True):
    """All steps, for numbers or for two classes coded 0 and 1."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    n, p = X.shape
    spread = X.std(axis=0)
    live = np.flatnonzero(spread > 1e-12)
    Z = (X[:, live] - X[:, live].mean(axis=0)) / spread[live]
    u = np.sqrt(2.0 * np.log(p) / n)
    weights, at = classes_path(Z, y, u) if classes else numbers_path(Z, y, u)
    support, candidates = screened(weights, at, n_candidates, n // 4)
    common = components(Z) if factors else np.empty((n, 0))
    R = Z.T @ Z[:, candidates] / n
    pvalues, scores, controls = np.ones(p), np.zeros(p), {}
    for place, j in enumerate(candidates):
        r = np.abs(R[:, place])
        group = np.flatnonzero(r > substitutes) if substitutes is not None else []
        chosen = controls_of(j, r, support, group, min(n_controls, n // 10), u)
        C = np.column_stack([np.ones(n), Z[:, chosen], common])
        scores[live[j]], pvalues[live[j]] = test(Z[:, j], y, C, classes)
        controls[int(live[j])] = live[chosen]
    if substitutes is None:
        qvalues, head = benjamini_hochberg(pvalues), np.full(p, -1)
    else:
        likeness = np.zeros((p, len(candidates)))
        likeness[live] = np.abs(R)
        qvalues, head = group_qvalues(pvalues, live[candidates], likeness, substitutes)
    return Discoveries(pvalues, qvalues, scores, head, live[candidates], controls)


# --------------------------------------------------------------------------- the screen
def numbers_path(Z, y, u: float):
    """Weights along the lasso path, and the penalty that the noise sets."""
    n, target = len(y), y - y.mean()
    most = np.abs(Z.T @ target).max() / n
    grid = np.geomspace(1.02 * most, 0.08 * most, 40)
    weights = lasso_path(Z, target, alphas=grid, precompute=False, tol=1e-5)[1]
    sigma, at = target.std(), 0
    for _ in range(6):
        below = np.flatnonzero(grid <= 0.8 * sigma * u)
        at = below[0] if len(below) else len(grid) - 1
        kept = np.flatnonzero(weights[:, at])[: n - 2]
        fit = np.linalg.lstsq(Z[:, kept], target, rcond=None)[0]
        last, rest = sigma, target - Z[:, kept] @ fit
        sigma = np.sqrt(rest @ rest / (n - len(kept) - 1))
        if abs(sigma - last) <= 1e-3 * last:
            break
    return weights, at


def classes_path(Z, y, u: float):
    """Weights along the L1-logistic path with an intercept, by proximal Newton steps."""
    n, p = Z.shape
    share = y.mean()
    most = np.abs(Z.T @ (y - share)).max()
    last = 0.4 * u * n
    if most <= last:
        return np.zeros((p, 1)), 0
    grid = np.geomspace(most, 0.5 * last, 25)
    w, b, weights = np.zeros(p), np.log(share / (1.0 - share)), np.zeros((p, len(grid)))
    for place, penalty in enumerate(grid):
        for _ in range(20):
            score = Z @ w + b
            mu = expit(score)
            curve = np.maximum(mu * (1.0 - mu), 1e-5)
            working = score + (y - mu) / curve
            step = Lasso(alpha=penalty / curve.sum(), warm_start=True, tol=1e-5, max_iter=5000)
            step.coef_ = w.copy()
            step.fit(Z, working, sample_weight=curve)
            move = np.abs(step.coef_ - w).max() + abs(step.intercept_ - b)
            w, b = step.coef_.copy(), step.intercept_
            if move < 1e-4:
                break
        weights[:, place] = w
    below = np.flatnonzero(grid <= last * (1 + 1e-9))
    return weights, below[0]


def screened(weights, at: int, n_candidates: int, most: int):
    """The support at the chosen penalty (at most so many, by weight), and the candidates."""
    sizes = np.abs(weights)
    entry = np.where(sizes.any(axis=1), (sizes > 0).argmax(axis=1), sizes.shape[1])
    first = sizes[np.arange(len(entry)), np.minimum(entry, sizes.shape[1] - 1)]
    order = np.lexsort((-first, entry))
    order = order[entry[order] < sizes.shape[1]][:n_candidates]
    support = np.flatnonzero(sizes[:, at])
    candidates = np.union1d(order, support)
    support = support[np.argsort(-sizes[support, at], kind="stable")][:most]
    return support, candidates


def components(Z) -> np.ndarray:
    """The leading principal components that noise alone would not give, at most eight."""
    n, p = Z.shape
    values, vectors = np.linalg.eigh(Z @ Z.T)
    values, vectors = values[::-1][:8], vectors[:, ::-1][:, :8]
    return vectors[:, np.sqrt(np.maximum(values, 0)) > 1.1 * (np.sqrt(n) + np.sqrt(p))]


# --------------------------------------------------------------------------- the test
def controls_of(j, r, support, group, count: int, u: float) -> np.ndarray:
    """Columns to hold fixed: the support and the strongest correlates, without j's group."""
    outside = np.ones(len(r), dtype=bool)
    outside[group] = outside[j] = False
    order = np.argsort(-np.where(outside, r, -1.0), kind="stable")[:count]
    strong = [k for k in order if outside[k] and r[k] > u]
    return np.union1d([k for k in support if outside[k]], strong).astype(int)


def test(x, y, C, classes: bool) -> tuple[float, float]:
    """The self-normalised product of two residuals, and its p-value; C holds the constant."""
    n, c = C.shape
    if classes:
        mu = logistic_fit(C, y)
        root = np.sqrt(np.maximum(mu * (1.0 - mu), 1e-5))
        e = x - C @ np.linalg.lstsq(root[:, None] * C, root * x, rcond=None)[0]
        r = y - mu
    else:
        e = x - C @ np.linalg.lstsq(C, x, rcond=None)[0]
        r = y - C @ np.linalg.lstsq(C, y, rcond=None)[0]
    if e @ e < 1e-6 * (x @ x):
        return 0.0, 1.0
    z = np.sqrt((n - c) / n) * (e @ r) / np.sqrt((e**2) @ (r**2))
    return z, 2.0 * norm.sf(abs(z))


def logistic_fit(C, y) -> np.ndarray:
    """Probabilities of an unpenalised logistic fit by Newton steps."""
    n, w = len(y), np.zeros(C.shape[1])
    for _ in range(15):
        mu = expit(C @ w)
        H = C.T @ ((mu * (1.0 - mu))[:, None] * C) + 1e-8 * n * np.eye(C.shape[1])
        step = np.linalg.solve(H, C.T @ (y - mu))
        largest = np.abs(step).max()
        w += step * min(1.0, 3.0 / largest) if largest > 0 else 0.0
        if largest < 1e-4:
            break
    return expit(C @ w)


# --------------------------------------------------------------------------- q-values
def benjamini_hochberg(pvalues) -> np.ndarray:
    """p-values times their number over their rank, monotone from the end."""
    p, order = len(pvalues), np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * p / np.arange(1, p + 1)
    q = np.empty(p)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def group_qvalues(pvalues, candidates, likeness, substitutes: float):
    """q-values of the heads of groups (1 of all others), and the head of each column."""
    p = len(pvalues)
    heads: list[int] = []
    q, head = np.ones(p), np.full(p, -1)
    for place in np.argsort(pvalues[candidates], kind="stable"):
        j = candidates[place]
        if head[j] >= 0:
            continue
        heads.append(j)
        members = np.flatnonzero(likeness[:, place] > substitutes)
        members = members[head[members] < 0]
        head[members] = head[j] = j
    scaled = p * pvalues[heads] / np.arange(1, len(heads) + 1)
    q[heads] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q, head
