"""The contestants: each takes rows and gives fitted models by pick, with the CPU seconds of each.

Whatever is tuned is tuned inside the rows given, on five folds, and gives two picks: least error,
and one standard error (the sparsest setting within it).
"""

import multiprocessing
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV

from benchmarks.papers.stabilized.methods import MODERN
from tamis import FTRLClassifier, FTRLRegressor, SieveClassifier, SieveRegressor

SIEVE, FIXED, FIRST, L1, FTRL, ABESS = (
    "sieve",
    "sieve, fixed size",
    "first edition",
    "L1",
    "FTRL",
    "abess",
)
LEAST, SPARSE, OWN = "least error", "one standard error", "own"
FOLDS, STRENGTHS = 5, 10
# Wide enough that the best is rarely at a border, as rows left out of training say.
ALPHAS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
PATIENCE = 120  # CPU seconds that abess has for a fit


class LeftOut(Exception):
    """A contestant that does not run here, and why."""


def sieve(X, y, classes: bool, seed: int, size: int | None = None) -> dict:
    """The sieve with its defaults, or asked for a size."""
    model = (SieveClassifier if classes else SieveRegressor)(
        n_features_to_select="auto" if size is None else size, random_state=seed
    )
    begin = time.process_time()
    return {OWN: (model.fit(X, y), time.process_time() - begin)}


def _two(searched: float, least, sparse) -> dict:
    """Two picks of one search: the second may be the first, or is fitted by a call."""
    begin = time.process_time()
    other = sparse()
    return {
        LEAST: (least, searched),
        SPARSE: (other, searched + time.process_time() - begin),
    }


def _within(scores) -> np.ndarray:
    """Which settings are within one standard error of the best; a row of scores a fold."""
    mean = scores.mean(axis=0)
    best = mean.argmax()
    return mean >= mean[best] - scores[:, best].std(ddof=1) / np.sqrt(len(scores))


def l1(X, y, classes: bool, seed: int) -> dict:
    """Cross-validated L1: liblinear for classes, the lasso for numbers."""
    begin = time.process_time()
    if not classes:
        search = LassoCV(cv=FOLDS, max_iter=2000).fit(X, y)
        near = _within(-search.mse_path_.T)
        done = time.process_time() - begin
        alpha = search.alphas_[near].max()
        return _two(done, search, lambda: Lasso(alpha=alpha, max_iter=2000).fit(X, y))
    kind = {"l1_ratios": [1.0], "use_legacy_attributes": False} if MODERN else {"penalty": "l1"}
    search = LogisticRegressionCV(
        solver="liblinear", Cs=STRENGTHS, cv=FOLDS, scoring="accuracy", random_state=seed, **kind
    ).fit(X, y)
    stored = search.scores_
    scores = np.asarray(next(iter(stored.values())) if isinstance(stored, dict) else stored)
    cost = np.sort(search.Cs_)[_within(scores.reshape(FOLDS, -1))].min()
    single = {"l1_ratio": 1.0} if MODERN else {"penalty": "l1"}
    model = LogisticRegression(solver="liblinear", C=cost, random_state=seed, **single)
    return _two(time.process_time() - begin, search, lambda: model.fit(X, y))


def _kept(model, X, y) -> int:
    """Features of a fitted model, as a score."""
    return int(np.count_nonzero(model.coef_))


def ftrl(X, y, classes: bool, seed: int) -> dict:
    """FTRL over strengths and steps; strengths are in units of y."""
    model = (FTRLClassifier if classes else FTRLRegressor)(max_iter=10, tol=None)
    unit = 1.0 if classes else float(np.std(y))
    grid = {"alpha": [unit * alpha for alpha in ALPHAS], "eta": ["auto", 0.2]}
    begin = time.process_time()
    search = GridSearchCV(
        model.set_params(random_state=seed, verbose=0),
        grid,
        scoring={"score": "accuracy" if classes else "r2", "kept": _kept},
        cv=FOLDS,
        refit="score",
    ).fit(X, y)
    found = search.cv_results_
    scores = np.array([found[f"split{fold}_test_score"] for fold in range(FOLDS)])
    sizes = np.where(_within(scores), found["mean_test_kept"], np.inf)
    params = found["params"][sizes.argmin()]
    done = time.process_time() - begin
    sparse = model.set_params(**params)
    return _two(done, search.best_estimator_, lambda: sparse.fit(X, y))


def abess(X, y, classes: bool, seed: int) -> dict:
    """Best subsets by splicing, size by its generalised information criterion; in a process of its
    own, which can be ended.
    """
    context = multiprocessing.get_context("spawn")
    answer, sender = context.Pipe(duplex=False)
    child = context.Process(target=_splice, args=(sender, X, y, classes), daemon=True)
    child.start()
    sender.close()  # the child's copy is the last, so that its end is seen here
    try:
        coef, intercept, seconds = answer.recv()
    except EOFError:
        raise LeftOut(f"a fit ended, or took more than {PATIENCE} s") from None
    finally:
        child.join()
    return {OWN: (_Linear(coef, intercept, classes), seconds)}


def _splice(sender, X, y, classes: bool) -> None:
    """In the child: fit, and send the weights. The limit is of CPU time: machines are shared."""
    import resource

    import abess as library

    limit = int(time.process_time()) + PATIENCE
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    model = (library.LogisticRegression if classes else library.LinearRegression)(ic_type="gic")
    begin = time.process_time()
    model.fit(sp.csr_matrix(X) if sp.issparse(X) else X, y)
    seconds = time.process_time() - begin
    sender.send((np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), seconds))


class _Linear(SimpleNamespace):
    """Weights that predict."""

    def __init__(self, coef, intercept, classes):
        super().__init__(coef_=coef, intercept_=intercept, classes=classes)

    def predict(self, X):
        """Classes 0 and 1, or numbers."""
        scores = X @ self.coef_ + self.intercept_
        return (scores > 0).astype(np.int64) if self.classes else scores


def absent() -> dict[str, str]:
    """Contestants that cannot run here, and why."""
    return {} if find_spec("abess") else {ABESS: "the package is not installed"}


METHODS = {SIEVE: sieve, L1: l1, FTRL: ftrl, ABESS: abess}
