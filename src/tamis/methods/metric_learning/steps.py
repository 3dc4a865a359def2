"""One step of sDist: its weight by an exact line search, the test of a step on rows outside the
bag, and the complexity of a metric.
"""

import numpy as np
import scipy.sparse as sp

PRECISION = 1e-6
MOST = 200  # steps of the line search; Newton's take a handful, halvings twenty
CAP = 1.0  # of the step's weight, in units of 1 / mean |margin|


def line_search(mass: np.ndarray, gains: np.ndarray) -> tuple[float, str]:
    """The w >= 0 of least sum of mass exp(-w gain), at most CAP / mean |gain|, and what happened:
    accepted, capped or rejected.
    """
    top = float(np.abs(gains).mean()) if len(gains) else 0.0
    if not (mass @ gains > 0.0) or not top > 0.0:
        return 0.0, "rejected"
    low, high = 0.0, CAP / top
    if _slopes(mass, gains, high)[0] >= 0.0:
        return high, "capped"
    w = 0.5 * high
    for _ in range(MOST):
        if not high - low > PRECISION * high:
            break
        slope, curvature = _slopes(mass, gains, w)
        low, high = (w, high) if slope > 0.0 else (low, w)
        newton = w + slope / curvature if curvature > 0.0 else low
        w, last = (newton if low < newton < high else 0.5 * (low + high)), w
        if abs(w - last) <= PRECISION * w:
            break
    return w, "accepted"


def _slopes(mass, gains, w):
    """Slope and curvature at w, up to one positive factor that keeps the exponentials finite."""
    exponents = -w * gains
    part = mass * gains * np.exp(exponents - exponents.max())
    return float(part.sum()), float(part @ gains)


def masses(weights: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Shares of the rows in the exponential loss."""
    found = weights * np.exp(margins.min() - margins)
    return found / found.sum()


def mean_loss(weights: np.ndarray, margins: np.ndarray) -> float:
    """Mean of exp(-margin); infinite rather than an overflow."""
    with np.errstate(over="ignore"):
        return float(np.average(np.exp(-margins), weights=weights))


def surplus(gains: np.ndarray) -> float:
    """The mean of weighted gains in units of its standard error."""
    spread = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    if spread > 0.0:
        return float(gains.mean() / spread)
    return float(np.sign(gains.sum()) * np.inf) if gains.any() else 0.0


def complexity_of(loadings: sp.csc_array) -> float:
    """Trace of the root of W = BB': the sum of the singular values of B, by its smaller Gram
    matrix.
    """
    tall = loadings.shape[0] > loadings.shape[1]
    used = loadings[np.unique(loadings.indices)] if tall else loadings
    gram = used @ used.T if used.shape[0] < used.shape[1] else used.T @ used
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram.toarray()), 0.0)).sum())


def components_of(loadings: np.ndarray, most: int | None = None) -> np.ndarray:
    """Components L' (rank, terms) of W = BB', the largest first, each with its largest entry
    positive.
    """
    left, sizes, _ = np.linalg.svd(loadings, full_matrices=False)
    rank = int((sizes > 1e-8 * sizes[0]).sum())
    rank = rank if most is None else min(rank, most)
    found = (left[:, :rank] * sizes[:rank]).T
    top = found[np.arange(rank), np.abs(found).argmax(axis=1)]
    return found * np.sign(top)[:, None]
