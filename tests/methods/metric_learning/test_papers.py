"""The paper's designs and rivals: the traps of the designs are as described, and the rivals do what
they say.
"""

import numpy as np
import pytest
from scipy.optimize import check_grad

from benchmarks.papers.metric.designs import simulate
from benchmarks.papers.metric.methods import METHODS, RIVALS, by_correlation, by_variance
from benchmarks.papers.metric.page import missing
from benchmarks.papers.metric.rivals import LMNN, PGDM, SMLlp, SMLsm, impostors_of, targets_of
from benchmarks.papers.metric.runs import Store, judge, tables


def test_label_free_screens_find_fixed5_and_are_at_chance_on_fixed2():
    five = simulate("fixed5", "rings", 300, 60, 0)
    assert set(by_variance(five)) == set(by_correlation(five)) == set(range(5))
    two = simulate("fixed2", "rings", 300, 60, 0)
    for control in ("control: variance", "control: correlation"):
        assert judge(METHODS[control], two, 0)["error"] > 0.4
    assert judge(METHODS["control: labels permuted"], two, 0)["error"] > 0.4
    assert judge(METHODS["3-NN on the true columns"], two, 0)["error"] < 0.25
    assert judge(METHODS["sDist"], two, 0)["error"] < 0.25


def test_lmnn_has_the_gradient_of_its_loss():
    split = simulate("fixed2", "xor", 40, 4, 0, test=0)
    near, far = targets_of(split.X, split.y), impostors_of(split.X, split.y, 5)
    model, start = LMNN(), np.random.default_rng(0).normal(size=16)
    gap = check_grad(
        lambda v: model._loss(v, split.X, near, far)[0],
        lambda v: model._loss(v, split.X, near, far)[1],
        start,
    )
    start_loss, fitted = (
        model._loss(np.eye(4).ravel(), split.X, near, far)[0],
        model.fit(split.X, split.y).map_,
    )
    assert model._loss(fitted.ravel(), split.X, near, far)[0] < 0.8 * start_loss
    assert gap < 1e-4 * np.linalg.norm(model._loss(start, split.X, near, far)[1])


@pytest.mark.parametrize("make", [PGDM, SMLsm, SMLlp])
def test_rivals_find_a_shift(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 6)), np.arange(120) % 2
    X[:, 2] += 3.0 * y
    metric = make().fit(X, y).map_
    assert (metric @ metric.T).diagonal().argmax() == 2


def test_pgdm_by_products_of_rows_has_the_lengths_of_pairs():
    rng = np.random.default_rng(0)
    Z, half = rng.normal(size=(30, 5)), rng.normal(size=(5, 5))
    i, j = np.arange(29), np.arange(1, 30)
    differences = Z[i] - Z[j]
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", differences, half @ half.T, differences))
    np.testing.assert_allclose(PGDM._lengths(Z, half @ half.T, i, j), lengths, rtol=1e-12)


def test_results_are_kept_between_runs(tmp_path):
    jobs = [(("a/b/0", "a/c/0"), _two, (k,)) for k in (1, 5)]
    store = Store(tmp_path / "found.json", 10.0)
    store.fill(jobs, 1)
    expected = {"a/b/0": {"error": 1}, "a/c/0": {"error": 2}}
    assert Store(tmp_path / "found.json", 0.0).found == expected
    late = Store(tmp_path / "found.json", -1.0)
    late.fill([(("x",), _two, (1,))], 1)
    assert late.found == expected


def _two(first: int) -> list[dict]:
    return [{"error": first}, {"error": first + 1}]


def test_every_cell_has_ten_repeats_before_any_has_more_and_the_page_says_what_is_missing():
    names = [name for named, _, _ in tables(None, 20, 15, False) for name in named]
    assert len(set(names)) == len(names)
    repeats = [int(name.rsplit("/", 1)[1]) for name in names]
    assert max(repeats[: repeats.index(10)]) == 9
    assert "fixed2 rings 5000 500/sDist/19" in names
    assert {f"fixed5 xor 500 1000/{rival}/14" for rival in RIVALS} < set(names)
    assert "fixed5 xor 500 1000/NCA/15" not in names
    found = {name: {"error": 0.2, "seconds": 2.0} for name in names}
    assert missing(found) == []
    del found["fixed2 rings 5000 500/sDist/19"]
    assert missing(found) == []
    for repeat in range(9, 20):
        found.pop(f"fixed2 xor 5000 500/sDist/{repeat}")
    assert "| sDist | 5000 x 500 (9) | 2.0 |" in missing(found)
