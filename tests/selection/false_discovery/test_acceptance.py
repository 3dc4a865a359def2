"""A tenth of the table of acceptance figures: two seeds a design, and bounds that a method that
works meets by far. The whole is `python -m benchmarks guarantees`.
"""

import warnings

import numpy as np
import pytest

from benchmarks.papers.guarantees import designs
from benchmarks.papers.guarantees.measures import judged, kappa
from benchmarks.papers.guarantees.methods import EXACT, GROUPS, OURS
from benchmarks.papers.guarantees.page import REQUIRED

SEEDS = (0, 1)


@pytest.fixture(scope="module")
def found():
    """Of every required design, false share and power in the mean of the seeds."""
    made = {**designs.SMALL, designs.ZIPF.name: designs.ZIPF}
    figures = {}
    for name, method, *_ in REQUIRED:
        design, soft = made[name], "soft_" if method == GROUPS else ""
        runs = []
        for seed in SEEDS:
            data = design.sample(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rare columns of the Zipf design
                chosen = OURS[method](data.X, data.y, design.kind == designs.CLASSES, seed)
            runs.append(judged(chosen, data))
        figures[name] = tuple(
            np.mean([run[soft + key] for run in runs]) for key in ("false", "power")
        )
    return figures


@pytest.mark.own_seeds
def test_the_false_share_is_about_what_was_asked_for(found):
    # Required: .11 in the mean of the rows; a method without controls or self-normalisation has .2
    # and more.
    assert np.mean([false for false, _ in found.values()]) <= 0.13


@pytest.mark.own_seeds
@pytest.mark.parametrize("row", REQUIRED, ids=lambda row: row[0])
def test_what_is_there_is_found(found, row):
    name, _, most, least = row
    false, power = found[name]
    assert false <= most + 0.2
    assert power >= least - 0.2


@pytest.mark.own_seeds
def test_permuted_targets_show_nothing():
    selected = 0
    for name, design in designs.SMALL.items():
        data = design.sample(3)
        y = np.random.default_rng(5).permutation(data.y)
        chosen = OURS[EXACT](data.X, y, design.kind == designs.CLASSES, 0)
        assert len(chosen) <= 3, name
        selected += len(chosen) > 0
    assert selected <= 4  # of 12; the most that is allowed of 240 is 36


@pytest.mark.own_seeds
def test_a_common_factor_does_not_make_discoveries():
    design = designs.FACTOR["one factor 300/1,500, numbers"]
    rates = []
    for seed in range(4):
        data = design.sample(seed)
        rates.append(judged(OURS[EXACT](data.X, data.y, False, seed), data)["false"])
    assert np.mean(rates) <= 0.15


def test_measures_of_a_selection():
    near = np.zeros((2, 6), dtype=bool)
    near[0, [1, 2]] = near[1, [4]] = True
    data = designs.Data(np.zeros((1, 6)), np.zeros(1), np.array([1, 4]), near)
    found = judged([1, 2, 5], data)
    assert found["false"] == pytest.approx(2 / 3)
    assert found["power"] == 0.5
    assert found["soft_false"] == pytest.approx(1 / 3)
    assert found["soft_power"] == 0.5
    assert judged([], data)["false"] == 0.0
    assert kappa([], [], 6) == 1.0
    assert kappa([1, 2], [1, 2], 6) == 1.0
    assert kappa([1], [2], 6) < 0.0


@pytest.mark.parametrize("name", [*designs.SMALL, *designs.FACTOR])
def test_columns_have_the_correlations_that_designs_state(name):
    design = designs.SMALL.get(name) or designs.FACTOR[name]
    draw, correlations = design.law(np.random.default_rng(0), 60)
    X = draw(np.random.default_rng(1), 4000)
    stated = correlations(np.arange(3))
    if "heavy" not in name:  # whose sample correlations settle slowly
        assert np.corrcoef(X.T)[:3] == pytest.approx(stated, abs=0.08)
        assert X.std(axis=0) == pytest.approx(1.0, abs=0.1)
    assert np.allclose(np.diag(stated[:, :3]), 1.0)
