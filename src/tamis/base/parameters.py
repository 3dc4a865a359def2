"""Declared parameters: name, type, default, rule and description, each in one place.

A class with the decorator `@estimator` declares the parameters of its constructor. The decorator
makes `__init__`, scikit-learn's `_parameter_constraints`, and the marked parts of the docstring:
``{parameters}`` and ``{attributes}`` become sections from the declarations of the class and its
bases; ``{family}`` becomes the docstring of the nearest base with ``{kind}`` in it, which a
classifier and a regressor share.
"""

import dataclasses
import inspect
import operator
import re
import textwrap
from numbers import Integral, Real
from typing import Any, Literal, dataclass_transform

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from tamis.numerics.code_digests import as_floats, is_term, missing_methods
from tamis.terms.losses import LOSSES, accepts_classes, accepts_numbers

Auto = Literal["auto"]
TermLike = str | tuple[Any, ...]  # a name, or a term
Seed = int | np.random.RandomState | None
SECTION_WIDTH = 84  # characters per line in a section of a docstring

# ---------------------------------------------------------------- rules, in scikit-learn's words
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
UNIT_INTERVAL = Interval(Real, 0, 1, closed="both")
OPEN_UNIT_INTERVAL = Interval(Real, 0, 1, closed="neither")
POSITIVE_INTEGER = Interval(Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})
BOOL = "boolean"
ARRAY_LIKE = "array-like"
RANDOM_STATE = "random_state"
TERM = "no_validation"  # `resolve_term` checks names and terms

_TYPE_NAMES = {
    BOOL: "bool",
    ARRAY_LIKE: "array-like",
    RANDOM_STATE: "int, RandomState instance or None",
    TERM: "str or term",
    None: "None",
    Integral: "int",
    Real: "float",
    dict: "dict",
}


def at_least(minimum: int) -> Interval:
    """Integers from `minimum` on."""
    return Interval(Integral, minimum, None, closed="left")


def one_of_strings(*words: str) -> StrOptions:
    """One of some strings."""
    return StrOptions(set(words))


def parameter(
    default: Any, rules: Any, sentence: str, type_name: str | None = None, *, kw_only: bool = False
) -> Any:
    """Declare a parameter.

    Parameters
    ----------
    default : object
        Its default, which nothing may change.
    rules : list or str
        What it may be, as scikit-learn's `_parameter_constraints` say it.
    sentence : str
        What it does.
    kind : str, default=None
        Its type in the docstring; None derives it from the rules.
    kw_only : bool, default=False
        Whether it is given by its name alone; so are all of a class under
        ``@estimator(kw_only=True)``.
    """
    details = {"rules": rules, "sentence": sentence, "kind": type_name or _type_name(rules)}
    keyword_only: dict[str, Any] = {"kw_only": True} if kw_only else {}
    return dataclasses.field(default=default, metadata=details, **keyword_only)


