"""Unusual inputs: every model gives a finite fit or a clear error."""

import faulthandler
import traceback
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from odd import EXPLAINED, FULL, INPUTS, quick, reaches
from registry import ESTIMATORS
from sklearn.exceptions import NotFittedError

BOUND = 120.0  # seconds; a case takes some hundredths of one, once its loops are compiled
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_margin",
    "predict_confidence",
    "transform",
)


@contextmanager
def bounded():
    """End the process, with a traceback, where a fit does not end: the suite must not wait for
    ever.
    """
    faulthandler.dump_traceback_later(BOUND, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def numbers_of(name, value):
    """All floating numbers inside a value, as (path, array)."""
    if sp.issparse(value):
        value = value.data
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(f"{name}[{key!r}]", inner)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from numbers_of(f"{name}[{at}]", inner)
    elif (
        isinstance(value, float | np.ndarray | np.floating) and np.asarray(value).dtype.kind == "f"
    ):
        yield name, np.asarray(value)


def fitted_attributes(model):
    """Every public attribute of a fit."""
    for name in sorted(
        n for n in {*vars(model), *dir(type(model))} if n.endswith("_") and not n.startswith("_")
    ):
        try:
            yield name, getattr(model, name)
        except (AttributeError, NotFittedError):
            continue


def answers(model, tables):
    """All that the model says of some rows."""
    for X in tables:
        for name in METHODS:
            if hasattr(model, name):
                yield f"{name} of {X.shape[0]} rows", getattr(model, name)(X)


def non_finite(model, X, warned):
    """What is not finite, of all that the model shows and says; a warning may have said so of an
    attribute.
    """
    ordinary = FULL[:, : X.shape[1]]
    for name, value in (*fitted_attributes(model), *answers(model, (X, ordinary))):
        is_explained = any(
            word in sentence and name in sentence for sentence in warned for word in ("nan", "inf")
        )
        for path, numbers in numbers_of(name, value):
            if (
                not is_explained
                and not np.isfinite(numbers).all()
                and not any(f"[{word!r}]" in path for word in EXPLAINED)
            ):
                yield f"{path} holds {numbers[~np.isfinite(numbers)][0]}"


def says_what_is_wrong(error) -> bool:
    """Whether an error is a sentence about the user's data, and not one met by accident inside."""
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    ours = type(error) in (ValueError, FloatingPointError) and any(
        f"/{package}/" in raised_in for package in ("tamis", "sklearn")
    )
    # No input holds a nan or an infinity: who finds one has met its own.
    return (
        ours
        and " " in str(error)
        and not any(word in str(error) for word in ("contains NaN", "contains infinity"))
    )


def find_fault(cls, case):
    """What a model does wrong on an input, or nothing."""
    model = quick(cls)
    with bounded(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(
                case.X,
                case.targets(model),
                **({} if case.weights is None else {"sample_weight": case.weights}),
            )
        except Exception as error:
            return None if says_what_is_wrong(error) else f"fit raised {error!r}"
        return "; ".join(non_finite(model, case.X, [str(one.message) for one in caught])) or None


CASES = [(cls, name) for cls in ESTIMATORS for name in INPUTS if reaches(name, cls)]


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_odd_inputs_give_a_finite_model_or_a_sentence(cls, name):
    assert find_fault(cls, INPUTS[name]) is None
