"""Donor splice sites by the slides' own measure: maximal correlation against the share of nonzero
weights.
"""

import itertools
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.papers.structured.cells import Cells
from benchmarks.papers.structured.slides import SHARES
from tamis import GroupLassoClassifier, OnlineGroupLassoClassifier

SPLITS, PASSES = 10, 10
GAMMAS = (1.0, 5.0, 20.0)
PATH = np.geomspace(1.0, 1e-4, 25)
BATCH_PATH = np.geomspace(1.0, 1e-2, 13)
# The online name, and that of the batch model of the same penalty.
METHODS = {"L1-RDA": "Lasso", "DA-GL": "GL", "DA-SGL": "SGL"}


def sites(folder: Path):
    """All words of up to three of the seven positions as columns of 0 and 1: 2604 columns in 63
    groups.
    """
    with np.load(folder / "splice_grplasso.npz") as stored:
        letters, y = stored["X"].astype(int), stored["y"].astype(int)
    parts, labels = [], []
    for size in (1, 2, 3):
        for positions in itertools.combinations(range(letters.shape[1]), size):
            codes = letters[:, positions] @ 4 ** np.arange(size)[::-1]
            labels += [len(parts)] * 4**size
            parts.append(np.eye(4**size)[codes])
    return np.hstack(parts), y, np.array(labels)


def correlations(scores, y) -> tuple[np.ndarray, np.ndarray]:
    """Correlation of "score at least t" with the class, for every t that parts the rows."""
    levels = np.unique(scores)[1:]
    if not len(levels):
        return np.zeros(1), np.zeros(1)
    told = scores[None, :] >= levels[:, None]
    share, rate = told.mean(axis=1), y.mean()
    return levels, ((told * y).mean(axis=1) - share * rate) / np.sqrt(
        share * (1.0 - share) * rate * (1.0 - rate)
    )


def at_level(scores, y, level: float) -> float:
    """Correlation at one threshold; 0 where it does not part the rows."""
    told = scores >= level
    return float(np.corrcoef(told, y)[0, 1]) if 0 < told.sum() < len(told) else 0.0


def penalty_of(name: str, labels) -> dict:
    """Weights of the penalty; L1 inside a group weighs the root of its size, as in the slides."""
    if name in ("L1-RDA", "Lasso"):
        return {"l1_ratio": 1.0}
    return {"l1_weights": np.sqrt(np.bincount(labels))} if "SGL" in name else {}


def walked(name: str, X, y, labels, top: float, gamma: float) -> list:
    """Online models along the path."""
    given = {
        "feature_groups": labels,
        "eta": 1.0 / gamma,
        "max_iter": PASSES,
        "tol": None,
        "random_state": 0,
        **penalty_of(name, labels),
    }
    return [
        OnlineGroupLassoClassifier(alpha=fraction * top, **given).fit(X, y) for fraction in PATH
    ]


def solved(name: str, X, y, labels) -> list:
    """Batch models along the path."""
    given = {"feature_groups": labels, **penalty_of(name, labels)}
    top = strongest(name, X, y, labels)
    return [
        GroupLassoClassifier(alpha=fraction * top, **given).fit(X, y) for fraction in BATCH_PATH
    ]


def strongest(name: str, X, y, labels) -> float:
    """The smallest strength that keeps nothing."""
    return (
        GroupLassoClassifier(feature_groups=labels, alpha=1e9, **penalty_of(name, labels))
        .fit(X, y)
        .alpha_max_
    )


def share_of(model) -> float:
    """Share of nonzero weights in %."""
    return 100.0 * len(model.support_) / model.n_features_in_


def one_split(folder: Path, name: str, k: int) -> dict:
    """Online: for every wanted share the gamma of best held-out correlation.

    Batch: the strength of best held-out correlation.
    """
    X, y, labels = sites(folder)
    train, test = next(StratifiedShuffleSplit(1, test_size=100, random_state=k).split(X, y))
    inside, out = next(
        StratifiedShuffleSplit(1, test_size=75, random_state=k).split(X[train], y[train])
    )
    inside, out = train[inside], train[out]
    if name in METHODS.values():
        return {"batch": _batch(name, X, y, labels, (inside, out, train, test))}
    tops = (
        strongest(name, X[inside], y[inside], labels),
        strongest(name, X[train], y[train], labels),
    )
    tried = {gamma: walked(name, X[inside], y[inside], labels, tops[0], gamma) for gamma in GAMMAS}
    final = {gamma: walked(name, X[train], y[train], labels, tops[1], gamma) for gamma in GAMMAS}
    found = {}
    for share in SHARES:
        scores = {
            gamma: nearest(models, share).decision_function(X[out])
            for gamma, models in tried.items()
        }
        gamma = max(GAMMAS, key=lambda gamma: correlations(scores[gamma], y[out])[1].max())
        found[str(share)] = {
            **_judged(nearest(final[gamma], share), X[test], y[test], scores[gamma], y[out]),
            "gamma": gamma,
        }
    return found


def _batch(name: str, X, y, labels, parts) -> dict:
    inside, out, train, test = parts
    scores = [
        model.decision_function(X[out]) for model in solved(name, X[inside], y[inside], labels)
    ]
    best = int(np.argmax([correlations(s, y[out])[1].max() for s in scores]))
    return {
        **_judged(
            solved(name, X[train], y[train], labels)[best], X[test], y[test], scores[best], y[out]
        ),
        "fraction": float(BATCH_PATH[best]),
    }


def nearest(models: list, share: float):
    """The model whose share of nonzeros is nearest to the wanted one."""
    return min(models, key=lambda model: abs(share_of(model) - share))


def _judged(model, X, y, held_scores, held_y) -> dict:
    """Maximal correlation as the slides define it, and the correlation at a threshold chosen on
    held-out training rows.
    """
    scores = model.decision_function(X)
    levels, values = correlations(held_scores, held_y)
    level = float(levels[np.argmax(values)])
    return {
        "maximal": float(correlations(scores, y)[1].max()),
        "chosen": at_level(scores, y, level),
        "share": share_of(model),
    }


def run(cells: Cells, folder: Path | None, quick: bool) -> None:
    """Ten random splits, 300 rows for training."""
    if folder is None or not (folder / "splice_grplasso.npz").exists():
        return
    for name in (*METHODS, *METHODS.values()):
        for k in range(1 if quick else SPLITS):
            cells.need(f"splice/{name}/{k}", one_split, folder, name, k)