def is_auto(value) -> bool:
    """Return whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def _type_name(rules) -> str:
    """Return the type of a parameter for its docstring."""
    words = []
    for rule in rules if isinstance(rules, list) else [rules]:
        if isinstance(rule, StrOptions):
            options = [f'"{word}"' for word in sorted(rule.options)]
            words.append(options[0] if len(options) == 1 else "{" + ", ".join(options) + "}")
        elif isinstance(rule, Interval):
            words.append(_TYPE_NAMES[rule.type])
        else:
            words.append(_TYPE_NAMES[rule])
    words = list(dict.fromkeys(words))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def loss_parameter(default: str, sentence: str | None = None, residual: bool = False) -> Any:
    """Return the parameter `loss` of a linear model, for classes or numbers as its default.

    `residual` restricts it to losses of score - target.
    """
    accepts = accepts_numbers if accepts_numbers(LOSSES[default]) else accepts_classes
    names = [
        f'"{name}"'
        for name, loss in LOSSES.items()
        if accepts(loss) and name != "log_loss" and not (residual and hasattr(loss, "accepts"))
    ]
    losses = ", ".join(names).replace('"logistic"', '"logistic" (or "log_loss")')
    return parameter(default, TERM, sentence or f"{losses}, or a term of `tamis.terms`.")


# ---------------------------------------------------------------- classes
@dataclass_transform()  # for type checkers, every assigned value is a default
def estimator(cls: type | None = None, *, kw_only: bool = False):
    """Make the constructor, constraints and docstring of a class from its declared parameters."""

    def build(cls):
        built = dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
        built._parameter_constraints = {
            field.name: field.metadata["rules"] for field in _declared(built)
        }
        # scikit-learn reads it in every check of parameters; computing it once saves time.
        built.__init__.__signature__ = inspect.signature(built.__init__)
        built.__doc__ = _document(built)
        return built

    return build if cls is None else build(cls)


def _declared(cls) -> list:
    """Return the declared fields in the order of the signature: positional ones first."""
    fields = [field for field in dataclasses.fields(cls) if "rules" in field.metadata]
    return sorted(fields, key=lambda field: field.kw_only)


def _document(cls) -> str | None:
    """Return the docstring with its marked parts filled in."""
    text = cls.__dict__.get("__doc__")
    if text is None or cls.__name__.startswith("_"):
        return text
    text = inspect.cleandoc(text)
    if "{family}" in text:
        text = text.replace("{family}", _family(cls), 1)
    if "{kind}" in text:  # a shared docstring, which subclasses fill in
        return text
    text = text.replace(
        "{parameters}", _section("Parameters", map(_parameter_entry, _declared(cls))), 1
    )
    text = text.replace("{attributes}", _section("Attributes", _attribute_entries(cls).values()), 1)
    return textwrap.indent(text, "    ").strip() + "\n    "


def _family(cls) -> str:
    """Return the shared docstring of the nearest base with ``{kind}``, for this class."""
    for base in cls.__mro__[1:]:
        text = vars(base).get("__doc__") or ""
        if "{kind}" in text:
            kind = "classifier" if issubclass(cls, ClassifierMixin) else "regressor"
            # Without the first line, which describes the base.
            description = inspect.cleandoc(text).partition("\n\n")[2]
            return description.replace("{kind}", kind).replace("{Kind}", kind.capitalize())
    raise TypeError(f"{cls.__name__} has {{family}} in its docstring, but no base has {{kind}}.")


def _section(title: str, entries) -> str:
    """Return a numpydoc section."""
    return f"{title}\n{'-' * len(title)}\n" + "\n".join(entries)


def _parameter_entry(field) -> str:
    """Return an entry of the section of parameters."""
    default = f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)
    head = f"{field.name} : {field.metadata['kind']}, default={default}"
    return f"{head}\n{textwrap.indent(_wrapped(field.metadata['sentence']), '    ')}"


def _wrapped(sentence: str) -> str:
    return "\n".join(
        textwrap.wrap(sentence, SECTION_WIDTH, break_long_words=False, break_on_hyphens=False)
    )


def _attribute_entries(cls) -> dict[str, str]:
    """Return the entries of the section of attributes by name, those of the bases first.

    A later entry replaces an earlier one with the same name, in its position.
    """
    entries: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        text = textwrap.dedent(vars(base).get("_attributes", "")).strip()
        for entry in re.split(r"\n(?=\S)", text) if text else ():
            entries[entry.partition(" : ")[0]] = entry
    return entries


# ---------------------------------------------------------------- terms as parameters
def resolve_term(name: str, user_value, terms_by_name: dict, methods: tuple[str, ...]):
    """Return a term from its name, or the user's term with all its numbers as floats."""
    if isinstance(user_value, str):
        if user_value not in terms_by_name:
            names = ", ".join(map(repr, sorted(terms_by_name)))
            raise ValueError(
                f"The {name!r} parameter must be one of {names}, or a term. Got {user_value!r} "
                "instead."
            )
        return terms_by_name[user_value]
    if not is_term(user_value):
        kind = (
            "a bare number"
            if isinstance(user_value, Real)
            else f"an object of type {type(user_value).__name__}"
        )
        names = ", ".join(map(repr, sorted(terms_by_name)))
        raise TypeError(
            f"The {name!r} parameter must be a name ({names}) or a term such as "
            f"tamis.terms.Hinge(margin=1.0). Got {kind}, {user_value!r}."
        )
    missing = missing_methods(user_value, *methods)
    if missing:
        raise TypeError(
            f"{user_value!r} cannot serve as {name}: it lacks the "
            f"method{'s' if len(missing) > 1 else ''} {', '.join(missing)}."
        )
    _check_fields(name, user_value)
    return as_floats(user_value)


_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def _check_fields(name: str, term) -> None:
    """Refuse a number that its field does not accept, also in inner terms.

    A field declares ``Annotated[float, "> 0"]``, or a tuple of all accepted values in place of the
    comparison.
    """
    annotations = type(term).__annotations__
    for field, value in zip(term._fields, term, strict=True):
        if is_term(value):
            _check_fields(name, value)
            continue
        rules = [
            rule for rule in getattr(annotations.get(field), "__metadata__", ()) if _is_rule(rule)
        ]
        if not all(_is_allowed(value, rule) for rule in rules):
            accepted = " and ".join(
                rule if isinstance(rule, str) else f"one of {', '.join(f'{v:g}' for v in rule)}"
                for rule in rules
            )
            raise ValueError(
                f"The {name!r} parameter holds {term!r}, whose {field} must be {accepted}. Got "
                f"{value!r} instead."
            )


def _is_rule(note) -> bool:
    """Return whether an annotation is a rule; a user's term may have other annotations."""
    return isinstance(note, tuple) or str(note).partition(" ")[0] in _COMPARISONS


def _is_allowed(value, rule) -> bool:
    if not isinstance(value, Real) or isinstance(rule, tuple):
        return isinstance(value, Real) and value in rule
    sign, bound = rule.split()
    return _COMPARISONS[sign](value, float(bound))
