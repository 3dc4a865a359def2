"""What is compared: `FDRSelector` for single features and for groups, what one would use otherwise
in tamis, and marginal tests. A method takes rows, targets, whether they are classes, and a seed,
and returns the features that it selects.
"""

import hashlib
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student
from sklearn.linear_model import Lasso, LogisticRegression

import tamis
from benchmarks.clock import ROOT
from benchmarks.papers.guarantees.plain import benjamini_hochberg
from tamis import FDRSelector, StabilitySelector

Q = 0.1
EXACT, GROUPS = "FDRSelector, single features", "FDRSelector, groups"
PAIRS = "FDRSelector, pairs of feature and class"
STABILITY, MARGINAL = "StabilitySelector, E(V) <= 1", "marginal tests, BH"


def fdr(substitutes, pairs: bool = False, **options):
    """`FDRSelector` at its defaults; pairs of feature and target where there are several, of
    feature and class if asked for.
    """

    def select(X, y, classes: bool, seed: int):
        settings = {"targets": "classes" if classes else "numbers", "n_jobs": 1, **options}
        model = FDRSelector(q=Q, substitutes=substitutes, **settings).fit(X, y)
        if np.ndim(y) > 1 or pairs:
            return np.flatnonzero(model.qvalues_.ravel() <= Q)
        return model.support_

    return select


def stability(X, y, classes: bool, seed: int):
    """Stability selection with 25 pairs of halves, over the lasso or L1-logistic regression."""
    model = Lasso(max_iter=5000)
    if classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(penalty="l1", solver="liblinear", random_state=0)
    chosen = StabilitySelector(model, max_false=1.0, n_pairs=25, random_state=seed, verbose=False)
    return chosen.fit(X, y).support_


def marginal(X, y, classes: bool, seed: int):
    """The correlation of each column with the target, tested by itself; Benjamini-Hochberg."""
    X = X.toarray() if sp.issparse(X) else X
    n = len(y)
    Z, target = X - X.mean(axis=0), y - y.mean()
    spread = np.sqrt((Z**2).sum(axis=0))
    r = (target @ Z) / np.maximum(spread * np.sqrt(target @ target), 1e-12)
    z = np.abs(r) * np.sqrt((n - 2) / np.maximum(1.0 - r * r, 1e-12))
    return np.flatnonzero(benjamini_hochberg(2.0 * student.sf(z, n - 2)) <= Q)


OURS = {EXACT: fdr(None), GROUPS: fdr(0.5)}
OF_CLASSES = {PAIRS: fdr(None, pairs=True)}
PLAIN = {STABILITY: stability, MARGINAL: marginal}


def code() -> str:
    """A digest of what computes the selections: results of other code are made anew."""
    here = Path(__file__).parent
    home = Path(tamis.__file__).parent / "selection" / "false_discovery"
    beside = ("columns.py", "designs.py", "differences.py", "effects.py")
    parts = [*sorted(home.rglob("*.py")), *(here / name for name in beside)]
    words = b"".join(str(path.relative_to(ROOT)).encode() + path.read_bytes() for path in parts)
    return hashlib.sha1(words).hexdigest()[:12]
