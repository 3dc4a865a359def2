"""A fitted model of every public class in every way that it can be fitted: what a model file must be able to hold."""

import functools
import inspect
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import tamis

N, P = 48, 6
# Small settings, so that a fit takes a moment; a class not named here has its defaults.
SMALL = {
    "GMKLClassifier": {"max_iter": 20},
    "GMKLRegressor": {"max_iter": 20},
    "GroupLassoClassifierCV": {"alphas": (0.3, 0.1), "cv": 2, "tol": 1e-3},
    "GroupLassoRegressorCV": {"alphas": 3, "cv": 2},
    "SDist": {"n_steps": 5, "rho": 0.5},
    "SDistClassifier": {"n_steps": 5, "rho": 0.5},
    "SieveClassifier": {"n_paths": 2, "n_folds": 2, "n_sample": 20},
    "SieveRegressor": {"n_paths": 2, "n_folds": 2, "n_sample": 20},
    "SparseFourierFeatures": {"n_iter": 300, "n_components": 8},
    "StabilitySelector": {"n_pairs": 2, "param_values": 3},
    "StabilizedSGDClassifier": {"n_paths": 3, "max_iter": 2},
    "StabilizedSGDClassifierCV": {"n_paths": 3, "max_iter": 2, "cv": 2, "eta_factors": (1.0,), "burn_ins": (1.0,)},
    "StabilizedSGDRegressor": {"n_paths": 3, "max_iter": 2},
    "StabilizedSGDRegressorCV": {"n_paths": 3, "max_iter": 2, "cv": 2, "eta_factors": (1.0,), "burn_ins": (1.0,)},
}
# Settings under which a class keeps other things, or keeps them in another form.
FURTHER: dict[str, list[dict]] = {}


def estimators() -> list[type]:
    """All public estimators."""
    found = (getattr(tamis, name) for name in sorted(tamis._HOMES))
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, BaseEstimator)]


def made(cls, **parameters):
    """A small model."""
    known = inspect.signature(cls).parameters
    usual = {"random_state": 0, "max_iter": 5, **SMALL.get(cls.__name__, {})}
    return cls(**{name: value for name, value in (usual | parameters).items() if name in known})


@functools.cache
def data() -> dict:
    """Rows, half zeros, and targets of every kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.7)
    score = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=N)
    three = np.digitize(score, np.quantile(score, [0.33, 0.66]))
    return {
        "X": X,
        "two": (score > 0).astype(int),
        "three": np.array(["low", "mid", "high"])[three],
        "numbers": score,
        "many": np.column_stack([score, X[:, 2] + 0.1 * rng.normal(size=N)]),
        "task": np.arange(N) % 3,
        "weights": rng.integers(1, 4, N) / 2.0,
    }


def named(X):
    """The rows as a table with names."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


# --------------------------------------------------------------------------- ways to fit
def _fit(model, X, y, **given):
    d = data()
    if "task" in inspect.signature(model.fit).parameters and "task" not in given:
        given["task"] = d["task"]
    return model.fit(X, y, **given)


def _stream(model, X, y, chunks, **given):
    d, more = data(), {}
    for at, part in enumerate(chunks):
        if "classes" in inspect.signature(model.partial_fit).parameters and at == 0:
            more = {"classes": np.unique(y)}
        if "task" in inspect.signature(model.partial_fit).parameters:
            more["task"] = d["task"][part]
        model.partial_fit(X[part], y[part], **more)
        more = {}
    return model


def targets(model, several=False):
    """Targets that suit a model."""
    d = data()
    if is_classifier(model) or not (is_regressor(model) or several):
        return d["three" if several else "two"]
    return d["many" if several else "numbers"]


CHUNKS = [slice(0, 17), slice(17, 30)]  # in mid-stream: nothing divides these
WAYS = {
    "unfitted": lambda model: model,
    "one output": lambda model: _fit(model, data()["X"], targets(model)),
    "several outputs": lambda model: _fit(model, data()["X"], targets(model, True)),
    "sparse": lambda model: _fit(model, sp.csr_array(data()["X"]), targets(model)),
    "named": lambda model: _fit(model, named(data()["X"]), targets(model)),
    "weighted": lambda model: _fit(model, data()["X"], targets(model), sample_weight=data()["weights"]),
    "stream": lambda model: _stream(model, data()["X"], targets(model), CHUNKS),
    "stream of several": lambda model: _stream(model, sp.csr_array(data()["X"]), targets(model, True), CHUNKS),
}


def specimen(cls, way: str, **parameters):
    """A model of a class, fitted in a way; None where the class does not know it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return WAYS[way](made(cls, **parameters))
        except (ValueError, TypeError, AttributeError) as error:
            return error
