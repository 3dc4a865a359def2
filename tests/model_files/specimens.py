"""A fitted model of every public class in every way that it can be fitted: what a model file must
be able to hold.
"""

import functools
import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from plain import Interpreter
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import tamis
from tamis.numerics.numba import Loop
from tamis.terms import MCP, Huber

N, P = 48, 6
# Small settings, so that a fit takes a moment; a class not named here has its defaults.
SMALL = {
    "FDRStream": {"n_screen": 20},
    "GMKLClassifier": {"max_iter": 20},
    "GMKLRegressor": {"max_iter": 20},
    "GroupLassoClassifierCV": {"alphas": (0.3, 0.1), "cv": 2, "tol": 1e-3},
    "GroupLassoRegressorCV": {"alphas": 3, "cv": 2},
    "SDist": {"max_iter": 5, "rho": 0.5},
    "SDistClassifier": {"max_iter": 5, "rho": 0.5},
    "SieveClassifier": {"n_paths": 2, "n_folds": 2, "n_sample": 20},
    "SieveRegressor": {"n_paths": 2, "n_folds": 2, "n_sample": 20},
    "SparseFourierFeatures": {"max_iter": 300, "n_components": 8},
    "StabilitySelector": {"n_pairs": 2, "param_values": 3},
    "StabilizedSGDClassifier": {"n_paths": 3, "max_iter": 2},
    "StabilizedSGDClassifierCV": {
        "n_paths": 3,
        "max_iter": 2,
        "cv": 2,
        "eta_factors": (1.0,),
        "burn_ins": (1.0,),
    },
    "StabilizedSGDRegressor": {"n_paths": 3, "max_iter": 2},
    "StabilizedSGDRegressorCV": {
        "n_paths": 3,
        "max_iter": 2,
        "cv": 2,
        "eta_factors": (1.0,),
        "burn_ins": (1.0,),
    },
}
# Settings under which a class keeps other things, or keeps them in another form.
FURTHER: dict[str, list[dict]] = {
    "AROWClassifier": [{"covariance": "full"}, {"class_weight": "balanced"}],
    "BCWClassifier": [{"solver": "kernel"}, {"solver": "raw"}, {"fit_intercept": False}],
    "FDRStream": [{"n_screen": 40, "substitutes": None}],
    "FOBOSClassifier": [
        {"average": True},
        {"class_weight": "balanced", "grow": True},
        {"loss": Huber(0.5), "fit_intercept": False},
    ],
    "GMKLClassifier": [
        {"probability": True, "share_weights": False},
        {"kernels": [np.eye(N), np.ones((N, N))]},
    ],
    "GMKLRegressor": [{"max_rows": 20, "n_components": 10}],
    "GroupLassoClassifier": [
        {"warm_start": True, "feature_groups": [0, 0, 1, 1, 2, 2], "l1_ratio": 0.3},
        {"stop": "kkt"},
    ],
    "GroupLassoClassifierCV": [{"penalty": "mcp"}],
    "GroupLassoRegressor": [{"warm_start": True}, {"penalty": MCP(1.0, 4.0), "loss": Huber(0.5)}],
    "GroupLassoRegressorCV": [{"stop": "kkt"}],
    "LowRankClassifier": [{"dtype": "float32"}],
    "LowRankFactorization": [{"dtype": "float32"}],
    "LowRankLasso": [{"radius": np.inf}],
    "MultiTaskClassifier": [{"stop": "kkt"}],
    "MultiTaskRegressor": [{"penalty": "mcp"}],
    "OnlineClassifier": [
        {"optimizer": "adagrad"},
        {"learning_rate": "pa1", "penalty": None, "loss": "hinge"},
    ],
    "OnlineGroupLassoClassifier": [
        {"feature_groups": [[0, 1, 2], [2, 3], [4, 5]], "l1_ratio": 0.5}
    ],
    "OnlineMultiTaskRegressor": [{"penalty": "shared+sparse", "protocol": "stream"}],
    "RobustSVC": [{"uncertainty": "ellipsoid"}],
    "SDistClassifier": [{"max_order": 2, "rule": "margin"}],
    "SOFSClassifier": [{"n_features_to_select": 3}],
    "SieveClassifier": [{"per_class": True}],
    "SparseBCWClassifier": [
        {"refit": True, "n_features_to_select": 3},
        {"covariance": "identity", "fit_intercept": False},
    ],
    "StabilitySelector": [{"estimator": tamis.FOBOSClassifier(max_iter=3)}],
    "TriClassSVC": [
        {"kernel": "rbf", "probability": True},
        {"kernel": "poly", "multi_class": "ovr"},
        {"kernel": "precomputed"},
        {"multi_class": "ovr", "probability": True},
    ],
}


def estimators() -> list[type]:
    """All public estimators."""
    models = (getattr(tamis, name) for name in sorted(tamis._HOMES))
    return [cls for cls in models if isinstance(cls, type) and issubclass(cls, BaseEstimator)]


