"""Terms: equality, hash, repr, pickling, digests; step sizes against their formulas."""

import copy
import math
import pickle
import re
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from registry import (
    CLASSES,
    CONFIDENCE_UPDATES,
    GROUP_PENALTIES,
    LEARNING_RATES,
    LOSSES,
    MARGIN_TERMS,
    OPTIMIZERS,
    PENALTIES,
    TERMS,
)

import tamis.terms
from tamis import FTRLRegressor, GroupLassoRegressor, OnlineRegressor
from tamis.base.parameters import resolve_term
from tamis.numerics import code_digests
from tamis.numerics import numba as _jit
from tamis.numerics.code_digests import as_floats
from tamis.terms import (
    L1,
    MCP,
    Averaged,
    Constant,
    Descent,
    Hinge,
    Huber,
    InverseSqrt,
    InverseTime,
    Logistic,
    PassiveAggressive,
    SquaredHinge,
)
from tamis.terms.losses import LOSSES as NAMED_LOSSES


def test_the_registry_finds_what_is_there():
    found = {cls.__qualname__ for cls in CLASSES}
    assert {"Hinge", "SquaredHinge", "Logistic", "Squared", "Huber", "EpsilonInsensitive"} <= {
        type(t).__qualname__ for t in LOSSES
    }
    assert {"Free", "L1", "Ridge", "ElasticNet"} <= {type(t).__qualname__ for t in PENALTIES}
    assert {"Descent", "CappedDescent", "DualAveraging", "FTRL", "AdaGrad"} <= {
        type(t).__qualname__ for t in OPTIMIZERS
    }
    assert {"Constant", "InverseSqrt", "InverseTime", "PassiveAggressive"} <= {
        type(t).__qualname__ for t in LEARNING_RATES
    }
    assert found == {
        name for name in tamis.terms.__all__ if isinstance(getattr(tamis.terms, name), type)
    }
    assert {"Sides", "Tube"} <= {type(t).__qualname__ for t in MARGIN_TERMS}
    assert {"PAGain", "AROWGain", "SOPGain", "NAROWGain", "CWGain", "SCWGain"} <= {
        type(t).__qualname__ for t in CONFIDENCE_UPDATES
    }
    assert {"GroupL2", "SparseGroup"} <= {type(t).__qualname__ for t in GROUP_PENALTIES}
    lists = LOSSES, PENALTIES, OPTIMIZERS, LEARNING_RATES
    lists += MARGIN_TERMS, CONFIDENCE_UPDATES, GROUP_PENALTIES
    assert set().union(*lists) == set(TERMS)


@pytest.mark.parametrize("term", [*TERMS, Averaged(Descent())], ids=repr)
def test_copies_are_equal_and_hash_alike(term):
    for again in (
        pickle.loads(pickle.dumps(term)),
        copy.copy(term),
        copy.deepcopy(term),
        type(term)(*term),
        term._replace(),
    ):
        assert again == term
        assert not again.__ne__(term)
        assert hash(again) == hash(term)
        assert type(again) is type(term)
    assert code_digests.is_term(term)
    assert not code_digests.is_user_defined(term)


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_repr_is_the_call_that_makes_the_term(term):
    names = {cls.__qualname__: cls for cls in CLASSES}
    assert eval(repr(term), names) == term
    assert str(term) == repr(term)


def test_terms_of_two_types_differ_though_their_numbers_agree():
    assert Hinge(1.0) != SquaredHinge(1.0)
    assert Hinge(1.0) != (1.0,)
    assert not Hinge(1.0).__eq__(SquaredHinge(1.0))
    assert len({Hinge(1.0), SquaredHinge(1.0), Hinge(1.0), Hinge(2.0)}) == 3


def test_hinge_of_an_integer_is_the_same_term_and_the_same_type_of_numbers():
    term = resolve_term("loss", Hinge(1), NAMED_LOSSES, ("value", "gradient", "hessian_bound"))
    assert term == Hinge(1.0)
    assert hash(Hinge(1)) == hash(Hinge(1.0))
    assert [type(v) for v in term] == [float]
    assert [type(v) for v in as_floats(Hinge(np.float32(0.5)))] == [float]
    inner = as_floats(Averaged(Descent(2, True))).optimizer
    assert [type(v) for v in inner] == [float, float]


