"""The benchmark of the sieve: the store of results, wins and losses, and the data sets."""

import numpy as np
import pytest

from benchmarks.papers.sieve import page, sets, verdict
from benchmarks.papers.sieve.methods import FIRST, L1, LEAST, OWN, SIEVE, SPARSE, l1
from benchmarks.papers.sieve.runs import NOISE, SET, Runs, judge
from benchmarks.papers.sieve.store import Store


def make_pick(error, support, seconds=1.0):
    return {"error": error, "support": support, "seconds": seconds, "stated": error + 0.01}


@pytest.fixture
def store(tmp_path):
    """Return a store with two runs of the sieve and of L1 on one data set."""
    results_store = Store(tmp_path / "found.jsonl")
    for run, shift in enumerate((0.0, 0.02)):
        fields = {"width": 100, "words": "few", "classes": True}
        results_store.keep(
            SET, "secom", SIEVE, run, picks={OWN: make_pick(0.1 + shift, [1, 2])}, **fields
        )
        picks = {LEAST: make_pick(0.2 + shift, [1, 2 + run, 9], 3.0), SPARSE: make_pick(0.11, [1])}
        results_store.keep(SET, "secom", L1, run, picks=picks, **fields)
    return results_store


def test_results_are_kept_and_forgotten_by_method(store):
    again = Store(store.path)
    assert again.found == store.found
    assert len(again.of(SET, "secom", L1)) == 2
    again.forget([SIEVE], ["madelon"])
    assert again.get(SET, "secom", SIEVE, 0) is not None
    again.forget([SIEVE], [])
    assert Store(store.path).get(SET, "secom", SIEVE, 0) is None
    assert Store(store.path).get(SET, "secom", L1, 1) is not None


def test_wins_ties_and_losses_are_counted(store):
    smallest = verdict.against(store, ["secom", "madelon"], L1, LEAST)
    assert smallest == {
        "sets": 1,
        "ratio": 3.0,
        "error": "1/0/0",
        "size": "1/0/0",
        "kappa": "1/0/0",
    }
    sparse = verdict.against(store, ["secom"], L1, SPARSE)
    assert (sparse["error"], sparse["size"], sparse["kappa"]) == ("0/1/0", "0/0/1", "0/1/0")
    assert verdict.against(store, ["secom"], FIRST, OWN) is None
    assert "| L1, least error | 1 | 1/0/0 |" in page.write(store, ["secom"], 2, {}, "command")


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_noise_is_run_once_and_only_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.papers.sieve.runs.NOISES", {"30 x 20": (30, 20, 3)})
    results_store = Store(tmp_path / "found.jsonl")
    results_store.keep(NOISE, "30 x 20", SIEVE, 1, size=-1, stated=0.5, seconds=0.0)
    Runs(results_store, None).noise(quick=False)
    sizes = [one["size"] for one in results_store.of(NOISE, "30 x 20", SIEVE)]
    assert sizes[1] == -1
    assert min(sizes[0], sizes[2]) >= 0


@pytest.mark.parametrize("name", ["wide, 80 rows", "neighbours correlated .5"])
def test_l1_picks_beat_the_prior(name):
    task = sets.read(name, None)
    X, y = task.part(0)
    assert X.shape == (0.8 * len(task.y), task.X.shape[1])
    assert np.isclose((task.X**2).sum(axis=1).mean(), 1.0, atol=0.05)
    results = {pick: judge(task, *one) for pick, one in l1(X, y, task.classes, 0).items()}
    assert results[LEAST]["error"] < (0.4 if task.classes else 0.9)
    assert len(results[SPARSE]["support"]) <= len(results[LEAST]["support"])
