"""Methods by the words of the command line.

Built from the public names that exist, so that a new family is one line here.
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
    word
    for word, stem in STEMS.items()
    if f"{stem}Classifier" in tamis._HOMES or f"{stem}Regressor" in tamis._HOMES
]
TASKS = ("classify", "regress")
# What `compare` tunes; methods that are not named here are taken as they are.
_ALPHAS = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3]
GRIDS: dict[str, dict] = {
    "stabilized": {"rejection": [0.5, 0.7, 0.9]},
    "truncated": {"gravity": [a / 2 for a in _ALPHAS]},
    "fobos": {"alpha": _ALPHAS},
    "rda": {"alpha": _ALPHAS},
    "ftrl": {"alpha": _ALPHAS},
}
COMPARED = [
    word
    for word in ("sieve", "stabilized", "truncated", "fobos", "rda", "ftrl", "arow")
    if word in METHODS
]


class UsageError(Exception):
    """Options that do not go together."""


def chosen(said: str) -> list[str]:
    """Methods as ``--methods A,B,...`` names them."""
    methods = [word for word in said.split(",") if word]
    unknown = [word for word in methods if word not in METHODS]
    if unknown or not methods:
        raise UsageError(
            f"--methods {said!r}: {unknown[0] if unknown else 'nothing'!r} is not among "
            f"{', '.join(METHODS)}."
        )
    return methods


def _name_of(method: str, task: str) -> str:
    return STEMS[method] + ("Classifier" if task == "classify" else "Regressor")


def has_task(method: str, task: str) -> bool:
    """Whether a method has an estimator for a task."""
    return _name_of(method, task) in tamis._HOMES


def class_of(method: str, task: str) -> Any:
    """The estimator of a method."""
    name = _name_of(method, task)
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
    """A model of a method; `settings` are NAME=VALUE."""
    model = class_of(method, task)()
    known = model.get_params(deep=False)
    wanted: dict[str, Any] = {
        "random_state": seed,
        "n_jobs": -1 if threads is None else threads,
        "grow": grow,
        "verbose": False,
    }
    wanted = {name: value for name, value in wanted.items() if name in known}
    if loss is not None:
        if "loss" not in known:
            raise UsageError(f"method {method!r} has no --loss.")
        wanted["loss"] = loss
    for entry in settings:
        name, equals, text = entry.partition("=")
        if not equals or name not in known:
            raise UsageError(
                f"--set {entry!r} is not NAME=VALUE with a parameter of {type(model).__name__}: "
                f"{', '.join(sorted(known))}."
            )
        wanted[name] = value_of(text)
    return model.set_params(**wanted)


def grows(method: str, task: str) -> bool:
    """Whether a model of the method takes new columns on the way, so that one reading is enough."""
    return "grow" in class_of(method, task)._get_param_names()


def reads_twice(method: str) -> bool:
    """Whether models of the method read a file twice, and fit what the second reading keeps."""
    return hasattr(class_of(method, "classify"), "_reads_twice")


def value_of(text: str) -> Any:
    """A number, true, false, none, or the word itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