def test_names_give_the_terms_and_log_loss_is_logistic():
    methods = ("value", "gradient", "hessian_bound")
    for name, term in NAMED_LOSSES.items():
        assert resolve_term("loss", name, NAMED_LOSSES, methods) is term
    assert NAMED_LOSSES["log_loss"] == NAMED_LOSSES["logistic"] == Logistic()


@pytest.mark.parametrize("user_value", [1.0, 0, True, np.float64(2.0), (1.0,), None, Hinge])
def test_what_is_no_term_is_refused_with_a_sentence(user_value):
    with pytest.raises(
        (TypeError, ValueError), match=rf"'loss' parameter .*'hinge'.*{re.escape(repr(user_value))}"
    ):
        resolve_term("loss", user_value, NAMED_LOSSES, ("value",))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"must be one of .*'hinge'.*Got 'hinges'"):
        resolve_term("loss", "hinges", NAMED_LOSSES, ("value",))


def test_a_term_that_lacks_methods_is_refused_with_their_names():
    with pytest.raises((TypeError, ValueError), match="lacks the methods value, gradient"):
        resolve_term("loss", Constant(0.1), NAMED_LOSSES, ("value", "gradient", "hessian_bound"))


# --------------------------------------------------------------------------- numbers of terms
FIELDS = [
    (cls, field, getattr(kind, "__metadata__", ()))
    for cls in CLASSES
    for field, kind in cls.__annotations__.items()
    if kind is not Any and field != "unused"
]


def outside(rules):
    """Values just outside the rules of a field."""
    yield from (math.nan, "1", None, np.ones(2))
    for rule in rules:
        if isinstance(rule, tuple):
            yield from (0.5, max(rule) + 1.0)
            continue
        sign, bound = rule.split()
        away = math.inf if sign[0] == "<" else -math.inf
        yield math.nextafter(float(bound), away) if sign[1:] else float(bound)


def with_field(cls, field, value):
    """A term with a field of that value, its terms inside filled in."""
    inside = {name: Descent() for name, kind in cls.__annotations__.items() if kind is Any}
    return cls(**inside, **{field: value})


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_terms_of_the_registry_are_taken(term):
    assert resolve_term("x", term, {}, ()) == term


@pytest.mark.parametrize(("cls", "field", "rules"), FIELDS)
def test_every_number_outside_its_rule_is_refused_by_name(cls, field, rules):
    assert rules, "a field says what it takes"
    for value in outside(rules):
        term = with_field(cls, field, value)
        for user_value in (term, Averaged(term)):
            with pytest.raises(ValueError, match=rf"'x' .*{cls.__qualname__}\(") as refused:
                resolve_term("x", user_value, {}, ())
            assert f"{field} must be {'one of' if isinstance(rules[0], tuple) else rules[0]}" in (
                str(refused.value)
            )
            assert f"Got {value!r}" in str(refused.value)


@pytest.mark.parametrize(
    ("model", "user_value"),
    [
        (OnlineRegressor, {"loss": Huber(delta=-1)}),
        (OnlineRegressor, {"penalty": L1(l1=-1)}),
        (OnlineRegressor, {"optimizer": Descent(period=0)}),
        (OnlineRegressor, {"learning_rate": Constant(eta=0)}),
        (FTRLRegressor, {"loss": Huber(delta=-1)}),
        (GroupLassoRegressor, {"penalty": MCP(gamma=-1)}),
        (GroupLassoRegressor, {"loss": Huber(delta=-1)}),
    ],
)
def test_estimators_refuse_such_terms(model, user_value):
    (name,) = user_value
    with pytest.raises(ValueError, match=rf"'{name}' .* must be >"):
        model(**user_value).fit(np.eye(3), np.arange(3.0))


def test_a_users_term_says_its_own_rules():
    @tamis.terms.term
    class Power(NamedTuple):
        power: Annotated[float, "> 1", "<= 2"] = 2.0
        free: Annotated[float, "any number"] = 0.0

    assert resolve_term("x", Power(1.5, -9), {}, ()) == Power(1.5, -9.0)
    with pytest.raises(ValueError, match=r"Power.* power must be > 1 and <= 2\. Got 1 "):
        resolve_term("x", Power(1), {}, ())


