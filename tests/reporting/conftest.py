"""Small models and a comparison that tests draw and print."""

import warnings

import matplotlib as mpl
import numpy as np
import pytest

import tamis
from tamis.datasets import make_text

mpl.use("Agg")


@pytest.fixture(scope="session")
def text():
    X, y, _ = make_text(400, 300, n_informative=8, random_state=0)
    return X, y


@pytest.fixture(scope="session")
def sieve(text):
    X, y = text
    return tamis.SieveClassifier(random_state=0).fit(X, np.where(y == 1, "spam", "ham"))


@pytest.fixture(scope="session")
def class_numbers(text):
    """Three classes that depend on three columns."""
    columns = text[0][:, [1, 2, 3]].toarray()
    return ((columns - columns.mean(axis=0)) / columns.std(axis=0)).argmax(axis=1)


@pytest.fixture(scope="session")
def empty_sieve(text):
    """A sieve that selected nothing."""
    with pytest.warns(UserWarning, match="nothing in these 300 columns"):
        return tamis.SieveClassifier(random_state=0).fit(text[0], np.arange(400) % 2)


@pytest.fixture(scope="session")
def stabilized(text):
    return tamis.StabilizedSGDClassifier(n_paths=4, max_iter=3, rejection=0.9, random_state=0).fit(
        *text
    )


@pytest.fixture(scope="session")
def multiclass(text):
    """A model of three classes."""
    X, _ = text
    return tamis.FTRLClassifier(alpha=1e-3, max_iter=3, tol=None, random_state=0).fit(
        X, np.array(["a", "b", "c"])[np.arange(400) % 3]
    )


@pytest.fixture(scope="session")
def record(text):
    models = {
        "FTRL": tamis.FTRLClassifier(max_iter=2, tol=None),
        "RDA": tamis.RDAClassifier(max_iter=2, tol=None),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tamis.compare(
            models,
            *text,
            tune={"RDA": {"alpha": [1e-4, 3e-3]}},
            runs=3,
            keep_supports=True,
            random_state=0,
        )


@pytest.fixture(scope="session")
def density(text):
    return np.asarray((text[0] != 0).mean(axis=0)).ravel()
