"""Tiny data, and exact comparison of fitted models."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from tamis.numerics.csr import Csr


def matrix(n=40, p=7, seed=0):
    """Dense rows that are half zeros and exact in float32: an empty row, an empty column, and
    columns of unlike frequency.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < np.linspace(0.2, 0.9, p))
    X[n // 3] = 0.0
    X[:, p // 2] = 0.0
    return X.astype(np.float32).astype(np.float64)


def signs(X, seed=0, noise=0.3):
    """Targets -1 and +1 that depend on a few columns."""
    rng = np.random.default_rng(seed + 1)
    truth = rng.normal(size=X.shape[1]) * (np.arange(X.shape[1]) % 2)
    return np.where(X @ truth + noise * rng.normal(size=len(X)) > 0, 1.0, -1.0)


def classes(n, k=3, seed=0):
    """Class numbers in mixed order, every class early."""
    rng = np.random.default_rng(seed + 2)
    return np.r_[np.arange(k), rng.integers(0, k, n - k)]


def numbers(X, k=1, seed=0):
    """Real targets, one or more columns."""
    rng = np.random.default_rng(seed + 3)
    Y = X @ rng.normal(size=(X.shape[1], k)) + 0.1 * rng.normal(size=(len(X), k)) + 0.5
    return Y[:, 0] if k == 1 else Y


def weights(n, seed=0):
    """Row weights, some of them 0."""
    rng = np.random.default_rng(seed + 4)
    return rng.integers(0, 4, n) / 2.0


def targets_for(model, X, seed=0):
    """Targets that suit the model: two classes, or one number a row."""
    return (signs(X, seed) > 0).astype(int) if is_classifier(model) else numbers(X, seed=seed)


def trusted(X, dtype=np.float64, index=np.uint32):
    """Return dense X as `Csr`."""
    rows = sp.csr_array(X)
    return Csr(
        rows.data.astype(dtype),
        rows.indices.astype(index),
        rows.indptr.astype(np.uint64),
        X.shape[1],
    )


def one_pass(cls, **parameters):
    """A model whose `fit` is one walk in the rows' order."""
    return cls(**{"shuffle": False, "max_iter": 1, "tol": None, "random_state": 0, **parameters})


def shown(model, X):
    """Return the attributes and scores of a fitted linear model, as arrays."""
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    scores = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return {
        "coef_": coef,
        "intercept_": model.intercept_,
        "support_": model.support_,
        "scores": scores,
    }


def assert_same(model, other, X, wide=None):
    """The two models show the same bits."""
    a, b = shown(model, X), shown(other, X if wide is None else wide)
    for name, value in a.items():
        assert value.dtype == b[name].dtype, name
        assert value.shape == b[name].shape, name
        apart = np.flatnonzero(np.atleast_1d(value).ravel() != np.atleast_1d(b[name]).ravel())
        assert not len(apart), (
            f"{name} differs at {len(apart)} of {value.size}: {np.ravel(value)[apart[:3]]} and "
            f"{np.ravel(b[name])[apart[:3]]}"
        )


def assert_close(model, other, X, wide=None):
    """The two models keep the same features and differ by rounding alone."""
    a, b = shown(model, X), shown(other, X if wide is None else wide)
    assert np.array_equal(a["support_"], b["support_"])
    for name, value in a.items():
        assert value.dtype == b[name].dtype, name
        np.testing.assert_allclose(value, b[name], rtol=1e-9, atol=1e-12, err_msg=name)


def quiet(call, *arguments, **named):
    """Return the result of a call without its warnings (tiny data give empty models and short
    fits).
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **named)
