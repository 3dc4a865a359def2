"""Runs of stability selection: paths of an estimator on complementary halves of the rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from tamis.base.splits import complementary_halves
from tamis.selection.supports import selected_features

# For each selected feature its step on the path; the features; the number of unconverged fits.
Run = tuple[np.ndarray, np.ndarray, int]
STRENGTH_PARAMETERS = ("alpha", "C", "gravity")  # in this order, the first that the estimator has
PATH_END_RATIO = 0.01  # last strength of an automatic path over its first
# Absolute gradient of a loss at score 0 and label 1; 1 for all other losses.
_GRADIENTS_AT_ZERO = {"logistic": 0.5, "log_loss": 0.5, "squared_hinge": 2.0}


def clone_with_seed(estimator: BaseEstimator, seed: Any) -> Any:
    """Return an unfitted copy with all random states, also nested ones, set from the seed."""
    model, rng = clone(estimator), np.random.default_rng(seed)
    for name in sorted(model.get_params(deep=True)):
        if name == "random_state" or name.endswith("__random_state"):
            model.set_params(**{name: int(rng.integers(2**31 - 1))})
    return model


def strongest_penalty(
    estimator: BaseEstimator, name: str, X: np.ndarray | sp.csr_array, y: np.ndarray
) -> float:
    """Return about the weakest penalty that selects nothing, as a value of the parameter."""
    if is_classifier(estimator) and y.ndim == 1:
        targets = (y[:, None] == np.unique(y)[None, :]).astype(float)
        gradient = _GRADIENTS_AT_ZERO.get(str(_parameter(estimator, "loss", "logistic")), 1.0)
        residuals = gradient * (2.0 * targets - 1.0)
        # liblinear and libsvm penalize the intercept, so targets are not centred
        if _parameter(estimator, "fit_intercept", True) and not name.endswith("C"):
            residuals = 2.0 * gradient * (targets - targets.mean(axis=0))
    else:
        targets = np.asarray(y, dtype=float).reshape(len(y), -1)
        residuals = targets - targets.mean(axis=0)
    alpha = float(np.abs(safe_sparse_dot(X.T, residuals, dense_output=True)).max()) / len(y)
    alpha = alpha if alpha > 0.0 else 1.0
    return 1.0 / (len(y) * alpha) if name.endswith("C") else alpha


def _parameter(estimator, name: str, default):
    """Return a parameter of the estimator, or of the last step of a pipeline."""
    return getattr(estimator[-1] if hasattr(estimator, "steps") else estimator, name, default)


def find_strength_parameter(estimator: BaseEstimator) -> str | None:
    """Return the name of the parameter of the penalty strength, also in a pipeline, or None."""
    params = estimator.get_params(deep=True)
    prefix = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
    return next((prefix + name for name in STRENGTH_PARAMETERS if prefix + name in params), None)


def select_on_halves(
    estimator: BaseEstimator,
    X: np.ndarray | sp.csr_array,
    y: np.ndarray,
    strata: np.ndarray | None,
    name: str | None,
    path: np.ndarray,
    is_automatic: bool,
    max_selected: int | None,
    seed: tuple[int, ...],
) -> list[Run]:
    """Run the path on both halves of one random split and return the two runs."""
    halves = complementary_halves(X.shape[0], strata, np.random.SeedSequence(seed))
    return [
        _select_along_path(
            estimator, X[rows], y[rows], name, path, is_automatic, max_selected, (*seed, k)
        )
        for k, rows in enumerate(halves, 1)
    ]


def _select_along_path(estimator, X, y, name, path, is_automatic, max_selected, seed) -> Run:
    """Fit along the path, strongest penalty first, until `max_selected` features are selected."""
    values = path
    # Computed from this half alone, since the bound requires independent runs.
    if name is not None and is_automatic:
        first_value = strongest_penalty(estimator, name, X, y)
        values = first_value / path if name.endswith("C") else first_value * path
    features = np.zeros(0, np.int64)
    steps = np.zeros(0, np.int64)
    n_unfinished = 0
    for step, value in enumerate(values):
        model = clone_with_seed(estimator, np.random.SeedSequence((*seed, step)))
        if name is not None:
            model.set_params(**{name: float(value)})
        model.fit(X, y)
        n_unfinished += _reached_max_iter(model)
        new_features = _new_features(model, features, max_selected)
        features, steps = (
            np.concatenate((features, new_features)),
            np.concatenate((steps, np.full(len(new_features), step))),
        )
        if max_selected is not None and len(features) >= max_selected:
            break
    return steps, features, n_unfinished


def _new_features(model, entered, max_selected):
    """Return the features not selected before; if too many, those with the largest weights."""
    selected, weights = selected_features(model)
    is_new = ~np.isin(selected, entered)
    selected = selected[is_new]
    capacity = len(selected) if max_selected is None else max_selected - len(entered)
    if len(selected) <= capacity:
        return selected
    if weights is None:  # without weights there is no ranking
        return selected[:0]
    return selected[np.argsort(-weights[is_new], kind="stable")[:capacity]]


def _reached_max_iter(model) -> bool:
    """Return whether a fit with a tolerance used all its iterations."""
    model = model[-1] if hasattr(model, "steps") else model
    max_iter, n_iter = getattr(model, "max_iter", None), getattr(model, "n_iter_", None)
    if max_iter is None or n_iter is None or getattr(model, "tol", None) is None or max_iter < 2:
        return False
    return bool(np.max(n_iter) >= max_iter)


def selection_frequencies(runs: list[Run], n_steps: int, n_features: int) -> sp.csr_array:
    """Return the fraction of the runs that select each feature up to each step of the path."""
    steps = np.concatenate([run[0] for run in runs])
    features = np.concatenate([run[1] for run in runs])
    counts = sp.coo_array(
        (np.ones(len(features)), (steps, features)), shape=(n_steps, n_features)
    ).tocsr()
    cumulative = [counts[[0]]]
    for step in range(1, n_steps):
        cumulative.append(cumulative[-1] + counts[[step]])
    return sp.csr_array(sp.vstack(cumulative, format="csr") / len(runs))
