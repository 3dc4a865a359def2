"""Losses: the gradient is the derivative, 0 at a kink that is the minimum, the bound holds."""

import itertools
import math

import numpy as np
import pytest
from registry import LOSSES

from tamis.base.model_terms import is_smooth
from tamis.terms.learning_rates import LEARNING_RATES
from tamis.terms.methods import depends_on_row, gradient_and_log_terms, gradient_at_zero

pytestmark = pytest.mark.quick

SCORES = np.linspace(-6.0, 6.0, 481) + 1e-3  # away from round numbers, where the kinks are
TARGETS = (-1.0, 1.0, 0.37)
H = 1e-6


def domain(loss):
    """Targets that a loss takes."""
    accepts = getattr(loss, "accepts", lambda target: True)
    return [target for target in TARGETS if accepts(target)]


def lowest(loss, target):
    """The least value of a loss; of one without a conjugate 0."""
    return -loss.conjugate(0.0, target) if hasattr(loss, "conjugate") else 0.0


def find_kinks(loss, target):
    """Scores at which the slope jumps or bends, by bisection of a change that does not shrink with
    the interval.
    """
    scores = []
    for low, high in itertools.pairwise(SCORES):
        a, b = low, high
        for _ in range(60):
            middle = 0.5 * (a + b)
            left = abs(loss.gradient(middle, target) - loss.gradient(a, target))
            a, b = (
                (a, middle)
                if left > abs(loss.gradient(b, target) - loss.gradient(middle, target))
                else (middle, b)
            )
        if abs(loss.gradient(b, target) - loss.gradient(a, target)) > 0.05:
            scores.append(b)
    return scores


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slope_is_the_derivative_of_value(loss):
    for target in domain(loss):
        kinks = find_kinks(loss, target)
        for score in SCORES:
            if any(abs(score - kink) < 2 * H for kink in kinks):
                continue
            difference = (loss.value(score + H, target) - loss.value(score - H, target)) / (2 * H)
            assert difference == pytest.approx(loss.gradient(score, target), abs=2e-6), (
                score,
                target,
            )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_is_convex_and_never_below_the_least(loss):
    for target in domain(loss):
        values = np.array([loss.value(score, target) for score in SCORES])
        derivatives = np.array([loss.gradient(score, target) for score in SCORES])
        assert (values >= lowest(loss, target) - 1e-12).all()
        assert (np.diff(derivatives) >= -1e-15).all()
        # The tangent at every score lies under the value at every other.
        tangents = values[:, None] + derivatives[:, None] * (SCORES[None, :] - SCORES[:, None])
        assert (tangents <= values[None, :] + 1e-9).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slope_at_a_kink_is_a_subgradient_and_0_where_0_is_one(loss):
    for target in domain(loss):
        for kink in find_kinks(loss, target):
            for score in (
                kink,
                np.nextafter(kink, -math.inf),
                np.nextafter(kink, math.inf),
                round(kink, 6),
            ):
                left, right = (
                    loss.gradient(score - 1e-4, target),
                    loss.gradient(score + 1e-4, target),
                )
                derivative = loss.gradient(score, target)
                assert left - 1e-12 <= derivative <= right + 1e-12
                at_minimum = loss.value(score, target) == lowest(loss, target)
                if at_minimum:
                    assert left <= 0.0 <= right
                    assert derivative == 0.0


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_bound_of_the_second_derivative_holds(loss):
    """And a loss has a kink exactly where it says that it is not smooth."""
    bound = loss.hessian_bound()
    for target in domain(loss):
        derivatives = np.array([loss.gradient(score, target) for score in SCORES])
        curvature = np.diff(derivatives) / np.diff(SCORES)
        assert bool(find_kinks(loss, target)) == (not is_smooth(loss))
        if math.isfinite(bound):
            assert (curvature <= bound * (1 + 1e-9)).all()
            assert curvature.max() > 0.9 * bound, "the bound is loose"


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_far_scores_neither_overflow_nor_give_nan(loss):
    for target in domain(loss):
        for score in (-1e3, 1e3, -1e8, 1e8):
            assert math.isfinite(loss.value(score, target))
            assert math.isfinite(loss.gradient(score, target))