def make_model(cls, **parameters):
    """A small model."""
    known = inspect.signature(cls).parameters
    defaults = {"random_state": 0, "max_iter": 5, **SMALL.get(cls.__name__, {})}
    return cls(**{name: value for name, value in (defaults | parameters).items() if name in known})


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
        "labels": np.column_stack([score > 0, X[:, 2] > 0, X[:, 3] > 0.1]).astype(int),
        "task": np.arange(N) % 3,
        "weights": rng.integers(1, 4, N) / 2.0,
    }


def as_frame(X):
    """The rows as a table with names."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


# --------------------------------------------------------------------------- ways to fit
CHUNKS = [slice(0, 17), slice(17, 30)]  # in mid-stream: nothing divides these


def rows_for(model, X=None):
    """Rows that suit a model: numbers of rows, or rows by rows, for kernels of the user's."""
    X = data()["X"] if X is None else X
    if getattr(model, "kernel", None) == "precomputed":
        return data()["X"] @ data()["X"].T
    kernels = getattr(model, "kernels", None)
    return (
        np.arange(N)[:, None].astype(float)
        if isinstance(kernels, list) and kernels and isinstance(kernels[0], np.ndarray)
        else X
    )


def targets(model, several=False):
    """Targets that suit a model."""
    d = data()
    if is_classifier(model) or not (is_regressor(model) or several):
        return d["three" if several else "two"]
    return d["many" if several else "numbers"]


def task_arguments(method, rows=slice(None)) -> dict:
    """The task of each row, for models that ask for it."""
    return {"task": data()["task"][rows]} if "task" in inspect.signature(method).parameters else {}


def fit(model, y, X=None, **options):
    """Fit all rows."""
    return model.fit(rows_for(model, X), y, **task_arguments(model.fit), **options)


def stream(model, y, sparse=False, predict_between=False):
    """Walk two chunks, and look between them or not."""
    X = sp.csr_array(data()["X"]) if sparse else data()["X"]
    for number, rows in enumerate(CHUNKS):
        first_arguments = (
            {"classes": np.unique(y)}
            if number == 0
            and y.ndim == 1
            and "classes" in inspect.signature(model.partial_fit).parameters
            else {}
        )
        model.partial_fit(
            X[rows], y[rows], **first_arguments, **task_arguments(model.partial_fit, rows)
        )
        if predict_between:
            model.predict(X, **task_arguments(model.predict))
    return model


def walk(model, several=False):
    """Two paths over two partitions, for models with a mean of paths."""
    y = targets(model, several)
    blocks = [(data()["X"][rows], y[rows]) for rows in (slice(0, 30), slice(30, N))]
    return tamis.distributed.fit(model, blocks, paths=2)


WAYS = {
    "unfitted": lambda model: model,
    "one output": lambda model: fit(model, targets(model)),
    "several outputs": lambda model: fit(model, targets(model, True)),
    "labels": lambda model: fit(
        model, data()["labels"] if is_classifier(model) else targets(model)
    ),
    "sparse": lambda model: fit(model, targets(model), sp.csr_array(data()["X"])),
    "named": lambda model: fit(model, targets(model), as_frame(data()["X"])),
    "weighted": lambda model: fit(model, targets(model), sample_weight=data()["weights"]),
    "offset": lambda model: fit(model, targets(model), offset=np.zeros(N)),
    "sparsified": lambda model: fit(model, targets(model)).sparsify(),
    "stream": lambda model: stream(model, targets(model)),
    "stream of several": lambda model: stream(model, targets(model, True), sparse=True),
    "paths": walk,
    "paths of several": lambda model: walk(model, several=True),
    "stream, looked at": lambda model: stream(model, targets(model, True), predict_between=True),
}


@functools.cache
def specimen(cls, way: str, setting: int = 0):
    """A model of a class, fitted in a way, with its usual setting or a further one; the error where
    the class does not know the way. Loops of many combinations of terms run as Python.
    """
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch, np.errstate():
        warnings.simplefilter("ignore")
        if cls.__module__.startswith("tamis.methods.sparse_online."):
            patch.setattr(Loop, "__call__", Interpreter().method())
            np.seterr(over="ignore")  # the shuffle's products of uint64 wrap around
        try:
            return WAYS[way](make_model(cls, **([{}, *FURTHER.get(cls.__name__, [])][setting])))
        except (ValueError, TypeError, AttributeError) as error:
            return error


def specimens(cls, ways=tuple(WAYS), further=True) -> dict:
    """All models of a class by way and setting."""
    settings = range(1 + (len(FURTHER.get(cls.__name__, [])) if further else 0))
    models = {(way, setting): specimen(cls, way, setting) for setting in settings for way in ways}
    return {key: model for key, model in models.items() if not isinstance(model, Exception)}
