"""How good a selection is, where the truth is known."""

import numpy as np

from benchmarks.papers.guarantees.designs import Data


def judged(selected, data: Data) -> dict[str, float]:
    """False share and power, exact and in the softer sense (near a true feature counts)."""
    selected = np.asarray(selected, dtype=int)
    size = max(len(selected), 1)
    true = np.isin(selected, data.truth)
    near = data.near[:, selected]
    return {
        "size": len(selected),
        "false": float((~true).sum()) / size,
        "power": float(true.sum()) / len(data.truth),
        "soft_false": float((~near.any(axis=0)).sum()) / size,
        "soft_power": float(near.any(axis=1).mean()),
    }


def kappa(one, two, p: int) -> float:
    """Agreement of two selections beyond chance; two that are empty agree."""
    first, second = set(map(int, one)), set(map(int, two))
    if not first and not second:
        return 1.0
    a, b = len(first) / p, len(second) / p
    same = 1.0 - len(first ^ second) / p
    chance = a * b + (1.0 - a) * (1.0 - b)
    return (same - chance) / (1.0 - chance) if chance < 1.0 else 1.0


def mean_error(values) -> tuple[float, float]:
    """Mean and its standard error."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)
