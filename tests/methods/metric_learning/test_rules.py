"""Rules of classification by distances against their definitions, and early stopping by them."""

from types import SimpleNamespace

import numpy as np
import pytest

from tamis.methods.metric_learning.rules import EarlyStopping, NeighborClassifier

RNG = np.random.default_rng(0)
POINTS, codes = RNG.normal(size=(40, 3)), np.arange(40) % 3
WEIGHTS = RNG.uniform(0.5, 2.0, 40)
QUERIES = RNG.normal(size=(9, 3))
SQUARED_DISTANCES = ((QUERIES[:, None] - POINTS) ** 2).sum(axis=2)


def rules(rule="knn", k=4):
    return NeighborClassifier(POINTS, codes, WEIGHTS, 3, k, rule)


def test_votes_are_shares_of_the_weights_of_the_nearest():
    scores = rules().scores(QUERIES)
    for i, nearest in enumerate(np.argsort(SQUARED_DISTANCES, axis=1)[:, :4]):
        votes = np.bincount(codes[nearest], WEIGHTS[nearest], minlength=3)
        assert scores[i] == pytest.approx(votes / votes.sum())


@pytest.mark.parametrize("k", [4, 99])
def test_distances_are_means_of_squares_within_a_class(k):
    expected = [
        np.sort(SQUARED_DISTANCES[:, codes == c], axis=1)[:, :k].mean(axis=1) for c in range(3)
    ]
    assert rules("margin", k).scores(QUERIES) == pytest.approx(-np.column_stack(expected))


def test_distances_are_sums_over_terms():
    rotation, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
    by_term = rules("margin").distances_by_term(QUERIES, rotation)
    assert by_term.shape == (3, 9, 3)
    scores = by_term.sum(axis=2).T
    assert scores == pytest.approx(rules("margin").distances(QUERIES))
    nearest = np.argsort(np.where(codes == 1, SQUARED_DISTANCES, np.inf), axis=1)[:, :4]
    expected = (((QUERIES[:, None] - POINTS[nearest]) @ rotation) ** 2).mean(axis=1)
    assert by_term[1] == pytest.approx(expected)


def test_a_watch_keeps_the_length_of_the_least_error_and_waits():
    """Of three classes, with rows that weigh: the guesses are those of the rule."""
    held_out_codes = np.arange(9) % 3
    weights = RNG.uniform(0.5, 2.0, 9)
    early_stopping = EarlyStopping(QUERIES, held_out_codes, weights, "knn", patience=2)
    scales = [np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.1, 1.0]), np.ones(3), np.ones(3)]
    errors, stopped = [], []
    for number, scale in enumerate(scales, 1):
        options = SimpleNamespace(n_neighbors=4, n_jobs=1)
        boost = SimpleNamespace(
            codes=codes, weights=WEIGHTS, options=options, steps=[{} for _ in range(number)]
        )
        boost.points = lambda rows=None, scale=scale: (POINTS if rows is None else rows) * scale
        stopped.append(early_stopping(boost))
        predictions = NeighborClassifier(POINTS * scale, codes, WEIGHTS, 3, 4, "knn").votes(
            QUERIES * scale
        )
        errors.append(np.average(predictions.argmax(axis=1) != held_out_codes, weights=weights))
        assert boost.steps[-1]["validation_error"] == pytest.approx(errors[-1])
    assert early_stopping.best_error == pytest.approx(min(errors))
    assert early_stopping.best_n_steps == 1 + int(np.argmin(errors))
    assert stopped == [False, False, early_stopping.best_n_steps == 1, True]
