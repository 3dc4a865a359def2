"""Splits of rows: by scikit-learn's splitters, by groups, by time, by content, and into halves."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    train_test_split,
)

from tamis.base.splits import (
    calibration_scores,
    complementary_halves,
    count_distinct_if_few,
    hash_folds,
    hold_out,
    make_folds,
    predict_out_of_fold,
    repeated_hash_folds,
    repeated_stratified_folds,
    split_halves,
)

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
N = 90
CLASSES = np.repeat(["a", "b", "c"], [60, 20, 10])[RNG.permutation(N)]
GROUPS = RNG.integers(0, 18, N)
HASHES = RNG.integers(0, 2**64, 400, dtype=np.uint64)


def same(folds, others):
    others = list(others)
    return len(folds) == len(others) and all(
        np.array_equal(a, b)
        for fold, other in zip(folds, others, strict=True)
        for a, b in zip(fold, other, strict=True)
    )


# --------------------------------------------------------------------------- folds
def test_folds_are_those_of_scikit_learn():
    X = np.zeros((N, 1))
    assert same(make_folds(None, N), KFold(5).split(X))
    assert same(make_folds(4, N, RNG.normal(size=N), stratify=True), KFold(4).split(X))
    assert same(make_folds(4, N, CLASSES, stratify=True), StratifiedKFold(4).split(X, CLASSES))
    drawn = StratifiedKFold(3, shuffle=True, random_state=7).split(X, CLASSES)
    options = {"stratify": True, "shuffle": True, "random_state": 7}
    assert same(make_folds(3, N, CLASSES, **options), drawn)
    splitter = ShuffleSplit(3, random_state=0)
    assert same(make_folds(splitter, N), splitter.split(X))
    assert same(make_folds(GroupKFold(3), N, groups=GROUPS), GroupKFold(3).split(X, groups=GROUPS))
    pairs = [(np.arange(5, 9), np.array([3, 1])), (np.arange(4), np.arange(4, 6))]
    assert same(make_folds(iter(pairs), N), pairs)


def test_every_fold_has_its_part_of_every_stratum():
    for _, test in make_folds(5, N, CLASSES, stratify=True):
        assert np.unique(CLASSES[test], return_counts=True)[1].tolist() == [12, 4, 2]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("stratify", [False, True])
def test_no_group_is_on_both_sides(stratify, shuffle):
    options = {"stratify": stratify, "shuffle": shuffle, "random_state": 0 if shuffle else None}
    folds = make_folds(4, N, CLASSES, groups=GROUPS, **options)
    for train, test in folds:
        assert not set(GROUPS[train]) & set(GROUPS[test])
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(N))
    for seed in range(5):
        train, test = hold_out(np.arange(N), 0.3, groups=GROUPS, random_state=seed)
        assert not set(GROUPS[train]) & set(GROUPS[test])
        assert len(train) + len(test) == N
        assert abs(len(np.unique(GROUPS[test])) - 0.3 * 18) < 1.0


def test_no_row_is_tested_by_later_ones():
    times = RNG.permutation(N)
    folds = make_folds(4, N, order=times)
    for train, test in folds:
        assert times[train].max() < times[test].min()
    assert [len(test) for _, test in folds] == [18] * 4
    with pytest.raises(ValueError, match="not by both"):
        make_folds(4, N, order=times, groups=GROUPS)


def test_rows_without_weight_are_in_no_fold_and_change_none():
    weights = RNG.integers(0, 2, N)
    rows = np.flatnonzero(weights)
    for given in ({}, {"y": CLASSES[rows], "stratify": True}, {"groups": GROUPS[rows]}):
        folds = make_folds(2, N, rows=rows, **given)
        alone = make_folds(2, len(rows), **given)
        assert same(folds, [(rows[train], rows[test]) for train, test in alone])
    pairs = [(np.arange(45), np.arange(45, N)), (np.arange(45, N), np.flatnonzero(weights == 0))]
    train, test = make_folds(pairs, N, rows=rows)[0]
    assert set(train) | set(test) == set(rows)
    assert len(make_folds(pairs, N, rows=rows)) == 1  # the second tests no row that counts
    with pytest.raises(ValueError, match="no fold"):
        make_folds(pairs[1:], N, rows=rows)


def test_a_held_out_part_is_that_of_scikit_learn():
    rows = np.flatnonzero(RNG.integers(0, 2, N))
    for strata in (None, CLASSES[rows]):
        one = hold_out(rows, 0.25, strata=strata, random_state=3)
        other = train_test_split(rows, test_size=0.25, random_state=3, stratify=strata)
        assert same([one], [other])


# --------------------------------------------------------------------------- out of fold
def test_every_row_is_predicted_without_itself():
    y = RNG.normal(size=N)
    folds = make_folds(5, N, shuffle=True, random_state=0)
    means = predict_out_of_fold(folds, lambda train, test: np.full(len(test), y[train].mean()))
    for train, test in folds:
        assert (means[test] == y[train].mean()).all()
    seen = predict_out_of_fold(folds, lambda train, test: test)
    assert np.array_equal(seen, np.arange(N))


@pytest.mark.parametrize(("rarest", "folds"), [(1, 2), (3, 3), (30, 5)])
def test_calibration_folds_are_as_many_as_the_rarest_class_has_rows(rarest, folds):
    classes, tested = np.repeat([0, 1], [40, rarest]), []

    def score(train, test):
        assert not set(train) & set(test)
        tested.append(np.count_nonzero(classes[test]))
        return test.astype(float)

    assert np.array_equal(calibration_scores(classes, score, 0), np.arange(40 + rarest))
    assert len(tested) == folds
    if rarest > 1:
        assert max(tested) - min(tested) <= 1


# --------------------------------------------------------------------------- halves
@pytest.mark.parametrize("n", [10, 11, 37])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_halves_are_disjoint_of_equal_size_and_balanced(n, classes):
    strata = np.random.default_rng(n).permutation(np.arange(n) % classes)
    counts = np.bincount(strata)
    left_out = set()
    for seed in range(30):
        one, other = complementary_halves(n, strata, seed)
        assert len(one) == len(other) == n // 2 or (classes == 3 and abs(len(one) - n // 2) <= 1)
        assert len(one) == len(other)
        assert not set(one) & set(other)
        for half in (one, other):
            assert (np.abs(np.bincount(strata[half], minlength=classes) - counts / 2) <= 1).all()
            assert (np.bincount(strata[half], minlength=classes) >= 1).all()
        left_out |= set(range(n)) - set(one) - set(other)
    assert bool(left_out) == bool(n % 2)


def test_every_row_is_as_likely_in_either_half():
    strata = np.arange(21) % 2
    seen = np.zeros(21)
    for seed in range(2000):
        seen[complementary_halves(21, strata, seed)[0]] += 1
    assert seen / 2000 == pytest.approx(10 / 21, abs=0.05)
    one, other = (complementary_halves(21, None, seed)[0] for seed in (1, 2))
    assert not np.array_equal(one, other)


# --------------------------------------------------------------------------- by content
def test_copies_of_a_row_are_in_one_fold_and_in_one_half():
    copies = RNG.integers(0, 400, 1000)
    hashes = HASHES[copies]
    for folds in (split_halves(hashes), *repeated_hash_folds(hashes, 5, 3)):
        for row in range(400):
            assert len(np.unique(folds[copies == row])) <= 1


def test_folds_by_content_are_of_about_one_size_and_differ_from_each_other():
    all_folds = repeated_hash_folds(HASHES, 5, 3)
    assert np.array_equal(all_folds[0], hash_folds(HASHES, 5))
    for folds in all_folds:
        assert np.bincount(folds, minlength=5).min() > 50
        assert folds.max() == 4
    assert abs(split_halves(HASHES).mean() - 0.5) < 0.1
    for k in range(2):  # as often in one fold as chance has it
        assert abs((all_folds[k] == all_folds[k + 1]).mean() - 0.2) < 0.1
    ordered = np.argsort(HASHES)
    assert np.array_equal(repeated_hash_folds(HASHES[ordered], 5, 3), all_folds[:, ordered])


def test_halves_do_not_follow_the_folds():
    halves, folds = split_halves(HASHES), hash_folds(HASHES, 2)
    assert 0.3 < (halves == folds).mean() < 0.7


def test_when_rows_are_too_few():
    hashes = np.sort(np.arange(100, dtype=np.uint64) % 19)
    assert count_distinct_if_few(hashes, 5) == 19
    assert count_distinct_if_few(hashes, 4) == 0  # four a fold are enough
    assert count_distinct_if_few(np.unique(hashes), 5) == 0  # a small table whose rows all differ
    assert count_distinct_if_few(np.zeros(100, dtype=np.uint64), 5) == 0  # nothing to learn
    assert count_distinct_if_few(hashes[:0], 5) == 0
    assert (
        count_distinct_if_few(np.sort(np.arange(20, dtype=np.uint64) % 15), 5) == 0
    )  # most are no copies


def test_every_fold_has_its_part_of_every_kind_of_row_and_target():
    hashes = np.repeat(np.arange(3, dtype=np.uint64), 20)
    targets = np.tile([[1.0], [-1.0]], (30, 1))
    all_folds = repeated_stratified_folds(hashes, targets, 5, 3)
    assert all_folds.shape == (3, 60)
    for folds in all_folds:
        for row in range(3):
            for target in (1.0, -1.0):
                mine = folds[(hashes == row) & (targets[:, 0] == target)]
                assert np.array_equal(np.bincount(mine, minlength=5), [2] * 5)
    assert not np.array_equal(all_folds[0], all_folds[1])
    # Targets that all differ make strata of one row, which StratifiedKFold refuses.
    numbers = np.arange(60.0)[:, None]
    assert np.bincount(repeated_stratified_folds(hashes, numbers, 5, 1)[0]).tolist() == [12] * 5