def test_the_kinks_that_are_known_are_found():
    from tamis.terms import EpsilonInsensitive, Hinge, Logistic

    assert find_kinks(Hinge(1.0), 1.0) == pytest.approx([1.0])
    assert find_kinks(EpsilonInsensitive(0.1), 1.0) == pytest.approx([0.9, 1.1])
    assert find_kinks(Logistic(), 1.0) == []
    assert Hinge(1.0).gradient(1.0, 1.0) == 0.0  # strict at the kink (methods/online.md, section 1)
    assert Hinge(1.0).gradient(np.nextafter(1.0, 0.0), 1.0) == -1.0


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slope_and_value_together_are_slope_and_value(loss):
    """And the slope at score 0 is that of score 0."""
    for target in domain(loss):
        assert gradient_at_zero(loss, target) == pytest.approx(
            loss.gradient(0.0, target), rel=1e-15
        )
        for score in SCORES[::7]:
            derivative, cost, factor = gradient_and_log_terms(loss, score, target)
            assert derivative == loss.gradient(score, target)
            assert cost + math.log(factor) == pytest.approx(
                loss.value(score, target), rel=1e-12, abs=1e-15
            )
            assert factor >= 1.0


@pytest.mark.parametrize("loss", [t for t in LOSSES if hasattr(t, "conjugate")], ids=repr)
def test_conjugate_is_the_supremum_of_lines_less_the_value(loss):
    for target in domain(loss):
        for score in SCORES[::20]:
            derivative = loss.gradient(score, target)
            tight = derivative * score - loss.value(score, target)
            assert loss.conjugate(derivative, target) == pytest.approx(tight, abs=1e-9)
            for other in SCORES[::20]:
                line = derivative * other - loss.value(other, target)
                assert line <= loss.conjugate(derivative, target) + 1e-9


@pytest.mark.parametrize("loss", [t for t in LOSSES if hasattr(t, "inverse_link")], ids=repr)
def test_inverse_link_is_the_target_that_a_score_fits(loss):
    """The expected gradient under the mean is 0 (a class is 1 with its probability, else -1), and
    the link rises. A logistic loss with a margin keeps the probabilities of the one without.
    """
    loss = loss._replace(margin=0.0) if hasattr(loss, "margin") else loss
    means = np.array([loss.inverse_link(score) for score in SCORES])
    assert (np.diff(means) > 0.0).all()
    for score, mean in zip(SCORES[::20], means[::20], strict=True):
        if loss.accepts(0.5):
            expected = loss.gradient(score, mean)
        else:
            expected = mean * loss.gradient(score, 1.0) + (1.0 - mean) * loss.gradient(score, -1.0)
        assert expected == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_bound_or_implicit_steps(loss):
    """A loss without a kink whose second derivative has no bound takes implicit steps."""
    unbounded = is_smooth(loss) and math.isinf(loss.hessian_bound())
    assert unbounded == hasattr(loss, "implicit_gradient")


@pytest.mark.parametrize("loss", [t for t in LOSSES if hasattr(t, "implicit_gradient")], ids=repr)
@pytest.mark.parametrize("rate", [1e-8, 1e-3, 0.3, 1.0, 7.0, 1e4])
def test_the_implicit_gradient_is_that_of_the_score_it_leads_to(loss, rate):
    for target in (*domain(loss), 0.0, 3.0, 2e4):
        for score in (-40.0, -3.0, 0.0, 0.7, 9.0, 25.0, 45.0):
            explicit = loss.gradient(score, target)
            derivative = loss.implicit_gradient(score, target, rate, explicit)
            reached = score - rate * derivative
            assert loss.gradient(reached - 1e-6, target) <= derivative + 1e-12
            assert loss.gradient(reached + 1e-6, target) >= derivative - 1e-12
            # It is between the explicit one and 0.
            assert min(explicit, 0.0) - 1e-9 <= derivative <= max(explicit, 0.0) + 1e-9
            assert loss.implicit_gradient(score, target, 0.0, explicit) == explicit


@pytest.mark.parametrize("loss", [t for t in LOSSES if hasattr(t, "accepts")], ids=repr)
def test_accepts_tells_numbers_and_arrays_alike(loss):
    """And a loss that refuses targets says in words which it takes."""
    numbers = np.array([-2.0, -1.0, -0.5, 0.0, 0.37, 1.0, 7.0, 1e300])
    each = [bool(loss.accepts(number)) for number in numbers.tolist()]
    assert loss.accepts(numbers).tolist() == each
    assert any(each)
    assert not all(each)
    assert loss.domain


@pytest.mark.parametrize("step", LEARNING_RATES.values(), ids=repr)
def test_a_step_that_does_not_wait_needs_no_row(step):
    sizes = {step.step_size(7.0, loss, square) for loss in (0.0, 2.0) for square in (0.5, 3.0)}
    assert (len(sizes) > 1) == depends_on_row(step)
