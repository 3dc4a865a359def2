"""Selections against the same figures by hand: plain NumPy, one column at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from benchmarks.papers.guarantees import plain
from benchmarks.papers.guarantees.columns import blocks, chain, factors, independent
from benchmarks.papers.guarantees.designs import CLASSES, NUMBERS, Design
from tamis import FDRSelector


def _sample(kind, law=factors(1, 1.2)):
    c = 2.5 if kind == CLASSES else 2.0
    return Design("small", law, kind, n=150, p=200, count=5, c=c).sample(0)


def _fitted(data, kind, **options):
    return FDRSelector(targets=kind, n_jobs=1, **options).fit(data.X, data.y)


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
@pytest.mark.parametrize("substitutes", [None, 0.5])
@pytest.mark.parametrize("law", [factors(1, 1.2), independent], ids=["factor", "independent"])
def test_z_is_that_of_a_hand_computation_with_the_same_controls(kind, substitutes, law):
    data = _sample(kind, law)
    model = _fitted(data, kind, substitutes=substitutes)
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    common = np.sqrt(len(Z)) * plain.components(Z)  # in units of its spread, as all columns
    assert common.shape[1] == model.n_components_ == (1 if law is not independent else 0)
    assert len(model.candidates_) >= 10
    for j, controls in zip(model.candidates_, model.controls_, strict=True):
        C = np.column_stack([np.ones(len(Z)), Z[:, controls], common])
        z, p = plain.test(Z[:, j], data.y, C, kind == CLASSES)
        assert model.scores_[j] == pytest.approx(z, rel=1e-6, abs=1e-8)
        assert model.pvalues_[j] == pytest.approx(p, rel=1e-5)


@pytest.mark.parametrize("law", [independent, blocks(2, 0.55)], ids=["independent", "twins"])
def test_odds_are_those_of_a_regression_on_controls_and_on_what_else_is_claimed(law):
    """With one more row for the column itself, half in each class; but not on substitutes, and on
    at most one column in ten rows.
    """
    data = Design("small", law, CLASSES, n=400, p=300, count=20, c=2.5).sample(0)
    model = _fitted(data, CLASSES, n_controls=3)
    assert model.n_components_ == 0
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    tests = {int(j): k for k, j in enumerate(model.candidates_)}
    claimed = [row["column"] for row in model.table_ if row["qvalue"] <= 0.1]
    assert len(claimed) >= 3
    more = 0
    for row in model.table_:
        j = row["column"]
        controls = model.controls_[tests[j]].tolist()
        apart = {j, *controls, *model.substitutes_[[tests[j]]].indices.tolist()}
        others = [k for k in claimed if k not in apart][: 40 - len(controls)]
        more += len(others)
        A = np.column_stack([Z[:, controls + others], np.ones(400), Z[:, j]])
        size = 2.0 * (Z[:, j] ** 2).mean() / np.abs(Z[:, j]).mean()
        w = np.zeros(A.shape[1])
        for _ in range(20):
            probabilities, prior = expit(A @ w), expit(size * w[-1])
            gram = A.T @ (A * (probabilities * (1.0 - probabilities))[:, None])
            gram[-1, -1] += size**2 * prior * (1.0 - prior)
            slope = A.T @ (data.y - probabilities)
            slope[-1] += size * (0.5 - prior)
            w = w + np.linalg.solve(gram, slope)
        assert row["estimate"] == pytest.approx(w[-1] / data.X[:, j].std(), rel=1e-5)
        probabilities = expit(A @ w)
        spread = np.linalg.inv(gram)
        meat = A.T @ (A * np.square(data.y - probabilities)[:, None]) * 400 / (400 - A.shape[1])
        least = max(spread[-1, -1], (spread @ meat @ spread)[-1, -1])
        assert row["error"] == pytest.approx(np.sqrt(least) / data.X[:, j].std(), rel=0.02)
    assert more > 0


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
def test_qvalues_of_single_features_are_benjamini_and_hochbergs_over_all_columns(kind):
    model = _fitted(_sample(kind), kind, substitutes=None)
    assert model.qvalues_ == pytest.approx(plain.benjamini_hochberg(model.pvalues_), abs=1e-12)
    untested = np.setdiff1d(np.arange(200), model.candidates_)
    assert np.all(model.pvalues_[untested] == 1.0)


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
def test_qvalues_of_groups_are_those_of_their_heads(kind):
    data = _sample(kind, chain(0.8))
    model = _fitted(data, kind)
    R = np.abs(np.corrcoef(data.X.T))[:, model.candidates_]
    qvalues, head = plain.group_qvalues(model.pvalues_, model.candidates_, R, 0.5)
    assert model.qvalues_ == pytest.approx(qvalues, abs=1e-12)
    assert model.head_.tolist() == head.tolist()
    assert len(np.unique(head)) < len(model.candidates_)  # some have joined others


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
def test_controls_are_the_strongest_correlates_and_never_substitutes(kind):
    data = _sample(kind, chain(0.8))
    model = _fitted(data, kind, n_controls=4)
    R = np.abs(np.corrcoef(data.X.T))
    u = np.sqrt(2.0 * np.log(200) / 150)
    shared = set.intersection(*map(set, map(np.ndarray.tolist, model.controls_)))
    for j, controls in zip(model.candidates_, model.controls_, strict=True):
        assert j not in controls
        assert np.all(R[j, controls] <= 0.5)
        outside = np.flatnonzero(R[j] <= 0.5)
        near = outside[np.argsort(-R[j, outside], kind="stable")[:4]]
        assert set(near[R[j, near] > u].tolist()) <= set(controls.tolist())
        assert shared <= set(controls.tolist())


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
def test_sparse_rows_give_the_same_tests_by_hand(kind):
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 150), density=0.3, rng=rng, format="csr")
    score = np.asarray(X[:, :4].sum(axis=1)).ravel() * 4.0
    noise = rng.normal(size=200) if kind == NUMBERS else rng.logistic(size=200)
    y = score + noise if kind == NUMBERS else (score - np.median(score) + noise > 0).astype(int)
    model = FDRSelector(targets=kind, n_jobs=1).fit(X, y)
    dense = X.toarray()
    Z = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    assert model.n_components_ == 0
    for j, controls in zip(model.candidates_, model.controls_, strict=True):
        C = np.column_stack([np.ones(200), Z[:, controls]])
        assert model.scores_[j] == pytest.approx(
            plain.test(Z[:, j], y, C, kind == CLASSES)[0], rel=1e-6, abs=1e-8
        )
