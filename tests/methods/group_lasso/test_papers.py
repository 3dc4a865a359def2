"""Parts of the slides' tables that are easy to get wrong: strongest penalties, correlations,
resumed cells, verdicts.
"""

import json

import numpy as np
import pytest

from benchmarks.papers.structured import slides, splice, synthetic, tasks, verdict
from benchmarks.papers.structured.cells import Cells, Enough, under
from tamis import GroupLassoClassifier


@pytest.mark.parametrize("name", ["Lasso", "GL", "SGL"])
def test_the_strongest_penalty_is_that_of_the_batch_model(name):
    X, y, w = synthetic.draw(np.random.default_rng(0), 60)
    penalty = synthetic.METHODS[name].penalty
    top = synthetic.strongest(X, y, penalty)
    given = {"feature_groups": synthetic.GROUPS, "fit_intercept": False, **penalty}
    assert np.count_nonzero(w) == 31
    assert len(GroupLassoClassifier(alpha=1.0001 * top, **given).fit(X, y).support_) == 0
    assert len(GroupLassoClassifier(alpha=0.98 * top, **given).fit(X, y).support_) > 0


def test_correlations_are_those_of_numpy_at_every_threshold():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 40), rng.normal(size=40).round(1)
    levels, values = splice.correlations(scores, y)
    assert len(levels) == len(np.unique(scores)) - 1
    for level, found in zip(levels, values, strict=True):
        assert found == pytest.approx(np.corrcoef(scores >= level, y)[0, 1])
        assert found == pytest.approx(splice.at_level(scores, y, level))
    assert splice.correlations(np.zeros(3), y[:3])[1].max() == 0.0


def test_cells_go_on_where_they_stood(tmp_path):
    cells, made = Cells(tmp_path), []
    for run in (10, 2):
        cells.need(f"a/x/{run}", lambda run=run: {"figure": made.append(run) or run})
    cells.write()
    again = Cells(tmp_path, seconds=-1.0)
    again.need("a/x/2", lambda: pytest.fail("was there"))
    with pytest.raises(Enough):
        again.need("b/x/1", lambda: {})
    assert made == [10, 2]
    assert [cell["figure"] for cell in under(again.found, "a", "x")] == [2, 10]
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert len(json.loads((tmp_path / "a.json").read_text())) == 2
    again.forget("a")
    again.write()
    assert Cells(tmp_path).found == {}


def test_explained_variance_within_tasks_takes_their_means_away():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 20)
    test = tasks.Rows(np.zeros((60, 1)), rng.normal(size=60) + 10.0 * task, task)
    means = np.array([test.y[task == q].mean() for q in range(3)])

    class Model:
        coef_, support_ = np.array([[1.0, 0.0]]), [0]

        def predict(self, X, task):
            return means[task]

    found = tasks.judged(Model(), test)
    assert found["within"] == pytest.approx(0.0, abs=1e-9)
    assert found["ev"] > 90.0
    assert (found["nonzeros"], found["features"]) == (1, 1)


def test_a_verdict_needs_more_than_two_standard_errors():
    def cells(shift):
        return {
            f"synthetic/online/25/{k}": _cell(
                0.5 + 0.01 * k, 0.49 + 0.01 * k + shift + 0.02 * (k % 2)
            )
            for k in range(6)
        }

    for shift, word in ((0.1, "higher"), (-0.1, "lower"), (0.001, "equal")):
        assert [w for _, _, w in verdict.paired(cells(shift), "DA-GL", "L1-RDA", 0)] == [word]
    assert slides.NAMES.index("DA-GL") == 3


def _cell(a: float, b: float) -> dict:
    rows = {"L1-RDA": [[a, 0.5, 10]], "DA-GL": [[b, 0.5, 10]]}
    return {name: {"fixed": row, "least": 0, "sparse": 0} for name, row in rows.items()}
