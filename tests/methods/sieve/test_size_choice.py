"""Size path, ranking, choice of size and candidate, the expected error of a choice."""

import numpy as np
import pytest

from tamis.methods.sieve.held_out_errors import HeldOutError
from tamis.methods.sieve.size_choice import (
    SizeRule,
    choose_candidate,
    choose_size,
    path_sizes,
    requested_size,
    size_by_error,
    smallest_size,
)
from tamis.numerics.csr import largest_indices


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 6, 7, 40, 123, 1000, 62061])
def test_size_path(n):
    sizes = path_sizes(n)
    assert sizes[0] == n
    assert (np.diff(sizes) < 0).all()
    assert sizes[-1] == min(n, 1)
    if n > 10:
        assert sizes[1] <= 0.86 * n
        assert set(path_sizes(2 * n)[2:]) >= set(
            sizes[2:]
        )  # the sizes do not depend on n otherwise


def test_largest_by_a_full_sort():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(0, 6, 30).astype(float)
        for k in (0, 1, 7, 29, 30, 40):
            assert np.array_equal(
                largest_indices(values, k), np.sort(np.argsort(-values, kind="stable")[:k])
            )


SIZES = np.array([100, 64, 32, 16, 8])


def test_size_on_synthetic_errors():
    choice = smallest_size(SIZES, np.array([0.2, 0.1, 0.1, 0.3, 0.4]), 0.1)
    assert (choice.level, choice.threshold) == (2, pytest.approx(0.2))
    assert choice.size == round(np.sqrt(32 * 16))  # half-way, in logarithms
    assert smallest_size(SIZES, np.full(5, 0.5), 0.0).size == 8
    assert smallest_size(SIZES, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 0.0)[:2] == (0, 100)
    assert smallest_size(SIZES, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 9.0)[:2] == (4, 8)
    # A bump beyond the threshold is pooled with the dip behind it.
    assert smallest_size(SIZES, np.array([0.1, 0.1, 0.16, 0.1, 0.4]), 0.04).level == 3


def test_size_lies_between_its_levels():
    rng = np.random.default_rng(0)
    for _ in range(200):
        errors = rng.random(5)
        choice = smallest_size(SIZES, errors, 0.2 * rng.random())
        assert choice.threshold >= errors.min()
        assert (
            (SIZES[choice.level + 1] if choice.level < 4 else 8)
            <= choice.size
            <= SIZES[choice.level]
        )


def test_requested_sizes():
    assert requested_size(SIZES, 20)[:2] == (2, 20)
    assert requested_size(SIZES, 64)[:2] == (1, 64)
    assert requested_size(SIZES, 1000)[:2] == (0, 100)


# --------------------------------------------------------------------------- by held-out errors
def errors(soft, plain):
    """Return the errors of levels from those of rows, (levels, rows)."""
    n_rows = soft.shape[1]
    return [
        HeldOutError(
            s.mean(), s.std() / np.sqrt(n_rows), p.mean(), p.std() / np.sqrt(n_rows), 9.0, s, p
        )
        for s, p in zip(soft, plain, strict=True)
    ]


def test_a_fraction_of_the_error_or_standard_errors_may_be_given_up():
    rng = np.random.default_rng(0)
    curve = np.array([0.20, 0.20, 0.21, 0.23, 0.4])[:, None] + 0.01 * rng.normal(size=(1, 400))
    level_errors = errors(curve, curve)
    smallest = size_by_error(level_errors, SizeRule(SIZES, 0.0, 0.0, None))
    by_fraction = size_by_error(level_errors, SizeRule(SIZES, 0.0, 0.2, None))
    assert smallest.size > by_fraction.size > 8
    assert by_fraction.threshold == pytest.approx(curve.mean(axis=1).min() * 1.2, rel=1e-9)
    assert size_by_error(level_errors, SizeRule(SIZES, 1.0, 0.2, None)) == by_fraction
    assert size_by_error(level_errors, SizeRule(SIZES, 1.0, 0.0, 20))[:2] == (2, 20)


def test_a_later_candidate_must_have_a_lower_paired_error():
    rng = np.random.default_rng(0)
    first = rng.random((1, 300))
    better, same = first - 0.01 * rng.random((1, 300)), first + 0.5 * rng.normal(size=(1, 300))
    row_weights = np.ones(300)
    assert choose_candidate([errors(first, first), errors(better, better)], row_weights) == 1
    assert choose_candidate([errors(first, first), errors(same + 0.02, same)], row_weights) == 0
    assert choose_candidate([errors(first, first), errors(first, first)], row_weights) == 0


def test_the_expected_error_is_unbiased_while_the_smallest_of_many_is_not():
    rng = np.random.default_rng(0)
    optimistic, unbiased = [], []
    for _ in range(60):
        row_errors = (rng.random((12, 80)) < 0.5).astype(float)
        level_errors = errors(row_errors + 0.01 * rng.random(row_errors.shape), row_errors)
        rule = SizeRule(2 ** np.arange(12)[::-1], 0.0, 0.0, None)
        optimistic.append(level_errors[size_by_error(level_errors, rule).level].plain)
        unbiased.append(choose_size([level_errors], np.ones(80), rule)[2])
    assert np.mean(optimistic) < 0.43
    assert abs(np.mean(unbiased) - 0.5) < 0.01


def test_the_expected_error_of_a_clear_choice_is_its_error():
    rng = np.random.default_rng(0)
    row_errors = (rng.random((3, 4000)) < np.array([[0.5], [0.1], [0.5]])).astype(float)
    rule = SizeRule(np.array([4, 2, 1]), 0.0, 0.0, None)
    base, choice, error = choose_size([errors(row_errors, row_errors)], np.ones(4000), rule)
    assert (base, choice.level, choice.size) == (0, 1, 2)
    assert error == pytest.approx(row_errors[1].mean(), abs=0.002)
