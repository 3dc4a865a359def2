"""Groups as users give them: index arrays, labels, names and prefixes; and the helpers that find
groups.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis import groups_by_correlation, groups_from_dummies, groups_from_names
from tamis.base.feature_groups import parse_feature_groups
from tamis.methods.group_lasso import group_detection


def sets(blocks):
    """The groups as lists of columns."""
    return [
        blocks.members[a:b].astype(int).tolist()
        for a, b in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)
    ]


def test_without_groups_every_column_is_one():
    blocks = parse_feature_groups(None, 3)
    assert sets(blocks) == [[0], [1], [2]]
    assert blocks.weights.tolist() == [1.0, 1.0, 1.0]
    assert blocks.l1_weights.tolist() == [0.0, 0.0, 0.0]


def test_index_arrays_may_overlap_and_columns_left_out_stand_alone():
    blocks = parse_feature_groups([[0, 2], np.array([2, 3, 4, 3])], 6)
    assert sets(blocks) == [[0, 2], [2, 3, 4], [1], [5]]
    assert np.allclose(blocks.weights**2, [2, 3, 1, 1])
    assert blocks.overlap == 2
    assert sets(parse_feature_groups(np.array([[0, 1], [1, 2]]), 3)) == [
        [0, 1],
        [1, 2],
    ]  # edges of a graph
    assert sets(parse_feature_groups([["b", "a"], ["c"]], 3, names=["a", "b", "c"])) == [
        [0, 1],
        [2],
    ]


def test_labels_one_per_column():
    assert sets(parse_feature_groups([7, 3, 7, 3, 5], 5)) == [[0, 2], [1, 3], [4]]
    assert sets(parse_feature_groups(np.array(["x", "y", "x"]), 3)) == [[0, 2], [1]]
    blocks = parse_feature_groups([1, -1, None, -1, 1], 5)
    assert sets(blocks) == [[0, 4], [1], [3], [2]]
    assert blocks.weights.tolist() == [np.sqrt(2.0), 1.0, 1.0, 0.0]
    assert parse_feature_groups(
        np.array([0.0, np.nan, 0.0]), 3, l1_ratio=0.5
    ).l1_weights.tolist() == [
        0.5,
        0.0,
    ]


def test_prefixes_take_the_longest_that_fits():
    names = ["age", "colour_red", "colour_blue", "colour_dark_red", "town_a"]
    assert sets(parse_feature_groups(["colour_", "town", "colour_dark"], 5, names)) == [
        [1, 2],
        [4],
        [3],
        [0],
    ]


def test_weights():
    blocks = parse_feature_groups([[0, 1, 2, 3], [4]], 6, l1_ratio=0.25)
    assert blocks.weights.tolist() == [1.5, 0.75, 0.75]
    assert blocks.l1_weights.tolist() == [0.25, 0.25, 0.25]
    blocks = parse_feature_groups([[0, 1, 2, 3], [4]], 6, l1_weights=1.0)
    assert blocks.weights.tolist() == [2.0, 1.0, 1.0]
    assert blocks.l1_weights.tolist() == [1.0, 1.0, 1.0]
    blocks = parse_feature_groups(
        [[0, 1, 2, 3], [4]], 6, group_weights=[3.0, 0.0], l1_weights=[2.0, 0.0]
    )
    assert blocks.weights.tolist() == [3.0, 0.0, 1.0]
    assert blocks.l1_weights.tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("groups", "named", "message"),
    [
        ("colour", {}, "is one value"),
        (3, {}, "is one value"),
        ([0, 1], {}, "2 labels for 3 columns"),
        ([[0, 3]], {}, r"group 0 names column 3, outside 0\.\.2"),
        ([[0], [-1]], {}, "group 1 names column -1"),
        ([[0], []], {}, "group 1 is empty"),
        ([[0.5, 1.0]], {}, "a group is an array of column numbers"),
        ([["a"]], {}, "X has no column names"),
        ([["a"], ["z"]], {"names": ["a", "b", "c"]}, "'z', which is no column"),
        (["a", "q"], {"names": ["a", "b", "c"]}, "no column of X is left for the prefix 'q'"),
        (["a", "q"], {}, "prefixes of column names, but X has none"),
        ([[0, 1]], {"group_weights": [1.0, 2.0]}, "there are 1 groups"),
        ([[0, 1]], {"group_weights": [-1.0]}, "must be finite and 0 or more"),
        ([[0, 1]], {"l1_weights": [np.nan]}, "must be finite and 0 or more"),
        ([[0, 1]], {"l1_weights": [1.0], "l1_ratio": 0.5}, "were both given"),
    ],
)
def test_what_is_wrong_is_said(groups, named, message):
    with pytest.raises((ValueError, TypeError), match=message):
        parse_feature_groups(groups, 3, **named)


# --------------------------------------------------------------------------- helpers
def test_names():
    assert groups_from_names(["a.x", "a.y", "b"], ".").tolist() == ["a", "a", "b"]
    assert groups_from_names(["_odd", "plain"]).tolist() == ["_odd", "plain"]
    with pytest.raises(ValueError, match="separator is empty"):
        groups_from_names(["a"], "")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_a_table(library):
    frame = pytest.importorskip(library).DataFrame(
        {"age": [1.0, 2.0], "town_a": [0.0, 1.0], "town_b": [1.0, 0.0]}
    )
    assert groups_from_names(frame).tolist() == ["age", "town", "town"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_dummies(form):
    rng = np.random.default_rng(0)
    first, second = np.eye(3)[rng.integers(0, 3, 60)], np.eye(4)[rng.integers(0, 4, 60)]
    flag, number = rng.integers(0, 2, (60, 1)), rng.normal(size=(60, 1))
    X = form(np.hstack((number, first, second, flag, number)))
    assert groups_from_dummies(X).tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 3, 4]
    dropped = form(np.hstack((number, first[:, 1:], second[:, 1:])))
    assert groups_from_dummies(dropped).tolist() == list(range(6))
    assert groups_from_dummies(dropped, complete=False).tolist() == [0, 1, 1, 2, 2, 2]
    # A number ends a group, and so does an empty column, even where the rows leave them room.
    apart = form(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.5, 0.0]]))
    assert groups_from_dummies(apart, complete=False).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_correlated_columns(form):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 3))
    X = np.column_stack(
        [
            base[:, 0],
            base[:, 1],
            base[:, 0] + 0.2 * rng.normal(size=300),
            np.ones(300),
            -base[:, 1],
            base[:, 2],
        ]
    )
    assert groups_by_correlation(form(X)).tolist() == [0, 1, 0, 2, 1, 3]
    assert groups_by_correlation(form(X), threshold=0.9999).tolist() == [0, 1, 2, 3, 1, 4]
    assert len(set(groups_by_correlation(form(X), threshold=0.0))) == 1
    assert groups_by_correlation(X[:, :1]).tolist() == [0]
    # Correlation knows neither means nor units, and a constant is like nothing.
    moved = 1e-3 * X + [3.0, -2.0, 5.0, 1e3, 1.0, 4.0]
    assert groups_by_correlation(form(moved)).tolist() == [0, 1, 0, 2, 1, 3]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_correlations_are_those_of_the_textbook(form):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=4)
    assert group_detection._correlations(form(X)) == pytest.approx(
        np.abs(np.corrcoef(X.T)), abs=1e-12
    )


def test_helpers_refuse():
    with pytest.raises(ValueError, match="between 0 and 1"):
        groups_by_correlation(np.eye(3), threshold=2.0)
    with pytest.raises(ValueError, match="linkage='ward'"):
        groups_by_correlation(np.eye(3), linkage="ward")


@pytest.mark.parametrize("least", [-2, -1, 0])
@pytest.mark.parametrize("rising", [False, True])
def test_an_array_of_numbers_is_read_as_a_list_of_them(least, rising):
    labels = np.random.default_rng(0).integers(least, 5, 40)
    labels = np.sort(labels) if rising else labels
    quick, slow = parse_feature_groups(labels, 40), parse_feature_groups(labels.tolist(), 40)
    for a, b in zip(quick, slow, strict=True):
        assert np.array_equal(a, b)
