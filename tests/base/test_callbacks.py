"""scikit-learn's callbacks: a task a pass, a model that predicts after each, and an end at will."""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis import FOBOSRegressor, FTRLClassifier, StabilizedSGDClassifier

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
pytestmark = pytest.mark.usefixtures("interpreted")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 6))
CLASSES = np.where(X[:, 0] + 0.5 * RANDOM.normal(size=40) > 0, 1, 0)
WIDE = sp.csr_array((np.ones(40), (np.arange(40), np.arange(40) % 5)), shape=(40, 1000))
ALL = {"random_state": 0, "tol": None, "max_iter": 4}
MODELS = {
    "one output": (FTRLClassifier(**ALL), X, CLASSES),
    "three classes": (FTRLClassifier(**ALL), X, np.arange(40) % 3),
    "more columns than numbers": (FTRLClassifier(**ALL), WIDE, CLASSES),
    "regressor": (FOBOSRegressor(**ALL), X, X[:, 0]),
    "stabilized": (
        StabilizedSGDClassifier(n_paths=2, random_state=0, tol=None, max_iter=4, n_jobs=1),
        X,
        CLASSES,
    ),
}


class Recorder:
    """Remembers each task, and what a model foretells at its end."""

    def __init__(self, last=None):
        self.last, self.told, self.calls = last, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.calls.append(f"{context.task_name} begins")
        assert set(metadata) == {"sample_weight"}

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.calls.append(f"{context.task_name} ends")
        self.told.append(fitted_estimator.predict(X))
        return self.last is not None and len(self.told) == self.last


@pytest.fixture(params=MODELS, ids=lambda name: name.replace(" ", "-"))
def given(request):
    model, rows, y = MODELS[request.param]
    return lambda **more: type(model)(**{**model.get_params(), **more}), rows, y


def test_every_pass_is_a_task_with_a_model_that_predicts(given):
    make, rows, y = given
    seen = Recorder()
    model = make().set_callbacks(seen).fit(rows, y)
    assert (seen.calls[0], seen.calls[-1]) == ("setup", "teardown")
    assert seen.calls[2:-2] == ["pass begins", "pass ends"] * 4
    assert len(seen.told) == 5  # the fit itself is the last
    for told, passes in zip(seen.told, (1, 2, 3, 4, 4), strict=True):
        assert np.array_equal(told, make(max_iter=passes).fit(rows, y).predict(rows))
    assert np.array_equal(model.coef_, make().fit(rows, y).coef_)  # to look changes nothing


def test_a_callback_ends_the_fit(given):
    make, rows, y = given
    model = make().set_callbacks(Recorder(last=2)).fit(rows, y)
    assert model.n_iter_ == 2
    assert np.array_equal(model.coef_, make(max_iter=2).fit(rows, y).coef_)


def test_scores_are_monitored(given):
    from sklearn.callback import ScoringMonitor

    make, rows, y = given
    monitor = ScoringMonitor(scoring="r2" if make().__class__ is FOBOSRegressor else "accuracy")
    model = make().set_callbacks(monitor).fit(rows, y)
    scores = [
        [v for k, v in row.items() if k in ("r2", "accuracy")] for row in monitor.get_logs().data
    ]
    assert len(scores) == 5
    assert scores[-1] == [pytest.approx(model.score(rows, y))]
