"""The table of docs/extend.md that says which models take a loss or a penalty by name or as an
object: every cell is tried.
"""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_regressor

import tamis
from tamis.terms import L1, GroupL2, Huber, Squared

PAGE = (Path(__file__).parents[2] / "docs/extend.md").read_text()
SMALL = {"alphas": [0.1], "cv": 2, "max_iter": 2, "eta_factors": (1.0,), "burn_ins": (1.0,)}
SMALL |= {"rejections": (0.7,), "purges": (0.7,), "random_state": 0}


def rows():
    """Classes of estimators and what the table says of them."""
    table = PAGE.split("<!-- terms -->")[1].split("<!-- end of terms -->")[0]
    for line in table.strip().splitlines()[2:]:
        models, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for name in re.findall(r"`(\w+)`", models):
            stem, search = name.removesuffix("CV"), "CV" if name.endswith("CV") else ""
            for kind in ("Classifier", "Regressor"):
                cls = getattr(tamis, f"{stem}{kind}{search}", None)
                if cls is not None:
                    yield cls, [cell == "yes" for cell in cells]


ROWS = dict(rows())


def fitted(cls, **given):
    """A small fit with some parameters."""
    accepted = inspect.signature(cls).parameters
    model = cls(**{name: value for name, value in SMALL.items() if name in accepted} | given)
    X = np.random.default_rng(0).normal(size=(40, 5))
    y = X[:, 0] + 0.1 * X[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y if is_regressor(model) else (y > 0).astype(int))


def test_every_model_with_a_loss_or_a_penalty_is_in_the_table():
    from sklearn.base import BaseEstimator

    models = [getattr(tamis, name) for name in tamis._HOMES]
    models = [m for m in models if isinstance(m, type) and issubclass(m, BaseEstimator)]
    asked = [m for m in models if {"loss", "penalty"} & set(inspect.signature(m).parameters)]
    assert set(asked) == set(ROWS)


@pytest.mark.parametrize("cls", ROWS, ids=lambda cls: cls.__name__)
def test_the_table_tells_the_truth(cls):
    loss = getattr(cls(), "loss", None)
    penalty = getattr(cls(), "penalty", None)
    penalty = "group_lasso" if penalty == "auto" else penalty
    objects = [Huber(1.0) if is_regressor(cls()) else Squared(1.0)]
    objects += [L1(0.1) if cls.__name__.startswith("Online") else GroupL2(1.0)]
    tried = zip(("loss", "loss", "penalty", "penalty"), (loss, objects[0], penalty, objects[1]))
    for (name, value), promised in zip(tried, ROWS[cls], strict=True):
        if name not in inspect.signature(cls).parameters:
            assert not promised
        elif promised:
            assert getattr(fitted(cls, **{name: value}), name) == value
        else:
            with pytest.raises((TypeError, ValueError), match=name):
                fitted(cls, **{name: value})