# --------------------------------------------------------------------------- digests
def make(body, name="Hinge"):
    """A term class from the source of its methods."""
    scope = {"NamedTuple": NamedTuple, "math": math}
    exec(f"class {name}(NamedTuple):\n    margin: float = 1.0\n{body}", scope)
    return _jit.term(scope[name])


FIRST = (
    "    def gradient(self, score, target):\n        return -target if score * target < "
    "self.margin else 0.0\n"
)


def test_two_terms_of_one_name_and_other_code_have_other_names_for_numba():
    other = FIRST.replace("0.0", "0.5")
    assert make(FIRST).__name__ == make(FIRST).__name__
    assert make(FIRST).__name__ != make(other).__name__
    assert make(FIRST).__name__ != make(FIRST.replace("<", "<=")).__name__
    assert make(FIRST).__name__ != make(FIRST.replace("target <", "score <")).__name__
    assert make(FIRST).__qualname__ == "Hinge"
    assert repr(make(FIRST)()) == "Hinge(margin=1.0)"


def test_a_term_needs_a_field():
    class Bare(NamedTuple):
        pass

    with pytest.raises(TypeError, match="Bare has no field"):
        _jit.term(Bare)


def test_terms_from_outside_are_foreign_also_inside_others():
    foreign = make(FIRST)()
    assert code_digests.is_user_defined(foreign)
    assert code_digests.is_user_defined(Averaged(foreign))
    assert not code_digests.is_user_defined(Averaged(Descent()))


def test_every_method_of_a_shipped_term_is_known():
    """Only term methods are dispatched in compiled code; methods that loops never call are named
    here.
    """
    bookkeeping = {"columns", "signs", "objection", "subdiff_distance", "weighs", "adapts"}
    bookkeeping |= {"takes_any_step", "is_quadratic", "has_l1", "is_norm", "accepts"}
    for cls in CLASSES:
        term_methods = {
            name
            for name, value in vars(cls).items()
            if callable(value) and not name.startswith("_")
        }
        term_methods -= {"count", "index"}
        assert term_methods - bookkeeping <= set(_jit.TERM_METHODS), cls


# --------------------------------------------------------------------------- steps
@pytest.mark.parametrize("t", [1.0, 2.0, 10.0, 1e6])
def test_sizes_of_schedules(t):
    assert Constant(0.3).step_size(t, 1.0, 1.0) == 0.3
    assert InverseSqrt(0.5, 1.0).step_size(t, 1.0, 1.0) == pytest.approx(
        0.5 / math.sqrt(t), rel=1e-15
    )
    assert InverseSqrt(0.5, 100.0).step_size(t, 9.0, 9.0) == pytest.approx(
        0.5 / math.sqrt(1 + (t - 1) / 100), rel=1e-15
    )
    assert InverseTime(0.5, 10.0).step_size(t, 9.0, 9.0) == pytest.approx(
        0.5 / (1 + (t - 1) / 10), rel=1e-15
    )


@pytest.mark.parametrize(
    "step", [s for s in LEARNING_RATES if not isinstance(s, PassiveAggressive)], ids=repr
)
def test_schedules_are_positive_and_never_rise(step):
    sizes = [step.step_size(float(t), 1.0, 1.0) for t in range(1, 200)]
    assert min(sizes) > 0.0
    assert (np.diff(sizes) <= 0.0).all()
    assert sizes[0] == pytest.approx(step.eta)


def test_sizes_of_passive_aggressive_steps():
    """Crammer et al. 2006, figure 1: loss / |x|^2, capped at C, or softened by 1 / (2 C)."""
    assert PassiveAggressive(0.5, 0.0).step_size(7.0, 3.0, 2.0) == 1.5
    assert PassiveAggressive(0.5, 1.0).step_size(7.0, 3.0, 2.0) == 0.5
    assert PassiveAggressive(9.0, 1.0).step_size(7.0, 3.0, 2.0) == 1.5
    assert PassiveAggressive(0.5, 2.0).step_size(7.0, 3.0, 2.0) == 1.0
    for variant in (0.0, 1.0):
        assert PassiveAggressive(0.5, variant).step_size(7.0, 3.0, 0.0) == 0.0
    for variant in (0.0, 1.0, 2.0):
        assert PassiveAggressive(0.5, variant).step_size(7.0, 0.0, 2.0) == 0.0
