"""Docstrings: every public estimator and function says, in numpydoc's sections, what it takes,
holds and shows.
"""

import inspect
import re

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import BaseEstimator

import tamis
from tamis import terms
from tamis.base.estimators.stream import PassesModel
from tamis.numerics.numba import TERM_METHODS

pytestmark = pytest.mark.quick

PUBLIC = {name: getattr(tamis, name) for name in tamis._HOMES}
MODELS = {
    name: public_object
    for name, public_object in PUBLIC.items()
    if isinstance(public_object, type) and issubclass(public_object, BaseEstimator)
}
ONLINE = {
    name: public_object
    for name, public_object in MODELS.items()
    if issubclass(public_object, PassesModel)
}
FUNCTIONS = {
    name: public_object
    for name, public_object in PUBLIC.items()
    if inspect.isfunction(public_object)
}
METHODS = [
    (name, method)
    for name in ONLINE
    for method in (
        "fit",
        "partial_fit",
        "predict",
        "decision_function",
        "predict_proba",
        "sparsify",
    )
]


def names_in(section):
    """Names of a numpydoc section, `a, b : int` being two."""
    return [name_part.strip() for entry in section for name_part in entry.name.split(",")]


@pytest.mark.parametrize("name", MODELS)
def test_models_describe_every_parameter(name):
    doc = ClassDoc(MODELS[name])
    parameters = list(inspect.signature(MODELS[name]).parameters)
    assert names_in(doc["Parameters"]) == parameters
    assert all(" ".join(entry.desc).strip() for entry in doc["Parameters"])
    for entry in doc["Parameters"]:
        default = inspect.signature(MODELS[name]).parameters[entry.name].default
        default_text = re.search(r"default=(.*)$", entry.type)
        assert default_text, f"{entry.name} does not say its default"
        assert eval(default_text[1], {}) == default, (
            f"{entry.name} says default={default_text[1]}, but it is {default!r}"
        )


@pytest.mark.parametrize("name", MODELS)
def test_models_describe_attributes_and_show_an_example(name):
    doc = ClassDoc(MODELS[name])
    assert doc["Attributes"]
    example = "\n".join(doc["Examples"])
    assert f"from tamis import {name}" in example
    assert ">>> " in example


@pytest.mark.parametrize("name", ONLINE)
def test_attributes_described_exist_after_a_fit(name):
    described = set(names_in(ClassDoc(MODELS[name])["Attributes"]))
    rows = np.random.default_rng(0).normal(size=(30, 4))
    classifies = hasattr(MODELS[name], "decision_function")
    model = MODELS[name](max_iter=1, tol=None).fit(
        rows, (rows[:, 0] > 0).astype(int) if classifies else rows[:, 0]
    )
    assert {"coef_", "intercept_", "support_", "n_iter_", "history_", "n_features_in_"} <= described
    assert not classifies or "classes_" in described
    assert not [
        attribute
        for attribute in described
        if attribute != "feature_names_in_" and not hasattr(model, attribute)
    ]
    shown = {
        attribute
        for attribute in vars(model)
        if attribute.endswith("_") and not attribute.startswith("_")
    }
    assert shown <= described


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_methods_describe_their_parameters(name, method):
    function = getattr(MODELS[name], method, None)
    if function is None:
        return
    doc = FunctionDoc(function)
    assert names_in(doc["Parameters"]) == [
        p for p in inspect.signature(function).parameters if p != "self"
    ]
    assert doc["Returns"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_describe_their_parameters_and_show_an_example(name):
    doc = FunctionDoc(FUNCTIONS[name])
    assert names_in(doc["Parameters"]) == list(inspect.signature(FUNCTIONS[name]).parameters)
    assert ">>> " in "\n".join(doc["Examples"])


@pytest.mark.parametrize(
    "name", [name for name in terms.__all__ if isinstance(getattr(terms, name), type)]
)
def test_terms_are_documented(name):
    """By words of their own: a NamedTuple without a docstring gets its signature."""
    assert not (inspect.getdoc(getattr(terms, name)) or f"{name}(").startswith(f"{name}(")


def test_methods_of_terms_are_documented():
    from tamis.terms import methods

    for method in TERM_METHODS:
        assert inspect.getdoc(getattr(methods, method)), method


def test_the_expected_failures_are_explained():
    from tamis.testing import expected_failed_checks

    doc = FunctionDoc(expected_failed_checks)
    assert names_in(doc["Parameters"]) == ["estimator"]
    assert ">>> " in "\n".join(doc["Examples"])
