"""Methods by their names on the command line.

The table is built from the public names that exist, so a new family of estimators is one line here.
"""

from collections.abc import Iterable
from typing import Any

import tamis

STEMS = {
    "sieve": "Sieve",
    "stabilized": "StabilizedSGD",
    "truncated": "TruncatedGradient",
    "fobos": "FOBOS",
    "rda": "RDA",
    "ftrl": "FTRL",
    "online": "Online",
    "arow": "AROW",
    "cw": "CW",
    "scw": "SCW",
    "narow": "NAROW",
    "pa": "PA",
    "group": "OnlineGroupLasso",
}
METHODS = [
    method
    for method, stem in STEMS.items()
    if f"{stem}Classifier" in tamis._HOMES or f"{stem}Regressor" in tamis._HOMES
]
TASKS = ("classify", "regress")
# What `compare` tunes. Methods that are not listed here run with their defaults.
_ALPHAS = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3]
GRIDS: dict[str, dict] = {
    "stabilized": {"rejection": [0.5, 0.7, 0.9]},
    "truncated": {"gravity": [alpha / 2 for alpha in _ALPHAS]},
    "fobos": {"alpha": _ALPHAS},
    "rda": {"alpha": _ALPHAS},
    "ftrl": {"alpha": _ALPHAS},
}
COMPARED = [
    method
    for method in ("sieve", "stabilized", "truncated", "fobos", "rda", "ftrl", "arow")
    if method in METHODS
]


class UsageError(Exception):
    """Options that are wrong, or that cannot be combined."""


def parse_methods(value: str) -> list[str]:
    """Return the methods of ``--methods A,B,...``."""
    methods = [method for method in value.split(",") if method]
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not methods:
        raise UsageError(
            f"--methods {value!r}: {unknown[0] if unknown else 'nothing'!r} is not among "
            f"{', '.join(METHODS)}."
        )
    return methods


def _class_name(method: str, task: str) -> str:
    return STEMS[method] + ("Classifier" if task == "classify" else "Regressor")


def has_task(method: str, task: str) -> bool:
    """Return whether a method has an estimator for a task."""
    return _class_name(method, task) in tamis._HOMES


def estimator_class(method: str, task: str) -> Any:
    """Return the class of a method's estimator for a task."""
    name = _class_name(method, task)
    if name not in tamis._HOMES:
        raise UsageError(
            f"method {method!r} has no {'classifier' if task == 'classify' else 'regressor'}."
        )
    return getattr(tamis, name)


def build(
    method: str,
    task: str,
    *,
    loss: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    settings: Iterable[str] = (),
    grow: bool = False,
) -> Any:
    """Return an unfitted estimator of a method; `settings` are NAME=VALUE."""
    model = estimator_class(method, task)()
    known = model.get_params(deep=False)
    params: dict[str, Any] = {
        "random_state": seed,
        "n_jobs": -1 if threads is None else threads,
        "grow": grow,
        "verbose": False,
    }
    params = {name: value for name, value in params.items() if name in known}
    if loss is not None:
        if "loss" not in known:
            raise UsageError(f"method {method!r} has no --loss.")
        params["loss"] = loss
    for entry in settings:
        name, equals, text = entry.partition("=")
        if not equals or name not in known:
            raise UsageError(
                f"--set {entry!r} is not NAME=VALUE with a parameter of {type(model).__name__}: "
                f"{', '.join(sorted(known))}."
            )
        params[name] = parse_value(text)
    return model.set_params(**params)


def can_grow(method: str, task: str) -> bool:
    """Return whether a method's models accept new columns later, so that one pass is enough."""
    return "grow" in estimator_class(method, task)._get_param_names()


def reads_twice(method: str) -> bool:
    """Return whether a method's models read a file twice: to profile it, and to fit."""
    return hasattr(estimator_class(method, "classify"), "_reads_twice")


def parse_value(text: str) -> Any:
    """Return a number, True, False, None or else the text itself."""
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
