"""The contestants: models, grids for tuning inside the training rows, and the paper's figures."""

from typing import NamedTuple

import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    OnlineClassifier,
    RDAClassifier,
    SieveClassifier,
    StabilitySelector,
    StabilizedSGDClassifier,
    TruncatedGradientClassifier,
)

LOSSES = ("hinge", "logistic")
PASSES = 10
# `penalty` became `l1_ratio`
MODERN = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)


class Method(NamedTuple):
    """A model and its grid; `heavy` ones are left out on large sets."""

    model: object
    grid: dict | None = None
    heavy: bool = False


def methods(loss: str, large: bool = False) -> dict[str, Method]:
    """All methods for a loss; on large sets with every second value of each list."""
    passes = {"max_iter": PASSES, "tol": None}
    alphas = [3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
    descent = {"penalty": None, "loss": loss, "learning_rate": "inverse_sqrt", **passes}
    found = {
        "SGD": Method(
            OnlineClassifier(**descent), {"eta": [0.5, 1.0, 4.0, 16.0], "max_iter": [5, 20]}
        ),
        "truncated gradient": Method(
            TruncatedGradientClassifier(loss=loss, learning_rate="constant", **passes),
            {"gravity": [3e-5, 1e-4, 3e-4, 1e-3, 3e-3], "eta": [0.1, 0.5, 2.0]},
        ),
        "FOBOS": Method(FOBOSClassifier(loss=loss, **passes), {"alpha": alphas, "eta": [1.0, 4.0]}),
        "RDA": Method(RDAClassifier(loss=loss, **passes), {"alpha": alphas, "eta": ["auto", 5.0]}),
        "FTRL": Method(
            FTRLClassifier(loss=loss, **passes), {"alpha": alphas, "eta": ["auto", 0.2]}
        ),
        "batch L1": Method(_batch(loss), {"C": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}),
        "stability selection": Method(
            make_pipeline(_selector(loss), LogisticRegression(C=10.0, solver="liblinear")),
            heavy=True,
        ),
    }
    found |= _newest(loss, large)
    return {name: _thinned(method) if large else method for name, method in found.items()}


def _thinned(method: Method) -> Method:
    """Every second value of the longer lists."""
    return (
        method
        if method.grid is None
        else method._replace(grid={k: v[:: 2 if len(v) > 2 else 1] for k, v in method.grid.items()})
    )


def _batch(loss: str):
    """The L1 model of liblinear; it has no plain hinge with L1, so hinge is squared there."""
    if loss == "hinge":
        return LinearSVC(penalty="l1", dual=False, tol=1e-3, max_iter=300)
    kind = {"l1_ratio": 1.0} if MODERN else {"penalty": "l1"}
    return LogisticRegression(solver="liblinear", tol=1e-3, max_iter=300, **kind)


def _selector(loss: str):
    """Stability selection by liblinear: 10 complementary pairs, at most two false selections
    expected.
    """
    return StabilitySelector(
        _batch(loss),
        threshold=0.6,
        max_false=2.0,
        assumption="r-concave",
        n_pairs=10,
        param_values=6,
        verbose=False,
    )


def _newest(loss: str, large: bool) -> dict[str, Method]:
    """The stabilized method and the sieve."""
    walk = StabilizedSGDClassifier(loss=loss, max_iter=4 if large else PASSES, tol=None)
    plain, etas = clone(walk).set_params(rejection=0.0, purge=0.0), {"eta": [0.5, 2.0, 8.0]}
    return {
        "averaged SGD": Method(plain, etas),
        "stabilized SGD": Method(walk, {**etas, "rejection": [0.7, 0.95], "purge": [0.5, 0.8]}),
        "sieve": Method(SieveClassifier(loss=loss)),
    }


# Error %, nonzero %, kappa of the paper's tables 2, 3 and 4 (dashes: not given), over 50 orders.
PAPER = {
    ("dexter", "hinge"): {
        "SGD": (7.77, 29.46, None),
        "truncated gradient": (8.37, 14.74, 0.46),
        "RDA": (11.42, 1.61, None),
        "FOBOS": (10.91, 37.69, None),
        "stabilized SGD": (6.58, 1.98, 0.61),
    },
    ("dexter", "logistic"): {
        "SGD": (7.91, 38.76, None),
        "truncated gradient": (10.25, 13.91, 0.23),
        "RDA": (9.41, 4.84, None),
        "FOBOS": (10.45, 30.21, None),
        "stabilized SGD": (6.41, 1.32, 0.58),
    },
    ("dorothea", "hinge"): {
        "SGD": (6.11, 39.84, None),
        "truncated gradient": (6.83, 18.62, 0.19),
        "RDA": (6.83, 0.55, None),
        "FOBOS": (8.51, 14.89, None),
        "stabilized SGD": (5.14, 6.68, 0.52),
    },
    ("dorothea", "logistic"): {
        "SGD": (6.26, 68.63, None),
        "truncated gradient": (7.29, 19.31, 0.19),
        "RDA": (6.87, 0.43, None),
        "FOBOS": (7.15, 20.4, None),
        "stabilized SGD": (5.47, 1.67, 0.33),
    },
    ("gisette", "hinge"): {
        "SGD": (2.71, 90.88, None),
        "truncated gradient": (6.32, 63.8, 0.48),
        "RDA": (2.40, 17.45, None),
        "FOBOS": (5.50, 61.81, None),
        "stabilized SGD": (3.05, 3.84, 0.60),
    },
    ("gisette", "logistic"): {
        "SGD": (2.52, 93.96, None),
        "truncated gradient": (6.35, 66.31, 0.54),
        "RDA": (2.21, 14.99, None),
        "FOBOS": (5.98, 58.83, None),
        "stabilized SGD": (2.11, 3.22, 0.54),
    },
    ("arcene", "hinge"): {
        "SGD": (19.26, 98.22, None),
        "truncated gradient": (22.06, 61.08, 0.26),
        "RDA": (22.10, 12.15, None),
        "FOBOS": (18.72, 54.5, None),
        "stabilized SGD": (17.60, 3.67, 0.55),
    },
    ("arcene", "logistic"): {
        "SGD": (17.38, 98.36, None),
        "truncated gradient": (19.48, 88.34, 0.35),
        "RDA": (21.62, 12.71, None),
        "FOBOS": (18.44, 45.96, None),
        "stabilized SGD": (13.38, 5.35, 0.69),
    },
    ("rcv1", "hinge"): {
        "SGD": (2.86, 63.68, None),
        "truncated gradient": (6.59, 6.95, 0.38),
        "RDA": (4.62, 11.38, None),
        "FOBOS": (8.44, 5.01, None),
        "stabilized SGD": (3.01, 0.86, 0.44),
    },
    ("rcv1", "logistic"): {
        "SGD": (3.68, 82.31, None),
        "truncated gradient": (18.55, 2.75, 0.29),
        "RDA": (5.69, 6.98, None),
        "FOBOS": (14.18, 2.89, None),
        "stabilized SGD": (3.19, 1.44, 0.60),
    },
}
