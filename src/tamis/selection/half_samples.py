"""One run of stability selection: half of the rows, a path of penalties, the features kept."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from tamis.base.splits import complementary_halves
from tamis.selection.supports import kept_by

# Steps and features as they came in, and how many fits ran out of passes.
Run = tuple[np.ndarray, np.ndarray, int]
STRENGTH_PARAMETERS = ("alpha", "C", "gravity")  # parameters that set the strength of a penalty
PATH_END_RATIO = 0.01  # end of an automatic path, as a share of its beginning
_GRADIENTS_AT_ZERO = {
    "logistic": 0.5,
    "log_loss": 0.5,
    "squared_hinge": 2.0,
}  # of the loss at score 0 and label 1; 1 for all others


def seeded(estimator: BaseEstimator, seed: Any) -> Any:
    """An unfitted copy whose random states, nested ones too, all follow from the seed."""
    model, random = clone(estimator), np.random.default_rng(seed)
    for name in sorted(model.get_params(deep=True)):
        if name == "random_state" or name.endswith("__random_state"):
            model.set_params(**{name: int(random.integers(2**31 - 1))})
    return model


def strongest_penalty(
    estimator: BaseEstimator, name: str, X: np.ndarray | sp.csr_array, y: np.ndarray
) -> float:
    """About the weakest penalty that leaves nothing, in the units of the parameter."""
    if is_classifier(estimator) and y.ndim == 1:
        columns = (y[:, None] == np.unique(y)[None, :]).astype(float)
        slope = _GRADIENTS_AT_ZERO.get(str(_parameter(estimator, "loss", "logistic")), 1.0)
        residuals = slope * (2.0 * columns - 1.0)
        # liblinear and libsvm penalise their intercepts
        if _parameter(estimator, "fit_intercept", True) and not name.endswith("C"):
            residuals = 2.0 * slope * (columns - columns.mean(axis=0))
    else:
        columns = np.asarray(y, dtype=float).reshape(len(y), -1)
        residuals = columns - columns.mean(axis=0)
    alpha = float(np.abs(safe_sparse_dot(X.T, residuals, dense_output=True)).max()) / len(y)
    alpha = alpha if alpha > 0.0 else 1.0
    return 1.0 / (len(y) * alpha) if name.endswith("C") else alpha


def _parameter(estimator, name: str, default):
    """A parameter of the estimator, or of the last step of a pipeline."""
    return getattr(estimator[-1] if hasattr(estimator, "steps") else estimator, name, default)


def find_strength_parameter(estimator: BaseEstimator) -> str | None:
    """Name of the parameter that sets the penalty's strength, also in a pipeline's last step."""
    known = estimator.get_params(deep=True)
    prefix = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
    return next((prefix + name for name in STRENGTH_PARAMETERS if prefix + name in known), None)


def select_on_halves(
    estimator: BaseEstimator,
    X: np.ndarray | sp.csr_array,
    y: np.ndarray,
    strata: np.ndarray | None,
    name: str | None,
    path: np.ndarray,
    automatic: bool,
    most: int | None,
    seed: tuple[int, ...],
) -> list[Run]:
    """For both halves the (step, feature) where features came in, and how many fits ran out."""
    halves = complementary_halves(X.shape[0], strata, np.random.SeedSequence(seed))
    return [
        _select_along_path(estimator, X[rows], y[rows], name, path, automatic, most, (*seed, k))
        for k, rows in enumerate(halves, 1)
    ]


def _select_along_path(estimator, X, y, name, path, automatic, most, seed) -> Run:
    """Walk the path from the strongest penalty until `most` features have come in."""
    values = path
    # From this half alone: the bound wants runs that know nothing of each other.
    if name is not None and automatic:
        top = strongest_penalty(estimator, name, X, y)
        values = top / path if name.endswith("C") else top * path
    came = np.zeros(0, np.int64)
    steps = np.zeros(0, np.int64)
    unfinished = 0
    for step, value in enumerate(values):
        model = seeded(estimator, np.random.SeedSequence((*seed, step)))
        if name is not None:
            model.set_params(**{name: float(value)})
        model.fit(X, y)
        unfinished += _reached_max_iter(model)
        new = _new_features(model, came, most)
        came, steps = np.concatenate((came, new)), np.concatenate((steps, np.full(len(new), step)))
        if most is not None and len(came) >= most:
            break
    return steps, came, unfinished


def _new_features(model, known, most):
    """Features that no stronger penalty kept; of too many those with the largest weights."""
    kept, sizes = kept_by(model)
    fresh = ~np.isin(kept, known)
    kept = kept[fresh]
    room = len(kept) if most is None else most - len(known)
    if len(kept) <= room:
        return kept
    if sizes is None:  # nothing to rank them by
        return kept[:0]
    return kept[np.argsort(-sizes[fresh], kind="stable")[:room]]


def _reached_max_iter(model) -> bool:
    """Whether a fit that stops by a tolerance used all its passes."""
    model = model[-1] if hasattr(model, "steps") else model
    limit, used = getattr(model, "max_iter", None), getattr(model, "n_iter_", None)
    if limit is None or used is None or getattr(model, "tol", None) is None or limit < 2:
        return False
    return bool(np.max(used) >= limit)


def selection_frequencies(runs: list[Run], n_steps: int, n_features: int) -> sp.csr_array:
    """Share of the runs in which a feature had come in by each step."""
    steps = np.concatenate([run[0] for run in runs])
    came = np.concatenate([run[1] for run in runs])
    entered = sp.coo_array((np.ones(len(came)), (steps, came)), shape=(n_steps, n_features)).tocsr()
    rows = [entered[[0]]]
    for step in range(1, n_steps):
        rows.append(rows[-1] + entered[[step]])
    return sp.csr_array(sp.vstack(rows, format="csr") / len(runs))
