"""Probabilities from scores: a sigmoid fitted to scores of rows that were held out (Platt's
method).
"""

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

# Own, since scikit-learn's fit of a sigmoid to scores is private: its CalibratedClassifierCV takes
# whole estimators, and would learn weights of kernels and places of unlabelled rows in every fold.
FOLDS = 5


def held_out_scores(labels: np.ndarray, score: Callable, random_state) -> np.ndarray:
    """Scores of every row by a machine that has not seen it: `score` takes rows to learn from and
    rows to score, and returns scores of the latter.
    """
    rarest = int(np.unique(labels, return_counts=True)[1].min())
    folds = (StratifiedKFold if rarest >= 2 else KFold)(
        max(2, min(FOLDS, rarest)), shuffle=True, random_state=random_state
    )
    parts = [(test, score(train, test)) for train, test in folds.split(labels[:, None], labels)]
    order = np.concatenate([test for test, _ in parts])
    return np.concatenate([scores for _, scores in parts])[np.argsort(order)]


def fit_sigmoid(
    scores: np.ndarray, positive: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Slope and offset of the sigmoid that makes the smoothed labels most likely, by Newton's
    method with halved steps.
    """
    plus, minus = float(weights[positive].sum()), float(weights[~positive].sum())
    goals = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    unit = max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    design = np.column_stack([scores / unit, np.ones(len(scores))])
    line = np.array([0.0, np.log((plus + 1.0) / (minus + 1.0))])
    loss = _loss(design, goals, weights, line)
    for _ in range(100):
        likely = sigmoid(design @ line)
        slope = design.T @ (weights * (likely - goals))
        curvature = design.T @ (design * (weights * likely * (1.0 - likely))[:, None])
        move, size = _solved(curvature + 1e-12 * np.eye(2), slope), 1.0
        while size > 1e-10:
            after = _loss(design, goals, weights, line - size * move)
            if after <= loss - 1e-4 * size * float(slope @ move):
                break
            size *= 0.5
        else:
            break
        line, gained, loss = line - size * move, loss - after, after
        if gained <= 1e-12 * abs(loss):
            break
    return float(line[0] / unit), float(line[1])


def _solved(curvature, slope) -> np.ndarray:
    """Newton's step; the shortest where all scores are one, and weights so large that nothing tells
    slope from offset.
    """
    try:
        return np.linalg.solve(curvature, slope)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(curvature, slope)[0]


def _loss(design, goals, weights, line) -> float:
    """Weighted cross-entropy."""
    score = design @ line
    return float(weights @ (np.logaddexp(0.0, score) - goals * score))


def sigmoid(score: np.ndarray) -> np.ndarray:
    """Logistic function, safe for large scores."""
    return 0.5 * (1.0 + np.tanh(0.5 * score))
